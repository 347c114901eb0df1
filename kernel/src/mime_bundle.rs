//! MIME bundles: a value in several media types, from which the front end chooses.

use crate::html;
use adl_interp::ir::derive::table;
use adl_interp::value::interactive::{self, Interactive};
use adl_interp::value::{Array, Buf, Value, digits, show};
use adl_plotting::{Figure, Theme};
use adl_session::Echo;
use serde_json::{Map, Value as Json, json};

/// The width of text.
const WIDTH: usize = 100;
/// The maximal number of rows and columns of a matrix typeset as a formula.
const SMALL: usize = 8;

/// The size in bytes of an SVG beyond which a bitmap is smaller.
const LARGE: usize = 300_000;
/// The size of a picture as text: columns and rows.
const TEXT: (usize, usize) = (72, 20);
/// The resolution of bitmaps relative to screen pixels.
const SCALE: f64 = 2.0;

/// Data and metadata of a picture. The SVG adapts to light and dark pages. The PNG is for LaTeX, and for pages that do
/// not display untrusted SVG.
pub fn picture(figure: &Figure) -> (Json, Json) {
    let (mut data, metadata) = frame(figure);
    if data.get("image/png").is_some() {
        return (data, metadata);
    }
    let (width, height) = figure.size();
    data["image/png"] = json!(data_encoding::BASE64.encode(&figure.png(Theme::Light, SCALE)));
    (data, json!({"image/png": {"width": width.round(), "height": height.round()}}))
}

/// Data and metadata of a picture that is soon replaced: only the medium that is fastest to produce.
pub fn frame(figure: &Figure) -> (Json, Json) {
    let svg = figure.svg(Theme::Adaptive);
    let text = figure.text(TEXT.0, TEXT.1, false);
    if svg.len() <= LARGE {
        return (json!({"text/plain": text, "image/svg+xml": svg}), json!({}));
    }
    let (width, height) = figure.size();
    let png = data_encoding::BASE64.encode(&figure.png(Theme::Adaptive, SCALE));
    (
        json!({"text/plain": text, "image/png": png}),
        json!({"image/png": {"width": width.round(), "height": height.round()}}),
    )
}

/// Data and metadata of a value that is soon replaced.
pub fn live(v: &Value, ty: &str) -> (Json, Json) {
    match adl_plotting::picture(v).filter(|_| table::of(v).is_none()) {
        Some(figure) => frame(&figure),
        None => shown(v, ty),
    }
}

/// An interactive value where its controls stand, below a line with its parameters.
fn at_start(i: &Interactive) -> (Json, Json) {
    let line = i.line(&i.start());
    let (mut data, metadata) = shown(&i.shown, "");
    if let Some(text) = data["text/plain"].as_str() {
        data["text/plain"] = json!(format!("{line}\n{text}"));
    }
    if let Some(html) = data.get("text/html").and_then(Json::as_str) {
        data["text/html"] = json!(format!("<div>{}</div>{html}", html::escape(&line)));
    }
    (data, metadata)
}

/// Data and metadata of a value, with its type if known.
pub fn shown(value: &Value, ty: &str) -> (Json, Json) {
    if let Some(i) = interactive::inside(value) {
        return at_start(&i);
    }
    if let Some(figure) = adl_plotting::picture(value).filter(|_| table::inside(value).is_none()) {
        let (mut data, metadata) = picture(&figure);
        // A cost is displayed as a table and as a picture.
        if let Some(text) = table::cost(value) {
            data["text/plain"] = json!(text);
        }
        return (data, metadata);
    }
    let mut data = Map::new();
    let text = if ty.is_empty() {
        show::show(value)
    } else {
        Echo { name: None, called: None, ty: ty.to_owned(), of: None, shown: value.clone() }.screen(WIDTH)
    };
    data.insert("text/plain".into(), json!(text));
    match matrix_for_formula(value) {
        Some(latex) => drop(data.insert("text/latex".into(), json!(latex))),
        None => data.extend(
            crate::residuals_control::still(value)
                .or_else(|| html::of(value, ty))
                .map(|h| ("text/html".into(), json!(h))),
        ),
    }
    (Json::Object(data), json!({}))
}

/// The bundle of an echo: definitions as text, values in all suitable media.
pub fn of(e: &Echo) -> (Json, Json) {
    match &e.name {
        // A named picture is displayed only when it is evaluated as an expression.
        Some(n) if adl_plotting::picture(&e.shown).is_some() => {
            (json!({"text/plain": format!("{n} : {}", e.ty)}), json!({}))
        }
        Some(_) => (json!({"text/plain": e.screen(WIDTH)}), json!({})),
        None => shown(&e.shown, &e.ty),
    }
}

/// A matrix small enough for a formula.
fn matrix_for_formula(v: &Value) -> Option<String> {
    let Value::Array(a) = v else { return None };
    let [rows, columns] = a.shape[..] else { return None };
    if rows == 0 || columns == 0 || rows > SMALL || columns > SMALL {
        return None;
    }
    let entries: Vec<String> = (0..rows * columns).map(|i| entry(a, i)).collect::<Option<_>>()?;
    let lines: Vec<String> = entries.chunks(columns).map(|r| r.join(" & ")).collect();
    Some(format!("$\\displaystyle \\begin{{bmatrix}}{}\\end{{bmatrix}}$", lines.join(r" \\ ")))
}

fn entry(a: &Array, i: usize) -> Option<String> {
    let text = match a.buf() {
        Buf::F64(v) => digits::rounded(*v.get(i)?),
        Buf::F32(v) => digits::rounded32(*v.get(i)?),
        Buf::I64(v) => v.get(i)?.to_string(),
        Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => return None,
    };
    let text = text.trim_end_matches("f32");
    Some(match (text, text.split_once('e')) {
        ("nan", _) => r"\mathrm{nan}".into(),
        ("inf", _) => r"\infty".into(),
        ("-inf", _) => r"-\infty".into(),
        (_, Some((m, e))) => format!(r"{m} \cdot 10^{{{e}}}"),
        (t, None) => t.to_owned(),
    })
}
