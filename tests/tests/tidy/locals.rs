//! Locals that are used over many lines.

use proc_macro2::{Ident, LineColumn, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

/// The lines after its binding over which a local of one letter may be used.
const LINES: usize = 10;

/// A local of one letter: its name, its line, and the end of its scope.
struct Short {
    name: String,
    line: usize,
    end: LineColumn,
}

/// The locals of one letter in a file, and all its identifiers.
#[derive(Default)]
struct Locals {
    short: Vec<Short>,
    ends: Vec<LineColumn>,
    uses: Vec<(String, LineColumn)>,
}

impl Locals {
    /// The names that a pattern binds up to the end of `scope`.
    fn bind(&mut self, pattern: &syn::Pat, end: LineColumn) {
        struct Bound(Vec<Ident>);
        impl<'ast> Visit<'ast> for Bound {
            fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
                self.0.push(pattern.ident.clone());
                syn::visit::visit_pat_ident(self, pattern);
            }
        }
        let mut bound = Bound(Vec::new());
        bound.visit_pat(pattern);
        for ident in bound.0 {
            let name = ident.to_string();
            if name.chars().count() == 1 {
                self.short.push(Short { name, line: ident.span().start().line, end });
            }
        }
    }

    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                self.bind(&input.pat, body.span().end());
            }
        }
    }

    /// Collects the identifiers that are no fields.
    fn collect(&mut self, tokens: TokenStream) {
        let mut dots = 0;
        for token in tokens {
            let before = std::mem::take(&mut dots);
            match token {
                TokenTree::Ident(ident) if before != 1 => self.uses.push((ident.to_string(), ident.span().start())),
                TokenTree::Group(group) => self.collect(group.stream()),
                TokenTree::Punct(punct) if punct.as_char() == '.' => dots = before + 1,
                TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Locals {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.ends.push(block.span().end());
        syn::visit::visit_block(self, block);
        self.ends.pop();
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(end) = self.ends.last() {
            self.bind(&local.pat, *end);
        }
        syn::visit::visit_local(self, local);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_expr_for_loop(&mut self, expr: &'ast syn::ExprForLoop) {
        self.bind(&expr.pat, expr.body.span().end());
        syn::visit::visit_expr_for_loop(self, expr);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        closure.inputs.iter().for_each(|input| self.bind(input, closure.body.span().end()));
        syn::visit::visit_expr_closure(self, closure);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.bind(&arm.pat, arm.body.span().end());
        syn::visit::visit_arm(self, arm);
    }
}

/// The locals of one letter that a file uses over more than [`LINES`] lines.
pub(crate) fn faults(file: &str, code: &str) -> Vec<String> {
    let parsed = syn::parse_file(code).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut locals = Locals::default();
    locals.visit_file(&parsed);
    locals.collect(code.parse().unwrap_or_else(|e| panic!("{file}: {e}")));
    let long = |short: &&Short| {
        let inside = |at: &LineColumn| at.line > short.line + LINES && *at < short.end;
        locals.uses.iter().any(|(name, at)| *name == short.name && inside(at))
    };
    locals.short.iter().filter(long).map(|short| format!("{file}:{}: `{}`", short.line, short.name)).collect()
}
