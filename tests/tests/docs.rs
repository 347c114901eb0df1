//! Blocks of the documentation: each entry's answer is what stands behind `-- >` after it.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

fn check(file: &str) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(adl_tests::root().join(file)).unwrap();
    let (mut s, _) = adl_tests::session();
    let (mut entry, mut inside, mut checked, mut wrong) = (String::new(), false, 0, Vec::new());
    for line in text.lines() {
        if line.starts_with("```") {
            if inside && !entry.trim().is_empty() {
                let have = adl_tests::echo_in(&mut s, &entry);
                if have.starts_with('E') {
                    wrong.push(format!("{entry}\n    gives {have}"));
                }
            }
            entry.clear();
            inside = line.trim() == "```adl";
        } else if let (true, Some(want)) = (inside, line.strip_prefix("-- > ")) {
            let have = adl_tests::echo_in(&mut s, &entry);
            checked += 1;
            if have != want {
                wrong.push(format!("{entry}    gives {have}\n    not   {want}"));
            }
            entry.clear();
        } else if inside {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    (checked, wrong)
}

#[test]
fn blocks_answer_as_they_say() {
    for file in ["docs/tutorial.md", "docs/reference.md"] {
        let (checked, wrong) = check(file);
        assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
        assert!(checked > 10, "{file}: {checked} answers");
    }
}
