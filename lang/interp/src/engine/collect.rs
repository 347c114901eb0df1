//! The representations of collected cotangents for `Cayley`, `Sparse` and `Mutable`.

use super::cayley::{CayleyBackpropagator, Collect};
use super::run_state::{EngineResult, EngineRun, Field, V, levels};
use super::tree::Tree;
use crate::value::Value;
use std::collections::BTreeMap;

/// Staged calls, in a balanced map by identifier.
struct Waiting<F: Field, S>(BTreeMap<u32, (CayleyBackpropagator<F, S>, V<F>)>);

impl<F: Field, S> Waiting<F, S> {
    const ENTRY: usize = size_of::<(u32, (CayleyBackpropagator<F, S>, V<F>))>();

    fn stage(
        &mut self,
        run: &mut EngineRun<'_, F>,
        id: u32,
        back: CayleyBackpropagator<F, S>,
        z: V<F>,
    ) -> EngineResult<()> {
        run.work(levels(self.0.len()))?;
        match self.0.get_mut(&id) {
            Some((_, old)) => *old = run.plus(old, &z)?,
            None => {
                run.counts.hold(Self::ENTRY);
                self.0.insert(id, (back, z));
            }
        }
        Ok(())
    }

    fn next(&mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Option<(CayleyBackpropagator<F, S>, V<F>)>> {
        let Some((_, call)) = self.0.pop_last() else { return Ok(None) };
        run.work(levels(self.0.len()))?;
        run.counts.release(Self::ENTRY);
        Ok(Some(call))
    }
}

/// Section 5: data with the structure of the input; an update copies the path to its position.
pub(super) struct Structured<F: Field> {
    collected: Tree<V<F>>,
    calls: Waiting<F, Structured<F>>,
}

impl<F: Field> Collect<F> for Structured<F> {
    fn new(run: &mut EngineRun<'_, F>, x: &Value, inputs: usize, _made: usize) -> EngineResult<Self> {
        let collected = Tree::of(x, F::constant(0.0));
        run.work(inputs)?;
        run.counts.hold(collected.bytes());
        Ok(Structured { collected, calls: Waiting(BTreeMap::new()) })
    }
    fn stage(
        mut self,
        run: &mut EngineRun<'_, F>,
        id: u32,
        back: CayleyBackpropagator<F, Self>,
        z: V<F>,
    ) -> EngineResult<Self> {
        self.calls.stage(run, id, back, z)?;
        Ok(self)
    }
    fn add(self, run: &mut EngineRun<'_, F>, input: usize, z: V<F>) -> EngineResult<Self> {
        let (collected, work) = self.collected.with(input, |old| run.plus(old, &z))?;
        run.work(work)?;
        Ok(Structured { collected, calls: self.calls })
    }
    fn next(&mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Option<(CayleyBackpropagator<F, Self>, V<F>)>> {
        self.calls.next(run)
    }
    fn collected(self, _run: &mut EngineRun<'_, F>) -> EngineResult<Vec<V<F>>> {
        Ok(self.collected.numbers())
    }
}

/// Section 6: only the non-zero scalars, in a balanced map.
pub(super) struct Sparse<F: Field> {
    collected: BTreeMap<u32, V<F>>,
    inputs: usize,
    calls: Waiting<F, Sparse<F>>,
}

impl<F: Field> Collect<F> for Sparse<F> {
    fn new(_run: &mut EngineRun<'_, F>, _x: &Value, inputs: usize, _made: usize) -> EngineResult<Self> {
        Ok(Sparse { collected: BTreeMap::new(), inputs, calls: Waiting(BTreeMap::new()) })
    }
    fn stage(
        mut self,
        run: &mut EngineRun<'_, F>,
        id: u32,
        back: CayleyBackpropagator<F, Self>,
        z: V<F>,
    ) -> EngineResult<Self> {
        self.calls.stage(run, id, back, z)?;
        Ok(self)
    }
    fn add(mut self, run: &mut EngineRun<'_, F>, input: usize, z: V<F>) -> EngineResult<Self> {
        run.work(levels(self.collected.len()))?;
        match self.collected.get_mut(&(input as u32)) {
            Some(old) => *old = run.plus(old, &z)?,
            None => {
                run.counts.hold(size_of::<(u32, V<F>)>());
                self.collected.insert(input as u32, z);
            }
        }
        Ok(self)
    }
    fn next(&mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Option<(CayleyBackpropagator<F, Self>, V<F>)>> {
        self.calls.next(run)
    }
    fn collected(mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Vec<V<F>>> {
        run.work(self.inputs * levels(self.collected.len()))?;
        Ok((0..self.inputs as u32).map(|i| self.collected.remove(&i).unwrap_or_else(|| F::constant(0.0))).collect())
    }
}

/// Section 7: two arrays, updated in place. The linear ownership of appendix A is Rust's ownership: the arrays
/// are moved through the updates.
pub(super) struct Mutable<F: Field> {
    collected: Vec<V<F>>,
    calls: Vec<(Option<CayleyBackpropagator<F, Mutable<F>>>, V<F>)>,
}

impl<F: Field> Collect<F> for Mutable<F> {
    fn new(run: &mut EngineRun<'_, F>, _x: &Value, inputs: usize, made: usize) -> EngineResult<Self> {
        run.work(inputs + made)?;
        run.counts.hold(inputs * size_of::<V<F>>() + made * size_of::<(Option<CayleyBackpropagator<F, Self>>, V<F>)>());
        Ok(Mutable {
            collected: vec![F::constant(0.0); inputs],
            calls: (0..made).map(|_| (None, F::constant(0.0))).collect(),
        })
    }
    fn stage(
        mut self,
        run: &mut EngineRun<'_, F>,
        id: u32,
        back: CayleyBackpropagator<F, Self>,
        z: V<F>,
    ) -> EngineResult<Self> {
        let (f, old) = &mut self.calls[id as usize];
        *old = run.plus(old, &z)?;
        *f = Some(back);
        Ok(self)
    }
    fn add(mut self, run: &mut EngineRun<'_, F>, input: usize, z: V<F>) -> EngineResult<Self> {
        let old = &mut self.collected[input];
        *old = run.plus(old, &z)?;
        Ok(self)
    }
    fn next(&mut self, run: &mut EngineRun<'_, F>) -> EngineResult<Option<(CayleyBackpropagator<F, Self>, V<F>)>> {
        // An empty entry stands for the backpropagator that does nothing.
        while let Some((back, z)) = self.calls.pop() {
            run.work(1)?;
            if let Some(back) = back {
                return Ok(Some((back, z)));
            }
        }
        Ok(None)
    }
    fn collected(self, _run: &mut EngineRun<'_, F>) -> EngineResult<Vec<V<F>>> {
        Ok(self.collected)
    }
}
