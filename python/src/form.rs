//! The text of a function: a name, or an operator such as `grad` on another function of the same arguments.

use adl_interp::ir::derive::Plan;

/// A function as text.
#[derive(Clone)]
pub struct Form {
    /// The name in the module.
    base: String,
    /// Operators on it, first applied first, with the arguments to which each is taken.
    steps: Vec<(String, Vec<usize>)>,
    /// The arguments of the next operator.
    wrt: Vec<usize>,
    /// The plan of the next gradient, as it is spelled on command lines.
    plan: Option<String>,
}

/// Whether an operator takes a direction as an argument of its own.
fn has_direction(operator: &str) -> bool {
    matches!(operator, "jvp" | "hvp" | "transpose" | "pullback")
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
        out.steps.push((operator, self.wrt.clone()));
        out
    }

    /// The same function with other arguments for the next operator.
    pub fn with_respect_to(&self, wrt: Vec<usize>) -> Form {
        Form { wrt, ..self.clone() }
    }

    /// The same function with a plan for its next gradient.
    pub fn under(&self, plan: String) -> Form {
        Form { plan: Some(plan), ..self.clone() }
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
        for (operator, wrt) in &self.steps {
            change(wrt, &mut out);
            out.push(operator.clone());
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
        for k in 1..=self.steps.iter().filter(|s| has_direction(&s.0)).count() {
            out.push(if k == 1 { "direction".to_owned() } else { format!("direction{k}") });
        }
        out
    }

    /// The type wanted for argument `i`, which for a direction is that of what it is a direction of.
    pub fn wanted<'a, T>(&self, types: &'a [T], i: usize) -> Option<&'a T> {
        let of = self.steps.iter().filter(|s| has_direction(&s.0)).nth(i.wrapping_sub(types.len()));
        types.get(i).or_else(|| of.and_then(|(_, wrt)| if wrt.len() == 1 { types.get(wrt[0]) } else { None }))
    }

    /// The application to arguments.
    ///
    /// # Errors
    /// There are too few arguments for the operators.
    pub fn applied(&self, args: &[String]) -> Result<String, String> {
        self.after(self.steps.len(), args)
    }

    fn after(&self, steps: usize, args: &[String]) -> Result<String, String> {
        let Some((operator, wrt)) = steps.checked_sub(1).map(|k| &self.steps[k]) else {
            return Ok(if args.is_empty() { self.base.clone() } else { format!("{} {}", self.base, args.join(" ")) });
        };
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
        Ok(match (operator.as_str(), direction) {
            ("transpose", Some(d)) => format!("transpose_at {point} {f} {d}"),
            ("pullback", Some(d)) => format!("snd (vjp {f} {point}) {d}"),
            (_, Some(d)) => format!("{operator} {f} {point} {d}"),
            _ => format!("{operator} {f} {point}"),
        })
    }
}
