//! Arrays larger than one binding: a kernel has several bindings, each of which shows a window of the array, and each
//! access selects one by its index.
//!
//! Kernels are emitted as if there were one array. Here `a3[i]` becomes `a3_get(i)`, `a3[i] = x;` becomes `a3_set(i,
//! x);`, and `atomicMax(&a3[i], x)` becomes `a3_atomicMax(i, x)`. An access of another form refers to an undeclared
//! array, which the compiler rejects.

use crate::array::Array;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The alignment of windows, which suffices for any binding.
const ALIGN: u64 = 256;

/// The range of elements that each binding shows; empty if one binding shows all.
pub(super) fn of(a: &Array, binding: u64) -> Vec<(usize, usize)> {
    let each = (binding / ALIGN * ALIGN / a.scalar.bytes()) as usize;
    if a.bytes() <= binding || each == 0 {
        return Vec::new();
    }
    (0..a.len()).step_by(each).map(|from| (from, (from + each).min(a.len()))).collect()
}

/// The name of a window.
pub(super) fn name(slot: usize, k: usize) -> String {
    format!("a{slot}_{k}")
}

/// Replaces all accesses to an array by calls, and writes the called functions to `head`; `windows` windows have `each`
/// elements each.
pub(super) fn seen(text: &str, slot: usize, (ty, each): (&str, usize), windows: usize, head: &mut String) -> String {
    let (mut out, mut used) = (String::new(), BTreeSet::new());
    calls(text, &format!("a{slot}"), &mut out, &mut used);
    for f in &used {
        let (params, made, body): (_, _, &dyn Fn(&str) -> String) = match f.as_str() {
            "get" => (String::new(), format!(" -> {ty}"), &|e| format!("return {e};")),
            "set" => (format!(", x: {ty}"), String::new(), &|e| format!("{e} = x; return;")),
            "atomicLoad" => (String::new(), " -> u32".to_owned(), &|e| format!("return atomicLoad(&{e});")),
            "atomicStore" => (", x: u32".to_owned(), String::new(), &|e| format!("atomicStore(&{e}, x); return;")),
            f => (", x: u32".to_owned(), " -> u32".to_owned(), &move |e| format!("return {f}(&{e}, x);")),
        };
        // Writing to a string does not fail.
        let _ = writeln!(head, "fn a{slot}_{f}(i: u32{params}){made} {{");
        for k in 0..windows {
            let place = body(&format!("{}[i - {}u]", name(slot, k), k * each));
            let _ = if k + 1 < windows {
                writeln!(head, "  if i < {}u {{ {place} }}", (k + 1) * each)
            } else {
                writeln!(head, "  {place}\n}}")
            };
        }
    }
    out
}

/// Replaces accesses to an array by calls, and records which functions are called.
pub fn calls(text: &str, array: &str, out: &mut String, used: &mut BTreeSet<String>) {
    let mut rest = text;
    while let Some((at, index, after)) = next_use(rest, array) {
        let before = &rest[..at];
        let place = |out: &mut String, used: &mut BTreeSet<String>| calls(index, array, out, used);
        rest = after;
        if let Some(call) = before.strip_suffix("(&") {
            let begin = call.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |k| k + 1);
            out.push_str(&call[..begin]);
            out.push_str(&format!("{array}_{}(", &call[begin..]));
            place(out, used);
            used.insert(call[begin..].to_owned());
            continue;
        }
        out.push_str(before);
        let value = after.strip_prefix(" = ").and_then(|v| v.split_once(';'));
        out.push_str(&format!("{array}_{}(", if value.is_some() { "set" } else { "get" }));
        place(out, used);
        if let Some((value, then)) = value {
            out.push_str(", ");
            calls(value, array, out, used);
            out.push_str(");");
            rest = then;
        } else {
            out.push(')');
        }
        used.insert(if value.is_some() { "set" } else { "get" }.to_owned());
    }
    out.push_str(rest);
}

/// The first access to an array: its position, its index, and the text after it.
fn next_use<'a>(text: &'a str, array: &str) -> Option<(usize, &'a str, &'a str)> {
    let pattern = format!("{array}[");
    let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let at = text.match_indices(&pattern).map(|(at, _)| at).find(|at| begins(*at))?;
    let inner = &text[at + pattern.len()..];
    let mut depth = 1;
    let end = inner.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '[') - i32::from(*c == ']');
        depth == 0
    });
    end.map(|(end, _)| (at, &inner[..end], &inner[end + 1..]))
}
