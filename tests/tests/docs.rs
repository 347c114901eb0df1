//! Blocks of the documentation: each entry's answer is what stands behind `-- >` after it.

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

/// Files and directories below `dir`, relative to the root, directories with a slash at the end.
fn tree(dir: &std::path::Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "target" || name.starts_with('.') && name != ".ci" {
            continue;
        }
        let full = format!("{prefix}{name}");
        if path.is_dir() {
            tree(&path, &format!("{full}/"), out);
            out.push(format!("{full}/"));
        } else {
            out.push(full);
        }
    }
}

/// What is in backticks outside of blocks of code.
fn quoted(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a word looks like a path: with a slash, or with an ending of source files.
fn is_path(word: &str) -> bool {
    let endings = ["rs", "adl", "md", "toml", "ir", "out", "wgsl", "py"];
    let ended = word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && endings.contains(&end));
    let letters = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    word.chars().all(letters) && (ended || word.contains('/')) && !word.starts_with('/')
}

/// Whether a path is the end of one of the tree; modules are also named without `.rs`, and directories without their slash. A name in capitals
/// stands for any name, and only its directory must exist.
fn exists(tree: &[String], path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or("");
    let ends = |want: &str| tree.iter().any(|p| p == want || p.ends_with(&format!("/{want}")));
    let any = stem.len() > 2 && stem.chars().all(|c| c.is_ascii_uppercase());
    ends(path) || ends(&format!("{path}/")) || ends(&format!("{path}.rs")) || any && (dir.is_empty() || ends(&format!("{dir}/")))
}

#[test]
fn paths_in_the_documents_exist() {
    let root = adl_tests::root().canonicalize().unwrap();
    let mut files = Vec::new();
    tree(&root, "", &mut files);
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in ["docs/adding.md", "docs/ARCHITECTURE.md", "docs/glossary.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for path in quoted(&text).into_iter().filter(|w| is_path(w)) {
            seen += 1;
            if !exists(&files, &path) {
                wrong.push(format!("{file}: there is no `{path}`"));
            }
        }
    }
    assert!(seen > 100, "only {seen} paths were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
