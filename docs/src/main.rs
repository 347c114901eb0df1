//! `cargo run -p adl-docs [DIR]` makes the book: its Markdown in `DIR/src`, its pages in `DIR/html`. The default is
//! `target/book`.

use adl_docs::Book;
use std::path::Path;
use std::process::ExitCode;

fn made(dir: &Path) -> Result<(), String> {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("book");
    let book = Book::read(&settings.join("src")).map_err(|e| format!("{}: {e}", settings.display()))?;
    let broken = book.broken();
    if !broken.is_empty() {
        return Err(format!("links that lead nowhere:\n{}", broken.join("\n")));
    }
    book.write(&settings, dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    adl_docs::html(dir)
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dir = std::env::args_os().nth(1).map_or_else(|| root.join("target/book"), Into::into);
    match made(&dir) {
        Ok(()) => {
            println!("{}", dir.join("html/index.html").display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
