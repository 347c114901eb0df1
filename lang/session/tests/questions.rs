//! What a session tells of names and of texts that are being typed: types, errors, signatures, documentation.

use adl_interp::host::NullHost;
use adl_session::docs::summary;
use adl_session::{Probe, Session};

#[test]
fn types_and_errors_of_what_is_typed() {
    let mut s = Session::new(Box::new(NullHost));
    assert_eq!(s.probe("1 + 1").ty.as_deref(), Some("Int"));
    assert_eq!(s.probe("let f (x : Float) = x * 2.0").ty.as_deref(), Some("Float -> Float"));
    assert_eq!(s.probe("let y = [1.0]\nsum y").ty.as_deref(), Some("Float"));
    assert_eq!(s.probe("let f x ="), Probe::default());
    let wrong = s.probe("1 + undefined_name");
    assert_eq!((wrong.ty, wrong.errors[0].0.clone()), (None, 4..18));
    assert!(!s.eval("y").ok(), "nothing is kept");
}

#[test]
fn signatures() {
    let mut s = Session::new(Box::new(NullHost));
    s.eval("--| Doubles. And more.\nlet double (x : Float) = 2.0 * x");
    assert_eq!(s.signature("double"), Some(("double : Float -> Float".into(), "Doubles".into())));
    assert!(s.signature("optim.adam").is_some() && s.signature("nothing").is_none());
}

#[test]
fn the_first_sentence() {
    for (doc, want) in [
        ("One. Two.", "One"),
        ("In `lo .. hi - 1`. More.", "In `lo .. hi - 1`"),
        ("Only one.", "Only one"),
        ("", ""),
        ("At 0, 1, ... and so on. More.", "At 0, 1, ... and so on"),
        ("By He et al. (2015). More.", "By He et al. (2015)"),
    ] {
        assert_eq!(summary(doc), want);
    }
}
