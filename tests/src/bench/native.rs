//! C++ by hand (`tests/bench/cpp`): compiled when a benchmark begins, opened and called.
//!
//! What is *not* here: which problem belongs to which program (`table`), and times.

use libloading::{Library, Symbol};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How each file is compiled. It is linked without these, because `-ffast-math` would then change how the whole process
/// rounds.
pub const FLAGS: &[&str] = &["-std=c++17", "-O3", "-ffast-math", "-march=native", "-fopenmp-simd", "-fPIC"];

/// glibc's vector mathematics; other systems have none.
const VECTOR_MATHEMATICS: &str = "-lmvec";

/// An input of a problem.
pub(super) enum Leaf {
    Floats(Vec<f64>),
    Ints(Vec<i64>),
}

/// `Array` of `bench.hpp`.
#[repr(C)]
struct NativeArray {
    floats: *const f64,
    ints: *const i64,
    n: i64,
}

/// `Inputs` of `bench.hpp`.
#[repr(C)]
struct Inputs {
    arrays: *const NativeArray,
    n: i64,
}

/// `Out` of `bench.hpp`.
#[repr(C)]
struct NativeOut {
    array: *mut f64,
    n: i64,
}

impl NativeOut {
    /// An empty slice is a result that is not wanted.
    fn of(to: &mut [f64]) -> NativeOut {
        let array = if to.is_empty() { std::ptr::null_mut() } else { to.as_mut_ptr() };
        NativeOut { array, n: to.len() as i64 }
    }
}

type NativeFunction = unsafe extern "C" fn(Inputs, NativeOut, NativeOut);

/// The compiled problems.
pub struct ByHand {
    library: Library,
    /// The first line of the compiler's version.
    pub compiler: String,
}

/// The sources of the problems.
pub fn sources() -> Result<Vec<PathBuf>, String> {
    let folder = crate::root().join("tests/bench/cpp");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut out: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    out.retain(|p| p.extension().is_some_and(|e| e == "cpp"));
    out.sort();
    Ok(out)
}

/// Runs a compiler, with its messages as the error.
fn done(command: &mut Command) -> Result<(), String> {
    let out = command.output().map_err(|e| e.to_string())?;
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}

impl ByHand {
    /// Compiles all problems with `$CXX` or `g++`. `None`, after one printed line, if there is no compiler.
    pub fn compile() -> Result<Option<ByHand>, String> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
        let Ok(version) = Command::new(&compiler).arg("--version").output() else {
            println!("there is no C++ compiler `{compiler}`: rows have no ratio (CXX names another one)");
            return Ok(None);
        };
        let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or("").to_owned();
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let objects = compile_all(&compiler, folder.path())?;
        let path = folder.path().join("problems.so");
        let link = |more: &[&str]| {
            done(Command::new(&compiler).arg("-shared").args(&objects).arg("-o").arg(&path).args(more).arg("-lm"))
        };
        link(&[VECTOR_MATHEMATICS]).or_else(|_| link(&[]))?;
        // SAFETY: the library was just linked from `tests/bench/cpp`, which has no initialisers besides those of C++.
        let library = unsafe { Library::new(&path) }.map_err(|e| e.to_string())?;
        Ok(Some(ByHand { library, compiler: version }))
    }

    /// The problem `name` with its inputs. Their extents must belong together, and indices be in bounds: they are what a
    /// program of `table` makes.
    pub(super) fn problem(&self, name: &str, inputs: Vec<Leaf>) -> Result<Problem<'_>, String> {
        let symbol = |kind: &str| {
            // SAFETY: all functions of these names are made by the macro PROBLEM of `bench.hpp`, which gives them the
            // prototype of `Function`.
            let found = unsafe { self.library.get::<NativeFunction>(format!("{name}_{kind}").as_bytes()) };
            found.map_err(|e| format!("no C++ for `{name}`: {e}"))
        };
        Ok(Problem { value: symbol("value")?, gradient: symbol("gradient")?, inputs })
    }
}

/// Compiles each source to an object file, all at once.
fn compile_all(compiler: &str, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let one = |source: PathBuf| {
        let object = folder.join(source.file_name().unwrap_or_default()).with_extension("o");
        done(Command::new(compiler).args(FLAGS).arg("-c").arg(&source).arg("-o").arg(&object)).map(|()| object)
    };
    let sources = sources()?;
    std::thread::scope(|s| {
        let running: Vec<_> = sources.into_iter().map(|source| s.spawn(move || one(source))).collect();
        running.into_iter().map(|r| r.join().unwrap_or_else(|_| Err("the compiler was not run".into()))).collect()
    })
}

/// A problem with its inputs.
pub(super) struct Problem<'a> {
    value: Symbol<'a, NativeFunction>,
    gradient: Symbol<'a, NativeFunction>,
    inputs: Vec<Leaf>,
}

impl Problem<'_> {
    /// Writes the value to `value`.
    pub fn value(&self, value: &mut [f64]) {
        self.call(&self.value, value, &mut []);
    }

    /// Writes the gradient to `gradient`, and the value, if it is wanted, to `value`.
    pub fn gradient(&self, value: &mut [f64], gradient: &mut [f64]) {
        self.call(&self.gradient, value, gradient);
    }

    fn call(&self, function: &NativeFunction, value: &mut [f64], gradient: &mut [f64]) {
        let null = (std::ptr::null(), std::ptr::null());
        let arrays: Vec<NativeArray> = self
            .inputs
            .iter()
            .map(|leaf| match leaf {
                Leaf::Floats(x) => NativeArray { floats: x.as_ptr(), ints: null.1, n: x.len() as i64 },
                Leaf::Ints(x) => NativeArray { floats: null.0, ints: x.as_ptr(), n: x.len() as i64 },
            })
            .collect();
        let inputs = Inputs { arrays: arrays.as_ptr(), n: arrays.len() as i64 };
        // SAFETY: the problem reads the inputs within the lengths in `arrays`, as `problem` demands that they fit, and writes
        // results within theirs: `Out::of` of `bench.hpp` ends the process at another length. It keeps no address.
        unsafe { function(inputs, NativeOut::of(value), NativeOut::of(gradient)) };
    }
}
