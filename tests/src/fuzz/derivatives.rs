//! Derivative operators of the reference, all by forward mode with one direction at a time.

use super::evaluate::{NoAnswer, Outcome, Reference};
use super::number::{Num, binary};
use super::value::FuzzVal;

impl Reference {
    /// The value and tangent of a function at a point, in a direction.
    fn forward<'a>(
        &mut self,
        value: &FuzzVal<'a>,
        x: &FuzzVal<'a>,
        direction: &[Num],
    ) -> Result<(FuzzVal<'a>, FuzzVal<'a>), NoAnswer> {
        let tag = self.tag();
        let numbers = x.numbers();
        if numbers.len() != direction.len() {
            return Err(NoAnswer::Invalid);
        }
        let seeded: Vec<Num> =
            numbers.iter().zip(direction).map(|(n, d)| Num::dual(tag, n.clone(), d.clone())).collect();
        let y = self.apply(value, x.with(&seeded))?;
        Ok((y.map(&mut |n| n.parts(tag).0), y.map(&mut |n| n.parts(tag).1)))
    }

    /// Tangents in all directions.
    fn columns<'a>(
        &mut self,
        func: &FuzzVal<'a>,
        point: &FuzzVal<'a>,
    ) -> Result<(FuzzVal<'a>, Vec<Vec<Num>>), NoAnswer> {
        let n = point.numbers().len();
        if n > 16 {
            return Err(NoAnswer::Fuel);
        }
        let unit = |k: usize| -> Vec<Num> { (0..n).map(|i| Num::Flat(f64::from(i == k))).collect() };
        let mut value = None;
        let mut columns = Vec::new();
        for k in 0..n {
            let (y, t) = self.forward(func, point, &unit(k))?;
            value = Some(y);
            columns.push(t.numbers());
        }
        let value = if let Some(v) = value { v } else { self.apply(func, point.clone())? };
        Ok((value, columns))
    }

    /// The value, and the cotangent of the point for a cotangent of the result.
    fn backward<'a>(
        &mut self,
        f: &FuzzVal<'a>,
        point: &FuzzVal<'a>,
        cotangent: &[Num],
    ) -> Result<(FuzzVal<'a>, FuzzVal<'a>), NoAnswer> {
        let (value, columns) = self.columns(f, point)?;
        let mut numbers = Vec::new();
        for column in columns {
            if column.len() != cotangent.len() {
                return Err(NoAnswer::Invalid);
            }
            let mut s = Num::Flat(0.0);
            for (t, c) in column.iter().zip(cotangent) {
                s = binary("+", &s, &binary("*", t, c));
            }
            self.number(s.clone())?;
            numbers.push(s);
        }
        Ok((value, point.with(&numbers)))
    }

    fn jacobian<'a>(&mut self, f: &FuzzVal<'a>, x: &FuzzVal<'a>) -> Outcome<'a> {
        let (value, columns) = self.columns(f, x)?;
        // The axes of the input are inside those of the output; a number has none.
        let partials: Vec<FuzzVal> = (0..value.numbers().len())
            .map(|i| x.with(&columns.iter().map(|c| c[i].clone()).collect::<Vec<_>>()))
            .collect();
        let single = matches!(value, FuzzVal::Num(_));
        if single { partials.into_iter().next().ok_or(NoAnswer::Invalid) } else { Ok(FuzzVal::array(partials)) }
    }

    fn hessian<'a>(&mut self, f: &FuzzVal<'a>, x: &FuzzVal<'a>) -> Outcome<'a> {
        let n = x.numbers().len();
        let rows = (0..n).map(|k| {
            let unit: Vec<Num> = (0..n).map(|i| Num::Flat(f64::from(i == k))).collect();
            self.along(f, x, &unit)
        });
        Ok(FuzzVal::array(rows.collect::<Result<_, _>>()?))
    }

    /// The tangent of the gradient: the Hessian times a direction.
    fn along<'a>(&mut self, f: &FuzzVal<'a>, x: &FuzzVal<'a>, direction: &[Num]) -> Outcome<'a> {
        let tag = self.tag();
        let numbers = x.numbers();
        if numbers.len() != direction.len() {
            return Err(NoAnswer::Invalid);
        }
        let seeded: Vec<Num> =
            numbers.iter().zip(direction).map(|(n, d)| Num::dual(tag, n.clone(), d.clone())).collect();
        let (_, g) = self.backward(f, &x.with(&seeded), &[Num::Flat(1.0)])?;
        Ok(g.map(&mut |n| n.parts(tag).1))
    }

    /// The result of a derivative operator, if `word` is one.
    pub fn derivative<'a>(&mut self, word: &str, args: &[FuzzVal<'a>]) -> Option<Outcome<'a>> {
        let one = [Num::Flat(1.0)];
        Some(match (word, args) {
            ("grad" | "grad_with" | "engine.grad", [f, x]) => self.backward(f, x, &one).map(|r| r.1),
            ("value_and_grad", [f, x]) => self.backward(f, x, &one).map(|(v, g)| FuzzVal::pair(v, g)),
            ("jvp", [f, x, d]) => self.forward(f, x, &d.numbers()).map(|(v, t)| FuzzVal::pair(v, t)),
            ("push", [f, x, d]) => self.forward(f, x, &d.numbers()).map(|r| r.1),
            ("pull" | "pull_linear", [f, x, c]) => self.backward(f, x, &c.numbers()).map(|r| r.1),
            ("jacobian" | "jacfwd" | "jacrev", [f, x]) => self.jacobian(f, x),
            ("hessian", [f, x]) => self.hessian(f, x),
            ("hvp", [f, x, d]) => self.along(f, x, &d.numbers()),
            _ => return None,
        })
    }
}
