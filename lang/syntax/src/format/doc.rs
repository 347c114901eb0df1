//! Documents with possible line breaks, and their layout in a given width (after Wadler, "A
//! prettier printer", and Oppen).

use std::rc::Rc;

/// A shared document.
pub(super) type D = Rc<Doc>;

/// A document to be laid out.
#[derive(Debug)]
pub(super) enum Doc {
    Nil,
    /// Text without newlines.
    Text(String),
    /// Text that may contain newlines, which are kept.
    Verbatim(String),
    /// A space, or a newline if its group is broken.
    Line,
    /// Nothing, or a newline if its group is broken.
    SoftLine,
    /// Always a newline; if `true`, followed by an empty line.
    Hard(bool),
    /// A comment, after which the line ends.
    Comment(Comment),
    /// Adds indentation to newlines inside.
    Nest(usize, D),
    /// Sets the indentation to the current column.
    Align(D),
    /// Laid out on one line if it fits.
    Group(D),
    /// Always laid out on one line.
    Flat(D),
    Concat(Vec<D>),
    /// The first alternative whose first line fits, or the last one. The first alternative is laid out flat.
    Choice(Vec<D>),
    /// Lines below each other, each flat, with additional indentation. In a choice it fits if all its lines fit.
    Rows(Vec<(usize, D)>),
}

/// The position of a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommentPlace {
    /// On separate lines, above the node it belongs to.
    Above,
    /// At the end of a line.
    Behind,
    /// On separate lines, below the node it belongs to.
    Below,
}

/// A comment after which the line ends.
#[derive(Debug)]
pub(super) struct Comment {
    pub(super) text: String,
    pub(super) place: CommentPlace,
    /// Whether an empty line precedes it.
    pub(super) blank: bool,
    /// Whether an empty line follows it.
    pub(super) apart: bool,
}

pub(super) fn nil() -> D {
    Rc::new(Doc::Nil)
}

pub(super) fn text(text: impl Into<String>) -> D {
    Rc::new(Doc::Text(text.into()))
}

pub(super) fn space() -> D {
    text(" ")
}

pub(super) fn line() -> D {
    Rc::new(Doc::Line)
}

pub(super) fn soft_line() -> D {
    Rc::new(Doc::SoftLine)
}

pub(super) fn hard() -> D {
    Rc::new(Doc::Hard(false))
}

pub(super) fn concat(parts: Vec<D>) -> D {
    Rc::new(Doc::Concat(parts))
}

pub(super) fn nest(doc: D) -> D {
    Rc::new(Doc::Nest(super::INDENT, doc))
}

pub(super) fn align(doc: D) -> D {
    Rc::new(Doc::Align(doc))
}

pub(super) fn group(doc: D) -> D {
    Rc::new(Doc::Group(doc))
}

pub(super) fn flat(doc: D) -> D {
    Rc::new(Doc::Flat(doc))
}

pub(super) fn choice(all: Vec<D>) -> D {
    Rc::new(Doc::Choice(all))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Break,
}

type LayoutCommand<'a> = (usize, Mode, &'a Doc);

/// Lays out `doc` in lines of at most `width` columns where possible.
pub(super) fn layout(doc: &Doc, width: usize) -> String {
    let mut printer =
        DocPrinter { out: String::new(), column: 0, width, pending: None, commands: vec![(0, Mode::Break, doc)] };
    while let Some(command) = printer.commands.pop() {
        printer.step(command);
    }
    printer.out.truncate(printer.out.trim_end_matches(' ').len());
    printer.out
}

struct DocPrinter<'a> {
    out: String,
    column: usize,
    width: usize,
    /// A newline to be written before the next text: its indentation, and whether an empty line precedes it.
    pending: Option<(usize, bool)>,
    commands: Vec<LayoutCommand<'a>>,
}

impl<'a> DocPrinter<'a> {
    fn step(&mut self, (indent, mode, doc): LayoutCommand<'a>) {
        match doc {
            Doc::Nil => {}
            Doc::Text(text) => self.write(text),
            Doc::Verbatim(text) => {
                self.write(text);
                if let Some(at) = text.rfind('\n') {
                    self.column = text[at + 1..].chars().count();
                }
            }
            Doc::Line if mode == Mode::Flat => self.write(" "),
            Doc::SoftLine if mode == Mode::Flat => {}
            Doc::Line | Doc::SoftLine => self.newline(indent, false),
            Doc::Hard(blank) => self.newline(indent, *blank),
            Doc::Comment(comment) => self.comment(indent, comment),
            Doc::Nest(by, inner) => self.commands.push((indent + by, mode, inner)),
            Doc::Align(inner) => {
                let column = self.pending.map_or(self.column, |(indent, _)| indent);
                self.commands.push((column, mode, inner));
            }
            Doc::Group(inner) => {
                let fits = mode == Mode::Flat || self.fits(Mode::Flat, inner);
                self.commands.push((indent, if fits { Mode::Flat } else { Mode::Break }, inner));
            }
            Doc::Flat(inner) => self.commands.push((indent, Mode::Flat, inner)),
            Doc::Concat(parts) => self.commands.extend(parts.iter().rev().map(|part| (indent, mode, &**part))),
            Doc::Choice(all) => self.choose(indent, mode, all),
            Doc::Rows(rows) => self.commands.extend(rows.iter().rev().map(|(_, row)| (indent, mode, &**row))),
        }
    }

    fn choose(&mut self, indent: usize, mode: Mode, all: &'a [D]) {
        for (i, one) in all.iter().enumerate() {
            if let (Doc::Rows(rows), Mode::Break) = (&**one, mode) {
                if self.rows_fit(indent, rows) {
                    return self.push_rows(indent, rows);
                }
                continue;
            }
            let tried = if i == 0 { Mode::Flat } else { Mode::Break };
            if i + 1 == all.len() || mode == Mode::Flat || self.fits(tried, one) {
                return self.commands.push((indent, if mode == Mode::Flat { mode } else { tried }, one));
            }
        }
    }

    fn rows_fit(&self, indent: usize, rows: &'a [(usize, D)]) -> bool {
        rows.iter().enumerate().all(|(i, (more, row))| match i {
            0 => self.fits_from(self.start(), Mode::Flat, row, false),
            _ => self.fits_from(indent + more, Mode::Flat, row, i + 1 == rows.len()),
        })
    }

    fn push_rows(&mut self, indent: usize, rows: &'a [(usize, D)]) {
        for (i, (more, row)) in rows.iter().enumerate().rev() {
            self.commands.push((indent + more, Mode::Flat, row));
            if i > 0 {
                self.commands.push((indent + more, Mode::Break, &Doc::Line));
            }
        }
    }

    fn write(&mut self, text: &str) {
        if text.trim_matches(' ').is_empty() && (self.pending.is_some() || self.out.is_empty()) {
            return;
        }
        self.flush();
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    /// Writes the pending newline.
    fn flush(&mut self) {
        let Some((indent, blank)) = self.pending.take() else { return };
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.is_empty() {
            self.out.push_str(if blank { "\n\n" } else { "\n" });
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    fn newline(&mut self, indent: usize, blank: bool) {
        let blank = blank || self.pending.is_some_and(|(_, blank)| blank);
        self.pending = Some((indent, blank));
    }

    fn comment(&mut self, indent: usize, comment: &Comment) {
        let fresh = self.pending.is_some() || self.out.is_empty();
        match comment.place {
            CommentPlace::Below => self.newline(indent, comment.blank),
            // If no newline was due, begin an indented line that does not start an entry.
            CommentPlace::Above if !fresh => self.newline(indent + super::INDENT, false),
            CommentPlace::Above => {}
            CommentPlace::Behind if !fresh => {
                self.out.truncate(self.out.trim_end_matches(' ').len());
                self.out.push_str("  ");
            }
            CommentPlace::Behind => {}
        }
        self.flush();
        self.out.push_str(&comment.text);
        let leads = comment.place == CommentPlace::Above || (fresh && comment.place == CommentPlace::Behind);
        // Text that follows without its own newline must not look like a new entry.
        let next = if leads { self.column } else { indent + super::INDENT };
        self.pending = Some((next, comment.apart));
    }

    /// The column of the next text.
    fn start(&self) -> usize {
        self.pending.map_or(self.column, |(indent, _)| indent)
    }

    fn fits(&self, mode: Mode, doc: &'a Doc) -> bool {
        self.fits_from(self.start(), mode, doc, true)
    }

    /// Whether `doc`, starting in column `start`, fits together with the rest of its line (if `with_rest`). Groups in
    /// `doc` are flat, and a comment may only be at the end.
    fn fits_from(&self, start: usize, mode: Mode, doc: &'a Doc, with_rest: bool) -> bool {
        let width = self.width as isize;
        let mut fit = LineFit { width, left: width - start as isize, begun: false, commented: false };
        let mut stack = vec![(mode, doc)];
        while let Some((mode, doc)) = stack.pop() {
            match fit.step(mode, doc, &mut stack, false) {
                None => {}
                Some(answer) => return answer,
            }
        }
        for (_, mode, doc) in self.commands.iter().rev().take_while(|_| with_rest) {
            stack.push((*mode, *doc));
            while let Some((mode, doc)) = stack.pop() {
                match fit.step(mode, doc, &mut stack, true) {
                    None => {}
                    Some(answer) => return answer,
                }
            }
        }
        fit.left >= 0
    }
}

/// The state of measuring one line.
struct LineFit {
    width: isize,
    left: isize,
    /// Whether there was text. Comments before any text go on lines of their own and take no width.
    begun: bool,
    /// Whether a comment has ended the line.
    commented: bool,
}

impl LineFit {
    /// Measures `doc`, and returns the answer if it is known then. In the rest of the line (`rest`) groups may break.
    fn step<'a>(&mut self, mode: Mode, doc: &'a Doc, stack: &mut Vec<(Mode, &'a Doc)>, rest: bool) -> Option<bool> {
        match doc {
            Doc::Nil => {}
            Doc::Text(text) => return self.take(text.chars().count(), text.trim().is_empty(), rest),
            Doc::Verbatim(text) if !text.contains('\n') => return self.take(text.chars().count(), false, rest),
            Doc::Verbatim(text) => {
                let widths = || text.split('\n').map(|line| line.chars().count() as isize);
                let (first, last) = (widths().next().unwrap_or(0), widths().next_back().unwrap_or(0));
                if rest || self.commented || self.left < first {
                    return Some(!self.commented && self.left >= first);
                }
                (self.begun, self.left) = (true, self.width - last);
            }
            Doc::Line | Doc::SoftLine if mode == Mode::Break => return Some(self.left >= 0),
            Doc::Line => return self.take(1, true, rest),
            Doc::SoftLine => {}
            Doc::Hard(_) if !self.begun && !rest => {}
            Doc::Hard(_) => return Some(rest || mode == Mode::Break),
            Doc::Comment(_) if rest => return Some(self.left >= 0),
            Doc::Comment(_) => self.commented |= self.begun,
            Doc::Nest(_, inner) | Doc::Align(inner) => stack.push((mode, inner)),
            Doc::Group(inner) => stack.push((if rest { mode } else { Mode::Flat }, inner)),
            Doc::Flat(inner) => stack.push((Mode::Flat, inner)),
            Doc::Concat(parts) => stack.extend(parts.iter().rev().map(|part| (mode, &**part))),
            Doc::Choice(all) => {
                let one = if rest && mode == Mode::Break { all.last() } else { all.first() };
                stack.extend(one.map(|one| (mode, &**one)));
            }
            // Only choices look inside rows. Elsewhere they count as several lines.
            Doc::Rows(_) => return Some(rest && self.left >= 0),
        }
        None
    }

    fn take(&mut self, width: usize, blank: bool, rest: bool) -> Option<bool> {
        self.begun |= !blank;
        if self.commented && !blank {
            // Text after the comment goes on the next line. That is allowed after the document, but not inside it.
            return Some(rest);
        }
        if !self.commented {
            self.left -= width as isize;
        }
        (self.left < 0).then_some(false)
    }
}
