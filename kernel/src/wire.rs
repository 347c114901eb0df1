//! Messages in wire format: identities, a signature, four JSON objects, buffers.
//!
//! Messages are parsed leniently: a field that is missing or has the wrong type counts as absent, because front ends
//! differ. Messages without a valid signature are dropped.

use bytes::Bytes;
use jupyter_zmq_client::RawMessage;
use ring::hmac;
use serde_json::{Value as Json, json};
use zeromq::ZmqMessage;

/// The protocol version.
pub const PROTOCOL: &str = "5.4";

/// The signing key of the connection file; `None` if messages are not signed.
pub type SigningKey = Option<hmac::Key>;

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The sender or receiver; for a published message, the topic.
    pub identities: Vec<Bytes>,
    /// `msg_id`, `msg_type`, `session` and more.
    pub header: Json,
    /// The header of the message that it answers.
    pub parent: Json,
    /// Metadata of front ends.
    pub metadata: Json,
    /// The content, an object.
    pub content: Json,
    /// Binary parts.
    pub buffers: Vec<Bytes>,
}

impl Message {
    /// A message of the kernel with a parent header.
    pub fn new(session: &str, kind: &str, parent: &Json, content: Json) -> Message {
        let header = json!({
            "msg_id": uuid::Uuid::new_v4().to_string(),
            "session": session,
            "username": "kernel",
            "date": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
            "msg_type": kind,
            "version": PROTOCOL,
        });
        Message {
            identities: Vec::new(),
            header,
            parent: parent.clone(),
            metadata: json!({}),
            content,
            buffers: Vec::new(),
        }
    }

    /// `execute_request` and the like.
    pub fn kind(&self) -> &str {
        self.header["msg_type"].as_str().unwrap_or("")
    }

    /// A String field of the content.
    pub fn text(&self, field: &str) -> &str {
        self.content[field].as_str().unwrap_or("")
    }

    /// A Bool field of the content, or `otherwise`.
    pub fn flag(&self, field: &str, otherwise: bool) -> bool {
        self.content[field].as_bool().unwrap_or(otherwise)
    }
}

/// Parses a message. `None` if it is malformed or its signature is wrong.
pub fn read(raw: ZmqMessage, key: &SigningKey) -> Option<Message> {
    let raw = RawMessage::from_multipart(raw, key).ok()?;
    let object =
        |i: usize| raw.jparts.get(i).and_then(|b| serde_json::from_slice::<Json>(b).ok()).filter(Json::is_object);
    let header = object(0)?;
    header["msg_type"].as_str()?;
    Some(Message {
        header,
        parent: object(1).unwrap_or_else(|| json!({})),
        metadata: object(2).unwrap_or_else(|| json!({})),
        content: object(3)?,
        buffers: raw.jparts.get(4..).unwrap_or(&[]).to_vec(),
        identities: raw.zmq_identities,
    })
}

/// Serialises and signs a message.
pub fn write(message: Message, key: &SigningKey) -> Option<ZmqMessage> {
    let parts = [&message.header, &message.parent, &message.metadata, &message.content];
    let parts: Vec<Vec<u8>> = parts.iter().map(|p| p.to_string().into_bytes()).collect();
    let signature = key.as_ref().map_or(String::new(), |k| {
        let mut context = hmac::Context::with_key(k);
        parts.iter().for_each(|p| context.update(p));
        context.sign().as_ref().iter().map(|b| format!("{b:02x}")).collect()
    });
    let mut frames = message.identities;
    frames.push(Bytes::from_static(b"<IDS|MSG>"));
    frames.push(signature.into_bytes().into());
    frames.extend(parts.into_iter().map(Bytes::from));
    frames.extend(message.buffers);
    ZmqMessage::try_from(frames).ok()
}
