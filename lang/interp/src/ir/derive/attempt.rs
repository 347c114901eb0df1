//! Attempts to run compiled code: what they need of the machine, how they end, and names for reports.

use super::state::*;
use crate::ad::linear_map::LinearMap;
use crate::error::{Error, Res, codes};
use crate::ir::world::EntryValues;
use crate::value::Value;
use crate::value::fun::Fun;
use crate::value::plan::Plan;
use crate::vm::Machine;
use adl_specialise::world::{Assumptions, DEEPER, Unsupported};
use std::any::Any;
use std::rc::Rc;

/// The derivative by compiled AD, if the map is one.
pub(crate) fn compiled(map: &LinearMap) -> Option<Rc<Map>> {
    let main: Rc<dyn Any> = map.main.clone()?;
    main.downcast().ok()
}

/// The name of a function value.
pub(crate) fn name_of(f: &Value) -> String {
    match f {
        Value::Fun(f) => name(f),
        _ => "fun".into(),
    }
}

/// The error for a plan on a function that compiled AD does not support.
pub(crate) fn no_plans_error(u: &Unsupported) -> Box<Error> {
    Error::new(codes::PLAN, format!("there are no plans for this function, because of {}", u.why))
        .hint("its derivatives are taped, which stores everything")
}

fn name(f: &Fun) -> String {
    match f {
        Fun::Closure(c, _) => c.name.map_or("fun".into(), |n| n.to_string()),
        Fun::Member(g, i) => g.codes[*i as usize].name.map_or("fun".into(), |n| n.to_string()),
        Fun::Prim(p, _) => p.name().to_owned(),
        Fun::Partial(g, _) => name(g),
        Fun::Custom(g, ..) | Fun::Checkpoint(g) => match g {
            Value::Fun(g) => name(g),
            _ => "fun".into(),
        },
        Fun::Linear(_) | Fun::Invertible(_) => "fun".into(),
        Fun::Host(h) => h.name.clone(),
    }
}

/// The values of all parameters of a specialised function.
pub(super) fn inputs(m: &Machine, e: &Specialized, f: &Value, args: &[Value]) -> Result<Vec<Value>, NotCompiled> {
    let values = EntryValues::new(m, f, args);
    let mut out = Vec::new();
    for i in &e.entry.inputs {
        let v = values.at(&i.place).ok_or_else(|| not("a value that is not there yet"))?;
        e.datas
            .to_leaves(&v, &i.layout, &mut out)
            .ok_or_else(|| not("a value of another layout than its type says"))?;
    }
    Ok(out)
}

/// Whether compiled AD should be attempted.
pub(crate) fn wanted(m: &Machine) -> bool {
    m.compiled_ad.choice == Derivation::Compiled && m.ad.depth() == 0
}

/// Lends the state of compiled AD out of the machine while `run` uses both.
pub(super) fn with<T>(
    m: &mut Machine,
    run: impl FnOnce(&mut CompiledAd, &Machine) -> Result<T, NotCompiled>,
) -> Result<T, NotCompiled> {
    let spare = m.spare_ad.take().unwrap_or_default();
    let mut compiled_ad = std::mem::replace(&mut m.compiled_ad, spare);
    let out = run(&mut compiled_ad, m);
    m.spare_ad = Some(std::mem::replace(&mut m.compiled_ad, compiled_ad));
    out
}

/// The specialised function, with the values of its parameters.
pub(super) fn entered(
    m: &mut Machine,
    f: &Value,
    args: &[Value],
) -> Result<(Rc<Specialized>, Vec<Value>), NotCompiled> {
    with(m, |compiled_ad, m| {
        let e = compiled_ad.enter(m, f, args)?;
        let leaves = inputs(m, &e, f, args)?;
        Ok((e, leaves))
    })
}

/// The same for reverse mode: the function is specialised to the extents of small rows, too. Plans and tables of residuals
/// refer to this function, so that every plan gives the same bits.
pub(super) fn entered_for_gradient(
    m: &mut Machine,
    f: &Value,
    x: &Value,
) -> Result<(Rc<Specialized>, Vec<Value>), NotCompiled> {
    let (e, leaves) = entered(m, f, std::slice::from_ref(x))?;
    Ok((m.compiled_ad.with_rows_of_size(&e, &leaves), leaves))
}

/// The end of an attempt. `None` means that taped AD must be used; interrupts are passed on.
pub(super) fn answer<T>(machine: &mut Machine, func: &Value, out: Res<Result<T, NotCompiled>>) -> Res<Option<T>> {
    let why = match out {
        Ok(Ok(v)) => {
            let native = std::mem::take(&mut machine.ran_native);
            machine.compiled_ad.ran = machine.device.take();
            machine.compiled_ad.note(func, native, None);
            return Ok(Some(v));
        }
        Ok(Err(NotCompiled(u))) => u,
        Err(e) if e.stops() || e.diag.code == codes::PLAN => return Err(e),
        Err(e) => Unsupported::new(format!("an error: {}", e.diag.message), e.diag.primary.span),
    };
    machine.ran_native = false;
    if let Some(Plan::Budget(_)) = machine.compiled_ad.plans.given {
        // Taped AD could not keep to the memory bound, and would repeat the effects of the function.
        return Err(no_plans_error(&why));
    }
    machine.compiled_ad.note(func, false, Some(why));
    Ok(None)
}

/// Runs code that assumes what holds in most runs ([`Assumptions`]). Where it does not hold the run fails, and is repeated
/// with code that assumes less. Without a result the caller computes it in another way, without repeating effects.
pub(super) fn attempt<T>(
    machine: &mut Machine,
    run: impl Fn(&mut Machine) -> Res<Result<T, NotCompiled>>,
) -> Res<Result<T, NotCompiled>> {
    machine.effects.begin();
    let before = machine.compiled_ad.specialised.assumptions;
    let mut out = run(machine);
    while let Err(e) = &out
        && let Some(less) = without(machine.compiled_ad.specialised.assumptions, e)
    {
        machine.effects.rewind();
        machine.compiled_ad.specialised.assumptions = less;
        out = run(machine);
    }
    machine.compiled_ad.specialised.assumptions = before;
    machine.effects.end(matches!(out, Ok(Ok(_))));
    out
}

/// The assumptions without the one that has failed with this error, if it is one of theirs.
fn without(assumed: Assumptions, error: &Error) -> Option<Assumptions> {
    if error.diag.message.contains(DEEPER) {
        return Some(Assumptions { levels: assumed.levels.checked_add(1)?, ..assumed });
    }
    let zero_trips = error.diag.code == codes::ASSERT && !assumed.allow_zero_trips;
    zero_trips.then_some(Assumptions { allow_zero_trips: true, ..assumed })
}
