//! Where a name is defined, and where it is used.

use crate::meaning::Definition;
use crate::server::Server;
use adl_syntax::names::{NameKind, Occurrence};
use adl_typing::ty::Ty;
use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, GotoDefinitionParams, Location, ReferenceParams,
    TextDocumentPositionParams, Uri,
};

impl Server {
    /// The text and the byte of a request, with an analysis of the text.
    pub fn place(&mut self, at: &TextDocumentPositionParams) -> Result<(Uri, usize), String> {
        let uri = at.text_document.uri.clone();
        let d = self.document(&uri).ok_or("this text is not open")?;
        Ok((uri, d.text.offset(at.position)))
    }

    /// The name at a position and its definition.
    pub fn named(
        &mut self,
        at: &TextDocumentPositionParams,
    ) -> Result<Option<(Occurrence, Option<Definition>)>, String> {
        let (uri, pos) = self.place(at)?;
        let Some(o) = self.occurrence(uri.as_str(), pos) else { return Ok(None) };
        let definition = self.definition_of(uri.as_str(), &o);
        Ok(Some((o, definition)))
    }

    fn location_of(&mut self, d: &Definition) -> Option<Location> {
        let (text, _) = self.text_and_names(&d.uri)?;
        Some(Location { uri: d.uri.clone(), range: text.range(d.span) })
    }
}

/// `textDocument/definition`. On the path of an import it is the file.
pub fn definition(server: &mut Server, params: GotoDefinitionParams) -> Result<Option<Location>, String> {
    let at = params.text_document_position_params;
    if let Some(found) = server.named(&at)? {
        return Ok(found.1.and_then(|d| server.location_of(&d)));
    }
    let (uri, pos) = server.place(&at)?;
    let links = crate::outline::imported_files(server, uri.as_str());
    let start = lsp_types::Position::default();
    let link = links.into_iter().find(|(span, _)| span.lo as usize <= pos && pos <= span.hi as usize);
    Ok(link.map(|(_, target)| Location { uri: target, range: lsp_types::Range { start, end: start } }))
}

/// `textDocument/typeDefinition`: the declaration of the data type of an expression.
pub fn type_definition(server: &mut Server, params: GotoDefinitionParams) -> Result<Option<Location>, String> {
    let (uri, pos) = server.place(&params.text_document_position_params)?;
    let named = server.occurrence(uri.as_str(), pos);
    let Some(document) = server.documents.all.get(uri.as_str()) else { return Ok(None) };
    let ty = document.item_at(pos).and_then(|(_, item)| {
        let scheme = named.and_then(|o| item.places.scheme(o.span)).map(|s| s.ty.clone());
        scheme.or_else(|| item.places.around(pos as u32).first().map(|(_, t)| (*t).clone()))
    });
    let Some(name) = ty.as_ref().and_then(data_name) else { return Ok(None) };
    let occurrence = Occurrence {
        name,
        span: adl_syntax::span::Span::NOWHERE,
        kind: NameKind::Type,
        meaning: adl_syntax::names::Meaning::Free,
        binder: None,
        punned: false,
    };
    let names = server.documents.all.get_mut(uri.as_str()).map(crate::documents::Document::names);
    let here = names.and_then(|n| n.exports.get(&(NameKind::Type, name)).copied());
    let o =
        here.map_or(occurrence, |span| Occurrence { meaning: adl_syntax::names::Meaning::Here(span), ..occurrence });
    let definition = server.definition_of(uri.as_str(), &o);
    Ok(definition.and_then(|d| server.location_of(&d)))
}

/// The declared type that a type is or returns or contains.
fn data_name(t: &Ty) -> Option<adl_syntax::symbol::Symbol> {
    match t {
        Ty::Data(id, _) => Some(id.1),
        Ty::Array(_, e) => data_name(e),
        Ty::Fun(_, r) | Ty::Lin(_, r) => data_name(r),
        _ => None,
    }
}

/// `textDocument/references`.
pub fn references(server: &mut Server, params: ReferenceParams) -> Result<Vec<Location>, String> {
    let Some((_, Some(d))) = server.named(&params.text_document_position)? else { return Ok(Vec::new()) };
    let declaration = params.context.include_declaration;
    let mut out = Vec::new();
    for (uri, text, places) in server.places_of(&d) {
        let wanted = places.iter().filter(|o| declaration || o.binder.is_none());
        out.extend(wanted.map(|o| Location { uri: uri.clone(), range: text.range(o.span) }));
    }
    Ok(out)
}

/// `textDocument/documentHighlight`.
pub fn highlights(server: &mut Server, params: DocumentHighlightParams) -> Result<Vec<DocumentHighlight>, String> {
    let at = params.text_document_position_params;
    let uri = at.text_document.uri.clone();
    let Some((o, definition)) = server.named(&at)? else { return Ok(Vec::new()) };
    let Some((text, names)) = server.text_and_names(&uri) else { return Ok(Vec::new()) };
    let here = definition.filter(|d| d.uri == uri);
    let same = |p: &&Occurrence| match &here {
        Some(d) => matches!(p.meaning, adl_syntax::names::Meaning::Here(s) if (s.lo, s.hi) == (d.span.lo, d.span.hi)),
        None => (p.kind, p.name, p.meaning) == (o.kind, o.name, o.meaning),
    };
    let kind = |p: &Occurrence| match p.binder {
        Some(_) => DocumentHighlightKind::WRITE,
        None => DocumentHighlightKind::READ,
    };
    Ok(names
        .all
        .iter()
        .filter(same)
        .map(|p| DocumentHighlight { range: text.range(p.span), kind: Some(kind(p)) })
        .collect())
}
