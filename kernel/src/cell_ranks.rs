//! Cells on several ranks: rank 0 has the front end or the notebook, and the others run the same cells.

use crate::cell_host::OutputSink;
use crate::cells::{CellEvaluator, CellFailure, Setup};
use serde_json::{Map, Value as Json, json};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How the ranks of a run run the same entries. All of them begin and end the same entries.
pub trait CellRanks {
    /// Sends an entry to the other ranks. It does nothing on other ranks than rank 0.
    fn broadcast(&self, entry: &str);
    /// The next entry, on another rank than rank 0; `None` at the end of the run.
    fn next(&self) -> Option<String>;
    /// Waits until all ranks have ended the entry, with the failure of this one. Returns that of the first rank that has
    /// failed by itself, and not because another rank was elsewhere.
    fn end(&self, failure: Option<&str>) -> Option<RankFailure>;
    /// From now on the flag of rank 0 that interrupts a cell sets those of the others.
    fn share_interrupts(&self, flag: &Arc<AtomicBool>);
}

/// The failure of a rank.
#[derive(Clone, Debug)]
pub struct RankFailure {
    /// The rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// What it has given to [`CellRanks::end`].
    pub failure: String,
}

/// An entry that begins a session in the working directory.
pub(crate) fn fresh() -> Json {
    json!({"fresh": std::env::current_dir().unwrap_or_default()})
}

/// A cell as an entry.
pub(crate) fn cell(name: &str, code: &str, number: u64, silent: bool) -> Json {
    json!({"name": name, "code": code, "number": number, "silent": silent})
}

/// `user_expressions` as an entry.
pub(crate) fn expressions(wanted: &Map<String, Json>) -> Json {
    json!({"expressions": wanted})
}

/// The failure as the other ranks get it.
pub(crate) fn sent(f: &CellFailure) -> String {
    json!([f.name, f.text, f.traceback]).to_string()
}

/// The failure of another rank, which is named.
pub(crate) fn of_rank(f: &RankFailure) -> CellFailure {
    let parts: Json = serde_json::from_str(&f.failure).unwrap_or_default();
    let part = |k: usize| parts[k].as_str().unwrap_or("").to_owned();
    let place = format!("on rank {} of {}", f.rank, f.size);
    CellFailure {
        name: part(0),
        text: format!("{} ({place})", part(1)),
        traceback: format!("{}\n  = note: {place}", part(2).trim_end()),
    }
}

/// Where the output of the cells of other ranks than rank 0 goes: it is dropped.
struct NoFrontEnd;

impl OutputSink for NoFrontEnd {
    fn stream(&self, _: &'static str, _: &str) {}
    fn publish(&self, _: &str, _: Json, _: Json) {}
    fn ask(&self, _: &str) -> Result<Option<String>, String> {
        Err("rank 0 asks for input".to_owned())
    }
    fn watched(&self) -> bool {
        false
    }
}

/// Runs the cells that rank 0 runs, until it ends.
pub fn follow(setup: &Setup) {
    let Some(all) = setup.ranks.clone() else { return };
    let interrupt = Arc::new(AtomicBool::new(false));
    all.share_interrupts(&interrupt);
    let mut cells = None;
    while let Some(text) = all.next() {
        let entry: Json = serde_json::from_str(&text).unwrap_or_default();
        if let Some(dir) = entry["fresh"].as_str() {
            // A directory that is not there is an error of what reads files in it.
            let _ = std::env::set_current_dir(dir);
            cells = Some(CellEvaluator::new(
                setup,
                Rc::new(NoFrontEnd),
                interrupt.clone(),
                Arc::new(AtomicBool::new(false)),
            ));
        }
        if let Some(cells) = &mut cells {
            rerun(cells, &entry);
        }
    }
}

/// Runs an entry of rank 0. Its result is shown there.
fn rerun(cells: &mut CellEvaluator, entry: &Json) {
    if let Some(wanted) = entry["expressions"].as_object() {
        cells.expressions(wanted);
    } else if let (Some(name), Some(code)) = (entry["name"].as_str(), entry["code"].as_str()) {
        let (number, silent) = (entry["number"].as_u64().unwrap_or(0), entry["silent"] == true);
        // Rank 0 gets the failure, too.
        let _ = cells.run(name, code, number, silent);
    }
}
