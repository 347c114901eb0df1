//! The book as a whole: its links, its generated pages, and its HTML.

use adl_docs::{Book, errors, html, library};
use std::path::{Path, PathBuf};

fn settings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("book")
}

#[test]
fn no_link_is_broken() {
    let book = Book::read(&settings().join("src")).unwrap();
    assert_eq!(book.broken(), Vec::<String>::new());
}

#[test]
fn every_name_is_in_the_index_and_on_its_page() {
    let pages = library::pages();
    let text = |path: &str| &pages.iter().find(|p| p.path == path).unwrap_or_else(|| panic!("no page {path}")).text;
    assert!(text("library/index.md").contains("| [`optim.adam`](optim.md#adam) |"));
    assert!(text("library/index.md").contains("| [`grad`](builtins.md#grad) |"));
    assert!(text("library/optim.md").contains("## optim.adam {#adam}\n\n```adl\noptim.adam : "));
    assert!(text("library/builtins.md").contains("Derivative of `sin x`: `cos x`."));
}

#[test]
fn every_code_has_one_section() {
    let pages = errors::pages();
    for code in errors::codes() {
        let found = pages.iter().filter(|p| p.text.contains(&format!("\n## {code}\n"))).count();
        assert_eq!(found, 1, "{code}");
    }
    assert!(errors::codes().len() > 70);
}

#[test]
fn mdbook_makes_pages() {
    let dir = std::env::temp_dir().join(format!("adl-book-{}", std::process::id()));
    Book::read(&settings().join("src")).and_then(|b| b.write(&settings(), &dir)).unwrap();
    html(&dir).unwrap();
    let page = std::fs::read_to_string(dir.join("html/first-hour/values.html")).unwrap();
    assert!(page.contains("<span class=\"answer\">"), "{page}");
    assert!(dir.join("html/library/optim.html").exists());
    std::fs::remove_dir_all(&dir).unwrap();
}
