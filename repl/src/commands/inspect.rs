//! `adl cost` and `adl ir`: the cost of a function, and its compiled forms.

use super::{code_of, finish, read, report, shown, unreadable};
use crate::Global;
use crate::host::say;
use adl_interp::ir::derive::table;
use adl_interp::value::Value;
use adl_plotting::Theme;
use adl_session::Session;

/// A session in which a file has run.
fn loaded(global: &Global, file: &str) -> Result<Session, u8> {
    let bytes = read(file).map_err(|e| unreadable(global, file, &super::io_text(&e), None))?;
    // Output of the file is not part of the result.
    let mut s = super::batch_on(global, Box::new(crate::host::Terminal::new(Vec::new()).silent()), None);
    let out = s.run_file(shown(file), &bytes);
    if out.ok() { Ok(s) } else { Err(finish(global, &mut s, &out, None)) }
}

/// `adl cost FILE NAME [ARGS]`: the cost of `NAME ARGS…` and its derivative with respect to the last argument.
pub fn cost(global: &Global, svg: Option<&str>, file: &str, name: &str, args: &[String]) -> u8 {
    let Some((last, first)) = args.split_last() else {
        return super::usage("`adl cost` needs the function's arguments: adl cost FILE NAME ARGS");
    };
    let mut session = match loaded(global, file) {
        Ok(s) => s,
        Err(code) => return code,
    };
    let first: String = first.iter().map(|a| format!(" ({a})")).collect();
    match session.value_of(&format!("cost ({name}{first}) ({last})")) {
        Ok(v) => {
            if let Some(path) = svg {
                return picture(global, path, &v);
            }
            let text = if global.json { table::cost_json(&v) } else { table::cost(&v) };
            say(&(text.unwrap_or_default() + "\n"));
            0
        }
        Err(diags) => {
            report(global, &mut session, &diags);
            code_of(&diags)
        }
    }
}

/// Writes a value as a picture; returns the exit code.
fn picture(global: &Global, path: &str, v: &Value) -> u8 {
    let Some(figure) = adl_plotting::picture(v) else { return 1 };
    let png = std::path::Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let bytes = if png { figure.png(Theme::Light, 2.0) } else { figure.svg(Theme::Light).into_bytes() };
    match super::write(path, bytes) {
        Ok(()) => 0,
        Err(e) => unreadable(global, path, &e, None),
    }
}

/// The stage that the flags of `adl ir` select.
pub fn stage(stage: String, after: Option<String>, timings: bool) -> String {
    if timings { "timings".to_owned() } else { after.map_or(stage, |pass| format!("after:{pass}")) }
}

/// `adl ir [--stage S|--after PASS|--timings] FILE NAME [ARGS]`.
pub fn ir(global: &Global, stage: &str, file: &str, name: &str, args: &[String]) -> u8 {
    let mut s = match loaded(global, file) {
        Ok(s) => s,
        Err(code) => return code,
    };
    match s.ir(stage, name, args) {
        Ok(text) => {
            say(&(text.trim_end().to_owned() + "\n"));
            0
        }
        Err(diags) => {
            report(global, &mut s, &diags);
            code_of(&diags)
        }
    }
}
