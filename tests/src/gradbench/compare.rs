//! Compares answers with the expected ones.

use serde_json::Value;

/// The tolerance: absolute below 1, relative above.
const TOLERANCE: f64 = 1e-4;

/// The first place where an answer differs from the expected one, if any.
pub fn differs(module: &str, have: &Value, want: &Value) -> Option<String> {
    let close = if module == "hello" { close_to_reference } else { close };
    walk(have, want, "output", &close)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() / f64::max(1.0, a.abs() + b.abs()) <= TOLERANCE
}

fn close_to_reference(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 + 1e-5 * b.abs()
}

/// A nan is null in JSON, and never correct.
fn walk(have: &Value, want: &Value, at: &str, close: &dyn Fn(f64, f64) -> bool) -> Option<String> {
    let found = || Some(format!("{at} is {}, expected {}", short(have), short(want)));
    match (have, want) {
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() || b.keys().any(|k| !a.contains_key(k)) {
                return Some(format!(
                    "{at} has keys {:?}, expected {:?}",
                    a.keys().collect::<Vec<_>>(),
                    b.keys().collect::<Vec<_>>()
                ));
            }
            b.iter().find_map(|(k, b)| walk(&a[k], b, &format!("{at}.{k}"), close))
        }
        (Value::Array(a), Value::Array(b)) if a.len() != b.len() => {
            Some(format!("{at} has {} elements, expected {}", a.len(), b.len()))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| walk(a, b, &format!("{at}[{i}]"), close))
        }
        (Value::Number(a), Value::Number(b)) if a.is_i64() && b.is_i64() => {
            if a == b {
                None
            } else {
                found()
            }
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) if close(a, b) => None,
            _ => found(),
        },
        (Value::Null, _) | (_, Value::Null) => found(),
        (a, b) => {
            if a == b {
                None
            } else {
                found()
            }
        }
    }
}

fn short(v: &Value) -> String {
    let text = v.to_string();
    match text.char_indices().nth(60) {
        Some((i, _)) => format!("{}...", &text[..i]),
        None => text,
    }
}
