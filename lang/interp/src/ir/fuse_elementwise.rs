//! Fuses chains of consecutive elementwise statements on Float arrays of one shape: large arrays are processed
//! in one pass, block by block.
//!
//! ```text
//! y = exp x;  z = mul x y;  s = sum z
//! ⟼  if x is large { [z, s] in one pass } else { y = exp x;  z = mul x y;  s = sum z }
//! ```
//!
//! [`ordered`] moves such statements next to each other before lowering, and [`chain`] finds them. An
//! instruction before the chain tries [`FusedChain`] and jumps past the chain if it succeeded. Otherwise, for small
//! arrays, other element types, symbolic zeros or shapes that do not fit, the statements run one by one.

use crate::error::Res;
pub(crate) use crate::limits::ir_fuse_elementwise::LARGE;
use crate::limits::ir_fuse_elementwise::LONGEST;
pub use crate::ops::chain::FusedChain;
use crate::ops::chain::{Chain, ChainOp, ChainOperand, Total};
use crate::ops::fused_chain::ChainInputs;
use crate::ops::interrupt::InterruptFlag;
use crate::value::{Array, Buf, Value, array};
use adl_ir::{Block, Function, Loop, Op, Stmt, Ty, Var};
use adl_prim::{ArrayFn, GeneralFn, Prim};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A chain that was found in a block.
pub(super) struct FoundChain {
    pub strips: FusedChain,
    /// The index of the first statement after it.
    pub end: u32,
    /// Operands: arrays, scalars, lengths.
    pub operands: Vec<Var>,
    /// Results: arrays, then scalars.
    pub results: Vec<Var>,
}

/// Whether a variable is an array of Floats.
pub(crate) fn is_array(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, _) if **e == Ty::F64)
}

fn is_number(f: &Function, v: Var) -> bool {
    *f.ty(v) == Ty::F64
}

/// Whether a loop becomes chains when its trip count is large: its body is straight-line code on Floats.
pub(crate) fn suits(f: &Function, l: &Loop) -> bool {
    let float = |s: &Stmt| s.outs.iter().all(|v| is_number(f, *v));
    let elements = l.body.params.iter().skip(1).all(|v| is_number(f, *v));
    elements
        && adl_opt::straight(f, l)
        && l.body
            .stmts
            .iter()
            .all(|s| matches!(s.op, Op::Lit(_)) || matches!(s.op, Op::Un(..) | Op::Bin(..)) && float(s))
}

/// Whether a statement may be part of a chain.
pub(crate) fn on_arrays(f: &Function, s: &Stmt) -> bool {
    axes(f, s).is_some()
}

/// The rank of the arrays of a statement, if it may be part of a chain.
fn axes(func: &Function, s: &Stmt) -> Option<u32> {
    let rank = |v: Var| func.ty(v).rank();
    if s.outs.len() + s.lin_outs.len() != 1 {
        return None;
    }
    let found = match &s.op {
        Op::Un(_, a) if is_array(func, *a) => rank(*a),
        Op::Bin(_, a, b)
            if is_array(func, *a) && (is_number(func, *b) || is_array(func, *b) && rank(*a) == rank(*b)) =>
        {
            rank(*a)
        }
        Op::Bin(_, a, b) if is_number(func, *a) && is_array(func, *b) => rank(*b),
        Op::Replicate { a, .. } if is_number(func, *a) => 1,
        Op::Sum { a, .. } if is_array(func, *a) && rank(*a) == 1 => 1,
        Op::SumAll { a, .. } if is_array(func, *a) => rank(*a),
        Op::Dot(a, b) if is_array(func, *a) && is_array(func, *b) && rank(*a) == rank(*b) => rank(*a),
        _ => return None,
    };
    Some(found)
}

/// Moves statements that may form a chain next to each other: independent statements between them are moved to
/// the front.
pub(crate) fn ordered(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    order(f, &mut body);
    f.body = body;
}

fn order(func: &Function, block: &mut Block) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut chain: Vec<Stmt> = Vec::new();
        let mut inside: HashSet<Var> = HashSet::new();
        let mut rank = 0;
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.op.blocks_mut().into_iter().for_each(|b| order(func, b));
            let (mut free, mut totals) = (true, false);
            stmt.op.each_operand(&mut |v| {
                free &= !inside.contains(&v);
                totals |= inside.contains(&v) && is_number(func, v);
            });
            match axes(func, &stmt) {
                Some(r) if chain.is_empty() || r == rank && !totals => rank = r,
                _ if free && may_go_before(func, &stmt) => {
                    out.push(stmt);
                    continue;
                }
                other => {
                    out.append(&mut chain);
                    inside.clear();
                    match other {
                        Some(r) => rank = r,
                        None => {
                            out.push(stmt);
                            continue;
                        }
                    }
                }
            }
            inside.extend(stmt.outs.iter().chain(&stmt.lin_outs));
            chain.push(stmt);
        }
        out.append(&mut chain);
        block.stmts = out;
    });
}

/// Whether a statement may be moved to an earlier position: it is cheap, has no effect, and does not update an
/// array in place.
fn may_go_before(f: &Function, s: &Stmt) -> bool {
    let scalar = s.outs.iter().chain(&s.lin_outs).all(|v| f.ty(*v).rank() == 0);
    match &s.op {
        Op::Lit(_)
        | Op::Zero(_)
        | Op::Dim(..)
        | Op::Shape(_)
        | Op::Size(_)
        | Op::Prim(Prim::General(GeneralFn::Assert) | Prim::Array(ArrayFn::Take), _) => true,
        Op::ArrayLit { elems, .. } => elems.iter().all(|v| f.ty(*v).rank() == 0),
        Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..) | Op::Index { .. } => {
            scalar
        }
        _ => false,
    }
}

/// The chain that begins at a statement. `lives` says whether a variable is read after a statement.
pub(super) fn chain(func: &Function, block: &Block, at: u32, lives: &dyn Fn(Var, u32) -> bool) -> Option<FoundChain> {
    let first = at as usize;
    let rank = axes(func, block.stmts.get(first)?)?;
    let mut totals: Vec<Var> = Vec::new();
    let joins = |s: &&Stmt| {
        let mut fits = axes(func, s) == Some(rank);
        s.op.each_operand(&mut |v| fits &= !totals.contains(&v));
        totals.extend(s.outs.iter().chain(&s.lin_outs).filter(|v| is_number(func, **v)));
        fits
    };
    let n = block.stmts[first..].iter().take(LONGEST).take_while(joins).count();
    if n < 2 {
        return None;
    }
    let end = at + n as u32;
    let mut builder = ChainBuilder {
        f: func,
        arrays: Vec::new(),
        numbers: Vec::new(),
        lengths: Vec::new(),
        places: HashMap::new(),
        free: Vec::new(),
        read_last: Vec::new(),
        chain: Chain::default(),
        stored: Vec::new(),
        totals: Vec::new(),
    };
    for (k, stmt) in block.stmts[first..end as usize].iter().enumerate() {
        builder.member(stmt, &|v| lives(v, end - 1), &|v| lives(v, at + k as u32))?;
    }
    if builder.arrays.is_empty() {
        return None;
    }
    let strips = FusedChain { chain: builder.chain, arrays: builder.arrays.len(), numbers: builder.numbers.len() };
    let operands = [builder.arrays, builder.numbers, builder.lengths].concat();
    Some(FoundChain { strips, end, operands, results: [builder.stored, builder.totals].concat() })
}

struct ChainBuilder<'a> {
    f: &'a Function,
    arrays: Vec<Var>,
    numbers: Vec<Var>,
    /// Lengths of arrays filled with one number.
    lengths: Vec<Var>,
    /// The source of each result of a member statement.
    places: HashMap<Var, ChainOperand>,
    free: Vec<usize>,
    /// Slots that are read by totals, which are evaluated after all members.
    read_last: Vec<usize>,
    chain: Chain,
    stored: Vec<Var>,
    totals: Vec<Var>,
}

impl ChainBuilder<'_> {
    fn from(&mut self, var: Var) -> ChainOperand {
        if let Some(from) = self.places.get(&var) {
            return *from;
        }
        let at = |list: &mut Vec<Var>| match list.iter().position(|x| *x == var) {
            Some(k) => k,
            None => {
                list.push(var);
                list.len() - 1
            }
        };
        if is_number(self.f, var) {
            ChainOperand::Number(at(&mut self.numbers))
        } else {
            ChainOperand::Input(at(&mut self.arrays))
        }
    }

    fn total(&mut self, op: &Op) -> Option<Total> {
        match op {
            Op::Sum { a, .. } | Op::SumAll { a, .. } => Some(Total::Sum(self.last(*a))),
            Op::Dot(a, b) => Some(Total::Dot(self.last(*a), self.last(*b))),
            _ => None,
        }
    }

    /// An operand that is read after all members.
    fn last(&mut self, v: Var) -> ChainOperand {
        let from = self.from(v);
        if let ChainOperand::Slot(slot) = from {
            self.read_last.push(slot);
        }
        from
    }

    /// Adds a statement. `after` says whether a variable is read after the chain, `next` whether it is read
    /// after this statement.
    fn member(&mut self, stmt: &Stmt, after: &dyn Fn(Var) -> bool, next: &dyn Fn(Var) -> bool) -> Option<()> {
        let out = stmt.outs.iter().chain(&stmt.lin_outs).next().copied()?;
        if let Some(t) = self.total(&stmt.op) {
            if after(out) {
                self.chain.totals.push(t);
                self.totals.push(out);
            }
            self.release(stmt, next);
            return Some(());
        }
        let member = match &stmt.op {
            Op::Un(op, a) => ChainOp::Un(*op, self.from(*a)),
            Op::Bin(op, a, b) => ChainOp::Bin(*op, self.from(*a), self.from(*b)),
            Op::Replicate { n, a } => {
                self.lengths.push(*n);
                let number = self.from(*a);
                // If only members read it, it remains a scalar.
                if !after(out) {
                    self.places.insert(out, number);
                    return Some(());
                }
                ChainOp::Fill(number)
            }
            _ => return None,
        };
        // The slot must differ from those of the operands; slots of operands that die are free from the next
        // member on.
        let slot = self.free.pop().unwrap_or_else(|| {
            self.chain.slots += 1;
            self.chain.slots - 1
        });
        self.release(stmt, next);
        self.places.insert(out, ChainOperand::Slot(slot));
        self.chain.members.push((member, slot));
        if after(out) {
            self.chain.stored.push(slot);
            self.stored.push(out);
        }
        Some(())
    }

    /// Releases the slots of operands that are not read after a statement.
    fn release(&mut self, s: &Stmt, next: &dyn Fn(Var) -> bool) {
        let mut dead = Vec::new();
        s.op.each_operand(&mut |v| {
            if !next(v) && !dead.contains(&v) {
                dead.push(v);
            }
        });
        for v in dead {
            match self.places.remove(&v) {
                Some(ChainOperand::Slot(slot)) if !self.read_last.contains(&slot) => self.free.push(slot),
                _ => {}
            }
        }
    }
}

/// The number of elements over all axes.
fn elements(a: &Array) -> usize {
    a.shape.iter().product()
}

impl FusedChain {
    /// Runs the chain, if the operands are suitable.
    pub(crate) fn run(&self, interrupt: InterruptFlag, operands: &[&Value]) -> Option<Res<Vec<Value>>> {
        let (arrays, rest) = operands.split_at(self.arrays);
        let (numbers, lengths) = rest.split_at(self.numbers);
        let first: &Rc<Array> = match arrays.first()? {
            Value::Array(a) if elements(a) >= LARGE => a,
            _ => return None,
        };
        let mut inputs: SmallVec<[&[f64]; 8]> = SmallVec::new();
        for a in arrays {
            match a {
                Value::Array(a) if a.shape == first.shape => match a.buf() {
                    Buf::F64(x) => inputs.push(x),
                    _ => return None,
                },
                _ => return None,
            }
        }
        let numbers: SmallVec<[f64; 8]> =
            numbers.iter().map(|v| if let Value::Float(x) = v { Some(*x) } else { None }).collect::<Option<_>>()?;
        let n = elements(first);
        if lengths.iter().any(|v| !matches!(v, Value::Int(m) if *m == n as i64)) {
            return None;
        }
        let done = self.chain.run(interrupt, ChainInputs { n, inputs: &inputs, numbers: &numbers });
        Some(done.map(|(outs, totals)| {
            let arrays = outs.into_iter().map(|x| array::make(first.shape.clone(), Buf::F64(x)));
            arrays.chain(totals.into_iter().map(Value::Float)).collect()
        }))
    }
}
