//! Open texts with their analyses. The cells of a notebook see the names of the cells before them.

use crate::files::{self, Buffers};
use crate::source_text::{Encoding, Text};
use adl_session::Session;
use adl_session::analysis::{AnalysedItem, Analysis};
use adl_syntax::ast::{self, Item};
use adl_syntax::diag::Diagnostic;
use adl_syntax::names::{self, Names};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Env;
use lsp_types::Uri;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An open text.
pub struct Document {
    /// Its address.
    pub uri: Uri,
    /// Its path, if it is a file.
    pub path: Option<PathBuf>,
    /// Its name in messages: the path below the root of the workspace.
    pub name: String,
    /// The version that the editor gave it.
    pub version: i32,
    /// Its contents.
    pub text: Text,
    /// The analysis of these or earlier contents.
    analysis: Option<Analysis>,
    /// What its names refer to.
    names: Option<Rc<Names>>,
    /// Whether the analysis is of earlier contents.
    changed: bool,
    /// Whether its diagnostics are to be published.
    pub unpublished: bool,
    /// The semantic tokens that the editor has, with their number.
    pub tokens: (u64, Vec<lsp_types::SemanticToken>),
}

/// All open texts.
pub struct Documents {
    /// By address.
    pub all: BTreeMap<String, Document>,
    /// The cells of each notebook, in order.
    pub notebooks: BTreeMap<String, Vec<String>>,
    /// The unit of columns.
    pub encoding: Encoding,
    /// The root of the workspace.
    pub root: PathBuf,
    /// What the session reads in place of files.
    pub buffers: Buffers,
}

/// Whether a lower-case name is a standard module.
pub fn is_module(name: Symbol) -> bool {
    adl_std::source(name.as_str()).is_some()
}

impl Document {
    /// The analysis, if it was made.
    pub fn analysis(&self) -> Option<&Analysis> {
        self.analysis.as_ref()
    }

    /// The program; empty before the first analysis.
    pub fn items(&self) -> &[Item] {
        self.analysis.as_ref().map_or(&[], |a| &a.program.items)
    }

    /// The item at a position, or the one before it.
    pub fn item_at(&self, pos: usize) -> Option<(&Item, &AnalysedItem)> {
        let analysis = self.analysis.as_ref()?;
        let after = analysis.program.items.partition_point(|i| i.span.lo as usize <= pos);
        let at = after.checked_sub(1)?;
        Some((analysis.program.items.get(at)?, analysis.items.get(at)?))
    }

    /// The names in scope for an item at a position: those that the items before it define.
    pub fn scope_at(&self, pos: usize, base: &Env) -> Env {
        let Some(analysis) = &self.analysis else { return base.clone() };
        let inside = |i: &&Item| i.span.lo as usize <= pos && pos <= i.span.hi as usize;
        match analysis.program.items.iter().position(|i| inside(&i)) {
            Some(at) => analysis.items[at].env.clone(),
            None => {
                let next = analysis.program.items.partition_point(|i| (i.span.lo as usize) < pos);
                analysis.items.get(next).map_or_else(|| analysis.env.clone(), |i| i.env.clone())
            }
        }
    }

    /// What its names refer to.
    pub fn names(&mut self) -> Rc<Names> {
        let program = self.analysis.as_ref().map(|a| &a.program);
        let made = || Rc::new(program.map_or_else(Names::default, |p| names::resolve(p, &is_module)));
        self.names.get_or_insert_with(made).clone()
    }

    /// The file that a module name stands for: the path as written.
    pub fn import(&self, alias: Symbol) -> Option<ast::ImportSource> {
        self.items().iter().rev().find_map(|i| match &i.kind {
            ast::ItemKind::Import { what, alias: Some(a) } if a.name == alias => Some(what.clone()),
            _ => None,
        })
    }
}

impl Documents {
    /// No texts.
    pub fn new(root: PathBuf, buffers: Buffers, encoding: Encoding) -> Documents {
        Documents { all: BTreeMap::new(), notebooks: BTreeMap::new(), encoding, root, buffers }
    }

    /// A text was opened.
    pub fn open(&mut self, uri: Uri, version: i32, text: String) {
        let path = files::path_of(&uri);
        let name = match &path {
            Some(p) => self.shown(p),
            None => format!("<{}>", uri.as_str()),
        };
        let text = Text::new(text, self.encoding);
        if let Some(p) = &path {
            self.buffers.borrow_mut().insert(p.clone(), text.text.clone());
        }
        let key = uri.as_str().to_owned();
        let document = Document {
            uri,
            path,
            name,
            version,
            text,
            analysis: None,
            names: None,
            changed: true,
            unpublished: true,
            tokens: (0, Vec::new()),
        };
        self.all.insert(key.clone(), document);
        self.touch(&key);
    }

    /// A path below the root of the workspace is named relative to it, as on the command line there.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// A text was changed.
    pub fn change(&mut self, uri: &str, version: i32, changes: Vec<lsp_types::TextDocumentContentChangeEvent>) {
        let Some(document) = self.all.get_mut(uri) else { return };
        document.text = document.text.changed(changes);
        document.version = version;
        if let Some(p) = &document.path {
            self.buffers.borrow_mut().insert(p.clone(), document.text.text.clone());
        }
        self.touch(uri);
    }

    /// A text was closed.
    pub fn close(&mut self, uri: &str) {
        self.touch(uri);
        if let Some(path) = self.all.remove(uri).and_then(|d| d.path) {
            self.buffers.borrow_mut().remove(&path);
        }
    }

    /// Marks a text as changed, with those that depend on it.
    fn touch(&mut self, uri: &str) {
        let cells: Vec<String> = match self.notebooks.values().find(|cells| cells.iter().any(|c| c == uri)) {
            Some(cells) => cells.iter().skip_while(|c| *c != uri).cloned().collect(),
            None => vec![uri.to_owned()],
        };
        for (key, d) in &mut self.all {
            // Another file may import this one.
            let imports = d.items().iter().any(|i| matches!(i.kind, ast::ItemKind::Import { .. }));
            if imports || cells.contains(key) {
                (d.changed, d.unpublished) = (true, true);
            }
        }
    }

    /// Marks all texts as changed, because files on disk have.
    pub fn touch_all(&mut self) {
        self.all.values_mut().for_each(|d| (d.changed, d.unpublished) = (true, true));
    }

    /// Forgets all analyses, which belong to a session that has ended.
    pub fn forget(&mut self) {
        for d in self.all.values_mut() {
            (d.analysis, d.names, d.changed, d.unpublished) = (None, None, true, true);
        }
    }

    /// The names in scope before a text: those of the cells before it.
    pub fn scope_before(&mut self, uri: &str, session: &mut Session) -> Env {
        self.scope_unless_interrupted(uri, session).unwrap_or_else(|| session.env.clone())
    }

    /// The same; `None` if checking the cells before it was interrupted.
    fn scope_unless_interrupted(&mut self, uri: &str, session: &mut Session) -> Option<Env> {
        let before = self.notebooks.values().find_map(|cells| {
            let at = cells.iter().position(|c| c == uri)?;
            cells[..at].iter().rev().find(|c| self.all.contains_key(*c)).cloned()
        });
        let Some(before) = before else { return Some(session.env.clone()) };
        let whole = self.analyse(&before, session);
        self.all.get(&before).filter(|_| whole)?.analysis().map(|a| a.env.clone())
    }

    /// Brings the analysis of a text up to date. Returns whether that was not interrupted.
    pub fn analyse(&mut self, uri: &str, session: &mut Session) -> bool {
        if !self.all.get(uri).is_some_and(|d| d.changed) {
            return true;
        }
        let Some(scope) = self.scope_unless_interrupted(uri, session) else { return false };
        let Some(d) = self.all.get_mut(uri) else { return true };
        let before = d.analysis.take();
        let analysis = session.analyse(&d.name, &d.text.text, &scope, before);
        d.names = None;
        // The inbox takes the interrupt back when the work is over.
        if analysis.diags.iter().any(|d| d.code == adl_interp::error::codes::INTERRUPT) {
            return false;
        }
        d.analysis = Some(analysis);
        d.changed = false;
        true
    }

    /// Whether a text is a cell of a notebook.
    pub fn is_cell(&self, uri: &str) -> bool {
        self.notebooks.values().any(|cells| cells.iter().any(|c| c == uri))
    }

    /// The diagnostics of a text.
    pub fn diags(&self, uri: &str) -> &[Diagnostic] {
        self.all.get(uri).and_then(|d| d.analysis()).map_or(&[], |a| &a.diags)
    }
}
