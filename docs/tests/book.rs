//! The book as a whole: its links, its generated pages, and its HTML.

use adl_docs::chapters::{coloured, list_below};
use adl_docs::{Book, Page, errors, html, library};
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

#[test]
fn blocks_of_adl_are_coloured() {
    let text = "Text.\n\n```adl\nlet x = 1\nx < 2\n-- > true : Bool\n```\n\n```sh\nls\n```\n";
    let want = "Text.\n\n<pre><code class=\"nohighlight adl\"><span class=\"k\">let</span> x = <span class=\"n\">1</span>\nx &lt; <span class=\"n\">2</span>\n\
                <span class=\"answer\">true : Bool</span>\n</code></pre>\n\n```sh\nls\n```\n";
    assert_eq!(coloured(text), want);
    assert!(coloured("```console\nadl> 1\n1 : Int\n```\n").contains("<span class=\"prompt\">adl&gt; </span>"));
}

#[test]
fn generated_pages_are_in_the_table_of_contents() {
    let mut summary = "# Summary\n\n- [All](library/index.md)\n- [Next](next.md)\n".to_owned();
    let page = |path: &str| Page { path: path.to_owned(), title: "optim".to_owned(), text: String::new() };
    list_below(&mut summary, "library/index.md", &[page("library/index.md"), page("library/optim.md")]);
    assert_eq!(summary, "# Summary\n\n- [All](library/index.md)\n  - [optim](library/optim.md)\n- [Next](next.md)\n");
}

#[test]
fn links_are_followed() {
    let mut book = Book::default();
    let pages = [
        ("SUMMARY.md", "[A](a.md) [B](d/b.md)"),
        ("a.md", "# A\n[here](#a) [there](d/b.md#a-plan) [out](https://x.y)"),
        ("d/b.md", "## A `plan`!\n[back](../a.md) [no](../c.md) [none](#x)"),
    ];
    book.pages.extend(pages.map(|(p, t)| (p.to_owned(), t.to_owned())));
    assert_eq!(book.broken(), ["d/b.md: ../c.md", "d/b.md: #x"]);
    book.pages.insert("e.md".to_owned(), String::new());
    assert_eq!(book.broken().last().map(String::as_str), Some("SUMMARY.md lacks e.md"));
}
