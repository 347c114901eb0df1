//! A value as a front end wants it: the same thing by several media types, the front end picks.

use crate::html;
use adl_interp::value::{Array, Buf, Value, show};
use adl_session::Echo;
use serde_json::{Map, Value as Json, json};

/// Columns of text.
const WIDTH: usize = 100;
/// Rows and columns of a matrix that is set as a formula.
const SMALL: usize = 8;

/// Data and metadata of a value; its type is said where it is known.
pub fn shown(v: &Value, ty: &str) -> (Json, Json) {
    let mut data = Map::new();
    let text = if ty.is_empty() { show::show(v) } else { Echo { name: None, ty: ty.to_owned(), shown: v.clone() }.screen(WIDTH) };
    data.insert("text/plain".into(), json!(text));
    match small_matrix(v) {
        Some(latex) => drop(data.insert("text/latex".into(), json!(latex))),
        None => data.extend(html::of(v, ty).map(|h| ("text/html".into(), json!(h)))),
    }
    (Json::Object(data), json!({}))
}

/// An echo: definitions as text, values by all that fits them.
pub fn of(e: &Echo) -> (Json, Json) {
    match e.name {
        Some(_) => (json!({"text/plain": e.screen(WIDTH)}), json!({})),
        None => shown(&e.shown, &e.ty),
    }
}

/// A matrix that fits into a formula.
fn small_matrix(v: &Value) -> Option<String> {
    let Value::Array(a) = v else { return None };
    let [rows, columns] = a.shape[..] else { return None };
    if rows == 0 || columns == 0 || rows > SMALL || columns > SMALL {
        return None;
    }
    let entries: Vec<String> = (0..rows * columns).map(|i| entry(a, i)).collect::<Option<_>>()?;
    let lines: Vec<String> = entries.chunks(columns).map(|r| r.join(" & ")).collect();
    Some(format!("$\\displaystyle \\begin{{bmatrix}}{}\\end{{bmatrix}}$", lines.join(r" \\ ")))
}

fn entry(a: &Array, i: usize) -> Option<String> {
    let text = match &a.buf {
        Buf::F64(v) => show::float(*v.get(i)?),
        Buf::F32(v) => show::float32(*v.get(i)?),
        Buf::I64(v) => v.get(i)?.to_string(),
        Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => return None,
    };
    let text = text.trim_end_matches("f32");
    Some(match (text, text.split_once('e')) {
        ("nan", _) => r"\mathrm{nan}".into(),
        ("inf", _) => r"\infty".into(),
        ("-inf", _) => r"-\infty".into(),
        (_, Some((m, e))) => format!(r"{m} \cdot 10^{{{e}}}"),
        (t, None) => t.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::shown;
    use adl_interp::value::{Buf, array};

    #[test]
    fn a_small_matrix_is_a_formula() {
        let m = array::make([2, 2].into_iter().collect(), Buf::F64(vec![1.0, -2.5, 1e30, f64::INFINITY]));
        let (data, _) = shown(&m, "[2][2]Float");
        assert_eq!(data["text/latex"], r"$\displaystyle \begin{bmatrix}1.0 & -2.5 \\ 1.0 \cdot 10^{30} & \infty\end{bmatrix}$");
        assert!(data["text/plain"].as_str().unwrap().starts_with(": [2][2]Float\n"));
    }
}
