//! The TextMate grammar, made of the lexer's tables: VS Code and others colour adl with it before the language server
//! answers.
//!
//! `editors/vscode/syntaxes/adl.tmLanguage.json` is this text. The test `textmate` fails when they differ, and
//! `UPDATE=1` writes the file.

use crate::render::quote;
use crate::token::{Kw, P};

/// Characters that begin and continue a name, as in [`crate::lexer::is_name_start`].
const START: &str = "[_\\p{L}\\p{Nl}∂∇]";
const CONTINUE: &str = "[_'\\p{L}\\p{Nl}\\p{Mn}\\p{Mc}\\p{Nd}\\p{Pc}∂∇₀-₉]";
/// Escapes in strings, as in the lexer.
const ESCAPE: &str = r#"\\(?:[ntr0e\\"'{}]|x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\}|$)"#;

/// Operators of other languages, which the lexer knows only for its messages.
const FOREIGN: [P; 6] = [P::StarStar, P::ColonEq, P::LtGt, P::Bang, P::Amp, P::Dollar];

/// The scope of a reserved word.
fn scope(kw: Kw) -> &'static str {
    match kw {
        Kw::If | Kw::Then | Kw::Else | Kw::Match | Kw::With | Kw::When | Kw::For | Kw::Loop | Kw::While | Kw::Do => {
            "keyword.control.adl"
        }
        Kw::Let | Kw::Rec | Kw::And | Kw::In | Kw::As | Kw::Fun | Kw::Lin | Kw::Type | Kw::Import => {
            "keyword.other.adl"
        }
        Kw::True | Kw::False => "constant.language.adl",
    }
}

/// A rule for a regular expression.
fn rule(scope: &str, pattern: &str) -> String {
    format!("{{\"name\":{},\"match\":{}}}", quote(scope), quote(pattern))
}

/// A rule for what stands between two marks.
fn between(scope: &str, begin: &str, end: &str, inside: &[String]) -> String {
    let (begin, end) = (quote(begin), quote(end));
    format!("{{\"name\":{},\"begin\":{begin},\"end\":{end},\"patterns\":[{}]}}", quote(scope), inside.join(","))
}

/// A text in which the characters of regular expressions stand for themselves.
fn literal(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() }).collect()
}

/// Words, bounded by what is not a name.
fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = words.collect();
    format!("(?<!{CONTINUE})(?:{})(?!{CONTINUE})", all.join("|"))
}

fn keywords() -> Vec<String> {
    let scopes = ["keyword.control.adl", "keyword.other.adl", "constant.language.adl"];
    let of = |s: &str| Kw::ALL.into_iter().filter(|k| scope(*k) == s).map(Kw::text).collect::<Vec<_>>();
    scopes.map(|s| rule(s, &words(of(s).into_iter()))).into()
}

fn operators() -> String {
    let all = P::ALL.into_iter().filter(|p| !p.is_bracket() && !FOREIGN.contains(p) && *p != P::Dot);
    let all: Vec<String> = all.map(|p| literal(p.text())).collect();
    rule("keyword.operator.adl", &all.join("|"))
}

fn strings() -> Vec<String> {
    let escape = || rule("constant.character.escape.adl", ESCAPE);
    let brace = rule("constant.character.escape.adl", "\\{\\{|\\}\\}");
    let inside = between("meta.embedded.adl", "\\{", "\\}", &["{\"include\":\"$self\"}".to_owned()]);
    let start = format!("(?<!{CONTINUE})f\"");
    vec![
        between("string.quoted.double.interpolated.adl", &start, "\"", &[escape(), brace, inside]),
        between("string.quoted.double.adl", "\"", "\"", &[escape()]),
    ]
}

fn comments() -> Vec<String> {
    let nested = "{\"include\":\"#block\"}".to_owned();
    let block = between("comment.block.adl", "\\(\\*(?!\\))", "\\*\\)", &[nested]);
    let shebang = rule("comment.line.shebang.adl", "\\A#!.*$");
    vec![
        shebang,
        rule("comment.line.documentation.adl", "--\\|.*$"),
        rule("comment.line.double-dash.adl", "--.*$"),
        block,
    ]
}

fn numbers() -> Vec<String> {
    let radix = "0[xX][0-9a-fA-F][0-9a-fA-F_]*|0[oO][0-7][0-7_]*|0[bB][01][01_]*";
    let decimal = "[0-9][0-9_]*(?:\\.(?!\\.|[_\\p{L}])[0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?(?:f32)?";
    vec![rule("constant.numeric.adl", &format!("(?<!{CONTINUE})(?:{radix}|{decimal})(?!{CONTINUE})"))]
}

fn names() -> Vec<String> {
    let defined = format!(
        "{{\"match\":{},\"captures\":{{\"1\":{{\"name\":\"keyword.other.adl\"}},\"2\":{{\"name\":\"entity.name.function.adl\"}}}}}}",
        quote(&format!("(?<!{CONTINUE})((?:let|and)(?:\\s+rec)?)\\s+(?!rec{CONTINUE}*\\b)([_\\p{{Ll}}]{CONTINUE}*)"))
    );
    let item = "^(?:test|bench)(?=\\s+\")|(?<=type)\\s+alias(?!['_\\p{L}\\p{Nd}])";
    vec![
        rule("keyword.other.adl", item),
        defined,
        rule("entity.name.type.adl", &format!("(?<!{CONTINUE})\\p{{Lu}}{CONTINUE}*")),
        rule("variable.other.adl", &format!("{START}{CONTINUE}*")),
    ]
}

/// The grammar as JSON.
pub fn grammar() -> String {
    let block = between("comment.block.adl", "\\(\\*(?!\\))", "\\*\\)", &["{\"include\":\"#block\"}".to_owned()]);
    let all: Vec<String> =
        [comments(), strings(), numbers(), names_after_keywords(), vec![operators()]].into_iter().flatten().collect();
    format!(
        "{{\"name\":\"adl\",\"scopeName\":\"source.adl\",\"fileTypes\":[\"adl\"],\n\"patterns\":[\n{}\n],\n\"repository\":{{\"block\":{block}}}}}\n",
        all.join(",\n")
    )
}

/// Definitions first, because they begin with a reserved word.
fn names_after_keywords() -> Vec<String> {
    let mut names = names();
    let rest = names.split_off(2);
    names.into_iter().chain(keywords()).chain(rest).collect()
}
