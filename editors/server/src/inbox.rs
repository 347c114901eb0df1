//! Messages that have arrived: they are received while the session works, so that a cancelled request is not begun and
//! one that runs is interrupted.

use lsp_server::{Message, RequestId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the session is doing.
#[derive(PartialEq, Default)]
enum Work {
    #[default]
    Nothing,
    Answer(RequestId),
    /// Something that a change of a text makes void.
    Diagnostics,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    work: Work,
    closed: bool,
}

/// The messages that have not been handled.
#[derive(Clone, Default)]
pub struct Inbox {
    queue: Arc<(Mutex<Queue>, Condvar)>,
    /// Stops the session.
    pub interrupt: Arc<AtomicBool>,
}

impl Inbox {
    /// An inbox that a thread fills. `interrupt` stops the session.
    pub fn new(messages: impl Iterator<Item = Message> + Send + 'static, interrupt: Arc<AtomicBool>) -> Inbox {
        let inbox = Inbox { interrupt, ..Inbox::default() };
        let filled = inbox.clone();
        std::thread::spawn(move || {
            messages.for_each(|m| filled.add(m));
            filled.lock().closed = true;
            filled.queue.1.notify_all();
        });
        inbox
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message of the editor, which may cancel what is under way.
    pub fn add(&self, message: Message) {
        let mut queue = self.lock();
        if let Message::Notification(n) = &message {
            let cancelled = (n.method == "$/cancelRequest").then(|| id_of(&n.params["id"])).flatten();
            let running = cancelled.is_some_and(|id| queue.work == Work::Answer(id));
            if running || queue.work == Work::Diagnostics && n.method.ends_with("/didChange") {
                self.interrupt.store(true, Ordering::Relaxed);
            }
        }
        queue.messages.push_back(message);
        self.queue.1.notify_all();
    }

    /// Adds a message of the server to itself.
    pub fn put(&self, message: Message) {
        self.lock().messages.push_back(message);
        self.queue.1.notify_all();
    }

    /// The next message. If there is none: `None` if `wait` is not set, or if none will come.
    pub fn next(&self, wait: bool) -> Option<Message> {
        let mut queue = self.lock();
        loop {
            match queue.messages.pop_front() {
                Some(m) => return Some(m),
                None if !wait || queue.closed => return None,
                None => queue = self.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Whether a request has been cancelled already.
    pub fn is_cancelled(&self, id: &RequestId) -> bool {
        self.lock().messages.iter().any(|m| match m {
            Message::Notification(n) => n.method == "$/cancelRequest" && id_of(&n.params["id"]).as_ref() == Some(id),
            _ => false,
        })
    }

    /// Answers a request. Returns also whether that was interrupted.
    pub fn answering<T>(&self, id: &RequestId, f: impl FnOnce() -> T) -> (T, bool) {
        self.working(Work::Answer(id.clone()), f)
    }

    /// Does what a change of a text makes void. Returns also whether that was interrupted.
    pub fn between<T>(&self, f: impl FnOnce() -> T) -> (T, bool) {
        self.working(Work::Diagnostics, f)
    }

    /// An interrupt concerns one piece of work: it does not reach the next one.
    fn working<T>(&self, work: Work, f: impl FnOnce() -> T) -> (T, bool) {
        self.lock().work = work;
        let out = f();
        let mut queue = self.lock();
        queue.work = Work::Nothing;
        (out, self.interrupt.swap(false, Ordering::Relaxed))
    }
}

fn id_of(id: &serde_json::Value) -> Option<RequestId> {
    match id {
        serde_json::Value::Number(n) => Some(RequestId::from(i32::try_from(n.as_i64()?).ok()?)),
        serde_json::Value::String(s) => Some(RequestId::from(s.clone())),
        _ => None,
    }
}
