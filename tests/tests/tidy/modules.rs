//! Which modules of a crate use which, read from their paths with `syn`.
//!
//! A module uses another if a path in it leads there: in an import, or at the place of use. A re-export that its own
//! module does not use is not counted, and who goes through it uses what it leads to. So a module that only lists its
//! parts is in no cycle, and a parent is in one with a part that asks it for a type of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use syn::visit::{self, Visit};

/// Names of nested modules, from the root of the crate.
pub(crate) type ModulePath = Vec<String>;

/// A path that the code of a module has, in the module where it stands.
struct WrittenPath {
    at: ModulePath,
    segments: Vec<String>,
    /// What an import calls it.
    name: Option<String>,
    re_export: bool,
}

/// What the visitor finds in one file.
#[derive(Default)]
struct FileImports {
    at: ModulePath,
    paths: Vec<WrittenPath>,
    /// All names outside of imports.
    names: BTreeSet<String>,
}

impl FileImports {
    fn import(&mut self, tree: &syn::UseTree, prefix: &[String], re_export: bool) {
        let mut segments = prefix.to_vec();
        let (last, name) = match tree {
            syn::UseTree::Path(path) => {
                segments.push(path.ident.to_string());
                return self.import(&path.tree, &segments, re_export);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, prefix, re_export));
            }
            syn::UseTree::Name(name) => (Some(name.ident.to_string()), name.ident.to_string()),
            syn::UseTree::Rename(rename) => (Some(rename.ident.to_string()), rename.rename.to_string()),
            syn::UseTree::Glob(_) => (None, "*".to_owned()),
        };
        segments.extend(last.filter(|l| l != "self"));
        self.paths.push(WrittenPath { at: self.at.clone(), segments, name: Some(name), re_export });
    }

    /// The paths in the text of a macro's call.
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    colons = 0;
                    path.push(ident.to_string());
                }
                proc_macro2::TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                _ => colons = 0,
            }
        }
        self.path(path);
    }

    fn path(&mut self, segments: Vec<String>) {
        self.names.extend(segments.iter().cloned());
        if segments.len() > 1 {
            self.paths.push(WrittenPath { at: self.at.clone(), segments, name: None, re_export: false });
        }
    }
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|a| {
        a.path().is_ident("cfg") && matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for FileImports {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.at.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.import(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|s| s.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }
}

/// The modules of a crate, each with those that it uses.
pub(crate) struct Modules {
    uses: BTreeMap<ModulePath, BTreeSet<ModulePath>>,
}

impl Modules {
    /// The modules of the files of a crate: pairs of a path from `src/` and a text.
    pub(crate) fn of(files: &[(&str, &str)]) -> Modules {
        let mut found: BTreeMap<ModulePath, FileImports> = BTreeMap::new();
        for (file, text) in files {
            let at = module_of(Path::new(file));
            let mut of_file = FileImports { at: at.clone(), ..FileImports::default() };
            of_file.visit_file(&syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}")));
            found.insert(at, of_file);
        }
        let graph = Graph { found: &found, imports: imports(&found) };
        let uses = found.iter().map(|(at, of_file)| (at.clone(), graph.used_by(at, of_file))).collect();
        Modules { uses }
    }

    /// The modules, each with those that it uses.
    pub(crate) fn uses(&self) -> &BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        &self.uses
    }

    /// The sets of modules that reach each other, largest first.
    pub(crate) fn cycles(&self) -> Vec<Vec<ModulePath>> {
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            self.uses.keys().map(|m| (m, self.reached_from(m))).collect();
        let mut cycles: Vec<Vec<ModulePath>> = Vec::new();
        for (module, far) in &reached {
            let cycle: Vec<ModulePath> =
                far.iter().filter(|other| reached[**other].contains(module)).map(|m| (*m).clone()).collect();
            if cycle.len() > 1 && !cycles.contains(&cycle) {
                cycles.push(cycle);
            }
        }
        cycles.sort_by_key(|c| std::cmp::Reverse(c.len()));
        cycles
    }

    fn reached_from<'m>(&'m self, module: &'m ModulePath) -> BTreeSet<&'m ModulePath> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(next) = open.pop() {
            open.extend(self.uses[next].iter().filter(|m| reached.insert(*m)));
        }
        reached
    }
}

/// The name of a file's module.
pub(crate) fn module_of(file: &Path) -> ModulePath {
    let mut names: ModulePath =
        file.with_extension("").components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    names
}

/// What each module imports: the absolute path by name.
type Imports = BTreeMap<ModulePath, HashMap<String, ModulePath>>;

fn imports(found: &BTreeMap<ModulePath, FileImports>) -> Imports {
    let of = |f: &FileImports| {
        let named = f.paths.iter().filter_map(|p| Some((p.name.clone()?, absolute(found, p)?)));
        named.collect()
    };
    found.iter().map(|(at, f)| (at.clone(), of(f))).collect()
}

/// A path from the root of the crate, if it is one into this crate.
fn absolute(found: &BTreeMap<ModulePath, FileImports>, path: &WrittenPath) -> Option<ModulePath> {
    let mut base = path.at.clone();
    let mut segments = path.segments.as_slice();
    match segments.first()?.as_str() {
        "crate" => (base, segments) = (Vec::new(), &segments[1..]),
        "self" => segments = &segments[1..],
        "super" => {
            while segments.first().is_some_and(|s| s == "super") {
                base.pop();
                segments = &segments[1..];
            }
        }
        first => {
            base.push(first.to_owned());
            if !found.contains_key(&base) {
                return None;
            }
            segments = &segments[1..];
        }
    }
    base.extend_from_slice(segments);
    Some(base)
}

struct Graph<'f> {
    found: &'f BTreeMap<ModulePath, FileImports>,
    imports: Imports,
}

impl Graph<'_> {
    fn used_by(&self, at: &ModulePath, of_file: &FileImports) -> BTreeSet<ModulePath> {
        let counts = |p: &&WrittenPath| !p.re_export || p.name.as_ref().is_some_and(|n| of_file.names.contains(n));
        let paths = of_file.paths.iter().filter(counts);
        paths.filter_map(|p| self.leads_to(absolute(self.found, p)?, 0)).filter(|to| to != at).collect()
    }

    /// The module that has what an absolute path names, through imports on the way.
    fn leads_to(&self, path: ModulePath, through: usize) -> Option<ModulePath> {
        let depth = (0..=path.len()).rev().find(|n| self.found.contains_key(&path[..*n]))?;
        let (module, rest) = path.split_at(depth);
        match rest.split_first().and_then(|(name, rest)| Some((self.imports[module].get(name)?, rest))) {
            // A name may be that of an import and of something else: a chain of imports that goes round has no end.
            Some((to, rest)) if through < 8 => self.leads_to([to, rest].concat(), through + 1),
            _ => Some(module.to_vec()),
        }
    }
}
