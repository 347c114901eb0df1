//! The TextMate grammar in `editors/vscode` is the one that the lexer's tables give.

use std::path::Path;

#[test]
fn the_stored_grammar_is_that_of_the_lexer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode/syntaxes/adl.tmLanguage.json");
    let new = adl_syntax::textmate::grammar();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &new).unwrap();
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(old == new, "the grammar has changed: UPDATE=1 cargo test -p adl-syntax --test syntax textmate");
    for word in adl_syntax::token::Kw::ALL {
        assert!(new.contains(word.text()), "{}", word.text());
    }
}

#[test]
fn the_other_editors_know_every_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors");
    for file in ["neovim/syntax/adl.vim", "emacs/adl-mode.el"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        for word in adl_syntax::token::Kw::ALL {
            assert!(words.contains(&word.text()), "{file}: {}", word.text());
        }
    }
}
