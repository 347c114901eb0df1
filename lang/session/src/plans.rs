//! Plans, costs and compiler stages of functions, for the command line and the REPL.

use crate::Session;
use crate::gc::Displayed;
use adl_interp::ir::derive::stages::{self, Stage};
use adl_interp::ir::derive::{self, Plan, SPELLINGS, residuals_report, table};
use adl_interp::value::Value;
use adl_interp::vm::Fun;
use adl_prim::{DerivativeFn, Prim};
use adl_syntax::ast::{Expr, ExprKind, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::Item;
use adl_typing::ty::{Size, Ty};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

/// The names of the optimiser's passes: `after:NAME` is a stage too.
pub fn pass_names() -> Vec<&'static str> {
    adl_interp::ir::derive::stages::pass_names()
}

/// The stages that [`Session::ir`] prints.
pub const STAGES: [&str; 8] = ["core", "spec", "jvp", "unzip", "transpose", "opt", "clif", "asm"];

/// Displayed residuals. The REPL's commands and a notebook's live table modify the same object.
pub struct DisplayedResiduals {
    /// The value of type `Residuals`.
    pub shown: Value,
    words: Option<(String, String)>,
    /// The name of the function's definition when it was displayed, if it had one.
    definition: Option<Symbol>,
}

/// A shared display of residuals.
pub type ResidualsHandle = Rc<RefCell<DisplayedResiduals>>;

impl Displayed for RefCell<DisplayedResiduals> {
    fn value(&self) -> Value {
        self.borrow().shown.clone()
    }
}

impl DisplayedResiduals {
    /// The function and the argument as source text.
    pub fn words(&self) -> (String, String) {
        let name = || table::inside(&self.shown).map_or_else(String::new, |r| table::text(r, "function"));
        self.words.clone().unwrap_or_else(|| (name(), "x".to_owned()))
    }

    /// The current plan.
    pub fn plan(&self) -> Option<Plan> {
        table::inside(&self.shown).map(table::plan)
    }

    /// The current plan with some rows stored and others recomputed; rows in neither list keep their state. An error
    /// explains which row cannot be recomputed.
    pub fn refined(&self, store: &[u32], recompute: &[u32]) -> Result<Plan, String> {
        let Some(record) = table::inside(&self.shown) else { return Ok(Plan::StoreAll) };
        let rows = table::rows(record, "rows");
        for id in store.iter().chain(recompute) {
            let row =
                rows.get(*id as usize).ok_or_else(|| format!("there is no residual {id}: there are {}", rows.len()))?;
            if recompute.contains(id) && !table::flag(row, "movable") {
                return Err(format!("residual {id} cannot be recomputed: it is {}", table::text(row, "reason")));
            }
        }
        let decided = |id: &u32, what: &str| {
            rows.get(*id as usize).is_some_and(|row| (table::text(row, "decision") == "store") == (what == "store"))
        };
        if store.iter().all(|id| decided(id, "store")) && recompute.iter().all(|id| decided(id, "recompute")) {
            return Ok(table::plan(record));
        }
        let mut ids: BTreeSet<u32> = table::recomputed(record).into_iter().collect();
        ids.extend(recompute);
        ids.retain(|id| !store.contains(id));
        Ok(if ids.is_empty() { Plan::StoreAll } else { Plan::ByHand(ids.into_iter().collect()) })
    }
}

impl Session {
    /// Sets the plan of every gradient, in command-line syntax.
    pub fn set_plan(&mut self, text: &str) -> Result<(), String> {
        self.machine.compiled_ad.plan =
            Plan::parse(text).ok_or_else(|| format!("`{text}` is not a plan; plans are {SPELLINGS}"))?;
        Ok(())
    }

    /// Makes residuals the object of `:store`, `:recompute`, `:plan` and `:apply`. `words`: source text of their
    /// function and argument, if available.
    pub fn watch(&mut self, shown: Value, words: Option<(String, String)>) -> ResidualsHandle {
        let name = table::inside(&shown).map(|r| Symbol::new(&table::text(r, "function")));
        let definition = name.filter(|n| self.defines(*n, &shown));
        let watch = Rc::new(RefCell::new(DisplayedResiduals { shown, words, definition }));
        let weak: Weak<RefCell<DisplayedResiduals>> = Rc::downgrade(&watch);
        self.memory.watches.push(weak);
        self.watched = Some(watch.clone());
        watch
    }

    /// Whether a name refers to the function of these residuals.
    fn defines(&self, name: Symbol, residuals: &Value) -> bool {
        let now = self.env.value(name).and_then(|g| self.machine.global(g.id));
        function_and_argument(residuals).zip(now).is_some_and(|((f, _), g)| derive::same_definition(&f, g))
    }

    /// The name of the residuals' function, if it has been redefined since.
    pub fn redefined(&self, w: &DisplayedResiduals) -> Option<String> {
        w.definition.filter(|n| !self.defines(*n, &w.shown)).map(|n| n.to_string())
    }

    /// The residuals that were displayed last.
    pub fn watched(&self) -> Option<ResidualsHandle> {
        self.watched.clone()
    }

    /// Makes the plan of the displayed residuals the plan of all gradients of their function.
    pub fn apply_watched(&mut self) -> Option<Plan> {
        let watch = self.watched()?;
        let w = watch.borrow();
        let (f, _) = function_and_argument(&w.shown)?;
        let plan = w.plan()?;
        self.machine.compiled_ad.apply(&f, plan.clone());
        Some(plan)
    }

    /// Pareto-optimal plans for the residuals' function, from the least memory to storing everything: peak memory and
    /// extra work.
    pub fn steps(&mut self, residuals: &Value) -> Vec<(u64, u64)> {
        let Some((f, x)) = function_and_argument(residuals) else { return Vec::new() };
        residuals_report::steps(&mut self.machine, &f, &x).unwrap_or_default()
    }

    /// The residuals of the same function under another plan.
    pub fn replanned(&mut self, residuals: &Value, plan: &Plan) -> Result<Value, Vec<Diagnostic>> {
        let Value::Data(d) = residuals else { return Ok(residuals.clone()) };
        let Some(under) = d.fields.get(1) else { return Ok(residuals.clone()) };
        let plan = self.value_of(&plan.code())?;
        self.call(under, &[plan]).map_err(|d| vec![*d])
    }

    /// Applies the plan of residuals to all gradients of their function, and computes one. The residuals then report
    /// what it stored.
    pub fn apply_residuals(&mut self, residuals: &Value) -> Result<Value, Vec<Diagnostic>> {
        let (Some((f, x)), Some(r)) = (function_and_argument(residuals), table::inside(residuals)) else {
            return Ok(residuals.clone());
        };
        let plan = table::plan(r);
        let value = self.value_of(&plan.code())?;
        let gradient = Value::Fun(Rc::new(Fun::Prim(Prim::Derivative(DerivativeFn::GradWith), Vec::new())));
        self.call(&gradient, &[value, f.clone(), x]).map_err(|d| vec![*d])?;
        self.machine.compiled_ad.apply(&f, plan.clone());
        self.replanned(residuals, &plan)
    }

    /// The value of an expression, which is neither bound nor recorded.
    pub fn value_of(&mut self, text: &str) -> Result<Value, Vec<Diagnostic>> {
        let done = self.guarded(|s| {
            let e = s.expression_of(text)?;
            s.machine.eval(&e, None).map_err(|e| vec![e.diag])
        });
        done.unwrap_or_else(|d| Err(vec![*d]))
    }

    /// A text as a checked expression.
    pub(crate) fn expression_of(&mut self, text: &str) -> Result<adl_typing::core::Expr, Vec<Diagnostic>> {
        let file = self.add_source("<command>", text);
        let (program, diags) = adl_syntax::parse(file, text);
        if diags.iter().any(Diagnostic::is_error) {
            return Err(diags);
        }
        let [item] = &program.items[..] else { return Err(vec![wanted(file, text, "expected an expression")]) };
        let checked = self.check(&self.env.clone(), item, false);
        if checked.diags.iter().any(Diagnostic::is_error) {
            return Err(checked.diags);
        }
        match checked.item {
            Some(Item::Expr(e)) => Ok(e),
            _ => Err(vec![wanted(file, text, "expected an expression")]),
        }
    }

    /// A function at a stage of the compiler, as text with source lines in comments. `args`: expressions that determine
    /// the types of its arguments, where its own type leaves them open.
    pub fn ir(&mut self, stage: &str, function: &str, args: &[String]) -> Result<String, Vec<Diagnostic>> {
        self.guarded(|s| s.ir_text(stage, function, args)).unwrap_or_else(|d| Err(vec![*d]))
    }

    fn ir_text(&mut self, stage: &str, function: &str, args: &[String]) -> Result<String, Vec<Diagnostic>> {
        let file = self.add_source("<command>", function);
        let named = !function.is_empty() && function.chars().all(|c| c.is_alphanumeric() || "_.'".contains(c));
        if named && self.type_of_name(function).is_none() && self.type_of_member(function).is_none() {
            let mut unknown =
                Diagnostic::error("E0201", Span::new(file, 0, function.len()), format!("unknown name `{function}`"));
            unknown.hint = self.nearest(function).map(|n| format!("did you mean `{n}`?"));
            return Err(vec![unknown]);
        }
        if stage == "core" {
            let id = self.env.value(Symbol::new(function)).map(|g| g.id);
            return match id.and_then(|id| self.machine.definition(id)) {
                Some(d) => Ok(adl_typing::print_core::definition(&d)),
                None => Err(vec![wanted(file, function, "expected the name of a definition")]),
            };
        }
        let Some(stage) = Stage::parse(stage) else {
            return Err(vec![wanted(file, function, &format!("the stages are {}", STAGES.join(", ")))]);
        };
        let args = &self.filled(function, args);
        let f = self.at_types(function, args)?;
        let args = args.iter().map(|a| self.value_of(a)).collect::<Result<Vec<_>, _>>()?;
        stages::text(&mut self.machine, &f, &args, stage).map_err(|(why, span)| {
            let span = if span == Span::default() { Span::new(file, 0, function.len()) } else { span };
            vec![Diagnostic::error(
                adl_interp::error::codes::PLAN,
                span,
                format!("this function has no IR, because of {why}"),
            )]
        })
    }

    /// The given arguments, extended by sample arguments for a generic function: `Num` and `Real` become `Float`.
    fn filled(&self, function: &str, args: &[String]) -> Vec<String> {
        let mut out = args.to_vec();
        let Some(scheme) = self.env.value(Symbol::new(function)).map(|g| g.scheme.clone()) else { return out };
        let mut ty = &scheme.ty;
        let mut made = Vec::new();
        while let Ty::Fun(a, b) | Ty::Lin(a, b) = ty {
            made.push(sample(a));
            ty = b;
        }
        if !scheme.vars.is_empty() && made.len() > out.len() {
            let rest: Option<Vec<String>> = made.drain(out.len()..).collect();
            out.extend(rest.into_iter().flatten());
        }
        out
    }

    /// A function instantiated at the types of the arguments.
    fn at_types(&mut self, function: &str, args: &[String]) -> Result<Value, Vec<Diagnostic>> {
        if args.is_empty() {
            return self.value_of(function);
        }
        let given: String = args.iter().map(|a| format!(" ({a})")).collect();
        match self.value_of(&format!("(fun f -> (f, fun () -> f{given})) ({function})"))? {
            Value::Tuple(parts) => Ok(parts.0.first().cloned().unwrap_or(Value::Unit)),
            v => Ok(v),
        }
    }

    /// The function and the argument of an application, as texts: `f 3 x` is `f 3` and `x`.
    pub fn applied(&mut self, text: &str) -> Option<(String, String)> {
        let file = self.add_source("<command>", text);
        let (program, diags) = adl_syntax::parse(file, text);
        let [item] = &program.items[..] else { return None };
        let ItemKind::Expr(Expr { kind: ExprKind::App(_, args), .. }) = &item.kind else { return None };
        let at = args.last()?.span.lo as usize;
        let ok = !diags.iter().any(Diagnostic::is_error);
        let (f, x) = (text.get(..at)?.trim(), text.get(at..)?.trim());
        ok.then(|| (f.to_owned(), x.to_owned()))
    }
}

/// A sample value of a type, as an expression. Functions and declared data have none.
fn sample(ty: &Ty) -> Option<String> {
    Some(match ty {
        Ty::Unit => "()".to_owned(),
        Ty::Bool => "true".to_owned(),
        Ty::Int => "1".to_owned(),
        Ty::Float | Ty::Var(_) => "0.5".to_owned(),
        Ty::F32 => "0.5f32".to_owned(),
        Ty::Str => "\"\"".to_owned(),
        Ty::Tuple(parts) => format!("({})", parts.iter().map(sample).collect::<Option<Vec<_>>>()?.join(", ")),
        Ty::Record(r) => {
            let fields: Option<Vec<String>> =
                r.fields.iter().map(|(n, t)| Some(format!("{n} = {}", sample(t)?))).collect();
            format!("{{{}}}", fields?.join(", "))
        }
        Ty::Array(Size::Const(n, _), e) => format!("(replicate {n} ({}))", sample(e)?),
        Ty::Array(_, e) => format!("[{}]", sample(e)?),
        Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) | Ty::Data(..) => return None,
    })
}

fn wanted(file: adl_syntax::span::FileId, text: &str, what: &str) -> Diagnostic {
    Diagnostic::error(adl_interp::error::codes::PLAN, Span::new(file, 0, text.len()), what)
}

/// The function and the argument of residuals, taken from the captured values of the plan function inside them.
fn function_and_argument(residuals: &Value) -> Option<(Value, Value)> {
    let Value::Data(d) = residuals else { return None };
    let Some(Value::Fun(mut f)) = d.fields.get(1).cloned() else { return None };
    let mut given: Vec<Value> = Vec::new();
    while let Fun::Partial(inner, vals) = &*f.clone() {
        given.splice(0..0, vals.iter().filter(|v| !matches!(v, Value::Rep(_))).cloned());
        f = inner.clone();
    }
    match &given[..] {
        [.., f, x] => Some((f.clone(), x.clone())),
        _ => None,
    }
}
