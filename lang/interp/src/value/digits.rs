//! Numbers for display: rounded to significant digits, and aligned in columns.

use super::show;
use std::cell::Cell;

/// The default number of significant digits in arrays, records and tables.
pub const DIGITS: usize = 6;
/// Number of digits from which numbers are shown exactly.
pub const EXACT: usize = 17;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(DIGITS) };
}

/// The number of significant digits that this thread shows.
pub fn digits() -> usize {
    NOW.get()
}

/// Sets the number of significant digits that this thread shows.
pub fn set_digits(n: usize) {
    NOW.set(n.clamp(1, EXACT));
}

/// The parts of a number: sign, digits without trailing zeros, and the decimal exponent of the first digit.
struct Scientific {
    negative: bool,
    digits: String,
    exponent: i32,
}

/// A number rounded to `n` significant digits; `None` for zero, nan and infinities.
fn scientific(x: f64, n: usize) -> Option<Scientific> {
    if x == 0.0 || !x.is_finite() {
        return None;
    }
    let text = if n >= EXACT { format!("{:e}", x.abs()) } else { format!("{:.*e}", n - 1, x.abs()) };
    let (mantissa, exponent) = text.split_once('e')?;
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    Some(Scientific {
        negative: x < 0.0,
        digits: digits.trim_end_matches('0').to_owned(),
        exponent: exponent.parse().ok()?,
    })
}

impl Scientific {
    /// The number divided by 10 to the power of `scale`, without an exponent.
    fn over(&self, scale: i32) -> String {
        let point = self.exponent - scale + 1;
        let body = match usize::try_from(point) {
            Err(_) | Ok(0) => format!("0.{}{}", "0".repeat(point.unsigned_abs() as usize), self.digits),
            Ok(p) if p >= self.digits.len() => format!("{}{}.0", self.digits, "0".repeat(p - self.digits.len())),
            Ok(p) => format!("{}.{}", &self.digits[..p], &self.digits[p..]),
        };
        if self.negative { format!("-{body}") } else { body }
    }
}

fn special(x: f64) -> String {
    show::float(x)
}

/// A number without an exponent; keeps all digits before the point and one after it.
fn plain(x: f64, n: usize) -> String {
    let whole = scientific(x, EXACT).map_or(0, |s| s.exponent + 1).clamp(0, 300) as usize;
    scientific(x, n.max(whole + 1)).map_or_else(|| special(x), |s| s.over(0))
}

/// A rounded number in running text.
pub fn rounded(x: f64) -> String {
    rounded_to(x, digits())
}

/// Like [`rounded`], with `n` digits.
pub fn rounded_to(x: f64, n: usize) -> String {
    if n >= EXACT {
        return show::float(x);
    }
    match scientific(x, n) {
        None => special(x),
        Some(s) if (-4..n as i32 + 3).contains(&s.exponent) => plain(x, n),
        Some(s) if s.digits.len() == 1 => format!("{}{}e{}", if s.negative { "-" } else { "" }, s.digits, s.exponent),
        Some(s) => format!("{}e{}", s.over(s.exponent), s.exponent),
    }
}

/// Maximum number of significant digits of an F32.
pub const SINGLE: usize = 9;

/// A rounded F32 in running text.
pub fn rounded32(x: f32) -> String {
    if digits() >= SINGLE { show::float32(x) } else { rounded(f64::from(x)) }
}

/// The number of characters before the point, and from the point on.
fn sides(text: &str) -> (usize, usize) {
    let point = text.find('.').unwrap_or_else(|| {
        text.find('e').filter(|_| text.starts_with(|c: char| c.is_ascii_digit() || c == '-')).unwrap_or(text.len())
    });
    (point, text.len() - point)
}

/// Pads the texts of numbers to equal width, so that their points are aligned.
pub fn aligned(texts: &[String]) -> Vec<String> {
    let (left, right) = texts.iter().map(|t| sides(t)).fold((0, 0), |m, s| (m.0.max(s.0), m.1.max(s.1)));
    let one = |t: &String| {
        let (l, r) = sides(t);
        format!("{}{t}{}", " ".repeat(left - l), " ".repeat(right - r))
    };
    texts.iter().map(one).collect()
}

fn width(texts: &[String]) -> usize {
    let (left, right) = texts.iter().map(|t| sides(t)).fold((0, 0), |m, s| (m.0.max(s.0), m.1.max(s.1)));
    left + right
}

/// Number of characters beyond the significant digits from which each number of a column gets its own exponent.
const WIDE: usize = 9;

/// The numbers of a column, aligned at the point. They are written without exponents, with a common exponent if
/// that is shorter, or with one each.
pub fn column(xs: &[f64]) -> Vec<String> {
    aligned(&texts(xs))
}

/// Like [`column()`], without alignment.
pub fn texts(xs: &[f64]) -> Vec<String> {
    let precision = digits();
    let parts: Vec<Option<Scientific>> = xs.iter().map(|x| scientific(*x, precision)).collect();
    let Some((least, largest)) = parts
        .iter()
        .flatten()
        .map(|s| s.exponent)
        .fold(None, |m: Option<(i32, i32)>, e| Some(m.map_or((e, e), |(a, b)| (a.min(e), b.max(e)))))
    else {
        return xs.iter().map(|x| special(*x)).collect();
    };
    let with = |scale: &dyn Fn(&Scientific) -> i32| -> Vec<String> {
        xs.iter()
            .zip(&parts)
            .map(|(x, s)| s.as_ref().map_or_else(|| special(*x), |s| format!("{}e{}", s.over(scale(s)), scale(s))))
            .collect()
    };
    // Outside this range a format without an exponent cannot be the shortest.
    let fits = |from: i32, to: i32| from - to < 20 && least > to - 20;
    let mut best: Option<Vec<String>> = fits(largest, 0).then(|| xs.iter().map(|x| plain(*x, precision)).collect());
    let shorter = |best: &Option<Vec<String>>, other: &[String], limit: usize| {
        best.as_ref().is_none_or(|b| width(b) > limit && width(other) < width(b))
    };
    // If no number would need an exponent in running text, none is used here, and the digits after large
    // integers are kept.
    if let Some(plain) = best.take_if(|_| least >= -4 && largest < precision as i32 + 3) {
        return plain;
    }
    if largest - least < 20 {
        let common = with(&|_| largest);
        if shorter(&best, &common, 0) {
            best = Some(common);
        }
    }
    let own = with(&|s| s.exponent);
    if shorter(&best, &own, precision + WIDE) { own } else { best.unwrap_or(own) }
}
