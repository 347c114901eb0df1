//! Run-time errors.

use adl_syntax::diag::{Diagnostic, Excerpt};
use adl_syntax::span::Span;

/// A run-time error. Primitives create it without a source position; the machine adds the position of the call
/// and the call stack during unwinding.
#[derive(Clone, PartialEq, Debug)]
pub struct Error {
    /// The diagnostic; its primary span is valid once `located` is set.
    pub diag: Diagnostic,
    /// Whether the source position is known.
    pub located: bool,
    /// For out-of-bounds errors: the index or the bounds of the slice, and the extent of the axis.
    pub bounds: Option<(Vec<i64>, usize)>,
}

/// The result of evaluation. The error is boxed to keep successful results small.
pub type Res<T> = Result<T, Box<Error>>;

impl Error {
    /// An error without a source position. `code` is in the family `E07xx` (run time) or `E08xx` (data and
    /// files), see [`codes`].
    pub fn new(code: &'static str, message: impl Into<String>) -> Box<Error> {
        Box::new(Error { diag: Diagnostic::error(code, Span::default(), message), located: false, bounds: None })
    }

    /// Adds a suggestion.
    pub fn hint(mut self: Box<Self>, text: impl Into<String>) -> Box<Error> {
        self.diag.hint = Some(text.into());
        self
    }

    /// Records the index, or the bounds of a slice, and the extent of the axis.
    pub fn of_bounds(mut self: Box<Self>, ends: &[i64], extent: usize) -> Box<Error> {
        self.bounds = Some((ends.to_vec(), extent));
        self
    }

    /// Whether the error ends the run even if there is another way to compute the same result, because that
    /// would be stopped as well.
    pub fn stops(&self) -> bool {
        [codes::INTERRUPT, codes::EXHAUSTED, codes::NON_FINITE, codes::DEVICE].contains(&self.diag.code)
    }

    /// Adds an excerpt of the data file that the error is about.
    pub fn excerpt(mut self: Box<Self>, excerpt: Excerpt) -> Box<Error> {
        self.diag.excerpt = Some(Box::new(excerpt));
        self
    }

    /// Adds a note.
    pub fn note(mut self: Box<Self>, text: impl Into<String>) -> Box<Error> {
        self.diag.notes.push(text.into());
        self
    }
}

/// Codes of run-time errors, in one place so that none is used twice.
pub mod codes {
    /// Index out of bounds.
    pub const BOUNDS: &str = "E0701";
    /// Sizes that must be equal differ.
    pub const SIZE: &str = "E0702";
    /// Integer overflow.
    pub const OVERFLOW: &str = "E0703";
    /// Integer division by zero.
    pub const DIV_ZERO: &str = "E0704";
    /// `assert` failed.
    pub const ASSERT: &str = "E0705";
    /// Raised by `error text`.
    pub const USER: &str = "E0706";
    /// Too many nested calls.
    pub const DEPTH: &str = "E0707";
    /// Interrupted.
    pub const INTERRUPT: &str = "E0708";
    /// A reduction of an empty array without a neutral element.
    pub const EMPTY: &str = "E0709";
    /// Not enough memory for an array.
    pub const MEMORY: &str = "E0710";
    /// Tangents with a structure that differs from the primal's.
    pub const STRUCTURE: &str = "E0711";
    /// An irregular array, with rows of different shapes.
    pub const RAGGED: &str = "E0712";
    /// A negative size, exponent or count.
    pub const NEGATIVE: &str = "E0713";
    /// A matrix that is singular, not positive definite, or otherwise unsuitable.
    pub const SINGULAR: &str = "E0714";
    /// `transpose` cannot determine the shape of its input.
    pub const SHAPE_UNKNOWN: &str = "E0715";
    /// A custom rule's function captures a value that is being differentiated.
    pub const CAPTURE: &str = "E0716";
    /// No arm of a `match` covers the value.
    pub const NO_MATCH: &str = "E0717";
    /// A definition is used before it has a value.
    pub const UNDEFINED: &str = "E0718";
    /// A value outside of a function's domain, such as an invalid option or an empty choice.
    pub const DOMAIN: &str = "E0719";
    /// An engine of reverse mode exceeded its limits.
    pub const ENGINE_LIMIT: &str = "E0720";
    /// A function that an engine of reverse mode does not support.
    pub const ENGINE_CANNOT: &str = "E0721";
    /// An invalid checkpointing plan.
    pub const PLAN: &str = "E0722";
    /// The process has reached its memory limit.
    pub const EXHAUSTED: &str = "E0723";
    /// Under `--check-nan`: an operation produced a nan or an infinity.
    pub const NON_FINITE: &str = "E0724";
    /// A GPU that is not available, or was lost together with the data on it.
    pub const DEVICE: &str = "E0725";
    /// Ranks of a run that disagree, a message that cannot be sent, or a rank that there is not.
    pub const RANKS: &str = "E0726";
    /// An operation on all ranks inside of the function of `comm.each`.
    pub const INSIDE_EACH: &str = "E0727";
    /// A file that cannot be read or written.
    pub const FILE: &str = "E0801";
    /// Invalid CSV.
    pub const CSV: &str = "E0802";
    /// Invalid NPY or NPZ.
    pub const NPY: &str = "E0803";
    /// JSON that is invalid or does not match the expected type.
    pub const JSON: &str = "E0804";
    /// A picture that cannot be rendered or written.
    pub const PICTURE: &str = "E0805";
    /// A Parquet file that is damaged, or has other columns than the type.
    pub const PARQUET: &str = "E0806";
    /// An Arrow IPC file that is damaged, or has other columns than the type.
    pub const ARROW: &str = "E0807";
    /// An internal error of adl ([`crate::fault`]).
    pub const INTERNAL: &str = "E0901";
}

/// Explanations by code: the meaning, an example of an error, and its correction.
const EXPLAIN: &[(&str, &str)] = &[
    (
        codes::BOUNDS,
        "An index must be at least 0 and below the length of its axis; counting begins at 0.\n\n\
        \x20   let xs = [1.0, 2.0, 3.0]\n\
        \x20   xs[3]                            -- wrong: the last is xs[2]\n\
        \x20   last xs                          -- right\n\
        \x20   sum for i < 4 -> xs[i]           -- wrong\n\
        \x20   sum for i -> xs[i]               -- right: as many as xs has",
    ),
    (
        codes::SIZE,
        "Two arrays that must have one size have different sizes, which only the run could tell.\n\n\
        \x20   let big = filter (fun v -> v > 1.0) [1.0, 2.0]\n\
        \x20   big + [1.0, 2.0]                 -- wrong: the sizes are 1 and 2\n\
        \x20   big + replicate (len big) 1.0    -- right",
    ),
    (
        codes::OVERFLOW,
        "An Int has 64 bits. Arithmetic that would leave them stops with this error instead of giving a wrong number.\n\n\
        \x20   10 ^ 30                          -- wrong\n\
        \x20   10.0 ^ 30                        -- right: a Float, rounded",
    ),
    (
        codes::DIV_ZERO,
        "`//` and `%` of Ints have no value for a divisor of 0. Division of Floats does: `1.0 / 0.0` is `inf`.\n\n\
        \x20   let (n, k) = (7, 0)\n\
        \x20   n // k                           -- wrong\n\
        \x20   if k == 0 then 0 else n // k     -- right",
    ),
    (
        codes::ASSERT,
        "`assert c` stops the program where `c` is false. Nothing is wrong with the language: what the program took for certain does not hold.\n\n\
        \x20   assert (1 == 2)                  -- wrong\n\
        \x20   assert (1 + 1 == 2)              -- right",
    ),
    (
        codes::USER,
        "The program called `error` with its own text.\n\n\
        \x20   let root x = if x < 0.0 then error \"no root\" else sqrt x\n\
        \x20   root (-1.0)                      -- wrong\n\
        \x20   root 1.0                         -- right",
    ),
    (
        codes::DEPTH,
        "Nested calls took more memory than `--stack` allows. Most often a recursion has no base case, or never reaches it. Calls in tail position take no space.\n\n\
        \x20   let rec f n = n + f (n - 1)                              -- wrong: never ends\n\
        \x20   let rec f n = if n == 0 then 0 else n + f (n - 1)        -- right",
    ),
    (
        codes::INTERRUPT,
        "The run was interrupted with Ctrl-C. In the REPL all definitions are as they were before. A loop that should have ended may lack its condition.\n\n\
        \x20   loop x = 1.0 while true do x / 2.0           -- wrong: never ends\n\
        \x20   loop x = 1.0 while x > 1e-9 do x / 2.0       -- right",
    ),
    (
        codes::EMPTY,
        "There is no first, largest or smallest element of an empty array.\n\n\
        \x20   maximum (filter (fun v -> v > 9) [1, 2])     -- wrong\n\
        \x20   fold max 0 (filter (fun v -> v > 9) [1, 2])  -- right: 0 if there is none",
    ),
    (
        codes::MEMORY,
        "An array would not fit into memory.\n\n\
        \x20   sum (map float (iota 10000000000000))                -- wrong: builds the array first\n\
        \x20   loop s = 0.0 for i < 1000 do s + float i             -- right: keeps nothing",
    ),
    (
        codes::EXHAUSTED,
        "The program holds all the memory that it may: nearly all of the machine, what `--memory MIB` says, or what the system allows (`ulimit -v`, a container). Most often a list or a tape grows in a loop without end.\n\n\
        \x20   let rec grow xs = grow (1.0 :: xs)                       -- wrong: never ends\n\
        \x20   grad_with Sqrt (fun x -> loop y = x for i < 100 do sin y) 1.0     -- right: a long loop that stores little",
    ),
    (
        codes::NON_FINITE,
        "Under `--check-nan`, the first operation that makes a nan or an infinity from finite numbers is an error. In a derivative the place is what is differentiated: \
        often a root, a logarithm or a quotient at 0. Guard its argument, not its result.\n\n\
        \x20   let f x = sqrt x\n\
        \x20   grad f 0.0                                               -- wrong: 0.5 / sqrt 0.0\n\
        \x20   grad (fun x -> if x > 0.0 then f x else 0.0) 0.0         -- right",
    ),
    (
        codes::DEVICE,
        "There is no GPU, or none that is called as `ADL_GPU` says; or the one that was used is lost, with arrays that were only there. `--device auto` and `:device auto` \
        use a GPU where there is one, and the CPU elsewhere; `:device gpu` opens a lost one again, and what was there is to be made again.\n\n\
        \x20   adl --device gpu script.adl                               -- wrong where there is no GPU\n\
        \x20   adl --device auto script.adl                              -- right anywhere",
    ),
    (
        codes::RANKS,
        "All ranks of a run do the same operations on all ranks, in one order. This one cannot be done: it names a rank that there is not, the parts do not fit together, \
        or another rank is at another operation.\n\n\
        \x20   print (comm.from 9 (comm.spread 2.0))     -- wrong where there are fewer than ten ranks\n\
        \x20   print (comm.from 0 (comm.spread 2.0))     -- right",
    ),
    (
        codes::INSIDE_EACH,
        "The function of `comm.each` runs on each rank by itself, and must not wait for the others; not in a function that it calls either.\n\n\
        \x20   let average x = comm.total (comm.spread x) / float comm.size\n\
        \x20   print (comm.total (comm.each average (comm.spread 2.0)))   -- wrong\n\
        \x20   print (average 2.0)                                        -- right",
    ),
    (
        codes::STRUCTURE,
        "Data of different structure cannot be added: lists of different lengths, different constructors. A tangent has the structure of its value.\n\n\
        \x20   Some 1.0 + None                  -- wrong\n\
        \x20   Some 1.0 + Some 2.0              -- right",
    ),
    (
        codes::RAGGED,
        "All rows of an array have one shape. What differs in length can be a list, or be filled up.\n\n\
        \x20   map (fun n -> iota n) [1, 2]                                 -- wrong\n\
        \x20   map (fun n -> for i < 2 -> if i < n then i else 0) [1, 2]    -- right",
    ),
    (
        codes::NEGATIVE,
        "Sizes and counts are not negative.\n\n\
        \x20   replicate (2 - 3) 0.0            -- wrong\n\
        \x20   replicate (max 0 (2 - 3)) 0.0    -- right: empty",
    ),
    (
        codes::SINGULAR,
        "The matrix has no inverse, or is not positive definite.\n\n\
        \x20   inv [[1.0, 2.0], [2.0, 4.0]]     -- wrong: the rows are multiples of each other\n\
        \x20   inv [[1.0, 2.0], [2.0, 5.0]]     -- right\n\
        \x20   cholesky [[1.0, 2.0], [2.0, 1.0]]    -- wrong: not positive definite",
    ),
    (
        codes::SHAPE_UNKNOWN,
        "To transpose a linear function adl must know the shape of its input. It is known when the domain has no arrays, when its sizes are in scope, and for the results of `linearize`. Otherwise give an example.\n\n\
        \x20   transpose (lin x -> sum x) 1.0                        -- wrong\n\
        \x20   transpose_at [0.0, 0.0] (lin x -> sum x) 1.0          -- right",
    ),
    (
        codes::CAPTURE,
        "The derivative of a function with a custom rule is what the rule says of its argument; a value that the function captures would silently get no derivative. Make it part of the argument.\n\n\
        \x20   let scale c = custom_jvp (fun x -> c * x) (fun x -> (c * x, lin d -> c * d))\n\
        \x20   grad (fun c -> scale c c) 3.0            -- wrong: c is also captured\n\
        \x20   grad (fun x -> scale 3.0 x) 2.0          -- right",
    ),
    (
        codes::NO_MATCH,
        "No case of a `match` fits the value. Missing cases are found before a program runs (E0401), so this is rare.\n\n\
        \x20   match n with | 0 -> \"none\" | 1 -> \"one\"                    -- wrong for 2\n\
        \x20   match n with | 0 -> \"none\" | 1 -> \"one\" | _ -> \"many\"      -- right",
    ),
    (
        codes::UNDEFINED,
        "A definition is used while it is still being computed.\n\n\
        \x20   let rec a = f b and b = f a              -- wrong\n\
        \x20   let rec a () = f (b ()) and b () = 1     -- right: functions run when they are called",
    ),
    (
        codes::DOMAIN,
        "A value that the function does not accept.\n\n\
        \x20   random.int (random.key 1) 5 5 [2]    -- wrong: no Int is at least 5 and below 5\n\
        \x20   random.int (random.key 1) 0 5 [2]    -- right",
    ),
    (
        codes::ENGINE_LIMIT,
        "The engines of module `engine` are there to be compared, and give up where they would take too long: `Naive` calls a backpropagator once for each way from the result to it, which doubles with each value that is used twice.\n\n\
        \x20   let chain n x = loop y = x for i < n do y + y\n\
        \x20   engine.grad Naive (chain 30) 1.0     -- wrong: 2 ^ 31 calls\n\
        \x20   engine.grad Staged (chain 30) 1.0    -- right: 31 calls\n\
        \x20   grad (chain 30) 1.0                  -- right: no engine of its own, and no limit",
    ),
    (
        codes::ENGINE_CANNOT,
        "The engine `Unf` takes arithmetic and operations on arrays. It cannot look into `checkpoint` and into functions with a derivative of their own (`custom_jvp`, `custom_vjp`, and what is made of them, as `inv` is).\n\n\
        \x20   engine.grad Unf (checkpoint (fun x -> sin (sin x))) 1.0     -- wrong\n\
        \x20   engine.grad Unf (fun x -> sin (sin x)) 1.0                  -- right\n\
        \x20   engine.grad Taped (checkpoint (fun x -> sin (sin x))) 1.0   -- right",
    ),
    (
        codes::PLAN,
        "A plan says what reverse mode stores and what it recomputes. A budget may be below what any plan needs, an id may name no residual, or one that\n\
        cannot be recomputed (arguments, and what loops carry); and a function whose derivatives are taped has no plans.\n\n\
        \x20   let f (x : Float) = loop y = x for i < 100 do 3.7 * y * (1.0 - y)\n\
        \x20   grad_with (Budget 10) f 0.3                  -- wrong: `residuals f 0.3` says what is least\n\
        \x20   grad_with (Budget 100_000) f 0.3             -- right",
    ),
    (
        codes::FILE,
        "A file or folder cannot be read or written. Paths are relative to the working directory; those of `import` to the importing file.\n\n\
        \x20   read_text \"data/missing.txt\"     -- wrong if there is no such file\n\
        \x20   read_text \"data/notes.txt\"       -- right",
    ),
    (
        codes::CSV,
        "A CSV file whose rows have different numbers of cells, or with text in a column of numbers. The error names the line and the column; a missing number is an empty cell.\n\n\
        \x20   a,b\n\
        \x20   1,2\n\
        \x20   3                                -- wrong: one cell\n\
        \x20   3,                               -- right: b is nan",
    ),
    (
        codes::NPY,
        "An NPY or NPZ file that does not parse, or holds elements that adl has not. It reads numbers of 4 and 8 bytes and truth values.\n\n\
        \x20   np.save(\"x.npy\", z)              -- wrong in NumPy for complex z\n\
        \x20   np.save(\"x.npy\", z.real)         -- right",
    ),
    (
        codes::JSON,
        "A JSON text that does not parse, or does not fit the type that is expected.\n\n\
        \x20   let x : [_]Float = read_json \"x.json\"       -- wrong if it holds {\"a\": 1}\n\
        \x20   let x : {a : Float} = read_json \"x.json\"    -- right",
    ),
    (
        codes::PARQUET,
        "A Parquet file that does not decode, or does not fit the type that is expected: a column is missing, has another type, or has a null. \
        Missing values are read as `nan` in a column of Floats, and as `None` in a column of Options.\n\n\
        \x20   let t : {n : [_]Int} = read_parquet \"t.parquet\"             -- wrong if a row has no n\n\
        \x20   let t : {n : [_](Option Int)} = read_parquet \"t.parquet\"    -- right",
    ),
    (
        codes::ARROW,
        "An Arrow IPC file (Feather) that does not decode, or does not fit the type that is expected: a column is missing, has another type, or has a null. \
        Missing values are read as `nan` in a column of Floats, and as `None` in a column of Options.\n\n\
        \x20   let t : {n : [_]Int} = read_arrow \"t.arrow\"             -- wrong if a row has no n\n\
        \x20   let t : {n : [_](Option Int)} = read_arrow \"t.arrow\"    -- right",
    ),
    (
        codes::PICTURE,
        "Only plots, costs and residuals have pictures, and a picture is written as .svg, .png or .txt.\n\n\
        \x20   plot.save \"a.svg\" [1.0, 2.0]                   -- wrong\n\
        \x20   plot.save \"a.svg\" (plot.line_y [1.0, 2.0])    -- right",
    ),
    (
        codes::INTERNAL,
        "A fault of adl itself, at the place in its own sources that the message names; the program may be right. What ran is stopped, and in the REPL and in notebooks \
        everything is as it was before the entry. Please report it, with the program and its data. Until it is mended, other code for the same program may do:\n\n\
        \x20   adl script.adl                                            -- wrong where it says `internal error`\n\
        \x20   adl --no-jit script.adl                                   -- right, if the fault is in compiled code\n\
        \x20   adl --ad taped script.adl                                 -- right, if it is in transformed code",
    ),
];

/// All codes of this crate that have an explanation.
pub fn explained() -> impl Iterator<Item = &'static str> {
    EXPLAIN.iter().map(|(code, _)| *code)
}

/// The explanation of a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    EXPLAIN.iter().find(|(c, _)| *c == code).map(|(_, t)| *t)
}
