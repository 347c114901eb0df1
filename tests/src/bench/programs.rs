//! The programs of `tests/bench`, each in several common styles.

use super::{Row, compare, memory, time, time_by_hand};
use crate::by_hand::{ByHand, deals, network, numbers, systems};
use adl_interp::value::{Buf, Value};
use adl_session::Session;

/// A style of a program: its name, its argument, and the function and its derivative as expressions.
type Style = (&'static str, &'static str, &'static str, &'static str);

/// A program.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    source: &'static str,
    /// The problem size; `n` in expressions.
    size: usize,
    /// The numbers passed to the hand-written version.
    given: &'static str,
    by_hand: fn(Vec<f64>, usize) -> ByHand,
    /// The part of the argument `i` with respect to which it is differentiated.
    wrt: &'static str,
    styles: &'static [Style],
}

macro_rules! source {
    ($name:literal) => {
        include_str!(concat!("../../bench/", $name, ".adl"))
    };
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "dot",
        source: source!("dot"),
        size: 1_000_000,
        given: "ravel (input n)",
        by_hand: |x, _| numbers::inner(x),
        wrt: "i",
        styles: &[
            ("dot", "input n", "whole", "grad whole"),
            ("map2", "input n", "maps", "grad maps"),
            ("indices", "input n", "indices", "grad indices"),
            ("loop", "input n", "turns", "grad turns"),
        ],
    },
    Program {
        name: "quaternions",
        source: source!("quaternions"),
        size: 1_000_000,
        given: "let i = input n in flatten i.q ++ flatten i.v",
        by_hand: |x, _| numbers::quaternions(x),
        wrt: "i",
        styles: &[
            ("zip of records", "records (input n)", "zips", "grad zips"),
            ("indices of records", "records (input n)", "indices", "grad indices"),
            ("loop over records", "records (input n)", "turns", "grad turns"),
            ("short arrays", "input n", "arrays", "grad arrays"),
        ],
    },
    Program {
        name: "multiplication",
        source: source!("multiplication"),
        size: 1_000_000,
        given: "let p = input n in flatten (map (fun (a, b) -> [a, b]) p)",
        by_hand: |x, _| numbers::products(x),
        wrt: "i",
        styles: &[("map grad", "input n", "primal", "gradients"), ("grad in for", "input n", "primal", "indices")],
    },
    Program {
        name: "tree",
        source: source!("tree"),
        size: 65_536,
        given: "ravel (input n)",
        by_hand: |x, _| systems::tree(x),
        wrt: "i",
        styles: &[("recursion", "input n", "total", "grad total")],
    },
    Program {
        name: "rk4",
        source: source!("rk4"),
        size: 1_000_000,
        given: "ravel (input n)",
        by_hand: systems::rk4,
        wrt: "i",
        styles: &[
            ("tuples", "input n", "tuples", "grad tuples"),
            ("short arrays", "input n", "arrays", "grad arrays"),
            ("ode.rk4", "input n", "library", "grad library"),
            ("recursion", "input n", "recursion", "grad recursion"),
        ],
    },
    Program {
        name: "newton",
        source: source!("newton"),
        size: 100_000,
        given: "input n",
        by_hand: |x, _| numbers::newton(x),
        wrt: "i",
        styles: &[
            ("map", "input n", "maps", "grad maps"),
            ("indices", "input n", "indices", "grad indices"),
            ("recursion", "input n", "recursion", "grad recursion"),
        ],
    },
    Program {
        name: "kalman",
        source: source!("kalman"),
        size: 10_000,
        given: "let i = input n in [i.q, i.r] ++ i.x0 ++ i.z",
        by_hand: |x, _| systems::kalman(x),
        wrt: "i",
        styles: &[
            ("matrices", "input n", "matrices", "grad matrices"),
            ("numbers", "input n", "numbers", "grad numbers"),
        ],
    },
    Program {
        name: "bodies",
        source: source!("bodies"),
        size: 500,
        given: "ravel (input n)",
        by_hand: |x, _| systems::bodies(x),
        wrt: "i",
        styles: &[
            ("map of map", "input n", "maps", "grad maps"),
            ("indices, i != j", "input n", "indices", "grad indices"),
            ("indices, j < i", "input n", "triangle", "grad triangle"),
            ("loops", "input n", "turns", "grad turns"),
        ],
    },
    Program {
        name: "options",
        source: source!("options"),
        size: 1_000_000,
        given: "let c = columns n in c.rate ++ c.spot ++ c.strike ++ c.time ++ c.vol",
        by_hand: |x, _| deals::options(x),
        wrt: "i",
        styles: &[
            ("map grad", "rows n", "total", "greeks"),
            ("records", "rows n", "total", "grad total"),
            ("columns", "columns n", "whole", "grad whole"),
        ],
    },
    Program {
        name: "network",
        source: source!("network"),
        size: 256,
        given: "let i = input n in ravel i.net ++ flatten i.pictures ++ map float i.labels",
        by_hand: |x, _| network::layers(x),
        wrt: "i.net",
        styles: &[
            (
                "batch",
                "input n",
                "(fun i w -> batch {i with net = w}) i",
                "grad ((fun i w -> batch {i with net = w}) i)",
            ),
            (
                "picture by picture",
                "input n",
                "(fun i w -> pictures {i with net = w}) i",
                "grad ((fun i w -> pictures {i with net = w}) i)",
            ),
        ],
    },
];

/// A session that has loaded a program.
struct Run(Session);

impl Run {
    fn new(p: &Program, size: usize) -> Result<Run, String> {
        let mut s = crate::timed_session().0;
        let out = s.eval(&format!("{}\nlet n = {size}\n", p.source));
        match out.diags.iter().find(|d| d.is_error()) {
            Some(d) => Err(d.message.clone()),
            None => Ok(Run(s)),
        }
    }

    fn value(&mut self, text: &str) -> Result<Value, String> {
        self.0.value(text).map_err(|d| d.first().map_or_else(String::new, |d| d.message.clone()))
    }

    fn floats(&mut self, text: &str) -> Result<Vec<f64>, String> {
        match self.value(text)? {
            Value::Array(a) => match a.buf() {
                Buf::F64(x) => Ok(x.clone()),
                _ => Err(format!("`{text}` has no Floats")),
            },
            Value::Float(x) => Ok(vec![x]),
            _ => Err(format!("`{text}` is no array")),
        }
    }

    fn call(&mut self, f: &Value, x: &Value) -> Result<(), String> {
        self.0.call(f, std::slice::from_ref(x)).map(|_| ()).map_err(|d| d.message.clone())
    }
}

/// Measures a program in all styles, at `size` or at its default size.
pub fn measure(program: &Program, size: Option<usize>, seconds: f64, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let count = size.unwrap_or(program.size);
    let given = Run::new(program, count)?.floats(program.given)?;
    let hand = (program.by_hand)(given, count);
    for (style, argument, primal, gradient) in program.styles {
        let mut run = Run::new(program, count)?;
        run.value(&format!("let i = {argument}"))?;
        let wanted = run.value(program.wrt)?;
        let (f, g) = (run.value(primal)?, run.value(gradient)?);
        compare(
            style,
            &[run.floats(&format!("sum (ravel (({primal}) {}))", program.wrt))?[0]],
            &[(hand.value)().iter().sum()],
        )?;
        let (made, held) = memory(|| run.floats(&format!("ravel (({gradient}) {})", program.wrt)));
        compare(style, &made?, &(hand.gradient)())?;
        let primal = time(seconds, || run.call(&f, &wanted))?;
        let gradient = time(seconds, || run.call(&g, &wanted))?;
        let by_hand = time_by_hand(&hand, seconds);
        row(Row {
            name: format!("{}: {style}", program.name),
            size: count.to_string(),
            primal: Some(primal),
            gradient: Some(gradient),
            by_hand: Some(by_hand),
            memory: held,
        });
    }
    Ok(())
}
