//! Lowered functions as IR, from which native code and code for devices are compiled.

use adl_ir::{DataDecl, FnId, Function, Program, Zeros};
use adl_opt::pipelines;
use std::collections::HashMap;
use std::rc::Rc;

/// The lowered functions of a program, as IR.
#[derive(Default)]
pub struct LoweredIr {
    /// Functions, by their index in the lowered group.
    pub funcs: Vec<Rc<Function>>,
    /// The same functions before the target-specific final passes of the optimiser. Devices, and their cost
    /// model, use these.
    pub(super) inlined: Vec<Rc<Function>>,
    /// Indices into `funcs`, by number in the program.
    pub places: HashMap<FnId, u32>,
    /// Declared data types, by number.
    pub datas: Vec<Rc<DataDecl>>,
}

impl LoweredIr {
    /// Optimises all functions of a program for native code.
    pub fn of(program: &Program) -> LoweredIr {
        let funcs = program.funcs.iter().map(|f| {
            let mut f = (**f).clone();
            for pipeline in [pipelines::INLINED, pipelines::FINISH, pipelines::NATIVE] {
                adl_opt::run(pipeline, program, &mut f, Zeros::Symbolic);
            }
            super::vectorise::sums(&mut f);
            Rc::new(f)
        });
        LoweredIr {
            funcs: funcs.collect(),
            inlined: Vec::new(),
            places: (0..program.funcs.len() as u32).map(|k| (FnId(k), k)).collect(),
            datas: program.datas.clone(),
        }
    }

    /// A placeholder for each function of the original program. Those that are not lowered, as rules of derivatives, stay so.
    fn placeholders(&self) -> Vec<Rc<Function>> {
        let count = self.places.keys().map(|f| f.0 as usize + 1).max().unwrap_or(0);
        let one = Rc::new(Function::placeholder(""));
        vec![one; count]
    }

    /// The functions as a program with the original function numbers.
    pub fn program(&self) -> Program {
        let mut funcs = self.placeholders();
        for (f, at) in &self.places {
            if let Some(found) = self.funcs.get(*at as usize) {
                funcs[f.0 as usize] = found.clone();
            }
        }
        Program { funcs, datas: self.datas.clone(), symbolic_zero: true }
    }

    /// The functions as a program, from before the target-specific passes, and the number of the function at
    /// index `at`.
    pub(crate) fn unlowered(&self, at: u32) -> Option<(Program, FnId)> {
        let mut funcs = self.placeholders();
        for (f, at) in &self.places {
            funcs[f.0 as usize] = self.inlined.get(*at as usize)?.clone();
        }
        let id = self.places.iter().find(|(_, k)| **k == at)?.0;
        Some((Program { funcs, datas: self.datas.clone(), symbolic_zero: true }, *id))
    }

    /// A function from before the target-specific passes.
    pub(crate) fn inlined(&self, f: FnId) -> Option<Rc<Function>> {
        self.inlined.get(*self.places.get(&f)? as usize).cloned()
    }

    /// The function with this number in the program.
    pub fn func(&self, f: FnId) -> Option<&Rc<Function>> {
        self.funcs.get(*self.places.get(&f)? as usize)
    }
}
