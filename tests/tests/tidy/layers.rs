//! The layers of the interpreter's crate. A module uses modules of its own layer and of lower ones only, both by
//! imports and by methods of the machine, which any module may define.

use super::modules::{ModulePath, Modules, module_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};

/// The layers from the lowest to the highest, each with its modules. A module belongs where the longest of these
/// prefixes of its path is.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &["limits", "error", "fault", "memory", "polling"]),
    (
        "values",
        &[
            "value",
            "upcalls",
            "host",
            "device",
            "device::timing",
            "ad::linear_map",
            "ad::maps",
            "ad::tape",
            "vm::code",
            "vm::code_list",
            "vm::profile",
            "vm::oom",
            "ops::chain",
        ],
    ),
    ("kernels", &["ops::*", "ir::boxes", "ir::buffer"]),
    ("taped AD", &["ad"]),
    (
        "machine",
        &[
            "ir",
            "ir::derive::compression",
            "ir::derive::state",
            "ir::derive::derivative_stats",
            "ir::derive::shape_variants",
            "vm::machine",
            "vm::definitions",
            "vm::effects",
            "vm::components",
            "vm::errors",
            "vm::recover",
        ],
    ),
    ("compiled AD", &["ir::derive", "device::dispatch", "device::offer"]),
    ("operators", &["ad::operators", "engine"]),
    (
        "virtual machine",
        &["vm", "ops", "ops::higher_order", "ops::comprehensions", "ops::comm", "ops::io", "ops::rows"],
    ),
];

/// The position of a module's layer; that of the root of the crate is above all.
fn layer(module: &ModulePath) -> Option<usize> {
    if module.is_empty() {
        return Some(LAYERS.len());
    }
    let of = |name: &str| LAYERS.iter().position(|(_, names)| names.contains(&name));
    // `ops` itself dispatches to all families, and its parts are below it.
    let below = (1..module.len()).rev().find_map(|n| {
        let prefix = module[..n].join("::");
        of(&format!("{prefix}::*")).or_else(|| of(&prefix))
    });
    of(&module.join("::")).or(below)
}

/// The methods of the machine that a file defines, and those that it calls.
#[derive(Default)]
struct MachineMethods {
    inside: bool,
    defined: BTreeSet<String>,
    called: BTreeSet<String>,
}

fn is_machine(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "Machine"))
}

impl<'ast> Visit<'ast> for MachineMethods {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.inside = is_machine(&item.self_ty);
        if self.inside && item.trait_.is_none() {
            let names = item.items.iter().filter_map(|i| match i {
                syn::ImplItem::Fn(f) => Some(f.sig.ident.to_string()),
                _ => None,
            });
            self.defined.extend(names);
        }
        visit::visit_item_impl(self, item);
        self.inside = false;
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let receiver = match &*call.receiver {
            syn::Expr::Path(p) => p.path.get_ident().map(ToString::to_string),
            syn::Expr::Field(f) => match &f.member {
                syn::Member::Named(name) => Some(name.to_string()),
                syn::Member::Unnamed(_) => None,
            },
            _ => None,
        };
        if receiver.is_some_and(|r| r == "m" || r == "machine" || r == "self" && self.inside) {
            self.called.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// What is wrong with the layers of these files: pairs of a path from `src/` and a text without tests.
pub(crate) fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let modules = Modules::of(files);
    for (module, used) in modules.uses() {
        let Some(own) = layer(module) else {
            wrong.push(format!("{} is in no layer", module.join("::")));
            continue;
        };
        let above = used.iter().filter(|m| layer(m).is_some_and(|l| l > own));
        wrong.extend(above.map(|m| format!("{} uses {}, which is above it", module.join("::"), m.join("::"))));
    }
    let mut methods: BTreeMap<ModulePath, MachineMethods> = BTreeMap::new();
    for (file, text) in files.iter().filter(|(_, t)| t.contains("Machine")) {
        let mut of_file = MachineMethods::default();
        of_file.visit_file(&syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}")));
        methods.insert(module_of(Path::new(file)), of_file);
    }
    for (module, of_file) in &methods {
        for name in &of_file.called {
            let mut defined = methods.iter().filter(|(_, m)| m.defined.contains(name)).map(|(m, _)| m).peekable();
            let above = |m: &ModulePath| layer(m) > layer(module);
            if defined.peek().is_some() && defined.all(above) {
                wrong.push(format!("{} calls `{name}` of the machine, which is above it", module.join("::")));
            }
        }
    }
    wrong
}
