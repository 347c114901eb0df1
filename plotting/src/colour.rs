//! Colours that colour-blind people can distinguish (Okabe and Ito), colour maps of uniform lightness, and the themes.

/// Red, green and blue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Colour(pub u8, pub u8, pub u8);

/// The background of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// Dark text on white.
    #[default]
    Light,
    /// Light text on nearly black.
    Dark,
    /// A transparent background. Every colour is readable on light and on dark pages.
    Adaptive,
}

/// The colours of a theme.
#[derive(Clone, Copy, Debug)]
pub struct Ink {
    /// The background; `None` if it is transparent.
    pub paper: Option<Colour>,
    /// The colour of titles and labels.
    pub ink: Colour,
    /// The colour of tick labels and frames.
    pub soft: Colour,
    /// The colour of grid lines.
    pub grid: Colour,
    /// The opacity of grid lines.
    pub grid_opacity: f64,
    /// The colours of layers, in order.
    pub series: [Colour; 8],
}

/// Okabe and Ito's colours for the three backgrounds: white, nearly black, and both. Colours with too little contrast
/// (below 3) are lightened or darkened.
pub const NAMED: [(&str, [Colour; 3]); 9] = [
    ("blue", [Colour(0, 114, 178), Colour(86, 160, 224), Colour(20, 122, 190)]),
    ("orange", [Colour(213, 124, 0), Colour(240, 170, 40), Colour(208, 122, 0)]),
    ("green", [Colour(0, 143, 107), Colour(45, 190, 145), Colour(0, 143, 107)]),
    ("purple", [Colour(180, 95, 148), Colour(216, 145, 185), Colour(184, 96, 150)]),
    ("red", [Colour(200, 78, 0), Colour(240, 115, 50), Colour(214, 84, 8)]),
    ("sky", [Colour(60, 160, 215), Colour(130, 205, 245), Colour(52, 150, 204)]),
    ("yellow", [Colour(170, 150, 0), Colour(240, 228, 66), Colour(164, 144, 0)]),
    ("grey", [Colour(110, 110, 110), Colour(165, 165, 165), Colour(128, 128, 128)]),
    ("black", [Colour(20, 20, 20), Colour(235, 235, 235), Colour(120, 120, 120)]),
];

/// The darkest page background for adaptive pictures.
pub const DARK_PAGE: Colour = Colour(17, 17, 17);
/// The lightest page background.
pub const WHITE: Colour = Colour(255, 255, 255);

impl Theme {
    fn column(self) -> usize {
        match self {
            Theme::Light => 0,
            Theme::Dark => 1,
            Theme::Adaptive => 2,
        }
    }

    /// The colours of this theme.
    pub fn ink(self) -> Ink {
        let series = [0, 4, 2, 3, 1, 5, 6, 7].map(|k: usize| NAMED[k].1[self.column()]);
        let solid = |paper, ink, soft, grid| Ink { paper: Some(paper), ink, soft, grid, grid_opacity: 1.0, series };
        match self {
            Theme::Light => solid(WHITE, Colour(27, 31, 36), Colour(89, 99, 110), Colour(226, 230, 234)),
            Theme::Dark => solid(Colour(20, 23, 26), Colour(230, 233, 236), Colour(164, 172, 180), Colour(52, 58, 64)),
            Theme::Adaptive => {
                let grey = Colour(120, 120, 120);
                Ink { paper: None, ink: grey, soft: grey, grid: grey, grid_opacity: 0.25, series }
            }
        }
    }

    /// The smallest difference in lightness, from 0 to 1, between a colour and the possible backgrounds.
    pub fn distance(self, c: Colour) -> f64 {
        let apart = |ground: Colour| (c.lightness() - ground.lightness()).abs();
        self.ink().paper.map_or_else(|| apart(WHITE).min(apart(DARK_PAGE)), apart)
    }

    /// A colour by its name, or as `#rrggbb`.
    pub fn named(self, name: &str) -> Option<Colour> {
        if let Some((_, colours)) = NAMED.iter().find(|n| n.0 == name) {
            return Some(colours[self.column()]);
        }
        let digits = name.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii())?;
        let part = |k: usize| u8::from_str_radix(&digits[k..k + 2], 16).ok();
        Some(Colour(part(0)?, part(2)?, part(4)?))
    }
}

impl Colour {
    /// `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// Interpolates: the fraction `t` of the way to another colour.
    pub fn mix(self, other: Colour, t: f64) -> Colour {
        let part = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * t.clamp(0.0, 1.0)).round() as u8;
        Colour(part(self.0, other.0), part(self.1, other.1), part(self.2, other.2))
    }

    /// The lightness, from 0 to 1.
    pub fn lightness(self) -> f64 {
        (0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2)) / 255.0
    }
}

const VIRIDIS: &[u32] =
    &[0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c, 0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725];
const CIVIDIS: &[u32] =
    &[0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74, 0xc3b369, 0xe1cc55, 0xfee838];
const MAGMA: &[u32] =
    &[0x000004, 0x140e36, 0x3b0f70, 0x641a80, 0x8c2981, 0xb73779, 0xde4968, 0xf7705c, 0xfe9f6d, 0xfecf92, 0xfcfdbf];
const GREY: &[u32] = &[0x1a1a1a, 0xf2f2f2];
const BALANCE: &[u32] =
    &[0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f];

/// A colour map for heights.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ColourMap {
    anchors: &'static [u32],
    /// Whether its centre represents 0.
    pub centred: bool,
}

impl ColourMap {
    /// The colour map of a name; `viridis` if it is unknown.
    pub fn named(name: &str) -> ColourMap {
        let anchors = match name {
            "cividis" => CIVIDIS,
            "magma" => MAGMA,
            "grey" => GREY,
            "balance" => BALANCE,
            _ => VIRIDIS,
        };
        ColourMap { anchors, centred: name == "balance" }
    }

    /// The colour at `t` between 0 and 1.
    pub fn at(self, t: f64) -> Colour {
        let last = self.anchors.len() - 1;
        let place = if t.is_finite() { t.clamp(0.0, 1.0) * last as f64 } else { 0.0 };
        let k = (place as usize).min(last - 1);
        let colour = |c: u32| Colour((c >> 16) as u8, (c >> 8) as u8, c as u8);
        colour(self.anchors[k]).mix(colour(self.anchors[k + 1]), place - k as f64)
    }
}
