//! Branches, loops, calls and reductions inside of a kernel.

use super::{Emit, Frame, Place, View, wgsl};
use crate::array::Scalar;
use crate::error::{Check, Res, not_here};
use adl_ir::{Block, FnId, Loop, Op, Out, Soac, SoacKind, Turns, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// Turns of a loop whose number is not known before, at most: a kernel that does not end takes the whole device with it.
pub(crate) const TURNS: u32 = 1 << 22;

/// Calls inside of calls, at most.
const CALLS: usize = 64;

impl Emit<'_> {
    /// Writes an operation with blocks, or a call; whether it is one.
    pub(super) fn control(&mut self, op: &Op, outs: &[Var]) -> Res<bool> {
        match op {
            Op::If(c, a, b) => self.branch(*c, a, b, outs)?,
            Op::Loop(l) => self.turns(l, outs)?,
            Op::Call { f, args, lin_args, .. } => self.call(*f, &[args.as_slice(), lin_args].concat(), outs)?,
            Op::Soac(s) => self.fold(s, outs)?,
            Op::Switch(..) => return not_here("data inside of a kernel"),
            Op::ReduceByIndex { .. } => return not_here("a histogram inside of a kernel"),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A variable that changes, for what `v` will be.
    fn changing(&mut self, v: Var) -> Res<(Scalar, String)> {
        let s = self.scalar(v)?;
        let n = self.name("x");
        self.line(&format!("var {n}: {};", wgsl(s)));
        Ok((s, n))
    }

    fn branch(&mut self, c: Var, a: &Block, b: &Block, outs: &[Var]) -> Res<()> {
        let (_, c) = self.number(c)?;
        // An output that no number is (a unit's text, say) is nothing that a kernel reads.
        let to = outs.iter().map(|o| self.changing(*o)).collect::<Res<Vec<_>>>()?;
        self.open(&format!("if {c}"));
        self.arm(a, &to)?;
        self.depth -= 1;
        self.open("} else");
        self.arm(b, &to)?;
        self.close();
        outs.iter().zip(to).for_each(|(o, (s, n))| self.bind(*o, Place::Number(s, n)));
        Ok(())
    }

    fn arm(&mut self, b: &Block, to: &[(Scalar, String)]) -> Res<()> {
        self.stmts(b)?;
        for (v, (_, n)) in b.results.iter().chain(&b.lin_results).zip(to) {
            let (_, x) = self.number(*v)?;
            self.line(&format!("{n} = {x};"));
        }
        Ok(())
    }

    fn turns(&mut self, l: &Loop, outs: &[Var]) -> Res<()> {
        if !l.lin_init.is_empty() || !l.lin_xs.is_empty() || !l.lin_outs.is_empty() {
            return not_here("linear variables in a kernel");
        }
        if l.outs.iter().any(|o| *o != Out::Sum) {
            return not_here("an array that a loop inside of a kernel collects");
        }
        let inits = l.init.iter().map(|v| self.number(*v)).collect::<Res<Vec<_>>>()?;
        let mut vars = Vec::new();
        for ((s, x), _) in inits.iter().zip(outs) {
            let n = self.name("x");
            self.line(&format!("var {n} = {x};"));
            vars.push((*s, n));
        }
        for o in outs.iter().skip(l.init.len()).take(l.outs.len()) {
            let s = self.scalar(*o)?;
            let n = self.name("s");
            let zero = self.zero(s);
            self.line(&format!("var {n} = {zero};"));
            vars.push((s, n));
        }
        let views = l.xs.iter().map(|v| self.array(*v)).collect::<Res<Vec<_>>>()?;
        let turn = self.name("t");
        match &l.turns {
            Turns::For(n) => self.counted(l, *n, &turn, &views, &vars)?,
            Turns::While(c) => self.tested(l, c, &turn, &views, &vars)?,
        }
        outs.iter().zip(vars).for_each(|(o, (s, n))| self.bind(*o, Place::Number(s, n)));
        if let (Some(last), true) = (outs.get(l.init.len() + l.outs.len()), self.caps.i64) {
            self.bind_number(*last, Scalar::I64, &format!("i64({turn})"));
        }
        Ok(())
    }

    fn counted(&mut self, l: &Loop, n: Var, turn: &str, views: &[View], vars: &[(Scalar, String)]) -> Res<()> {
        let (_, n) = self.number(n)?;
        let (many, short) = (self.check(Check::Turns), self.check(Check::Bounds));
        let n = self.define("n", &format!("u32(clamp({n}, 0li, 2147483647li))"));
        self.line(&format!("if {n} == 2147483647u {{ fault({many}); }}"));
        let enough = views.iter().fold("true".to_owned(), |t, w| format!("{t} && {n} <= {}", w.dims[0]));
        let n = self.define("n", &format!("select(0u, {n}, {enough} && {n} != 2147483647u)"));
        if !views.is_empty() {
            self.line(&format!("if !({enough}) {{ fault({short}); }}"));
        }
        self.line(&format!("var {turn} = 0u;"));
        self.open(&format!("for (; {turn} < {n}; {turn}++)"));
        let i = if l.reverse { format!("({n} - 1u - {turn})") } else { turn.to_owned() };
        self.turn(l, &i, views, vars)?;
        self.close();
        Ok(())
    }

    fn tested(&mut self, l: &Loop, c: &Block, turn: &str, views: &[View], vars: &[(Scalar, String)]) -> Res<()> {
        if !views.is_empty() {
            return not_here("elements in a loop of unknown length");
        }
        let many = self.check(Check::Turns);
        self.line(&format!("var {turn} = 0u;"));
        self.open("loop");
        c.params.iter().zip(vars).for_each(|(p, (s, n))| self.bind(*p, Place::Number(*s, n.clone())));
        self.stmts(c)?;
        let Some(test) = c.results.first() else { return not_here("a loop without a condition") };
        let (_, test) = self.number(*test)?;
        self.line(&format!("if !({test}) || failed {{ break; }}"));
        self.line(&format!("if {turn} >= {TURNS}u {{ fault({many}); break; }}"));
        self.turn(l, turn, views, vars)?;
        self.line(&format!("{turn}++;"));
        self.close();
        Ok(())
    }

    /// One turn: what is carried takes its new values, sums grow.
    fn turn(&mut self, l: &Loop, i: &str, views: &[View], vars: &[(Scalar, String)]) -> Res<()> {
        self.turn_index(l.body.params.first(), i);
        let carried = l.init.len();
        for (p, (s, n)) in l.body.params.iter().skip(1).zip(&vars[..carried]) {
            // The body may still read it when another has changed.
            self.bind_number(*p, *s, n);
        }
        for (p, w) in l.body.params.iter().skip(1 + carried).zip(views) {
            let row = self.row(w, i);
            self.bind_view(*p, row);
        }
        self.stmts(&l.body)?;
        let made = l.body.results.iter().map(|v| self.number(*v)).collect::<Res<Vec<_>>>()?;
        for (k, ((s, x), (_, n))) in made.iter().zip(vars).enumerate() {
            let x = if k < carried { x.clone() } else { self.bin(Bin::Add, *s, n, x)? };
            // Results are named values, so that no assignment changes another's.
            self.line(&format!("{n} = {x};"));
        }
        Ok(())
    }

    /// The index of a turn, as an Int where there are Ints; without them nothing may read it.
    pub(crate) fn turn_index(&mut self, param: Option<&Var>, i: &str) {
        let Some(p) = param else { return };
        match self.caps.i64 {
            true => self.bind_number(*p, Scalar::I64, &format!("i64({i})")),
            false => self.bind(*p, Place::Nothing),
        }
    }

    /// A call, in whose place the function's statements are written.
    fn call(&mut self, id: FnId, args: &[Var], outs: &[Var]) -> Res<()> {
        if self.calls.contains(&id) {
            return not_here("a function that calls itself");
        }
        if self.calls.len() >= CALLS {
            return not_here("calls inside of calls, too many for a kernel");
        }
        let given = args.iter().map(|v| self.passed(*v)).collect::<Res<Vec<_>>>()?;
        let f = self.program.func(id);
        let params = f.body.params.iter().chain(&f.body.lin_params).copied();
        self.calls.push(id);
        let span = self.span;
        self.frames.push(Frame { f, places: params.zip(given).collect::<HashMap<_, _>>() });
        let done = self.stmts(&f.body);
        let results = done.and_then(|()| f.body.results.iter().chain(&f.body.lin_results).map(|v| self.passed(*v)).collect::<Res<Vec<_>>>());
        self.frames.pop();
        self.calls.pop();
        self.span = span;
        outs.iter().zip(results?).for_each(|(o, p)| self.bind(*o, p));
        Ok(())
    }

    /// What goes into a call or out of it; texts and data are nothing.
    fn passed(&mut self, v: Var) -> Res<Place> {
        match self.ty(v) {
            Ty::Str | Ty::Data(_) => Ok(Place::Nothing),
            Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool | Ty::Array(..) => self.place(v),
        }
    }

    /// A reduction, one element after the other.
    fn fold(&mut self, s: &Soac, outs: &[Var]) -> Res<()> {
        if s.kind != SoacKind::Reduce {
            return not_here("a scan inside of a kernel");
        }
        let views = s.arrays.iter().map(|v| self.array(*v)).collect::<Res<Vec<_>>>()?;
        let Some(first) = views.first() else { return not_here("a reduction of nothing") };
        let mut vars = Vec::new();
        for v in &s.neutral {
            let (k, x) = self.number(*v)?;
            let n = self.name("x");
            self.line(&format!("var {n} = {x};"));
            vars.push((k, n));
        }
        let i = self.name("j");
        let n = first.dims[0].clone();
        self.open(&format!("for (var {i} = 0u; {i} < {n}; {i}++)"));
        let (accs, elems) = s.op.params.split_at(vars.len().min(s.op.params.len()));
        for (p, (k, n)) in accs.iter().zip(&vars) {
            self.bind_number(*p, *k, n);
        }
        for (p, w) in elems.iter().zip(&views) {
            let row = self.row(w, &i);
            self.bind_view(*p, row);
        }
        self.stmts(&s.op)?;
        self.arm_results(&s.op, &vars)?;
        self.close();
        outs.iter().zip(vars).for_each(|(o, (s, n))| self.bind(*o, Place::Number(s, n)));
        Ok(())
    }

    fn arm_results(&mut self, b: &Block, to: &[(Scalar, String)]) -> Res<()> {
        let made = b.results.iter().map(|v| self.number(*v)).collect::<Res<Vec<_>>>()?;
        for ((_, x), (_, n)) in made.iter().zip(to) {
            self.line(&format!("{n} = {x};"));
        }
        Ok(())
    }
}
