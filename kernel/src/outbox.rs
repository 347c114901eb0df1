//! What the kernel says, on its way to the sockets. Text that is printed in a row becomes one message.

use crate::wire::Message;
use bytes::Bytes;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

/// Characters of printed text in one message.
const CHUNK: usize = 1 << 16;
/// Bytes of printed text that may wait; more output waits too.
const WAITING: usize = 1 << 23;
/// How long printed text waits for more.
const PATIENCE: Duration = Duration::from_millis(15);

/// A channel that has requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// Cells, completion, inspection.
    Shell,
    /// Interrupts and shutdown.
    Control,
    /// Questions to the user.
    Stdin,
}

/// A message that wants an answer on the channel that it came on.
#[derive(Clone, Debug)]
pub struct Request {
    /// The message.
    pub message: Message,
    /// Where it came from.
    pub channel: Channel,
    /// When it came.
    pub arrived: Instant,
}

enum Item {
    Text { parent: Json, name: &'static str, text: String },
    Message(Message),
}

#[derive(Default)]
struct Published {
    queue: VecDeque<Item>,
    /// Bytes of text in the queue.
    text: usize,
}

/// The way out, for every thread.
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
    /// A way out to three channels, and to what [`Outbox::collect`] publishes.
    pub fn new(session: &str, shell: UnboundedSender<Message>, control: UnboundedSender<Message>, stdin: UnboundedSender<Message>) -> Outbox {
        Outbox { session: session.into(), published: Arc::default(), some: Arc::default(), urgent: Arc::default(), shell, control, stdin }
    }

    fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a message in answer to a header.
    pub fn publish(&self, parent: &Json, kind: &str, content: Json) {
        self.publish_with(parent, kind, content, json!({}));
    }

    /// The same with metadata.
    pub fn publish_with(&self, parent: &Json, kind: &str, content: Json, metadata: Json) {
        let mut m = Message::new(&self.session, kind, parent, content);
        m.metadata = metadata;
        m.identities = vec![Bytes::copy_from_slice(kind.as_bytes())];
        self.published().queue.push_back(Item::Message(m));
        self.some.notify_one();
        self.urgent.notify_one();
    }

    /// Publishes `busy` or `idle`.
    pub fn status(&self, parent: &Json, state: &str) {
        self.publish(parent, "status", json!({"execution_state": state}));
    }

    /// Publishes printed text, soon, together with what is printed next.
    pub fn stream(&self, parent: &Json, name: &'static str, text: &str) {
        while self.published().text > WAITING {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut out = self.published();
        out.text += text.len();
        match out.queue.back_mut() {
            Some(Item::Text { parent: p, name: n, text: t }) if t.len() < CHUNK && *n == name && p == parent => t.push_str(text),
            _ => out.queue.push_back(Item::Text { parent: parent.clone(), name, text: text.to_owned() }),
        }
        drop(out);
        self.some.notify_one();
    }

    /// Tells who has begun to listen to a topic that nothing is missed from now on.
    pub fn welcome(&self, topic: &str) {
        let mut m = Message::new(&self.session, "iopub_welcome", &json!({}), json!({"subscription": topic}));
        m.identities = vec![Bytes::copy_from_slice(topic.as_bytes())];
        self.published().queue.push_back(Item::Message(m));
        self.some.notify_one();
        self.urgent.notify_one();
    }

    /// Answers a request.
    pub fn reply(&self, to: &Request, kind: &str, content: Json) {
        let mut m = Message::new(&self.session, kind, &to.message.header, content);
        m.identities.clone_from(&to.message.identities);
        self.send(to.channel, m);
    }

    /// Asks the front end that sent a request, on the channel for questions.
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
        // Nobody listens any more when the kernel ends.
        let _ = to.send(m);
    }

    /// Waits for something to publish, and takes it.
    pub async fn collect(&self) -> Vec<Message> {
        // Whoever waits may be dropped with the notice in hand: the queue decides.
        while self.published().queue.is_empty() {
            self.some.notified().await;
        }
        if self.published().queue.iter().all(|i| matches!(i, Item::Text { .. })) {
            let _ = tokio::time::timeout(PATIENCE, self.urgent.notified()).await;
        }
        let mut out = self.published();
        out.text = 0;
        let taken = std::mem::take(&mut out.queue);
        drop(out);
        taken.into_iter().map(|i| self.message(i)).collect()
    }

    fn message(&self, item: Item) -> Message {
        match item {
            Item::Message(m) => m,
            Item::Text { parent, name, text } => {
                let mut m = Message::new(&self.session, "stream", &parent, json!({"name": name, "text": text}));
                m.identities = vec![Bytes::from_static(b"stream")];
                m
            }
        }
    }
}
