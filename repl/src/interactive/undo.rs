//! Commands for undo, saving, and watching a file.

use super::{Repl, meta, plans};
use crate::commands::io_text;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// `:undo`.
pub fn undo(repl: &mut Repl, _: &str) -> bool {
    let undone = repl.session.borrow_mut().undo();
    match undone {
        Some(entry) => {
            let first = entry.lines().next().unwrap_or("").to_owned();
            let more = if entry.lines().count() > 1 { " …" } else { "" };
            repl.say(&format!("taken back: {first}{more}"));
        }
        None => repl.complain("there is no definition to take back"),
    }
    true
}

/// `:snapshot NAME`; without a name, it lists the snapshots.
pub fn snapshot(repl: &mut Repl, name: &str) -> bool {
    if name.is_empty() {
        let names = repl.session.borrow().snapshots();
        let text = if names.is_empty() {
            "there are no snapshots: `:snapshot NAME` keeps all definitions".to_owned()
        } else {
            names.join("\n")
        };
        repl.say(&text);
        return true;
    }
    repl.session.borrow_mut().snapshot(name);
    repl.say(&format!("`:restore {name}` comes back to here"));
    true
}

/// `:restore NAME`.
pub fn restore(repl: &mut Repl, name: &str) -> bool {
    let found = repl.session.borrow_mut().restore(name);
    if found {
        repl.say(&format!("definitions are those of snapshot {name}; `:undo` takes this back"));
        return true;
    }
    let names = repl.session.borrow().snapshots();
    let near =
        adl_session::docs::nearest(name, names.iter().map(String::as_str)).map(|n| format!("; did you mean `{n}`?"));
    repl.complain(&format!("there is no snapshot `{name}`{}", near.unwrap_or_default()));
    true
}

/// `:save FILE`: writes a program with the effects of the entries. Without a file, it prints the plan as code.
pub fn save(repl: &mut Repl, file: &str) -> bool {
    if file.is_empty() {
        plans::code(repl);
        return true;
    }
    let dir = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
    let (text, n) = {
        let s = repl.session.borrow();
        (s.program(&dir), s.history.len())
    };
    match crate::commands::write(file, text) {
        Ok(()) => repl.say(&format!("{n} entr{} written to {file}", if n == 1 { "y" } else { "ies" })),
        Err(e) => repl.complain(&format!("{file}: {e}")),
    }
    true
}

/// The interval at which a file is checked.
const LOOK: Duration = Duration::from_millis(200);

/// A fingerprint that shows whether a file has changed.
fn mark(file: &str) -> Result<(SystemTime, u64), std::io::Error> {
    let about = std::fs::metadata(file)?;
    Ok((about.modified()?, about.len()))
}

/// `:watch FILE`: loads it, and reloads it on every change, until Ctrl-C.
pub fn watch(repl: &mut Repl, file: &str) -> bool {
    if repl.notebook {
        repl.complain("a notebook does not wait for files: run `:load` again");
        return true;
    }
    let file = file.trim_matches('"');
    let mut seen = match mark(file) {
        Ok(mark) => mark,
        Err(e) => {
            repl.complain(&format!("{file}: {}", io_text(&e)));
            return true;
        }
    };
    meta::load_one(repl, file, false);
    repl.say(&format!("watching {file}; Ctrl-C ends this"));
    let stop = repl.session.borrow().interrupt();
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        // An editor may have removed the old file but not written the new one yet.
        let Ok(now) = mark(file) else { continue };
        if now != seen && !stop.load(std::sync::atomic::Ordering::Relaxed) {
            seen = now;
            meta::load_one(repl, file, true);
            repl.session.borrow_mut().host().flush();
        }
    }
    repl.session.borrow().clear_interrupt();
    true
}
