//! Every request of an editor, with expected answers.

use crate::client;

#[test]
fn an_editor_is_answered() {
    let (mut editor, server) = client::in_process("requests");
    client::scenarios::all(&mut editor);
    editor.end();
    assert_eq!(server.join().unwrap(), Ok(()));
}
