//! What the optimiser's passes do to a function: its code after each run of a pass, and the time of each pass.

use super::{CompiledAd, NotCompiled, Specialized};
use adl_ir::print::{self, Style};
use adl_ir::{FnId, Function, Program, Zeros};
use adl_opt::Pass;
use adl_opt::pipelines::{self, PASSES};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

/// Runs all pipelines on a function and its gradient: for functions that are not differentiated, before and after
/// differentiation, for native code, and for a device.
fn all_pipelines(c: &mut CompiledAd, e: &Rc<Specialized>, halves: &[FnId]) {
    c.compile_plain(e.entry.func);
    for f in halves {
        let p = &c.program;
        let mut inlined = (**p.func(*f)).clone();
        adl_opt::run(pipelines::INLINED, p, &mut inlined, Zeros::Symbolic);
        let native = &[pipelines::FINISH, pipelines::NATIVE, pipelines::COMPILED][..];
        for target in [native, &[pipelines::FOR_DEVICE, pipelines::VECTORS]] {
            let mut made = inlined.clone();
            target.iter().for_each(|steps| _ = adl_opt::run(steps, p, &mut made, Zeros::Symbolic));
        }
    }
}

/// Runs all pipelines and tells `observer` of each pass.
fn observed(
    c: &mut CompiledAd,
    e: &Rc<Specialized>,
    observer: adl_opt::pipelines::Observer,
) -> Result<(), NotCompiled> {
    let before = adl_opt::pipelines::observe(Some(observer));
    let halves = c.stage(e, super::stages::Stage::Opt);
    if let Ok(halves) = &halves {
        all_pipelines(c, e, halves);
    }
    adl_opt::pipelines::observe(before);
    halves.map(|_| ())
}

/// The function, its derivatives and their callees after each run of a pass that changed them.
pub(super) fn after(
    compiled_ad: &mut CompiledAd,
    specialized: &Rc<Specialized>,
    pass: &'static Pass,
) -> Result<String, NotCompiled> {
    let (text, runs) = (Rc::new(RefCell::new(String::new())), Rc::new(RefCell::new(0)));
    let (out, count) = (text.clone(), runs.clone());
    let look = move |ran: &'static Pass, p: &Program, changed: Option<&Function>, _: Duration| {
        if ran.name == pass.name {
            *count.borrow_mut() += 1;
            if let Some(f) = changed {
                let code = print::function(p, f, Style { exact: false, source: None });
                let _ = writeln!(out.borrow_mut(), "-- after `{}`, run {}\n{code}", pass.name, count.borrow());
            }
        }
    };
    observed(compiled_ad, specialized, Box::new(look))?;
    let text = std::mem::take(&mut *text.borrow_mut());
    Ok(if text.is_empty() { format!("`{}` ran {} times and changed nothing", pass.name, runs.borrow()) } else { text })
}

/// A table of the passes: how often each ran and changed something, and its time.
pub(super) fn timings(c: &mut CompiledAd, e: &Rc<Specialized>) -> Result<String, NotCompiled> {
    let rows = Rc::new(RefCell::new(vec![(0_u32, 0_u32, Duration::ZERO); PASSES.len()]));
    let counted = rows.clone();
    let look = move |ran: &'static Pass, _: &Program, changed: Option<&Function>, took: Duration| {
        if let Some(k) = PASSES.iter().position(|pass| pass.name == ran.name) {
            let row = &mut counted.borrow_mut()[k];
            *row = (row.0 + 1, row.1 + u32::from(changed.is_some()), row.2 + took);
        }
    };
    observed(c, e, Box::new(look))?;
    let rows = rows.borrow();
    let mut order: Vec<usize> = (0..PASSES.len()).filter(|k| rows[*k].0 > 0).collect();
    order.sort_by_key(|k| std::cmp::Reverse(rows[*k].2));
    let mut text = String::from("pass                runs  changed        ms  what it does\n");
    for k in order {
        let (runs, changed, took) = rows[k];
        let ms = took.as_secs_f64() * 1000.0;
        let _ = writeln!(text, "{:<18} {runs:>5}  {changed:>7}  {ms:>8.3}  {}", PASSES[k].name, PASSES[k].about);
    }
    Ok(text)
}
