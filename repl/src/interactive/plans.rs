//! Choosing what reverse mode stores: `:residuals` and what acts on it; `:cost` and `:ir`.

use super::Repl;
use crate::commands::report;
use adl_interp::ir::road::report::{count, size};
use adl_interp::ir::road::table::{self, field, number};
use adl_interp::ir::road::{Plan, SPELLINGS};
use adl_interp::value::Value;
use adl_syntax::diag::Diagnostic;

/// The function that is looked at.
pub struct Watched {
    f: String,
    x: String,
    plan: Plan,
    /// The value of type `Residuals`.
    shown: Value,
}

/// An expression as an argument.
fn atom(text: &str) -> String {
    format!("({text})")
}

/// The residuals of a function under a plan.
fn look(repl: &mut Repl, f: &str, x: &str, plan: &Plan) -> Option<Value> {
    let text = format!("residuals {} {} |> with_plan {}", atom(f), atom(x), plan.code());
    let out = repl.session.borrow_mut().value_of(&text);
    match out {
        Ok(v) => Some(v),
        Err(diags) => {
            match &diags[..] {
                // The place would be in a text that nobody wrote.
                [d] if d.code == adl_interp::error::codes::PLAN => repl.complain(&d.message),
                _ => failed(repl, &diags),
            }
            None
        }
    }
}

fn failed(repl: &mut Repl, diags: &[Diagnostic]) {
    repl.failed += 1;
    report(&repl.global, &mut repl.session.borrow_mut(), diags);
}

/// `:residuals f x`.
pub fn residuals(repl: &mut Repl, text: &str) -> bool {
    if text.is_empty() {
        let Some(w) = repl.watched.take() else {
            none(repl);
            return true;
        };
        // Again, for what has been measured since.
        let shown = look(repl, &w.f, &w.x, &w.plan).unwrap_or(w.shown);
        repl.say(&table::residuals(&shown).unwrap_or_default());
        repl.watched = Some(Watched { shown, ..w });
        return true;
    }
    let parts = repl.session.borrow_mut().applied(text);
    let Some((f, x)) = parts else {
        repl.complain("usage: :residuals FUNCTION ARGUMENT");
        return true;
    };
    if let Some(shown) = look(repl, &f, &x, &Plan::StoreAll) {
        repl.say(&table::residuals(&shown).unwrap_or_default());
        repl.watched = Some(Watched { f, x, plan: Plan::StoreAll, shown });
    }
    true
}

fn none(repl: &mut Repl) {
    repl.complain("`:residuals f x` comes first: it says which function is meant");
}

/// Ids that are recomputed now.
fn recomputed(v: &Value) -> Vec<u32> {
    let Some(Value::Array(a)) = table::inside(v).and_then(|r| field(r, "recomputed")) else { return Vec::new() };
    match &a.buf {
        adl_interp::value::Buf::I64(ns) => ns.iter().filter_map(|n| u32::try_from(*n).ok()).collect(),
        _ => Vec::new(),
    }
}

fn ids(text: &str) -> Option<Vec<u32>> {
    text.split([' ', ',', '[', ']']).filter(|w| !w.is_empty()).map(|w| w.parse().ok()).collect()
}

/// `:store ids`.
pub fn store(repl: &mut Repl, text: &str) -> bool {
    edit(repl, text, |now, ids| now.retain(|k| !ids.contains(k)))
}

/// `:recompute ids`.
pub fn recompute(repl: &mut Repl, text: &str) -> bool {
    edit(repl, text, |now, ids| now.extend(ids))
}

fn edit(repl: &mut Repl, text: &str, change: impl FnOnce(&mut Vec<u32>, &[u32])) -> bool {
    let Some(ids) = ids(text) else {
        repl.complain("ids are numbers: the first column of `:residuals`");
        return true;
    };
    let Some(w) = &repl.watched else {
        none(repl);
        return true;
    };
    let mut now = recomputed(&w.shown);
    change(&mut now, &ids);
    now.sort_unstable();
    now.dedup();
    let plan = if now.is_empty() { Plan::StoreAll } else { Plan::ByHand(now) };
    switch(repl, plan);
    true
}

/// `:plan name`.
pub fn plan(repl: &mut Repl, text: &str) -> bool {
    match Plan::parse(text) {
        Some(p) => switch(repl, p),
        None => repl.complain(&format!("`{text}` is no plan; plans are {SPELLINGS}")),
    }
    true
}

/// Another plan for the function that is looked at, and what it changes.
fn switch(repl: &mut Repl, plan: Plan) {
    let Some(w) = repl.watched.take() else {
        none(repl);
        return;
    };
    let Some(shown) = look(repl, &w.f, &w.x, &plan) else {
        repl.watched = Some(w);
        return;
    };
    let text = match (table::inside(&w.shown), table::inside(&shown)) {
        (Some(a), Some(b)) => {
            let part = |n: &str, text: fn(u64) -> String| format!("{} -> {}", text(number(a, n)), text(number(b, n)));
            format!("{} -> {plan}: stored {}, peak {}, extra work {}", w.plan, part("bytes", size), part("peak", size), part("again", count))
        }
        _ => plan.to_string(),
    };
    repl.say(&text);
    repl.watched = Some(Watched { plan, shown, ..w });
}

/// `:apply`.
pub fn apply(repl: &mut Repl, _: &str) -> bool {
    let Some(w) = &repl.watched else {
        none(repl);
        return true;
    };
    let (f, plan) = (w.f.clone(), w.plan.clone());
    let done = repl.session.borrow_mut().apply_plan(&atom(&f), plan.clone());
    match done {
        Ok(()) => repl.say(&format!("gradients of {f} follow {plan} from now on")),
        Err(diags) => failed(repl, &diags),
    }
    true
}

/// The plan as code: what `:save` without a file says.
pub fn code(repl: &mut Repl) {
    match &repl.watched {
        Some(w) => {
            let word = |t: &str| if t.contains(char::is_whitespace) && !t.starts_with(['(', '[']) { atom(t) } else { t.to_owned() };
            let text = format!("grad_with {} {} {}", w.plan.code(), word(&w.f), word(&w.x));
            repl.say(&text);
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
