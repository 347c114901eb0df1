//! Module `plot` from the program to the file: what is in it, and what is refused.

use crate::pictures::session;
use adl_interp::value::Value;
use adl_plotting::{Figure, Theme, picture};
use adl_tests::echo_in;

fn echo(text: &str) -> String {
    echo_in(&mut session().0, text)
}

fn value(text: &str) -> Value {
    let (mut s, _) = session();
    s.value_of(text).unwrap_or_else(|d| panic!("{text}: {}", d[0].message))
}

fn figure(text: &str) -> Figure {
    picture(&value(text)).unwrap_or_else(|| panic!("{text} has no picture"))
}

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

/// The part of a picture that is of a class.
fn group<'s>(svg: &'s str, class: &str) -> &'s str {
    let from = svg.find(&format!("<g class=\"{class}\">")).unwrap_or_else(|| panic!("no {class} in {svg}"));
    &svg[from..from + svg[from..].find("</g>").unwrap_or(0)]
}

#[test]
fn marks_are_as_many_as_the_data() {
    for (text, class, element, marks) in [
        ("plot.line [0, 1, 2] [1.0, 4.0, 2.0]", "line", "<path", 1),
        ("plot.line [0.0, 1.0, 2.0, 3.0, 4.0] [1.0, 2.0, nan, 4.0, 5.0]", "line", "<path", 2),
        ("plot.bars [\"a\", \"b\", \"c\"] [3, 5, 2]", "bars", "<rect", 3),
        ("plot.hist 4 [0.0, 1.0, 2.0, 3.0, 4.0]", "hist", "<rect", 4),
        ("plot.heatmap [[1, 2, 3], [4, 5, 6]]", "heatmap", "<rect", 6),
        ("plot.quiver [0, 1] [0, 1] [1.0, 0.0] [0.0, 1.0]", "quiver", "Z\"", 2),
        ("plot.surface [0, 1, 2] [0, 1] [[0.0, 1.0, 0.0], [1.0, 2.0, 1.0]]", "surface", "Z\"", 2),
        ("plot.spectrum [[2.0, 0.0], [0.0, -1.0]]", "stem", "<path", 4),
        ("plot.area [0, 1, 2] [1, 4, 1]", "area", "fill-opacity", 1),
        ("plot.band [0, 1] [0.5, 3.5] [1.5, 4.5]", "band", "<path", 1),
        ("plot.box \"a\" [1.0, 2.0, 3.0, 4.0, 100.0]", "box", "stroke-linecap", 1),
    ] {
        let svg = figure(text).svg(Theme::Light);
        assert_eq!(count(group(&svg, class), element), marks, "{text}:\n{svg}");
    }
}

#[test]
fn points_stand_where_their_numbers_say() {
    // Limits leave no air: the axes' ends are 0 and 10.
    let text = "plot.scatter [0, 10, 5] [0, 10, 5] |> plot.x_limits 0.0 10.0 |> plot.y_limits 0.0 10.0";
    let svg = figure(text).svg(Theme::Light);
    let dots = group(&svg, "scatter").split("d=\"M").nth(1).and_then(|d| d.split('"').next()).unwrap_or("");
    let at: Vec<f64> = dots.split(['M', ' ', 'h']).filter_map(|n| n.parse().ok()).collect();
    let [x0, y0, _, x1, y1, _, x2, y2, ..] = at[..] else { panic!("{dots}") };
    assert!((x2 - (x0 + x1) / 2.0).abs() < 0.02 && (y2 - (y0 + y1) / 2.0).abs() < 0.02 && x1 > x0 && y1 < y0, "{at:?}");
}

#[test]
fn words_are_there_and_escaped() {
    let text = "plot.line_y [1.0, 2.0] |> plot.name \"a < b\" |> plot.title \"T & U\" |> plot.x_label \"steps\" |> plot.y_label \"loss\"";
    for theme in [Theme::Light, Theme::Dark] {
        let svg = figure(text).svg(theme);
        for want in
            [">a &lt; b</text>", ">T &amp; U</text>", ">steps</text>", ">loss</text>", "<title>T &amp; U</title>"]
        {
            assert!(svg.contains(want), "{want} in {svg}");
        }
    }
    assert_ne!(figure(text).svg(Theme::Light), figure(text).svg(Theme::Dark));
    assert_eq!(figure(&format!("{text} |> plot.dark")).svg(Theme::Light), figure(text).svg(Theme::Dark));
}

#[test]
fn adaptive_pictures_have_no_ground_of_their_own() {
    let text = "plot.line_y [1.0, 2.0] |> plot.title \"T\"";
    let ground = "<rect width=\"640\" height=\"400\"";
    assert!(figure(text).svg(Theme::Light).contains(ground) && !figure(text).svg(Theme::Adaptive).contains(ground));
    assert_eq!(figure(&format!("{text} |> plot.light")).svg(Theme::Adaptive), figure(text).svg(Theme::Light));
    // Colour type 6 of PNG: with opacity.
    assert_eq!((figure(text).png(Theme::Adaptive, 1.0)[25], figure(text).png(Theme::Light, 1.0)[25]), (6, 2));
    let cost = "cost (fun (v : [3]Float) -> sum (map sin v)) [1.0, 2.0, 3.0]";
    assert!(!figure(cost).svg(Theme::Adaptive).contains("fill=\"#ffffff\""));
}

#[test]
fn dashes_and_markers_go_together_in_either_order() {
    let line = "plot.line [0, 1, 2] [1.0, 4.0, 2.0] |> plot.name \"a\"";
    let svg = |options: &str| figure(&format!("{line} {options}")).svg(Theme::Light);
    let both = svg("|> plot.markers |> plot.dashed");
    assert_eq!(both, svg("|> plot.dashed |> plot.markers"));
    for class in ["line", "legend"] {
        let part = group(&both, class);
        assert!(part.contains("stroke-dasharray") && part.contains("stroke-linecap=\"round\""), "{part}");
    }
    assert!(!group(&svg("|> plot.dashed"), "line").contains("stroke-linecap"));
}

#[test]
fn a_scatter_of_many_points_shows_their_density() {
    let cloud =
        |n: usize| format!("plot.scatter (random.normal (random.key 1) [{n}]) (random.normal (random.key 2) [{n}])");
    let many = figure(&cloud(30_000)).svg(Theme::Light);
    assert!(many.contains(">density of 30,000 points</text>") && group(&many, "scatter").contains("<image"), "{many}");
    let few = figure(&cloud(8000)).svg(Theme::Light);
    assert!(!few.contains("density") && group(&few, "scatter").contains("<path"));
    assert!(figure(&cloud(30_000)).text(60, 16, false).contains('⣿'));
}

#[test]
fn a_function_is_sampled_where_it_bends() {
    let points = |f: &str| count(group(&figure(f).svg(Theme::Light), "line"), "L");
    let (straight, bent) =
        (points("plot.function (fun x -> 2.0 * x) 0.0 1.0"), points("plot.function (fun x -> sin (1.0 / x)) 0.02 1.0"));
    assert_eq!(straight, 64);
    assert!(bent > 300, "{bent}");
    let both = figure("plot.function sin 0.0 3.0 |> plot.with_grad").svg(Theme::Light);
    assert!(both.contains(">f</text>") && both.contains(">f'</text>") && both.contains("stroke-dasharray"));
}

#[test]
fn what_has_no_place_is_counted() {
    let svg = figure("plot.line_y [1.0, -1.0, 0.0, nan, 10.0] |> plot.log_y").svg(Theme::Light);
    assert!(svg.contains(">3 values are not drawn</text>"), "{svg}");
    assert!(figure("plot.line ([] : [0]Float) ([] : [0]Float)").svg(Theme::Light).contains(">no data</text>"));
}

#[test]
fn what_is_differentiated_is_drawn_too() {
    let (mut s, out) = session();
    assert!(s.eval("grad (fun x -> (plot.show (plot.line_y [x, 2.0 * x]); x * x)) 3.0").ok());
    assert!(out.borrow().contains("3 ┤") && out.borrow().contains("6 ┤"), "{}", out.borrow());
}

#[test]
fn png_has_the_size_that_was_asked_for() {
    for (text, w, h) in [("plot.line_y [1.0] |> plot.size 200 150", 400, 300), ("plot.line_y [1.0]", 1280, 800)] {
        let bytes = figure(text).png(Theme::Light, 2.0);
        let side = |at: usize| bytes[at..at + 4].iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
        assert_eq!((&bytes[..8], side(16), side(20)), (&b"\x89PNG\r\n\x1a\n"[..], w, h));
    }
}

#[test]
fn wrong_data_is_refused_in_words() {
    for (text, want) in [
        ("plot.line [1.0, 2.0] [1.0]", "E0301: [1]Float does not match [2]Float"),
        ("plot.line [1.0, 2.0] (filter (fun x -> x > 1.0) [1.0, 2.0])", "E0702"),
        ("plot.line_y \"text\"", "E0203"),
        ("plot.line_y [true]", "E02"),
        ("plot.save \"a.svg\" [1.0]", "E0805: this value"),
        ("plot.save \"a\" (plot.line_y [1.0])", "E0805: a: a picture is written as .svg, .png or .txt"),
        ("plot.facets 0 [plot.line_y [1.0]]", "E0706"),
        ("plot.line_y [1.0] |> plot.colour \"#12345\"", "E0706"),
    ] {
        let have = echo(text);
        assert!(have.starts_with(want), "{text}: {have}");
    }
    assert_eq!(echo("plot.line_y [1.0] |> plot.colour \"#12aBff\""), "<plot: line> : Plot");
}

#[test]
fn costs_and_residuals_have_pictures() {
    let source = "let f (x : Float) = loop y = x for i < 50 do\n  let a = sin y\n  a * exp a\n";
    let (mut session, _) = session();
    assert!(session.eval(source).ok());
    let cost = session.value_of("cost f 0.5").unwrap();
    let svg = picture(&cost).unwrap().svg(Theme::Light);
    for want in
        ["cost of f", "a * exp a", "let a = sin y", "primal", "tangent", "adjoint", "bytes stored", "the bound is"]
    {
        assert!(svg.contains(want), "{want} in {svg}");
    }
    assert!(picture(&cost).unwrap().text(80, 24, false).contains("a * exp a"));
    let residuals = session.value_of("residuals f 0.5").unwrap();
    let svg = picture(&residuals).unwrap().svg(Theme::Light);
    for want in ["plans for f", "now: store_all", "sqrt", "peak memory / bytes"] {
        assert!(svg.contains(want), "{want} in {svg}");
    }
    // Plans at one point have one name together, and the current plan is named once.
    let whole = session.value_of("residuals (fun (x : [50]Float) -> sum (map sin x)) (replicate 50 0.1)").unwrap();
    let svg = picture(&whole).unwrap().svg(Theme::Light);
    assert!(svg.contains("now: store_all, "), "{svg}");
    assert_eq!(svg.matches("store_all").count(), 1, "{svg}");
    assert!(picture(&Value::Int(1)).is_none());
}

/// The loss curve that the README links is what its example draws. `UPDATE=1` writes it.
#[test]
fn the_picture_of_the_readme_is_made_by_its_example() {
    let host = crate::pictures::host();
    let files = host.files.clone();
    let mut s = adl_session::Session::new(Box::new(host));
    let path = adl_tests::root().join("examples/training_plot.adl");
    let (out, _) = s.load_file(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
    assert!(out.ok(), "{:?}", out.diags);
    assert!(files.borrow().is_empty(), "no file was asked for");
    let v = s.value_of("picture").unwrap();
    let svg = picture(&v).unwrap().svg(Theme::Light);
    let file = adl_tests::root().join("docs/training.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &svg).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), svg);
}
