"""Requests by a client of the protocol that others have written: pytest-lsp checks every message against the protocol.

`ADL` is the binary. The test `lsp` of the command line runs this file where pytest-lsp is installed.
"""

import os

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

TEXT = """--| The loss of `w`.
let loss (w : [n]Float) : Float = sum (w * w)
let w0 = [1.0, 2.0]
print (grad loss w0)
print (loss missing)
"""
URI = "file:///model.adl"


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["ADL"], "lsp"]))
async def client(lsp_client: LanguageClient):
    params = types.InitializeParams(capabilities=client_capabilities("visual-studio-code"), root_uri="file:///")
    await lsp_client.initialize_session(params)
    document = types.TextDocumentItem(uri=URI, language_id="adl", version=1, text=TEXT)
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    yield
    await lsp_client.shutdown_session()


def at(line, character, make=types.HoverParams, **more):
    document = types.TextDocumentIdentifier(uri=URI)
    return make(text_document=document, position=types.Position(line=line, character=character), **more)


def of(make, **more):
    return make(text_document=types.TextDocumentIdentifier(uri=URI), **more)


@pytest.mark.asyncio
async def test_requests(client: LanguageClient):
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    [error] = client.diagnostics[URI]
    assert error.code == "E0201" and error.range.start.line == 4

    hover = await client.text_document_hover_async(at(1, 5))
    assert "loss : [n]Float -> Float" in hover.contents.value and "The loss of" in hover.contents.value

    definition = await client.text_document_definition_async(at(3, 13, types.DefinitionParams))
    assert definition.range.start == types.Position(line=1, character=4)

    context = types.ReferenceContext(include_declaration=True)
    found = await client.text_document_references_async(at(2, 5, types.ReferenceParams, context=context))
    assert [f.range.start.line for f in found] == [2, 3]

    items = await client.text_document_completion_async(at(4, 7, types.CompletionParams))
    assert any(i.label == "loss" for i in (items.items if hasattr(items, "items") else items))

    edit = await client.text_document_rename_async(at(2, 5, types.RenameParams, new_name="start"))
    assert len(edit.changes[URI]) == 2

    help_ = await client.text_document_signature_help_async(at(4, 12, types.SignatureHelpParams))
    assert help_.signatures[0].label == "loss : [n]Float -> Float"

    symbols = await client.text_document_document_symbol_async(of(types.DocumentSymbolParams))
    assert [s.name for s in symbols] == ["loss", "w0"]

    tokens = await client.text_document_semantic_tokens_full_async(of(types.SemanticTokensParams))
    assert len(tokens.data) % 5 == 0 and len(tokens.data) > 50

    everything = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=9, character=0))
    hints = await client.text_document_inlay_hint_async(of(types.InlayHintParams, range=everything))
    assert [h.label for h in hints] == [": [2]Float"]

    folds = await client.text_document_folding_range_async(of(types.FoldingRangeParams))
    assert all(f.end_line > f.start_line for f in folds)

    lenses = await client.text_document_code_lens_async(of(types.CodeLensParams))
    assert {"run", "show derivative"} <= {lens.command.title for lens in lenses}

    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    edits = await client.text_document_formatting_async(of(types.DocumentFormattingParams, options=options))
    assert not edits

    context = types.CodeActionContext(diagnostics=[error])
    actions = await client.text_document_code_action_async(of(types.CodeActionParams, range=error.range, context=context))
    assert all(a.title for a in actions)

    [item] = await client.text_document_prepare_call_hierarchy_async(at(1, 5, types.CallHierarchyPrepareParams))
    calls = await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item=item))
    assert len(calls) == 2
