//! Models of the standard widgets, whose views front ends have: their states, and the messages that keep both sides equal.

use crate::stage::Audience;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The comm target that front ends know.
pub const TARGET: &str = "jupyter.widget";
/// The version of the messages.
const MESSAGES: &str = "2.1.0";
/// Versions of the modules that views come from.
const BASE: (&str, &str) = ("@jupyter-widgets/base", "2.0.0");
const CONTROLS: (&str, &str) = ("@jupyter-widgets/controls", "2.0.0");

/// Models that are open, by comm id.
#[derive(Default)]
pub struct Widgets {
    states: BTreeMap<String, Json>,
}

/// How a state refers to another model.
pub fn reference(id: &str) -> String {
    format!("IPY_MODEL_{id}")
}

impl Widgets {
    /// Opens a model of a class (`Checkbox`) with a state; its id.
    pub fn open(&mut self, to: &dyn Audience, class: &str, state: Json) -> String {
        let (module, version) = if class == "Layout" { BASE } else { CONTROLS };
        let mut full = json!({
            "_model_module": module, "_model_module_version": version, "_model_name": format!("{class}Model"),
            "_view_module": module, "_view_module_version": version, "_view_name": format!("{class}View"),
        });
        merge(&mut full, &state);
        let id = uuid::Uuid::new_v4().simple().to_string();
        let data = json!({"state": full, "buffer_paths": []});
        to.publish("comm_open", json!({"comm_id": id, "target_name": TARGET, "data": data}), json!({"version": MESSAGES}));
        self.states.insert(id.clone(), full);
        id
    }

    /// Changes a model. What is as it was is not sent.
    pub fn set(&mut self, to: &dyn Audience, id: &str, state: Json) {
        let Some(old) = self.states.get_mut(id) else { return };
        let changed: Map<String, Json> = state.as_object().into_iter().flatten().filter(|(k, v)| old[k.as_str()] != **v).map(|(k, v)| (k.clone(), v.clone())).collect();
        if !changed.is_empty() {
            merge(old, &Json::Object(changed.clone()));
            send(to, id, json!({"method": "update", "state": changed, "buffer_paths": []}));
        }
    }

    /// Takes over what a front end changed in its view.
    pub fn changed(&mut self, id: &str, state: &Json) {
        if let Some(old) = self.states.get_mut(id) {
            merge(old, state);
        }
    }

    /// A part of a state.
    pub fn get(&self, id: &str, name: &str) -> Json {
        self.states.get(id).map_or(Json::Null, |s| s[name].clone())
    }

    /// Tells a front end that has just come what a model is.
    pub fn tell(&self, to: &dyn Audience, id: &str) {
        if let Some(state) = self.states.get(id) {
            send(to, id, json!({"method": "update", "state": state, "buffer_paths": []}));
        }
    }

    /// Whether a model is open.
    pub fn has(&self, id: &str) -> bool {
        self.states.contains_key(id)
    }

    /// Forgets a model.
    pub fn close(&mut self, id: &str) {
        self.states.remove(id);
    }

    /// Every model's id with its target.
    pub fn comms(&self) -> BTreeMap<String, String> {
        self.states.keys().map(|id| (id.clone(), TARGET.to_owned())).collect()
    }
}

fn send(to: &dyn Audience, id: &str, data: Json) {
    to.publish("comm_msg", json!({"comm_id": id, "data": data}), json!({"version": MESSAGES}));
}

fn merge(into: &mut Json, from: &Json) {
    for (k, v) in from.as_object().into_iter().flatten() {
        into[k.as_str()] = v.clone();
    }
}
