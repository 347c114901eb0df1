//! Cells: their parts, and what a panic leaves.

use adl_interp::host::NullHost;
use adl_kernel::internals::{CellPart, Channel, Message, Outbox, Request, SharedHandle, parts, serve};
use adl_kernel::{Commands, Setup};
use adl_session::Session;
use serde_json::{Value as Json, json};
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::time::Instant;
use tokio::sync::mpsc::unbounded_channel;

#[test]
fn a_cell_is_split_at_commands() {
    let shown = |code: &str| -> Vec<String> {
        parts(code)
            .into_iter()
            .map(|p| match p {
                CellPart::Items(t) => t,
                CellPart::Command(c) => format!("!{c}"),
            })
            .collect()
    };
    assert_eq!(shown("let x = 1\n:type x\nx + 1\n"), ["let x = 1\n", "!:type x", "\n\nx + 1"]);
    assert_eq!(shown("\n\n"), [""; 0]);
    assert_eq!(shown("%timeit f x\n"), ["!%timeit f x"]);
    assert_eq!(shown("1\n:: [2]"), ["1\n:: [2]"]);
}

/// Commands that panic.
struct Faulty;

impl Commands for Faulty {
    fn run(&mut self, line: &str) -> bool {
        panic!("{line} is broken")
    }
}

/// The contents of the replies to cells sent in a burst.
fn replies(cells: &[&str]) -> Vec<Json> {
    let (shell, mut sent) = unbounded_channel();
    let out = Outbox::new("k", shell, unbounded_channel().0, unbounded_channel().0);
    let setup = Setup {
        world: || Box::new(NullHost),
        session: Rc::new(Session::new),
        commands: Rc::new(|_, _| Box::new(Faulty)),
        names: Vec::new(),
        ranks: None,
        at_shutdown: || {},
    };
    let (jobs, work) = channel();
    for code in cells {
        let message = Message::new("f", "execute_request", &json!({}), json!({"code": code, "stop_on_error": false}));
        jobs.send(Request { message, channel: Channel::Shell, arrived: Instant::now() }).unwrap();
    }
    drop(jobs);
    serve(&setup, out, SharedHandle::default(), work, channel().1, Default::default());
    std::iter::from_fn(|| sent.try_recv().ok()).map(|m| m.content).collect()
}

#[test]
fn a_panic_is_an_error_of_the_cell_and_the_next_cell_runs() {
    let said = replies(&["let x = 1", ":fault", "x"]);
    let status: Vec<&str> = said.iter().map(|r| r["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["ok", "error", "ok"]);
    assert_eq!(said[1]["ename"], "E0901");
    assert!(said[1]["evalue"].as_str().unwrap().contains(":fault is broken"));
    assert!(said[1]["traceback"].to_string().contains("report"));
}
