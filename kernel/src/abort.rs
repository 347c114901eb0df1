//! Which requests are aborted after a cell has failed: those that were sent before the front end could know of the
//! error.
//!
//! *Run All* sends every cell at once, and a cell may fail before the requests of the next ones have arrived. So the
//! reply of a failed cell is delayed until no more requests arrive ([`reply_delay`]). For requests that arrive after the
//! reply, the dates in their headers show whether they were sent before it. They are compared with the date of the
//! failed request, which comes from the same clock of the front end.

use crate::outbox::Request;
use chrono::{DateTime, FixedOffset, TimeDelta};
use std::time::{Duration, Instant};

/// A burst of requests has ended when no request has arrived for this long.
const QUIET: Duration = Duration::from_millis(30);
/// The maximal delay of a failed cell's reply.
const LONGEST: Duration = Duration::from_millis(100);
/// The time after the reply during which requests without a date are aborted.
const UNDATED: Duration = Duration::from_millis(100);
/// The maximal delay in transit of a request. It limits the effect of a clock that is set back.
const LATE: Duration = Duration::from_secs(30);

/// A failed cell whose reply has been sent.
pub struct Failed {
    session: String,
    made: Option<DateTime<FixedOffset>>,
    /// The time from the arrival of the request to its reply.
    took: TimeDelta,
    replied: Instant,
}

/// The date at which the front end created the request.
fn made(r: &Request) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(r.message.header["date"].as_str()?).ok()
}

fn session(r: &Request) -> &str {
    r.message.header["session"].as_str().unwrap_or("")
}

/// How much longer the reply of a failed cell is delayed. The last request arrived at `last`, and the cell failed at
/// `failed`.
pub fn reply_delay(last: Instant, failed: Instant) -> Duration {
    (last + QUIET).min(failed + LONGEST).saturating_duration_since(Instant::now())
}

impl Failed {
    /// Records that the reply of a request is sent now.
    pub fn now(r: &Request) -> Failed {
        let took = TimeDelta::from_std(r.arrived.elapsed()).unwrap_or(TimeDelta::MAX);
        Failed { session: session(r).to_owned(), made: made(r), took, replied: Instant::now() }
    }

    /// Whether a request was sent before its front end knew of the error.
    pub fn precedes(&self, r: &Request) -> bool {
        let late = r.arrived.saturating_duration_since(self.replied);
        if late.is_zero() {
            return true;
        }
        match (self.made, made(r)) {
            // After the reply, a client writes a date that is later by more than the cell's duration. Dates may have
            // millisecond precision only.
            (Some(failed), Some(date)) => {
                late < LATE && session(r) == self.session && date - failed < self.took - TimeDelta::milliseconds(1)
            }
            _ => late < UNDATED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failed, UNDATED};
    use crate::outbox::{Channel, Request};
    use crate::wire::Message;
    use chrono::TimeDelta;
    use serde_json::json;
    use std::time::{Duration, Instant};

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
}
