//! Commands that show names and values.

use super::{Repl, meta, pager};
use adl_kernel::latex_symbols;
use adl_session::{Echo, wrapped_type};

/// `:show NAME`: an entire value, in a pager if it is longer than the screen.
pub fn show(repl: &mut Repl, text: &str) -> bool {
    let found = repl.session.borrow_mut().echo_of(text);
    match found {
        Ok(echo) => paged(repl, &laid(repl, &echo)),
        Err(diags) => {
            repl.failed += 1;
            crate::commands::report(&repl.global, &mut repl.session.borrow_mut(), &diags);
        }
    }
    true
}

fn laid(repl: &Repl, echo: &Echo) -> String {
    echo.all(repl.screen().unwrap_or(100))
}

/// Shows a text, in a pager if it is longer than the screen.
pub fn paged(repl: &mut Repl, text: &str) {
    repl.session.borrow_mut().host().flush();
    if repl.notebook || repl.global.plain || !pager::page(text) {
        repl.say(text);
    }
}

/// `:info NAME`: kind, origin and documentation of a name.
pub fn info(repl: &mut Repl, name: &str) -> bool {
    if let Some(letter) = latex_symbols::named(name) {
        repl.say(&format!("{name} is typed \\{letter}<Tab>"));
        return true;
    }
    let found = repl.session.borrow_mut().info(name);
    match found {
        Some(text) => repl.say_wrapped(&text, 4),
        None => meta::unknown(repl, name, "unknown name"),
    }
    true
}

/// `:env`: definitions with their types, and the sizes of large ones.
pub fn env(repl: &mut Repl, _: &str) -> bool {
    let names = repl.session.borrow().listing();
    if names.is_empty() {
        repl.say("nothing is defined yet");
    }
    let columns = repl.screen().unwrap_or(usize::MAX);
    for c in names {
        let bytes = repl.session.borrow().bytes_of(&c.text).filter(|b| *b >= 1000);
        let bytes =
            bytes.map_or(String::new(), |b| format!("   {}", adl_interp::ir::derive::residuals_report::size(b)));
        repl.say(&wrapped_type(&format!("{} : {}{bytes}", c.text, c.ty), columns, 4).join("\n"));
    }
    true
}
