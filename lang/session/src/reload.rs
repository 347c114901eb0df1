//! Loads a file into a session, and reloads it: only changed items and those that depend on them run again.
//!
//! An item is kept if its text is unchanged, its order among the kept items is unchanged, and it mentions no name whose
//! meaning changed.

use crate::Session;
use crate::imports::RunStep;
use crate::item_words::{defined_names, words};
use crate::run::{CheckedText, Outcome};
use adl_syntax::ast;
use adl_syntax::symbol::Symbol;
use adl_typing::env::{Env, Global, TypeName};
use adl_typing::ty::DataDecl;
use std::collections::HashSet;
use std::rc::Rc;

/// A loaded file, item by item.
#[derive(Default)]
pub(crate) struct Loaded {
    pub name: String,
    items: Vec<LoadedItem>,
}

impl Loaded {
    /// Visits the values and modules that it bound.
    pub fn given(&self, value: &mut dyn FnMut(&Global), module: &mut dyn FnMut(&Rc<Env>)) {
        for i in &self.items {
            i.gives.values.iter().for_each(|g| value(&g.1));
            i.gives.modules.iter().for_each(|m| module(&m.1));
        }
    }
}

struct LoadedItem {
    text: String,
    names: Vec<Symbol>,
    gives: ItemBindings,
}

/// The bindings that an item added to the environment.
#[derive(Default, Clone)]
pub(crate) struct ItemBindings {
    pub values: Vec<(Symbol, Global)>,
    pub types: Vec<(Symbol, TypeName)>,
    cons: Vec<(Symbol, (Rc<DataDecl>, u32))>,
    modules: Vec<(Symbol, Rc<Env>)>,
}

impl ItemBindings {
    pub fn of(names: &[Symbol], env: &Env) -> ItemBindings {
        ItemBindings {
            values: names.iter().filter_map(|n| Some((*n, env.values.get(n)?.clone()))).collect(),
            types: names.iter().filter_map(|n| Some((*n, env.types.get(n)?.clone()))).collect(),
            cons: names.iter().filter_map(|n| Some((*n, env.cons.get(n)?.clone()))).collect(),
            modules: names.iter().filter_map(|n| Some((*n, env.modules.get(n)?.clone()))).collect(),
        }
    }

    pub fn put(&self, env: &mut Env) {
        for (n, x) in &self.values {
            env.values.insert_mut(*n, x.clone());
            env.broken.remove_mut(n);
        }
        self.types.iter().cloned().for_each(|(n, x)| env.types.insert_mut(n, x));
        self.cons.iter().cloned().for_each(|(n, x)| env.cons.insert_mut(n, x));
        self.modules.iter().cloned().for_each(|(n, x)| env.modules.insert_mut(n, x));
    }
}

/// Statistics of loading a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReloadCounts {
    /// Items that ran.
    pub ran: usize,
    /// Items that were kept.
    pub kept: usize,
}

/// Compares an old and a new text: which items may be kept, and which names changed their meaning.
struct Comparison {
    old: Rc<Loaded>,
    next: usize,
    changed: HashSet<String>,
}

impl Comparison {
    fn new(old: Rc<Loaded>, texts: &[String], changed: HashSet<String>) -> Comparison {
        let mut c = Comparison { old, next: 0, changed };
        // The names of removed items have changed their meaning.
        let there: HashSet<&str> = texts.iter().map(String::as_str).collect();
        let gone = c.old.items.iter().filter(|i| !there.contains(i.text.as_str())).flat_map(|i| &i.names);
        c.changed.extend(gone.map(Symbol::to_string));
        c
    }

    /// The old item that is kept for a text, if any.
    fn keep(&mut self, text: &str, names: &[Symbol]) -> Option<ItemBindings> {
        let found = self.old.items[self.next..].iter().position(|i| i.text == text).map(|k| self.next + k);
        if let Some(position) = found {
            // Skipped definitions count as removed: they come later, or are gone.
            let passed: Vec<String> =
                self.old.items[self.next..position].iter().flat_map(|i| &i.names).map(Symbol::to_string).collect();
            self.changed.extend(passed);
            self.next = position + 1;
            let mut reasons = words(text).map(str::to_owned).chain(names.iter().map(|n| format!("import {n}")));
            if !reasons.any(|w| self.changed.contains(&w)) {
                names.iter().for_each(|n| {
                    self.changed.remove(n.as_str());
                });
                return Some(self.old.items[position].gives.clone());
            }
        }
        self.changed.extend(names.iter().map(Symbol::to_string));
        None
    }
}

impl Session {
    /// Loads a file. Its definitions stay in scope, and it is registered for `:reload`. If it was loaded before, only
    /// the changes run.
    pub fn load_file(&mut self, name: &str, bytes: &[u8]) -> (Outcome, ReloadCounts) {
        let loaded = self.stoppable(|session| {
            let at = session.loaded.iter().position(|l| l.name == name);
            let old = at.map_or_else(Rc::default, |i| session.loaded[i].clone());
            let stale = session.drop_changed_imports(&old);
            session.remember(&format!(":load {name}"));
            let (out, counts, new) = session.load_over(name, bytes, old, stale);
            if new.is_some() {
                session.record_file(name, String::from_utf8_lossy(bytes).into_owned());
            } else {
                session.drop_last();
            }
            match (at, new.map(Rc::new)) {
                (Some(i), Some(new)) => session.loaded[i] = new,
                (None, Some(new)) => session.loaded.push(new),
                (_, None) => session.counts.failures += 1,
            }
            (out, counts)
        });
        loaded.unwrap_or_else(|d| (Outcome::of(*d), ReloadCounts::default()))
    }

    /// The names of the loaded files.
    pub fn loaded_files(&self) -> Vec<String> {
        self.loaded.iter().map(|l| l.name.clone()).collect()
    }

    /// Drops imported files whose text changed. Returns marks (`import NAME`) of the imports that must run again.
    fn drop_changed_imports(&mut self, old: &Loaded) -> HashSet<String> {
        let changed = self.changed_imports();
        let envs: Vec<Rc<Env>> =
            changed.iter().filter_map(|i| self.files.remove(i)).map(|m| m.env.borrow().clone()).collect();
        let modules = old.items.iter().flat_map(|i| &i.gives.modules);
        modules
            .filter(|(_, env)| envs.iter().any(|e| same_globals(e, env)))
            .map(|(n, _)| format!("import {n}"))
            .collect()
    }

    fn load_over(
        &mut self,
        name: &str,
        bytes: &[u8],
        old: Rc<Loaded>,
        stale: HashSet<String>,
    ) -> (Outcome, ReloadCounts, Option<Loaded>) {
        let (file, program, diags) = self.parse_bytes(name, bytes);
        let texts: Vec<String> = program.items.iter().map(|i| self.sources.text(i.span).to_owned()).collect();
        let mut compare = Comparison::new(old, &texts, stale);
        let mut checked = CheckedText::new(self.env.clone(), diags);
        let (mut items, mut counts) = (Vec::new(), ReloadCounts::default());
        self.in_file(name, |s| {
            for (item, text) in program.items.iter().zip(texts) {
                let names = defined_names(item);
                let gives = match compare.keep(&text, &names) {
                    Some(g) => {
                        g.put(&mut checked.env);
                        counts.kept += 1;
                        g
                    }
                    None => {
                        s.check_into(&mut checked, item, file);
                        counts.ran += usize::from(runs(item));
                        ItemBindings::of(&names, &checked.env)
                    }
                };
                items.push(LoadedItem { text, names, gives });
            }
        });
        let mut out = Outcome { diags: std::mem::take(&mut checked.diags), ..Outcome::default() };
        out.diags.append(&mut self.import_warnings);
        if out.ok()
            && let Err(d) = self.run_entries(&checked.entries)
        {
            out.stopped(*d);
        }
        if !out.ok() {
            return (out, ReloadCounts::default(), None);
        }
        self.install_environment(checked, &mut items);
        (out, counts, Some(Loaded { name: name.to_owned(), items }))
    }

    /// Installs the new environment with the sizes and modules that running determined.
    fn install_environment(&mut self, checked: CheckedText, items: &mut [LoadedItem]) {
        for e in &checked.entries {
            let RunStep::Run(m) = &e.step else { continue };
            let env = m.env.borrow().clone();
            for (_, held) in
                items.iter_mut().flat_map(|i| &mut i.gives.modules).filter(|(_, held)| same_globals(held, &env))
            {
                *held = env.clone();
            }
        }
        self.adopt(checked);
        for item in items {
            item.gives.modules.iter().for_each(|(n, env)| {
                self.env.modules.insert_mut(*n, env.clone());
            });
            for (n, g) in &mut item.gives.values {
                if let Some(now) = self.env.values.get(n).filter(|now| now.id == g.id) {
                    *g = now.clone();
                }
            }
        }
    }
}

/// Whether loading a file executes an item.
fn runs(item: &ast::Item) -> bool {
    !matches!(item.kind, ast::ItemKind::Test { .. } | ast::ItemKind::Bench { .. } | ast::ItemKind::Error)
}

/// Whether two environments bind the same values, ignoring refined types.
fn same_globals(a: &Env, b: &Env) -> bool {
    a.values.size() == b.values.size() && a.values.iter().all(|(n, g)| b.values.get(n).is_some_and(|h| h.id == g.id))
}
