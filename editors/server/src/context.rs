//! What is around the cursor while something is being written there, so that the text need not parse.

use crate::documents::Document;
use crate::server::Server;
use adl_session::completion_ranking::{ENDS, closers, in_name};
use adl_syntax::ast::Program;
use adl_syntax::diag::Diagnostic;
use adl_syntax::highlight::Class;
use adl_syntax::names;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::Places;
use adl_typing::ty::Ty;

/// Stands for what is being written.
const MARKER: &str = "cursor__";

/// The cursor in a text.
pub struct Cursor {
    /// Where the name begins that is being written, with the names before its dots.
    pub start: usize,
    /// What has been written of it.
    pub prefix: String,
    /// The text of the item from its beginning to that name.
    head: String,
    /// The text from the cursor to the next item.
    tail: String,
}

/// The part of a text around the cursor, checked.
pub struct Part {
    /// The part's tree.
    pub program: Program,
    /// The types of its items.
    pub places: Vec<Places>,
}

/// What may be written at the cursor.
#[derive(PartialEq, Debug)]
pub enum Expected {
    /// An expression or an item.
    Anything,
    /// A type.
    Type,
    /// A path in a string: what has been written of it.
    Path(String),
    /// The name of a module, behind `import`.
    Module,
    /// A new name, or the text of a comment.
    Nothing,
}

impl Cursor {
    /// The cursor at a byte.
    pub fn new(d: &Document, at: usize) -> Cursor {
        let text = &d.text.text;
        let before = &text[..at];
        let start = before.char_indices().rev().take_while(|(_, c)| in_name(*c)).last().map_or(at, |(i, _)| i);
        let items = d.items();
        let next = items.partition_point(|i| (i.span.lo as usize) <= start);
        let from = next.checked_sub(1).map_or(0, |i| items[i].span.lo as usize);
        let to = items.get(next).map_or(text.len(), |i| i.span.lo as usize).max(at);
        let (head, tail) = (text.get(from..start).unwrap_or(""), text.get(at..to).unwrap_or(""));
        let tail = tail.trim_start_matches(in_name).to_owned();
        Cursor { start, prefix: before[start..].to_owned(), head: head.to_owned(), tail }
    }

    /// What may be written here.
    pub fn expected(&self) -> Expected {
        let written = format!("{}{}", self.head, self.prefix);
        if let Some(open) = adl_syntax::lexer::open_string(&written) {
            return Expected::Path(open.to_owned());
        }
        let tokens = adl_syntax::tokens(&written);
        if tokens.last().is_some_and(|(r, c)| *c == Class::Comment && r.end == written.len()) {
            return Expected::Nothing;
        }
        let word = |text: &str| self.head.trim_end().ends_with(text) && !self.head.ends_with(text);
        if word("import") {
            return Expected::Module;
        }
        if ["let", "rec", "fun", "lin", "for"].iter().any(|w| word(w)) {
            return Expected::Nothing;
        }
        let as_type = format!("{}X", self.head);
        match adl_syntax::tokens(&as_type).last() {
            Some((_, Class::Type)) => Expected::Type,
            _ => Expected::Anything,
        }
    }

    /// The part with `written` at the cursor, checked: as it stands, or else up to the cursor and closed.
    pub fn part(&self, server: &mut Server, uri: &str, written: &str) -> Part {
        let whole = format!("{}{written}{}", self.head, self.tail);
        let head = format!("{}{written}", self.head);
        let close = closers(&head);
        let closed = ENDS.iter().map(|end| format!("{head}{end}{close}"));
        let text = std::iter::once(whole).chain(closed).find(|t| parses(t)).unwrap_or_else(|| format!("{head}{close}"));
        let base = server.documents.scope_before(uri, &mut server.session);
        let from = self.start - self.head.len();
        let scope = server.documents.all.get(uri).map_or(base.clone(), |d| d.scope_at(from, &base));
        let (program, places) = server.session.inspect_text(&text, &scope);
        Part { program, places }
    }

    /// The local variables in scope, innermost first, with their types.
    pub fn locals(&self, server: &mut Server, uri: &str) -> Vec<(Symbol, String)> {
        let part = self.part(server, uri, MARKER);
        let bound = names::in_scope(&part.program, Symbol::new(MARKER));
        bound
            .into_iter()
            .map(|(name, span)| (name, part.bound_type(span).unwrap_or_else(|| "Int".to_owned())))
            .collect()
    }

    /// The type of the expression before the last dot of the prefix.
    pub fn behind(&self, server: &mut Server, uri: &str) -> Option<Ty> {
        let (path, _) = self.prefix.rsplit_once('.')?;
        let part = self.part(server, uri, path);
        let end = (self.head.len() + path.len()) as u32;
        part.places.iter().find_map(|p| p.around(end).into_iter().find(|(s, _)| s.hi == end).map(|(_, t)| t.clone()))
    }
}

impl Part {
    /// The type of the name that is bound at a place.
    fn bound_type(&self, span: Span) -> Option<String> {
        self.places.iter().find_map(|p| {
            let scheme = p.scheme(span).map(adl_typing::print::scheme);
            scheme.or_else(|| p.ty(span).map(|t| p.text(t)))
        })
    }
}

fn parses(text: &str) -> bool {
    let (_, diags) = adl_syntax::parse(Default::default(), text);
    !diags.iter().any(Diagnostic::is_error)
}
