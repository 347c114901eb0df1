//! Facts about code that do not depend on its use. They are computed once and cached.

use crate::Spec;
use crate::limits::info::{MAX_CALL_DEPTH, SMALL};
use crate::val::{Closure, Fun, Val};
use adl_prim::{Bin, NumberFn, Prim};
use adl_typing::core::{CoreLit, Expr, ExprKind, GlobalId, Lambda, Local};
use adl_typing::free_locals;
use adl_typing::ty::{Ty, TyVar};
use adl_typing::walk::walk;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Facts about a function's code.
#[derive(Debug)]
pub(crate) struct CodeInfo {
    /// Locals that it captures.
    pub free: Vec<Local>,
    /// Type variables in it.
    pub tyvars: Vec<TyVar>,
    /// Globals that it names.
    pub globals: Vec<GlobalId>,
    /// Whether it is small and contains no calls or loops, so that it may be inlined.
    pub small: bool,
    /// Whether it is small.
    pub short: bool,
    /// Keeps the code alive, because the cache identifies it by address.
    _code: Rc<Lambda>,
}

/// Collects the type variables of a type.
pub(crate) fn tyvars(ty: &Ty, out: &mut BTreeSet<TyVar>) {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match ty {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Meta(_) => {}
        Ty::Var(v) => {
            out.insert(*v);
        }
        Ty::Fun(a, b) | Ty::Lin(a, b) => {
            tyvars(a, out);
            tyvars(b, out);
        }
        Ty::Tuple(ts) | Ty::Data(_, ts) => ts.iter().for_each(|t| tyvars(t, out)),
        Ty::Array(_, e) => tyvars(e, out),
        Ty::Record(r) => {
            r.fields.iter().for_each(|f| tyvars(&f.1, out));
            r.tail.iter().for_each(|t| tyvars(t, out));
        }
    });
}

/// Whether code contains calls or loops.
fn works(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::App(f, _) => !matches!(&*f.kind, ExprKind::Prim(p, _) if matches!(p, Prim::Un(_) | Prim::Bin(_))),
        ExprKind::For(..)
        | ExprKind::Loop(..)
        | ExprKind::Match(..)
        | ExprKind::Lam(_)
        | ExprKind::LetRec(..)
        | ExprKind::Inst(..) => true,
        _ => false,
    }
}

impl Spec<'_> {
    /// Facts about a function.
    pub(crate) fn info(&mut self, hidden: &[Local], lam: &Rc<Lambda>) -> Rc<CodeInfo> {
        let at = Rc::as_ptr(lam);
        if let Some(i) = self.cache.infos.get(&at) {
            return i.clone();
        }
        let (mut vars, mut globals, mut size, mut busy) = (BTreeSet::new(), BTreeSet::new(), 0, false);
        lam.params.iter().for_each(|p| tyvars(&p.ty, &mut vars));
        walk(&lam.body, &mut |e| {
            size += 1;
            busy |= works(e);
            tyvars(&e.ty, &mut vars);
            if let ExprKind::Global(g) = &*e.kind {
                globals.insert(*g);
            }
        });
        let info = Rc::new(CodeInfo {
            free: free_locals::free_in_lambda(hidden, lam),
            tyvars: vars.into_iter().collect(),
            globals: globals.into_iter().collect(),
            small: size <= SMALL && !busy,
            short: size <= SMALL,
            _code: lam.clone(),
        });
        self.cache.infos.insert(at, info.clone());
        info
    }

    /// The globals with input values among all that the code of functions in these values can reach.
    pub(crate) fn globals_of(&mut self, vals: &[Val]) -> BTreeSet<GlobalId> {
        let mut codes: Vec<(Rc<[Local]>, Rc<Lambda>)> = Vec::new();
        vals.iter().for_each(|v| codes_of(v, &mut codes));
        let (mut seen, mut done, mut out) = (HashSet::new(), HashSet::new(), BTreeSet::new());
        while let Some((hidden, lam)) = codes.pop() {
            if self.cache.closed.contains(&Rc::as_ptr(&lam)) || !done.insert(Rc::as_ptr(&lam)) {
                continue;
            }
            for g in self.info(&hidden, &lam).globals.clone() {
                if !seen.insert(g) {
                    continue;
                }
                match self.global_code(g) {
                    Some(code) => codes.push(code),
                    None => {
                        out.insert(g);
                        if let Some(v) = self.globals.get(&g) {
                            codes_of(v, &mut codes);
                        }
                    }
                }
            }
        }
        if out.is_empty() {
            // Cached so that a chain of functions is traversed once, not from each of them.
            self.cache.closed.extend(done);
        }
        out
    }
}

/// Collects the code of every function in a value.
fn codes_of(v: &Val, out: &mut Vec<(Rc<[Local]>, Rc<Lambda>)>) {
    match v {
        Val::Unit | Val::Leaf(_) | Val::Data(..) | Val::Rep(_) | Val::Bottom => {}
        Val::Tuple(vs) => vs.iter().for_each(|v| codes_of(v, out)),
        Val::Record(fs) => fs.iter().for_each(|f| codes_of(&f.1, out)),
        Val::Array(e) => codes_of(e, out),
        Val::Fun(f) => codes_of_fun(f, out),
    }
}

fn codes_of_fun(fun: &Fun, out: &mut Vec<(Rc<[Local]>, Rc<Lambda>)>) {
    match fun {
        Fun::Closure(c) => {
            match &c.group {
                Some(g) => out.extend(g.iter().map(|(_, h, l)| (h.clone(), l.clone()))),
                None => out.push((c.hidden.clone(), c.lam.clone())),
            }
            c.env.iter().for_each(|(_, v)| codes_of(v, out));
        }
        Fun::Prim(_, vs) => vs.iter().for_each(|v| codes_of(v, out)),
        Fun::Partial(g, vs) => {
            codes_of_fun(g, out);
            vs.iter().for_each(|v| codes_of(v, out));
        }
        Fun::Custom { f, rule, .. } => {
            codes_of(f, out);
            codes_of(rule, out);
        }
        Fun::Checkpoint(f) => codes_of(f, out),
        Fun::Linear(_) | Fun::Boxed(..) => {}
        Fun::Tagged(_, fs) => fs.iter().for_each(|f| codes_of_fun(f, out)),
    }
}

/// The types of the locals that a function mentions.
pub(crate) fn local_types(lam: &Lambda) -> HashMap<Local, Ty> {
    let mut out = HashMap::new();
    walk(&lam.body, &mut |e| {
        if let ExprKind::Local(l) = &*e.kind {
            out.entry(*l).or_insert_with(|| e.ty.clone());
        }
    });
    out
}

impl Spec<'_> {
    /// Whether a function of numbers is straight-line arithmetic, which gives the same results on entire arrays.
    pub(crate) fn elementwise(&mut self, c: &Closure) -> bool {
        let number = |t: &Ty| matches!(crate::types::apply(&c.subst, t), Ty::Float);
        let scalars = c.env.iter().all(|(_, v)| match v {
            Val::Leaf(v) => self.b.ty(*v).rank() == 0,
            Val::Rep(_) => true,
            _ => false,
        });
        scalars
            && number(&c.lam.body.ty)
            && c.lam.params.iter().all(|p| number(&p.ty))
            && self.straight(&c.lam.body, &number, MAX_CALL_DEPTH)
    }

    fn straight(&mut self, e: &Expr, number: &dyn Fn(&Ty) -> bool, layers: u32) -> bool {
        if !number(&e.ty) {
            return false;
        }
        match &*e.kind {
            ExprKind::Lit(CoreLit::Float(_)) | ExprKind::Local(_) | ExprKind::IntAt(..) | ExprKind::FloatAt(..) => true,
            ExprKind::Global(g) => matches!(self.globals.get(g), Some(Val::Leaf(v)) if self.b.ty(*v).rank() == 0),
            ExprKind::Let(_, _, a, b) => self.straight(a, number, layers) && self.straight(b, number, layers),
            ExprKind::App(f, args) => {
                let args_straight = |s: &mut Self| args.iter().all(|a| s.straight(a, number, layers));
                match &*f.kind {
                    ExprKind::Prim(Prim::Number(NumberFn::PowInt), _) => self.straight(&args[0], number, layers),
                    ExprKind::Prim(p, _) => {
                        let spreads = matches!(p, Prim::Un(_)) || matches!(p, Prim::Bin(b) if *b != Bin::IntDiv);
                        spreads && args.len() == p.row().arity as usize && args_straight(self)
                    }
                    ExprKind::Global(g) => self.is_straight_line_global(*g, args.len(), layers) && args_straight(self),
                    ExprKind::Inst(g, _) => match &*g.kind {
                        ExprKind::Global(g) => {
                            self.is_straight_line_global(*g, args.len(), layers) && args_straight(self)
                        }
                        _ => false,
                    },
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether a top-level function of numbers is straight-line arithmetic. Its types may be variables: arithmetic
    /// alone maps numbers to numbers.
    fn is_straight_line_global(&mut self, g: GlobalId, given: usize, layers: u32) -> bool {
        let Some((hidden, lam)) = self.global_code(g) else { return false };
        layers > 0
            && given == lam.params.len()
            && self.info(&hidden, &lam).short
            && self.straight(&lam.body, &|_| true, layers - 1)
    }
}
