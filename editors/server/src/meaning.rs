//! What a name refers to, across files: a definition in an open text, in another file, or in the library.

use crate::documents::{Document, is_module};
use crate::files;
use crate::server::Server;
use crate::source_text::Text;
use adl_syntax::ast::{ImportSource, ItemKind, Program};
use adl_syntax::names::{self, Meaning, NameKind, Names, Occurrence};
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use lsp_types::{Location, Uri};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A text that need not be open, with its names.
#[derive(Clone)]
pub struct Source {
    /// Its address.
    pub uri: Uri,
    /// Its contents.
    pub text: Text,
    /// Its tree.
    pub program: Rc<Program>,
    /// What its names refer to.
    pub names: Rc<Names>,
}

/// A definition: where its name is bound.
#[derive(Clone)]
pub struct Definition {
    /// The name.
    pub name: Symbol,
    /// Its kind.
    pub kind: NameKind,
    /// The text that binds it.
    pub uri: Uri,
    /// Where.
    pub span: Span,
    /// Whether other texts can refer to it.
    pub exported: bool,
}

/// The modules that the names of the prelude are looked for in.
const PRELUDE: &str = "prelude";

impl Source {
    fn new(uri: Uri, text: Text) -> Source {
        let (program, _) = adl_syntax::parse(FileId::default(), &text.text);
        let names = Rc::new(names::resolve(&program, &is_module));
        Source { uri, text, program: Rc::new(program), names }
    }

    /// The place of a span.
    pub fn location(&self, span: Span) -> Location {
        Location { uri: self.uri.clone(), range: self.text.range(span) }
    }

    /// The names under which it imports a file.
    pub fn aliases_of(&self, path: &Path) -> Vec<Symbol> {
        let Some(own) = files::path_of(&self.uri) else { return Vec::new() };
        let imports = self.program.items.iter().filter_map(|i| match &i.kind {
            ItemKind::Import { what: ImportSource::File(file, _), alias: Some(a) } => Some((file, a.name)),
            _ => None,
        });
        imports.filter(|(file, _)| imported(&own, file) == path).map(|(_, a)| a).collect()
    }
}

/// The path of a file that another one imports.
fn imported(from: &Path, file: &str) -> PathBuf {
    files::plain(&from.parent().unwrap_or(Path::new("/")).join(file))
}

impl Server {
    /// The name at a position. Of a punned field the variable is meant.
    pub fn occurrence(&mut self, uri: &str, pos: usize) -> Option<Occurrence> {
        let names = self.documents.all.get_mut(uri)?.names();
        let found = names.at(pos as u32).max_by_key(|o| (o.span.lo as usize <= pos, o.span.lo))?;
        Some(*found)
    }

    /// The definition of a name that occurs in a text.
    pub fn definition_of(&mut self, uri: &str, occurrence: &Occurrence) -> Option<Definition> {
        let here = self.documents.all.get_mut(uri)?;
        let (address, names) = (here.uri.clone(), here.names());
        match occurrence.meaning {
            Meaning::Here(span) => {
                let exported = names.exports.values().any(|s| *s == span);
                Some(Definition { name: occurrence.name, kind: occurrence.kind, uri: address, span, exported })
            }
            Meaning::Member(module) => {
                let source = self.module(uri, module)?;
                source.exported(occurrence.kind, occurrence.name)
            }
            Meaning::Free => self.free(uri, occurrence),
        }
    }

    /// A name that its text does not bind: of an earlier cell or of the library.
    fn free(&mut self, uri: &str, occurrence: &Occurrence) -> Option<Definition> {
        for cell in self.cells_before(uri) {
            let d = self.documents.all.get_mut(&cell)?;
            if let Some(span) = d.names().exports.get(&(occurrence.kind, occurrence.name)) {
                let (name, kind, uri, span) = (occurrence.name, occurrence.kind, d.uri.clone(), *span);
                return Some(Definition { name, kind, uri, span, exported: true });
            }
        }
        if occurrence.kind == NameKind::Module {
            let source = self.library(occurrence.name.as_str())?;
            let span = Span::new(FileId::default(), 0, 0);
            return Some(Definition {
                name: occurrence.name,
                kind: occurrence.kind,
                uri: source.uri,
                span,
                exported: false,
            });
        }
        let home = adl_std::home(occurrence.name.as_str()).unwrap_or(PRELUDE);
        self.library(home)?.exported(occurrence.kind, occurrence.name)
    }

    /// The cells before one, the last first.
    fn cells_before(&self, uri: &str) -> Vec<String> {
        let cells = self.documents.notebooks.values().find(|cells| cells.iter().any(|c| c == uri));
        let before = cells.into_iter().flatten().take_while(|c| *c != uri);
        before.filter(|c| self.documents.all.contains_key(*c)).cloned().collect::<Vec<_>>().into_iter().rev().collect()
    }

    /// The source of a module that a text names.
    pub fn module(&mut self, uri: &str, alias: Symbol) -> Option<Source> {
        let d = self.documents.all.get(uri)?;
        match d.import(alias) {
            Some(ImportSource::File(file, _)) => {
                let path = imported(d.path.as_ref()?, &file);
                self.source(&path)
            }
            Some(ImportSource::Std(name)) => self.library(name.name.as_str()),
            None => self.library(alias.as_str()),
        }
    }

    /// A file, as it is in the editor or on disk.
    pub fn source(&mut self, path: &Path) -> Option<Source> {
        let uri = files::uri_of(path)?;
        let open = self.documents.buffers.borrow().get(path).cloned();
        let text = match open {
            Some(text) => text,
            None => String::from_utf8(std::fs::read(path).ok()?).ok()?,
        };
        if let Some(known) = self.sources.get(path).filter(|s| s.text.text == text) {
            return Some(known.clone());
        }
        let source = Source::new(uri, Text::new(text, self.documents.encoding));
        self.sources.insert(path.to_owned(), source.clone());
        Some(source)
    }

    /// A standard module. Its text is written to a file, so that every editor can show it.
    pub fn library(&mut self, name: &str) -> Option<Source> {
        let text = if name == PRELUDE { adl_std::PRELUDE } else { adl_std::source(name)? };
        let dir = std::env::temp_dir().join(format!("adl-library-{}", env!("CARGO_PKG_VERSION")));
        let path = dir.join(format!("{name}.adl"));
        if std::fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            std::fs::create_dir_all(&dir).ok()?;
            std::fs::write(&path, text).ok()?;
        }
        self.source(&path)
    }

    /// All files of the workspace and all open ones.
    pub fn workspace(&mut self) -> Vec<Source> {
        let open: Vec<PathBuf> = self.documents.buffers.borrow().keys().cloned().collect();
        let mut paths = files::sources(&self.documents.root);
        paths.extend(open);
        paths.sort_unstable();
        paths.dedup();
        paths.iter().filter_map(|p| self.source(p)).collect()
    }

    /// All places of a definition, in all files.
    pub fn places_of(&mut self, d: &Definition) -> Vec<(Uri, Text, Vec<Occurrence>)> {
        let mut out = Vec::new();
        if let Some((text, names)) = self.text_and_names(&d.uri) {
            out.push((d.uri.clone(), text, names.of(d.span).copied().collect()));
        }
        if d.exported {
            out.extend(self.places_in_cells(d));
            out.extend(self.places_in_files(d));
        }
        out.retain(|(_, _, places)| !places.is_empty());
        out
    }

    fn places_in_cells(&mut self, definition: &Definition) -> Vec<(Uri, Text, Vec<Occurrence>)> {
        let own = definition.uri.as_str();
        let cells = self.documents.notebooks.values().find(|cells| cells.iter().any(|c| c == own));
        let after: Vec<String> = cells.into_iter().flatten().skip_while(|c| *c != own).skip(1).cloned().collect();
        let mut out = Vec::new();
        for cell in after {
            let Some(document) = self.documents.all.get_mut(&cell) else { continue };
            let names = document.names();
            let here = names
                .all
                .iter()
                .filter(|o| (o.kind, o.name, o.meaning) == (definition.kind, definition.name, Meaning::Free))
                .copied();
            out.push((document.uri.clone(), document.text.clone(), here.collect()));
            if names.exports.contains_key(&(definition.kind, definition.name)) {
                break;
            }
        }
        out
    }

    /// The places in files that import the definition's.
    fn places_in_files(&mut self, definition: &Definition) -> Vec<(Uri, Text, Vec<Occurrence>)> {
        let Some(path) = files::path_of(&definition.uri) else { return Vec::new() };
        let last = self.source(&path).is_some_and(|s| {
            s.names.exports.get(&(definition.kind, definition.name)).map(|e| e.lo) == Some(definition.span.lo)
        });
        if !last {
            return Vec::new();
        }
        let others = self.workspace().into_iter().filter(|s| s.uri != definition.uri);
        let uses = |s: Source| {
            let aliases = s.aliases_of(&path);
            let member = |o: &&Occurrence| matches!(o.meaning, Meaning::Member(m) if aliases.contains(&m));
            let here =
                s.names.all.iter().filter(|o| (o.kind, o.name) == (definition.kind, definition.name)).filter(member);
            let found = here.copied().collect();
            (s.uri, s.text, found)
        };
        others.map(uses).collect()
    }

    /// The text at an address, with its names.
    pub fn text_and_names(&mut self, uri: &Uri) -> Option<(Text, Rc<Names>)> {
        if let Some(d) = self.documents.all.get_mut(uri.as_str()) {
            return Some((d.text.clone(), d.names()));
        }
        let source = self.source(&files::path_of(uri)?)?;
        Some((source.text, source.names))
    }

    /// The document at an address, with an analysis of its present contents.
    pub fn document(&mut self, uri: &Uri) -> Option<&mut Document> {
        self.documents.analyse(uri.as_str(), &mut self.session);
        self.documents.all.get_mut(uri.as_str())
    }
}

impl Source {
    /// A top-level definition.
    fn exported(&self, kind: NameKind, name: Symbol) -> Option<Definition> {
        let span = *self.names.exports.get(&(kind, name))?;
        Some(Definition { name, kind, uri: self.uri.clone(), span, exported: true })
    }
}
