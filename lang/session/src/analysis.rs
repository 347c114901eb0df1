//! Checks a text again and again while it is edited: for editors.
//!
//! The result equals that of checking the text in a new session, but only changed items and those that depend on them
//! are checked. An item is kept if its text is the same, it had no messages, and every word in it means what it meant.
//! Text and spans of kept items move with the text before them. Each text has two file ids, for the contents before and
//! after a change, so that a span says which of them it belongs to.

use crate::Session;
use crate::item_words::{defined_names, words};
use crate::reload::ItemBindings;
use crate::run::CheckedText;
use adl_syntax::ast;
use adl_syntax::diag::Diagnostic;
use adl_syntax::field_order;
use adl_syntax::parser::MAX_ERRORS;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::GlobalId;
use adl_typing::env::{Env, TypeName};
use adl_typing::ty::{DataId, Size, Ty};
use adl_typing::{Places, moved_global};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Functions whose types depend on files: an item that names one is always checked.
const READERS: [&str; 5] = ["read_csv", "read_parquet", "read_arrow", "read_npy", "rows.open"];

/// A checked text.
pub struct Analysis {
    /// The id of its contents.
    pub file: FileId,
    /// The id of its contents before, to be reused for those after.
    other: FileId,
    /// The tree, with error nodes where it did not parse.
    pub program: ast::Program,
    /// For each item of the program.
    pub items: Vec<AnalysedItem>,
    /// The names in scope behind it.
    pub env: Env,
    /// All errors and warnings, as `check_file` returns them.
    pub diags: Vec<Diagnostic>,
    /// The number of items that were checked; the others were kept.
    pub checked: usize,
}

/// A checked item.
pub struct AnalysedItem {
    /// The names in scope before it.
    pub env: Env,
    /// The types of its expressions and names.
    pub places: Places,
    span: Span,
    text: String,
    /// The column in which it begins, which matters for layout, and its documentation.
    rest: (usize, Option<String>),
    /// Its words, and what each meant.
    words: Vec<Symbol>,
    meanings: Vec<Meaning>,
    gives: ItemBindings,
    /// The orders of record fields that it writes.
    orders: field_order::Log,
    /// Whether it may be kept.
    clean: bool,
}

/// What a word means, as far as it concerns other items.
#[derive(PartialEq)]
struct Meaning {
    value: Option<GlobalId>,
    data: Option<DataId>,
    alias: Option<*const adl_typing::env::Alias>,
    con: Option<(DataId, u32)>,
    module: Option<*const Env>,
    broken: bool,
}

impl Meaning {
    fn of(word: Symbol, env: &Env) -> Meaning {
        let ty = env.types.get(&word);
        Meaning {
            value: env.values.get(&word).map(|g| g.id),
            data: if let Some(TypeName::Data(d)) = ty { Some(d.id) } else { None },
            alias: if let Some(TypeName::Alias(a)) = ty { Some(Rc::as_ptr(a)) } else { None },
            con: env.cons.get(&word).map(|(d, tag)| (d.id, *tag)),
            module: env.modules.get(&word).map(Rc::as_ptr),
            broken: env.broken.contains_key(&word),
        }
    }
}

/// The items of a text before a change.
#[derive(Default)]
struct Before {
    items: Vec<Option<AnalysedItem>>,
    /// The positions of items by text.
    by_text: HashMap<String, VecDeque<usize>>,
    file: FileId,
    /// What has moved: from, to (excluded), and the new start.
    moved: Vec<(Span, u32)>,
    /// The number of moves that the tables know.
    told: usize,
}

impl Before {
    fn new(file: FileId, items: Vec<AnalysedItem>) -> Before {
        let mut by_text: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (i, item) in items.iter().enumerate().filter(|(_, item)| item.clean) {
            by_text.entry(item.text.clone()).or_default().push_back(i);
        }
        Before { items: items.into_iter().map(Some).collect(), by_text, file, moved: Vec::new(), told: 0 }
    }

    /// The item of this text, if every word in it means what it meant.
    fn take(&mut self, text: &str, rest: &(usize, Option<String>), env: &Env, lo: u32) -> Option<AnalysedItem> {
        let places = self.by_text.get_mut(text)?;
        let item = self.items[*places.front()?].as_ref()?;
        let same = |(word, meant): (&Symbol, &Meaning)| Meaning::of(*word, env) == *meant;
        let still = item.rest == *rest && item.words.iter().zip(&item.meanings).all(same);
        if !still || item.gives.sized() && item.span.lo != lo {
            return None;
        }
        self.items[places.pop_front()?].take()
    }

    /// Where a span of the old text is now.
    fn now(&self, span: Span, file: FileId) -> Span {
        if span.file != self.file {
            return span;
        }
        let around = self.moved.iter().rfind(|(old, _)| old.lo <= span.lo && span.hi <= old.hi);
        around.map_or(span, |(old, lo)| Span { file, lo: span.lo - old.lo + lo, hi: span.hi - old.lo + lo })
    }
}

impl ItemBindings {
    /// Whether a declared type has constant sizes. These know their place, and declarations do not move.
    fn sized(&self) -> bool {
        self.types.iter().any(|(_, t)| match t {
            TypeName::Data(d) => d.cons.iter().flat_map(|c| &c.fields).any(has_constant_size),
            TypeName::Alias(a) => has_constant_size(&a.body),
        })
    }
}

fn has_constant_size(t: &Ty) -> bool {
    match t {
        Ty::Array(n, e) => matches!(n, Size::Const(..)) || has_constant_size(e),
        Ty::Fun(a, b) | Ty::Lin(a, b) => has_constant_size(a) || has_constant_size(b),
        Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().any(has_constant_size),
        Ty::Record(r) => r.fields.iter().any(|(_, t)| has_constant_size(t)),
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) => false,
    }
}

impl Session {
    /// Checks a text with the names of `env` in scope. `before` is the analysis of its former contents.
    pub fn analyse(&mut self, name: &str, text: &str, env: &Env, before: Option<Analysis>) -> Analysis {
        let known = before.as_ref().map(|a| (a.file, a.other));
        let done = self.stoppable(|s| s.analysed(name, text, env, before));
        done.unwrap_or_else(|d| {
            let (file, other) = known.unwrap_or_else(|| (self.add_source(name, ""), self.add_source(name, "")));
            let program = ast::Program::default();
            Analysis { file, other, program, items: Vec::new(), env: env.clone(), diags: vec![*d], checked: 0 }
        })
    }

    fn analysed(&mut self, name: &str, text: &str, env: &Env, before: Option<Analysis>) -> Analysis {
        let (mut before, file, other) = match before {
            Some(a) => (Before::new(a.file, a.items), a.other, a.file),
            None => (Before::default(), self.add_source(name, ""), self.add_source(name, "")),
        };
        let sources = |s: &mut adl_syntax::span::SourceMap| {
            s.replace(file, text);
            file
        };
        self.new_source(sources);
        field_order::forget_own();
        let (program, diags) = adl_syntax::parse(file, text);
        self.tables.defined.values_mut().for_each(|places| places.retain(|(at, _)| at.file != other));
        self.begin_text(&program);
        let whole = diags.len() < MAX_ERRORS;
        let faults: Vec<u32> = diags.iter().filter(|d| d.is_error()).map(|d| d.primary.span.lo).collect();
        let mut out = CheckedText::new(env.clone(), diags);
        let (mut items, mut checked) = (Vec::with_capacity(program.items.len()), 0);
        self.editing = true;
        self.in_file(name, |s| {
            for (i, item) in program.items.iter().enumerate() {
                let from = i.checked_sub(1).map_or(0, |p| program.items[p].span.hi);
                let to = program.items.get(i + 1).map_or(u32::MAX, |next| next.span.lo);
                let parsed = whole && !faults.iter().any(|lo| from <= *lo && *lo < to);
                let (analysed, new) = s.analysed_item(&mut out, item, parsed, &mut before);
                checked += usize::from(new);
                items.push(analysed);
            }
        });
        self.editing = false;
        for warning in std::mem::take(&mut self.import_warnings) {
            if !out.diags.contains(&warning) {
                out.diags.push(warning);
            }
        }
        Analysis { file, other, program, items, env: out.env, diags: out.diags, checked }
    }

    /// Keeps or checks an item; returns whether it was checked.
    fn analysed_item(
        &mut self,
        out: &mut CheckedText,
        item: &ast::Item,
        parsed: bool,
        before: &mut Before,
    ) -> (AnalysedItem, bool) {
        let text = self.sources.text(item.span).to_owned();
        let column = self.sources.get(item.span.file).map_or(0, |f| f.line_col(item.span.lo).1);
        let rest = (column, item.doc.clone());
        let kept = if parsed { before.take(&text, &rest, &out.env, item.span.lo) } else { None };
        if let Some(kept) = kept.filter(|_| !self.hidden(out, item)) {
            return (self.moved_item(out, kept, item.span, before), false);
        }
        self.tell_moves(before, item.span.file);
        let env = out.env.clone();
        let mut words: Vec<Symbol> = words(&text).map(Symbol::new).collect();
        words.sort_unstable();
        words.dedup();
        let (said, tried) = (out.diags.len(), self.tables.tried);
        let (places, orders) = field_order::logged(|| self.inspect_into(out, item));
        let quiet = said == out.diags.len() && tried == self.tables.tried && !self.hidden(out, item);
        let import = matches!(item.kind, ast::ItemKind::Import { .. });
        let analysed = AnalysedItem {
            span: item.span,
            clean: parsed && quiet && !import && !READERS.iter().any(|r| text.contains(r)),
            meanings: words.iter().map(|w| Meaning::of(*w, &env)).collect(),
            gives: ItemBindings::of(&defined_names(item), &out.env),
            text,
            rest,
            words,
            places,
            orders,
            env,
        };
        (analysed, true)
    }

    /// Brings the names of a kept item into scope, at their new places.
    fn moved_item(
        &mut self,
        out: &mut CheckedText,
        mut item: AnalysedItem,
        span: Span,
        before: &mut Before,
    ) -> AnalysedItem {
        before.moved.push((item.span, span.lo));
        let now = |s: Span| before.now(s, span.file);
        item.span = span;
        item.env = out.env.clone();
        item.places.shift(&mut { now });
        item.gives.values.iter_mut().for_each(|(_, g)| *g = moved_global(g, &now));
        item.gives.put(&mut out.env);
        item.orders.iter().for_each(|names| field_order::written(names.iter().copied()));
        item
    }

    /// Tells the tables what has moved since the last time.
    fn tell_moves(&mut self, before: &mut Before, file: FileId) {
        if before.told < before.moved.len() {
            self.tables.shift(&|s| before.now(s, file));
            before.told = before.moved.len();
        }
    }

    /// Parses and checks a part of a text with names in scope. Nothing is kept.
    pub fn inspect_text(&mut self, text: &str, env: &Env) -> (ast::Program, Vec<Places>) {
        let done = self.guarded(|session| {
            let sources = session.sources.clone();
            let file = session.new_source(|all| all.add("<part>", text));
            let (program, _) = adl_syntax::parse(file, text);
            let mut scope = env.clone();
            let mut of = |item: &ast::Item| {
                let (checked, places) = session.inspect(&scope, item);
                scope = checked.env;
                places
            };
            let places = program.items.iter().map(&mut of).collect();
            session.machine.sources = sources.clone();
            session.sources = sources;
            (program, places)
        });
        done.unwrap_or_default()
    }

    /// Runs `f` with other names in scope.
    pub fn in_scope<T>(&mut self, env: &Env, f: impl FnOnce(&mut Session) -> T) -> T {
        let own = std::mem::replace(&mut self.env, env.clone());
        let out = f(self);
        self.env = own;
        out
    }

    /// Forgets imported files whose text has changed. Returns whether there are any.
    pub fn forget_changed_imports(&mut self) -> bool {
        let changed = self.changed_imports();
        changed.iter().for_each(|c| drop(self.files.remove(c)));
        !changed.is_empty()
    }

    /// The number of definitions that were ever checked: what a long session grows by.
    pub fn checked_definitions(&self) -> u32 {
        self.tables.globals
    }
}
