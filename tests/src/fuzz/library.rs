//! The library in the reference: operators and array functions by their definitions.

use super::evaluate::{NoAnswer, Outcome, Reference, counted};
use super::number::{BINARY, Num, UNARY, binary, unary};
use super::value::{FuzzFun, FuzzVal};
use std::cmp::Ordering;
use std::rc::Rc;

fn items<'a, 'b>(v: &'b FuzzVal<'a>) -> Result<&'b Rc<Vec<FuzzVal<'a>>>, NoAnswer> {
    if let FuzzVal::Array(vs) = v { Ok(vs) } else { Err(NoAnswer::Invalid) }
}

fn num<'b>(v: &'b FuzzVal) -> Result<&'b Num, NoAnswer> {
    if let FuzzVal::Num(n) = v { Ok(n) } else { Err(NoAnswer::Invalid) }
}

fn int(v: &FuzzVal) -> Result<i64, NoAnswer> {
    if let FuzzVal::Int(i) = v { Ok(*i) } else { Err(NoAnswer::Invalid) }
}

/// The number of axes of a value.
fn rank(v: &FuzzVal) -> usize {
    if let FuzzVal::Array(vs) = v { 1 + vs.first().map_or(0, rank) } else { 0 }
}

/// Whether the comparison of two numbers may depend on rounding.
fn near(x: f64, y: f64) -> bool {
    x != y && (x - y).abs() < 1e-7 * (1.0 + x.abs() + y.abs())
}

impl Reference {
    /// An operator between two values.
    pub fn infix<'a>(&mut self, operator: &str, left: &FuzzVal<'a>, right: &FuzzVal<'a>) -> Outcome<'a> {
        match (operator, left, right) {
            ("++", FuzzVal::Array(x), FuzzVal::Array(y)) => {
                Ok(FuzzVal::array(x.iter().chain(y.iter()).cloned().collect()))
            }
            ("@", ..) => self.product(left, right),
            ("<" | "<=" | ">" | ">=" | "==" | "!=", ..) => self.compare(operator, left, right),
            (_, FuzzVal::Num(x), FuzzVal::Num(y)) => self.binary(operator, x, y),
            (_, FuzzVal::Int(x), FuzzVal::Int(y)) => match operator {
                "+" => x.checked_add(*y),
                "-" => x.checked_sub(*y),
                "*" => x.checked_mul(*y),
                "%" => {
                    if *y == 0 {
                        None
                    } else {
                        Some(x.rem_euclid(*y))
                    }
                }
                _ => None,
            }
            .filter(|i| i.abs() < 1 << 40)
            .map(FuzzVal::Int)
            .ok_or(NoAnswer::Invalid),
            // The operand of lower rank is combined with every row of the other.
            (_, FuzzVal::Array(x), FuzzVal::Array(_)) if rank(left) > rank(right) => {
                Ok(FuzzVal::array(x.iter().map(|x| self.infix(operator, x, right)).collect::<Result<_, _>>()?))
            }
            (_, FuzzVal::Array(_), FuzzVal::Array(y)) if rank(left) < rank(right) => {
                Ok(FuzzVal::array(y.iter().map(|y| self.infix(operator, left, y)).collect::<Result<_, _>>()?))
            }
            (_, FuzzVal::Array(x), FuzzVal::Array(y)) if x.len() == y.len() => {
                self.pairwise(operator, x, y).map(FuzzVal::array)
            }
            (_, FuzzVal::Tuple(x), FuzzVal::Tuple(y)) => Ok(FuzzVal::Tuple(Rc::new(self.pairwise(operator, x, y)?))),
            (_, FuzzVal::Num(_), FuzzVal::Array(y)) => {
                Ok(FuzzVal::array(y.iter().map(|y| self.infix(operator, left, y)).collect::<Result<_, _>>()?))
            }
            (_, FuzzVal::Array(x), FuzzVal::Num(_)) => {
                Ok(FuzzVal::array(x.iter().map(|x| self.infix(operator, x, right)).collect::<Result<_, _>>()?))
            }
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn pairwise<'a>(&mut self, f: &str, x: &[FuzzVal<'a>], y: &[FuzzVal<'a>]) -> Result<Vec<FuzzVal<'a>>, NoAnswer> {
        x.iter().zip(y).map(|(x, y)| self.infix(f, x, y)).collect()
    }

    fn binary<'a>(&mut self, f: &str, x: &Num, y: &Num) -> Outcome<'a> {
        if ["min", "max"].contains(&f) && near(x.value(), y.value()) {
            return Err(NoAnswer::Fragile);
        }
        // `atan2` has no derivative at the origin, and 0 times its slope depends on the direction of differentiation.
        if f == "atan2" && x.value() == 0.0 && y.value() == 0.0 {
            return Err(NoAnswer::Fragile);
        }
        self.number(binary(f, x, y))
    }

    fn compare<'a>(&mut self, f: &str, a: &FuzzVal, b: &FuzzVal) -> Outcome<'a> {
        let order = match (a, b) {
            (FuzzVal::Num(x), FuzzVal::Num(y)) if near(x.value(), y.value()) => return Err(NoAnswer::Fragile),
            (FuzzVal::Num(x), FuzzVal::Num(y)) => x.value().partial_cmp(&y.value()),
            (FuzzVal::Int(x), FuzzVal::Int(y)) => Some(x.cmp(y)),
            _ => None,
        }
        .ok_or(NoAnswer::Invalid)?;
        Ok(FuzzVal::Bool(match f {
            "<" => order == Ordering::Less,
            "<=" => order != Ordering::Greater,
            ">" => order == Ordering::Greater,
            ">=" => order != Ordering::Less,
            "==" => order == Ordering::Equal,
            _ => order != Ordering::Equal,
        }))
    }

    /// A sum of values, in order.
    pub fn total<'a>(&mut self, vs: &[FuzzVal<'a>]) -> Outcome<'a> {
        let Some((first, rest)) = vs.split_first() else { return Ok(FuzzVal::flat(0.0)) };
        rest.iter().try_fold(first.clone(), |s, v| self.infix("+", &s, v))
    }

    /// Matrix products of vectors and matrices.
    fn product<'a>(&mut self, a: &FuzzVal<'a>, b: &FuzzVal<'a>) -> Outcome<'a> {
        let (x, y) = (items(a)?, items(b)?);
        match (x.first(), y.first()) {
            (Some(FuzzVal::Array(_)), _) => {
                Ok(FuzzVal::array(x.iter().map(|row| self.product(row, b)).collect::<Result<_, _>>()?))
            }
            (_, Some(FuzzVal::Array(_))) => {
                let columns = self.transposed(b)?;
                Ok(FuzzVal::array(items(&columns)?.iter().map(|c| self.product(a, c)).collect::<Result<_, _>>()?))
            }
            _ if x.len() == y.len() => {
                let terms = self.pairwise("*", x, y)?;
                self.total(&terms)
            }
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn transposed<'a>(&mut self, m: &FuzzVal<'a>) -> Outcome<'a> {
        let rows = items(m)?;
        let width = rows.first().map_or(Ok(0), |r| items(r).map(|r| r.len()))?;
        let column = |j: usize| rows.iter().map(|r| self.part(r, j)).collect::<Result<Vec<_>, _>>().map(FuzzVal::array);
        Ok(FuzzVal::array((0..width).map(column).collect::<Result<_, _>>()?))
    }

    /// A library function applied to all its arguments.
    pub fn library<'a>(&mut self, name: &str, args: Vec<FuzzVal<'a>>) -> Outcome<'a> {
        let (word, literal) = name.split_once(' ').map_or((name, 0), |(w, n)| (w, n.parse().unwrap_or(0)));
        self.spend(args.len())?;
        if let [x] = &args[..]
            && UNARY.contains(&word)
        {
            return self.elementwise(word, x);
        }
        if let [x, y] = &args[..] {
            let op = word.trim_matches(['(', ')']);
            if BINARY.contains(&op) {
                return self.infix(op, x, y);
            }
        }
        if let Some(done) = self.helper(word, &args) {
            return done;
        }
        if let Some(done) = self.derivative(word, &args) {
            return done;
        }
        match &args[..] {
            [m] if word == "along" => self.along_rows(name.rsplit(' ').next().unwrap_or(""), m),
            [x] if word == "^" => self.infix("^", x, &FuzzVal::flat(literal as f64)),
            [x] => self.of_one(word, literal, x),
            _ => self.of_several(name, word, &args),
        }
    }

    /// A function without annotations (see `print`), by its definition.
    fn helper<'a>(&mut self, word: &str, args: &[FuzzVal<'a>]) -> Option<Outcome<'a>> {
        let [x, y] = args else { return None };
        match word {
            "affine" => Some(self.affine(x, y)),
            "spread" => Some(self.spread(x, y)),
            "weighed" => Some(
                self.elementwise("tanh", y).and_then(|t| self.infix("*", x, &t)).and_then(|v| self.total(items(&v)?)),
            ),
            _ => None,
        }
    }

    fn affine<'a>(&mut self, a: &FuzzVal<'a>, x: &FuzzVal<'a>) -> Outcome<'a> {
        let (product, sine) = (self.infix("*", a, x)?, self.elementwise("sin", x)?);
        self.infix("+", &product, &sine)
    }

    fn spread<'a>(&mut self, x: &FuzzVal<'a>, y: &FuzzVal<'a>) -> Outcome<'a> {
        let d = self.infix("-", x, y)?;
        let (square, half) = (self.infix("*", &d, &d)?, self.infix("*", &FuzzVal::flat(0.5), y)?);
        self.infix("+", &square, &half)
    }

    /// A function of each row.
    fn along_rows<'a>(&mut self, f: &str, m: &FuzzVal<'a>) -> Outcome<'a> {
        Ok(FuzzVal::array(items(m)?.iter().map(|row| self.of_one(f, 0, row)).collect::<Result<_, _>>()?))
    }

    /// The elements of a vector that are below a number.
    fn below<'a>(&mut self, x: &FuzzVal<'a>, c: &FuzzVal<'a>) -> Result<Vec<bool>, NoAnswer> {
        items(x)?.iter().map(|x| Ok(matches!(self.compare("<", x, c)?, FuzzVal::Bool(true)))).collect()
    }

    fn elementwise<'a>(&mut self, f: &str, x: &FuzzVal<'a>) -> Outcome<'a> {
        match x {
            _ if f == "id" => Ok(x.clone()),
            FuzzVal::Num(n) if ["abs", "relu"].contains(&f) && near(n.value(), 0.0) => Err(NoAnswer::Fragile),
            FuzzVal::Num(n) => self.number(unary(f, n)),
            FuzzVal::Int(i) if f == "-" => Ok(FuzzVal::Int(-i)),
            FuzzVal::Array(vs) => {
                Ok(FuzzVal::array(vs.iter().map(|v| self.elementwise(f, v)).collect::<Result<_, _>>()?))
            }
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn of_one<'a>(&mut self, word: &str, count: usize, operand: &FuzzVal<'a>) -> Outcome<'a> {
        match word {
            "not" => {
                return if let FuzzVal::Bool(b) = operand { Ok(FuzzVal::Bool(!b)) } else { Err(NoAnswer::Invalid) };
            }
            "float" => return Ok(FuzzVal::flat(int(operand)? as f64)),
            "fst" => return self.part(operand, 0),
            "snd" => return self.part(operand, 1),
            "stop_grad" => return Ok(operand.map(&mut |n| Num::Flat(n.value()))),
            "checkpoint" => return Ok(FuzzVal::Fun(Rc::new(FuzzFun::Same(operand.clone())))),
            "replicate" => return Ok(FuzzVal::array(vec![operand.clone(); count])),
            _ => {}
        }
        let vs = items(operand)?;
        let slice = |a: usize, b: usize| vs.get(a..b).map(|s| FuzzVal::array(s.to_vec())).ok_or(NoAnswer::Invalid);
        match word {
            "len" => Ok(FuzzVal::Int(vs.len() as i64)),
            "sum" => self.total(vs),
            "mean" => {
                let s = self.total(vs)?;
                self.infix("/", &s, &FuzzVal::flat(vs.len() as f64))
            }
            "prod" => vs.iter().try_fold(FuzzVal::flat(1.0), |s, v| self.infix("*", &s, v)),
            "norm" => {
                let s = self.product(operand, operand)?;
                self.elementwise("sqrt", &s)
            }
            "maximum" | "minimum" => {
                let (first, rest) = vs.split_first().ok_or(NoAnswer::Invalid)?;
                rest.iter().try_fold(first.clone(), |s, v| self.binary(&word[..3], num(&s)?, num(v)?))
            }
            "cumsum" => self.prefixes(vs, "+", 0.0),
            "cumprod" => self.prefixes(vs, "*", 1.0),
            "every" => Ok(FuzzVal::array(vs.iter().step_by(2).cloned().collect())),
            "reverse" => Ok(FuzzVal::array(vs.iter().rev().cloned().collect())),
            "sort" => self.sorted(vs),
            "first" => self.part(operand, 0),
            "last" => vs.last().cloned().ok_or(NoAnswer::Invalid),
            "take" => slice(0, count),
            "drop" => slice(count.min(vs.len()), vs.len()),
            "rotate" => Ok(FuzzVal::array((0..vs.len()).map(|i| vs[(i + count) % vs.len()].clone()).collect())),
            "flatten" => Ok(FuzzVal::array(
                vs.iter()
                    .map(items)
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flat_map(|r| r.iter().cloned())
                    .collect(),
            )),
            "T" => self.transposed(operand),
            "column" => Ok(FuzzVal::array(vs.iter().map(|r| self.part(r, count)).collect::<Result<_, _>>()?)),
            "trace" => {
                let diagonal = vs.iter().enumerate().map(|(i, r)| self.part(r, i)).collect::<Result<Vec<_>, _>>()?;
                self.total(&diagonal)
            }
            "unzip" => {
                let side = |i| vs.iter().map(|v| self.part(v, i)).collect::<Result<Vec<_>, _>>().map(FuzzVal::array);
                Ok(FuzzVal::pair(side(0)?, side(1)?))
            }
            _ => Err(NoAnswer::Invalid),
        }
    }

    fn prefixes<'a>(&mut self, vs: &[FuzzVal<'a>], op: &str, first: f64) -> Outcome<'a> {
        let mut state = FuzzVal::flat(first);
        let mut out = Vec::new();
        for v in vs {
            state = self.infix(op, &state, v)?;
            out.push(state.clone());
        }
        Ok(FuzzVal::array(out))
    }

    fn sorted<'a>(&mut self, vs: &[FuzzVal<'a>]) -> Outcome<'a> {
        let mut keyed = vs.iter().map(|v| Ok((num(v)?.value(), v.clone()))).collect::<Result<Vec<_>, NoAnswer>>()?;
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        if keyed.windows(2).any(|w| near(w[0].0, w[1].0)) {
            return Err(NoAnswer::Fragile);
        }
        Ok(FuzzVal::array(keyed.into_iter().map(|k| k.1).collect()))
    }

    fn of_several<'a>(&mut self, name: &str, word: &str, args: &[FuzzVal<'a>]) -> Outcome<'a> {
        match (word, args) {
            ("update", [x, v]) => {
                let (mut out, at) = ((**items(x)?).clone(), name[7..].parse().map_err(|_| NoAnswer::Invalid)?);
                *out.get_mut(counted(x, at)?).ok_or(NoAnswer::Invalid)? = v.clone();
                Ok(FuzzVal::array(out))
            }
            ("mask", [x, c]) => {
                let kept = self.below(x, c)?;
                Ok(FuzzVal::array(items(x)?.iter().zip(kept).filter(|(_, k)| *k).map(|(x, _)| x.clone()).collect()))
            }
            ("where", [x, c, y]) if name == "where below" => {
                let kept = self.below(x, c)?;
                Ok(FuzzVal::array(
                    items(x)?
                        .iter()
                        .zip(items(y)?.iter())
                        .zip(kept)
                        .map(|((x, y), k)| if k { x } else { y }.clone())
                        .collect(),
                ))
            }
            ("dot", [x, y]) => self.product(x, y),
            ("outer", [x, y]) => {
                Ok(FuzzVal::array(items(x)?.iter().map(|x| self.infix("*", x, y)).collect::<Result<_, _>>()?))
            }
            ("where", [c, x, y]) => {
                if let FuzzVal::Bool(c) = c {
                    Ok(if *c { x } else { y }.clone())
                } else {
                    Err(NoAnswer::Invalid)
                }
            }
            ("map", [f, xs]) => {
                Ok(FuzzVal::array(items(xs)?.iter().map(|x| self.apply(f, x.clone())).collect::<Result<_, _>>()?))
            }
            ("map2", [f, xs, ys]) => {
                let pairs = items(xs)?.iter().zip(items(ys)?.iter());
                Ok(FuzzVal::array(pairs.map(|(x, y)| self.apply2(f, x.clone(), y.clone())).collect::<Result<_, _>>()?))
            }
            ("zip", [xs, ys]) => Ok(FuzzVal::array(
                items(xs)?.iter().zip(items(ys)?.iter()).map(|(x, y)| FuzzVal::pair(x.clone(), y.clone())).collect(),
            )),
            ("fold" | "reduce", [f, s, xs]) => {
                items(xs)?.iter().try_fold(s.clone(), |s, x| self.apply2(f, s, x.clone()))
            }
            ("foldr", [f, s, xs]) => items(xs)?.iter().rev().try_fold(s.clone(), |s, x| self.apply2(f, x.clone(), s)),
            ("scan" | "scan_exclusive", [f, s, xs]) => {
                let (mut state, mut out) = (s.clone(), Vec::new());
                for x in items(xs)?.iter() {
                    let next = self.apply2(f, state.clone(), x.clone())?;
                    out.push(if word == "scan" { next.clone() } else { state });
                    state = next;
                }
                Ok(FuzzVal::array(out))
            }
            ("gather", [xs, at]) => Ok(FuzzVal::array(
                items(at)?.iter().map(|i| self.part(xs, int(i)? as usize)).collect::<Result<_, _>>()?,
            )),
            ("scatter", [xs, at, new]) => {
                let mut out = (**items(xs)?).clone();
                for (i, v) in items(at)?.iter().zip(items(new)?.iter()) {
                    *out.get_mut(int(i)? as usize).ok_or(NoAnswer::Invalid)? = v.clone();
                }
                Ok(FuzzVal::array(out))
            }
            ("histogram", [dest, f, _, at, xs]) => {
                let mut out = (**items(dest)?).clone();
                for (i, v) in items(at)?.iter().zip(items(xs)?.iter()) {
                    let place = out.get_mut(int(i)? as usize).ok_or(NoAnswer::Invalid)?;
                    *place = self.apply2(f, place.clone(), v.clone())?;
                }
                Ok(FuzzVal::array(out))
            }
            _ if name == "sum filter" => {
                let mut kept = vec![FuzzVal::flat(0.0)];
                for x in items(&args[1])?.iter() {
                    if let FuzzVal::Bool(true) = self.apply(&args[0], x.clone())? {
                        kept.push(x.clone());
                    }
                }
                self.total(&kept)
            }
            _ => Err(NoAnswer::Invalid),
        }
    }
}
