//! Reports how derivatives were computed: by compiled or taped AD, on which tier, from which code, by which rules.

use crate::Session;
use adl_interp::ir::derive::{Derivation, DerivativeRecord, rules_of};
use adl_syntax::render::quote;
use adl_syntax::span::Span;
use std::time::Duration;

impl Session {
    /// How the derivatives since [`Session::clear_derivations`] were computed, one per line.
    pub fn derivations(&self) -> Vec<String> {
        self.machine.compiled_ad.explain.iter().map(|e| self.summary(e)).collect()
    }

    /// Like `derivations`, with the time of generating code and the number of cache hits.
    pub fn timed_derivations(&self) -> Vec<String> {
        self.machine.compiled_ad.explain.iter().map(|e| self.timed(e)).collect()
    }

    /// Like `derivations`, with the rules that generated each derivative.
    pub fn explained(&self) -> Vec<String> {
        let one = |e: &DerivativeRecord| {
            let rules = rules_of(&self.machine, e);
            std::iter::once(self.timed(e)).chain(rules.into_iter().map(|r| format!("  {r}"))).collect::<Vec<_>>()
        };
        self.machine.compiled_ad.explain.iter().flat_map(one).collect()
    }

    /// Like `derivations`, as one JSON object each: `derivative`, `function`, `ad`, `tier`, `calls`, `cached` (calls with
    /// all code in the cache), `made_ms`, `compiled_ms`, `gpu` (what the GPU did, or why it was not used), `why` (the
    /// reason for taped AD), `line` (of that reason), `rules`.
    pub fn derivations_json(&self) -> Vec<String> {
        let one = |record: &DerivativeRecord| {
            let rules: Vec<String> = rules_of(&self.machine, record).iter().map(|r| quote(r)).collect();
            let line = if record.span == Span::default() {
                "null".to_owned()
            } else {
                self.sources.line_of(record.span).to_string()
            };
            let ms = |d: Duration| d.as_secs_f64() * 1e3;
            format!(
                "{{\"derivative\":{},\"function\":{},\"ad\":\"{}\",\"tier\":\"{}\",\"calls\":{},\"cached\":{},\"made_ms\":{:.3},\"compiled_ms\":{:.3},\"gpu\":{},\"why\":{},\"line\":{line},\"rules\":[{}]}}",
                quote(&record.op),
                quote(&record.function),
                if record.derivation == Derivation::Compiled { "compiled" } else { "taped" },
                if record.native { "native" } else { "interpreted" },
                record.spent.calls,
                record.spent.kept,
                ms(record.spent.made),
                ms(record.spent.compiled),
                crate::device::ran(&record.device).map_or("null".to_owned(), |w| quote(&w)),
                record.why.as_ref().map_or("null".to_owned(), |w| quote(w)),
                rules.join(",")
            )
        };
        self.machine.compiled_ad.explain.iter().map(one).collect()
    }

    /// The times of transforming and of compiling the code of derivatives since [`Session::clear_derivations`].
    pub fn spent(&self) -> (Duration, Duration) {
        let all = || self.machine.compiled_ad.explain.iter().map(|e| &e.spent);
        (all().map(|s| s.made).sum(), all().map(|s| s.compiled).sum())
    }

    /// Clears the report.
    pub fn clear_derivations(&mut self) {
        self.machine.compiled_ad.explain.clear();
    }

    fn summary(&self, e: &DerivativeRecord) -> String {
        let place =
            if e.span == Span::default() { String::new() } else { format!(" (line {})", self.sources.line_of(e.span)) };
        match &e.why {
            None => {
                let how = if e.op == "call" { "specialised" } else { "compiled AD" };
                format!("{} {}: {how}{}", e.op, e.function, if e.native { ", native" } else { "" })
            }
            Some(why) => format!("{} {}: taped, because of {why}{place}", e.op, e.function),
        }
    }

    fn timed(&self, e: &DerivativeRecord) -> String {
        let spent = &e.spent;
        let mut parts = vec![self.summary(e)];
        parts.extend(crate::device::ran(&e.device));
        if !spent.made.is_zero() {
            parts.push(format!("transformed in {}", milliseconds(spent.made)));
        }
        if !spent.compiled.is_zero() {
            parts.push(format!("compiled in {}", milliseconds(spent.compiled)));
        }
        let calls = format!("{} call{}", spent.calls, if spent.calls == 1 { "" } else { "s" });
        parts.push(match spent.kept {
            0 => calls,
            k if k == spent.calls => format!("{calls}, all from the cache"),
            k => format!("{calls}, {k} from the cache"),
        });
        parts.join("; ")
    }
}

fn milliseconds(d: Duration) -> String {
    format!("{:.2} ms", d.as_secs_f64() * 1e3)
}
