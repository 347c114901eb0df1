//! Runs of many programs, and reports of failures.

use super::ast::FuzzProgram;
use super::evaluate::NoAnswer;
use super::features::FeatureCounts;
use super::generate::Generator;
use super::judge::{Disagreement, Verdict, judge};
use super::minimise::minimise;
use super::worker::{Answer, Worker};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct FuzzPlan {
    /// The executable; `--worker` makes it a worker.
    pub exe: PathBuf,
    /// The first seed.
    pub seed: u64,
    /// The duration of the run.
    pub time: Duration,
    /// The maximal number of programs.
    pub programs: usize,
    /// The time limit of one program in all execution modes.
    pub limit: Duration,
    /// The time limit of minimising one failure.
    pub minimise: Duration,
    /// The number of failures of the same kind and execution mode that are minimised.
    pub of_a_kind: usize,
    /// Programs that contain one of these words are skipped.
    pub skip: Vec<String>,
    /// Whether to print progress.
    pub verbose: bool,
}

/// A minimised failure.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of its program.
    pub seed: u64,
    /// The failure of the minimised program.
    pub fault: Disagreement,
    /// The minimised program.
    pub program: FuzzProgram,
}

/// The number of programs that are named for each reason to tape.
const SEEDS: usize = 20;

/// The results of a run.
#[derive(Default)]
pub struct Summary {
    /// Programs that were compared.
    pub compared: usize,
    /// The numbers of programs without a reference answer, by reason.
    pub skipped: HashMap<&'static str, usize>,
    /// The features of the compared programs.
    pub counts: FeatureCounts,
    /// The reasons why derivatives were taped: the seeds of the programs.
    pub taped: BTreeMap<String, Vec<u64>>,
    /// Failures, one for each kind and mode, with the number of programs that have it.
    pub failures: Vec<(Failure, usize)>,
}

impl Failure {
    /// A program in the form of `tests/programs` that prints the wrong answer; a comment has the expected one.
    pub fn text(&self) -> String {
        let Disagreement { kind, way, want, have, entry } = &self.fault;
        let one_line = |t: &str| t.replace('\n', " ");
        let mut out = format!(
            "-- {kind}, {way} (seed {})\n-- expected: {}\n-- found:    {}\n",
            self.seed,
            one_line(want),
            one_line(have)
        );
        for e in self.program.entries() {
            let _ = writeln!(out, "{e}");
        }
        let _ = writeln!(out, "print {entry}");
        adl_syntax::format::format(&out).unwrap_or(out)
    }

    /// The program without digits in numbers and names: failures of the same shape count as one.
    fn shape(&self) -> String {
        format!("{}{}{}", self.fault.kind, self.fault.way, super::print::expr(&self.program.body))
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .collect()
    }

    /// A file name for it.
    pub fn file(&self) -> String {
        let words: String = format!("{}_{}", self.fault.kind, self.fault.way)
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
            .collect();
        format!("{}_{}.adl", words.trim_matches('_'), self.seed)
    }
}

impl Summary {
    /// The feature counts and the failures.
    pub fn text(&self) -> String {
        let skipped: usize = self.skipped.values().sum();
        let mut out = format!(
            "{} programs compared, {skipped} without an answer of the reference {:?}\n{}",
            self.compared,
            self.skipped,
            self.counts.table()
        );
        for (why, seeds) in &self.taped {
            let first: Vec<String> = seeds.iter().take(SEEDS).map(u64::to_string).collect();
            let _ = writeln!(out, "taped in {} programs (seeds {}): {why}", seeds.len(), first.join(", "));
        }
        for (f, n) in &self.failures {
            let _ = write!(out, "\n{n} times:\n{}", f.text());
        }
        out
    }

    /// Adds the results of another run.
    pub fn join(&mut self, other: Summary) {
        self.compared += other.compared;
        for (why, n) in other.skipped {
            *self.skipped.entry(why).or_insert(0) += n;
        }
        self.counts.join(&other.counts);
        for (why, seeds) in other.taped {
            self.taped.entry(why).or_default().extend(seeds);
        }
        self.failures.extend(other.failures);
    }
}

fn reason(s: NoAnswer) -> &'static str {
    match s {
        NoAnswer::Fuel => "long",
        NoAnswer::Large => "large numbers",
        NoAnswer::Fragile => "near a kink",
        NoAnswer::Invalid => "invalid",
    }
}

/// Runs cases of malformed text, files or entries until the time is over. Returns their number and the failures.
pub fn front(plan: &FuzzPlan, kind: &str) -> std::io::Result<(usize, Vec<String>)> {
    const AT_ONCE: u64 = 20;
    let mut worker = Worker::new(plan.exe.clone(), plan.limit);
    let (start, mut cases, mut failures) = (Instant::now(), 0, Vec::new());
    let mut seed = plan.seed;
    while start.elapsed() < plan.time && cases < plan.programs && failures.len() < plan.of_a_kind {
        let job = |seed: u64, count: u64| serde_json::json!({"kind": kind, "seed": seed, "count": count});
        match worker.send(&job(seed, AT_ONCE))? {
            Answer::Echoes(found) => failures.extend(found.into_iter().flatten()),
            _ => {
                // Run them individually to find the failing one.
                for one in seed..seed + AT_ONCE {
                    match worker.send(&job(one, 1))? {
                        Answer::Echoes(found) => failures.extend(found.into_iter().flatten()),
                        other => failures.push(format!("seed {one}: {other:?}")),
                    }
                }
            }
        }
        cases += AT_ONCE as usize;
        seed += AT_ONCE;
    }
    Ok((cases, failures))
}

/// Compares programs until the time or the number is reached.
pub fn programs(plan: &FuzzPlan, seeds: impl Iterator<Item = u64>) -> std::io::Result<Summary> {
    let mut worker = Worker::new(plan.exe.clone(), plan.limit);
    let (start, mut out) = (Instant::now(), Summary::default());
    let mut kinds: HashMap<(String, &'static str), usize> = HashMap::new();
    for seed in seeds.take(plan.programs) {
        if start.elapsed() > plan.time {
            break;
        }
        if plan.verbose && out.compared > 0 && out.compared.is_multiple_of(500) {
            println!("{} programs compared, at seed {seed}", out.compared);
        }
        let candidate = Generator::new(seed).program();
        if !plan.skip.is_empty() && candidate.entries().iter().any(|e| plan.skip.iter().any(|w| e.contains(w))) {
            continue;
        }
        match judge(&candidate, &mut worker)? {
            Verdict::Skipped(why) => {
                if why == NoAnswer::Invalid {
                    // A fault of the generator or of the reference: every program is valid.
                    println!("-- the reference refuses the program of seed {seed}");
                }
                *out.skipped.entry(reason(why)).or_insert(0) += 1;
            }
            Verdict::Fine { active, taped } => {
                out.compared += 1;
                for why in taped {
                    out.taped.entry(why).or_default().push(seed);
                }
                out.counts.program(&candidate);
                if active {
                    out.counts.add("gradients that are not 0");
                }
            }
            Verdict::Wrong(faults) => {
                out.compared += 1;
                out.counts.program(&candidate);
                let fault = &faults[0];
                let seen = kinds.entry((fault.kind.clone(), fault.way)).or_insert(0);
                *seen += 1;
                if *seen <= plan.of_a_kind {
                    let (program, fault) = minimise(&candidate, fault, &mut worker, plan.minimise)?;
                    let failure = Failure { seed, fault, program };
                    if let Some(same) = out.failures.iter_mut().find(|f| f.0.shape() == failure.shape()) {
                        same.1 += 1;
                        continue;
                    }
                    if plan.verbose {
                        println!("{}", failure.text());
                    }
                    out.failures.push((failure, 1));
                } else if let Some(f) =
                    out.failures.iter_mut().rev().find(|f| f.0.fault.kind == fault.kind && f.0.fault.way == fault.way)
                {
                    f.1 += 1;
                }
            }
        }
    }
    Ok(out)
}
