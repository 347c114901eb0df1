//! Requests that are cancelled.

use adl_lsp::internals::Inbox;
use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::json;
use std::sync::atomic::Ordering;

fn cancel(id: serde_json::Value) -> Message {
    Message::Notification(Notification::new("$/cancelRequest".to_owned(), json!({"id": id})))
}

#[test]
fn what_is_cancelled_is_interrupted_or_not_begun() {
    let inbox = Inbox::default();
    inbox.add(Message::Request(Request::new(RequestId::from(1), "x".to_owned(), json!({}))));
    inbox.add(cancel(json!("other")));
    assert!(!inbox.is_cancelled(&RequestId::from(1)));
    inbox.add(cancel(json!(1)));
    assert!(inbox.is_cancelled(&RequestId::from(1)) && !inbox.interrupt.load(Ordering::Relaxed));
    assert!(inbox.answering(&RequestId::from(2), || inbox.add(cancel(json!(2)))).1);
    let change = || Message::Notification(Notification::new("textDocument/didChange".to_owned(), json!({})));
    assert!(!inbox.answering(&RequestId::from(3), || inbox.add(change())).1, "an answer is finished");
    assert!(inbox.between(|| inbox.add(change())).1);
    assert!(!inbox.between(|| ()).1, "an interrupt does not reach the next work");
}
