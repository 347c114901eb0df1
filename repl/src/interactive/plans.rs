//! Commands that choose what reverse mode stores: `:residuals` and those that act on it; `:cost` and `:ir`.

use super::Repl;
use crate::commands::report;
use adl_interp::ir::derive::residuals_report::{count, size};
use adl_interp::ir::derive::table::{self, number};
use adl_interp::ir::derive::{Plan, SPELLINGS};
use adl_interp::value::Value;
use adl_session::{DisplayedResiduals, ResidualsHandle};
use adl_syntax::diag::Diagnostic;

/// An expression in the form of an argument.
fn atom(text: &str) -> String {
    format!("({text})")
}

/// Reports why a command failed. The places of some errors are in generated text, so they are not shown.
fn refused(repl: &mut Repl, diags: &[Diagnostic]) {
    match diags {
        [d] if d.code == adl_interp::error::codes::PLAN => repl.complain(&d.message),
        _ => failed(repl, diags),
    }
}

/// Computes the displayed residuals under a plan and displays them. Returns the previous ones.
fn replan(repl: &mut Repl, watch: &ResidualsHandle, plan: &Plan) -> Option<Value> {
    let before = watch.borrow().shown.clone();
    let out = repl.session.borrow_mut().replanned(&before, plan);
    match out {
        Ok(v) => {
            watch.borrow_mut().shown = v;
            Some(before)
        }
        Err(diags) => {
            refused(repl, &diags);
            None
        }
    }
}

/// The displayed residuals. Reports an error if there are none, or if their function has been redefined.
fn watched(repl: &mut Repl) -> Option<ResidualsHandle> {
    let watch = repl.session.borrow().watched();
    let Some(watch) = watch else {
        repl.complain("`:residuals f x` comes first: it says which function is meant");
        return None;
    };
    let redefined = repl.session.borrow().redefined(&watch.borrow());
    if let Some(name) = redefined {
        repl.complain(&format!("`{name}` has been redefined since `:residuals`: run it again for the new definition"));
        return None;
    }
    Some(watch)
}

fn failed(repl: &mut Repl, diags: &[Diagnostic]) {
    repl.failed += 1;
    report(&repl.global, &mut repl.session.borrow_mut(), diags);
}

/// `:residuals f x`. Without arguments, it shows the displayed residuals again, with the measurements made since.
pub fn residuals(repl: &mut Repl, text: &str) -> bool {
    if text.is_empty() {
        let Some(watch) = watched(repl) else { return true };
        let plan = watch.borrow().plan().unwrap_or(Plan::StoreAll);
        let _ = replan(repl, &watch, &plan);
        let shown = table::residuals(&watch.borrow().shown).unwrap_or_default();
        repl.say(&shown);
        return true;
    }
    let parts = repl.session.borrow_mut().applied(text);
    let Some((f, x)) = parts else {
        repl.complain("usage: :residuals FUNCTION ARGUMENT");
        return true;
    };
    let out = repl.session.borrow_mut().value_of(&format!("residuals {} {} |> with_plan StoreAll", atom(&f), atom(&x)));
    match out {
        Ok(shown) => {
            repl.say(&table::residuals(&shown).unwrap_or_default());
            repl.session.borrow_mut().watch(shown, Some((f, x)));
        }
        Err(diags) => refused(repl, &diags),
    }
    true
}

fn ids(text: &str) -> Option<Vec<u32>> {
    text.split([' ', ',', '[', ']']).filter(|w| !w.is_empty()).map(|w| w.parse().ok()).collect()
}

/// `:store ids`.
pub fn store(repl: &mut Repl, text: &str) -> bool {
    edit(repl, text, |w, ids| w.refined(ids, &[]))
}

/// `:recompute ids`.
pub fn recompute(repl: &mut Repl, text: &str) -> bool {
    edit(repl, text, |w, ids| w.refined(&[], ids))
}

fn edit(repl: &mut Repl, text: &str, refine: impl FnOnce(&DisplayedResiduals, &[u32]) -> Result<Plan, String>) -> bool {
    let Some(ids) = ids(text) else {
        repl.complain("ids are numbers: the first column of `:residuals`");
        return true;
    };
    let Some(watch) = watched(repl) else { return true };
    let refined = refine(&watch.borrow(), &ids);
    match refined {
        Ok(plan) => switch(repl, &watch, &plan),
        Err(why) => repl.complain(&why),
    }
    true
}

/// `:plan name`.
pub fn plan(repl: &mut Repl, text: &str) -> bool {
    let Some(plan) = Plan::parse(text) else {
        repl.complain(&format!("`{text}` is not a plan; plans are {SPELLINGS}"));
        return true;
    };
    if let Some(watch) = watched(repl) {
        switch(repl, &watch, &plan);
    }
    true
}

/// Switches the displayed function to another plan, and reports the changes.
fn switch(repl: &mut Repl, watch: &ResidualsHandle, plan: &Plan) {
    let Some(before) = replan(repl, watch, plan) else { return };
    let now = watch.borrow().shown.clone();
    let text = match (table::inside(&before), table::inside(&now)) {
        (Some(a), Some(b)) => {
            let part = |n: &str, text: fn(u64) -> String| format!("{} -> {}", text(number(a, n)), text(number(b, n)));
            format!(
                "{} -> {plan}: stored {}, peak {}, extra work {}",
                table::plan(a),
                part("bytes", size),
                part("peak", size),
                part("again", count)
            )
        }
        _ => plan.to_string(),
    };
    repl.say(&text);
}

/// `:apply`.
pub fn apply(repl: &mut Repl, _: &str) -> bool {
    let Some(watch) = watched(repl) else { return true };
    let done = repl.session.borrow_mut().apply_watched();
    if let Some(plan) = done {
        let (f, _) = watch.borrow().words();
        repl.say(&format!("gradients of {f} follow {plan} from now on"));
    }
    true
}

/// Prints the plan as code, for `:save` without a file.
pub fn code(repl: &mut Repl) {
    let watch = repl.session.borrow().watched();
    match watch {
        Some(watch) => {
            let word = |t: &str| {
                if t.contains(char::is_whitespace) && !t.starts_with(['(', '[']) { atom(t) } else { t.to_owned() }
            };
            let (f, x) = watch.borrow().words();
            let plan = watch.borrow().plan().unwrap_or(Plan::StoreAll);
            repl.say(&format!("grad_with {} {} {}", plan.code(), word(&f), word(&x)));
        }
        None => repl.complain("usage: :save FILE, or :save after :residuals, for the plan as code"),
    }
}

/// `:cost f x`.
pub fn cost(repl: &mut Repl, text: &str) -> bool {
    let parts = repl.session.borrow_mut().applied(text);
    let Some((f, x)) = parts else {
        repl.complain("usage: :cost FUNCTION ARGUMENT");
        return true;
    };
    let out = repl.session.borrow_mut().value_of(&format!("cost {} {}", atom(&f), atom(&x)));
    match out {
        Ok(v) => repl.say(&table::cost(&v).unwrap_or_default()),
        Err(diags) => failed(repl, &diags),
    }
    true
}

/// `:ir stage f`.
pub fn ir(repl: &mut Repl, text: &str) -> bool {
    let Some((stage, f)) = text.split_once(char::is_whitespace) else {
        repl.complain(&format!("usage: :ir STAGE FUNCTION; the stages are {}", adl_session::STAGES.join(", ")));
        return true;
    };
    let out = repl.session.borrow_mut().ir(stage, f.trim(), &[]);
    match out {
        Ok(t) => repl.say(t.trim_end()),
        Err(diags) => failed(repl, &diags),
    }
    true
}
