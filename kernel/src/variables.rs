//! The panel of variables in front ends. They ask for it by the debug protocol, of which the rest has no effect here:
//! there are no breakpoints.

use crate::snapshot::Snapshot;
use serde_json::{Value as Json, json};

/// The state of the protocol.
#[derive(Default)]
pub struct VariableInspector {
    /// Whether the front end has switched the panel on.
    attached: bool,
    answers: u64,
}

impl VariableInspector {
    /// The content of the reply to a `debug_request`. `describe` says more about a name.
    pub fn reply(&mut self, request: &Json, names: &Snapshot, describe: impl FnOnce(&str) -> Option<String>) -> Json {
        let command = request["command"].as_str().unwrap_or("");
        let body = match command {
            "debugInfo" => Some(self.info()),
            "initialize" => Some(json!({"supportsConfigurationDoneRequest": true, "exceptionBreakpointFilters": []})),
            "attach" | "disconnect" => {
                self.attached = command == "attach";
                Some(json!({}))
            }
            "configurationDone" => Some(json!({})),
            "dumpCell" => Some(json!({"sourcePath": ""})),
            "setBreakpoints" => Some(json!({"breakpoints": []})),
            "inspectVariables" => Some(json!({"variables": variables(names)})),
            "richInspectVariables" => {
                let name = request["arguments"]["variableName"].as_str().unwrap_or("");
                rich(names, name, describe)
            }
            _ => None,
        };
        self.answers += 1;
        let mut reply = json!({
            "type": "response", "seq": self.answers, "request_seq": request["seq"], "command": command,
            "success": body.is_some(), "body": body.clone().unwrap_or_default(),
        });
        if body.is_none() {
            reply["message"] = json!(format!("adl does not answer `{command}`"));
        }
        reply
    }

    fn info(&self) -> Json {
        json!({
            "isStarted": self.attached, "hashMethod": "Murmur2", "hashSeed": 0, "tmpFilePrefix": "",
            "tmpFileSuffix": ".adl", "breakpoints": [], "stoppedThreads": [], "richRendering": true,
            "exceptionPaths": [],
        })
    }
}

/// Names, types with sizes, and values.
fn variables(names: &Snapshot) -> Vec<Json> {
    let one = |(name, n): (&str, &crate::snapshot::Name)| json!({"name": name, "evaluateName": name, "type": n.ty, "value": n.value, "variablesReference": 0});
    names.values().map(one).collect()
}

fn rich(names: &Snapshot, name: &str, describe: impl FnOnce(&str) -> Option<String>) -> Option<Json> {
    let known = names.get(name)?;
    let about = describe(name).unwrap_or_default();
    let text = if known.value.is_empty() { about } else { format!("{}\n\n{about}", known.value) };
    let html = format!("<pre>{}</pre>", crate::html::escape(&text));
    Some(json!({"data": {"text/plain": text, "text/html": html}, "metadata": {}}))
}
