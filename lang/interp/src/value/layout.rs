//! Matrices and tables in aligned columns, cut to a screen.

use super::{Buf, Value, show};

/// Rows and columns that are shown; of more, the first and last.
const ROWS: usize = 20;
const COLUMNS: usize = 10;

/// A matrix, or a record of columns of one length, on several lines; `None` for everything that reads well on one.
pub fn layout(v: &Value) -> Option<String> {
    match v {
        Value::Array(a) if a.shape.len() == 2 && a.shape[0] > 1 && a.shape[1] > 0 => {
            let texts = texts(&a.buf)?;
            let (n, k) = (a.shape[0], a.shape[1]);
            let rows = picked(n, ROWS);
            let columns = picked(k, COLUMNS);
            let cell = |i: Option<usize>, j: Option<usize>| match (i, j) {
                (Some(i), Some(j)) => texts[i * k + j].clone(),
                _ => "…".to_owned(),
            };
            Some(align(rows.iter().map(|i| columns.iter().map(|j| cell(*i, *j)).collect()).collect()))
        }
        Value::Record(r) if !r.vals.is_empty() => {
            let columns: Option<Vec<Vec<String>>> = r
                .vals
                .iter()
                .map(|v| match v {
                    Value::Array(a) if a.shape.len() == 1 && a.shape[0] > 1 => texts(&a.buf),
                    _ => None,
                })
                .collect();
            let columns = columns?;
            let n = columns[0].len();
            if columns.iter().any(|c| c.len() != n) {
                return None;
            }
            let shown = picked(columns.len(), COLUMNS);
            let head = shown.iter().map(|j| j.map_or("…".to_owned(), |j| r.names[j].to_string())).collect();
            let body = picked(n, ROWS).into_iter().map(|i| {
                shown.iter().map(|j| match (i, j) {
                    (Some(i), Some(j)) => columns[*j][i].clone(),
                    _ => "…".to_owned(),
                }).collect()
            });
            Some(align(std::iter::once(head).chain(body).collect()))
        }
        _ => None,
    }
}

/// The first and last of many; `None` stands for those between.
fn picked(n: usize, limit: usize) -> Vec<Option<usize>> {
    if n <= limit {
        return (0..n).map(Some).collect();
    }
    let half = limit / 2;
    (0..half).map(Some).chain([None]).chain((n - half..n).map(Some)).collect()
}

fn texts(b: &Buf) -> Option<Vec<String>> {
    Some(match b {
        Buf::F64(v) => v.iter().map(|x| show::float(*x)).collect(),
        Buf::F32(v) => v.iter().map(|x| show::float32(*x)).collect(),
        Buf::I64(v) => v.iter().map(i64::to_string).collect(),
        Buf::Bool(v) => v.iter().map(bool::to_string).collect(),
        Buf::Boxed(v) if v.iter().all(|x| matches!(x, Value::Str(_))) => v.iter().map(show::plain).collect(),
        Buf::Boxed(_) | Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return None,
    })
}

fn align(rows: Vec<Vec<String>>) -> String {
    let width = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..width).map(|j| rows.iter().map(|r| r[j].chars().count()).max().unwrap_or(0)).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|r| {
            let cells: Vec<String> = r.iter().zip(&widths).map(|(c, w)| format!("{c:>w$}")).collect();
            format!("  {}", cells.join("  "))
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Shape, array};

    #[test]
    fn columns_are_aligned_and_cut() {
        let m = array::make(Shape::from_slice(&[2, 2]), Buf::F64(vec![1.0, 10.0, 100.5, 2.0]));
        assert_eq!(layout(&m).as_deref(), Some("    1.0  10.0\n  100.5   2.0"));
        let big = array::make(Shape::from_slice(&[100, 1]), Buf::I64((0..100).collect()));
        assert_eq!(layout(&big).unwrap_or_default().lines().count(), 21);
        assert_eq!(layout(&Value::Float(1.0)), None);
    }
}
