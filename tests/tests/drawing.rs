//! The parts that plots are drawn with: clipping, marks, ticks, colours, formats of files and terminals, live curves.

use adl_plotting::internals::{
    Axis, Chart, Colour, DARK_PAGE, Frame, Grid, MOST, NAMED, PIECE, Point, Summary, WHITE, base64, escape, kitty,
    line, lines, num, polygon, sixel, summary, thin,
};
use adl_plotting::live::Live;
use adl_plotting::{Figure, Theme};

const FRAME: Frame = Frame { x: 0.0, y: 0.0, w: 10.0, h: 10.0 };

#[test]
fn lines_end_at_the_frame() {
    assert_eq!(
        line(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 20.0), (20.0, 20.0)], FRAME),
        [vec![(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)]]
    );
    assert!(line(&[(20.0, 20.0), (30.0, 20.0)], FRAME).is_empty());
}

#[test]
fn polygons_end_at_the_frame() {
    let p = polygon(&[(5.0, 5.0), (20.0, 5.0), (20.0, 8.0), (5.0, 8.0)], FRAME);
    assert!(p.len() >= 4 && p.iter().all(|p| FRAME.holds(*p)), "{p:?}");
    assert!(polygon(&[(20.0, 20.0), (30.0, 20.0), (30.0, 30.0)], FRAME).is_empty());
}

#[test]
fn thinned_lines_keep_their_extremes() {
    let mut points: Vec<Point> = (0..1_000_000).map(|k| (k as f64 / 2000.0, 50.0)).collect();
    points[654_321].1 = 99.0;
    points[123_456].1 = 1.0;
    let thin = thin(points);
    assert!(thin.len() < 5000 && thin.iter().any(|p| p.1 == 99.0) && thin.iter().any(|p| p.1 == 1.0));
}

#[test]
fn quartiles_are_those_of_numpy() {
    let s = summary(&[1.0, 2.0, 3.0, 4.0, 100.0]);
    assert_eq!(s, Summary { five: [1.0, 2.0, 3.0, 4.0, 4.0], beyond: vec![100.0] });
    assert_eq!(summary(&[7.0]).five, [7.0; 5]);
}

#[test]
fn a_hill_has_rings_and_a_slope_has_lines() {
    let data = (0..81).map(|k| -((k / 9) as f64 - 4.0).powi(2) - ((k % 9) as f64 - 4.0).powi(2)).collect();
    let ring = lines(&Grid { rows: 9, columns: 9, data }, -4.5);
    assert_eq!(ring.len(), 1);
    assert_eq!(ring[0].first(), ring[0].last());
    let slope = lines(&Grid { rows: 3, columns: 4, data: (0..12).map(|k| (k % 4) as f64).collect() }, 1.5);
    assert_eq!(slope.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
}

#[test]
fn saddles_join_what_belongs_together() {
    assert_eq!(lines(&Grid { rows: 2, columns: 2, data: vec![1.0, 0.0, 0.0, 1.0] }, 0.4).len(), 2);
    assert!(lines(&Grid { rows: 2, columns: 2, data: vec![1.0, f64::NAN, 0.0, 1.0] }, 0.4).is_empty());
}

fn texts(range: (f64, f64), log: bool) -> (String, String) {
    let t = Axis::new(range, log, (0.0, 100.0)).ticks(5);
    (t.at.iter().map(|t| t.1.as_str()).collect::<Vec<_>>().join(" "), t.note)
}

#[test]
fn ticks_are_round() {
    for (range, log, want, note) in [
        ((0.0, 1.0), false, "0.0 0.2 0.4 0.6 0.8 1.0", ""),
        ((-10.0, 10.0), false, "−10 −5 0 5 10", ""),
        ((0.0, 2.5e7), false, "0.0 0.5 1.0 1.5 2.0 2.5", "×10⁷"),
        ((1e9, 1e9 + 4.0), false, "0 1 2 3 4", "+ 1·10⁹"),
        ((0.001, 1000.0), true, "0.01 1 100", ""),
        ((1e-12, 1.0), true, "10⁻¹² 10⁻⁹ 10⁻⁶ 0.001 1", ""),
        ((1.0, 30.0), true, "1 2 5 10 20", ""),
        ((5.0, 5.0), false, "4.8 4.9 5.0 5.1 5.2", ""),
    ] {
        assert_eq!(texts(range, log), (want.to_owned(), note.to_owned()), "{range:?}");
    }
}

#[test]
fn strange_ranges_have_ticks_inside() {
    for range in [
        (0.0, 5e-324),
        (-1.7e308, 1.7e308),
        (1.0, 1.0 + 1e-16),
        (f64::NAN, 1.0),
        (1e-308, 1e308),
        (-0.0, 0.0),
        (3e-300, 4e-300),
    ] {
        for log in [false, true] {
            let axis = Axis::new(range, log, (0.0, 100.0));
            for room in [2, 5, 12] {
                let t = axis.ticks(room);
                assert!((1..45).contains(&t.at.len()), "{range:?} {log} {t:?}");
                for (v, _) in &t.at {
                    assert!(axis.at(*v).is_some_and(|p| (-1.0..=101.0).contains(&p)), "{range:?} {log} {v}");
                }
            }
        }
    }
}

/// The contrast of two colours as defined by WCAG 2.
fn contrast(a: Colour, b: Colour) -> f64 {
    let linear = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = |c: Colour| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2);
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn adaptive_colours_can_be_read_on_white_and_on_nearly_black() {
    let ink = Theme::Adaptive.ink();
    for ground in [WHITE, DARK_PAGE] {
        assert!(contrast(ink.ink, ground) > 4.0 && contrast(ink.soft, ground) > 4.0);
        for (name, _) in NAMED {
            let c = Theme::Adaptive.named(name).unwrap();
            assert!(contrast(c, ground) >= 3.0, "{name} on {}: {}", ground.hex(), contrast(c, ground));
        }
    }
}

#[test]
fn base64_as_in_its_rfc() {
    for (text, want) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
    {
        assert_eq!(base64(text.as_bytes()), want);
    }
}

#[test]
fn numbers_are_short_and_text_is_escaped() {
    assert_eq!([num(1.0), num(0.126), num(-0.001), num(f64::NAN)], ["1", "0.13", "0", "0"]);
    assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
}

#[test]
fn sixels_are_rows_of_six_pixels() {
    let text = sixel(5, 2, &[255; 30]);
    assert!(text.starts_with("\x1bPq\"1;1;5;2#0;2;0;0;0#1;2;0;0;20"), "{text:?}");
    assert!(text.ends_with("#215!5B$-\x1b\\"), "{text:?}");
}

#[test]
fn kitty_takes_pieces() {
    let text = kitty(&"A".repeat(PIECE + 1));
    assert!(text.starts_with("\x1b_Ga=T,f=100,m=1;AAAA") && text.ends_with("A\x1b\\\x1b_Gm=0;A\x1b\\"));
}

#[test]
fn curves_keep_their_shape_in_bounded_memory() {
    let mut live = Live::default();
    assert!(live.watch("loss", 1e6).is_some(), "the first is drawn at once");
    for k in 1..1_000_000 {
        live.watch("loss", 1e6 - f64::from(k));
    }
    assert!(live.kept() <= MOST);
    let last = live.finish().map(|f| f.text(60, 12, false)).unwrap_or_default();
    assert!(last.contains("step ×10⁶") && last.contains("━ loss"), "{last}");
    assert!(live.finish().is_none());
}

#[test]
fn without_a_viewer_the_last_is_drawn() {
    let mut live = Live::unseen();
    let figure = Figure::of(Chart::default());
    assert!(live.show(figure.clone()).is_none() && live.watch("a", 1.0).is_none() && live.show(figure).is_none());
    assert!(live.finish().is_some() && live.finish().is_none() && live.watch("a", 1.0).is_none());
}
