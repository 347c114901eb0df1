//! The book: the chapters of `docs/book/src`, and generated pages on the standard library and the errors.
//!
//! [`Book::read`] puts them together as Markdown, in which code is coloured by adl's own lexer. [`Book::broken`] lists
//! links that lead nowhere. [`html`] has mdBook turn what was written into pages.

pub mod chapters;
pub mod errors;
pub mod library;
pub mod links;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The pages of the book.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// Markdown, by its path below `src`: `reference/types.md`.
    pub pages: BTreeMap<String, String>,
    /// Everything else below `src`: pictures.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Book {
    /// The chapters below `src`, and the generated pages.
    pub fn read(src: &Path) -> io::Result<Book> {
        let mut book = Book::default();
        chapters::read(src, "", &mut book)?;
        let modules = library::pages();
        let groups = errors::pages();
        if let Some(summary) = book.pages.get_mut("SUMMARY.md") {
            chapters::list_below(summary, "library/index.md", &modules);
            chapters::list_below(summary, "errors/index.md", &groups);
        }
        for page in modules.into_iter().chain(groups) {
            book.pages.insert(page.path, page.text);
        }
        Ok(book)
    }

    /// Writes the Markdown as mdBook reads it, with the settings beside it.
    pub fn write(&self, settings: &Path, dir: &Path) -> io::Result<()> {
        let coloured = self.pages.iter().map(|(path, text)| (path, chapters::coloured(text).into_bytes()));
        let files = self.files.iter().map(|(path, bytes)| (path, bytes.clone()));
        for (path, bytes) in coloured.chain(files) {
            let to = dir.join("src").join(path);
            std::fs::create_dir_all(to.parent().unwrap_or(dir))?;
            adl_files::write(to, bytes)?;
        }
        for entry in std::fs::read_dir(settings)? {
            let from = entry?.path();
            if let (true, Some(name)) = (from.is_file(), from.file_name()) {
                adl_files::write(dir.join(name), std::fs::read(&from)?)?;
            }
        }
        Ok(())
    }
}

/// Has mdBook turn what was written to `dir` into HTML, in `dir/html`.
pub fn html(dir: &Path) -> Result<(), String> {
    let book = mdbook_driver::MDBook::load(dir).and_then(|b| b.build());
    book.map_err(|e| format!("{}: {e:#}", dir.display()))
}

/// A generated page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Below `src`.
    pub path: String,
    /// For the table of contents.
    pub title: String,
    /// Markdown.
    pub text: String,
}

/// Text as a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
