//! Decision trees → switches. An arm that several leaves reach becomes a function of its own, so that its code is not
//! duplicated.

use crate::call::ResultPromise;
use crate::key::KeyToken;
use crate::val::{Closure, Fun, Val};
use crate::{Attempt, Layout, Spec};
use adl_ir::{Cmp, Lit as IrLit, Op, Ty as IrTy, Var};
use adl_typing::core::{Arm, Con, CoreLit, Expr, ExprKind, Local, Tree};
use adl_typing::free_locals;
use adl_typing::ty::Ty;
use std::rc::Rc;

/// The arms, with the number of leaves that reach each.
struct Arms<'a> {
    arms: &'a [Arm],
    reached: Vec<usize>,
}

impl Spec<'_> {
    pub(crate) fn match_(&mut self, s: &Expr, root: Local, tree: &Tree, arms: &[Arm]) -> Attempt<Val> {
        let v = self.eval(s)?;
        if matches!(v, Val::Bottom) {
            return Ok(v);
        }
        self.env.insert(root, v);
        let mut a = Arms { arms, reached: vec![0; arms.len()] };
        count(tree, &mut a.reached, 1);
        self.tree(tree, &a)
    }

    fn tree(&mut self, t: &Tree, a: &Arms) -> Attempt<Val> {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.tree_inner(t, a))
    }

    fn tree_inner(&mut self, t: &Tree, arms: &Arms) -> Attempt<Val> {
        match t {
            Tree::Leaf(arm, binds) => {
                self.assign(&arms.arms[*arm], binds)?;
                self.arm(*arm, arms)
            }
            Tree::Guard(arm, binds, rest) => {
                self.assign(&arms.arms[*arm], binds)?;
                match &arms.arms[*arm].guard {
                    None => self.arm(*arm, arms),
                    Some(g) => self.choose(g, &mut |s| s.arm(*arm, arms), &mut |s| s.tree(rest, arms)),
                }
            }
            Tree::Parts(parts, rest) => {
                for (l, from, step) in parts {
                    let v = self.bound_local(*from)?;
                    let part = self.step(&v, *step)?;
                    self.env.insert(*l, part);
                }
                self.tree(rest, arms)
            }
            Tree::Con(on, cases, default) => self.con_tree(*on, cases, default.as_deref(), arms),
            Tree::Lit(on, cases, default) => self.lit_tree(*on, cases, default, arms),
            Tree::Len(on, cases, default) => self.len_tree(*on, cases, default, arms),
            Tree::Fail => Ok(self.fail("no arm of this `match` fits the value")),
        }
    }

    fn bound_local(&self, l: Local) -> Attempt<Val> {
        self.env.get(&l).cloned().ok_or_else(|| self.no("a pattern's variable that is not bound"))
    }

    fn assign(&mut self, arm: &Arm, binds: &[(Local, Local)]) -> Attempt<()> {
        for (to, from) in binds {
            let v = self.bound_local(*from)?;
            let name = arm.vars.iter().find(|(l, ..)| l == to).map(|(_, n, _)| *n);
            if let (Some(n), Val::Leaf(x) | Val::Data(x, _)) = (name, &v) {
                self.name(*x, n.as_str());
            }
            self.env.insert(*to, v);
        }
        Ok(())
    }

    fn arm(&mut self, k: usize, a: &Arms) -> Attempt<Val> {
        let body = &a.arms[k].body;
        let tiny =
            matches!(&*body.kind, ExprKind::Lit(_) | ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Prim(..));
        if a.reached[k] <= 1 || tiny {
            return self.branch(body);
        }
        let lam = self.thunk(body)?;
        let Val::Fun(f) = self.closure(&[], &lam)? else { return self.eval(body) };
        let Fun::Closure(c) = &*f else { return self.eval(body) };
        self.shared(c, &body.ty)
    }

    /// Calls code without parameters as a function of its captured values.
    fn shared(&mut self, closure: &Closure, ty: &Ty) -> Attempt<Val> {
        let inputs = [Val::fun(Fun::Closure(closure.clone()))];
        let key = self.key(vec![KeyToken::What("arm")], &inputs)?;
        let result = self.ty(ty);
        let t = self.outline(key, "arm", &inputs, ResultPromise::Ty(result), &mut |s, vals| {
            let f = s.function_of(&vals[0])?;
            match &*f {
                Fun::Closure(c) => s.enter(c, &[]),
                _ => Err(s.no("code without a function")),
            }
        })?;
        if self.has_effects(&t) { self.enter(closure, &[]) } else { self.emit_call(&t, &inputs, None, false) }
    }

    fn con_tree(
        &mut self,
        on: Local,
        cases: &[(Con, Vec<Local>, Tree)],
        default: Option<&Tree>,
        arms: &Arms,
    ) -> Attempt<Val> {
        let Val::Data(data, id) = self.bound_local(on)? else {
            return Err(self.no("a constructor pattern on something that is no data"));
        };
        if let Some((tag, vals)) = self.known.built.get(&data).cloned() {
            return match (cases.iter().find(|c| c.0.tag == tag), default) {
                (Some((_, fields, sub)), _) => {
                    self.env.extend(fields.iter().copied().zip(vals.iter().cloned()));
                    self.tree(sub, arms)
                }
                (None, Some(t)) => self.tree(t, arms),
                (None, None) => Ok(self.fail("no arm of this `match` fits the value")),
            };
        }
        let layouts = self.constructors_of(id)?;
        if let ([(con, fields, sub)], 1) = (cases, layouts.len()) {
            let vals = self.fields(data, id, con.tag)?;
            self.env.extend(fields.iter().copied().zip(vals));
            return self.tree(sub, arms);
        }
        let others = layouts.len() - cases.len().min(layouts.len());
        let mut branches = Vec::new();
        let mut params = Vec::new();
        for (tag, (_, fields)) in layouts.iter().enumerate() {
            let mut ps = Vec::new();
            let vals: Vec<Val> = fields
                .iter()
                .map(|l| {
                    Self::build(l, &mut |t| {
                        ps.push(self.b.func.fresh(t, false));
                        ps[ps.len() - 1]
                    })
                })
                .collect();
            let branch = self.block(&mut |s| match cases.iter().find(|c| c.0.tag as usize == tag) {
                Some((_, locals, sub)) => {
                    s.env.extend(locals.iter().copied().zip(vals.iter().cloned()));
                    s.tree(sub, arms)
                }
                None => match default {
                    Some(t) if others > 1 => s.shared_tree(t, arms),
                    Some(t) => s.tree(t, arms),
                    None => Ok(s.fail("no arm of this `match` fits the value")),
                },
            })?;
            params.push(ps);
            branches.push(branch);
        }
        self.switch(data, branches, params)
    }

    /// A default that several constructors reach becomes a function of its own, unless it consists of a single arm.
    fn shared_tree(&mut self, tree: &Tree, arms: &Arms) -> Attempt<Val> {
        if matches!(tree, Tree::Leaf(..) | Tree::Fail) {
            return self.tree(tree, arms);
        }
        let mut locals = Vec::new();
        reads(tree, arms.arms, &mut locals);
        locals.sort_unstable();
        locals.dedup();
        locals.retain(|l| self.env.contains_key(l));
        let inputs: Vec<Val> = locals.iter().map(|l| self.env[l].clone()).collect();
        let at: *const Tree = tree;
        let key = self.key(vec![KeyToken::What("default"), KeyToken::Code(at as usize)], &inputs)?;
        // `CodeInfo` keeps the function alive whose code this is.
        let result = ResultPromise::of(arms.arms.first().map(|arm| self.ty(&arm.body.ty)));
        let target = self.outline(key, "default", &inputs, result, &mut |s, vals| {
            s.env = locals.iter().copied().zip(vals.iter().cloned()).collect();
            s.tree(tree, arms)
        })?;
        if self.has_effects(&target) { self.tree(tree, arms) } else { self.emit_call(&target, &inputs, None, false) }
    }

    /// A switch over branches whose parameters are the leaves of the fields.
    pub(crate) fn switch(
        &mut self,
        x: Var,
        branches: Vec<(adl_ir::Block, Val)>,
        params: Vec<Vec<Var>>,
    ) -> Attempt<Val> {
        let (mut blocks, template, tys) = self.join(branches)?;
        for (b, ps) in blocks.iter_mut().zip(params) {
            b.params = ps;
        }
        let (outs, _) = self.b.emit(Op::Switch(x, blocks), &tys, &[]);
        Ok(template.with(&outs))
    }

    /// The constructors of a data type.
    pub(crate) fn constructors_of(
        &self,
        d: adl_ir::DataId,
    ) -> Attempt<Rc<Vec<(adl_syntax::symbol::Symbol, Vec<Layout>)>>> {
        self.cache.layouts.get(&d).cloned().ok_or_else(|| self.no("a declared type that holds functions"))
    }

    /// The fields of data with a known constructor.
    pub(crate) fn fields(&mut self, x: Var, d: adl_ir::DataId, tag: u32) -> Attempt<Vec<Val>> {
        let layouts = self.constructors_of(d)?;
        let Some((_, fields)) = layouts.get(tag as usize) else {
            return Err(self.no("a constructor that is not there"));
        };
        let tys: Vec<IrTy> = fields.iter().flat_map(Layout::leaves).collect();
        let (outs, _) = self.b.emit(Op::Destruct { a: x, data: d, tag }, &tys, &[]);
        let mut next = outs.into_iter();
        Ok(fields.iter().map(|l| Self::build(l, &mut |_| next.next().unwrap_or(x))).collect())
    }

    /// A constructor applied to its arguments.
    pub(crate) fn construct(&mut self, c: &Con, args: &[Expr], ty: &Ty) -> Attempt<Val> {
        let Some(vals) = self.all(args.iter())? else { return Ok(Val::Bottom) };
        let Layout::Data(d) = self.layout_at(ty)? else {
            return Err(self.no("a constructor of something that is no data"));
        };
        self.con(d, c.tag, &vals)
    }

    /// Builds data from its constructor and fields.
    pub(crate) fn con(&mut self, id: adl_ir::DataId, tag: u32, vals: &[Val]) -> Attempt<Val> {
        let layouts = self.constructors_of(id)?;
        let (mut shaped, mut code) = (Vec::new(), Vec::new());
        for (l, v) in layouts[tag as usize].1.iter().zip(vals) {
            shaped.push(self.shaped(v.clone(), l)?);
            code.push(match l {
                Layout::Fun(d) => {
                    let t = self.function_ty(*d)?;
                    self.instantiate(v.clone(), &t)
                }
                _ => v.clone(),
            });
        }
        let vals = shaped;
        for (l, v) in layouts[tag as usize].1.iter().zip(&vals) {
            if self.layout_of_val(v)? != *l {
                return Err(self.no("data whose fields are laid out differently from their types"));
            }
        }
        let fields = vals.iter().flat_map(Val::leaves).collect();
        let x = self.b.one(Op::Construct { data: id, tag, fields }, IrTy::Data(id));
        self.known.built.insert(x, (tag, code.into()));
        Ok(Val::Data(x, id))
    }

    fn lit_tree(&mut self, on: Local, cases: &[(CoreLit, Tree)], default: &Tree, arms: &Arms) -> Attempt<Val> {
        let Some(((lit, sub), rest)) = cases.split_first() else { return self.tree(default, arms) };
        let v = self.bound_local(on)?;
        if matches!(lit, CoreLit::Unit) {
            return self.tree(sub, arms);
        }
        let x = self.leaf(&v)?;
        if let CoreLit::Bool(b) = lit {
            let mut yes = |s: &mut Self| s.tree(sub, arms);
            let mut no = |s: &mut Self| s.lit_tree(on, rest, default, arms);
            return if *b { self.branch_on(x, &mut yes, &mut no) } else { self.branch_on(x, &mut no, &mut yes) };
        }
        let k = self.literal_like(lit, x);
        let c = self.b.cmp(Cmp::Eq, x, k);
        self.branch_on(c, &mut |s| s.tree(sub, arms), &mut |s| s.lit_tree(on, rest, default, arms))
    }

    /// An Int literal in a pattern matches numbers of every type.
    fn literal_like(&mut self, lit: &CoreLit, x: Var) -> Var {
        let number = match lit {
            CoreLit::Int(n) => *n as f64,
            CoreLit::Float(x) => *x,
            CoreLit::F32(x) => f64::from(*x),
            CoreLit::Unit | CoreLit::Bool(_) | CoreLit::Str(_) => 0.0,
        };
        match (self.b.ty(x), lit) {
            (IrTy::F64, _) => self.lit(IrLit::F64(number)),
            (IrTy::F32, _) => self.lit(IrLit::F32(number as f32)),
            (_, CoreLit::Str(s)) => self.lit(IrLit::Str(s.clone())),
            (_, CoreLit::Int(n)) => self.int(*n),
            _ => self.int(number as i64),
        }
    }

    fn len_tree(&mut self, on: Local, cases: &[(u64, Vec<Local>, Tree)], default: &Tree, arms: &Arms) -> Attempt<Val> {
        let Some(((len, elems, sub), rest)) = cases.split_first() else { return self.tree(default, arms) };
        let v = self.bound_local(on)?;
        let n = self.extent(&v, 0)?;
        let k = self.int(*len as i64);
        let c = self.b.cmp(Cmp::Eq, n, k);
        let mut yes = |s: &mut Self| {
            for (i, l) in elems.iter().enumerate() {
                let i = s.int(i as i64);
                let e = s.element(&v, &[i])?;
                s.env.insert(*l, e);
            }
            s.tree(sub, arms)
        };
        self.branch_on(c, &mut yes, &mut |s| s.len_tree(on, rest, default, arms))
    }
}

/// Locals that a tree and its reachable arms may read.
fn reads(t: &Tree, arms: &[Arm], out: &mut Vec<Local>) {
    let arm = |k: usize, binds: &[(Local, Local)], out: &mut Vec<Local>| {
        out.extend(binds.iter().map(|b| b.1));
        out.extend(arms[k].guard.iter().flat_map(|g| free_locals::free_in_body(&[], g)));
        out.extend(free_locals::free_in_body(&[], &arms[k].body));
    };
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match t {
        Tree::Leaf(k, binds) => arm(*k, binds, out),
        Tree::Guard(k, binds, rest) => {
            arm(*k, binds, out);
            reads(rest, arms, out);
        }
        Tree::Parts(parts, rest) => {
            out.extend(parts.iter().map(|p| p.1));
            reads(rest, arms, out);
        }
        Tree::Con(on, cases, default) => {
            out.push(*on);
            cases.iter().for_each(|c| reads(&c.2, arms, out));
            default.iter().for_each(|d| reads(d, arms, out));
        }
        Tree::Lit(on, cases, default) => {
            out.push(*on);
            cases.iter().for_each(|c| reads(&c.1, arms, out));
            reads(default, arms, out);
        }
        Tree::Len(on, cases, default) => {
            out.push(*on);
            cases.iter().for_each(|c| reads(&c.2, arms, out));
            reads(default, arms, out);
        }
        Tree::Fail => {}
    });
}

/// Counts the leaves that reach each arm. A default counts once for every constructor that is not listed.
fn count(t: &Tree, reached: &mut [usize], times: usize) {
    stacker::maybe_grow(32 * 1024, 1024 * 1024, || match t {
        Tree::Leaf(k, _) => reached[*k] += times,
        Tree::Guard(k, _, rest) => {
            reached[*k] += times;
            count(rest, reached, times);
        }
        Tree::Parts(_, rest) => count(rest, reached, times),
        Tree::Con(_, cases, default) => {
            let all = cases.first().map_or(0, |c| c.0.data.cons.len());
            cases.iter().for_each(|c| count(&c.2, reached, times));
            let others = all.saturating_sub(cases.len()).max(1);
            default.iter().for_each(|d| count(d, reached, times.saturating_mul(others)));
        }
        Tree::Lit(_, cases, default) => {
            cases.iter().for_each(|c| count(&c.1, reached, times));
            count(default, reached, times);
        }
        Tree::Len(_, cases, default) => {
            cases.iter().for_each(|c| count(&c.2, reached, times));
            count(default, reached, times);
        }
        Tree::Fail => {}
    });
}
