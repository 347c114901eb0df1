//! The transpose of a linear function.

use super::derivative;
use crate::ad::linear::{LinearMap, linear_fun};
use crate::error::{Error, Res, codes};
use crate::limits::ad_operators::CONSTRUCTORS;
use crate::value::rep::field_rep;
use crate::value::{ConInfo, Record, Rep, Tuple, Value, vector_space};
use crate::vm::{Fun, Machine};
use std::rc::Rc;

/// The transpose of a linear function. For a derivative, the direction is reversed; a user's function is first
/// recorded at a zero of its input's shape.
pub(super) fn transpose(machine: &mut Machine, func: &Value, like: Option<&Value>, reps: &[Value]) -> Res<Value> {
    if let Value::Fun(fun) = func
        && let Fun::Linear(map) = &**fun
    {
        if let Some(original) = &map.original {
            return Ok(original.clone());
        }
        return Ok(linear_fun(LinearMap { transposed: !map.transposed, ..map.clone() }));
    }
    let input = match (like, reps.first()) {
        (Some(x), _) => vector_space::zero_like(x),
        (None, rep) => match rep
            .and_then(|r| if let Value::Rep(r) = r { example(machine, r, &mut CONSTRUCTORS.to_owned()) } else { None })
        {
            Some(zero) => zero,
            None => {
                return Err(Error::new(
                    codes::SHAPE_UNKNOWN,
                    "the shape of the input of this linear function is not known here",
                )
                .hint("give an example of its input: `transpose_at example f`"));
            }
        },
    };
    let (_, map) = derivative::record(machine, func, &input)?;
    Ok(linear_fun(LinearMap { transposed: true, original: Some(func.clone()), ..map }))
}

/// The zero of a type that has only one structure. Declared types qualify if they have a single constructor.
/// `left` is the remaining number of constructors.
fn example(machine: &Machine, rep: &Rep, left: &mut u32) -> Option<Value> {
    let mut all =
        |rs: &mut dyn Iterator<Item = &Rc<Rep>>| rs.map(|r| example(machine, r, left)).collect::<Option<Vec<Value>>>();
    Some(match rep {
        Rep::Tuple(ps) => Value::Tuple(Rc::new(Tuple(all(&mut ps.iter())?))),
        Rep::Record(fs) => Value::Record(Rc::new(Record {
            names: fs.iter().map(|f| f.0).collect(),
            vals: all(&mut fs.iter().map(|f| &f.1))?,
        })),
        Rep::Data(d, args) => {
            let [con] = d.cons.as_slice() else { return None };
            *left = left.checked_sub(1)?;
            let look = |id| machine.definitions.datas.get(&id).cloned();
            let reps: Vec<Rc<Rep>> = con.fields.iter().map(|t| field_rep(&look, t, d, args)).collect();
            let fields = reps.iter().map(|r| example(machine, r, left)).collect::<Option<Vec<Value>>>()?;
            let con = ConInfo { name: con.name, tag: con.tag, data: d.id, arity: fields.len() as u32 };
            Value::data(Rc::new(con), fields)
        }
        r => r.known().then(|| r.zero())?,
    })
}
