//! Transposes of collectives, as text of the IR.

use adl_ad::Ad;
use adl_ir::print::{self, Style};
use adl_ir::{Collective, FnId, Function, Program, Zeros};
use adl_opt::pipelines;
use std::collections::HashMap;

/// A linear function with one collective between two scalings. Its parameters are a rank or a number of ranks, and lengths of parts.
fn function(kind: Collective) -> String {
    let at = match kind {
        kind if kind.by_lengths() => " at v1",
        kind if kind.by_rank() || kind.by_chunks() => " at v0",
        _ => "",
    };
    format!(
        "fn f (v0: i64, v1: []i64, v2: f64 ; v3~: []f64) -> ( ; []f64) {{\n  v4~: []f64 = scale_tangent v2 v3~\n  \
         v5~: []f64 = collective {} v4~{at}\n  v6~: []f64 = scale_tangent v2 v5~\n  return ; v6~\n}}\n",
        kind.word()
    )
}

/// A function after simplification, with its variables numbered in the order of the text.
fn text(program: &Program, f: FnId) -> String {
    let mut func = Function::clone(program.func(f));
    for pass in ["simplify", "dead"] {
        pipelines::apply(pipelines::by_name(pass).unwrap(), program, &mut func, Zeros::Symbolic);
    }
    let printed = print::function(program, &func, Style::PLAIN);
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let (mut out, mut rest) = (String::new(), printed.as_str());
    while let Some(at) = rest.find('v') {
        let digits: String = rest[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1 + digits.len()..];
        if !digits.is_empty() {
            let next = numbers.len();
            out.push_str(&numbers.entry(digits).or_insert(next).to_string());
        }
    }
    out + rest
}

#[test]
fn the_transpose_of_a_transpose_is_the_same_text() {
    for kind in Collective::ALL {
        let mut program = adl_ir::parse::program(&function(kind)).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        let f = FnId(0);
        let mut ad = Ad::new();
        let once = ad.transpose(&mut program, f).unwrap_or_else(|e| panic!("{kind:?}: {}", e.why));
        let twice = ad.transpose(&mut program, once).unwrap_or_else(|e| panic!("{kind:?}: {}", e.why));
        assert!(text(&program, once).contains(&format!("collective {} ", kind.transposed().word())), "{kind:?}");
        assert_eq!(text(&program, twice), text(&program, f), "{kind:?}");
    }
}
