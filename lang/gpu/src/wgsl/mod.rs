//! Translates blocks of the IR to WGSL.
//!
//! A block becomes straight-line code and control flow on scalars. Arrays are accessed through views: a row, a slice or
//! the transpose of an array is an offset with strides, and costs nothing. Arrays that a block creates are deferred or
//! stored in private memory (`deferred_arrays`). Arrays that the kernel's own loops collect are handled by [`crate::nest`].
//!
//! - [`scalar`]: scalar operators and functions, in exhaustive matches that also state what a GPU does not support.
//! - `ops`: statements without blocks; `control`: branches, loops, calls; `deferred_arrays`: arrays.
//! - `bindings`: the kernel's bindings and its complete text; `windows`: arrays larger than one binding; `text`: lines.
//!
//! Invariants: reads are within bounds, since each index is checked, and one that fails the check is replaced by 0
//! (buffers always have room for an element at 0). Loops of unknown length end after [`control::ITERATIONS`] iterations.

mod bindings;
mod control;
pub(crate) mod deferred_arrays;
mod kernel_text;
mod ops;
pub mod scalar;
pub mod windows;

use bindings::BindingSlot;
pub(crate) use bindings::{FinishedKernel, MOST, ORIGIN};

use crate::adapter::Caps;
use crate::array::{Operand, Scalar};
use crate::error::{Check, FailedCheck, Res, unsupported};
use crate::limits::wgsl::{DEPTH, STATEMENTS};
use crate::queue::Gpu;
use adl_ir::{Block, FnId, Function, Lit, Program, Ty, Var};
use adl_syntax::span::Span;
use kernel_text::KernelText;
use std::collections::HashMap;
use std::rc::Rc;

/// The location of an array's elements, as u32 expressions: offset, extents and strides.
#[derive(Clone, Debug)]
pub(crate) struct StridedView {
    pub array: usize,
    pub scalar: Scalar,
    pub base: String,
    pub dims: Vec<String>,
    pub steps: Vec<String>,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub(crate) enum VarValue {
    /// A WGSL expression of a scalar of this type.
    Number(Scalar, String),
    /// An array.
    StridedView(StridedView),
    /// An array whose elements are computed when they are read.
    DeferredArray(Rc<deferred_arrays::DeferredArray>),
    /// A value that kernels cannot access.
    Nothing,
}

/// The variables of a function that is being emitted.
struct EmitFrame<'a> {
    f: &'a Function,
    places: HashMap<Var, VarValue>,
}

/// The values of variables bound outside of the kernel.
pub(crate) type OuterValues<'a> = &'a dyn Fn(Var) -> Option<Operand>;

/// A kernel that is being emitted.
pub(crate) struct Emit<'a> {
    pub gpu: &'a Gpu,
    pub caps: &'a Caps,
    program: &'a Program,
    env: OuterValues<'a>,
    body: KernelText,
    statements: usize,
    frames: Vec<EmitFrame<'a>>,
    calls: Vec<FnId>,
    slots: Vec<BindingSlot>,
    words: Vec<u32>,
    faults: Vec<FailedCheck>,
    known: HashMap<Var, VarValue>,
    zero: Option<String>,
    /// Int values that expressions are known to have.
    values: HashMap<String, i64>,
    /// Indices of the kernel's own loops: the index as a word, and the trip count.
    pub(crate) trip: HashMap<Var, (String, usize)>,
    /// The variable with the thread's index, and the number of threads.
    pub lane: Option<(String, usize)>,
    /// Whether launches see all of each array, however large.
    pub whole: bool,
    span: Span,
}

impl<'a> Emit<'a> {
    pub fn new(gpu: &'a Gpu, program: &'a Program, f: &'a Function, env: OuterValues<'a>) -> Emit<'a> {
        let frames = vec![EmitFrame { f, places: HashMap::new() }];
        Emit {
            gpu,
            caps: &gpu.caps,
            program,
            env,
            body: KernelText::new(),
            statements: 0,
            frames,
            calls: Vec::new(),
            slots: Vec::new(),
            words: Vec::new(),
            faults: Vec::new(),
            known: HashMap::new(),
            zero: None,
            values: HashMap::new(),
            trip: HashMap::new(),
            lane: None,
            whole: false,
            span: Span::default(),
        }
    }

    /// Emits a line of the kernel's body.
    pub fn line(&mut self, text: &str) {
        self.body.line(text);
    }

    /// Emits a line that opens a block.
    pub fn open(&mut self, text: &str) {
        self.body.open(text);
    }

    /// Closes a block.
    pub fn close(&mut self) {
        self.body.close();
    }

    /// Emits a check after a loop with this condition: software devices silently end loops after 65,535 iterations (of
    /// all loops of a kernel together).
    pub fn ended(&mut self, goes_on: &str) {
        if self.caps.software {
            let cut = self.check(Check::Trip);
            self.line(&format!("if ({goes_on}) && !failed {{ fault({cut}); }}"));
        }
    }

    /// A new name.
    pub fn name(&mut self, kind: &str) -> String {
        self.body.name(kind)
    }

    /// Names a value.
    pub fn define(&mut self, kind: &str, value: &str) -> String {
        let n = self.name(kind);
        self.line(&format!("let {n} = {value};"));
        if let Some(k) = self.known(value) {
            self.know(&n, k);
        }
        n
    }

    /// Records the known value of an expression.
    pub fn know(&mut self, text: &str, k: i64) {
        self.values.insert(text.to_owned(), k);
    }

    /// The known Int value of an expression.
    pub fn known(&self, text: &str) -> Option<i64> {
        let inner = text.strip_prefix("l_of(").and_then(|t| t.strip_suffix(')'));
        self.values.get(text).or_else(|| self.values.get(inner?)).copied()
    }

    /// A word that the host passes as a parameter.
    pub fn word(&mut self, w: u32) -> String {
        self.words.push(w);
        let text = format!("params[{}]", self.words.len() + 1);
        self.know(&text, i64::from(w));
        text
    }

    /// A parameter that is 0, which compilers cannot fold.
    pub fn nothing(&mut self) -> String {
        if self.zero.is_none() {
            self.zero = Some(self.word(0));
        }
        self.zero.clone().unwrap_or_default()
    }

    /// A scalar of the host.
    fn given(&mut self, literal: &Lit) -> Res<VarValue> {
        let (scalar, bits) = match literal {
            Lit::F32(x) => (Scalar::F32, u64::from(x.to_bits())),
            Lit::Bool(b) => (Scalar::Bool, u64::from(*b)),
            Lit::F64(x) => (Scalar::F64, x.to_bits()),
            Lit::I64(n) => (Scalar::I64, *n as u64),
            Lit::Str(_) => return unsupported("texts"),
        };
        self.has(scalar)?;
        let low = self.word(bits as u32);
        let text = match scalar {
            Scalar::F32 => format!("bitcast<f32>({low})"),
            Scalar::Word => low,
            Scalar::Bool => format!("({low} != 0u)"),
            Scalar::F64 | Scalar::I64 => {
                let high = self.word((bits >> 32) as u32);
                format!("bitcast<{}>(u64({low}) | (u64({high}) << 32u))", wgsl(scalar))
            }
        };
        if let Lit::I64(n) = literal {
            self.know(&text, *n);
        }
        Ok(VarValue::Number(scalar, text))
    }

    /// Fails if the device does not support an element type.
    pub fn has(&self, s: Scalar) -> Res<()> {
        match s {
            Scalar::F64 if !self.caps.f64 => unsupported(format!("{} has no 64-bit floats (use F32)", self.caps.name)),
            Scalar::I64 if !self.caps.i64 => unsupported(format!("{} has no 64-bit integers", self.caps.name)),
            _ => Ok(()),
        }
    }

    /// The value of a variable. A variable from outside is added to the kernel.
    pub fn place(&mut self, var: Var) -> Res<VarValue> {
        if let Some(p) = self.frames.last().and_then(|f| f.places.get(&var)) {
            return Ok(p.clone());
        }
        if self.frames.len() > 1 {
            return unsupported("a variable that is bound nowhere");
        }
        if let Some(p) = self.known.get(&var) {
            return Ok(p.clone());
        }
        let place = match (self.env)(var) {
            Some(Operand::Number(l)) => self.given(&l)?,
            Some(Operand::Array(a)) if a.shape.is_empty() => {
                let slot = self.slot(&a, false)?;
                VarValue::Number(a.scalar, load(slot, a.scalar, "0u"))
            }
            // Not cached: strides are named where they are needed.
            Some(Operand::Array(a)) => return self.view(&a).map(VarValue::StridedView),
            None => return unsupported("a value that is not on the device"),
        };
        self.known.insert(var, place.clone());
        Ok(place)
    }

    /// Binds a variable from outside, before code that may be skipped.
    pub fn outside(&mut self, v: Var) -> Res<()> {
        let known = self.frames.last().is_some_and(|f| f.places.contains_key(&v));
        if !known && (self.env)(v).is_some() {
            let p = self.place(v)?;
            self.bind(v, p);
        }
        Ok(())
    }

    /// [`Emit::outside`] for all variables that a block reads.
    pub fn prepare(&mut self, b: &Block) -> Res<()> {
        self.prepared(b, DEPTH)
    }

    fn prepared(&mut self, b: &Block, depth: usize) -> Res<()> {
        if depth == 0 {
            return unsupported(format!("more than {DEPTH} blocks inside of each other"));
        }
        let mut all: Vec<Var> = b.results.clone();
        for s in &b.stmts {
            s.op.each_operand(&mut |v| all.push(v));
            s.op.blocks().into_iter().try_for_each(|b| self.prepared(b, depth - 1))?;
        }
        all.into_iter().try_for_each(|v| self.outside(v))
    }

    /// The scalar value of a variable.
    pub fn number(&mut self, v: Var) -> Res<(Scalar, String)> {
        match self.place(v)? {
            VarValue::Number(s, t) => Ok((s, t)),
            VarValue::StridedView(_) | VarValue::DeferredArray(_) => unsupported("an array in the place of a number"),
            VarValue::Nothing => unsupported("a text or data in a kernel"),
        }
    }

    /// The array value of a variable.
    pub fn array(&mut self, v: Var) -> Res<StridedView> {
        match self.place(v)? {
            VarValue::StridedView(w) => Ok(w),
            VarValue::DeferredArray(l) => self.stored(&deferred_arrays::ElementSource::DeferredArray(l)),
            VarValue::Number(..) | VarValue::Nothing => unsupported("no array in the place of one"),
        }
    }

    /// Binds a variable.
    pub fn bind(&mut self, v: Var, p: VarValue) {
        if let Some(f) = self.frames.last_mut() {
            f.places.insert(v, p);
        }
    }

    /// Binds a scalar, with a name of its own.
    pub fn bind_number(&mut self, v: Var, s: Scalar, value: &str) {
        let n = self.define("v", value);
        self.bind(v, VarValue::Number(s, n));
    }

    pub fn ty(&self, v: Var) -> &'a Ty {
        self.frames.last().map_or(&Ty::Bool, |f| f.f.ty(v))
    }

    /// The element type of a scalar variable.
    pub fn scalar(&self, v: Var) -> Res<Scalar> {
        match Scalar::of(self.ty(v)) {
            Some(s) => self.has(s).map(|()| s),
            None => unsupported("a value inside of a kernel that is no number"),
        }
    }

    /// The number of a check.
    pub fn check(&mut self, what: Check) -> String {
        let f = FailedCheck { what, span: self.span };
        let at = self.faults.iter().position(|g| *g == f).unwrap_or_else(|| {
            self.faults.push(f);
            self.faults.len() - 1
        });
        format!("{at}u")
    }

    /// Counts a statement.
    fn step(&mut self, span: Span) -> Res<()> {
        self.span = span;
        self.statements += 1;
        if self.statements > STATEMENTS || self.body.depth() > DEPTH {
            return unsupported(format!(
                "a kernel of more than {STATEMENTS} statements, or more than {DEPTH} blocks inside of each other"
            ));
        }
        Ok(())
    }
}

/// The WGSL type of a scalar.
pub(crate) fn wgsl(s: Scalar) -> &'static str {
    match s {
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
        Scalar::I64 => "i64",
        Scalar::Bool => "bool",
        Scalar::Word => "u32",
    }
}

/// Its WGSL type in memory.
pub(crate) fn stored(s: Scalar) -> &'static str {
    match s {
        Scalar::Bool => "u32",
        Scalar::F32 | Scalar::F64 | Scalar::I64 | Scalar::Word => wgsl(s),
    }
}

/// Loads an element of an array.
pub(crate) fn load(slot: usize, s: Scalar, at: &str) -> String {
    match s {
        Scalar::Bool => format!("(a{slot}[{at}] != 0u)"),
        Scalar::F32 | Scalar::F64 | Scalar::I64 | Scalar::Word => format!("a{slot}[{at}]"),
    }
}

/// Converts a scalar to its representation in memory.
pub(crate) fn packed(s: Scalar, value: &str) -> String {
    match s {
        Scalar::Bool => format!("select(0u, 1u, {value})"),
        Scalar::F32 | Scalar::F64 | Scalar::I64 | Scalar::Word => value.to_owned(),
    }
}
