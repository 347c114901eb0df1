//! Checkpointing plans as the user writes them: what reverse mode stores and what it recomputes.

use crate::error::{Error, Res, codes};
use crate::value::{Data, Value};
use std::fmt;

/// A plan by name (`type Plan` of the prelude).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Plan {
    /// Store everything.
    #[default]
    StoreAll,
    /// Recompute everything except arguments and loop-carried values.
    RecomputeAll,
    /// The least work within the free memory.
    Auto,
    /// The least work within the given number of bytes.
    Budget(u64),
    /// Checkpoint loops in √n segments.
    Sqrt,
    /// Checkpoint loops binomially, with the given number of stored states.
    Revolve(u32),
    /// Recompute the residuals with these ids.
    ByHand(Vec<u32>),
}

/// How plans are spelled on command lines.
pub const SPELLINGS: &str = "store_all, recompute_all, auto, budget N, sqrt, revolve N or by_hand I,J,...";

impl Plan {
    /// Parses a plan as it is spelled on command lines.
    pub fn parse(text: &str) -> Option<Plan> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(match words[..] {
            ["store_all"] => Plan::StoreAll,
            ["recompute_all"] => Plan::RecomputeAll,
            ["auto"] => Plan::Auto,
            ["sqrt"] => Plan::Sqrt,
            ["budget", n] => Plan::Budget(n.replace('_', "").parse().ok()?),
            ["revolve", n] => Plan::Revolve(n.parse().ok().filter(|k| *k > 0)?),
            ["by_hand", ids] => Plan::ByHand(ids.split(',').map(|i| i.parse().ok()).collect::<Option<_>>()?),
            _ => return None,
        })
    }

    /// The plan as an expression of the language.
    pub fn code(&self) -> String {
        match self {
            Plan::StoreAll => "StoreAll".into(),
            Plan::RecomputeAll => "RecomputeAll".into(),
            Plan::Auto => "Auto".into(),
            Plan::Sqrt => "Sqrt".into(),
            Plan::Budget(n) => format!("(Budget {n})"),
            Plan::Revolve(k) => format!("(Revolve {k})"),
            Plan::ByHand(ids) => {
                format!("(ByHand [{}])", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Converts a value of type `Plan`.
    pub(crate) fn of(v: &Value) -> Res<Plan> {
        let Value::Data(d) = v else { return Err(bad("this is not a plan")) };
        Ok(match d.con.name.as_str() {
            "StoreAll" => Plan::StoreAll,
            "RecomputeAll" => Plan::RecomputeAll,
            "Auto" => Plan::Auto,
            "Sqrt" => Plan::Sqrt,
            "Budget" => Plan::Budget(number(d, "Budget", 0)?),
            "Revolve" => Plan::Revolve(u32::try_from(number(d, "Revolve", 1)?).unwrap_or(u32::MAX)),
            _ => Plan::ByHand(ids(d.fields.first())?),
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::StoreAll => out.write_str("store_all"),
            Plan::RecomputeAll => out.write_str("recompute_all"),
            Plan::Auto => out.write_str("auto"),
            Plan::Sqrt => out.write_str("sqrt"),
            Plan::Budget(n) => write!(out, "budget {n}"),
            Plan::Revolve(k) => write!(out, "revolve {k}"),
            Plan::ByHand(ids) => {
                write!(out, "by_hand {}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// An error in a plan.
pub(crate) fn bad(text: impl Into<String>) -> Box<Error> {
    Error::new(codes::PLAN, text)
}

fn number(d: &Data, what: &str, least: i64) -> Res<u64> {
    match d.fields.first() {
        Some(Value::Int(n)) if *n >= least => Ok(*n as u64),
        Some(Value::Int(n)) => Err(bad(format!("`{what} {n}`: the number must be at least {least}"))),
        _ => Err(bad(format!("`{what}` without a number"))),
    }
}

fn ids(v: Option<&Value>) -> Res<Vec<u32>> {
    let Some(v) = v else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for k in 0..crate::value::seq::len(v) {
        let id = match v {
            Value::Array(a) => crate::value::array::elem(a, k),
            _ => break,
        };
        match id {
            Value::Int(n) => out.push(u32::try_from(n).map_err(|_| bad(format!("there is no residual {n}")))?),
            _ => return Err(bad("ids of residuals are Ints")),
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}
