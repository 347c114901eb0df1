//! The IR of small programs, as text. `UPDATE=1` rewrites `tests/ir/*.ir`.

use crate::common;

use adl_specialise::Root;

/// The source of an input. (The numbers of globals depend on the prelude.)
fn root(r: Root) -> String {
    match r {
        Root::Fun => "captured".into(),
        Root::Arg(k) => format!("argument {k}"),
        Root::Global(_) => "global".into(),
    }
}

#[test]
fn ir_of_small_programs() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir");
    let mut wrong = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "adl"))
        .collect();
    names.sort();
    assert!(names.len() >= 5);
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let got = match common::made_from(&text, &common::signature(&text), true) {
            Ok(m) => {
                let inputs =
                    m.entry.inputs.iter().map(|i| format!("-- input {} : {:?}\n", root(i.place.root), i.layout));
                inputs.collect::<String>() + &common::ir(&m.program)
            }
            Err(u) => format!("unsupported: {}\n", u.why),
        };
        let out = path.with_extension("ir");
        if std::env::var("UPDATE").is_ok() {
            std::fs::write(&out, &got).unwrap();
        }
        if std::fs::read_to_string(&out).ok().as_deref() != Some(got.as_str()) {
            wrong.push(format!("{}:\n{got}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
