//! How a program of `tests/bench` is checked and measured, in each of its styles. The list of them is `table`.

use super::native::{ByHand, Leaf, Problem};
use super::{Row, Times, compare, memory, time};
use adl_interp::value::{Buf, Value};
use adl_session::Session;

/// A style of a program. Texts are adl, in which `P` is the program's file, `Input` is `inputs.adl`, `n` the size and
/// `i` the input.
#[derive(Clone, Copy)]
pub struct ProgramStyle {
    /// Its name; empty if there is one style only.
    pub name: &'static str,
    /// The function, if it is measured.
    value: &'static str,
    /// What gives the value and the gradient, or the derivative alone.
    gradient: Gradient,
    /// The function's argument, if it is not the program's.
    argument: &'static str,
    /// A function that puts the gradient in the order of the C++.
    order: &'static str,
    /// Each call is an entry of a session that rebinds a name.
    entry: bool,
}

/// How a style computes its derivative.
#[derive(Clone, Copy)]
enum Gradient {
    /// `value_and_grad` of the function.
    OfValue,
    /// A function that returns the value and the derivative.
    Both(&'static str),
    /// A function that returns the derivative.
    Alone(&'static str),
}

impl ProgramStyle {
    /// A function of the program's argument, differentiated by `value_and_grad`.
    pub const fn new(name: &'static str, value: &'static str) -> ProgramStyle {
        ProgramStyle { name, value, gradient: Gradient::OfValue, argument: "", order: "", entry: false }
    }

    /// With another argument.
    pub const fn of(self, argument: &'static str) -> ProgramStyle {
        ProgramStyle { argument, ..self }
    }

    /// With a function that returns value and derivative.
    pub const fn both(self, gradient: &'static str) -> ProgramStyle {
        ProgramStyle { gradient: Gradient::Both(gradient), ..self }
    }

    /// With a function that returns the derivative only.
    pub const fn alone(self, gradient: &'static str) -> ProgramStyle {
        ProgramStyle { gradient: Gradient::Alone(gradient), ..self }
    }

    /// With a function that puts the gradient in the order of the C++.
    pub const fn ordered(self, order: &'static str) -> ProgramStyle {
        ProgramStyle { order, ..self }
    }

    /// Measured as entries of a session, each of which rebinds a name to the result.
    pub const fn rebound(self) -> ProgramStyle {
        ProgramStyle { entry: true, ..self }
    }
}

/// A program.
#[derive(Clone, Copy)]
pub struct BenchProgram {
    /// Its name.
    pub name: &'static str,
    /// Its file, in `tests`.
    pub file: &'static str,
    /// The C++ problem; empty if there is none.
    pub cpp: &'static str,
    input: &'static str,
    given: &'static str,
    argument: &'static str,
    /// Definitions that are made for the size.
    definitions: Option<fn(usize) -> String>,
    /// The sizes that are measured, the first one in all styles, the others in the first style.
    pub sizes: &'static [&'static str],
    /// A size for tests.
    pub small: &'static str,
    /// Its styles.
    pub styles: &'static [ProgramStyle],
}

impl BenchProgram {
    /// A program of a file with a C++ problem. Its input is `P.input n`, its argument and what C++ takes the input.
    pub const fn new(name: &'static str, file: &'static str, cpp: &'static str) -> BenchProgram {
        let (input, given) = ("P.input n", "i");
        let definitions = None;
        BenchProgram { name, file, cpp, input, given, argument: "i", definitions, sizes: &[], small: "", styles: &[] }
    }

    /// With another input.
    pub const fn input(self, input: &'static str) -> BenchProgram {
        BenchProgram { input, ..self }
    }

    /// With other inputs of the C++: a tuple or record of numbers and arrays.
    pub const fn given(self, given: &'static str) -> BenchProgram {
        BenchProgram { given, ..self }
    }

    /// With a part of the input as argument, by which is differentiated.
    pub const fn by(self, argument: &'static str) -> BenchProgram {
        BenchProgram { argument, ..self }
    }

    /// With definitions that depend on the size, a number.
    pub const fn defining(self, definitions: fn(usize) -> String) -> BenchProgram {
        BenchProgram { definitions: Some(definitions), ..self }
    }

    /// With these sizes, and one for tests.
    pub const fn sizes(self, sizes: &'static [&'static str], small: &'static str) -> BenchProgram {
        BenchProgram { sizes, small, ..self }
    }

    /// With these styles.
    pub const fn styles(self, styles: &'static [ProgramStyle]) -> BenchProgram {
        BenchProgram { styles, ..self }
    }
}

/// A session that has loaded a program.
struct LoadedProgram(Session);

impl LoadedProgram {
    fn new(p: &BenchProgram, size: &str) -> Result<LoadedProgram, String> {
        let mut run = LoadedProgram(crate::timed_session().0);
        if let Some(make) = p.definitions {
            let n = size.replace('_', "").parse().map_err(|_| format!("`{size}` is not a number"))?;
            run.entry(&make(n))?;
        }
        let size = if size.contains('=') { format!("{{{size}}}") } else { size.to_owned() };
        run.entry(&format!(
            "import \"tests/bench/inputs.adl\" as Input\nimport \"tests/{}\" as P\nlet n = {size}\nlet i = {}",
            p.file, p.input
        ))?;
        Ok(run)
    }

    fn entry(&mut self, text: &str) -> Result<(), String> {
        let out = self.0.eval(text);
        out.diags.iter().find(|d| d.is_error()).map_or(Ok(()), |d| Err(format!("{}: {}", d.code, d.message)))
    }

    fn value(&mut self, text: &str) -> Result<Value, String> {
        self.0.value(text).map_err(|d| d.first().map_or_else(String::new, |d| format!("{text}: {}", d.message)))
    }

    fn call(&mut self, f: &Value, x: &Value) -> Result<Value, String> {
        self.0.call(f, std::slice::from_ref(x)).map_err(|d| d.message.clone())
    }

    /// Calls `f`, or runs an entry that binds a name to the result of the same call.
    fn once(&mut self, f: &StyleFunction, x: &Value) -> Result<Value, String> {
        match &f.entry {
            Some(entry) => {
                self.entry(entry)?;
                Ok(Value::Unit)
            }
            None => self.call(&f.value, x),
        }
    }
}

/// A function of a style, and the entry that calls it.
struct StyleFunction {
    value: Value,
    entry: Option<String>,
}

impl StyleFunction {
    fn new(run: &mut LoadedProgram, style: &ProgramStyle, text: &str, argument: &str) -> Result<StyleFunction, String> {
        let entry = style.entry.then(|| format!("let r = ({text}) ({argument})"));
        Ok(StyleFunction { value: run.value(text)?, entry })
    }
}

/// The numbers and arrays of a value, in order.
fn leaves(value: &Value, out: &mut Vec<Leaf>) -> Result<(), String> {
    match value {
        Value::Float(x) => out.push(Leaf::Floats(vec![*x])),
        Value::Int(x) => out.push(Leaf::Ints(vec![*x])),
        Value::Tuple(t) => t.0.iter().try_for_each(|v| leaves(v, out))?,
        Value::Record(r) => r.vals.iter().try_for_each(|v| leaves(v, out))?,
        Value::Array(a) => match a.buf() {
            Buf::F64(x) => out.push(Leaf::Floats(x.clone())),
            Buf::I64(x) => out.push(Leaf::Ints(x.clone())),
            Buf::Tuple(columns) | Buf::Record(_, columns) => columns.iter().try_for_each(|v| leaves(v, out))?,
            Buf::Unit => {}
            _ => return Err("an array of neither Floats nor Ints".to_owned()),
        },
        Value::Unit => {}
        _ => return Err(format!("{} is neither a number nor made of them", adl_interp::value::show::show(value))),
    }
    Ok(())
}

/// The Floats of a value, in order.
fn floats(v: &Value) -> Result<Vec<f64>, String> {
    let mut all = Vec::new();
    leaves(v, &mut all)?;
    Ok(all.into_iter().flat_map(|l| if let Leaf::Floats(x) = l { x } else { Vec::new() }).collect())
}

/// The results of a style: the value, if it has one, and the gradient in the order of the C++.
struct Results {
    value: Vec<f64>,
    gradient: Vec<f64>,
    /// Whether the derivative comes with the value.
    both: bool,
}

impl Results {
    /// Compares with the C++, if there is one.
    fn check(&self, name: &str, hand: &Problem) -> Result<(), String> {
        let (mut value, mut gradient) = (vec![f64::NAN; self.value.len()], vec![f64::NAN; self.gradient.len()]);
        if !value.is_empty() {
            hand.value(&mut value);
            compare(&format!("{name}, value"), &self.value, &value)?;
            value.fill(f64::NAN);
        }
        let with_value = if self.both { &mut value[..] } else { &mut [] };
        hand.gradient(with_value, &mut gradient);
        if self.both {
            compare(&format!("{name}, value with gradient"), &self.value, &value)?;
        }
        compare(&format!("{name}, gradient"), &self.gradient, &gradient)
    }

    /// The times of the C++.
    fn times_by_hand(&self, hand: &Problem, seconds: f64) -> (Option<Times>, Option<Times>) {
        let (mut value, mut gradient) = (vec![0.0; self.value.len()], vec![0.0; self.gradient.len()]);
        let run = |f: &mut dyn FnMut()| {
            time::<()>(seconds, || {
                f();
                Ok(())
            })
            .ok()
        };
        let primal = if value.is_empty() { None } else { run(&mut || hand.value(&mut value)) };
        let with_value = if self.both { &mut value[..] } else { &mut [] };
        (primal, run(&mut || hand.gradient(with_value, &mut gradient)))
    }
}

/// Checks and measures a program at a size, in one style or all, for `seconds` each.
pub fn measure(
    program: &BenchProgram,
    (size, styles): (&str, &[ProgramStyle]),
    hand: Option<&ByHand>,
    seconds: f64,
    row: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let mut given = Vec::new();
    leaves(&LoadedProgram::new(program, size).and_then(|mut r| r.value(program.given))?, &mut given)?;
    let hand = hand.filter(|_| !program.cpp.is_empty()).map(|h| h.problem(program.cpp, given)).transpose()?;
    for style in styles {
        let name =
            if style.name.is_empty() { program.name.to_owned() } else { format!("{}: {}", program.name, style.name) };
        row(measure_style(program, (size, style), hand.as_ref(), seconds, name)?);
    }
    Ok(())
}

fn measure_style(
    p: &BenchProgram,
    (size, style): (&str, &ProgramStyle),
    hand: Option<&Problem>,
    seconds: f64,
    name: String,
) -> Result<Row, String> {
    let mut run = LoadedProgram::new(p, size)?;
    let argument = if style.argument.is_empty() { p.argument } else { style.argument };
    let input = run.value(argument)?;
    let derived = match style.gradient {
        Gradient::OfValue => format!("value_and_grad ({})", style.value),
        Gradient::Both(text) | Gradient::Alone(text) => text.to_owned(),
    };
    let value_function =
        if style.value.is_empty() { None } else { Some(StyleFunction::new(&mut run, style, style.value, argument)?) };
    let function = StyleFunction::new(&mut run, style, &derived, argument)?;
    let value = value_function.as_ref().map_or(Ok(Vec::new()), |f| floats(&run.call(&f.value, &input)?))?;
    let (made, held) = memory(|| run.call(&function.value, &input));
    let both = !matches!(style.gradient, Gradient::Alone(_));
    let mut gradient = match (made?, both) {
        (Value::Tuple(t), true) => {
            compare(&format!("{name}, value with gradient"), &floats(&t.0[0])?, &value)?;
            t.0[1].clone()
        }
        (made, _) => made,
    };
    if !style.order.is_empty() {
        let order = run.value(style.order)?;
        gradient = run.call(&order, &gradient)?;
    }
    let results = Results { value, gradient: floats(&gradient)?, both };
    hand.map_or(Ok(()), |h| results.check(&name, h))?;
    let primal = value_function.map(|f| time(seconds, || run.once(&f, &input).map(drop))).transpose()?;
    let gradient = time(seconds, || run.once(&function, &input).map(drop))?;
    let by_hand = hand.map_or((None, None), |h| results.times_by_hand(h, seconds));
    Ok(Row { name, size: size.to_owned(), primal, gradient: Some(gradient), by_hand, memory: held })
}
