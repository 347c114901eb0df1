//! Outgoing messages on their way to the sockets. Consecutive printed texts are merged into one message.

use crate::wire::Message;
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

/// The maximal length of printed text in one message.
const CHUNK: usize = 1 << 16;
/// The maximal number of bytes of pending printed text; printing more blocks.
const WAITING: usize = 1 << 23;
/// The time for which printed text waits for more.
const PATIENCE: Duration = Duration::from_millis(15);

/// A channel with requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// Cells, completion, inspection.
    Shell,
    /// Interrupts and shutdown.
    Control,
    /// Input requests to the user.
    Stdin,
}

/// A message that must be answered on the channel on which it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message.
    pub message: Message,
    /// The channel on which it arrived.
    pub channel: Channel,
    /// The time of its arrival.
    pub arrived: Instant,
}

enum OutboxItem {
    Text { parent: Json, name: &'static str, text: String },
    Message(Message),
}

#[derive(Default)]
struct Published {
    queue: VecDeque<OutboxItem>,
    /// Bytes of printed text in the queue.
    text: usize,
}

/// The outgoing side, shared by all threads.
#[derive(Clone)]
pub struct Outbox {
    session: Arc<str>,
    published: Arc<Mutex<Published>>,
    some: Arc<Notify>,
    urgent: Arc<Notify>,
    shell: UnboundedSender<Message>,
    control: UnboundedSender<Message>,
    stdin: UnboundedSender<Message>,
}

impl Outbox {
    /// An outbox for three channels, and for the messages that [`Outbox::collect`] publishes.
    pub fn new(
        session: &str,
        shell: UnboundedSender<Message>,
        control: UnboundedSender<Message>,
        stdin: UnboundedSender<Message>,
    ) -> Outbox {
        Outbox {
            session: session.into(),
            published: Arc::default(),
            some: Arc::default(),
            urgent: Arc::default(),
            shell,
            control,
            stdin,
        }
    }

    fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message with a parent header.
    pub fn publish(&self, parent: &Json, kind: &str, content: Json) {
        self.publish_with(parent, kind, content, json!({}));
    }

    /// Publishes a message with metadata.
    pub fn publish_with(&self, parent: &Json, kind: &str, content: Json, metadata: Json) {
        let mut m = Message::new(&self.session, kind, parent, content);
        m.metadata = metadata;
        m.identities = vec![Bytes::copy_from_slice(kind.as_bytes())];
        self.published().queue.push_back(OutboxItem::Message(m));
        self.some.notify_one();
        self.urgent.notify_one();
    }

    /// Publishes `busy` or `idle`.
    pub fn status(&self, parent: &Json, state: &str) {
        self.publish(parent, "status", json!({"execution_state": state}));
    }

    /// Publishes printed text, after a short delay in which more text is merged.
    pub fn stream(&self, parent: &Json, name: &'static str, text: &str) {
        while self.published().text > WAITING {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut out = self.published();
        out.text += text.len();
        match out.queue.back_mut() {
            Some(OutboxItem::Text { parent: p, name: n, text: t }) if t.len() < CHUNK && *n == name && p == parent => {
                t.push_str(text);
            }
            _ => out.queue.push_back(OutboxItem::Text { parent: parent.clone(), name, text: text.to_owned() }),
        }
        drop(out);
        self.some.notify_one();
    }

    /// Tells a new subscriber of a topic that it receives all messages from now on.
    pub fn welcome(&self, topic: &str) {
        let mut m = Message::new(&self.session, "iopub_welcome", &json!({}), json!({"subscription": topic}));
        m.identities = vec![Bytes::copy_from_slice(topic.as_bytes())];
        self.published().queue.push_back(OutboxItem::Message(m));
        self.some.notify_one();
        self.urgent.notify_one();
    }

    /// Answers a request.
    pub fn reply(&self, to: &Request, kind: &str, content: Json) {
        let mut m = Message::new(&self.session, kind, &to.message.header, content);
        m.identities.clone_from(&to.message.identities);
        self.send(to.channel, m);
    }

    /// Sends an input request to the sender of a request.
    pub fn ask(&self, of: &Request, kind: &str, content: Json) {
        let mut m = Message::new(&self.session, kind, &of.message.header, content);
        m.identities.clone_from(&of.message.identities);
        self.send(Channel::Stdin, m);
    }

    fn send(&self, channel: Channel, m: Message) {
        let to = match channel {
            Channel::Shell => &self.shell,
            Channel::Control => &self.control,
            Channel::Stdin => &self.stdin,
        };
        // When the kernel ends, nothing receives messages.
        let _ = to.send(m);
    }

    /// Waits for messages to publish, and removes them from the queue.
    pub async fn collect(&self) -> Vec<Message> {
        // The waiting future may be dropped after it was notified, so the queue itself is checked.
        while self.published().queue.is_empty() {
            self.some.notified().await;
        }
        if self.published().queue.iter().all(|i| matches!(i, OutboxItem::Text { .. })) {
            let _ = tokio::time::timeout(PATIENCE, self.urgent.notified()).await;
        }
        let mut out = self.published();
        out.text = 0;
        let taken = std::mem::take(&mut out.queue);
        drop(out);
        taken.into_iter().map(|i| self.message(i)).collect()
    }

    fn message(&self, item: OutboxItem) -> Message {
        match item {
            OutboxItem::Message(m) => m,
            OutboxItem::Text { parent, name, text } => {
                let mut m = Message::new(&self.session, "stream", &parent, json!({"name": name, "text": text}));
                m.identities = vec![Bytes::from_static(b"stream")];
                m
            }
        }
    }
}
