//! Notebook parameters: a cell tagged `injected-parameters` after the one tagged `parameters`, as papermill writes it.

use adl_session::Session;
use serde_json::{Value as Json, json};

const DEFAULTS: &str = "parameters";
const INJECTED: &str = "injected-parameters";

/// `name=value` from the command line.
#[derive(Clone, Debug)]
pub struct Parameter {
    name: String,
    /// An expression.
    pub value: String,
}

impl std::str::FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Parameter, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("expected name=value, found `{text}`"))?;
        let name = name.trim();
        let starts = name.starts_with(|c: char| c.is_lowercase() || c == '_');
        let reserved = adl_syntax::token::Kw::from_name(name).is_some();
        if !starts || reserved || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\'')) {
            return Err(format!("`{name}` is not a name that can be defined"));
        }
        Ok(Parameter { name: name.to_owned(), value: expression(value.trim()) })
    }
}

/// The value as an adl expression. A number, `true`, `false`, `nan`, `inf`, `None`, or a text that begins with a quote
/// or bracket is an expression; anything else becomes a String.
fn expression(value: &str) -> String {
    let word = matches!(value.trim_start_matches('-'), "true" | "false" | "nan" | "inf" | "None");
    if word || is_number(value) || value.starts_with(['"', '(', '[', '{']) {
        value.to_owned()
    } else {
        adl_syntax::render::quote(value)
    }
}

fn is_number(text: &str) -> bool {
    text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
        && text.replace('_', "").parse::<f64>().is_ok()
}

/// The index of the first cell with a tag.
fn tagged(cells: &[Json], tag: &str) -> Option<usize> {
    cells.iter().position(|c| c["metadata"]["tags"].as_array().is_some_and(|tags| tags.iter().any(|t| t == tag)))
}

/// Inserts the cell of parameters into a notebook, or replaces an existing one; returns its index.
pub fn inject(book: &mut Json, parameters: &[Parameter]) -> Result<usize, String> {
    let with_id = book["nbformat_minor"].as_u64().is_some_and(|n| n >= 5);
    let Some(cells) = book["cells"].as_array_mut() else { return Err("it has no cells".into()) };
    let defaults = tagged(cells, DEFAULTS);
    if let Some(i) = defaults {
        known(&crate::notebook::joined(&cells[i]["source"]), parameters)?;
    }
    let mut cell = json!({"cell_type": "code", "execution_count": null, "metadata": {"tags": [INJECTED]}, "outputs": [], "source": source(parameters)});
    if with_id {
        cell["id"] = json!(INJECTED);
    }
    Ok(match tagged(cells, INJECTED) {
        Some(i) => {
            cells[i] = cell;
            i
        }
        None => {
            let i = defaults.map_or(0, |i| i + 1);
            cells.insert(i, cell);
            i
        }
    })
}

/// The lines of the cell.
pub fn source(parameters: &[Parameter]) -> Json {
    let lines: Vec<String> = parameters.iter().map(|p| format!("let {} = {}", p.name, p.value)).collect();
    let text = format!("-- Parameters\n{}", lines.join("\n"));
    json!(text.split_inclusive('\n').collect::<Vec<_>>())
}

/// Checks that every parameter is defined in the cell of defaults.
fn known(defaults: &str, parameters: &[Parameter]) -> Result<(), String> {
    let word = |line: &str| {
        line.strip_prefix("let ").map(|rest| {
            rest.trim_start()
                .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'')))
                .next()
                .unwrap_or("")
                .to_owned()
        })
    };
    let names: Vec<String> = defaults.lines().filter_map(word).collect();
    match parameters.iter().find(|p| !names.contains(&p.name)) {
        Some(p) => Err(format!(
            "it has no parameter `{}`; its parameters are {}",
            p.name,
            names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        )),
        None => Ok(()),
    }
}

/// Compares the types of parameters with those of their defaults, if these have run. An Int is converted if the default
/// is a Float.
pub fn typed(parameters: &mut [Parameter], s: &mut Session) -> Result<(), String> {
    for p in parameters {
        let Ok(wanted) = s.type_of(&p.name) else { continue };
        let found = s.type_of(&p.value).map_err(|d| {
            format!("the value of parameter `{}`: {}", p.name, d.first().map_or("", |d| d.message.as_str()))
        })?;
        if is_number(&p.value) && wanted == "Float" && found == "Int" {
            p.value += ".0";
        } else if sizeless(&wanted) != sizeless(&found) {
            return Err(format!("parameter `{}` has type {wanted}, but `{}` has type {found}", p.name, p.value));
        }
    }
    Ok(())
}

/// A type without array sizes.
pub fn sizeless(ty: &str) -> String {
    ty.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect::<Vec<_>>().join("[]")
}
