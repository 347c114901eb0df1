//! The names defined after a cell, as text. Completion and inspection read it while the next cell runs.

use adl_session::complete::Completion;
use adl_session::{Echo, Session};
use adl_typing::core::GlobalId;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The nesting depth to which fields of records are listed.
const DEPTH: usize = 4;

/// A name of the user.
#[derive(Debug, Default)]
pub struct Name {
    /// Its type, or its category.
    pub ty: String,
    /// The first sentence about it, or its declaration.
    pub about: String,
    /// Its documentation with its type and examples.
    pub doc: String,
    /// Its source.
    pub source: Option<String>,
    /// Its value on one line, abridged; empty for functions.
    pub value: String,
    /// The fields of its type or the members of the module, with full paths.
    pub members: Vec<Completion>,
}

/// All names of the user.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    names: BTreeMap<String, Arc<Name>>,
    ids: HashMap<String, GlobalId>,
    /// How many there were before.
    pub version: u64,
}

impl Snapshot {
    /// The current names. Unchanged definitions are copied from the previous snapshot.
    pub fn of(session: &mut Session, before: &Snapshot) -> Snapshot {
        let mut out = Snapshot { version: before.version + 1, ..Snapshot::default() };
        let values: Vec<(String, GlobalId)> = session
            .env
            .values
            .iter()
            .map(|(n, g)| (n.to_string(), g.id))
            .filter(|(n, _)| !n.starts_with("__"))
            .collect();
        for (name, id) in values {
            let known = before.names.get(&name).filter(|_| before.ids.get(&name) == Some(&id));
            let entry = known.cloned().unwrap_or_else(|| Arc::new(value(session, &name)));
            out.ids.insert(name.clone(), id);
            out.names.insert(name, entry);
        }
        let modules: Vec<String> = session.env.modules.keys().map(ToString::to_string).collect();
        for c in session.own_names().into_iter().filter(|c| c.text.starts_with(char::is_uppercase) && c.ty != "module")
        {
            let name =
                Name { doc: session.doc(&c.text).unwrap_or_default(), about: c.doc, ty: c.ty, ..Name::default() };
            out.names.insert(c.text, Arc::new(name));
        }
        for m in modules {
            let members = session.complete(&format!("{m}."));
            out.names.insert(m, Arc::new(Name { ty: "module".into(), members, ..Name::default() }));
        }
        out
    }

    /// The values of the user, by name; neither functions nor types.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Name)> {
        self.names.iter().filter(|(_, n)| !n.value.is_empty()).map(|(name, n)| (name.as_str(), &**n))
    }

    /// A name.
    pub fn get(&self, name: &str) -> Option<&Name> {
        self.names.get(name).map(|n| &**n)
    }

    /// Names that begin with a prefix, or members if the prefix is a path. `None` if the path begins with none of these
    /// names.
    pub fn complete(&self, prefix: &str) -> Option<Vec<Completion>> {
        match prefix.split_once('.') {
            Some((head, _)) => {
                let depth = prefix.matches('.').count();
                let fits = |c: &&Completion| c.text.starts_with(prefix) && c.text.matches('.').count() == depth;
                Some(self.get(head)?.members.iter().filter(fits).cloned().collect())
            }
            None => {
                let text = |n: &str, what: &Name| if what.ty == "module" { format!("{n}.") } else { n.to_owned() };
                let completion = |(n, what): (&String, &Arc<Name>)| Completion {
                    text: text(n, what),
                    ty: what.ty.clone(),
                    doc: what.about.clone(),
                    own: true,
                };
                Some(
                    self.names
                        .range(prefix.to_owned()..)
                        .take_while(|(n, _)| n.starts_with(prefix))
                        .map(completion)
                        .collect(),
                )
            }
        }
    }
}

fn value(session: &mut Session, name: &str) -> Name {
    let g = session.env.value(adl_syntax::symbol::Symbol::new(name)).cloned();
    let ty = g.as_ref().map_or(String::new(), |g| session.type_text(&g.scheme));
    let about = g.and_then(|g| g.doc).map_or(String::new(), |d| adl_session::docs::summary(&d).to_owned());
    let mut members = Vec::new();
    // Only records and matrices have members.
    if ty.contains(['{', '[']) {
        let mut level = vec![name.to_owned()];
        for _ in 0..DEPTH {
            let found: Vec<Completion> = level.iter().flat_map(|p| session.complete(&format!("{p}."))).collect();
            level = found.iter().filter(|c| c.ty.starts_with('{')).map(|c| c.text.clone()).collect();
            members.extend(found);
        }
    }
    let value = if ty.contains("->") || ty.contains("-o") { String::new() } else { shown(session, name, &ty) };
    Name { about, value, doc: session.doc(name).unwrap_or_default(), source: session.source_of(name), ty, members }
}

/// The longest text of a value.
const LONG: usize = 200;

/// A value on one line, without its type.
fn shown(session: &mut Session, name: &str, ty: &str) -> String {
    let of = session.env.value(adl_syntax::symbol::Symbol::new(name)).map(|g| g.scheme.ty.clone());
    let Ok(shown) = session.value_of(name) else { return String::new() };
    let line = Echo { name: None, called: None, ty: ty.to_owned(), of, shown }.line();
    let value = line.strip_suffix(&format!(" : {ty}")).unwrap_or(&line);
    let cut: String = value.chars().take(LONG).collect();
    if cut.len() < value.len() { cut + " …" } else { cut }
}
