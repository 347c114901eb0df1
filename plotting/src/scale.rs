//! Axes: the mapping from numbers to pixels, and tick labels.

/// Differences of larger numbers may overflow.
const LARGEST: f64 = 4e307;

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// The numbers at its ends.
    pub range: (f64, f64),
    /// Whether it is logarithmic.
    pub log: bool,
    /// The pixels at its ends.
    pub ends: (f64, f64),
    /// Whether only integers are meaningful.
    pub whole: bool,
}

/// Ticks, and a common factor or summand of their labels.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ticks {
    /// The position and label of each tick.
    pub at: Vec<(f64, String)>,
    /// `×10⁶`, or `+ 1000000`.
    pub note: String,
}

impl Axis {
    /// An axis for a range of numbers, which is widened if it is empty.
    pub fn new(range: (f64, f64), log: bool, ends: (f64, f64)) -> Axis {
        Axis { range: if log { wide_log(range) } else { wide(range) }, log, ends, whole: false }
    }

    /// The pixel of a number; `None` if it has no position on this axis.
    pub fn at(&self, v: f64) -> Option<f64> {
        let (a, b) = self.range;
        let t = if self.log {
            if v <= 0.0 {
                return None;
            }
            (v.ln() - a.ln()) / (b.ln() - a.ln())
        } else {
            (v / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0)
        };
        let p = self.ends.0 + t * (self.ends.1 - self.ends.0);
        // Positions far outside are clamped: clipping needs distinguishable numbers.
        p.is_finite().then(|| p.clamp(-1e7, 1e7))
    }

    /// About `room` ticks.
    pub fn ticks(&self, room: usize) -> Ticks {
        let room = room.clamp(2, 12);
        if self.log {
            let t = log_ticks(self.range, room);
            // Within a decade there are few round numbers, so linear ticks are used.
            if t.at.len() > 2 || self.range.1 / self.range.0 > 10.0 {
                return t;
            }
        }
        linear_ticks(self.range, room, if self.whole { 1.0 } else { 0.0 })
    }

    /// Round numbers inside the range, between about `least` and twice as many.
    pub fn levels(&self, least: f64) -> Vec<f64> {
        let (a, b) = self.range;
        let step = nice((b / 2.0 - a / 2.0) / least);
        let (first, last) = ((a / step).ceil(), (b / step).floor());
        let count = (last - first).clamp(0.0, 40.0) as usize;
        (0..=count).map(|k| (first + k as f64) * step).filter(|v| *v > a && *v < b).collect()
    }
}

/// A range of positive width.
fn wide((a, b): (f64, f64)) -> (f64, f64) {
    if !(a.is_finite() && b.is_finite() && a <= b) {
        return (0.0, 1.0);
    }
    let (a, b) = (a.clamp(-LARGEST, LARGEST), b.clamp(-LARGEST, LARGEST));
    let most = a.abs().max(b.abs());
    if b - a > 1e-13 * most && b - a > 1e-290 {
        return (a, b);
    }
    let by = if most > 1e-280 { 0.05 * most } else { 1.0 };
    (a - by, b + by)
}

fn wide_log((a, b): (f64, f64)) -> (f64, f64) {
    if !(a > 0.0 && b.is_finite() && a <= b) {
        return (1.0, 10.0);
    }
    let (a, b) = (a.clamp(1e-305, LARGEST), b.clamp(1e-305, LARGEST));
    if b / a > 1.000001 { (a, b) } else { (a / 3.0, b * 3.0) }
}

/// The smallest step of the form 1, 2 or 5 times a power of ten that is at least `x`.
fn nice(x: f64) -> f64 {
    let unit = 10f64.powf(x.log10().floor());
    let part = x / unit;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| *f >= part - 1e-9).unwrap_or(10.0);
    factor * unit
}

fn linear_ticks((a, b): (f64, f64), room: usize, least: f64) -> Ticks {
    let step = nice(2.0 * (b / 2.0 - a / 2.0) / room as f64).max(least);
    if !(step.is_finite() && step > 0.0) {
        return Ticks::default();
    }
    let (first, last) = ((a / step - 1e-6).ceil(), (b / step + 1e-6).floor());
    let count = (last - first).clamp(0.0, 40.0) as usize;
    let at: Vec<f64> = (0..=count).map(|k| (first + k as f64) * step).filter(|v| v.is_finite()).collect();
    label(&at, step)
}

/// The number of decimal places for a step.
fn digits(step: f64) -> usize {
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 17.0) as usize
}

/// The labels of equally spaced numbers.
fn label(at: &[f64], step: f64) -> Ticks {
    let most = at.iter().fold(0f64, |m, v| m.max(v.abs()));
    if most == 0.0 {
        return Ticks { at: at.iter().map(|v| (*v, "0".to_owned())).collect(), note: String::new() };
    }
    // If the numbers share many leading digits, show their differences to the first one.
    if most / step > 1e5 {
        let base = at.first().copied().unwrap_or(0.0);
        let steps: Vec<f64> = (0..at.len()).map(|k| k as f64 * step).collect();
        let inner = label(&steps, step);
        let factor = if inner.note.is_empty() { String::new() } else { format!("{} ", inner.note) };
        return Ticks {
            at: at.iter().zip(inner.at).map(|(v, t)| (*v, t.1)).collect(),
            note: format!("{factor}{} {}", if base < 0.0 { "−" } else { "+" }, short(base.abs())),
        };
    }
    let power = most.log10().floor() as i32;
    if !(-4..=5).contains(&power) {
        let unit = 10f64.powi(power.max(-300));
        let d = digits(step / unit);
        return Ticks {
            at: at.iter().map(|v| (*v, signed(v / unit, d))).collect(),
            note: format!("×10{}", superscript(power.max(-300))),
        };
    }
    let d = digits(step);
    Ticks { at: at.iter().map(|v| (*v, signed(*v, d))).collect(), note: String::new() }
}

fn signed(v: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", v.abs());
    let zero = text.chars().all(|c| c == '0' || c == '.');
    if v < 0.0 && !zero { format!("−{text}") } else { text }
}

/// A number with at most six digits.
pub fn short(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return if v == 0.0 { "0".into() } else { format!("{v}") };
    }
    let power = v.abs().log10().floor() as i32;
    let trim = |s: String| if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s };
    match power {
        -4..=5 => trim(signed(v, (5 - power).clamp(0, 9) as usize)),
        _ => {
            let p = power.max(-300);
            format!("{}·10{}", trim(signed(v / 10f64.powi(p), 4)), superscript(p))
        }
    }
}

/// An integer in superscript digits.
pub fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = n.unsigned_abs().to_string().bytes().map(|b| DIGITS[usize::from(b - b'0')]).collect::<String>();
    if n < 0 { format!("⁻{digits}") } else { digits }
}

fn log_ticks((lowest, highest): (f64, f64), room: usize) -> Ticks {
    let (low, high) = ((lowest.log10() - 1e-9).ceil() as i32, (highest.log10() + 1e-9).floor() as i32);
    let decades = high - low + 1;
    if decades >= 3 || decades >= 2 && room < 5 {
        let stride = (decades as usize).div_ceil(room).max(1);
        let at = (low..=high).filter(|k| k.rem_euclid(stride as i32) == 0 || stride == 1);
        return Ticks { at: at.map(|k| (10f64.powi(k), power_text(k))).collect(), note: String::new() };
    }
    let mut at = Vec::new();
    for k in low - 1..=high {
        for f in [1.0, 2.0, 5.0] {
            let v = f * 10f64.powi(k);
            if v >= lowest * 0.999_999 && v <= highest * 1.000_001 {
                let text = if (-4..=5).contains(&k) {
                    short(v)
                } else if f == 1.0 {
                    power_text(k)
                } else {
                    format!("{f}·{}", power_text(k))
                };
                at.push((v, text));
            }
        }
    }
    Ticks { at, note: String::new() }
}

fn power_text(k: i32) -> String {
    match k {
        -3..=3 => short(10f64.powi(k)),
        k => format!("10{}", superscript(k)),
    }
}
