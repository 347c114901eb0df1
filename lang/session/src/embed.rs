//! The interface for programs that use adl as a library: values of expressions, calls of functions, modules with their
//! own names, and functions at given types.

use crate::Session;
use crate::run::Outcome;
use adl_interp::value::Value;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::symbol::Symbol;
use adl_typing::core::{Expr, ExprKind};
use adl_typing::env::{Alias, Env, Global, TypeName};
use adl_typing::ty::{DataDecl, DataId, Scheme, Ty};
use std::rc::Rc;

impl Session {
    /// The value of an expression. Names that the text defines or imports before it stay in scope.
    pub fn value(&mut self, text: &str) -> Result<Value, Vec<Diagnostic>> {
        let mut out = self.stoppable(|s| s.eval_entry(text)).unwrap_or_else(|d| Outcome::of(*d));
        if !out.ok() {
            return Err(out.diags);
        }
        Ok(out.echoes.pop().map_or(Value::Unit, |e| e.shown))
    }

    /// Calls an adl function. The session is unchanged afterwards, even after an error.
    pub fn call(&mut self, f: &Value, args: &[Value]) -> Result<Value, Box<Diagnostic>> {
        self.contained(|m| m.apply(f, args)).and_then(|done| done.map_err(|e| Box::new(e.diag)))
    }

    /// Names that a new module sees: those of the prelude.
    pub fn fresh_env(&self) -> Env {
        Env { base: self.env.base.clone(), ..Env::default() }
    }

    /// Runs something with the names of a module in scope, which it may extend.
    pub fn within<T>(&mut self, env: &mut Env, run: impl FnOnce(&mut Session) -> T) -> T {
        std::mem::swap(&mut self.env, env);
        let out = run(self);
        std::mem::swap(&mut self.env, env);
        out
    }

    /// Binds a name to a value of this session in the names of a module.
    pub fn bind(&mut self, env: &mut Env, name: &str, value: Value, ty: Ty) {
        let id = self.tables.global();
        self.machine.set_global(id, value);
        let scheme = Rc::new(Scheme::mono(ty));
        let g = Global { id, scheme, span: Span::NOWHERE, doc: None, alias: None, arity: 0 };
        env.values.insert_mut(Symbol::new(name), g);
    }

    /// The value of a definition.
    pub fn value_of_global(&self, g: &Global) -> Option<Value> {
        self.machine.global(g.id).cloned()
    }

    /// The names of a function's parameters in its definition, as far as it is a function literal.
    pub fn parameter_names(&self, g: &Global) -> Vec<Option<Symbol>> {
        let Some(def) = self.machine.definition(g.id) else { return Vec::new() };
        let mut names = Vec::new();
        let mut at: &Expr = &def.expr;
        loop {
            at = match &*at.kind {
                ExprKind::Abs(_, body) | ExprKind::Sizes(_, body) => body,
                ExprKind::Lam(l) => {
                    names.extend(l.params.iter().map(|p| p.name));
                    &l.body
                }
                _ => return names,
            };
        }
    }

    /// A declared type.
    pub fn declared_type(&self, id: DataId) -> Option<Rc<DataDecl>> {
        self.tables.datas.get(&id).cloned()
    }

    /// Whether a type is declared by the prelude or a standard module.
    pub fn is_library_type(&self, id: DataId) -> bool {
        self.tables.places.get(&id).is_none_or(|p| self.machine.library.contains(&p.file))
    }

    /// The array, or list of values in an array, of several values.
    ///
    /// # Errors
    /// The values have different shapes.
    pub fn packed(&mut self, values: Vec<Value>) -> Result<Value, Box<Diagnostic>> {
        adl_interp::value::seq::pack(&mut self.machine, values).map_err(|e| Box::new(e.diag))
    }

    /// The value and the type of an expression. Nothing is recorded. `types` gives names to types that it mentions.
    ///
    /// # Errors
    /// Those of the text and of its evaluation.
    pub fn typed(&mut self, env: &Env, types: &[(String, Ty)], text: &str) -> Result<(Value, Ty), Vec<Diagnostic>> {
        let mut env = env.clone();
        for (name, body) in types {
            let alias = Alias { params: Vec::new(), open: Vec::new(), sizes: Vec::new(), body: body.clone() };
            env.types.insert_mut(Symbol::new(name), TypeName::Alias(Rc::new(alias)));
        }
        self.within(&mut env, |s| {
            let done = s.guarded(|s| {
                let e = s.expression_of(text)?;
                let v = s.machine.eval(&e, None).map_err(|e| vec![e.diag])?;
                Ok((v, e.ty.clone()))
            });
            done.unwrap_or_else(|d| Err(vec![*d]))
        })
    }
}
