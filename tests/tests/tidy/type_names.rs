//! Which types have the same name, and which names say nothing.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// Files that may define a type of the same name.
const MOST: usize = 2;

/// Words that are no name of a type, because they leave open what was made, known or stepped.
const EMPTY: [&str; 5] = ["Made", "Known", "Step", "Thing", "Stuff"];

/// The names of the types that a file defines. Associated types are no definitions.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let ident = match item {
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.0.extend(ident.map(ToString::to_string));
        syn::visit::visit_item(self, item);
    }
}

/// What is wrong with the names of types in files.
pub(crate) fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (file, code) in files {
        let mut names = Names::default();
        names.visit_file(&syn::parse_file(code).unwrap_or_else(|e| panic!("{file}: {e}")));
        names.0.into_iter().for_each(|name| defined.entry(name).or_default().push(file));
    }
    let wrong = defined.into_iter().filter(|(name, files)| files.len() > MOST || EMPTY.contains(&name.as_str()));
    wrong.map(|(name, files)| format!("`{name}` in {}", files.join(", "))).collect()
}
