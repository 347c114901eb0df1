//! Pictures in terminal graphics protocols.

use crate::png;
use crate::scene::Scene;
use crate::svg::base64;
use std::fmt::Write;

/// A terminal graphics protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// kitty, ghostty: PNG in chunks.
    Kitty,
    /// iTerm2, `WezTerm`: PNG as a file.
    Iterm,
    /// xterm, foot, mlterm: rows of six pixels.
    Sixel,
}

/// The chunk size in characters that kitty requires.
pub const PIECE: usize = 4096;

/// The escape sequences for a scene.
pub fn write(scene: &Scene, protocol: Protocol, scale: f64) -> String {
    match protocol {
        Protocol::Kitty => kitty(&base64(&png::write(scene, scale))),
        Protocol::Iterm => {
            let bytes = png::write(scene, scale);
            format!("\x1b]1337;File=inline=1;size={}:{}\x07", bytes.len(), base64(&bytes))
        }
        Protocol::Sixel => {
            let (w, h, pixels) = png::pixels(scene, scale);
            sixel(w, h, &pixels)
        }
    }
}

/// A PNG in base64 in kitty's protocol.
pub fn kitty(data: &str) -> String {
    let mut out = String::new();
    let pieces = data.len().div_ceil(PIECE);
    for k in 0..pieces {
        let part = &data[k * PIECE..data.len().min((k + 1) * PIECE)];
        let head = if k == 0 { "a=T,f=100," } else { "" };
        let _ = write!(out, "\x1b_G{head}m={};{part}\x1b\\", u8::from(k + 1 < pieces));
    }
    out
}

/// The nearest of 216 palette colours.
fn index(rgb: &[u8]) -> usize {
    rgb.iter().fold(0, |n, c| n * 6 + (usize::from(*c) * 5 + 127) / 255)
}

/// Pixels, three bytes each, as sixels.
pub fn sixel(width: usize, h: usize, pixels: &[u8]) -> String {
    let mut out = format!("\x1bPq\"1;1;{width};{h}");
    for c in 0..216 {
        let _ = write!(out, "#{c};2;{};{};{}", c / 36 * 20, c / 6 % 6 * 20, c % 6 * 20);
    }
    for top in (0..h).step_by(6) {
        // For each colour in the band, the pixels of each column that have it.
        let mut bands: std::collections::BTreeMap<usize, Vec<u8>> = std::collections::BTreeMap::new();
        for y in top..h.min(top + 6) {
            for x in 0..width {
                let at = (y * width + x) * 3;
                bands.entry(index(&pixels[at..at + 3])).or_insert_with(|| vec![0; width])[x] |= 1 << (y - top);
            }
        }
        for (colour, bits) in bands {
            let _ = write!(out, "#{colour}");
            runs(&bits, &mut out);
            out.push('$');
        }
        out.push('-');
    }
    out + "\x1b\\"
}

/// Run-length encodes columns of six pixels.
fn runs(bits: &[u8], out: &mut String) {
    let mut at = 0;
    while at < bits.len() {
        let n = bits[at..].iter().take_while(|b| **b == bits[at]).count();
        let letter = char::from(63 + bits[at]);
        if n > 3 {
            let _ = write!(out, "!{n}{letter}");
        } else {
            out.extend(std::iter::repeat_n(letter, n));
        }
        at += n;
    }
}
