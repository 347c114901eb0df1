//! Converts types of the syntax tree to types.

use super::{Infer, array, fun};
use crate::env::{Alias, TypeName};
use crate::errors::{calls, names};
use crate::ty::{Class, DataDecl, RecordTy, Scheme, Size, SizeVar, Ty, TyVar};
use adl_syntax::ast;
use adl_syntax::field_order;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;

/// The class of that name.
pub(super) fn class_named(name: &str) -> Option<Class> {
    Some(match name {
        "Eq" => Class::Eq,
        "Ord" => Class::Ord,
        "Show" => Class::Show,
        "Num" => Class::Num,
        "Real" => Class::Real,
        "Nums" => Class::Nums,
        "Reals" => Class::Reals,
        "Space" => Class::Space,
        "Diff" => Class::Diff,
        "Data" => Class::Data,
        _ => return None,
    })
}

impl Infer<'_> {
    /// A signature. The type variables that it constrains are rigid.
    pub(super) fn signature(&mut self, sig: &ast::Signature) -> Ty {
        let mut by_var: Vec<(Symbol, Vec<Class>)> = Vec::new();
        for constraint in &sig.constraints {
            match constraint {
                ast::Constraint::Class(class, var) => {
                    let Some(c) = self.written_class(*class) else { continue };
                    match by_var.iter_mut().find(|(v, _)| *v == var.name) {
                        Some((_, cs)) => cs.push(c),
                        None => by_var.push((var.name, vec![c])),
                    }
                }
                ast::Constraint::Operator(_, args, res) => {
                    let mut names = Vec::new();
                    args.iter().chain([res]).for_each(|t| type_vars(t, &mut names));
                    names.retain(|n| !by_var.iter().any(|(v, _)| v == n));
                    by_var.extend(names.into_iter().map(|n| (n, Vec::new())));
                }
            }
        }
        for (name, classes) in by_var {
            if self.annotated.types.contains_key(&name) {
                continue;
            }
            let v = self.tables.var();
            self.annotated.rigid.insert(v, (classes, name));
            self.annotated.types.insert(name, Ty::Var(v));
        }
        for constraint in &sig.constraints {
            if let ast::Constraint::Operator(op, args, res) = constraint {
                self.give(*op, args, res);
            }
        }
        self.annotation(&sig.ty)
    }

    fn written_class(&mut self, class: ast::Ident) -> Option<Class> {
        let known = class_named(class.name.as_str());
        if known.is_none() {
            let near = names::nearest(
                class.name.as_str(),
                ["Eq", "Ord", "Show", "Num", "Real", "Nums", "Reals", "Space", "Diff"].into_iter(),
            )
            .map(str::to_owned);
            self.report(
                names::Unknown { what: Some("class"), name: class.name.as_str(), span: class.span, near }.diagnostic(),
            );
        }
        known
    }

    pub(super) fn annotation(&mut self, t: &ast::Type) -> Ty {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.annotation_parts(t))
    }

    fn annotation_parts(&mut self, ty: &ast::Type) -> Ty {
        match &ty.kind {
            ast::TypeKind::Hole | ast::TypeKind::Error => self.meta(),
            ast::TypeKind::Var(name) => self.named_var(*name, ty.span),
            ast::TypeKind::Fun(a, b) => {
                let a = self.annotation(a);
                fun(a, self.annotation(b))
            }
            ast::TypeKind::Lin(a, b) => {
                let a = self.annotation(a);
                Ty::Lin(Rc::new(a), Rc::new(self.annotation(b)))
            }
            ast::TypeKind::Tuple(parts) if parts.is_empty() => Ty::Unit,
            ast::TypeKind::Tuple(parts) => Ty::Tuple(parts.iter().map(|p| self.annotation(p)).collect()),
            ast::TypeKind::Record(fields, tail) => {
                if tail.is_none() {
                    field_order::written(fields.iter().map(|(n, _)| n.name));
                }
                let mut fs: Vec<(Symbol, Ty)> = fields.iter().map(|(n, t)| (n.name, self.annotation(t))).collect();
                fs.sort_by_key(|(n, _)| n.as_str());
                let tail = tail.as_ref().map(|t| match t {
                    Some(v) => self.named_row(v.name, v.span),
                    None => self.row_meta(),
                });
                Ty::Record(Rc::new(RecordTy { fields: fs, tail }))
            }
            ast::TypeKind::Array(size, elem) => {
                let n = self.size_annotation(size);
                array(n, self.annotation(elem))
            }
            ast::TypeKind::Con(module, name, args) => self.named_type(ty, *module, *name, args),
        }
    }

    fn named_var(&mut self, name: Symbol, span: Span) -> Ty {
        if let Some(t) = self.annotated.types.get(&name) {
            return t.clone();
        }
        let t = self.meta();
        if let Ty::Meta(m) = t {
            self.vars[m].name = Some(name);
        }
        self.annotated.types.insert(name, t.clone());
        self.annotated.promised.push((name, t.clone(), span));
        t
    }

    fn named_row(&mut self, name: Symbol, span: Span) -> Ty {
        let t = self.named_var(name, span);
        if let Ty::Meta(m) = t {
            self.vars[m].row = true;
        }
        t
    }

    fn size_annotation(&mut self, size: &ast::Size) -> Size {
        match size {
            ast::Size::Const(n, span) => {
                let n = (*n).max(0) as u64;
                Size::from(n, *span)
            }
            ast::Size::Any(_) => Size::Unknown,
            ast::Size::Var(name) => {
                if let Some((v, _)) = self.annotated.sizes.get(&name.name) {
                    return Size::Var(*v);
                }
                let v = self.tables.size();
                self.annotated.sizes.insert(name.name, (v, None));
                self.annotated.size_labels.insert(v, name.name);
                Size::Var(v)
            }
        }
    }

    fn named_type(&mut self, ty: &ast::Type, module: Option<ast::Ident>, name: ast::Ident, args: &[ast::Type]) -> Ty {
        let args: Vec<Ty> = args.iter().map(|a| self.annotation(a)).collect();
        let text = name.name.as_str();
        let base = match (module, text) {
            (None, "Float") => Some(Ty::Float),
            (None, "F32") => Some(Ty::F32),
            (None, "Int") => Some(Ty::Int),
            (None, "Bool") => Some(Ty::Bool),
            (None, "String") => Some(Ty::Str),
            _ => None,
        };
        if let Some(base) = base {
            return if args.is_empty() { base } else { self.arity_error(ty, text, 0, args.len()) };
        }
        let env = match module {
            None => Some(Rc::new(self.env.clone())),
            Some(m) => self.module(m.name),
        };
        let found = env.and_then(|e| e.type_name(name.name).cloned());
        match found {
            Some(TypeName::Data(d)) if d.params.len() == args.len() => Ty::Data(d.id, args.into()),
            Some(TypeName::Data(d)) => self.arity_error(ty, text, d.params.len(), args.len()),
            Some(TypeName::Alias(a)) if a.params.len() == args.len() => self.expanded(&a, args),
            Some(TypeName::Alias(a)) => self.arity_error(ty, text, a.params.len(), args.len()),
            None if module.is_none() && matches!(text, "Each" | "Rows") => match args.as_slice() {
                [part] if text == "Each" => crate::ty::each(part.clone()),
                [part] => crate::ty::rows(part.clone()),
                _ => self.arity_error(ty, text, 1, args.len()),
            },
            None => {
                let near = self.nearest(text, |me| {
                    [
                        me.env.types.keys().map(|s| s.as_str()).collect(),
                        vec!["Float", "F32", "Int", "Bool", "String", "List", "Option", "Each", "Rows"],
                    ]
                });
                self.report(names::Unknown { what: Some("type"), name: text, span: name.span, near }.diagnostic());
                self.meta()
            }
        }
    }

    fn arity_error(&mut self, t: &ast::Type, name: &str, want: usize, have: usize) -> Ty {
        self.report(calls::type_arity(t.span, name, want, have));
        self.meta()
    }

    /// A module by alias, or a standard module.
    pub(super) fn module(&mut self, name: Symbol) -> Option<Rc<crate::env::Env>> {
        if let Some(m) = self.env.modules.get(&name) {
            return Some(m.clone());
        }
        self.host.std_module(name.as_str())
    }

    /// The scheme of a primitive, parsed from its row in the table.
    pub(super) fn prim_scheme(&mut self, text: &str) -> Scheme {
        let Ok(sig) = adl_syntax::parse_signature(text) else {
            return Scheme::mono(Ty::Unit);
        };
        let names = std::mem::take(&mut self.annotated.types);
        let sizes = std::mem::take(&mut self.annotated.sizes);
        let mut vars: Vec<(TyVar, Vec<Class>, Symbol)> = Vec::new();
        for constraint in &sig.constraints {
            let ast::Constraint::Class(class, var) = constraint else { continue };
            let class = class_named(class.name.as_str()).unwrap_or(Class::Show);
            match vars.iter_mut().find(|(_, _, n)| *n == var.name) {
                Some((_, cs, _)) => cs.push(class),
                None => vars.push((self.tables.var(), vec![class], var.name)),
            }
        }
        let mut free = Vec::new();
        type_vars(&sig.ty, &mut free);
        for name in free {
            if !vars.iter().any(|(_, _, n)| *n == name) {
                vars.push((self.tables.var(), Vec::new(), name));
            }
        }
        for (v, _, name) in &vars {
            self.annotated.types.insert(*name, Ty::Var(*v));
        }
        let ty = self.annotation(&sig.ty);
        let size_vars = self.annotated.sizes.iter().map(|(n, (v, _))| (*v, *n)).collect();
        self.annotated.types = names;
        self.annotated.sizes = sizes;
        Scheme { vars, sizes: size_vars, ..Scheme::mono(ty) }
    }

    /// Declares a group of types. Names of declarations with errors are bound so that uses are not reported again.
    pub(super) fn declare(&mut self, decls: &[ast::TypeDecl]) {
        let mut made: Vec<Rc<DataDecl>> = Vec::new();
        for (i, type_decl) in decls.iter().enumerate() {
            self.distinct_declaration(type_decl, &decls[..i]);
            let params: Vec<TyVar> = type_decl.params.iter().map(|_| self.tables.var()).collect();
            if let ast::TypeBody::Sum(_) = type_decl.body {
                self.tables.vars += 1;
                let decl = Rc::new(DataDecl {
                    id: crate::ty::DataId(self.tables.vars, type_decl.name.name),
                    name: type_decl.name.name,
                    params,
                    cons: Vec::new(),
                });
                self.tables.places.insert(decl.id, type_decl.name.span);
                self.tables.declare(decl.clone());
                self.env.types.insert_mut(type_decl.name.name, TypeName::Data(decl.clone()));
                made.push(decl);
            }
        }
        for d in decls {
            if let ast::TypeBody::Alias(t) = &d.body {
                self.alias(d, t);
            }
        }
        let mut made = made.into_iter();
        for d in decls {
            if let (ast::TypeBody::Sum(cons), Some(decl)) =
                (&d.body, matches!(d.body, ast::TypeBody::Sum(_)).then(|| made.next()).flatten())
            {
                self.constructors(d, cons, &decl);
            }
        }
    }

    /// Parameters of a declaration, and the types of a group, must have distinct names.
    fn distinct_declaration(&mut self, decl: &ast::TypeDecl, before: &[ast::TypeDecl]) {
        for (k, p) in decl.params.iter().enumerate() {
            if let Some(q) = decl.params[..k].iter().find(|q| q.name == p.name) {
                self.report(
                    names::DuplicateName {
                        what: "parameters",
                        name: p.name.as_str(),
                        span: p.span,
                        first: Some(q.span),
                    }
                    .diagnostic(),
                );
            }
        }
        if let Some(o) = before.iter().find(|o| o.name.name == decl.name.name) {
            self.report(
                names::DuplicateName {
                    what: "types",
                    name: decl.name.name.as_str(),
                    span: decl.name.span,
                    first: Some(o.name.span),
                }
                .diagnostic(),
            );
        }
    }

    fn with_params<T>(&mut self, decl: &ast::TypeDecl, params: &[TyVar], f: impl FnOnce(&mut Self) -> T) -> T {
        let names = std::mem::take(&mut self.annotated.types);
        for (p, v) in decl.params.iter().zip(params) {
            self.annotated.types.insert(p.name, Ty::Var(*v));
        }
        let known = self.annotated.types.len();
        let out = f(self);
        if self.annotated.types.len() > known {
            let mut extra: Vec<Symbol> =
                self.annotated.types.keys().copied().filter(|n| !decl.params.iter().any(|p| p.name == *n)).collect();
            extra.sort_by_key(|n| n.as_str());
            for n in extra {
                self.report(names::no_parameter(decl.name.span, n.as_str(), decl.name.name.as_str()));
            }
        }
        self.annotated.types = names;
        out
    }

    fn alias(&mut self, d: &ast::TypeDecl, t: &ast::Type) {
        let params: Vec<TyVar> = d.params.iter().map(|_| self.tables.var()).collect();
        let names = std::mem::take(&mut self.annotated.sizes);
        let ty = self.with_params(d, &params, |s| s.annotation(t));
        self.annotated.sizes = names;
        let closed = self.closed(&ty);
        let alias = Alias { params, open: closed.open, sizes: closed.sizes, body: closed.body };
        self.env.types.insert_mut(d.name.name, TypeName::Alias(Rc::new(alias)));
    }

    /// Expands an alias at the given arguments.
    fn expanded(&mut self, a: &Alias, args: Vec<Ty>) -> Ty {
        let mut map: HashMap<TyVar, Ty> = a.params.iter().copied().zip(args).collect();
        for (v, row) in &a.open {
            let t = if *row { self.row_meta() } else { self.meta() };
            map.insert(*v, t);
        }
        let sizes: HashMap<SizeVar, Size> = a.sizes.iter().map(|v| (*v, self.size_meta())).collect();
        super::map_type(
            &a.body,
            &mut |t| match t {
                Ty::Var(v) => map.get(v).cloned(),
                _ => None,
            },
            &mut |s| match s {
                Size::Var(v) => sizes.get(&v).copied().unwrap_or(s),
                s => s,
            },
        )
    }

    /// Replaces the inference variables of a declared type by type variables.
    fn closed(&mut self, t: &Ty) -> ClosedType {
        let t = self.resolve_deep(t);
        let (mut types, mut sizes, mut named) = (HashMap::new(), HashMap::new(), Vec::new());
        let (tables, vars) = (std::cell::RefCell::new(&mut *self.tables), &self.vars);
        let body = super::map_type(
            &t,
            &mut |t| match t {
                Ty::Meta(m) => {
                    Some(Ty::Var(types.entry(*m).or_insert_with(|| (tables.borrow_mut().var(), vars[*m].row)).0))
                }
                _ => None,
            },
            &mut |s| match s {
                Size::Meta(m) => Size::Var(*sizes.entry(m).or_insert_with(|| tables.borrow_mut().size())),
                Size::Var(v) => {
                    named.push(v);
                    s
                }
                s => s,
            },
        );
        named.extend(sizes.into_values());
        ClosedType { body, open: types.into_values().collect(), sizes: named }
    }

    fn constructors(&mut self, type_decl: &ast::TypeDecl, cons: &[ast::ConDecl], shell: &Rc<DataDecl>) {
        let params = shell.params.clone();
        let mut out = Vec::new();
        for (tag, constructor) in cons.iter().enumerate() {
            if let Some(o) = cons[..tag].iter().find(|o| o.name.name == constructor.name.name) {
                self.report(
                    names::DuplicateName {
                        what: "constructors",
                        name: constructor.name.name.as_str(),
                        span: constructor.name.span,
                        first: Some(o.name.span),
                    }
                    .diagnostic(),
                );
            }
            let sizes = std::mem::take(&mut self.annotated.sizes);
            let fields: Vec<Ty> =
                self.with_params(type_decl, &params, |s| constructor.fields.iter().map(|f| s.annotation(f)).collect());
            self.annotated.sizes = sizes;
            if let Some(open) = constructor.fields.iter().find_map(left_open) {
                self.report(names::open_field(open, type_decl.name.name.as_str(), constructor.name.name.as_str()));
            }
            // A size that a declaration names is not fixed by the type: each value may have its own.
            let unsized_field = |f: &Ty| {
                super::map_type(f, &mut |_| None, &mut |s| if matches!(s, Size::Var(_)) { Size::Unknown } else { s })
            };
            let fields = fields.iter().map(|f| unsized_field(&self.closed(f).body)).collect();
            out.push(crate::ty::ConDecl { name: constructor.name.name, tag: tag as u32, fields });
        }
        let decl = Rc::new(DataDecl { cons: out, ..(**shell).clone() });
        self.tables.declare(decl.clone());
        self.env.types.insert_mut(decl.name, TypeName::Data(decl.clone()));
        for c in &decl.cons {
            self.env.cons.insert_mut(c.name, (decl.clone(), c.tag));
        }
    }
}

/// A declared type without inference variables.
struct ClosedType {
    body: Ty,
    /// The type variables for the parts that were open, each with whether it is a row variable.
    open: Vec<(TyVar, bool)>,
    sizes: Vec<SizeVar>,
}

/// The first part of a written type that is left open: `_` or `..`.
fn left_open(t: &ast::Type) -> Option<Span> {
    match &t.kind {
        ast::TypeKind::Hole | ast::TypeKind::Record(_, Some(None)) => Some(t.span),
        ast::TypeKind::Fun(a, b) | ast::TypeKind::Lin(a, b) => left_open(a).or_else(|| left_open(b)),
        ast::TypeKind::Tuple(parts) | ast::TypeKind::Con(_, _, parts) => parts.iter().find_map(left_open),
        ast::TypeKind::Record(fields, _) => fields.iter().find_map(|(_, t)| left_open(t)),
        ast::TypeKind::Array(_, e) => left_open(e),
        ast::TypeKind::Var(_) | ast::TypeKind::Error => None,
    }
}

/// Variables of a written type, in order.
fn type_vars(ty: &ast::Type, out: &mut Vec<Symbol>) {
    match &ty.kind {
        ast::TypeKind::Var(v) => {
            if !out.contains(v) {
                out.push(*v);
            }
        }
        ast::TypeKind::Fun(a, b) | ast::TypeKind::Lin(a, b) => {
            type_vars(a, out);
            type_vars(b, out);
        }
        ast::TypeKind::Tuple(parts) | ast::TypeKind::Con(_, _, parts) => parts.iter().for_each(|p| type_vars(p, out)),
        ast::TypeKind::Record(fields, tail) => {
            fields.iter().for_each(|(_, t)| type_vars(t, out));
            out.extend(tail.iter().flatten().map(|v| v.name).filter(|v| !out.contains(v)).collect::<Vec<_>>());
        }
        ast::TypeKind::Array(_, e) => type_vars(e, out),
        ast::TypeKind::Hole | ast::TypeKind::Error => {}
    }
}
