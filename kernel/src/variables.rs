//! The panel of variables in front ends. They ask for it by the debug protocol, of which the rest has no effect here:
//! there are no breakpoints.

use crate::snapshot::Snapshot;
use serde_json::{Value as Json, json};

/// The state of the protocol.
#[derive(Default)]
pub struct Variables {
    /// Whether the front end has switched the panel on.
    attached: bool,
    answers: u64,
}

impl Variables {
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

#[cfg(test)]
mod tests {
    use super::*;
    use adl_interp::host::NullHost;

    #[test]
    fn the_panel_shows_names_types_and_values() {
        let mut session = adl_session::Session::new(Box::new(NullHost));
        session.eval("let m = [[1.0, 2.0], [3.0, 4.0]]\nlet f x = x + 1.0\nlet n = 3\ntype T = A | B");
        let names = Snapshot::of(&mut session, &Snapshot::default());
        let mut panel = Variables::default();
        let mut ask = |request: Json| panel.reply(&request, &names, |n| Some(format!("about {n}")));
        let all = ask(json!({"seq": 7, "command": "inspectVariables"}));
        let of = |v: &Json| (v["name"].as_str().unwrap().to_owned(), v["type"].clone(), v["value"].clone());
        let found: Vec<_> = all["body"]["variables"].as_array().unwrap().iter().map(of).collect();
        assert_eq!(
            found,
            [
                ("m".to_owned(), json!("[2][2]Float"), json!("[[1.0, 2.0], [3.0, 4.0]]")),
                ("n".to_owned(), json!("Int"), json!("3"))
            ]
        );
        assert_eq!((&all["success"], &all["request_seq"]), (&json!(true), &json!(7)));
        let rich = ask(json!({"command": "richInspectVariables", "arguments": {"variableName": "n"}}));
        assert_eq!(rich["body"]["data"]["text/plain"], "3\n\nabout n");
        assert_eq!(ask(json!({"command": "debugInfo"}))["body"]["isStarted"], false);
        assert_eq!(ask(json!({"command": "attach"}))["success"], true);
        assert_eq!(ask(json!({"command": "debugInfo"}))["body"]["isStarted"], true);
        assert_eq!(ask(json!({"command": "stepIn"}))["success"], false);
    }
}
