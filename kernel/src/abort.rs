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
pub const UNDATED: Duration = Duration::from_millis(100);
/// The maximal delay in transit of a request. It limits the effect of a clock that is set back.
const LATE: Duration = Duration::from_secs(30);

/// A failed cell whose reply has been sent.
pub struct Failed {
    session: String,
    made: Option<DateTime<FixedOffset>>,
    /// The time from the arrival of the request to its reply.
    pub took: TimeDelta,
    /// When the reply was sent.
    pub replied: Instant,
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
