//! Compilation of expressions.

use super::{Compiler, free_locals};
use crate::error::Res;
use crate::value::{ConInfo, Value};
use crate::vm::code::{Code, CoreOrigin, I, IndexKind, Member, R};
use crate::vm::{CodeList, Fun};
use adl_prim::{NumberFn, Prim, Un};
use adl_syntax::symbol::Symbol;
use adl_typing::core::{
    CoreLit, Expr, ExprKind, Extent, IndexArg, Lambda, Local, LoopKind, Param, Rep, SizeRep, Sizes,
};
use adl_typing::ty::Ty;
use std::rc::Rc;

impl Compiler {
    /// Evaluates into a register of the compiler's choice: that of a local, or a temporary.
    pub(super) fn value(&mut self, e: &Expr) -> Res<R> {
        if let ExprKind::Local(l) = &*e.kind {
            return self.load(*l);
        }
        let d = self.temp();
        self.into(e, d)?;
        Ok(d)
    }

    /// Evaluates into `d`. Temporaries are released.
    pub(super) fn into(&mut self, e: &Expr, d: R) -> Res<()> {
        let (mark, span) = (self.next, self.span);
        self.span = e.span;
        let out = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.into_inner(e, d));
        self.next = mark;
        self.span = span;
        out
    }

    fn into_inner(&mut self, expr: &Expr, dest: R) -> Res<()> {
        match &*expr.kind {
            ExprKind::Lit(l) => {
                let k = self.constant(literal(l));
                self.emit(I::Const(dest, k));
            }
            ExprKind::IntAt(n, r) => self.number(Value::Int(*n), r, dest)?,
            ExprKind::FloatAt(x, r) => self.number(Value::Float(*x), r, dest)?,
            ExprKind::Local(l) => {
                let r = self.load(*l)?;
                self.emit(I::Move(dest, r));
            }
            ExprKind::Global(g) => self.emit(I::Global(dest, *g)),
            ExprKind::Abs(ls, inner) => self.abstraction(ls, inner, dest)?,
            ExprKind::Lam(lam) => self.closure(&[], lam, &expr.ty, dest)?,
            ExprKind::Prim(..) | ExprKind::Inst(..) | ExprKind::App(..) => self.application(expr, Some(dest))?,
            ExprKind::Con(c, args) => {
                let first = self.args(args.iter())?;
                let decl = &c.data.cons[c.tag as usize];
                let info = ConInfo { name: decl.name, tag: c.tag, data: c.data.id, arity: args.len() as u32 };
                self.code.tables.cons.push(Rc::new(info));
                let k = self.code.tables.cons.len() as u32 - 1;
                self.emit(I::Con(dest, k, first, args.len() as u32));
            }
            ExprKind::Let(..) | ExprKind::LetRec(..) | ExprKind::Sizes(..) => {
                let body = self.bindings(expr)?;
                self.into(body, dest)?;
            }
            ExprKind::If(c, a, b) => {
                let no = self.condition(c)?;
                self.into(a, dest)?;
                let end = self.hole(I::Jump(0));
                self.code.patch_jump(no);
                self.into(b, dest)?;
                self.code.patch_jump(end);
            }
            ExprKind::Match(s, root, tree, arms) => self.match_(s, *root, tree, arms, Some(dest))?,
            ExprKind::Tuple(es) => {
                let first = self.args(es.iter())?;
                self.emit(I::Tuple(dest, first, es.len() as u32));
            }
            ExprKind::Array(es) if es.is_empty() => {
                let k = self.constant(super::empty_array(&expr.ty));
                self.emit(I::Const(dest, k));
            }
            ExprKind::Array(es) => {
                let first = self.args(es.iter())?;
                self.emit(I::Array(dest, first, es.len() as u32));
            }
            ExprKind::Interp(es) => {
                let first = self.args(es.iter())?;
                self.emit(I::Interp(dest, first, es.len() as u32));
            }
            ExprKind::Item(a, i) => {
                let r = self.value(a)?;
                self.emit(I::Item(dest, r, *i));
            }
            ExprKind::Field(a, n) => {
                let r = self.value(a)?;
                self.emit(I::Field(dest, r, *n));
            }
            ExprKind::Record(fs) => {
                let first = self.args(fs.iter().map(|f| &f.1))?;
                let k = self.names(fs.iter().map(|f| f.0).collect());
                self.emit(I::Record(dest, k, first, fs.len() as u32));
            }
            ExprKind::Update(r, fs) => {
                let base = self.temp();
                self.into(r, base)?;
                let first = self.args(fs.iter().map(|f| &f.1))?;
                let k = self.names(fs.iter().map(|f| f.0).collect());
                self.emit(I::Update(dest, base, k, first, fs.len() as u32));
            }
            ExprKind::Index(a, args) => self.index(a, args, dest)?,
            ExprKind::For(kind, vars, body, rep) => {
                self.code.tables.kinds.push(*kind);
                let k = self.code.tables.kinds.len() as u32 - 1;
                self.comprehension(k, vars, body, rep, expr, dest)?;
            }
            ExprKind::Guard(c, body, rep) => {
                let no = self.condition(c)?;
                self.into(body, dest)?;
                let end = self.hole(I::Jump(0));
                self.code.patch_jump(no);
                let r = self.temp();
                self.load_rep(rep, r)?;
                self.emit(I::ZeroOf(dest, r));
                self.code.patch_jump(end);
            }
            ExprKind::Loop(state, init, kind, body) => {
                if !self.outlined(expr, dest)? {
                    self.loop_(*state, init, kind, body, dest)?;
                }
            }
        }
        Ok(())
    }

    /// Compiles an expression in tail position: the function returns its value.
    pub(super) fn tail(&mut self, e: &Expr) -> Res<()> {
        let (mark, span) = (self.next, self.span);
        self.span = e.span;
        let out = stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.tail_inner(e));
        self.next = mark;
        self.span = span;
        out
    }

    fn tail_inner(&mut self, expr: &Expr) -> Res<()> {
        match &*expr.kind {
            ExprKind::If(c, a, b) => {
                let no = self.condition(c)?;
                self.tail(a)?;
                self.code.patch_jump(no);
                self.tail(b)
            }
            ExprKind::Let(..) | ExprKind::LetRec(..) | ExprKind::Sizes(..) => {
                let body = self.bindings(expr)?;
                self.tail(body)
            }
            ExprKind::Match(s, root, tree, arms) => self.match_(s, *root, tree, arms, None),
            ExprKind::App(..) | ExprKind::Inst(..) => self.application(expr, None),
            _ => {
                let d = self.temp();
                self.into(expr, d)?;
                self.emit(I::Ret(d));
                Ok(())
            }
        }
    }

    fn number(&mut self, v: Value, rep: &Rep, d: R) -> Res<()> {
        let k = self.constant(v);
        let r = self.temp();
        self.load_rep(rep, r)?;
        self.emit(I::NumAt(d, k, r));
        Ok(())
    }

    /// Compiles a condition. Returns the index of the jump that is taken if it is false.
    pub(super) fn condition(&mut self, expr: &Expr) -> Res<usize> {
        let mark = self.next;
        let hole = match &*expr.kind {
            ExprKind::App(f, args) => match &*f.kind {
                ExprKind::Prim(Prim::Compare(op), _) if args.len() == 2 => {
                    let (a, b) = (self.value(&args[0])?, self.value(&args[1])?);
                    self.span = expr.span;
                    self.hole(I::JumpUnlessCmp(*op, a, b, 0))
                }
                _ => {
                    let r = self.value(expr)?;
                    self.hole(I::JumpUnless(r, 0))
                }
            },
            _ => {
                let r = self.value(expr)?;
                self.hole(I::JumpUnless(r, 0))
            }
        };
        self.next = mark;
        Ok(hole)
    }

    /// Evaluates arguments into consecutive temporaries.
    pub(super) fn args<'e>(&mut self, args: impl ExactSizeIterator<Item = &'e Expr>) -> Res<R> {
        let first = self.temps(args.len() as u32);
        self.fill(first, args)?;
        Ok(first)
    }

    /// Evaluates expressions into consecutive registers. Plain variables are evaluated last, after all other
    /// reads of them: a last use can then be a move, so that an unshared array is updated in place.
    fn fill<'e>(&mut self, first: R, all: impl Iterator<Item = &'e Expr>) -> Res<()> {
        let (variables, others): (Vec<_>, Vec<_>) =
            (first..).zip(all).partition(|(_, e)| matches!(&*e.kind, ExprKind::Local(_)));
        for (r, e) in others.into_iter().chain(variables) {
            self.into(e, r)?;
        }
        Ok(())
    }

    /// Hidden parameters over a value that is not a function: compiled as a function of only these parameters.
    fn abstraction(&mut self, ls: &[Local], inner: &Expr, d: R) -> Res<()> {
        match &*inner.kind {
            ExprKind::Lam(lam) => self.closure(ls, lam, &inner.ty, d),
            _ => {
                let lam = Lambda { params: Vec::new(), body: inner.clone(), linear: false, name: None };
                self.closure(ls, &Rc::new(lam), &inner.ty, d)
            }
        }
    }

    /// Compiles the bindings of nested `let`s. Returns the innermost body.
    fn bindings<'e>(&mut self, e: &'e Expr) -> Res<&'e Expr> {
        let mut expr = e;
        loop {
            self.span = expr.span;
            match &*expr.kind {
                ExprKind::Let(l, _, a, b) => {
                    let r = self.temp();
                    self.into(a, r)?;
                    self.regs.insert(*l, r);
                    expr = b;
                }
                ExprKind::LetRec(bs, b) => {
                    self.group(bs)?;
                    expr = b;
                }
                ExprKind::Sizes(s, b) => {
                    self.sizes(s)?;
                    expr = b;
                }
                _ => return Ok(expr),
            }
        }
    }

    fn group(&mut self, bs: &[(Local, adl_syntax::symbol::Symbol, Expr)]) -> Res<()> {
        let mut members: Vec<(Local, &[Local], Rc<Lambda>, &Ty)> = Vec::new();
        for (l, _, e) in bs {
            let (hidden, inner): (&[Local], &Expr) = match &*e.kind {
                ExprKind::Abs(ls, inner) => (ls, inner),
                _ => (&[], e),
            };
            if let ExprKind::Lam(lam) = &*inner.kind {
                members.push((*l, hidden, lam.clone(), &inner.ty));
            }
        }
        let views: Vec<(Local, &[Local], &Lambda)> = members.iter().map(|(l, h, lam, _)| (*l, *h, &**lam)).collect();
        let captured = free_locals::free_in_group(&views);
        let siblings: Vec<(Local, u32)> =
            members.iter().map(|(l, h, lam, _)| (*l, (h.len() + lam.params.len()) as u32)).collect();
        let group: Rc<[Member]> = members.iter().map(|(l, h, lam, _)| (*l, h.to_vec(), lam.clone())).collect();
        let codes = members
            .iter()
            .enumerate()
            .map(|(i, (_, h, lam, ty))| {
                let mut code = self.function(h, lam, ty, &captured, &siblings)?;
                code.profile = super::profile_of(&code.instrs);
                code.origin = Some(Rc::new(CoreOrigin {
                    members: group.clone(),
                    group: true,
                    index: i as u32,
                    captured: captured.clone(),
                }));
                Ok(Rc::new(code))
            })
            .collect::<Res<CodeList>>()?;
        let first_member = self.temps(members.len() as u32);
        let first = self.capture(&captured)?;
        self.code.groups.push(codes);
        let k = self.code.groups.len() as u32 - 1;
        self.emit(I::Group(first_member, k, first, captured.len() as u32));
        for (i, m) in members.iter().enumerate() {
            self.regs.insert(m.0, first_member + i as u32);
        }
        Ok(())
    }

    fn sizes(&mut self, s: &Sizes) -> Res<()> {
        for (_, local, name, at) in &s.binds {
            let k = self.size_at(at, name.as_str(), None)?;
            let d = self.bind(*local);
            self.emit(I::SizeAt(d, k));
        }
        for (at, want, name) in &s.checks {
            let (constant, r) = match want {
                SizeRep::Const(n) => (Some(*n), 0),
                SizeRep::Local(l) => (None, self.load(*l)?),
                SizeRep::Unknown => continue,
            };
            let k = self.size_at(at, name, constant)?;
            self.emit(I::CheckSize(k, r));
        }
        Ok(())
    }

    fn size_at(&mut self, at: &adl_typing::core::SizeAt, name: &str, constant: Option<u64>) -> Res<u32> {
        let from = Local(self.load(at.from)?);
        self.code.tables.sizes.push((adl_typing::core::SizeAt { from, ..at.clone() }, name.to_owned(), constant));
        Ok(self.code.tables.sizes.len() as u32 - 1)
    }

    /// `dest` is the result register; with `None` the result is returned.
    fn application(&mut self, expr: &Expr, dest: Option<R>) -> Res<()> {
        let (head, reps, args) = expr.spine();
        if let ExprKind::Prim(p, _) = &*head.kind {
            return self.primitive(*p, reps, &args, dest);
        }
        if reps.is_empty() && args.is_empty() {
            let r = self.value(head)?;
            return self.deliver(r, dest);
        }
        let count = (reps.len() + args.len()) as u32;
        let sibling = match &*head.kind {
            ExprKind::Local(l) if !self.regs.contains_key(l) => self.siblings.get(l).copied(),
            _ => None,
        };
        let callee = if sibling.is_some() { 0 } else { self.value(head)? };
        let first = self.temps(count);
        for (i, r) in reps.iter().enumerate() {
            self.load_rep(r, first + i as u32)?;
        }
        for (i, a) in args.iter().enumerate() {
            self.into(a, first + (reps.len() + i) as u32)?;
        }
        self.span = expr.span;
        match (sibling.filter(|_| self.known_arity(head, count)), dest) {
            (Some(k), Some(d)) => self.emit(I::CallSibling(d, k, first, count)),
            (Some(k), None) => self.emit(I::TailSibling(k, first, count)),
            (None, d) => {
                let f = if sibling.is_some() { self.value(head)? } else { callee };
                match d {
                    Some(d) => self.emit(I::Call(d, f, first, count)),
                    None => self.emit(I::TailCall(f, first, count)),
                }
            }
        }
        Ok(())
    }

    /// Whether a sibling takes exactly `n` arguments.
    fn known_arity(&self, head: &Expr, n: u32) -> bool {
        match &*head.kind {
            ExprKind::Local(l) => self.sibling_arity.get(l).is_some_and(|k| *k == n),
            _ => false,
        }
    }

    fn deliver(&mut self, r: R, d: Option<R>) -> Res<()> {
        match d {
            Some(d) => self.emit(I::Move(d, r)),
            None => {
                let t = self.temp();
                self.emit(I::Move(t, r));
                self.emit(I::Ret(t));
            }
        }
        Ok(())
    }

    fn primitive(&mut self, p: Prim, reps: &[Rep], args: &[&Expr], dest: Option<R>) -> Res<()> {
        let span = self.span;
        let arity = p.row().arity as usize;
        let target = match dest {
            Some(d) if args.len() <= arity => d,
            _ => self.temp(),
        };
        if args.len() < arity {
            self.prim_value(p, reps, args, target)?;
        } else {
            self.prim_call(p, reps, &args[..arity], target)?;
        }
        self.span = span;
        if args.len() > arity {
            let first = self.args(args[arity..].iter().copied())?;
            let n = (args.len() - arity) as u32;
            match dest {
                Some(d) => self.emit(I::Call(d, target, first, n)),
                None => self.emit(I::TailCall(target, first, n)),
            }
            return Ok(());
        }
        if dest.is_none() {
            self.emit(I::Ret(target));
        }
        Ok(())
    }

    /// A primitive applied to fewer arguments than it takes.
    fn prim_value(&mut self, p: Prim, reps: &[Rep], args: &[&Expr], dest: R) -> Res<()> {
        let callee = if args.is_empty() { dest } else { self.temp() };
        if reps.is_empty() {
            let k = self.constant(Value::Fun(Rc::new(Fun::Prim(p, Vec::new()))));
            self.emit(I::Const(callee, k));
        } else {
            let first = self.temps(reps.len() as u32);
            for (i, r) in reps.iter().enumerate() {
                self.load_rep(r, first + i as u32)?;
            }
            self.emit(I::PrimFun(callee, p, first, reps.len() as u32));
        }
        if !args.is_empty() {
            let first = self.args(args.iter().copied())?;
            self.emit(I::Call(dest, callee, first, args.len() as u32));
        }
        Ok(())
    }

    fn prim_call(&mut self, prim: Prim, reps: &[Rep], args: &[&Expr], dest: R) -> Res<()> {
        let span = self.span;
        if let (Prim::Bin(op), [a, b]) = (prim, args) {
            let (a, b) = (self.value(a)?, self.value(b)?);
            self.span = span;
            self.emit(I::Bin(op, dest, a, b));
            return Ok(());
        }
        if let (Prim::Un(op), [a]) = (prim, args) {
            let a = self.value(a)?;
            self.span = span;
            self.emit(I::Un(op, dest, a));
            return Ok(());
        }
        if let (Prim::Compare(op), [a, b]) = (prim, args) {
            let (a, b) = (self.value(a)?, self.value(b)?);
            self.span = span;
            self.emit(I::Cmp(op, dest, a, b));
            return Ok(());
        }
        if let (Prim::Number(NumberFn::PowInt), [a, n]) = (prim, args)
            && let ExprKind::Lit(CoreLit::Int(n)) = &*n.kind
        {
            let a = self.value(a)?;
            self.span = span;
            self.emit(I::Un(Un::Powi(*n as i32), dest, a));
            return Ok(());
        }
        let first = self.temps((reps.len() + args.len()) as u32);
        for (i, r) in reps.iter().enumerate() {
            self.load_rep(r, first + i as u32)?;
        }
        self.fill(first + reps.len() as u32, args.iter().copied())?;
        self.span = span;
        self.emit(I::Prim(dest, prim, first, reps.len() as u32, args.len() as u32));
        Ok(())
    }

    fn index(&mut self, source: &Expr, args: &[IndexArg], dest: R) -> Res<()> {
        let span = self.span;
        let arr = self.value(source)?;
        if let [IndexArg::At(i)] = args {
            let i = self.value(i)?;
            self.span = span;
            self.emit(I::Index1(dest, arr, i));
            return Ok(());
        }
        let mut kinds = Vec::new();
        let mut parts: Vec<&Expr> = Vec::new();
        for a in args {
            match a {
                IndexArg::At(e) => {
                    kinds.push(IndexKind::At);
                    parts.push(e);
                }
                IndexArg::Slice(lo, hi) => {
                    kinds.push(IndexKind::Slice(lo.is_some(), hi.is_some()));
                    parts.extend(lo.iter().chain(hi));
                }
            }
        }
        let first = self.args(parts.into_iter())?;
        self.code.tables.indices.push(kinds);
        let k = self.code.tables.indices.len() as u32 - 1;
        self.span = span;
        self.emit(I::Index(dest, arr, k, first));
        Ok(())
    }

    fn comprehension(
        &mut self,
        kind: u32,
        vars: &[(Local, adl_syntax::symbol::Symbol, Extent)],
        body: &Expr,
        rep: &Rep,
        e: &Expr,
        dest: R,
    ) -> Res<()> {
        let span = self.span;
        let whole_comprehension = Rc::new(of_extents(e, self.code.name));
        let captured = free_locals::free_in_lambda(&[], &whole_comprehension);
        let params = vars.iter().map(|(l, n, _)| Param { local: *l, name: Some(*n), ty: Ty::Int }).collect();
        let lam = Rc::new(Lambda { params, body: body.clone(), linear: false, name: self.code.name });
        let mut code = self.function(&[], &lam, &e.ty, &captured, &[])?;
        let origin = |lam| {
            Some(Rc::new(CoreOrigin {
                members: Rc::new([(Local(u32::MAX), Vec::new(), lam)]),
                group: false,
                index: 0,
                captured: captured.clone(),
            }))
        };
        code.origin = origin(lam);
        let mut whole = Code::new(self.code.name, String::new());
        whole.origin = origin(whole_comprehension);
        code.whole = Some(Rc::new(whole));
        self.code.codes.push(Rc::new(code));
        let which = self.code.codes.len() as u32 - 1;
        let f = self.temp();
        let extents = self.temps(vars.len() as u32 + 1);
        for (i, (_, _, x)) in vars.iter().enumerate() {
            self.extent(x, extents + i as u32)?;
        }
        self.load_rep(rep, extents + vars.len() as u32)?;
        let first = self.capture(&captured)?;
        self.emit(I::Closure(f, which, first, captured.len() as u32));
        self.span = span;
        self.emit(I::For(dest, kind, f, extents, vars.len() as u32));
        Ok(())
    }

    fn extent(&mut self, x: &Extent, d: R) -> Res<()> {
        match x {
            Extent::Bound(e) => self.into(e, d),
            Extent::Axes(axes) => {
                for (i, (a, axis)) in axes.iter().enumerate() {
                    let mark = self.next;
                    let r = self.value(a)?;
                    let t = if i == 0 { d } else { self.temp() };
                    self.emit(I::AxisLen(t, r, *axis));
                    if i > 0 {
                        self.emit(I::SameExtent(d, t));
                    }
                    self.next = mark;
                }
                Ok(())
            }
        }
    }

    fn loop_(&mut self, state: Local, init: &Expr, kind: &LoopKind, body: &Expr, dest: R) -> Res<()> {
        let register = self.temp();
        self.into(init, register)?;
        self.regs.insert(state, register);
        match kind {
            LoopKind::For(i, n) => {
                let bound = self.temp();
                self.into(n, bound)?;
                let counter = self.bind(*i);
                let k = self.constant(Value::Int(0));
                self.emit(I::Const(counter, k));
                let head = self.code.here();
                let exit = self.hole(I::LoopHead(counter, bound, 0));
                self.into(body, register)?;
                self.emit(I::LoopNext(counter, head));
                self.code.patch_jump(exit);
            }
            LoopKind::While(c) => {
                let head = self.code.here();
                let exit = self.condition(c)?;
                self.into(body, register)?;
                self.emit(I::Back(head));
                self.code.patch_jump(exit);
            }
        }
        self.emit(I::Move(dest, register));
        Ok(())
    }
}

pub(super) fn literal(l: &CoreLit) -> Value {
    match l {
        CoreLit::Unit => Value::Unit,
        CoreLit::Bool(b) => Value::Bool(*b),
        CoreLit::Int(n) => Value::Int(*n),
        CoreLit::Float(x) => Value::Float(*x),
        CoreLit::F32(x) => Value::F32(*x),
        CoreLit::Str(s) => Value::Str(Rc::new((&**s).into())),
    }
}

/// A comprehension as a function of its extents.
fn of_extents(e: &Expr, name: Option<Symbol>) -> Lambda {
    let mut body = e.clone();
    let mut params = Vec::new();
    if let ExprKind::For(_, vars, ..) = &mut *body.kind {
        for (k, (_, name, extent)) in vars.iter_mut().enumerate() {
            let local = Local(u32::MAX - 2 - k as u32);
            params.push(Param { local, name: Some(*name), ty: Ty::Int });
            *extent = Extent::Bound(Expr { kind: ExprKind::Local(local).into(), ty: Ty::Int, span: e.span });
        }
    }
    Lambda { params, body, linear: false, name }
}
