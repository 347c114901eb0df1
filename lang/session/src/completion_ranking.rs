//! Orders completion candidates by how well their types fit at the cursor.
//!
//! The rest of an entry is unknown. So each candidate is inserted, and the text is completed in the shortest way that
//! parses; then the type checker decides whether it fits. A function that would fit once it is applied comes second.
//! [`called`] finds the function in whose argument the cursor is.

use crate::Session;
use crate::complete::Completion;
use crate::limits::completion_ranking::{LONG, MORE, MOST};
use adl_syntax::diag::Diagnostic;
use adl_syntax::highlight::Class;
use adl_typing::env::Env;

/// An expression of any type.
const ANY: &str = "(error \"\")";
/// Endings that complete an expression inside an unfinished construct.
pub const ENDS: [&str; 6] = [
    "",
    " then error \"\" else error \"\"",
    " in error \"\"",
    " -> error \"\"",
    " do error \"\"",
    " with _ -> error \"\"",
];

/// Said of a name that the entry binds, where its type is not known.
pub const OF_ENTRY: &str = "in this entry";

/// How a candidate fits; the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FitQuality {
    Itself,
    Applied,
    No,
}

impl Session {
    /// Moves candidates whose types fit at the end of `before` to the front, among them the user's own names first.
    /// `start`: where the name begins.
    pub fn order_by_type(&mut self, before: &str, start: usize, found: &mut Vec<Completion>) {
        if before.len() > LONG || found.len() < 2 || found.len() > MOST {
            return;
        }
        if let Some(order) = self.fits(&before[..start], found) {
            let mut ranked: Vec<(_, Completion)> = order.into_iter().zip(std::mem::take(found)).collect();
            ranked.sort_by_key(|(key, _)| *key);
            found.extend(ranked.into_iter().map(|(_, c)| c));
        }
    }

    /// Makes names known by their declarations or types alone, in the place of those before: for a session that completes what another one runs.
    pub fn assume<'a>(&mut self, names: impl Iterator<Item = &'a Completion>) {
        let (types, values): (Vec<&Completion>, Vec<&Completion>) = names.partition(|c| c.ty == "type");
        let declared = types.into_iter().map(|c| c.doc.clone());
        let mut texts: Vec<String> = declared.chain(values.into_iter().filter_map(assumed)).collect();
        let mut env = Env { base: self.env.base.clone(), ..Env::default() };
        let all = self.guarded(|s| {
            // Declarations come in no order: those that need others wait for them.
            let mut left = texts.len() + 1;
            while texts.len() < left {
                left = texts.len();
                texts.retain(|text| s.assuming(&env, text).map(|more| env = more).is_none());
            }
            env
        });
        if let Ok(env) = all {
            self.env = env;
        }
    }

    /// An environment with what a text defines, if that is right.
    fn assuming(&mut self, env: &Env, text: &str) -> Option<Env> {
        let sources = self.sources.clone();
        let file = self.new_source(|s| s.add("<assumed>", text));
        let (program, _) = adl_syntax::parse(file, text);
        let checked = program.items.first().map(|item| self.check(env, item, true));
        self.machine.sources = sources.clone();
        self.sources = sources;
        checked.filter(|c| !c.diags.iter().any(Diagnostic::is_error)).map(|c| c.env)
    }

    /// For each candidate, how it fits and whether it is another's; `None` where nothing can be said.
    fn fits(&mut self, head: &str, found: &mut [Completion]) -> Option<Vec<(FitQuality, bool)>> {
        // A command's argument is an expression.
        let head = if head.starts_with(':') { head.split_once(' ')?.1 } else { head };
        let close = closers(head);
        let end = ENDS.iter().map(|e| format!("{e}{close}")).find(|end| parses(&format!("{head}{ANY}{end}")))?;
        // In `2.0 * (f x` the function may need more arguments.
        let end = (0..=MORE)
            .map(|n| format!("{}{end}", format!(" {ANY}").repeat(n)))
            .find(|end| self.checks(&format!("{head}{ANY}{end}")))?;
        for c in found.iter_mut().filter(|c| c.ty == OF_ENTRY) {
            c.ty = self.local_type(head, &c.text, &end).unwrap_or_else(|| OF_ENTRY.to_owned());
        }
        Some(found.iter().map(|c| (self.fit(head, c, &end), !c.own)).collect())
    }

    fn fit(&mut self, head: &str, c: &Completion, end: &str) -> FitQuality {
        let arguments = match c.ty.as_str() {
            "keyword" | "module" | "type" => return FitQuality::No,
            "constructor" | OF_ENTRY => 1,
            ty => arrows(ty),
        };
        if self.checks(&format!("{head}{}{end}", c.text)) {
            return FitQuality::Itself;
        }
        let applied = || format!("{head}({}{}){end}", c.text, format!(" {ANY}").repeat(arguments));
        if arguments > 0 && self.checks(&applied()) { FitQuality::Applied } else { FitQuality::No }
    }

    /// The type of a name that the entry itself binds.
    fn local_type(&mut self, head: &str, name: &str, end: &str) -> Option<String> {
        // What is applied to it takes any type, so that the entry is right whatever it is.
        let before = format!("{head}((fun _ -> error \"\") ");
        self.type_at(&format!("{before}{name}){end}"), before.len()..before.len() + name.len())
    }

    /// Whether a text has a type.
    fn checks(&mut self, text: &str) -> bool {
        let probe = self.probe(text);
        probe.ty.is_some() && probe.errors.is_empty()
    }
}

/// A definition of a value by its type.
fn assumed(c: &Completion) -> Option<String> {
    let ty = c.ty.replace(" -o ", " -> ");
    let parameters = " _".repeat(arrows(&ty));
    let body = if parameters.is_empty() { ANY.to_owned() } else { format!("fun{parameters} -> {ANY}") };
    (c.text.starts_with(|c: char| c.is_lowercase() || c == '_') && c.ty != "module")
        .then(|| format!("let {} : {ty} = {body}", c.text))
}

fn parses(text: &str) -> bool {
    let (_, diags) = adl_syntax::parse(Default::default(), text);
    !diags.iter().any(Diagnostic::is_error)
}

/// The closing brackets for all open ones.
pub fn closers(text: &str) -> String {
    let mut open = Vec::new();
    for (range, class) in adl_syntax::tokens(text) {
        match &text[range] {
            "(" => open.push(')'),
            "[" => open.push(']'),
            "{" => open.push('}'),
            _ if class == Class::Bracket => drop(open.pop()),
            _ => {}
        }
    }
    open.iter().rev().collect()
}

/// The number of arguments in a function type.
fn arrows(ty: &str) -> usize {
    parameters(ty).len().saturating_sub(1)
}

/// The positions of the parameter types in the text of a function type, and of the result type.
pub fn parameters(ty: &str) -> Vec<std::ops::Range<usize>> {
    let (mut depth, mut start, mut out) = (0i32, 0, Vec::new());
    for (i, c) in ty.char_indices() {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        let rest = &ty[i..];
        if depth == 0 && rest.starts_with(" => ") {
            out.clear();
            start = i + 4;
        } else if depth == 0 && (rest.starts_with(" -> ") || rest.starts_with(" -o ")) {
            out.push(start..i);
            start = i + 4;
        }
    }
    out.push(start..ty.len());
    out
}

/// Whether a character may stand in a name or between its parts.
pub fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\'')
}

/// The function in whose argument the cursor is, and the index of that argument.
pub fn called(before: &str) -> Option<(&str, usize)> {
    let (mut depth, mut start, mut arguments) = (0usize, before.len(), Vec::new());
    for (range, class) in adl_syntax::tokens(before).into_iter().rev() {
        match &before[range.clone()] {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth == 0 => break,
            "(" | "[" | "{" => depth -= 1,
            "." => {}
            _ if depth == 0 && matches!(class, Class::Keyword | Class::Operator | Class::Bracket) => break,
            _ => {}
        }
        if depth == 0 {
            start = range.start;
            arguments.push(start);
        }
    }
    let application = &before[start..];
    let name = &application[..application.find(|c: char| !in_name(c))?];
    let applied = name.starts_with(|c: char| c.is_lowercase()) && application[name.len()..].starts_with(' ');
    // An argument begins after white space; `p.x` and `v[0]` are single arguments.
    let begun = arguments.iter().filter(|at| **at > start && before[..**at].ends_with(char::is_whitespace)).count();
    let nth = if before.ends_with(char::is_whitespace) { begun } else { begun.saturating_sub(1) };
    applied.then_some((name, nth))
}
