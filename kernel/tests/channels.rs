//! Connection files, and where messages go.

use crate::INJECTIONS;
use adl_interp::fault;
use adl_kernel::internals::{Channel, Inboxes, Message, MessageRouter, Outbox, Request, connection};
use serde_json::json;
use std::sync::mpsc::channel;
use tokio::sync::mpsc::unbounded_channel;

#[test]
fn a_panic_while_routing_fails_one_request() {
    let ports = "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5";
    let info = connection(&format!("{{{ports}}}")).unwrap();
    let (shell, mut replies) = unbounded_channel();
    let out = Outbox::new("session", shell, unbounded_channel().0, unbounded_channel().0);
    let ((jobs, cells), (desk, _), (answers, _)) = (channel(), channel(), channel());
    let inboxes = Inboxes { jobs, desk, answers, interrupt: Default::default(), tick: Default::default() };
    let router = MessageRouter { inboxes, out, info, at_shutdown: || {} };
    let request = || {
        let message = Message::new("session", "execute_request", &json!({}), json!({"code": "1"}));
        Request { message, channel: Channel::Shell, arrived: std::time::Instant::now() }
    };
    let _turn = INJECTIONS.lock();
    fault::inject(Some(fault::PanicPoint::Router));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        router.sort(request()).await;
        router.sort(request()).await;
    });
    let reply = replies.try_recv().unwrap().content;
    assert!(reply["status"] == "error" && reply.to_string().contains("E0901"), "{reply}");
    assert_eq!((cells.try_iter().count(), replies.try_recv().is_err()), (1, true));
}

#[test]
fn connection_files() {
    let ports = "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5";
    let info = connection(&format!("{{{ports},\"unknown\":[]}}")).unwrap();
    assert_eq!(
        (info.ip.as_str(), info.key.as_str(), info.shell_url().as_str()),
        ("127.0.0.1", "", "tcp://127.0.0.1:1")
    );
    let info = connection(&format!("{{{ports},\"transport\":\"ipc\",\"ip\":\"/tmp/k\"}}")).unwrap();
    assert_eq!(info.hb_url(), "ipc:///tmp/k-5");
    for wrong in [
        "",
        "[]",
        "{}",
        "{\"shell_port\":70000}",
        &format!("{{{ports},\"transport\":\"udp\"}}"),
        &format!("{{{ports},\"signature_scheme\":\"hmac-md5\"}}"),
    ] {
        assert!(connection(wrong).is_err(), "{wrong}");
    }
}
