//! The repository's own programs parse.

use crate::common;

use adl_syntax::span::FileId;

#[test]
fn every_program_of_the_repository_parses() {
    for (path, text) in common::adl_files() {
        let (program, diagnostics) = adl_syntax::parse(FileId(0), &text);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.is_error()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        assert!(!program.items.is_empty() || text.trim().is_empty());
    }
}
