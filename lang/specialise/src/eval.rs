//! Evaluation of Core expressions to abstract values.

use crate::limits::eval::{MAX_COPY_SIZE, MAX_LEAVES};
use crate::val::{ArraySize, Closure, Fun, KnownRep, Val};
use crate::{Attempt, Spec, nowhere};
use adl_ir::{Lit as IrLit, Op, Ty as IrTy, Var};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{CoreLit, Expr, ExprKind, GlobalId, Lambda, Local, Projection, Rep as CoreRep, SizeRep};
use adl_typing::free_locals;
use adl_typing::ty::{Ty, TyVar};
use adl_typing::walk::walk;
use std::collections::BTreeMap;
use std::rc::Rc;

impl Spec<'_> {
    /// Generates the code of an expression.
    pub(crate) fn eval(&mut self, e: &Expr) -> Attempt<Val> {
        stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || {
            let span = self.b.span;
            if !nowhere(e.span) {
                self.b.span = e.span;
            }
            let out = self.eval_kind(e)?;
            self.b.span = span;
            Ok(out)
        })
    }

    fn eval_kind(&mut self, expr: &Expr) -> Attempt<Val> {
        match &*expr.kind {
            ExprKind::Lit(l) => Ok(self.literal(l)),
            ExprKind::IntAt(n, r) => self.number_at(*n as f64, Some(*n), r),
            ExprKind::FloatAt(x, r) => self.number_at(*x, None, r),
            ExprKind::Local(l) => self.local(*l, &expr.ty),
            ExprKind::Global(g) => self.global(*g, &expr.ty),
            ExprKind::Prim(p, reps) => self.prim_value(*p, reps),
            ExprKind::Abs(ls, inner) => self.abstraction(ls, inner),
            ExprKind::Lam(lam) => self.closure(&[], lam),
            ExprKind::Inst(..) | ExprKind::App(..) => self.application(expr),
            ExprKind::Con(c, args) => self.construct(c, args, &expr.ty),
            ExprKind::Let(l, name, a, b) => {
                let v = self.eval(a)?;
                self.bind(*l, *name, v, b)
            }
            ExprKind::LetRec(bs, b) => {
                self.group(bs)?;
                self.eval(b)
            }
            ExprKind::Sizes(s, b) => {
                self.bind_sizes(s)?;
                self.eval(b)
            }
            ExprKind::If(c, a, b) => self.choose(c, &mut |s| s.branch(a), &mut |s| s.branch(b)),
            ExprKind::Match(s, root, tree, arms) => self.match_(s, *root, tree, arms),
            ExprKind::Tuple(es) => match self.all(es.iter())? {
                Some(vs) => self.check_leaf_count(Val::Tuple(vs)),
                None => Ok(Val::Bottom),
            },
            ExprKind::Record(fs) => match self.all(fs.iter().map(|f| &f.1))? {
                Some(vs) => self.check_leaf_count(Val::Record(fs.iter().map(|f| f.0).zip(vs).collect())),
                None => Ok(Val::Bottom),
            },
            ExprKind::Item(a, i) => {
                let v = self.eval(a)?;
                self.step(&v, Projection::Item(*i))
            }
            ExprKind::Field(a, n) => {
                let v = self.eval(a)?;
                self.step(&v, Projection::Field(*n))
            }
            ExprKind::Update(r, fs) => self.update(r, fs),
            ExprKind::Array(es) => self.array(es, &expr.ty),
            ExprKind::Index(a, args) => self.index(a, args),
            ExprKind::For(kind, vars, body, rep) => self.comprehension(*kind, vars, body, rep, &expr.ty),
            ExprKind::Guard(c, body, rep) => self.choose(c, &mut |s| s.eval(body), &mut |s| s.zero_at(rep)),
            ExprKind::Loop(state, init, kind, body) => self.loop_(*state, init, kind, body),
            ExprKind::Interp(parts) => self.interpolated(parts),
        }
    }

    /// The value of a branch. Functions in its arrays are converted to data, since branches may return different ones.
    pub(crate) fn branch(&mut self, e: &Expr) -> Attempt<Val> {
        let v = self.eval(e)?;
        if !v.has_fun() {
            return Ok(v);
        }
        let t = self.ty(&e.ty);
        if crate::defunctionalise::in_arrays(&t) && crate::types::closed(&t) {
            self.functions_as_data(v, &t)
        } else {
            Ok(v)
        }
    }

    /// A `let` after its bound value.
    fn bind(&mut self, l: Local, name: Option<Symbol>, v: Val, body: &Expr) -> Attempt<Val> {
        if matches!(v, Val::Bottom) {
            return Ok(v);
        }
        if let (Some(n), Val::Leaf(x) | Val::Data(x, _)) = (name, &v) {
            self.name(*x, n.as_str());
        }
        self.env.insert(l, v);
        self.eval(body)
    }

    fn global(&mut self, g: GlobalId, t: &Ty) -> Attempt<Val> {
        let v = self.global_val(g)?;
        let t = self.ty(t);
        let v = self.instantiate(v, &t);
        self.decided(v, &t)
    }

    fn prim_value(&mut self, p: Prim, reps: &[CoreRep]) -> Attempt<Val> {
        let reps = reps.iter().map(|r| self.rep_val(r)).collect();
        if p.row().arity == 0 { self.prim(p, reps, Vec::new(), None) } else { Ok(Val::fun(Fun::Prim(p, reps))) }
    }

    /// Rejects values with too many leaves: nested tuples may double in size at each level.
    fn check_leaf_count(&self, v: Val) -> Attempt<Val> {
        if v.leaves().len() > MAX_LEAVES { Err(self.no("a value of very many parts")) } else { Ok(v) }
    }

    /// The values of several expressions; `None` if one of them always fails.
    pub(crate) fn all<'e>(&mut self, es: impl Iterator<Item = &'e Expr>) -> Attempt<Option<Vec<Val>>> {
        let mut out = Vec::new();
        for e in es {
            match self.eval(e)? {
                Val::Bottom => return Ok(None),
                v => out.push(v),
            }
        }
        Ok(Some(out))
    }

    pub(crate) fn name(&mut self, v: Var, name: &str) {
        let info = &mut self.b.func.vars[v.0 as usize];
        if info.name.is_none() {
            info.name = Some(name.into());
        }
    }

    /// A variable with the value of a literal.
    pub(crate) fn lit(&mut self, l: IrLit) -> Var {
        let v = self.b.lit(l.clone());
        self.known.literals.insert(v, l);
        v
    }

    /// A variable with the value of an Int.
    pub(crate) fn int(&mut self, n: i64) -> Var {
        self.lit(IrLit::I64(n))
    }

    pub(crate) fn literal(&mut self, l: &CoreLit) -> Val {
        Val::Leaf(match l {
            CoreLit::Unit => return Val::Unit,
            CoreLit::Bool(b) => self.lit(IrLit::Bool(*b)),
            CoreLit::Int(n) => self.int(*n),
            CoreLit::Float(x) => self.lit(IrLit::F64(*x)),
            CoreLit::F32(x) => self.lit(IrLit::F32(*x)),
            CoreLit::Str(s) => self.lit(IrLit::Str(s.clone())),
        })
    }

    fn number_at(&mut self, number: f64, int: Option<i64>, rep: &CoreRep) -> Attempt<Val> {
        let rep = self.rep_val(rep);
        let t = match &rep {
            Val::Rep(r) => match &**r {
                KnownRep::Base(t) => t.clone(),
                _ => return Err(self.no("a number whose type is not known here")),
            },
            _ => return Err(self.no("a number whose type is not known here")),
        };
        Ok(Val::Leaf(match (t, int) {
            (Ty::Int, Some(n)) => self.int(n),
            (Ty::F32, _) => self.lit(IrLit::F32(number as f32)),
            _ => self.lit(IrLit::F64(number)),
        }))
    }

    fn local(&mut self, l: Local, t: &Ty) -> Attempt<Val> {
        let Some(v) = self.env.get(&l).cloned() else { return Err(self.no(format!("local {} is not bound", l.0))) };
        if !v.has_fun() {
            return Ok(v);
        }
        let t = self.ty(t);
        Ok(self.instantiate(v, &t))
    }

    /// Converts a run-time type of Core.
    pub(crate) fn rep_val(&mut self, r: &CoreRep) -> Val {
        let rep = self.rep(r);
        Val::Rep(rep)
    }

    fn rep(&mut self, r: &CoreRep) -> Rc<KnownRep> {
        Rc::new(match r {
            CoreRep::Hidden(l) => match self.env.get(l) {
                Some(Val::Rep(r)) => return r.clone(),
                _ => KnownRep::Other,
            },
            CoreRep::Base(t) => KnownRep::Base(t.clone()),
            CoreRep::Array(n, e) => {
                let n = match n {
                    SizeRep::Const(k) => ArraySize::Const(*k),
                    SizeRep::Local(l) => match self.env.get(l) {
                        Some(Val::Leaf(v)) => ArraySize::Var(*v),
                        _ => ArraySize::Unknown,
                    },
                    SizeRep::Unknown => ArraySize::Unknown,
                };
                KnownRep::Array(n, self.rep(e))
            }
            CoreRep::Tuple(ps) => KnownRep::Tuple(ps.iter().map(|p| self.rep(p)).collect()),
            CoreRep::Record(fs) => KnownRep::Record(fs.iter().map(|(n, p)| (*n, self.rep(p))).collect()),
            CoreRep::Data(d, ps) => {
                let args = ps.iter().map(|p| ty_of_rep(&self.rep(p))).collect::<Option<Vec<Ty>>>();
                args.map_or(KnownRep::Other, |args| KnownRep::Base(Ty::Data(d.id, args.into())))
            }
            CoreRep::Other => KnownRep::Other,
        })
    }

    fn abstraction(&mut self, ls: &[Local], inner: &Expr) -> Attempt<Val> {
        match &*inner.kind {
            ExprKind::Lam(lam) => self.closure(ls, lam),
            _ => {
                let lam = self.thunk(inner)?;
                self.closure(ls, &lam)
            }
        }
    }

    /// An expression as a function without parameters.
    pub(crate) fn thunk(&mut self, e: &Expr) -> Attempt<Rc<Lambda>> {
        let at: *const ExprKind = &raw const *e.kind;
        if let Some(lam) = self.cache.thunks.get(&at) {
            return Ok(lam.clone());
        }
        let mut size = 0;
        walk(e, &mut |_| size += 1);
        if size > MAX_COPY_SIZE {
            return Err(self.no("a branch that is too large"));
        }
        let lam = Rc::new(Lambda { params: Vec::new(), body: e.clone(), linear: false, name: None });
        self.cache.thunks.insert(at, lam.clone());
        Ok(lam)
    }

    /// The part of the substitution that some code uses.
    fn restricted(&self, vars: &[TyVar]) -> Rc<BTreeMap<TyVar, Ty>> {
        Rc::new(vars.iter().filter_map(|v| self.subst.get(v).map(|t| (*v, t.clone()))).collect())
    }

    pub(crate) fn closure(&mut self, hidden: &[Local], lam: &Rc<Lambda>) -> Attempt<Val> {
        let info = self.info(hidden, lam);
        let env = self.capture(&info.free)?;
        let subst = self.restricted(&info.tyvars);
        Ok(Val::fun(Fun::Closure(Closure { lam: lam.clone(), hidden: hidden.into(), group: None, env, subst })))
    }

    fn capture(&mut self, locals: &[Local]) -> Attempt<Rc<[(Local, Val)]>> {
        let mut out = Vec::new();
        for l in locals {
            match self.env.get(l) {
                Some(v) => out.push((*l, v.clone())),
                None => return Err(self.no(format!("local {} is not bound", l.0))),
            }
        }
        Ok(out.into())
    }

    fn group(&mut self, bs: &[(Local, Symbol, Expr)]) -> Attempt<()> {
        let mut group = Vec::new();
        for (l, _, e) in bs {
            let (hidden, inner): (&[Local], &Expr) = match &*e.kind {
                ExprKind::Abs(ls, inner) => (ls, inner),
                _ => (&[], e),
            };
            match &*inner.kind {
                ExprKind::Lam(lam) => group.push((*l, Rc::from(hidden), lam.clone())),
                _ => return Err(self.no("a recursive value that is not a function")),
            }
        }
        let views: Vec<(Local, &[Local], &Lambda)> = group.iter().map(|(l, h, lam)| (*l, &**h, &**lam)).collect();
        let env = self.capture(&free_locals::free_in_group(&views))?;
        let group = Rc::new(group);
        for (l, hidden, lam) in group.iter() {
            let vars = self.info(hidden, lam).tyvars.clone();
            let subst = self.restricted(&vars);
            let c = Closure {
                lam: lam.clone(),
                hidden: hidden.clone(),
                group: Some(group.clone()),
                env: env.clone(),
                subst,
            };
            self.env.insert(*l, Val::fun(Fun::Closure(c)));
        }
        Ok(())
    }

    /// A component of a tuple or record.
    pub(crate) fn step(&mut self, v: &Val, s: Projection) -> Attempt<Val> {
        match (v, s) {
            (Val::Bottom, _) => Ok(Val::Bottom),
            (Val::Tuple(vs), Projection::Item(i)) if (i as usize) < vs.len() => Ok(vs[i as usize].clone()),
            (Val::Record(fs), Projection::Field(n)) => match fs.iter().find(|f| f.0 == n) {
                Some((_, v)) => Ok(v.clone()),
                None => Err(self.no(format!("there is no field `{n}`"))),
            },
            _ => Err(self.no("a part of something that has no parts")),
        }
    }

    fn update(&mut self, r: &Expr, fs: &[(Symbol, Expr)]) -> Attempt<Val> {
        let base = self.eval(r)?;
        let Some(vals) = self.all(fs.iter().map(|f| &f.1))? else { return Ok(Val::Bottom) };
        match base {
            Val::Bottom => Ok(Val::Bottom),
            Val::Record(mut old) => {
                for ((n, _), v) in fs.iter().zip(vals) {
                    old.iter_mut().filter(|f| f.0 == *n).for_each(|f| f.1 = v.clone());
                }
                Ok(Val::Record(old))
            }
            _ => Err(self.no("an update of something that is no record")),
        }
    }

    /// The zero of a run-time type of Core.
    fn zero_at(&mut self, rep: &CoreRep) -> Attempt<Val> {
        let rep = self.rep(rep);
        self.zero(&rep)
    }

    /// The zero of a run-time type. Arrays whose sizes are not known become symbolic zeros.
    pub(crate) fn zero(&mut self, rep: &KnownRep) -> Attempt<Val> {
        match rep {
            KnownRep::Tuple(ps) => Ok(Val::Tuple(ps.iter().map(|p| self.zero(p)).collect::<Attempt<_>>()?)),
            KnownRep::Record(fs) => {
                Ok(Val::Record(fs.iter().map(|(n, p)| Ok((*n, self.zero(p)?))).collect::<Attempt<_>>()?))
            }
            KnownRep::Array(..) => self.zero_array(rep),
            KnownRep::Base(t) => {
                let l = self.layout(t)?;
                Ok(self.zeros(&l))
            }
            KnownRep::Other => Err(self.no("a zero whose type is not known here")),
        }
    }

    fn zero_array(&mut self, rep: &KnownRep) -> Attempt<Val> {
        let (mut sizes, mut at) = (Vec::new(), rep);
        while let KnownRep::Array(n, e) = at {
            sizes.push(*n);
            at = e;
        }
        let number = matches!(at, KnownRep::Base(Ty::Float | Ty::F32 | Ty::Int));
        if number && sizes.iter().all(|n| !matches!(n, ArraySize::Unknown)) {
            let Val::Leaf(zero) = self.zero(at)? else { return Err(self.no("a zero that is no number")) };
            let dims = sizes
                .iter()
                .map(|n| match n {
                    ArraySize::Var(v) => *v,
                    ArraySize::Const(k) => self.int(*k as i64),
                    ArraySize::Unknown => self.int(0),
                })
                .collect();
            return Ok(Val::Leaf(self.spread(zero, dims)));
        }
        let Some(t) = ty_of_rep(rep) else { return Err(self.no("a zero whose type is not known here")) };
        let l = self.layout(&t)?;
        Ok(self.zeros(&l))
    }

    /// Broadcasts a number to an array of the given extents.
    pub(crate) fn spread(&mut self, x: Var, dims: Vec<Var>) -> Var {
        let t = self.b.ty(x).array(dims.len() as u32);
        let shape = self.b.one(Op::ArrayLit { elems: dims, shape: None }, IrTy::shape());
        self.b.one(Op::Broadcast { a: x, shape }, t)
    }

    /// Zeros of a layout. Arrays and data become symbolic zeros.
    pub(crate) fn zeros(&mut self, l: &crate::Layout) -> Val {
        let (b, symbolic_zero) = (&mut self.b, &mut self.p.symbolic_zero);
        Self::build(l, &mut |t| match t {
            IrTy::Str => b.lit(IrLit::Str("".into())),
            IrTy::Bool => b.lit(IrLit::Bool(false)),
            t => {
                *symbolic_zero |= t.rank() > 0 || !t.is_flat();
                b.one(Op::Zero(t.clone()), t)
            }
        })
    }
}

/// The type that a run-time type represents.
pub(crate) fn ty_of_rep(r: &KnownRep) -> Option<Ty> {
    use adl_typing::ty::{RecordTy, Size as TySize};
    Some(match r {
        KnownRep::Base(t) => t.clone(),
        KnownRep::Array(_, e) => Ty::Array(TySize::Unknown, Rc::new(ty_of_rep(e)?)),
        KnownRep::Tuple(ps) => Ty::Tuple(ps.iter().map(|p| ty_of_rep(p)).collect::<Option<_>>()?),
        KnownRep::Record(fs) => {
            let fields = fs.iter().map(|(n, p)| Some((*n, ty_of_rep(p)?))).collect::<Option<_>>()?;
            Ty::Record(Rc::new(RecordTy { fields, tail: None }))
        }
        KnownRep::Other => return None,
    })
}
