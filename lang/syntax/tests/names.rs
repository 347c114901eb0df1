//! Which definition each name refers to, and what colour it has.

use adl_syntax::highlight::{Class, tokens};
use adl_syntax::names::{Meaning, Occurrence, in_scope, resolve};
use adl_syntax::symbol::Symbol;

fn meanings(text: &str) -> Vec<String> {
    let (program, _) = adl_syntax::parse(Default::default(), text);
    let names = resolve(&program, &|n| n.as_str() == "optim");
    let show = |o: &Occurrence| match o.meaning {
        Meaning::Here(s) if o.binder.is_some() => format!("{}@{}", o.name, s.lo),
        Meaning::Here(s) => format!("{}->{}", o.name, s.lo),
        Meaning::Member(m) => format!("{m}.{}", o.name),
        Meaning::Free => format!("{}?", o.name),
    };
    names.all.iter().map(show).collect()
}

#[test]
fn scopes() {
    for (text, want) in [
        ("let x = x\nx", "x@4 x? x->4"),
        ("let rec f x = f x", "f@8 x@10 f->8 x->10"),
        ("let f (x : [n]Float) : [n]Float = n", "f@4 x@7 n@12 Float? n->12 Float? n->12"),
        ("let x = 1\nlet y = let x = x in x", "x@4 y@14 x@22 x->4 x->22"),
        ("for i < n, j -> i * j", "i@4 n? j@11 i->4 j->11"),
        ("match x with | Some y | Left y when y -> y", "x? Some? y@20 Left? y->20 y->20 y->20"),
        ("loop a = b for i < c do a + i", "a@5 b? i@15 c? a->5 i->15"),
        ("for (x, y) in x, y in y -> x", "x@5 y@8 x? y@17 y? x->5"),
        ("for {x, y = z} in r, i < n -> x + z * i", "x@5 y? z@12 r? i@21 n? x->5 z->12 i->21"),
        ("loop a = b for (a', _) in a do a + a'", "a@5 b? a'@16 a? a->5 a'->16"),
        ("optim.adam r.x", "optim? optim.adam r? x?"),
        ("import \"a.adl\" as A\nA.f (A.C : A.T)", "A@18 A->18 A.f A->18 A.C A->18 A.T"),
        ("type T a = C a | D (T a)", "T@5 a@7 C@11 a->7 D@17 T->5 a->7"),
        ("fun {x, y = z} -> {x, z}", "x@5 y? z@12 x->5 z->12"),
        ("{r with x = 1, w[i] = y}", "r? x? w? i? y?"),
    ] {
        assert_eq!(meanings(text).join(" "), want, "{text}");
    }
}

#[test]
fn what_is_in_scope_at_a_marker() {
    let (program, _) =
        adl_syntax::parse(Default::default(), "let f (x : [n]Int) y =\n  let y = x in\n  fun z -> here + y");
    let names: Vec<String> =
        in_scope(&program, Symbol::new("here")).iter().map(|(n, s)| format!("{n}@{}", s.lo)).collect();
    assert_eq!(names, ["z@44", "y@29", "x@7", "n@12"]);
}

#[test]
fn classes() {
    let text = "type T = A Float\nlet f (x : [n]Float) : M.T = Some x -- no\ntest \"a\" = f\"{x}\" == 'b";
    let found: Vec<(&str, Class)> = tokens(text).into_iter().map(|(r, c)| (&text[r], c)).collect();
    use Class::*;
    for pair in [
        ("type", Keyword),
        ("T", Type),
        ("A", Constructor),
        ("Float", Type),
        ("f", Name),
        ("[", Bracket),
        ("M", Type),
        ("Some", Constructor),
        ("-- no", Comment),
        ("test", Keyword),
        ("\"a\"", String),
        ("==", Operator),
        ("\"", String),
    ] {
        assert!(found.contains(&pair), "{pair:?} in {found:?}");
    }
}
