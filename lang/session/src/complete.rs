//! Names in scope, for completion, `:env` and `:doc`.

use crate::Session;
use adl_prim::{Prim, Typing};

/// A name that fits.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The whole name.
    pub text: String,
    /// Its type.
    pub ty: String,
}

impl Session {
    /// Names that begin with a prefix (`optim.ad` looks into a module).
    pub fn complete(&mut self, prefix: &str) -> Vec<Completion> {
        let mut out: Vec<Completion> = Vec::new();
        if let Some((module, member)) = prefix.rsplit_once('.') {
            self.load_std(module);
            let env = self.std.get(module).cloned().or_else(|| self.env.modules.get(&adl_syntax::symbol::Symbol::new(module)).cloned());
            if let Some(env) = env {
                for (n, g) in env.values.iter().filter(|(n, _)| n.as_str().starts_with(member)) {
                    out.push(Completion { text: format!("{module}.{n}"), ty: self.type_text(&g.scheme) });
                }
            }
        } else {
            for (n, g) in self.env.values.clone().iter().filter(|(n, _)| n.as_str().starts_with(prefix)) {
                out.push(Completion { text: n.to_string(), ty: self.type_text(&g.scheme) });
            }
            for p in Prim::ALL.iter().filter(|p| p.name().starts_with(prefix) && p.name().starts_with(char::is_alphabetic)) {
                let (Typing::Scheme(t) | Typing::Elementwise(t) | Typing::Special(t)) = p.row().typing;
                out.push(Completion { text: p.name().into(), ty: t.into() });
            }
            out.extend(adl_std::MODULES.iter().filter(|(n, _)| n.starts_with(prefix)).map(|(n, _)| Completion { text: format!("{n}."), ty: "module".into() }));
        }
        out.sort_by(|a, b| a.text.cmp(&b.text));
        out.dedup_by(|a, b| a.text == b.text);
        out
    }

    /// The user's definitions with their types.
    pub fn listing(&self) -> Vec<Completion> {
        let mut out: Vec<Completion> = self.env.values.iter().map(|(n, g)| Completion { text: n.to_string(), ty: self.type_text(&g.scheme) }).collect();
        out.sort_by(|a, b| a.text.cmp(&b.text));
        out
    }

    /// Documentation of a name: its type, words and examples.
    pub fn doc(&mut self, name: &str) -> Option<String> {
        if let Some(p) = Prim::by_name(name) {
            let row = p.row();
            let (Typing::Scheme(t) | Typing::Elementwise(t) | Typing::Special(t)) = row.typing;
            let examples: Vec<String> = row.examples.iter().filter_map(|e| e.split_once(" => ")).map(|(e, w)| format!("\n>>> {e}\n{w}")).collect();
            return Some(format!("{name} : {t}\n\n{}\n{}", row.doc, examples.join("\n")));
        }
        let (module, member) = match name.rsplit_once('.') {
            Some((m, n)) => (Some(m), n),
            None => (adl_std::home(name), name),
        };
        let symbol = adl_syntax::symbol::Symbol::new(member);
        let found = match module {
            Some(m) => {
                self.load_std(m);
                self.std.get(m).and_then(|e| e.values.get(&symbol).cloned())
            }
            None => self.env.value(symbol).cloned(),
        }?;
        let ty = self.type_text(&found.scheme);
        Some(format!("{name} : {ty}\n\n{}", found.doc.as_deref().unwrap_or("(no documentation)")))
    }
}
