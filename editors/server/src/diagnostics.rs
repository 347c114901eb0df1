//! Errors and warnings: the very ones of the command line.

use crate::files;
use crate::server::Server;
use crate::source_text::Text;
use adl_syntax::diag::{self, Severity};
use adl_syntax::span::Span;
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DocumentDiagnosticParams, Location, NumberOrString,
    PublishDiagnosticsParams, Uri,
};
use serde_json::{Value as Json, json};

/// The warning that the value of an expression is not used. A notebook shows that value.
const UNUSED_VALUE: &str = "W0215";

impl Server {
    /// Publishes the diagnostics of one text that has changed. Returns whether there may be more.
    pub fn publish_one(&mut self) -> bool {
        let Some(uri) = self.documents.all.iter().find(|(_, d)| d.unpublished).map(|(u, _)| u.clone()) else {
            return false;
        };
        if !self.documents.analyse(&uri, &mut self.session) {
            return true;
        }
        let Some(d) = self.documents.all.get_mut(&uri) else { return true };
        d.unpublished = false;
        let (address, version) = (d.uri.clone(), Some(d.version));
        let diagnostics = self.diagnostics_of(&uri);
        self.notify("textDocument/publishDiagnostics", PublishDiagnosticsParams { uri: address, diagnostics, version });
        true
    }

    /// Removes the diagnostics of a text that was closed.
    pub fn clear_diagnostics(&self, uri: Uri) {
        let nothing = PublishDiagnosticsParams { uri, diagnostics: Vec::new(), version: None };
        self.notify("textDocument/publishDiagnostics", nothing);
    }

    /// The diagnostics of a text. Those in an imported file are at the import.
    fn diagnostics_of(&mut self, uri: &str) -> Vec<Diagnostic> {
        let Some(document) = self.documents.all.get(uri) else { return Vec::new() };
        let (file, text) = (document.analysis().map(|a| a.file), document.text.clone());
        let mut out: Vec<Diagnostic> = Vec::new();
        let cell = self.documents.is_cell(uri);
        for d in self.documents.diags(uri).iter().filter(|d| !cell || d.code != UNUSED_VALUE) {
            let here = Some(d.primary.span.file) == file;
            let range = if here { text.range(d.primary.span) } else { self.import_of(uri, d.primary.span, &text) };
            let mut shown = self.shown(d, range);
            if !here {
                let place = adl_syntax::render::place(d.primary.span, &self.session.sources);
                shown.message = format!("{place}: {}", shown.message);
                let message = d.message.clone();
                let there = self.location(d.primary.span);
                let more = there.map(|location| DiagnosticRelatedInformation { location, message });
                shown.related_information.get_or_insert_default().extend(more);
            }
            out.push(shown);
        }
        out
    }

    /// The import through which a text reads the file of a span.
    fn import_of(&self, uri: &str, span: Span, text: &Text) -> lsp_types::Range {
        use adl_syntax::ast::{ImportSource, ItemKind};
        let name = self.session.sources.get(span.file).map(|f| f.name.clone()).unwrap_or_default();
        let items = self.documents.all.get(uri).map_or(&[][..], |d| d.items());
        let imports = items.iter().filter_map(|i| match &i.kind {
            ItemKind::Import { what: ImportSource::File(path, at), .. } => Some((path, *at)),
            _ => None,
        });
        let all: Vec<_> = imports.collect();
        let direct =
            all.iter().find(|(path, _)| name.ends_with(path.trim_start_matches("./").trim_start_matches("../")));
        direct.or(all.first()).map_or_else(|| text.range_of(0..0), |(_, at)| text.range(*at))
    }

    fn shown(&self, diagnostic: &diag::Diagnostic, range: lsp_types::Range) -> Diagnostic {
        let mut message = diagnostic.message.clone();
        let label = (!diagnostic.primary.text.is_empty()).then(|| diagnostic.primary.text.clone());
        let notes = diagnostic.notes.iter().map(|n| format!("note: {n}"));
        for line in label.into_iter().chain(notes).chain(diagnostic.hint.iter().map(|h| format!("help: {h}"))) {
            message += &format!("\n{line}");
        }
        let related = diagnostic.secondary.iter().filter_map(|l| {
            Some(DiagnosticRelatedInformation { location: self.location(l.span)?, message: l.text.clone() })
        });
        let related: Vec<_> = related.collect();
        Diagnostic {
            range,
            severity: Some(match diagnostic.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
            }),
            code: Some(NumberOrString::String(diagnostic.code.to_owned())),
            source: Some("adl".to_owned()),
            message,
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        }
    }

    /// The place of a span of any text that the session has read.
    pub fn location(&self, span: Span) -> Option<Location> {
        let open = self.documents.all.values().find(|d| d.analysis().is_some_and(|a| a.file == span.file));
        if let Some(d) = open {
            return Some(Location { uri: d.uri.clone(), range: d.text.range(span) });
        }
        let file = self.session.sources.get(span.file).filter(|f| !f.library)?;
        let text = Text::new(file.text.clone(), self.documents.encoding);
        let uri = files::uri_of(&files::plain(&self.documents.root.join(&file.name)))?;
        Some(Location { uri, range: text.range(span) })
    }
}

/// `textDocument/diagnostic`.
pub fn pull(server: &mut Server, params: DocumentDiagnosticParams) -> Result<Json, String> {
    let uri = params.text_document.uri;
    server.document(&uri).ok_or("this text is not open")?;
    Ok(json!({"kind": "full", "items": server.diagnostics_of(uri.as_str())}))
}
