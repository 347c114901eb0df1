//! Names from `NumPy`, JAX, `PyTorch`, `SciPy`, Julia, MATLAB, OCaml, Haskell and Python, with their adl counterparts. This
//! table is searched before names of similar spelling are suggested.

use adl_syntax::errors::foreign_syntax;

/// The adl counterpart of a name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Counterpart {
    /// A function or value with the same arguments.
    Name(&'static str),
    /// An explanation in words.
    Words(&'static str),
}

impl Counterpart {
    /// The text of the hint.
    pub(crate) fn hint(self) -> String {
        match self {
            Counterpart::Name(name) => format!("adl calls it `{name}`"),
            Counterpart::Words(words) => words.to_owned(),
        }
    }
}

/// The adl counterpart of a value of another language.
pub fn value(name: &str) -> Option<Counterpart> {
    let same = SAME.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| Counterpart::Name(ours));
    let other = || {
        OTHER
            .iter()
            .find(|(theirs, _)| theirs.split(' ').any(|t| t == name))
            .map(|(_, words)| Counterpart::Words(words))
    };
    same.or_else(other).or_else(|| foreign_syntax::word(name).map(Counterpart::Words))
}

/// All table entries with a direct counterpart, as (foreign name, adl name).
pub fn same() -> impl Iterator<Item = (&'static str, &'static str)> {
    SAME.iter().copied()
}

/// All table entries without a direct counterpart, as (foreign name, explanation).
pub fn others() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHER.iter().flat_map(|(names, words)| names.split(' ').map(|n| (n, *words)))
}

/// The adl counterpart of a library of another language.
pub(crate) fn library(name: &str) -> Option<Counterpart> {
    Some(Counterpart::Words(match name {
        "Hashtbl" | "Map" => {
            "values by keys are in the module `maps`: `maps.empty`, `maps.insert key value m`, `maps.get key m`"
        }
        "Set" => "sets are in the module `sets`: `sets.empty`, `sets.insert x s`, `sets.has x s`",
        "Random" => "random numbers take a key: `random.uniform (random.key 0) [n]`",
        "String" | "Bytes" | "Char" => "functions of texts are in the module `io`: `io.split`, `io.join`, `io.slice`",
        "plt" | "Plots" => "plots are made by the module `plot`: `plot.line xs ys`",
        "Distributions" => "densities are in `stats`, as `stats.normal_logpdf`, and draws in `random`",
        "ForwardDiff" | "Zygote" => "the gradient of `f` at `x` is `grad f x`, the Jacobian `jacobian f x`",
        _ => return None,
    }))
}

/// Whether a name before a point is a library of another language.
pub fn is_library(name: &str) -> bool {
    const LIBRARIES: &str = "np numpy jnp jax lax torch math cmath scipy sp tf plt pd pandas sys os functools itertools operator jsp optax flax \
        Array List Seq Math String Float Int Map Set Hashtbl Option Printf Base LinearAlgebra Statistics Random Char Bytes Data Prelude Vector Fun ForwardDiff Zygote Flux Plots Optim Distributions DataFrames CSV Dates";
    LIBRARIES.split(' ').any(|l| l == name)
}

const SAME: &[(&str, &str)] = &[
    ("vmap", "map"),
    ("pmap", "map"),
    ("fmap", "map"),
    ("arrayfun", "map"),
    ("cellfun", "map"),
    ("println", "print"),
    ("disp", "print"),
    ("putStrLn", "print"),
    ("print_endline", "print"),
    ("print_string", "print"),
    ("print_float", "print"),
    ("print_int", "print"),
    ("puts", "print"),
    ("absolute", "abs"),
    ("fabs", "abs"),
    ("abs_float", "abs"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("foldl", "fold"),
    ("foldl'", "fold"),
    ("fold_left", "fold"),
    ("zipWith", "map2"),
    ("zipWith3", "map3"),
    ("head", "first"),
    ("hd", "first"),
    ("rev", "reverse"),
    ("fliplr", "reverse"),
    ("reversed", "reverse"),
    ("identity", "eye"),
    ("inner", "dot"),
    ("vdot", "dot"),
    ("amax", "maximum"),
    ("amin", "minimum"),
    ("var", "variance"),
    ("rint", "round"),
    ("ceiling", "ceil"),
    ("isnan", "is_nan"),
    ("isinf", "is_inf"),
    ("sortperm", "argsort"),
    ("sorted", "sort"),
    ("stop_gradient", "stop_grad"),
    ("detach", "stop_grad"),
    ("remat", "checkpoint"),
    ("infinity", "inf"),
    ("Inf", "inf"),
    ("NaN", "nan"),
    ("PRNGKey", "random.key"),
    ("manual_seed", "random.key"),
    ("num2str", "show"),
    ("mat2str", "show"),
    ("repr", "show"),
    ("string_of_int", "show"),
    ("string_of_float", "show"),
    ("string_of_bool", "show"),
    ("fromIntegral", "float"),
    ("float_of_int", "float"),
    ("int_of_float", "int"),
    ("trunc", "int"),
    ("fix", "int"),
    ("truncate", "int"),
    ("toInteger", "int"),
    ("float_of_string", "io.parse_float"),
    ("int_of_string", "io.parse_int"),
    ("str2double", "io.parse_float"),
    ("strsplit", "io.split"),
    ("uppercase", "io.upper"),
    ("lowercase", "io.lower"),
    ("trapz", "stats.trapezoid"),
    ("nub", "stats.unique"),
    ("ndims", "rank"),
    ("ndim", "rank"),
    ("length", "len"),
    ("diagonal", "diag"),
    ("slogdet", "logdet"),
    ("log_det", "logdet"),
    ("toString", "show"),
    ("interp", "stats.interpolate"),
    ("numel", "len"),
    ("imshow", "plot.heatmap"),
    ("heatmap", "plot.heatmap"),
    ("xlabel", "plot.x_label"),
    ("ylabel", "plot.y_label"),
    ("savefig", "plot.save"),
    ("subplots", "plot.facets"),
    ("cho_solve", "linalg.cholesky_solve"),
    ("chol", "cholesky"),
    ("lu_factor", "lu"),
    ("logabsdet", "logdet"),
    ("std_dev", "stats.std"),
    ("stdev", "stats.std"),
    ("mse_loss", "nn.mse"),
    ("l1_loss", "nn.mae"),
    ("normcdf", "stats.normal_cdf"),
    ("norm_cdf", "stats.normal_cdf"),
    ("gammaln", "lgamma"),
    ("loggamma", "lgamma"),
    ("psi", "digamma"),
    ("log1pexp", "softplus"),
    ("expit", "sigmoid"),
    ("logistic", "sigmoid"),
    ("σ", "sigmoid"),
    ("ravel_pytree", "ravel"),
    ("psum", "comm.total"),
    ("allreduce", "comm.total"),
    ("all_gather", "comm.gather"),
    ("allgather", "comm.gather"),
    ("alltoall", "comm.exchange"),
];

const OTHER: &[(&str, &str)] = &[
    ("end", "the last element is `x[-1]`; groups stand in parentheses, or on lines in one column"),
    (
        "exit quit halt",
        "a program ends with its last line; `error \"text\"` ends it earlier, and `:quit` or Ctrl-D the REPL",
    ),
    ("ans", "the last value of the REPL is `it`, those before it `it1` and `it2`"),
    ("help doc man", "the REPL explains a name with `:doc name`, the command line with `adl doc name`"),
    ("clc clear clearvars", "in the REPL `:undo` takes definitions back, and Ctrl-L clears the screen"),
    ("who whos", "the REPL lists its definitions with `:env`"),
    ("dir methods names", "the REPL lists what a module has with `:doc module`"),
    ("tic toc timeit", "the REPL measures with `:time e`, a program with `bench \"name\" = e`"),
    (
        "typeof typeOf isinstance isa",
        "types are known before anything runs: the REPL shows one with `:type e`, and data of several forms are taken apart by `match`",
    ),
    (
        "nothing missing null nil undefined",
        "a missing value is `None`, and one that is there `Some x`; the empty list is `Nil`",
    ),
    ("just", "constructors begin with a capital: `Some x`"),
    (
        "maybe fromJust fromMaybe",
        "an `Option` is taken apart by `match o with | Some x -> ... | None -> ...`; `get_or default o` has a value in its place",
    ),
    ("otherwise", "the last case is `| _ -> ...`, or `else`"),
    ("jit njit compile", "code is compiled by itself where that pays: leave this out"),
    (
        "no_grad",
        "only what stands in `grad f x` is differentiated: leave this out; `stop_grad x` makes a part constant",
    ),
    ("backward gradient", "the gradient of `f` at `x` is `grad f x`; `value_and_grad f x` has the value too"),
    ("zero_grad requires_grad autograd", "there is no tape to set up: the gradient of `f` at `x` is `grad f x`"),
    ("jacrev_jit jacobian_fn", "the Jacobian of `f` at `x` is `jacobian f x`"),
    (
        "einsum tensordot tensorsum",
        "write the sum out: `for i < n, j < m -> sum for k < l -> a[i, k] * b[k, j]`; matrices are multiplied by `a @ b`",
    ),
    (
        "mm bmm mtimes matvec",
        "matrices and vectors are multiplied by `a @ b`, batches of them by `map2 (fun x y -> x @ y) a b`",
    ),
    ("fft ifft rfft irfft fft2 fftshift", "there are neither Fourier transforms nor complex numbers"),
    ("im complex real imag conj", "there are no complex numbers: a pair of Floats has both parts"),
    ("linsolve mldivide", "a system of linear equations is solved by `solve a b`"),
    ("eig eigen eigvals eigenvals eigs", "of a symmetric matrix `eigh a` has eigenvalues and eigenvectors"),
    ("eigvalsh", "`eigh a` has the eigenvalues and the eigenvectors: `fst (eigh a)`"),
    ("solve_triangular", "triangular systems are solved by `linalg.solve_lower l b` and `linalg.solve_upper u b`"),
    ("cross", "write it out: `[a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]`"),
    ("roll circshift", "`rotate k xs` turns to the left, so `roll xs k` is `rotate (-k) xs`"),
    ("pad", "write it out: `replicate 2 0.0 ++ xs ++ replicate 2 0.0`"),
    ("groupby group_by", "sums by group are `reduce_by_index (zeros [groups]) (+) 0.0 group values`"),
    ("heaviside", "write it out: `if x < 0.0 then 0.0 else 1.0`"),
    ("kron", "write it out: `for i < n * p, j < m * q -> a[i // p, j // q] * b[i % p, j % q]`"),
    ("tril triu", "write it out: `for i < n, j < n -> if j <= i then a[i, j] else 0.0`"),
    ("zeros_like", "zeros in the form of `x` are `0.0 * x`, of a shape `zeros [n, m]`"),
    ("ones_like", "ones in the form of `x` are `1.0 + 0.0 * x`, of a shape `ones [n, m]`"),
    ("full_like", "write `full [n, m] v`"),
    ("empty similar", "arrays have values from the beginning: `zeros [n, m]`, or `for i < n -> ...`"),
    ("fill make", "an array of equal elements is `replicate n x`, or `full [n, m] x`"),
    ("init", "an array is built with `for i < n -> ...`; all of `xs` but its last element is `xs[:-1]`"),
    ("tail tl", "all of `xs` but its first element is `xs[1:]`"),
    ("tile repmat", "an array of copies of `x` is `replicate n x`; joined to one it is `flatten (replicate n x)`"),
    ("repeat", "an array of equal elements is `replicate n x`; a text is repeated by `io.repeat n s`"),
    ("concatenate cat vcat", "arrays are joined with `xs ++ ys`, several of them with `concat [xs, ys]`"),
    (
        "hcat hstack column_stack",
        "matrices are joined side by side by `(a.T ++ b.T).T`, vectors as columns by `[x, y].T`",
    ),
    ("vstack row_stack", "the rows of matrices are joined with `a ++ b`, vectors as rows are `[x, y]`"),
    (
        "expand_dims unsqueeze newaxis squeeze view dropdims",
        "axes are added and dropped by `reshape [n, 1] x`; a number, or an array along the leading axes, is repeated by itself",
    ),
    (
        "permute_dims permutedims swapaxes moveaxis permute",
        "two axes are exchanged by `m.T`; others by `for i < n, j < m, k < l -> a[j, k, i]`",
    ),
    ("arrays array asarray tensor list", "arrays are written `[1.0, 2.0]`, and built with `for i < n -> ...`"),
    ("tuple", "tuples are written `(a, b)`"),
    (
        "dict Dict",
        "fields with names are a record, `{a = 1, b = 2}`; for keys that are computed there is the module `maps`",
    ),
    ("set", "a set is made by `sets.of_list`; an array with another element at `i` is `{xs with [i] = e}`"),
    ("clip", "bounds stand first: `clamp lo hi x`"),
    ("power", "a power is written `x ^ n`"),
    ("sqr square", "a square is written `x ^ 2`"),
    ("mod rem fmod", "the remainder is written `a % b`"),
    ("div quot idiv", "whole numbers are divided with `a // b`"),
    ("divmod quotRem", "write `(a // b, a % b)`"),
    (
        "add subtract multiply divide negative",
        "arithmetic is written with its signs: `a + b`; as functions they are `(+)`, `(*)`",
    ),
    (
        "logical_and logical_or logical_not",
        "of arrays of Bools `a .&& b` and `a .|| b`, of single ones `a && b`, `a || b` and `not a`",
    ),
    ("greater less equal not_equal", "elements are compared by `a .> b`, `a .< b`, `a .== b`"),
    ("even odd iseven isodd", "write `n % 2 == 0`"),
    ("isfinite", "write `not (is_nan x || is_inf x)`"),
    ("isclose allclose isapprox", "write `abs (a - b) < 1e-9`; of arrays `maximum (abs (a - b)) < 1e-9`"),
    ("nansum nanmean nanmax nanmin", "drop the missing ones first: `sum (filter (fun v -> not (is_nan v)) x)`"),
    ("isempty is_empty null_list", "write `len xs == 0`"),
    ("elem contains member isin mem", "membership is `any (map (fun y -> y == x) xs)`"),
    (
        "nonzero find findall flatnonzero",
        "the places where `p` holds are `filter (fun i -> p xs[i]) (iota (len xs))`; the elements are `filter p xs`",
    ),
    ("findmax findmin", "the place is `argmax xs`, the value `maximum xs`"),
    ("searchsorted", "in a sorted array it is `count (fun v -> v < x) xs`"),
    ("enumerate", "write `for i < len xs -> ... i ... xs[i] ...`"),
    (
        "eachindex eachrow eachcol",
        "write `for i < len m -> ... m[i] ...`, `for row in m -> ...`, or `for column in m.T -> ...`",
    ),
    ("collect toList fromList to_list", "arrays are there as a whole; `list.of_array` and `list.to_array` convert"),
    ("mapreduce foldMap", "write `sum (map f xs)`, or `reduce op (map f xs)`"),
    ("concatMap flatMap flat_map", "write `concat (map f xs)`"),
    ("takeWhile dropWhile takewhile", "take a slice at the place that a loop finds, or choose by `filter p xs`"),
    ("iterate", "what changes from step to step is a loop: `loop x = start for i < n do f x`"),
    ("scanl cumulative accumulate", "partial results of a fold are `scan`; running sums are `cumsum xs`"),
    ("fold_right foldr'", "a fold from the right is `foldr`"),
    (
        "iter forEach foreach mapM_ forM_",
        "what is done for each element is a loop: `loop u = () for x in xs do print x`",
    ),
    ("fori_loop while_loop", "written `loop x = start for i < n do ...`, or `loop x = start while c do ...`"),
    ("cond select", "a choice is `if c then a else b`; of elements `where mask a b`"),
    ("uncurry curry", "`fun (x, y) -> f x y`, and `fun x y -> f (x, y)`"),
    ("flip", "elements the other way round are `reverse xs`; arguments `fun x y -> f y x`"),
    ("flipud", "rows the other way round are `reverse m`"),
    ("compose", "functions are composed with `f >> g`"),
    ("partial", "a function that is given fewer arguments waits for the others: `f a`"),
    ("ignore", "a value is dropped with `let _ = e`"),
    ("incr decr", "values do not change; carry what changes through a `loop`"),
    ("sprintf printf fprintf format", "values stand in texts as in `f\"x = {x}\"`; `io.fixed 3 x` has three digits"),
    ("strcat paste", "texts are joined with `a ++ b`"),
    ("read_line readline getLine", "a line is read with `io.input prompt`"),
    ("parse read", "numbers are read from a text by `io.parse_float s` and `io.parse_int s`"),
    (
        "open fopen",
        "modules are imported with `import \"file.adl\" as M`; files are read with `read_csv`, `read_parquet`, `read_npy`, `read_json` and `read_text`",
    ),
    (
        "scan_parquet scan_csv scan_ipc open_dataset",
        "a table that may be larger than memory is `rows.open \"file\"`; `rows.sum f data` and the like read it chunk by chunk",
    ),
    (
        "load loadtxt genfromtxt readtable",
        "files are read with `read_csv path` and `read_npy path`; the REPL loads programs with `:load`",
    ),
    ("save savetxt writetable", "files are written with `write_csv`, `write_parquet`, `write_npy` and `write_json`"),
    (
        "rand randn random_sample",
        "random numbers take a key: `random.normal (random.key 0) [n]`, `random.uniform key [n]`",
    ),
    (
        "randint randi randperm",
        "random numbers take a key: `random.int (random.key 0) lo hi [n]`, `random.permutation key n`",
    ),
    (
        "rng seed set_seed default_rng",
        "a key stands for the state of a generator: `random.key 42`, and `random.split key 2` makes new ones",
    ),
    ("logspace geomspace", "write `map exp (linspace a b n)`"),
    ("gcd lcm", "write a loop: `loop (a, b) = (m, n) while b != 0 do (b, a % b)`"),
    ("factorial fact", "write `prod (range 1 (n + 1))`, or `gamma (x + 1.0)`"),
    ("succ", "write `n + 1`"),
    ("pred", "write `n - 1`"),
    ("eps epsilon epsilon_float", "the distance from 1 to the next Float is `2.220446049250313e-16`"),
    ("max_float realmax", "the largest Float is `1.7976931348623157e308`; infinity is `inf`"),
    ("max_int maxint", "the largest Int is `9223372036854775807`"),
    ("log10", "write `log x / log 10.0`"),
    ("log2", "write `log x / log 2.0`"),
    ("ln", "the natural logarithm is `log x`"),
    ("exp2", "write `2.0 ^ x`"),
    ("sec csc cot", "write `1.0 / cos x`, `1.0 / sin x` and `1.0 / tan x`"),
    (
        "conv convolve correlate",
        "write the sum out: `for i < n -> sum for j < m -> x[i + j] * w[j]`; for layers there is `nn.conv1d`",
    ),
    ("polyfit", "fit with `lstsq a y`, whose columns are powers of `x`"),
    ("polyval", "write `fold (fun acc c -> acc * x + c) 0.0 coefficients`"),
    ("fminsearch fminunc fmincon minimize fmin", "minimisers are `optim.lbfgs optim.lbfgs_defaults f x0` and its like"),
    ("curve_fit lsqcurvefit lsqnonlin", "residuals are minimised by `optim.least_squares`"),
    ("fzero brentq bisect root_scalar fsolve", "roots are found by `roots.brent f a b` and `roots.newton f x0`"),
    ("ode45 odeint solve_ivp ode23", "differential equations are solved by `ode.dopri5` and `ode.rk4`"),
    ("quadgk nquad dblquad", "integrals are computed by `integrate.quad f a b`"),
    ("simps", "samples are integrated by `integrate.simpson`"),
    ("interp1d interp1", "samples are interpolated by `stats.interpolate`, or by the splines of `interp`"),
    ("sleep", "programs do not wait"),
    ("figure close hold", "a plot is a value: `plot.show (plot.line xs ys)`"),
    ("bar barh", "bars are drawn by `plot.bars`"),
    ("legend", "a curve is named by `plot.name \"text\"`"),
    ("plot", "plots are made by the module `plot`: `plot.line xs ys`"),
    ("where", "`where mask a b` chooses elements; a definition stands before its use"),
    ("seq deepseq", "arguments are evaluated before a call: leave this out"),
    ("raise throw throwError", "`error \"text\"` ends the program; what may be missing is an `Option`"),
    ("shape_of size", "the shape of an array is `shape x`, the length of its first axis `len x`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_stands_once() {
        let mut seen = HashSet::new();
        let all: Vec<&str> = same().map(|(n, _)| n).chain(others().map(|(n, _)| n)).collect();
        let twice: Vec<&&str> = all.iter().filter(|n| !seen.insert(**n)).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert!(all.len() > 250, "{}", all.len());
    }

    #[test]
    fn a_name_is_looked_up_whole() {
        assert_eq!(value("vmap"), Some(Counterpart::Name("map")));
        assert!(matches!(value("ifft"), Some(Counterpart::Words(_))));
        assert_eq!(value("my_own"), None);
    }
}
