//! The text of a function: a name, or an operator such as `grad` on another function of the same arguments.

use adl_interp::ir::derive::Plan;

/// What is made of a function.
#[derive(Clone)]
enum FunctionOperator {
    /// An operator, with the arguments to which it is taken.
    Operator(String, Vec<usize>),
    /// All rows at once.
    Rows(Rows),
}

/// A function of all rows: texts in which `@` stands for a value, `#` for an index, and nothing else is special.
#[derive(Clone, Debug)]
pub struct Rows {
    /// For each argument that has rows, its row `#`, such as `@[#]` or `{a = @.a[#], b = @.b[#]}`.
    pub arguments: Vec<Option<String>>,
    /// The number of rows. As a number it is part of the type of the result.
    pub count: usize,
    /// What is made of the array of results, such as `@`, or `{a = for # < 5 -> @[#].a, …}` for 5 rows.
    pub result: String,
}

/// A function as text.
#[derive(Clone)]
pub struct Form {
    /// The name in the module.
    base: String,
    /// First applied first.
    steps: Vec<FunctionOperator>,
    /// The arguments of the next operator.
    wrt: Vec<usize>,
    /// The plan of the next gradient, as it is spelled on command lines.
    plan: Option<String>,
}

/// Whether an operator takes a direction as an argument of its own.
fn has_direction(operator: &str) -> bool {
    matches!(operator, "jvp" | "hvp" | "transpose" | "tangent" | "pullback")
}

/// A text with a value and an index in it.
fn filled(text: &str, value: &str, index: &str) -> String {
    text.replace('@', value).replace('#', index)
}

impl Form {
    pub fn name(base: &str) -> Form {
        Form { base: base.to_owned(), steps: Vec::new(), wrt: vec![0], plan: None }
    }

    /// An operator on the function.
    pub fn derive(&self, operator: &str) -> Form {
        let mut out = self.clone();
        let operator = match out.plan.take() {
            Some(plan) if matches!(operator, "grad" | "value_and_grad") => {
                format!("{operator}_with ({})", Plan::parse(&plan).unwrap_or_default().code())
            }
            _ => operator.to_owned(),
        };
        out.steps.push(FunctionOperator::Operator(operator, self.wrt.clone()));
        out
    }

    /// The function of all rows.
    pub fn of_rows(&self, rows: Rows) -> Form {
        let mut out = self.clone();
        out.steps.push(FunctionOperator::Rows(rows));
        out
    }

    /// The operators that take a direction, with the arguments to which they are taken.
    fn directed(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.steps.iter().filter_map(|s| match s {
            FunctionOperator::Operator(name, wrt) if has_direction(name) => Some(wrt),
            _ => None,
        })
    }

    /// The same function with other arguments for the next operator.
    pub fn with_respect_to(&self, wrt: Vec<usize>) -> Form {
        Form { wrt, ..self.clone() }
    }

    /// The same function with a plan for its next gradient.
    pub fn under(&self, plan: String) -> Form {
        Form { plan: Some(plan), ..self.clone() }
    }

    /// Whether the next gradient has a plan.
    pub fn has_plan(&self) -> bool {
        self.plan.is_some()
    }

    /// How the function is called in messages; it tells functions of one base apart.
    pub fn title(&self) -> String {
        self.path().join(".")
    }

    /// Attributes and calls that lead to it from the module.
    pub fn path(&self) -> Vec<String> {
        let mut out = vec![self.base.clone()];
        let mut now = vec![0];
        let mut change = |wrt: &Vec<usize>, out: &mut Vec<String>| {
            if *wrt != now {
                out.push(format!("wrt({})", wrt.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
                now.clone_from(wrt);
            }
        };
        for step in &self.steps {
            match step {
                FunctionOperator::Operator(name, wrt) => {
                    change(wrt, &mut out);
                    out.push(name.clone());
                }
                FunctionOperator::Rows(rows) => out.push(format!("{rows:?}")),
            }
        }
        change(&self.wrt, &mut out);
        out.extend(self.plan.as_ref().map(|p| format!("plan({p})")));
        out
    }

    /// The text, if no operator is applied.
    pub fn text(&self) -> Option<String> {
        self.steps.is_empty().then(|| self.base.clone())
    }

    /// The names of the parameters, directions included.
    pub fn parameters(&self, names: &[String]) -> Vec<String> {
        let mut out = names.to_vec();
        for k in 1..=self.directed().count() {
            out.push(if k == 1 { "direction".to_owned() } else { format!("direction{k}") });
        }
        out
    }

    /// The type wanted for argument `i`, which for a direction is that of what it is a direction of.
    pub fn wanted<'a, T>(&self, types: &'a [T], i: usize) -> Option<&'a T> {
        let of = self.directed().nth(i.wrapping_sub(types.len()));
        types.get(i).or_else(|| of.and_then(|wrt| if wrt.len() == 1 { types.get(wrt[0]) } else { None }))
    }

    /// The application to arguments.
    ///
    /// # Errors
    /// There are too few arguments for the operators.
    pub fn applied(&self, args: &[String]) -> Result<String, String> {
        self.after(self.steps.len(), args)
    }

    fn after(&self, steps: usize, args: &[String]) -> Result<String, String> {
        match steps.checked_sub(1).map(|k| &self.steps[k]) {
            None if args.is_empty() => Ok(self.base.clone()),
            None => Ok(format!("{} {}", self.base, args.join(" "))),
            Some(FunctionOperator::Operator(operator, wrt)) => self.operated(steps, operator, wrt, args),
            Some(FunctionOperator::Rows(rows)) => self.rows(steps, rows, args),
        }
    }

    fn rows(&self, steps: usize, rows: &Rows, args: &[String]) -> Result<String, String> {
        let (index, all) = (format!("k{steps}"), format!("ys{steps}"));
        let one = |(i, a): (usize, &String)| match rows.arguments.get(i).and_then(Option::as_ref) {
            Some(row) => format!("({})", filled(row, a, &index)),
            None => a.clone(),
        };
        let inner: Vec<String> = args.iter().enumerate().map(one).collect();
        let body = self.after(steps - 1, &inner)?;
        let result = filled(&rows.result, &all, &index);
        Ok(format!("(let {all} = for {index} < {} -> {body} in {result})", rows.count))
    }

    fn operated(&self, steps: usize, operator: &str, wrt: &[usize], args: &[String]) -> Result<String, String> {
        let (own, direction) = match args.split_last() {
            Some((last, own)) if has_direction(operator) => (own, Some(last)),
            _ => (args, None),
        };
        let most = wrt.iter().max().copied().unwrap_or(0);
        if own.len() <= most || wrt.is_empty() {
            let wanted = most + 1 + usize::from(has_direction(operator));
            return Err(format!("expected {wanted} or more arguments for `{operator}`, found {}", args.len()));
        }
        let locals: Vec<String> = wrt.iter().map(|i| format!("z{steps}_{i}")).collect();
        let mut inner = own.to_vec();
        wrt.iter().zip(&locals).for_each(|(i, z)| inner[*i].clone_from(z));
        let body = self.after(steps - 1, &inner)?;
        let tuple = |vs: Vec<&str>| if vs.len() == 1 { vs[0].to_owned() } else { format!("({})", vs.join(", ")) };
        let pattern = tuple(locals.iter().map(String::as_str).collect());
        let point = tuple(wrt.iter().map(|i| own[*i].as_str()).collect());
        let f = if operator == "transpose" {
            format!("(lin {pattern} -> {body})")
        } else {
            format!("(fun {pattern} -> {body})")
        };
        Ok(match (operator, direction) {
            ("transpose", Some(d)) => format!("transpose_at {point} {f} {d}"),
            ("tangent", Some(d)) => format!("snd (jvp {f} {point} {d})"),
            ("pullback", Some(d)) => format!("snd (vjp {f} {point}) {d}"),
            (_, Some(d)) => format!("{operator} {f} {point} {d}"),
            _ => format!("{operator} {f} {point}"),
        })
    }
}
