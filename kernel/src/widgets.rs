//! Models of Jupyter's standard widgets: their states, and the messages that synchronise them with the views in front
//! ends.

use crate::cell_host::OutputSink;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The comm target of widget models.
pub const TARGET: &str = "jupyter.widget";
/// The comm target on which a newly connected front end requests all models.
pub const CONTROL: &str = "jupyter.widget.control";
/// The version of the widget messages.
const MESSAGES: &str = "2.1.0";
/// The modules and versions of models and views.
const BASE: (&str, &str) = ("@jupyter-widgets/base", "2.0.0");
const CONTROLS: (&str, &str) = ("@jupyter-widgets/controls", "2.0.0");
const OUTPUT: (&str, &str) = ("@jupyter-widgets/output", "1.0.0");

/// Names, modules and versions of a class's model and view.
fn class_of(class: &str) -> Json {
    let (model, view, name) = match class {
        "Layout" => (BASE, BASE, class),
        "DescriptionStyle" => (CONTROLS, BASE, "Style"),
        "Output" => (OUTPUT, OUTPUT, class),
        _ => (CONTROLS, CONTROLS, class),
    };
    json!({
        "_model_module": model.0, "_model_module_version": model.1, "_model_name": format!("{class}Model"),
        "_view_module": view.0, "_view_module_version": view.1, "_view_name": format!("{name}View"),
    })
}

/// The open models by comm id.
#[derive(Default)]
pub struct Widgets {
    states: BTreeMap<String, Json>,
    /// The cell whose output displays each model.
    cells: BTreeMap<String, String>,
    /// The running cell.
    cell: String,
}

/// A reference to another model inside a state.
pub fn reference(id: &str) -> String {
    format!("IPY_MODEL_{id}")
}

/// Opens models with their layouts.
pub struct Opener<'a> {
    pub widgets: &'a mut Widgets,
    pub to: &'a dyn OutputSink,
}

impl Opener<'_> {
    /// A model with a layout; returns its id.
    pub fn model(&mut self, class: &str, layout: Json, mut state: Json) -> String {
        state["layout"] = json!(reference(&self.widgets.open(self.to, "Layout", layout)));
        self.widgets.open(self.to, class, state)
    }

    /// HTML that takes the remaining width.
    pub fn html(&mut self, value: &str) -> String {
        self.model("HTML", json!({"flex": "1 1 0", "min_width": "0", "margin": "0"}), json!({"value": value}))
    }

    /// A box that contains other models, horizontally or vertically.
    pub fn boxes(&mut self, class: &str, layout: Json, children: &[String]) -> String {
        let children: Vec<String> = children.iter().map(|c| reference(c)).collect();
        self.model(class, layout, json!({"children": children}))
    }
}

impl Widgets {
    /// Opens a model of a class (`Checkbox`) with a state; returns its id.
    pub fn open(&mut self, to: &dyn OutputSink, class: &str, state: Json) -> String {
        let mut full = class_of(class);
        merge(&mut full, &state);
        let id = uuid::Uuid::new_v4().simple().to_string();
        let data = json!({"state": full, "buffer_paths": []});
        to.publish(
            "comm_open",
            json!({"comm_id": id, "target_name": TARGET, "data": data}),
            json!({"version": MESSAGES}),
        );
        self.states.insert(id.clone(), full);
        self.cells.insert(id.clone(), self.cell.clone());
        id
    }

    /// Called when a cell's output is cleared: closes its models. Models opened from now on belong to this cell.
    pub fn begin_cell(&mut self, to: &dyn OutputSink, cell: &str) {
        self.close_cell(to, cell);
        cell.clone_into(&mut self.cell);
    }

    /// Closes the models in the output of a cell.
    pub fn close_cell(&mut self, to: &dyn OutputSink, cell: &str) {
        let gone: Vec<String> = self.cells.iter().filter(|(_, c)| *c == cell).map(|(id, _)| id.clone()).collect();
        for id in gone {
            to.publish("comm_close", json!({"comm_id": id, "data": {}}), json!({}));
            self.close(&id);
        }
    }

    /// Closes the models that the running cell has opened.
    pub fn clear_output(&mut self, to: &dyn OutputSink) {
        self.close_cell(to, &self.cell.clone());
    }

    /// Changes the state of a model; only the differences are sent.
    pub fn set(&mut self, to: &dyn OutputSink, id: &str, state: Json) {
        let Some(old) = self.states.get_mut(id) else { return };
        let changed: Map<String, Json> = state
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(k, v)| old[k.as_str()] != **v)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        if !changed.is_empty() {
            merge(old, &Json::Object(changed.clone()));
            send(to, id, json!({"method": "update", "state": changed, "buffer_paths": []}));
        }
    }

    /// Applies a change made in a view, and informs other front ends (`echo_update`).
    pub fn changed(&mut self, to: &dyn OutputSink, id: &str, state: &Json) {
        if let Some(old) = self.states.get_mut(id) {
            merge(old, state);
            send(to, id, json!({"method": "echo_update", "state": state, "buffer_paths": []}));
        }
    }

    /// A part of a state.
    pub fn get(&self, id: &str, name: &str) -> Json {
        self.states.get(id).map_or(Json::Null, |s| s[name].clone())
    }

    /// Sends the state of a model to a newly connected front end.
    pub fn tell(&self, to: &dyn OutputSink, id: &str) {
        if let Some(state) = self.states.get(id) {
            send(to, id, json!({"method": "update", "state": state, "buffer_paths": []}));
        }
    }

    /// Answers a request for all models on a comm.
    pub fn tell_all(&self, to: &dyn OutputSink, comm: &str) {
        let model = |state: &Json| json!({"model_name": state["_model_name"], "model_module": state["_model_module"], "model_module_version": state["_model_module_version"], "state": state});
        let states: Map<String, Json> = self.states.iter().map(|(id, state)| (id.clone(), model(state))).collect();
        send(to, comm, json!({"method": "update_states", "states": states, "buffer_paths": []}));
    }

    /// Whether a model is open.
    pub fn has(&self, id: &str) -> bool {
        self.states.contains_key(id)
    }

    /// Removes a model.
    pub fn close(&mut self, id: &str) {
        self.states.remove(id);
        self.cells.remove(id);
    }

    /// Every model's id with its target.
    pub fn comms(&self) -> BTreeMap<String, String> {
        self.states.keys().map(|id| (id.clone(), TARGET.to_owned())).collect()
    }
}

fn send(to: &dyn OutputSink, id: &str, data: Json) {
    to.publish("comm_msg", json!({"comm_id": id, "data": data}), json!({"version": MESSAGES}));
}

fn merge(into: &mut Json, from: &Json) {
    for (k, v) in from.as_object().into_iter().flatten() {
        into[k.as_str()] = v.clone();
    }
}
