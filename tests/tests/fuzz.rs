//! Programs cut up and glued together at random: checking them gives errors and never a panic.

#[test]
fn mutated_programs_are_checked_without_a_panic() {
    let mut sources = Vec::new();
    for dir in ["tests/programs", "examples", "tests/errors", "lang/std/adl"] {
        for e in std::fs::read_dir(adl_tests::root().join(dir)).unwrap() {
            let path = e.unwrap().path();
            if path.extension().is_some_and(|e| e == "adl") {
                sources.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let lines: Vec<&str> = sources.iter().flat_map(|s| s.lines()).collect();
    let words: Vec<&str> = sources.iter().flat_map(|s| s.split_whitespace()).collect();
    let mut seed = 7u64;
    let mut next = move |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let seconds: u64 = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let start = std::time::Instant::now();
    let mut rounds = 0;
    while start.elapsed().as_secs() < seconds {
        let (mut s, _) = adl_tests::session();
        for _ in 0..20 {
            let mut text = String::new();
            for _ in 0..1 + next(6) {
                let line = lines[next(lines.len())];
                let mut parts: Vec<&str> = line.split(' ').collect();
                if next(2) == 0 {
                    let at = next(parts.len());
                    parts[at] = words[next(words.len())];
                }
                text.push_str(&parts.join(" "));
                text.push('\n');
            }
            let _ = s.check_file("fuzz.adl", text.as_bytes());
            rounds += 1;
        }
    }
    assert!(rounds > 100, "{rounds} programs");
}
