//! Interactive values as live controls: a slider, box or list for each parameter, and an area with the function's
//! outputs, which are drawn anew at each move.

use crate::cell_host::OutputSink;
use crate::live_controls::{Control, Stage};
use crate::mime_bundle;
use crate::widgets::{Opener, Widgets, reference};
use adl_interp::value::interactive::Control as Parameter;
use adl_session::{DisplayedInteractive, Echo, Session};
use serde_json::{Value as Json, json};
use std::rc::Rc;

/// The average width of a character in ems, for the column of names.
const CHARACTER: f64 = 0.6;
/// The class of the whole control. While it is displayed in a notebook, the two outputs behind it are hidden: they are
/// the parameters at the start and the value there, for pages without a kernel.
const LIVE: &str = "<style>.jp-OutputArea-child:has(.adl-interact) + .jp-OutputArea-child, .jp-OutputArea-child:has(.adl-interact) + .jp-OutputArea-child + .jp-OutputArea-child { display: none }</style>";

/// A displayed interactive value.
pub struct InteractControl {
    displayed: Rc<DisplayedInteractive>,
    /// The model of each parameter.
    models: Vec<String>,
    /// The model of the area of outputs.
    area: String,
    /// The positions whose outputs are shown.
    drawn: Vec<usize>,
}

impl InteractControl {
    /// Opens the models. Returns the id of the outermost one, and the control.
    pub fn open(
        displayed: Rc<DisplayedInteractive>,
        widgets: &mut Widgets,
        to: &dyn OutputSink,
    ) -> (String, InteractControl) {
        let mut o = Opener { widgets, to };
        let parameters = &displayed.parts.controls;
        let longest = parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0);
        let width = format!("{:.1}em", CHARACTER * longest as f64 + 1.0);
        let models: Vec<String> = parameters.iter().map(|p| parameter(p, &width, &mut o)).collect();
        let outputs = json!({"msg_id": "", "outputs": [shown(&displayed.start)]});
        let area = o.model("Output", json!({"width": "100%"}), outputs);
        let style = o.model("HTML", json!({"display": "none"}), json!({"value": LIVE}));
        let children: Vec<String> = models.iter().chain([&area, &style]).map(|m| reference(m)).collect();
        let state = json!({"children": children, "_dom_classes": ["adl-interact"]});
        let whole = o.model("VBox", json!({"width": "100%"}), state);
        let drawn = displayed.parts.start();
        (whole, InteractControl { displayed, models, area, drawn })
    }
}

/// Opens the model of a parameter.
fn parameter(parameter: &Parameter, width: &str, opener: &mut Opener) -> String {
    let style = opener.widgets.open(opener.to, "DescriptionStyle", json!({"description_width": width}));
    let named = |mut state: Json| {
        state["description"] = json!(parameter.name);
        state["style"] = json!(reference(&style));
        state
    };
    match parameter.kind.as_str() {
        "toggle" => opener.model(
            "Checkbox",
            json!({"width": "20em"}),
            named(json!({"value": parameter.at > 0, "indent": true})),
        ),
        "choice" => {
            let state = json!({"_options_labels": parameter.labels, "index": parameter.at});
            opener.model("Dropdown", json!({"width": "30em"}), named(state))
        }
        _ => {
            let state = json!({"_options_labels": parameter.labels, "index": parameter.at, "continuous_update": true, "readout": true, "orientation": "horizontal"});
            opener.model("SelectionSlider", json!({"width": "36em", "max_width": "100%"}), named(state))
        }
    }
}

/// A value as an output.
fn shown(e: &Echo) -> Json {
    let (data, metadata) = mime_bundle::live(&e.shown, &e.ty);
    json!({"output_type": "display_data", "data": data, "metadata": metadata})
}

impl Control for InteractControl {
    fn has(&self, id: &str) -> bool {
        self.models.iter().any(|m| m == id)
    }

    fn is_open(&self, widgets: &Widgets) -> bool {
        widgets.has(&self.area)
    }

    fn act(&mut self, _id: &str, _clicked: bool, stage: &Stage, widgets: &mut Widgets) {
        let position = |(model, p): (&String, &Parameter)| match p.kind.as_str() {
            "toggle" => usize::from(widgets.get(model, "value") == json!(true)),
            _ => widgets.get(model, "index").as_u64().and_then(|i| usize::try_from(i).ok()).unwrap_or(p.at),
        };
        let parameters = &self.displayed.parts.controls;
        let positions: Vec<usize> = self.models.iter().zip(parameters).map(position).collect();
        let valid = positions.iter().zip(parameters).all(|(at, p)| *at < p.labels.len());
        if positions == self.drawn || !valid {
            return;
        }
        let (mut outputs, value) = stage.captured(|s| s.moved(&self.displayed, &positions));
        outputs.push(match &value {
            Ok(e) => shown(e),
            Err(f) => {
                let mut error = f.content();
                error["output_type"] = json!("error");
                error
            }
        });
        self.drawn = positions;
        widgets.set(&*stage.sink, &self.area, json!({"outputs": outputs}));
    }

    fn refresh(&mut self, _: &Session, _: &mut Widgets, _: &dyn OutputSink) {
        // The function is the one of the time when it was displayed.
    }
}
