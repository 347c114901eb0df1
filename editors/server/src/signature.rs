//! Signature help: the type of the function that is being applied, with the present parameter marked.

use crate::context::Cursor;
use crate::server::Server;
use adl_session::completion_ranking::{called, parameters};
use lsp_types::{
    Documentation, ParameterInformation, ParameterLabel, SignatureHelp, SignatureHelpParams, SignatureInformation, Uri,
};

/// `textDocument/signatureHelp`.
pub fn signature_help(server: &mut Server, params: SignatureHelpParams) -> Result<Option<SignatureHelp>, String> {
    let (uri, at) = server.place(&params.text_document_position_params)?;
    let Some(d) = server.documents.all.get(uri.as_str()) else { return Ok(None) };
    let from = d.item_at(at).map_or(0, |(i, _)| i.span.lo as usize);
    let before = d.text.text[from..at].to_owned();
    let Some((name, nth)) = called(&before) else { return Ok(None) };
    let Some((ty, about)) = signature(server, &uri, at, name) else { return Ok(None) };
    let head = format!("{name} : ");
    let all = parameters(&ty);
    // The last part is the result.
    let arguments = &all[..all.len().saturating_sub(1)];
    if nth >= arguments.len() {
        return Ok(None);
    }
    let units = |n: usize| ty[..n].encode_utf16().count() as u32;
    let shift = head.encode_utf16().count() as u32;
    let labels = arguments.iter().map(|r| ParameterInformation {
        label: ParameterLabel::LabelOffsets([shift + units(r.start), shift + units(r.end)]),
        documentation: None,
    });
    let one = SignatureInformation {
        parameters: Some(labels.collect()),
        label: head + &ty,
        documentation: (!about.is_empty()).then_some(Documentation::String(about)),
        active_parameter: Some(nth as u32),
    };
    Ok(Some(SignatureHelp { signatures: vec![one], active_signature: Some(0), active_parameter: Some(nth as u32) }))
}

/// The type of a function in scope at a position, and what it does.
fn signature(server: &mut Server, uri: &Uri, at: usize, name: &str) -> Option<(String, String)> {
    let cursor = Cursor::new(server.documents.all.get(uri.as_str())?, at);
    let local = cursor.locals(server, uri.as_str()).into_iter().find(|(n, _)| n.as_str() == name);
    if let Some((_, ty)) = local {
        return Some((ty, String::new()));
    }
    let base = server.documents.scope_before(uri.as_str(), &mut server.session);
    let scope = server.documents.all.get(uri.as_str())?.scope_at(at, &base);
    let (head, about) = server.session.in_scope(&scope, |s| s.signature(name))?;
    let ty = head.lines().next()?.strip_prefix(name)?.strip_prefix(" : ")?.to_owned();
    Some((ty, about))
}
