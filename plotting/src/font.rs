//! The embedded font and text widths.

use ab_glyph::{Font, FontRef, ScaleFont};
use std::sync::OnceLock;

/// `DejaVu` Sans. Its licence is in the same directory.
pub const BYTES: &[u8] = include_bytes!("../assets/DejaVuSans.ttf");

fn font() -> Option<&'static FontRef<'static>> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    FONT.get_or_init(|| FontRef::try_from_slice(BYTES).ok()).as_ref()
}

/// The width of a text in pixels, for a font size in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let Some(font) = font() else { return 0.6 * size * text.chars().count() as f64 };
    let Some(units) = font.units_per_em() else { return 0.6 * size * text.chars().count() as f64 };
    let scaled = font.as_scaled(font.height_unscaled() * size as f32 / units);
    text.chars().map(|c| f64::from(scaled.h_advance(scaled.glyph_id(c)))).sum()
}

/// A text truncated to a width.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if width(&line, size) <= room {
        return line;
    }
    let (mut out, mut used) = (String::new(), width("…", size));
    for c in line.chars() {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        out.push(c);
    }
    out.trim_end().to_owned() + "…"
}
