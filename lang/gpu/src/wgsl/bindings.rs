//! The array bindings of a kernel, and its text.

use super::{Emit, StridedView, VarValue, stored, windows};
use crate::array::{Array, Operand, cut};
use crate::error::{Res, unsupported};
pub(crate) use crate::limits::wgsl_bindings::MOST;
use crate::math;
use crate::queue::{BoundArray, Kernel};
use adl_ir::Var;
use std::fmt::Write;

/// The variable with the index of the first element that a launch sees, for arrays bound in part.
pub(crate) const ORIGIN: &str = "origin";

/// An array of the kernel.
pub(super) struct BindingSlot {
    array: Array,
    write: bool,
    /// Whether launches bind only the part that belongs to their elements.
    part: bool,
    /// Whether its words are atomic.
    atomic: bool,
}

impl Emit<'_> {
    /// Adds an array to the kernel. Returns its slot; arrays that are only read share one.
    pub fn slot(&mut self, array: &Array, write: bool) -> Res<usize> {
        self.has(array.scalar)?;
        if array.len() > MOST {
            return unsupported("an array of more numbers than a word counts");
        }
        let same = |s: &BindingSlot| {
            s.write == write
                && !s.part
                && std::ptr::eq(s.array.buffer.raw(), array.buffer.raw())
                && s.array.scalar == array.scalar
                && s.array.bytes() == array.bytes()
        };
        if let Some(i) = self.slots.iter().position(same) {
            return Ok(i);
        }
        self.slots.push(BindingSlot { array: array.clone(), write, part: false, atomic: false });
        Ok(self.slots.len() - 1)
    }

    /// [`Emit::slot`] for an array of which launches bind only the part that belongs to their elements.
    pub fn part(&mut self, array: &Array, write: bool) -> Res<usize> {
        self.has(array.scalar)?;
        if array.len() > MOST {
            return unsupported("an array of more numbers than a word counts");
        }
        let same =
            |s: &BindingSlot| s.part && s.write == write && std::ptr::eq(s.array.buffer.raw(), array.buffer.raw());
        if let Some(i) = self.slots.iter().position(same) {
            return Ok(i);
        }
        self.slots.push(BindingSlot { array: array.clone(), write, part: true, atomic: false });
        Ok(self.slots.len() - 1)
    }

    /// An element of an array in memory. An array larger than the maximum binding is bound in part, from `origin` on
    /// (see `fold`), unless launches see all of it.
    pub fn element(&mut self, array: &Array, write: bool, at: &str) -> Res<String> {
        if array.bytes() > self.caps.binding && !self.whole {
            return self.part(array, write).map(|s| format!("a{s}[{at} - {ORIGIN}]"));
        }
        self.slot(array, write).map(|s| format!("a{s}[{at}]"))
    }

    /// Makes the words of an array atomic.
    pub fn atomic(&mut self, array: &Array) -> Res<usize> {
        let slot = self.slot(array, true)?;
        self.slots[slot].atomic = true;
        Ok(slot)
    }

    /// A view of a whole array.
    pub fn view(&mut self, array: &Array) -> Res<StridedView> {
        let slot = self.slot(array, false)?;
        let dims: Vec<String> = array.shape.iter().map(|n| self.word(*n as u32)).collect();
        let steps = self.steps(&dims);
        Ok(StridedView { array: slot, scalar: array.scalar, base: "0u".to_owned(), dims, steps })
    }

    /// The strides of a row-major array.
    pub fn steps(&mut self, dims: &[String]) -> Vec<String> {
        let mut steps = vec!["1u".to_owned()];
        for d in dims.iter().skip(1).rev() {
            let last = steps.last().cloned().unwrap_or_default();
            let next = if last == "1u" { d.clone() } else { self.define("k", &format!("{d} * {last}")) };
            steps.push(next);
        }
        steps.truncate(dims.len());
        steps.reverse();
        steps
    }

    /// Binds a vector from outside of which launches bind the part that belongs to their elements.
    pub fn take_part(&mut self, v: Var) -> Res<()> {
        let Some(Operand::Array(a)) = (self.env)(v) else { return unsupported("a value that is not on the device") };
        let slot = self.part(&a, false)?;
        let n = self.word(a.len() as u32);
        self.bind(
            v,
            VarValue::StridedView(StridedView {
                array: slot,
                scalar: a.scalar,
                base: "0u".to_owned(),
                dims: vec![n],
                steps: vec!["1u".to_owned()],
            }),
        );
        Ok(())
    }

    /// The array of a slot that the kernel writes.
    pub fn written(&self, slot: usize) -> Option<Array> {
        self.slots.get(slot).filter(|s| s.write).map(|s| s.array.clone())
    }

    /// The number of bindings of the kernel's arrays.
    pub fn arrays(&self) -> usize {
        self.slots.iter().map(|s| if s.part { 1 } else { windows::of(&s.array, self.caps.binding).len().max(1) }).sum()
    }

    /// Finishes the kernel: `threads` is the work-group size, `declared` declares work-group memory. The body is in
    /// `main`, after `group` (the work-group's index) and `l` (the thread's).
    pub fn finish(self, threads: u32, declared: &str) -> FinishedKernel {
        let mut head = String::from(
            "@group(0) @binding(0) var<storage, read> params: array<u32>;\n@group(0) @binding(1) var<storage, read_write> faults: array<atomic<u32>>;\nvar<private> failed: bool;\n",
        );
        let (mut bound, mut writes, mut body) = (Vec::new(), Vec::new(), self.body.finish());
        for (index, slot) in self.slots.into_iter().enumerate() {
            let (mode, ty) = (
                if slot.write { "read_write" } else { "read" },
                if slot.atomic { "atomic<u32>" } else { stored(slot.array.scalar) },
            );
            let windows = if slot.part { Vec::new() } else { windows::of(&slot.array, self.caps.binding) };
            for k in 0..windows.len().max(1) {
                let name = if windows.is_empty() { format!("a{index}") } else { windows::name(index, k) };
                // Writing to a string does not fail.
                let _ = writeln!(
                    head,
                    "@group(0) @binding({}) var<storage, {mode}> {name}: array<{ty}>;",
                    writes.len() + 2
                );
                writes.push(slot.write);
            }
            if windows.is_empty() {
                bound.push(BindingPart { array: slot.array, part: slot.part, window: None });
            } else {
                body = windows::seen(&body, index, (ty, windows[0].1 - windows[0].0), windows.len(), &mut head);
                bound.extend(windows.into_iter().map(|w| BindingPart {
                    array: slot.array.clone(),
                    part: false,
                    window: Some(w),
                }));
            }
        }
        let main = format!(
            "{declared}\n@compute @workgroup_size({threads}) fn main(@builtin(workgroup_id) at: vec3<u32>, @builtin(num_workgroups) all: vec3<u32>, @builtin(local_invocation_index) l: u32) {{\n  let group = at.x + at.y * all.x;\n{body}}}\n"
        );
        let library = math::used_by(&main);
        let kernel = Kernel { text: format!("{head}{library}\n{main}"), writes, faults: self.faults };
        FinishedKernel { kernel, bound, words: self.words }
    }
}

/// The part of an array that a binding shows: all, the part of a launch's elements, or a window.
struct BindingPart {
    array: Array,
    part: bool,
    window: Option<(usize, usize)>,
}

/// A finished kernel with its arrays and parameters.
pub(crate) struct FinishedKernel {
    pub kernel: Kernel,
    bound: Vec<BindingPart>,
    pub words: Vec<u32>,
}

impl FinishedKernel {
    /// Whether launches bind parts of arrays.
    pub fn has_parts(&self) -> bool {
        self.bound.iter().any(|s| s.part)
    }

    /// Bindings of all arrays as a whole.
    pub fn bound(&self) -> Vec<BoundArray> {
        self.bound_with(Array::whole)
    }

    /// Bindings of all arrays, some of them in part.
    pub fn bound_with(&self, part: impl Fn(&Array) -> BoundArray) -> Vec<BoundArray> {
        let one = |s: &BindingPart| match s.window {
            Some((from, to)) => cut(&s.array, from, to),
            None if s.part => part(&s.array),
            None => s.array.whole(),
        };
        self.bound.iter().map(one).collect()
    }
}
