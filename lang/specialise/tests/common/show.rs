//! Prints values of the reference evaluator in the syntax of the language.

use adl_interp::value::show as numbers;
use adl_ir::DataId;
use adl_ir::eval::Val;
use adl_specialise::{Entry, Layout};

/// A result as text.
pub fn show(e: &Entry, leaves: &[Val]) -> String {
    let mut next = leaves.iter().cloned();
    text(e, &e.result, &mut next)
}

fn list(open: char, parts: Vec<String>, close: char) -> String {
    format!("{open}{}{close}", parts.join(", "))
}

fn text(entry: &Entry, l: &Layout, leaves: &mut dyn Iterator<Item = Val>) -> String {
    match l {
        Layout::Unit => "()".into(),
        Layout::Leaf(_) => leaf(&leaves.next().unwrap()),
        Layout::Tuple(ls) => list('(', ls.iter().map(|l| text(entry, l, leaves)).collect(), ')'),
        Layout::Record(fs) => {
            let texts: Vec<String> = fs.iter().map(|(n, l)| format!("{n} = {}", text(entry, l, leaves))).collect();
            let names: Vec<_> = fs.iter().map(|(n, _)| *n).collect();
            list('{', adl_syntax::field_order::shown(&names).into_iter().map(|i| texts[i].clone()).collect(), '}')
        }
        Layout::Array(inner) => {
            let columns: Vec<Val> = inner.leaves().iter().map(|_| leaves.next().unwrap()).collect();
            let n = columns[0].arr().map_or(0, |a| a.shape[0]);
            let row = |i: usize| text(entry, inner, &mut columns.iter().map(|c| element(c, i)));
            list('[', (0..n).map(row).collect(), ']')
        }
        Layout::Data(d) => data(entry, *d, &leaves.next().unwrap()),
        Layout::Fun(_) => "<fun>".into(),
    }
}

fn data(e: &Entry, d: DataId, v: &Val) -> String {
    let Val::Data(c) = v else { return format!("{v:?}") };
    let (name, layouts) = &e.datas[&d][c.tag as usize];
    let mut fields = c.fields.iter().cloned();
    let mut out = name.to_string();
    for l in layouts {
        let t = text(e, l, &mut fields);
        let wrap = t.starts_with('-') || matches!(l, Layout::Data(_)) && t.contains(' ');
        out.push_str(&if wrap { format!(" ({t})") } else { format!(" {t}") });
    }
    out
}

fn leaf(v: &Val) -> String {
    match v {
        Val::F64(x) => numbers::float(*x),
        Val::F32(x) => numbers::float32(*x),
        Val::I64(n) => n.to_string(),
        Val::Bool(b) => b.to_string(),
        Val::Str(s) => format!("{s:?}"),
        Val::Array(a) => list('[', (0..a.shape[0]).map(|i| leaf(&element(v, i))).collect(), ']'),
        Val::Data(_) => "data".into(),
        Val::SymbolicZero | Val::Deps(_) => "absent".into(),
    }
}

/// An element of the first axis.
fn element(v: &Val, i: usize) -> Val {
    let Some(a) = v.arr() else { return v.clone() };
    let rest = &a.shape[1..];
    let n: usize = rest.iter().product();
    let elems = a.elems[i * n..(i + 1) * n].to_vec();
    if rest.is_empty() { elems[0].clone() } else { Val::array(rest.to_vec(), elems) }
}
