//! Ranks are decided at each call: what that means is checked on generated programs, and printed schemes are read again.

use adl_tests::ranks::{make, write};

/// What the last of some entries answers, or the code of the first error.
fn outcome(entries: &[String]) -> Result<String, String> {
    let (mut s, _) = adl_tests::session();
    let mut last = String::new();
    for e in entries {
        let out = s.eval(e);
        if let Some(d) = out.diags.iter().find(|d| d.is_error()) {
            return Err(format!("{}: {}", d.code, d.message));
        }
        last = out.echoes.last().map_or(String::new(), adl_session::Echo::whole);
    }
    // Sizes that only one of both knows are no difference.
    Ok(last.split(" : ").next().unwrap_or_default().to_owned())
}

/// Errors of types may be found at the call in one program and inside the function in the other, where they have other reasons. Sizes of
/// slices are known where annotations say those of the arrays, and are checked when the code runs (E0702) elsewhere.
fn alike(a: &str, b: &str) -> bool {
    let types =
        |e: &str| e.starts_with("E02") || e.starts_with("E03") || e.starts_with("E06") || e.starts_with("E0702");
    types(a) && types(b) || a[..5] == b[..5]
}

/// Texts that differ in the last digits of numbers at most: known sizes let sums be added in another order.
fn same_numbers(a: &str, b: &str) -> bool {
    let words =
        |t: &str| t.split(|c: char| c.is_whitespace() || "()[]{},=".contains(c)).map(str::to_owned).collect::<Vec<_>>();
    let close = |x: &str, y: &str| match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => x == y || (x - y).abs() <= 1e-9 * (1.0 + x.abs()) || x.is_nan() && y.is_nan(),
        _ => x == y,
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| close(x, y))
}

#[test]
fn programs_without_annotations_mean_what_annotated_ones_mean() {
    let (mut wrong, mut right, mut errors) = (Vec::new(), 0, 0);
    for seed in 1..=220 {
        let p = make::program(seed);
        let definitions = write::definitions(&p);
        for u in &p.uses {
            let pair = write::pair(&p, u);
            let plain = outcome(&[&definitions[..=u.def], std::slice::from_ref(&pair.inferred)].concat());
            let annotated = outcome(&[&pair.definitions[..], std::slice::from_ref(&pair.annotated)].concat());
            let agree = match (&plain, &annotated) {
                (Ok(a), Ok(b)) => same_numbers(a, b),
                (Err(a), Err(b)) => alike(a, b),
                _ => false,
            };
            right += usize::from(plain.is_ok());
            errors += usize::from(plain.is_err());
            if !agree {
                wrong.push(format!(
                    "seed {seed}\n{}\n{}\n  {plain:?}\n{}\n{}\n  {annotated:?}",
                    definitions.join("\n"),
                    pair.inferred,
                    pair.definitions.join("\n"),
                    pair.annotated
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n\n"));
    assert!(right > 300 && errors > 100, "{right} values and {errors} errors");
}

/// The names that a file defines at its top level, by its lines.
fn names(text: &str) -> Vec<String> {
    let starts = text.lines().filter_map(|l| l.strip_prefix("let rec ").or_else(|| l.strip_prefix("let ")));
    let word = |l: &str| l.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    starts.map(word).filter(|w| w.starts_with(|c: char| c.is_lowercase()) && w != "_").collect()
}

/// A name whose type is printed, written as a signature and printed again.
fn read_again(s: &mut adl_session::Session, name: &str) -> Option<String> {
    // What is no scheme may have sizes of its own.
    let first = type_of(s, name).filter(|t| t.contains("=>"))?;
    written_again(s, name, &first)
}

fn type_of(s: &mut adl_session::Session, name: &str) -> Option<String> {
    s.eval(name).echoes.last().map(|e| e.ty.clone())
}

/// What is wrong with the printed type of a name, if it is written as a signature.
fn written_again(s: &mut adl_session::Session, name: &str, first: &str) -> Option<String> {
    let out = s.eval(&format!("let again__ : {first} = {name}"));
    if let Some(d) = out.diags.iter().find(|d| d.is_error()) {
        return Some(format!("{name} : {first}\n  {}: {}", d.code, d.message));
    }
    let second = type_of(s, "again__")?;
    (first != second).then(|| format!("{name} : {first}\n  {second}"))
}

#[test]
fn printed_types_of_programs_are_read_again() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    // These declare a type more than once: a printed name is that of the last one.
    let declares_again = ["grad_corpus_a.adl", "grad_corpus_b.adl", "grad_corpus_c.adl"];
    for entry in std::fs::read_dir(adl_tests::root().join("tests/programs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "adl") || declares_again.iter().any(|n| path.ends_with(n)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut s, _) = adl_tests::session();
        s.run_file("program.adl", adl_tests::definitions(&text).as_bytes());
        for name in names(&text) {
            count += 1;
            wrong.extend(read_again(&mut s, &name).map(|e| format!("{}: {e}", path.display())));
        }
    }
    assert!(wrong.is_empty() && count > 400, "{count} names\n{}", wrong.join("\n"));
}

#[test]
fn printed_types_of_the_library_are_read_again() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    // They have rules for calls, and are no values; `neg` is written `-`.
    let no_values = ["neg", "reshape", "random.uniform", "random.normal", "random.int"];
    let (mut session, _) = adl_tests::session();
    for module in session.library() {
        let inside = if ["prelude", "builtins"].contains(&module.name.as_str()) {
            String::new()
        } else {
            format!("{}.", module.name)
        };
        for e in module.entries.iter().filter(|e| e.name.starts_with(|c: char| c.is_lowercase())) {
            let name = format!("{inside}{}", e.name);
            let Some(first) = type_of(&mut session, &name) else {
                if no_values.contains(&name.as_str()) {
                    continue;
                }
                wrong.push(format!("{name} has no type"));
                continue;
            };
            count += 1;
            wrong.extend(written_again(&mut session, &name, &first));
        }
    }
    assert!(wrong.is_empty() && count > 400, "{count} names, {} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn printed_types_of_generated_functions_are_read_again() {
    let mut wrong = Vec::new();
    for seed in 1..=300 {
        let p = make::program(seed);
        let (mut s, _) = adl_tests::session();
        for (d, text) in p.defs.iter().zip(write::definitions(&p)) {
            s.eval(&text);
            wrong.extend(read_again(&mut s, &d.name).map(|e| format!("{text}\n{e}")));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n\n"));
}
