//! The programs that `bench` measures, by topic.

use super::programs::{BenchProgram, ProgramStyle};

/// All programs, with the titles of their topics.
pub const TOPICS: &[(&str, &[BenchProgram])] = &[
    ("Programs", PROGRAMS),
    ("Statistical models", MODELS),
    ("GradBench", GRADBENCH),
    ("Reductions, scans and histograms", OPERATORS),
    ("Forms of one computation", FORMS),
];

/// All programs.
pub fn programs() -> impl Iterator<Item = &'static BenchProgram> {
    TOPICS.iter().flat_map(|(_, programs)| programs.iter())
}

const fn style(name: &'static str, value: &'static str) -> ProgramStyle {
    ProgramStyle::new(name, value)
}

/// Data that are parameters of what is differentiated, and data that it reads as globals. `$f` takes `$given` first.
macro_rules! parameter_and_global {
    ($f:literal, $given:literal) => {
        &[style("", concat!($f, " ", $given)), style("data as a global", concat!("fun x -> ", $f, " ", $given, " x"))]
    };
}

const PROGRAMS: &[BenchProgram] = &[
    BenchProgram::new("dot", "bench/dot.adl", "dot").sizes(&["1_000_000", "10_000"], "37").styles(&[
        style("dot", "P.whole"),
        style("map2", "P.maps"),
        style("indices", "P.indices"),
        style("loop", "P.looped"),
    ]),
    BenchProgram::new("sum of a matrix times a vector", "bench/sums.adl", "sum_mat_vec")
        .input("P.matrix_input n")
        .sizes(&["1_000", "100"], "7")
        .styles(&[style("", "P.sum_mat_vec"), style("rebound at top level", "P.sum_mat_vec").rebound()]),
    BenchProgram::new("quaternions", "bench/quaternions.adl", "quaternions")
        .given("P.records i")
        .by("P.records i")
        .sizes(&["1_000_000", "10_000"], "13")
        .styles(&[
            style("zip of records", "P.zips"),
            style("indices of records", "P.indices"),
            style("loop over records", "P.looped"),
            style("short arrays", "P.arrays").of("i").ordered("P.records"),
        ]),
    BenchProgram::new("multiplication", "bench/multiplication.adl", "multiplication")
        .sizes(&["1_000_000"], "11")
        .styles(&[
            style("map grad", "P.primal").alone("P.gradients"),
            style("grad in for", "P.primal").alone("P.indices"),
        ]),
    BenchProgram::new("tree", "bench/tree.adl", "tree")
        .given("P.in_arrays i")
        .sizes(&["65_536"], "16")
        .styles(&[style("recursion over data", "P.total").ordered("fun (t : P.Tree) -> ravel t")]),
    BenchProgram::new("tree sum", "bench/sums.adl", "treesum")
        .input("P.tree_input n")
        .sizes(&["65_536", "4_096", "1_048_576"], "19")
        .styles(&[style("recursion over indices", "P.treesum")]),
    BenchProgram::new("rk4", "bench/rk4.adl", "rk4").sizes(&["1_000_000", "10_000", "1_200", "700"], "23").styles(&[
        style("tuples", "P.tuples"),
        style("short arrays", "P.arrays"),
        style("ode.rk4", "P.library"),
        style("recursion", "P.recursion"),
    ]),
    BenchProgram::new("newton", "bench/newton.adl", "newton").sizes(&["100_000", "1_000"], "9").styles(&[
        style("map", "P.maps"),
        style("indices", "P.indices"),
        style("recursion", "P.recursion"),
    ]),
    BenchProgram::new("kalman", "bench/kalman.adl", "kalman")
        .sizes(&["10_000", "1_000"], "12")
        .styles(&[style("matrices", "P.matrices"), style("numbers", "P.numbers")]),
    BenchProgram::new("kalman in the plane", "bench/kalman.adl", "plane")
        .input("{p = P.motion, z = P.measured n}")
        .by("i.p")
        .sizes(&["10_000", "1_000"], "6")
        .styles(&[style("", "P.plane i.z"), style("data as a global", "fun p -> P.plane i.z p")]),
    BenchProgram::new("bodies", "bench/bodies.adl", "bodies").sizes(&["500"], "11").styles(&[
        style("map of map", "P.maps"),
        style("indices, i != j", "P.indices"),
        style("indices, j < i", "P.triangle"),
        style("loops", "P.looped"),
    ]),
    BenchProgram::new("options", "bench/options.adl", "options")
        .input("P.columns n")
        .by("P.rows n")
        .sizes(&["1_000_000", "1_000"], "10")
        .styles(&[
            style("map grad", "P.total").alone("P.greeks"),
            style("records", "P.total"),
            style("columns", "P.whole").of("i"),
        ]),
    BenchProgram::new("network", "bench/network.adl", "network")
        .input("P.input n.n n.dots n.a n.b")
        .by("i.net")
        .sizes(
            &["n = 256, dots = 784, a = 128, b = 64", "n = 64, dots = 64, a = 128, b = 32"],
            "n = 3, dots = 20, a = 17, b = 5",
        )
        .styles(&[
            style("batch", "(fun i w -> P.batch {i with net = w}) i"),
            style("batch, data as a global", "fun w -> P.batch {i with net = w}"),
            style("picture by picture", "(fun i w -> P.pictures {i with net = w}) i"),
        ]),
    BenchProgram::new("bundle adjustment", "bench/ba.adl", "ba")
        .input("Input.ba n.cameras n.points n.seen")
        .sizes(&["cameras = 49, points = 7_776, seen = 31_843"], "cameras = 2, points = 5, seen = 7")
        .styles(&[
            style("", "P.errors").both("fun d -> (P.errors d, P.jacobians d)"),
            style("data as a global", "fun () -> P.errors i").of("()").both("fun () -> (P.errors i, P.jacobians i)"),
        ]),
];

const MODELS: &[BenchProgram] = &[
    BenchProgram::new("hidden Markov model", "bench/forms.adl", "hmm")
        .input("P.markov n.states 10")
        .given("(i, random.int (random.key 4) 0 10 [n.length])")
        .sizes(&["states = 8, length = 500"], "states = 3, length = 6")
        .styles(&[
            style("", "P.hmm (random.int (random.key 4) 0 10 [n.length])"),
            style("the step is passed", "P.passed_hmm (random.int (random.key 4) 0 10 [n.length])"),
        ]),
    BenchProgram::new("garch", "bench/statistics.adl", "garch")
        .input("{p = P.garch_start, y = P.data n}")
        .by("i.p")
        .sizes(&["1_000", "100_000"], "7")
        .styles(parameter_and_global!("P.garch", "i.y")),
    BenchProgram::new("mixture of normals", "bench/statistics.adl", "normals")
        .input("{p = P.mixture_start n.k, y = P.data n.n}")
        .by("i.p")
        .sizes(&["k = 5, n = 1_000", "k = 5, n = 100_000"], "k = 3, n = 8")
        .styles(parameter_and_global!("P.mixture", "i.y")),
    BenchProgram::new("autoregression", "bench/statistics.adl", "autoregression")
        .input("{p = P.autoregression_start, y = P.data n}")
        .by("i.p")
        .sizes(&["1_000", "100_000"], "12")
        .styles(parameter_and_global!("P.autoregression", "i.y")),
];

const GRADBENCH: &[BenchProgram] = &[
    BenchProgram::new("hello", "gradbench/hello.adl", "squares")
        .input("3.0 * n")
        .sizes(&["1.0"], "0.5")
        .styles(&[style("", "P.square")]),
    BenchProgram::new("gmm", "gradbench/gmm.adl", "gmm")
        .input("Input.gmm n.d n.k n.n")
        .by("P.params i")
        .sizes(
            &[
                "d = 10, k = 25, n = 1000",
                "d = 2, k = 5, n = 1000",
                "d = 2, k = 100, n = 1000",
                "d = 20, k = 50, n = 1000",
                "d = 64, k = 25, n = 1000",
                "d = 64, k = 100, n = 1000",
            ],
            "d = 3, k = 2, n = 70",
        )
        .styles(parameter_and_global!("P.log_posterior", "i")),
    BenchProgram::new("lstm", "gradbench/lstm.adl", "lstm")
        .input("Input.lstm n.l n.c")
        .by("P.params i")
        .sizes(&["l = 2, c = 1024", "l = 4, c = 4096"], "l = 2, c = 5")
        .styles(parameter_and_global!("P.loss", "i.state i.sequence")),
    BenchProgram::new("llsq", "gradbench/llsq.adl", "llsq")
        .input("Input.llsq n.n n.m")
        .by("i.x")
        .sizes(&["n = 16392, m = 128", "n = 128, m = 128"], "n = 45, m = 5")
        .styles(&[style("", "P.distance i.n")]),
    BenchProgram::new("lse", "gradbench/lse.adl", "lse")
        .input("Input.lse n")
        .by("i.x")
        .sizes(&["1_280_000", "2_500"], "21")
        .styles(&[style("", "P.lse")]),
    BenchProgram::new("ode", "gradbench/ode.adl", "ode")
        .input("Input.ode n.n n.s")
        .sizes(&["n = 100000, s = 10", "n = 100000, s = 1"], "n = 9, s = 3")
        .styles(&[style("", "P.primal").alone("P.gradient")]),
    BenchProgram::new("det", "gradbench/det.adl", "det")
        .input("Input.det n")
        .by("P.square i")
        .sizes(&["9", "5"], "4")
        .styles(&[style("", "P.det")]),
    BenchProgram::new("kmeans", "gradbench/kmeans.adl", "kmeans")
        .input("Input.kmeans n.k n.n n.d")
        .given("(i.centroids, len i.centroids[0], i.points)")
        .sizes(&["k = 100, n = 10000, d = 16", "k = 10, n = 1000, d = 8"], "k = 3, n = 40, d = 2")
        .styles(&[style("", "P.cost").alone("P.dir")]),
    BenchProgram::new("ht", "gradbench/ht.adl", "ht")
        .input("Input.ht n.vertices n.points")
        .given(
            "let m = i.data.model in (m.base_positions, m.base_relatives, m.inverse_base_absolutes, m.weights, \
             i.data.points, i.theta, i.us, i.data.correspondences, m.parents, m.triangles, \
             if m.is_mirrored then -1.0 else 1.0)",
        )
        .sizes(&["vertices = 10000, points = 1000", "vertices = 544, points = 100"], "vertices = 5, points = 3")
        .styles(&[style("", "P.objective").alone("P.jacobian")]),
    BenchProgram::new("particle", "gradbench/particle.adl", "").input("{w = 0.0}").sizes(&["1"], "1").styles(&[
        style("ff", "").alone("P.ff"),
        style("fr", "").alone("P.fr"),
        style("rf", "").alone("P.rf"),
        style("rr", "").alone("P.rr"),
    ]),
    BenchProgram::new("saddle", "gradbench/saddle.adl", "").input("{start = [1.0, 1.0]}").sizes(&["1"], "1").styles(&[
        style("ff", "").alone("P.ff"),
        style("fr", "").alone("P.fr"),
        style("rf", "").alone("P.rf"),
        style("rr", "").alone("P.rr"),
    ]),
];

/// A program of `operators.adl` whose input is a record of `x`, by which is differentiated, and weights `w`.
const fn operator(
    name: &'static str,
    cpp: &'static str,
    input: &'static str,
    styles: &'static [ProgramStyle],
) -> BenchProgram {
    BenchProgram::new(name, "bench/operators.adl", cpp).input(input).given("(i.x, i.w)").by("i.x").styles(styles)
}

const MILLION: &[&str] = &["1_000_000", "100_000"];

const fn reduction(
    name: &'static str,
    cpp: &'static str,
    input: &'static str,
    styles: &'static [ProgramStyle],
) -> BenchProgram {
    operator(name, cpp, input, styles).sizes(MILLION, "27")
}

/// Products of `K` by `K` matrices.
macro_rules! products {
    ($name:literal, $cpp:literal, $k:literal, $weights:literal, $style:expr) => {
        operator($name, $cpp, concat!("{x = P.matrices 1 n ", $k, ", w = ", $weights, "}"), &[$style])
            .given(concat!("(i.x, i.w, ", $k, ")"))
            .sizes(&["100_000"], "6")
    };
}

/// A histogram: bins, weights of the bins, and the elements `x`.
macro_rules! histogram {
    ($name:literal, $cpp:literal, $x:literal, $weights:literal, $sizes:expr) => {
        BenchProgram::new($name, "bench/operators.adl", $cpp)
            .input(concat!("let x = ", $x, " in {bin = P.bins (len x) n.bins, w = ", $weights, ", x = x}"))
            .by("i.x")
            .sizes($sizes, "n = 96, bins = 5")
            .styles(&[style("", concat!("P.", $cpp, " i.bin i.w"))])
    };
}

const BINS: &[&str] = &["n = 1_000_000, bins = 31", "n = 1_000_000, bins = 100_000"];
const BINS_OF_ROWS: &[&str] = &["n = 1_000_000, bins = 31", "n = 1_000_000, bins = 10_000"];

const OPERATORS: &[BenchProgram] = &[
    reduction(
        "reduce +",
        "reduce_add",
        "{x = P.around_zero 1 n, w = 0.75}",
        &[style("", "P.reduce_add i.w"), style("rebound at top level", "P.reduce_add i.w").rebound()],
    ),
    reduction("reduce min", "reduce_min", "{x = P.around_zero 1 n, w = 0.75}", &[style("", "P.reduce_min i.w")]),
    reduction("reduce *", "reduce_mul", "{x = P.around_one 1 n, w = 0.75}", &[style("", "P.reduce_mul i.w")]),
    reduction(
        "reduce of linear functions",
        "reduce_linear",
        "{x = P.pairs n, w = (1.0, 0.75)}",
        &[style("", "P.reduce_linear i.w")],
    ),
    reduction(
        "reduce of sums of products",
        "reduce_products",
        "{x = P.pairs n, w = (1.0, 0.75)}",
        &[style("", "P.reduce_products i.w")],
    ),
    products!(
        "reduce of 2 by 2 matrices",
        "reduce_matrices",
        "2",
        "(P.matrices 2 1 2)[0]",
        style("", "P.reduce_2 i.w")
    ),
    products!(
        "reduce of 3 by 3 matrices",
        "reduce_matrices",
        "3",
        "(P.matrices 2 1 3)[0]",
        style("", "P.reduce_3 i.w")
    ),
    products!(
        "reduce of 5 by 5 matrices",
        "reduce_matrices",
        "5",
        "(P.matrices 2 1 5)[0]",
        style("", "P.reduce_5 i.w")
    ),
    products!(
        "reduce of 2 by 2 matrices",
        "reduce_matrices",
        "2",
        "[[1.0, 1.0], [1.0, 1.0]]",
        style("without weights", "P.plain_reduce_2")
    ),
    reduction("scan +", "scan_add", "{x = P.around_zero 1 n, w = P.around_zero 3 n}", &[style("", "P.scan_add i.w")]),
    reduction("scan min", "scan_min", "{x = P.around_zero 1 n, w = P.around_zero 3 n}", &[style("", "P.scan_min i.w")]),
    reduction("scan *", "scan_mul", "{x = P.around_one 1 n, w = P.around_zero 3 n}", &[style("", "P.scan_mul i.w")]),
    reduction(
        "scan of linear functions",
        "scan_linear",
        "{x = P.pairs n, w = {a = P.around_zero 3 n, b = P.around_zero 4 n}}",
        parameter_and_global!("P.scan_linear", "i.w"),
    ),
    reduction(
        "scan of sums of products",
        "scan_products",
        "{x = P.pairs n, w = {a = P.around_zero 3 n, b = P.around_zero 4 n}}",
        &[style("", "P.scan_products i.w")],
    ),
    products!("scan of 2 by 2 matrices", "scan_matrices", "2", "P.matrices 2 n 2", style("", "P.scan_2 i.w")),
    products!("scan of 3 by 3 matrices", "scan_matrices", "3", "P.matrices 2 n 3", style("", "P.scan_3 i.w")),
    products!("scan of 5 by 5 matrices", "scan_matrices", "5", "P.matrices 2 n 5", style("", "P.scan_5 i.w")),
    products!(
        "scan of 2 by 2 matrices",
        "scan_matrices",
        "2",
        "replicate n [[1.0, 1.0], [1.0, 1.0]]",
        style("without weights", "P.plain_scan_2")
    ),
    histogram!("histogram +", "hist_add", "P.around_zero 1 n.n", "P.around_zero 3 n.bins", BINS),
    histogram!("histogram min", "hist_min", "P.around_zero 1 n.n", "P.around_zero 3 n.bins", BINS),
    histogram!("histogram *", "hist_mul", "P.around_one 1 n.n", "P.around_zero 3 n.bins", BINS),
    histogram!(
        "histogram + of rows",
        "hist_rows_add",
        "P.rows (P.around_zero 1 n.n)",
        "P.rows (P.around_zero 3 (16 * n.bins))",
        BINS_OF_ROWS
    ),
    histogram!(
        "histogram min of rows",
        "hist_rows_min",
        "P.rows (P.around_zero 1 n.n)",
        "P.rows (P.around_zero 3 (16 * n.bins))",
        BINS_OF_ROWS
    ),
    histogram!(
        "histogram * of rows",
        "hist_rows_mul",
        "P.rows (P.around_one 1 n.n)",
        "P.rows (P.around_zero 3 (16 * n.bins))",
        BINS_OF_ROWS
    ),
];

/// A program of `forms.adl`.
const fn form(
    name: &'static str,
    cpp: &'static str,
    input: &'static str,
    styles: &'static [ProgramStyle],
) -> BenchProgram {
    BenchProgram::new(name, "bench/forms.adl", cpp).input(input).styles(styles)
}

const FORMS: &[BenchProgram] = &[
    form("convolution of vectors", "convolution", "{k = P.normal 1 n.k, x = P.normal 2 n.n}", &[style("", "P.conv")])
        .given("([1, 1, 1, 1, n.n - n.k + 1, 1, n.k], i.k, i.x)")
        .by("(i.k, i.x)")
        .sizes(&["n = 1_000_000, k = 64"], "n = 9, k = 4"),
    form(
        "convolution of matrices",
        "convolution",
        "{k = reshape [n.k, n.k] (P.normal 1 (n.k * n.k)), x = reshape [n.n, n.n] (P.normal 2 (n.n * n.n))}",
        &[style("", "P.conv2")],
    )
    .given("let m = n.n - n.k + 1 in ([1, 1, 1, m, m, n.k, n.k], i.k, i.x)")
    .by("(i.k, i.x)")
    .sizes(&["n = 512, k = 5"], "n = 7, k = 3"),
    form(
        "layer of convolutions",
        "convolution",
        "{k = reshape [n.o, n.c, 3, 3] (P.normal 1 (9 * n.o * n.c)), \
         x = reshape [n.b, n.c, n.e + 2, n.e + 2] (P.normal 2 (n.b * n.c * (n.e + 2) ^ 2))}",
        &[style("", "P.conv4")],
    )
    .given("([n.b, n.c, n.o, n.e, n.e, 3, 3], i.k, i.x)")
    .by("(i.k, i.x)")
    .sizes(&["b = 16, c = 8, o = 16, e = 32"], "b = 2, c = 3, o = 2, e = 5"),
    form(
        "cubes of 2 by 2 matrices",
        "cubes",
        "reshape [n, 2, 2] (P.normal 1 (4 * n))",
        &[style("map", "P.cubes_2"), style("loop", "P.looped_cubes_2")],
    )
    .given("(2, i)")
    .sizes(&["100_000"], "5"),
    form(
        "cubes of 4 by 4 matrices",
        "cubes",
        "reshape [n, 4, 4] (P.normal 1 (16 * n))",
        &[style("map", "P.cubes_4"), style("indices", "P.indexed_cubes_4")],
    )
    .given("(4, i)")
    .sizes(&["100_000"], "3"),
    form(
        "ragged sums",
        "ragged",
        "{c = P.normal 1 n, x = P.normal 2 n}",
        &[
            style("j < i + 1", "P.ragged i.c"),
            style("j < min (i + 1) n", "P.ragged_min i.c"),
            style("slices", "P.ragged_slices i.c"),
        ],
    )
    .by("i.x")
    .sizes(&["2_000"], "9"),
    form(
        "windows",
        "windows",
        "P.normal 1 n",
        &[
            style("written out", "P.windows"),
            style("with a name", "P.named_windows"),
            style("hoisted", "P.hoisted_windows"),
        ],
    )
    .sizes(&["5_000"], "31"),
    form(
        "product of matrices",
        "contraction",
        "reshape [n, n] (P.normal 1 (n * n))",
        &[style("comprehension", "P.contraction"), style("product", "P.product")],
    )
    .given("(n, i)")
    .sizes(&["60"], "5"),
    form("band", "band", "P.normal 1 n", &[style("condition", "P.band"), style("bounds", "P.bounded_band")])
        .sizes(&["4_000"], "12"),
    form(
        "Hessian with one dense row",
        "arrow",
        "P.normal 1 n",
        &[style("", "P.arrow").alone("fun x -> (hessian_sparse P.arrow x).values")],
    )
    .sizes(&["1_000"], "5"),
    form(
        "Hessian with three bands",
        "valley",
        "0.1 * P.normal 1 n",
        &[style("", "P.valley").alone("fun x -> (hessian_sparse P.valley x).values")],
    )
    .sizes(&["100_000"], "5"),
    form("norms of rows of 3", "norms", "reshape [n, 3] (P.normal 1 (3 * n))", &[style("", "P.norms_3")])
        .given("(3, i)")
        .sizes(&["300_000"], "5"),
    form("norms of rows of 16", "norms", "reshape [n, 16] (P.normal 1 (16 * n))", &[style("", "P.norms_16")])
        .given("(16, i)")
        .sizes(&["60_000"], "3"),
    form(
        "squares",
        "squares",
        "P.normal 1 n",
        &[style("trace (diag (x * x))", "P.diagonal"), style("sum", "P.squares")],
    )
    .sizes(&["2_000"], "6"),
    form("chain of functions", "chain", "(n, 0.7)", &[style("", "chain")])
        .defining(chain_of_functions)
        .by("0.7")
        .sizes(&["1_000"], "12"),
    form("chain of statements", "chain", "(n, 0.7)", &[style("", "chain")])
        .defining(chain_of_statements)
        .by("0.7")
        .sizes(&["1_000", "5_000"], "12"),
];

/// The factors of a chain, as in C++.
fn factor(k: usize) -> f64 {
    1.0 + 0.1 * (k % 7) as f64
}

/// `n` functions, each of which calls the one before it.
fn chain_of_functions(n: usize) -> String {
    let one = |k: usize| {
        format!("let f{k} (x : Float) : Float = let y = f{} x in y + 0.001 * sin ({:?} * y)\n", k - 1, factor(k))
    };
    let functions: String = (1..=n).map(one).collect();
    format!("let f0 (x : Float) : Float = x\n{functions}let chain = f{n}\n")
}

/// A function of `n` statements.
fn chain_of_statements(n: usize) -> String {
    let one = |k: usize| {
        let before = k - 1;
        format!("  let y{k} = y{before} + 0.001 * sin ({:?} * y{before})\n", factor(k))
    };
    let statements: String = (1..=n).map(one).collect();
    format!("let chain (y0 : Float) : Float =\n{statements}  y{n}\n")
}
