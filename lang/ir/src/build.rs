//! Construction of functions: [`Builder`] appends statements to the innermost open block, and infers the types of
//! their results.

use crate::func::{Block, FnId, Function, Program, Role, Stmt, Var};
use crate::op::{Cmp, Conv, Lit, Op};
use crate::ty::Ty;
use adl_prim::{Bin, GeneralFn, Prim, Un};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Builds one function.
pub struct Builder {
    /// The function so far. [`Builder::finish`] sets its body.
    pub func: Function,
    /// The source location given to new statements.
    pub span: Span,
    open: Vec<Block>,
}

impl Builder {
    /// Starts a function without parameters and statements.
    pub fn new(name: &str) -> Builder {
        Builder {
            func: Function { name: name.to_owned(), ..Function::default() },
            span: Span::default(),
            open: vec![Block::default()],
        }
    }

    /// Starts a new, empty body over the variables of an existing function.
    pub fn on(func: Function) -> Builder {
        Builder {
            func: Function { body: Block::default(), ..func },
            span: Span::default(),
            open: vec![Block::default()],
        }
    }

    fn top(&mut self) -> &mut Block {
        if self.open.is_empty() {
            self.open.push(Block::default());
        }
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    /// Adds a parameter to the innermost open block.
    pub fn param(&mut self, ty: Ty) -> Var {
        let v = self.func.fresh(ty, false);
        self.top().params.push(v);
        v
    }

    /// Adds a linear parameter to the innermost open block.
    pub fn lin_param(&mut self, ty: Ty) -> Var {
        let v = self.func.fresh(ty, true);
        self.top().lin_params.push(v);
        v
    }

    /// New non-linear variables of the same types as `vs`.
    pub fn like(&mut self, vs: &[Var]) -> Vec<Var> {
        vs.iter().map(|v| self.func.fresh(self.func.ty(*v).clone(), false)).collect()
    }

    /// New non-linear variables of the arrays' element types.
    pub fn elements(&mut self, arrays: &[Var]) -> Vec<Var> {
        arrays.iter().map(|a| self.func.fresh(self.func.ty(*a).elem(), false)).collect()
    }

    /// Opens the body of a stateless loop over arrays. Returns the variables of the elements; the loop's index is
    /// the first parameter.
    pub fn open_loop(&mut self, arrays: &[Var]) -> Vec<Var> {
        self.open();
        let mut params = vec![self.func.fresh(Ty::I64, false)];
        let elems = self.elements(arrays);
        params.extend(&elems);
        self.adopt(&params, &[]);
        elems
    }

    /// Makes existing variables parameters of the innermost open block.
    pub fn adopt(&mut self, params: &[Var], lin_params: &[Var]) {
        let top = self.top();
        top.params = params.to_vec();
        top.lin_params = lin_params.to_vec();
    }

    /// Opens a nested block. Statements are appended to it until [`Builder::close`].
    pub fn open(&mut self) {
        self.open.push(Block::default());
    }

    /// Closes the innermost block, with these results.
    pub fn close(&mut self, results: Vec<Var>, lin_results: Vec<Var>) -> Block {
        let mut b = self.open.pop().unwrap_or_default();
        b.results = results;
        b.lin_results = lin_results;
        b
    }

    /// The statement of an open block that defines a variable.
    pub fn definition(&self, v: Var) -> Option<&Stmt> {
        self.open.iter().rev().find_map(|b| b.stmts.iter().rev().find(|s| s.outs.contains(&v)))
    }

    /// Sets the results of the innermost open block, for [`Builder::open_results`].
    pub fn set_results(&mut self, results: Vec<Var>) {
        self.top().results = results;
    }

    /// The results set by [`Builder::set_results`].
    pub fn open_results(&mut self) -> Vec<Var> {
        self.top().results.clone()
    }

    /// Appends a copy of a non-linear block's statements, with new variables and `args` in the place of its
    /// parameters. Returns its results.
    pub fn inline(&mut self, b: &Block, args: &[Var]) -> Vec<Var> {
        let mut names: HashMap<Var, Var> = b.params.iter().copied().zip(args.iter().copied()).collect();
        for s in &b.stmts {
            let s = self.copy_stmt(s, &mut names);
            self.push(s);
        }
        b.results.iter().map(|r| *names.get(r).unwrap_or(r)).collect()
    }

    fn copy_var(&mut self, v: Var, names: &mut HashMap<Var, Var>) -> Var {
        let info = self.func.vars[v.0 as usize].clone();
        self.func.vars.push(info);
        let new = Var(self.func.vars.len() as u32 - 1);
        names.insert(v, new);
        new
    }

    /// A copy of a statement with new variables for all that it binds. `names` renames its operands, and is
    /// extended by the new variables.
    pub fn copy_stmt(&mut self, s: &Stmt, names: &mut HashMap<Var, Var>) -> Stmt {
        let mut op = s.op.clone();
        op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
        for b in op.blocks_mut() {
            *b = self.copy_block(b, names);
        }
        let outs = s.outs.iter().map(|v| self.copy_var(*v, names)).collect();
        let lin_outs = s.lin_outs.iter().map(|v| self.copy_var(*v, names)).collect();
        Stmt { outs, lin_outs, op, span: s.span }
    }

    /// A copy of a block with new variables for all that it binds. `names` renames variables from outside, and is
    /// extended by the new variables.
    pub fn copy_block(&mut self, b: &Block, names: &mut HashMap<Var, Var>) -> Block {
        let params = b.params.iter().map(|v| self.copy_var(*v, names)).collect();
        let lin_params = b.lin_params.iter().map(|v| self.copy_var(*v, names)).collect();
        let stmts = b.stmts.iter().map(|s| self.copy_stmt(s, names)).collect();
        let name = |v: &Var| *names.get(v).unwrap_or(v);
        Block {
            params,
            lin_params,
            stmts,
            results: b.results.iter().map(name).collect(),
            lin_results: b.lin_results.iter().map(name).collect(),
        }
    }

    /// Marks the variables added since there were `first` as the computation of a derivative: `found` as
    /// [`Role::Derivative`], the others as steps.
    pub fn derivative(&mut self, first: usize, found: &[Var]) {
        for (i, info) in self.func.vars.iter_mut().enumerate().skip(first) {
            info.role = if found.contains(&Var(i as u32)) { Role::Derivative } else { Role::Step };
        }
    }

    /// Closes the body with these results, and returns the function.
    pub fn finish(mut self, results: Vec<Var>, lin_results: Vec<Var>) -> Function {
        self.func.body = self.close(results, lin_results);
        self.func
    }

    /// Appends a statement unchanged.
    pub fn push(&mut self, stmt: Stmt) {
        self.top().stmts.push(stmt);
    }

    /// Gives the results of the last statement other names.
    pub fn rename_outs(&mut self, names: &HashMap<Var, Var>) {
        let last = self.open.last_mut().and_then(|b| b.stmts.last_mut());
        for out in last.into_iter().flat_map(|s| &mut s.outs) {
            *out = *names.get(out).unwrap_or(out);
        }
    }

    /// Appends an operation with results of these types. Returns the non-linear and the linear results.
    pub fn emit(&mut self, op: Op, tys: &[Ty], lin_tys: &[Ty]) -> (Vec<Var>, Vec<Var>) {
        let outs: Vec<Var> = tys.iter().map(|t| self.func.fresh(t.clone(), false)).collect();
        let lin_outs: Vec<Var> = lin_tys.iter().map(|t| self.func.fresh(t.clone(), true)).collect();
        let span = self.span;
        self.push(Stmt { outs: outs.clone(), lin_outs: lin_outs.clone(), op, span });
        (outs, lin_outs)
    }

    /// Appends a non-linear operation with one result.
    pub fn one(&mut self, op: Op, ty: Ty) -> Var {
        self.emit(op, &[ty], &[]).0[0]
    }

    /// Appends a linear operation with one result.
    pub fn lin(&mut self, op: Op, ty: Ty) -> Var {
        self.emit(op, &[], &[ty]).1[0]
    }

    /// The type of a variable.
    pub fn ty(&self, v: Var) -> Ty {
        self.func.ty(v).clone()
    }

    /// Appends a literal.
    pub fn lit(&mut self, l: Lit) -> Var {
        let ty = l.ty();
        self.one(Op::Lit(l), ty)
    }

    /// Appends an Int literal.
    pub fn int(&mut self, n: i64) -> Var {
        self.lit(Lit::I64(n))
    }

    /// Appends the literal `x`, as a scalar of the element type of `like`.
    pub fn real(&mut self, x: f64, like: Var) -> Var {
        match self.ty(like).scalar() {
            Ty::F32 => self.lit(Lit::F32(x as f32)),
            _ => self.lit(Lit::F64(x)),
        }
    }

    /// Appends an elementwise function.
    pub fn un(&mut self, op: Un, a: Var) -> Var {
        let ty = self.ty(a);
        if self.func.linear(a) { self.lin(Op::Un(op, a), ty) } else { self.one(Op::Un(op, a), ty) }
    }

    /// Appends an elementwise operator. The result is linear if an operand is.
    pub fn bin(&mut self, op: Bin, a: Var, b: Var) -> Var {
        let ty = if self.ty(a).rank() >= self.ty(b).rank() { self.ty(a) } else { self.ty(b) };
        let linear = self.func.linear(a) || self.func.linear(b);
        if linear { self.lin(Op::Bin(op, a, b), ty) } else { self.one(Op::Bin(op, a, b), ty) }
    }

    /// Appends a comparison.
    pub fn cmp(&mut self, op: Cmp, a: Var, b: Var) -> Var {
        let rank = self.ty(a).rank().max(self.ty(b).rank());
        self.one(Op::Cmp(op, a, b), Ty::Bool.array(rank))
    }

    /// Appends a conversion. The result is linear if the operand is.
    pub fn convert(&mut self, c: Conv, a: Var) -> Var {
        let rank = self.ty(a).rank();
        let ty = match c {
            Conv::ToF64 => Ty::F64,
            Conv::ToF32 => Ty::F32,
            Conv::ToI64 => Ty::I64,
        };
        let linear = self.func.linear(a);
        if linear { self.lin(Op::Convert(c, a), ty.array(rank)) } else { self.one(Op::Convert(c, a), ty.array(rank)) }
    }

    /// Appends a built-in with one result.
    pub fn prim(&mut self, p: impl Into<Prim>, args: &[Var], ty: Ty) -> Var {
        self.one(Op::Prim(p.into(), args.to_vec()), ty)
    }

    /// Adds an assertion. A run in which it fails is repeated for the text of the error.
    pub fn assert(&mut self, holds: Var, text: &str) {
        let text = self.lit(Lit::Str(text.into()));
        self.emit(Op::Prim(Prim::General(GeneralFn::Assert), vec![holds, text]), &[], &[]);
    }

    /// Appends the extent of an axis.
    pub fn dim(&mut self, a: Var, axis: u32) -> Var {
        self.one(Op::Dim(a, axis), Ty::I64)
    }

    /// Appends the shape of an array.
    pub fn shape(&mut self, a: Var) -> Var {
        self.one(Op::Shape(a), Ty::shape())
    }

    /// Appends a call without a custom rule. Returns the non-linear and the linear results.
    pub fn call(&mut self, p: &Program, f: FnId, args: &[Var], lin_args: &[Var]) -> (Vec<Var>, Vec<Var>) {
        let callee = p.func(f);
        let (tys, lin_tys) = (callee.tys(&callee.body.results), callee.tys(&callee.body.lin_results));
        self.emit(
            Op::Call { f, args: args.to_vec(), lin_args: lin_args.to_vec(), rule: None, checkpoint: false },
            &tys,
            &lin_tys,
        )
    }
}

/// Statements that are added to a block without a [`Builder`], with new variables of its function.
pub struct Added<'a> {
    /// The function.
    pub f: &'a mut Function,
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// Their place in the source.
    pub span: Span,
}

impl<'a> Added<'a> {
    /// No statements.
    pub fn new(f: &'a mut Function, span: Span) -> Added<'a> {
        Added { f, stmts: Vec::new(), span }
    }

    /// Adds an operation with one result.
    pub fn push(&mut self, op: Op, ty: Ty) -> Var {
        let v = self.f.fresh(ty, false);
        self.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }

    /// Adds an Int.
    pub fn int(&mut self, n: i64) -> Var {
        self.push(Op::Lit(Lit::I64(n)), Ty::I64)
    }

    /// Adds a comparison of numbers.
    pub fn cmp(&mut self, cmp: Cmp, x: Var, y: Var) -> Var {
        self.push(Op::Cmp(cmp, x, y), Ty::Bool)
    }

    /// Adds an assertion. A run in which it fails is repeated for the text of the error.
    pub fn assert(&mut self, holds: Var, text: &str) {
        let text = self.push(Op::Lit(Lit::Str(text.into())), Ty::Str);
        let op = Op::Prim(Prim::General(GeneralFn::Assert), vec![holds, text]);
        self.stmts.push(Stmt { outs: Vec::new(), lin_outs: Vec::new(), op, span: self.span });
    }
}
