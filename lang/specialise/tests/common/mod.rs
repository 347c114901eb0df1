//! Checks programs to Core, specialises them, and runs them by the reference evaluator; also runs them by the
//! interpreter.

#![allow(dead_code)]

mod host;
mod show;

use adl_ad::Ad;
use adl_interp::host::NullHost;
use adl_interp::vm::Machine;
use adl_ir::eval::Evaluator;
use adl_ir::{Program, print, verify};
use adl_session::Session;
use adl_specialise::{Cache, Entry, FunView, Root, Unsupported, ValueKind, ValuePath, World, specialise};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{SourceMap, Span};
use adl_typing::check_item;
use adl_typing::core::{Def, ExprKind, GlobalId, Item};
use adl_typing::env::{CheckHost, Column, Env, NoHeader, Tables};
use adl_typing::ty::{DataDecl, DataId, Ty};
use std::collections::HashMap;
use std::rc::Rc;

struct Modules<'a>(&'a HashMap<String, Rc<Env>>);

impl CheckHost for Modules<'_> {
    fn table_header(&mut self, _reader: adl_prim::IoFn, _path: &str) -> Result<Vec<(String, Column)>, NoHeader> {
        Err(("E0801", "there are no files".into()))
    }
    fn npy_header(&mut self, _path: &str) -> Result<Vec<(String, Column, Vec<u64>)>, NoHeader> {
        Err(("E0801", "there are no files".into()))
    }
    fn std_module(&mut self, name: &str) -> Option<Rc<Env>> {
        self.0.get(name).cloned()
    }
    fn rest(&self, _: Span) -> &str {
        ""
    }
    fn std_modules(&self) -> Vec<&'static str> {
        Vec::new()
    }
    fn text(&self, _span: Span) -> &str {
        ""
    }
    fn line(&self, _span: Span, _from: Span) -> String {
        String::new()
    }
    fn std_homes(&self, _: &str) -> Vec<&'static str> {
        Vec::new()
    }
    fn prelude_home(&mut self, name: &str) -> Option<&'static str> {
        adl_std::home(name)
    }
}

/// Checked definitions. Top-level values are opaque, so that their code is evaluated where it is needed.
pub struct CheckedDefinitions {
    sources: SourceMap,
    tables: Tables,
    env: Env,
    std: HashMap<String, Rc<Env>>,
    pub defs: HashMap<GlobalId, Rc<Def>>,
    /// The function to specialise.
    pub fun: Option<GlobalId>,
    /// Whether top-level values are inputs.
    pub inputs: bool,
}

impl CheckedDefinitions {
    pub fn new() -> CheckedDefinitions {
        let mut checker = CheckedDefinitions {
            sources: SourceMap::default(),
            tables: Tables::default(),
            env: Env::default(),
            std: HashMap::new(),
            defs: HashMap::new(),
            fun: None,
            inputs: false,
        };
        let prelude = checker.load("prelude", adl_std::PRELUDE, true).unwrap();
        checker.env = Env { base: Some(Rc::new(prelude)), ..Env::default() };
        checker
    }

    fn load(&mut self, name: &str, text: &str, internal: bool) -> Result<Env, Vec<Diagnostic>> {
        let file = self.sources.add(name, text);
        let (program, diags) = adl_syntax::parse(file, text);
        let mut env = if internal { Env { base: self.env.base.clone(), ..Env::default() } } else { self.env.clone() };
        if diags.iter().any(Diagnostic::is_error) {
            return Err(diags);
        }
        for item in &program.items {
            let words: Vec<String> = self
                .sources
                .text(item.span)
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .map(str::to_owned)
                .collect();
            for w in words {
                if let Some(m) = adl_std::home(&w).map(str::to_owned).or_else(|| adl_std::source(&w).map(|_| w.clone()))
                {
                    self.module(&m)?;
                }
            }
            let checked = check_item(&env, item, &mut self.tables, &mut Modules(&self.std), internal);
            env = checked.env;
            match checked.item {
                Some(Item::Defs(defs)) => self.defs.extend(defs.into_iter().map(|d| (d.global, Rc::new(d)))),
                Some(_) => {}
                None => return Err(checked.diags),
            }
        }
        Ok(env)
    }

    fn module(&mut self, name: &str) -> Result<(), Vec<Diagnostic>> {
        if self.std.contains_key(name) {
            return Ok(());
        }
        self.std.insert(name.to_owned(), Rc::new(Env::default()));
        let text = adl_std::source(name).unwrap();
        let env = self.load(name, text, true)?;
        self.std.insert(name.to_owned(), Rc::new(env));
        Ok(())
    }

    /// Checks a program; `main` is the function to specialise.
    pub fn program(&mut self, text: &str) -> Result<(), String> {
        self.env = self
            .load("test", text, false)
            .map_err(|d| d.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; "))?;
        self.fun = self.env.value(adl_syntax::symbol::Symbol::new("main")).map(|g| g.id);
        Ok(())
    }
}

impl World for CheckedDefinitions {
    fn view(&mut self, at: &ValuePath) -> ValueKind {
        let id = match at.root {
            Root::Fun => self.fun.unwrap(),
            Root::Global(g) => g,
            Root::Arg(_) => return ValueKind::Data,
        };
        let (hidden, inner) = match &*self.defs[&id].expr.kind {
            ExprKind::Abs(ls, inner) => (ls.clone(), inner.clone()),
            _ => (Vec::new(), self.defs[&id].expr.clone()),
        };
        match &*inner.kind {
            // Polymorphic numbers become Floats.
            ExprKind::Lam(_) if !hidden.is_empty() && at.steps.is_empty() => {
                ValueKind::Fun(FunView::Partial(hidden.len() as u32))
            }
            ExprKind::Lam(_) if !hidden.is_empty() && at.steps != [0] => ValueKind::Rep(Ty::Float),
            ExprKind::Lam(lam) => ValueKind::Fun(FunView::Closure { hidden, lam: lam.clone(), captured: Vec::new() }),
            _ if self.inputs => ValueKind::Data,
            _ => ValueKind::Opaque("a value".into()),
        }
    }
    fn global(&mut self, id: GlobalId) -> Option<Rc<Def>> {
        self.defs.get(&id).cloned()
    }
    fn data(&mut self, id: DataId) -> Option<Rc<DataDecl>> {
        self.tables.datas.get(&id).cloned()
    }
}

/// A program that was specialised.
pub struct SpecialisedProgram {
    pub program: Program,
    pub entry: Entry,
}

/// Specialises `main`, a function of `()`.
pub fn made(text: &str) -> Result<SpecialisedProgram, Unsupported> {
    made_as(text, &[Ty::Unit])
}

/// The argument types in a program's first line: `-- at Float; [Float]`.
pub fn signature(text: &str) -> Vec<Ty> {
    let first = text.lines().next().and_then(|l| l.strip_prefix("-- at ")).unwrap_or("()");
    let array = |t: Ty| Ty::Array(adl_typing::ty::Size::Unknown, Rc::new(t));
    let one = |t: &str| match t.trim() {
        "()" => Ty::Unit,
        "Int" => Ty::Int,
        "Bool" => Ty::Bool,
        "[Float]" => array(Ty::Float),
        "[[Float]]" => array(array(Ty::Float)),
        "(Float, Float)" => Ty::Tuple([Ty::Float, Ty::Float].into()),
        _ => Ty::Float,
    };
    first.split("; ").map(one).collect()
}

/// Specialises `main` at argument types.
pub fn made_as(text: &str, args: &[Ty]) -> Result<SpecialisedProgram, Unsupported> {
    made_from(text, args, false)
}

/// Specialises `main` at argument types; top-level values are inputs, or evaluated where they are needed.
pub fn made_from(text: &str, args: &[Ty], inputs: bool) -> Result<SpecialisedProgram, Unsupported> {
    adl_syntax::field_order::reset();
    let mut c = CheckedDefinitions { inputs, ..CheckedDefinitions::new() };
    c.program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut program = Program::default();
    let entry = specialise(&mut c, &mut Ad::new(), &mut program, &mut Cache::default(), args)?;
    if let Err(e) = verify::verify_program(&program) {
        panic!("{e}\n{}", ir(&program));
    }
    Ok(SpecialisedProgram { program, entry })
}

/// The functions that specialisation made, as text.
pub fn ir(p: &Program) -> String {
    print::program(p, print::Style::default())
}

/// The value of `main ()` by the reference evaluator, as text.
pub fn by_ir(text: &str) -> Result<String, String> {
    let m = made(text).map_err(|u| format!("unsupported: {}", u.why))?;
    let mut host = host::Whole(Machine::new(Box::new(NullHost)));
    let out = Evaluator::new(&m.program, &mut host).run(m.entry.func, &[], &[]);
    let out = out.map_err(|e| format!("error: {}", e.message))?;
    Ok(show::show(&m.entry, &out.results))
}

/// The value of `main ()` by the interpreter, as text.
pub fn by_vm(text: &str) -> Result<String, String> {
    let mut s = Session::new(Box::new(NullHost));
    let out = s.eval(&format!("{text}\n;;\nmain ()"));
    match out.diags.iter().find(|d| d.is_error()) {
        Some(d) => Err(format!("error: {}", d.message)),
        None => Ok(out.echoes.last().filter(|e| e.name.is_none()).map_or("()".to_owned(), adl_session::Echo::value)),
    }
}

/// Whether two texts are equal, comparing floats to 12 digits.
pub fn agree(a: &str, b: &str) -> bool {
    let words = |s: &str| -> Vec<String> {
        let spaced: String =
            s.chars().flat_map(|c| if "[](){},=".contains(c) { vec![' ', c, ' '] } else { vec![c] }).collect();
        spaced.split_whitespace().map(str::to_owned).collect()
    };
    let (x, y) = (words(a), words(b));
    let same = |p: &str, q: &str| {
        p == q
            || match (p.parse::<f64>(), q.parse::<f64>()) {
                (Ok(u), Ok(v)) => (u - v).abs() <= 1e-12 * (1.0 + u.abs().max(v.abs())),
                _ => false,
            }
    };
    x.len() == y.len() && x.iter().zip(&y).all(|(p, q)| same(p, q))
}

/// Asserts that both evaluators agree on a program's `it`.
pub fn check(text: &str) {
    // A value is not generalised; a function of `()` that contains numbers would be.
    let text = &format!("{text}\nlet main () = it");
    let (a, b) = (by_ir(text), by_vm(text));
    let ok = match (&a, &b) {
        (Ok(x), Ok(y)) => agree(x, y),
        (Err(x), Err(_)) => x.starts_with("error"),
        _ => false,
    };
    assert!(
        ok,
        "{text}\n  specialised: {a:?}\n  ordinary:    {b:?}\n{}",
        made(text).map_or(String::new(), |m| ir(&m.program))
    );
}
