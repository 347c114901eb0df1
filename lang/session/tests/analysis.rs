//! A text that is edited is understood as if it were read for the first time.

use adl_interp::host::NullHost;
use adl_session::Session;
use adl_session::analysis::Analysis;
use adl_syntax::field_order::{Orders, exchange};
use adl_syntax::span::Span;
use std::path::Path;

/// All that an editor shows of a text.
fn shown(session: &mut Session, text: &str, analysis: &Analysis) -> Vec<String> {
    let mut out = Vec::new();
    let place = |s: Span| {
        assert!(s.file == analysis.file || session.sources.get(s.file).is_some_and(|f| f.library), "{s:?}");
        format!("{}..{}", s.lo, s.hi)
    };
    for d in &analysis.diags {
        let labels: Vec<String> = d.secondary.iter().map(|l| format!("{} {}", place(l.span), l.text)).collect();
        let fix: Vec<String> = d.fix.iter().map(|e| format!("{} {}", place(e.span), e.text)).collect();
        out.push(format!(
            "{} {} {} {labels:?} {:?} {:?} {fix:?}",
            d.code,
            place(d.primary.span),
            d.message,
            d.notes,
            d.hint
        ));
    }
    let mut names: Vec<String> = analysis
        .env
        .values
        .iter()
        .map(|(n, g)| format!("{n} {} : {} {:?}", place(g.span), adl_typing::print::scheme(&g.scheme), g.doc))
        .collect();
    names.extend(analysis.env.types.keys().map(|n| format!("type {n}")));
    names.extend(analysis.env.broken.keys().map(|n| format!("broken {n}")));
    names.sort();
    out.extend(names);
    for (item, of) in analysis.items.iter().zip(&analysis.program.items) {
        for pos in of.span.lo..of.span.hi {
            if let Some((span, ty)) = item.places.around(pos).first().filter(|(s, _)| s.lo == pos) {
                out.push(format!(
                    "{} {} : {}",
                    place(*span),
                    &text[span.lo as usize..span.hi as usize],
                    item.places.text(ty)
                ));
            }
        }
    }
    out
}

const PIECES: &[&str] = &[
    "\n",
    " ",
    "let ",
    "x",
    "(",
    ")",
    "[",
    "]",
    "1",
    "2.0",
    "\n\n",
    "let q = 1\n",
    "\"",
    "-- ",
    "unknown_name",
    "->",
    " = ",
    "|",
    "{",
    "}",
    "+",
    "@",
    "\nlet twice f x = f (f x)\n",
    "\ntype Pair a = Pair a a\n",
    "--| Documented.\n",
    ": Float",
    "fun x -> ",
    "[3]Float",
    "\ttrue",
    "λ",
];

/// Text after a random change near `near`, which moves slowly as a cursor does.
fn edited(text: &str, random: &mut fastrand::Rng, near: &mut usize) -> String {
    if random.usize(..20) == 0 {
        *near = random.usize(..=text.len());
    }
    let on = |mut i: usize| {
        i = i.min(text.len());
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let at = on(*near);
    let most = if random.usize(..8) == 0 { 80 } else { 4 };
    let until = if random.usize(..3) == 0 { on(at + random.usize(..most)).max(at) } else { at };
    let piece = if random.usize(..4) == 0 { "" } else { PIECES[random.usize(..PIECES.len())] };
    *near = at + piece.len();
    format!("{}{piece}{}", &text[..at], &text[until..])
}

fn programs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut files: Vec<_> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let texts =
        files.iter().filter(|p| p.extension().is_some_and(|x| x == "adl")).map(|p| std::fs::read_to_string(p).unwrap());
    texts.filter(|t| t.len() < 4000 && !t.contains("import \"") && !t.contains("read_")).collect()
}

/// The number of edits; more by `ADL_EDITS`.
fn edits() -> usize {
    std::env::var("ADL_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(1200)
}

#[test]
fn an_edited_text_is_as_a_new_one() {
    // One test, so both of two cores have a part.
    let parts = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9];
    std::thread::scope(|scope| {
        for seed in parts {
            scope.spawn(move || edit(seed, edits() / parts.len()));
        }
    });
}

fn edit(seed: u64, edits: usize) {
    let programs = programs();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut kept, mut all) = (0, 0);
    let mut session = Session::new(Box::new(NullHost));
    let (mut text, mut analysis, mut near) = (String::new(), None, 0);
    for round in 0..edits {
        if round % 50 == 0 {
            text =
                format!("{}\n{}", programs[random.usize(..programs.len())], programs[random.usize(..programs.len())]);
            near = random.usize(..=text.len());
        } else {
            text = edited(&text, &mut random, &mut near);
        }
        let env = session.env.clone();
        let now = session.analyse("a.adl", &text, &env, analysis.take());
        (kept, all) = (kept + now.items.len() - now.checked, all + now.items.len());
        if random.usize(..12) == 0 {
            let ours = shown(&mut session, &text, &now);
            // A new session begins a new table of the orders of record fields.
            let mut orders = Orders::default();
            exchange(&mut orders);
            let mut fresh = Session::new(Box::new(NullHost));
            let env = fresh.env.clone();
            let new = fresh.analyse("a.adl", &text, &env, None);
            let theirs = shown(&mut fresh, &text, &new);
            let differ: Vec<_> = ours.iter().zip(&theirs).filter(|(a, b)| a != b).take(3).collect();
            assert!(
                differ.is_empty() && ours.len() == theirs.len(),
                "round {round}: {differ:#?}\n{} {}",
                ours.len(),
                theirs.len()
            );
            let messages = |diags: &[adl_syntax::diag::Diagnostic]| {
                diags.iter().map(|d| (d.primary.span.lo, d.message.clone())).collect::<Vec<_>>()
            };
            let listed = Session::new(Box::new(NullHost)).check_file("a.adl", text.as_bytes());
            assert_eq!(messages(&now.diags), messages(&listed), "{text}");
            exchange(&mut orders);
        }
        analysis = Some(now);
    }
    assert!(kept * 2 > all, "{kept} of {all} items were kept");
}
