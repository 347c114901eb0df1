//! J of calls: a call of the J of the callee, or of a custom derivative rule.

use super::J;
use adl_ir::{FnId, Lit, Op, Rule, RuleKind, Stmt, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::HashMap;

impl J<'_> {
    pub(super) fn call(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        let Op::Call { f: id, args, rule, checkpoint, .. } = &stmt.op else { return Ok(()) };
        let wrt: Vec<bool> = args.iter().map(|a| self.has(*a).is_some()).collect();
        let wanted = self.wanted_outs(stmt);
        if !wanted.contains(&true) {
            self.b.push(stmt.clone());
            return Ok(());
        }
        if let Some(rule) = rule {
            return self.ruled(stmt, *id, args, rule);
        }
        let shared = self.shared_tangents(*id, args);
        let has_own = |k: usize| shared.get(k).is_none_or(|first| *first == k);
        let lin_args = args.iter().enumerate().filter(|(k, _)| has_own(*k)).filter_map(|(_, a)| self.has(*a)).collect();
        let j = self.ad.jvp_sharing(self.p, *id, &wrt, shared)?;
        let op = Op::Call { f: j.func, args: args.clone(), lin_args, rule: None, checkpoint: *checkpoint };
        self.bind(stmt, op, &j.active);
        Ok(())
    }

    /// For each argument of a segment, the first captured one with the same tangent; empty if all differ. `x` and
    /// `x + c` have one tangent if `c` has none, and then one cotangent in the original loop; if the segment had two,
    /// their sum would be grouped differently.
    fn shared_tangents(&self, f: FnId, args: &[Var]) -> Vec<usize> {
        let Some(captured) = self.ad.jvp.captures.get(&f) else { return Vec::new() };
        let mut first_with: HashMap<Var, usize> = HashMap::new();
        let mut shared: Vec<usize> = (0..args.len()).collect();
        for k in captured.clone() {
            if let Some(t) = self.has(args[k]) {
                shared[k] = *first_with.entry(t).or_insert(k);
            }
        }
        if shared.iter().enumerate().all(|(k, first)| k == *first) { Vec::new() } else { shared }
    }

    fn ruled(&mut self, s: &Stmt, f: FnId, args: &[Var], rule: &Rule) -> Result<(), Unsupported> {
        match rule.kind {
            RuleKind::Jvp => self.forward_rule(s, args, rule.func),
            RuleKind::Vjp => self.backward_rule(s, f, args, rule.func),
            RuleKind::Inverse => self.by_inverse(s, f, args, rule.func),
        }
    }

    /// Those variables whose type has a tangent.
    fn tangible(&mut self, vs: &[Var]) -> Vec<Var> {
        let mut out = Vec::new();
        for v in vs {
            let ty = self.b.ty(*v);
            if self.ad.tangent_ty(self.p, &ty).is_some() {
                out.push(*v);
            }
        }
        out
    }

    /// Materialised zeros of the tangent types of some variables: the point at which the (linear) rule is
    /// differentiated.
    fn zeros_like(&mut self, vs: &[Var]) -> Vec<Var> {
        vs.iter()
            .map(|v| {
                let ty = self.tangent_ty(*v);
                match &ty {
                    Ty::F32 => self.b.lit(Lit::F32(0.0)),
                    Ty::F64 => self.b.lit(Lit::F64(0.0)),
                    Ty::Array(e, _) if e.is_real() => {
                        let (zero, shape) = (self.b.real(0.0, *v), self.b.shape(*v));
                        self.b.one(Op::Broadcast { a: zero, shape }, ty.clone())
                    }
                    _ => self.b.one(Op::Zero(ty.clone()), ty.clone()),
                }
            })
            .collect()
    }

    /// A custom forward rule `g (x…, t…) -> (y…, u…)`, linear in `t`: its derivative with respect to `t` at 0 is
    /// the tangent.
    fn forward_rule(&mut self, stmt: &Stmt, args: &[Var], g: FnId) -> Result<(), Unsupported> {
        let given = self.tangible(args);
        let zeros = self.zeros_like(&given);
        let lin_args: Vec<Var> = given.iter().map(|v| self.tangent(*v)).collect();
        let wrt: Vec<bool> = args.iter().map(|_| false).chain(given.iter().map(|_| true)).collect();
        let jvp = self.ad.jvp(self.p, g, &wrt)?;
        let callee = self.p.func(jvp.func).clone();
        let count = stmt.outs.len();
        let mut outs = stmt.outs.clone();
        for r in &callee.body.results[count..] {
            let ty = callee.ty(*r).clone();
            outs.push(self.b.func.fresh(ty, false));
        }
        let results = self.tangible(&stmt.outs);
        let mut lin_outs = Vec::new();
        for (k, active) in jvp.active.iter().enumerate() {
            if *active {
                // The values that a rule returns must not depend on tangents, so only results from the `count`-th on
                // have one.
                lin_outs.push(match k.checked_sub(count).and_then(|k| results.get(k)) {
                    Some(y) => self.fresh_tangent(*y),
                    None => self.b.func.fresh(callee.ty(callee.body.results[k]).clone(), true),
                });
            }
        }
        let all = [args, &zeros[..]].concat();
        self.b.push(Stmt {
            outs,
            lin_outs,
            op: Op::Call { f: jvp.func, args: all, lin_args, rule: None, checkpoint: false },
            span: stmt.span,
        });
        Ok(())
    }

    /// A custom reverse rule `g (x…, c…) -> (y…, unzipped…)`, linear from cotangents `c` to cotangents `unzipped`: its transpose
    /// computes the tangent.
    fn backward_rule(&mut self, stmt: &Stmt, function: FnId, args: &[Var], g: FnId) -> Result<(), Unsupported> {
        self.b.push(Stmt {
            op: Op::Call { f: function, args: args.to_vec(), lin_args: Vec::new(), rule: None, checkpoint: false },
            ..stmt.clone()
        });
        let results = self.tangible(&stmt.outs);
        let zeros = self.zeros_like(&results);
        let wrt: Vec<bool> = args.iter().map(|_| false).chain(results.iter().map(|_| true)).collect();
        let jvp = self.ad.jvp(self.p, g, &wrt)?;
        let unzipped = self.ad.unzip(self.p, jvp.func, &crate::unzip::UnzipPlan::store_all())?;
        let back = self.ad.transpose(self.p, unzipped.linear)?;
        let primal = self.p.func(unzipped.primal).clone();
        let tys = primal.tys(&primal.body.results);
        let (made, _) = self.b.emit(
            Op::Call {
                f: unzipped.primal,
                args: [args, &zeros[..]].concat(),
                lin_args: Vec::new(),
                rule: None,
                checkpoint: false,
            },
            &tys,
            &[],
        );
        let given = self.tangible(args);
        // Only the active `unzipped`s have cotangents.
        let n = stmt.outs.len();
        let mut lin_args = Vec::new();
        for (k, active) in jvp.active.iter().enumerate() {
            if !*active {
                continue;
            }
            lin_args.push(match k.checked_sub(n).and_then(|k| given.get(k)) {
                Some(x) => self.tangent(*x),
                None => {
                    let ty = tys[k].clone();
                    self.b.lin(Op::Zero(ty.clone()), ty)
                }
            });
        }
        let lin_outs = results.iter().map(|y| self.fresh_tangent(*y)).collect();
        let op = Op::Call { f: back, args: made[unzipped.results..].to_vec(), lin_args, rule: None, checkpoint: false };
        self.b.push(Stmt { outs: Vec::new(), lin_outs, op, span: stmt.span });
        Ok(())
    }
}
