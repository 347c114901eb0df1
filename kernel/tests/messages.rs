//! Messages on the wire, and those that are sent with a cell that fails.

use adl_kernel::internals::{Channel, Failed, Message, Request, SigningKey, UNDATED, read, write};
use bytes::Bytes;
use chrono::TimeDelta;
use ring::hmac;
use serde_json::json;
use std::time::{Duration, Instant};
use zeromq::ZmqMessage;

fn key(text: &str) -> SigningKey {
    Some(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()))
}

#[test]
fn what_is_written_is_read() {
    let mut m = Message::new("s", "stream", &json!({"msg_id": "p"}), json!({"text": "ä"}));
    m.identities = vec![Bytes::from_static(b"me")];
    let back = read(write(m.clone(), &key("k")).unwrap(), &key("k")).unwrap();
    assert_eq!(
        (back.header, back.parent, back.content, back.identities),
        (m.header, m.parent, m.content, m.identities)
    );
}

#[test]
fn what_is_signed_with_another_key_is_no_message() {
    let m = Message::new("s", "stream", &json!({}), json!({}));
    assert!(read(write(m, &key("k")).unwrap(), &key("other")).is_none());
}

#[test]
fn what_is_malformed_is_no_message() {
    for frames in [
        vec!["a"],
        vec!["<IDS|MSG>", "", "{}", "{}", "{}"],
        vec!["<IDS|MSG>", "", "[]", "{}", "{}", "{}"],
        vec!["<IDS|MSG>", "", "{\"msg_type\":1}", "{}", "{}", "{}"],
    ] {
        let frames: Vec<Bytes> = frames.into_iter().map(|f| Bytes::from_static(f.as_bytes())).collect();
        assert!(read(ZmqMessage::try_from(frames).unwrap(), &None).is_none());
    }
}

fn request(session: &str, date: Option<&str>, arrived: Instant) -> Request {
    let mut message = Message::new(session, "execute_request", &json!({}), json!({}));
    message.header["date"] = json!(date);
    Request { message, channel: Channel::Shell, arrived }
}

/// A cell that failed 40 ms after it was sent.
fn failed(date: Option<&str>) -> Failed {
    let replied = Instant::now();
    let mut f = Failed::now(&request("a", date, replied));
    (f.took, f.replied) = (TimeDelta::milliseconds(40), replied);
    f
}

#[test]
fn what_was_made_before_the_reply_is_aborted_however_its_date_is_written() {
    let f = failed(Some("2026-03-01T10:00:00.000Z"));
    let soon = f.replied + Duration::from_millis(500);
    let precedes = |session: &str, date: &str| f.precedes(&request(session, Some(date), soon));
    assert!(precedes("a", "2026-03-01T10:00:00.038Z"));
    assert!(precedes("a", "2026-03-01T12:00:00.012345+02:00"));
    assert!(precedes("a", "2026-03-01T10:00:00Z"));
    assert!(!precedes("a", "2026-03-01T10:00:00.040Z"));
    assert!(!precedes("a", "2026-03-01T09:00:00.041-01:00"));
    assert!(!precedes("a", "2026-03-01T10:00:03Z"));
    // Clocks of different front ends are not compared.
    assert!(!precedes("b", "2026-03-01T10:00:00.001Z"));
}

#[test]
fn what_arrived_before_the_reply_is_aborted() {
    let f = failed(Some("2026-03-01T10:00:00Z"));
    assert!(f.precedes(&request("b", Some("2027-01-01T00:00:00Z"), f.replied)));
}

#[test]
fn a_clock_that_is_set_back_aborts_for_a_short_time_only() {
    let f = failed(Some("2026-03-01T10:00:00Z"));
    let arrived = f.replied + Duration::from_secs(60);
    assert!(!f.precedes(&request("a", Some("2026-03-01T09:00:00Z"), arrived)));
}

#[test]
fn without_dates_what_arrives_soon_is_aborted() {
    for (of_failed, date) in [
        (None, None),
        (Some("2026-03-01T10:00:00Z"), None),
        (None, Some("2026-03-01T10:00:00Z")),
        (Some("yesterday"), Some("today")),
    ] {
        let f = failed(of_failed);
        assert!(f.precedes(&request("a", date, f.replied + UNDATED / 2)));
        assert!(!f.precedes(&request("a", date, f.replied + UNDATED * 2)));
    }
}
