//! Values of type `Interactive`, as far as the core knows them: the controls of a function's parameters, and the
//! function's value where they stand.

use super::report_tables::{field, number, text};
use super::{Buf, Value, show};
use std::rc::Rc;

/// A function whose parameters can be moved.
#[derive(Clone, Debug)]
pub struct Interactive {
    /// One control for each parameter, in order.
    pub controls: Vec<Control>,
    /// The function of a list of positions, that of the last parameter first.
    pub apply: Value,
    /// Its value where the controls stand.
    pub shown: Value,
    /// The list of controls, of whose constructors a list of positions is made.
    list: Value,
}

/// The control of a parameter.
#[derive(Clone, Debug)]
pub struct Control {
    /// The parameter's name.
    pub name: String,
    /// `slider`, `toggle` or `choice`.
    pub kind: String,
    /// The texts of its positions.
    pub labels: Vec<String>,
    /// The position where it stands.
    pub at: usize,
}

impl Control {
    fn of(v: &Value) -> Control {
        let labels = match field(v, "labels") {
            Some(Value::Array(a)) => match a.buf() {
                Buf::Boxed(all) => all.iter().map(show::plain).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let at = usize::try_from(number(v, "at")).unwrap_or(0);
        Control { name: text(v, "name"), kind: text(v, "kind"), labels, at }
    }
}

/// The parts of a value of type `Interactive`; `None` for other values.
pub fn inside(v: &Value) -> Option<Interactive> {
    let Value::Data(d) = v else { return None };
    let ("Interactive", [list, apply, shown]) = (d.con.name.as_str(), d.fields.as_slice()) else { return None };
    let mut controls = Vec::new();
    let mut rest = list;
    while let Some((head, tail)) = cons(rest) {
        field(head, "labels")?;
        controls.push(Control::of(head));
        rest = tail;
    }
    controls.reverse();
    Some(Interactive { controls, apply: apply.clone(), shown: shown.clone(), list: list.clone() })
}

fn cons(list: &Value) -> Option<(&Value, &Value)> {
    match list {
        Value::Data(d) => match d.fields.as_slice() {
            [head, tail] => Some((head, tail)),
            _ => None,
        },
        _ => None,
    }
}

/// The value where the controls stand, of an interactive value; any other value itself.
pub fn at_start(v: &Value) -> Value {
    inside(v).map_or_else(|| v.clone(), |i| i.shown)
}

impl Interactive {
    /// The positions where the controls stand.
    pub fn start(&self) -> Vec<usize> {
        self.controls.iter().map(|c| c.at).collect()
    }

    /// The parameters at positions, such as `a = 1.5, n = 4`.
    pub fn line(&self, positions: &[usize]) -> String {
        let one = |(c, at): (&Control, &usize)| format!("{} = {}", c.name, c.labels.get(*at).map_or("", |t| t));
        self.controls.iter().zip(positions).map(one).collect::<Vec<_>>().join(", ")
    }

    /// Positions as the argument of `apply`. `None` if there are not as many as controls.
    pub fn argument(&self, positions: &[usize]) -> Option<Value> {
        if positions.len() != self.controls.len() {
            return None;
        }
        let (mut cells, mut rest) = (Vec::new(), &self.list);
        while let (Value::Data(d), Some((_, tail))) = (rest, cons(rest)) {
            cells.push(d.con.clone());
            rest = tail;
        }
        let put = |tail: Value, (con, at): (Rc<super::ConInfo>, &usize)| {
            Value::data(con, vec![Value::Int(i64::try_from(*at).unwrap_or(0)), tail])
        };
        Some(cells.into_iter().zip(positions).fold(rest.clone(), put))
    }
}
