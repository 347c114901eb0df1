//! Erasure of linearity (§4.5): linear variables become ordinary ones, `dup` becomes renaming, and `drop` disappears.

use crate::{Ad, check};
use adl_ir::rewrite::dce;
use adl_ir::{Block, FnId, Function, Loop, Op, Program, Stmt, Trip, Var};
use std::collections::HashMap;

impl Ad {
    /// The erased function. The formerly linear parameters and results follow the non-linear ones.
    pub fn erase(&mut self, program: &mut Program, f: FnId) -> FnId {
        if let Some(e) = self.linear.erasures.get(&f) {
            return *e;
        }
        let src = program.func(f).clone();
        if !src.vars.iter().any(|v| v.linear) && program.called_by(f).iter().all(|g| *g == f) {
            self.linear.erasures.insert(f, f);
            return f;
        }
        let id = program.reserve(&src.name);
        self.linear.erasures.insert(f, id);
        self.symbolic_zero.insert(id);
        let mut out =
            Function { name: src.name.clone(), vars: src.vars.clone(), body: Block::default(), ..Function::default() };
        out.vars.iter_mut().for_each(|v| v.linear = false);
        out.body = self.erase_block(program, &mut out, &src.body, &mut HashMap::new());
        dce::remove_dead(&mut out);
        check::made("erase", program, &out);
        program.set(id, out);
        id
    }

    /// `names` maps copies made by `dup` to their originals.
    pub(crate) fn erase_block(
        &mut self,
        program: &mut Program,
        func: &mut Function,
        block: &Block,
        names: &mut HashMap<Var, Var>,
    ) -> Block {
        let mut out = Block { params: [&block.params[..], &block.lin_params].concat(), ..Block::default() };
        for stmt in &block.stmts {
            match &stmt.op {
                Op::Dup(a) => {
                    let a = *names.get(a).unwrap_or(a);
                    stmt.lin_outs.iter().chain(&stmt.outs).for_each(|c| {
                        names.insert(*c, a);
                    });
                }
                Op::Drop(_) => {}
                _ => {
                    let s = self.erase_stmt(program, func, stmt, names);
                    out.stmts.push(s);
                }
            }
        }
        out.results = block.results.iter().chain(&block.lin_results).map(|r| *names.get(r).unwrap_or(r)).collect();
        out
    }

    fn erase_stmt(
        &mut self,
        program: &mut Program,
        func: &mut Function,
        stmt: &Stmt,
        names: &mut HashMap<Var, Var>,
    ) -> Stmt {
        let mut op = stmt.op.clone();
        op.map_operands(&mut |v| *names.get(&v).unwrap_or(&v));
        let mut outs = [&stmt.outs[..], &stmt.lin_outs].concat();
        let op = match op {
            Op::Loop(l) => {
                let (l, order) = self.erase_loop(program, func, stmt, *l, names);
                outs = order;
                Op::Loop(Box::new(l))
            }
            Op::Call { f: g, args, lin_args, rule, checkpoint } => Op::Call {
                f: self.erase(program, g),
                args: [args, lin_args].concat(),
                lin_args: Vec::new(),
                rule,
                checkpoint,
            },
            mut op => {
                for part in op.blocks_mut() {
                    *part = self.erase_block(program, func, part, names);
                }
                op
            }
        };
        Stmt { outs, lin_outs: Vec::new(), op, span: stmt.span }
    }

    /// The parameters and results of a loop are interleaved: carried values first, then elements or outputs.
    fn erase_loop(
        &mut self,
        program: &mut Program,
        func: &mut Function,
        stmt: &Stmt,
        ir_loop: Loop,
        names: &mut HashMap<Var, Var>,
    ) -> (Loop, Vec<Var>) {
        let (carried, lk) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let trip = match ir_loop.trip {
            Trip::Count(n) => Trip::Count(n),
            Trip::While(c) => {
                let mut c = self.erase_block(program, func, &c, names);
                // The condition block gets the formerly linear carried values as parameters too.
                for v in &ir_loop.body.lin_params[..lk] {
                    let ty = func.ty(*v).clone();
                    c.params.push(func.fresh(ty, false));
                }
                Trip::While(c)
            }
        };
        let mix = |nl: &[Var], lin: &[Var], k: usize, lk: usize| [&nl[..k], &lin[..lk], &nl[k..], &lin[lk..]].concat();
        let mut body = self.erase_block(program, func, &ir_loop.body, names);
        let (np, nr) = (ir_loop.body.params.len(), ir_loop.body.results.len());
        body.params = mix(&body.params[..np], &body.params[np..], carried + 1, lk);
        body.results = mix(&body.results[..nr], &body.results[nr..], carried, lk);
        // The trip count stays the last result.
        let (trips, outs) = stmt.outs.split_last().map_or((None, &stmt.outs[..]), |(t, o)| (Some(*t), o));
        let mut order = mix(outs, &stmt.lin_outs, carried, lk);
        order.extend(trips);
        let made = Loop {
            reverse: ir_loop.reverse,
            init: [ir_loop.init, ir_loop.lin_init].concat(),
            xs: [ir_loop.xs, ir_loop.lin_xs].concat(),
            outs: [ir_loop.outs, ir_loop.lin_outs].concat(),
            ..Loop::new(trip, body)
        };
        (made, order)
    }
}
