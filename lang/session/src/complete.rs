//! Completion at the cursor: names, members of modules, fields of records.

use crate::docs::prim_type;
use crate::{Session, declared};
use adl_interp::fault;
use adl_interp::value::{Kind, Value};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use adl_typing::env::Env;
use adl_typing::errors::nearest_of;
use adl_typing::ty::{Scheme, Ty};
use std::rc::Rc;

/// A candidate for completion.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The complete name.
    pub text: String,
    /// Its type, or its category.
    pub ty: String,
    /// The first sentence about it, or a declaration.
    pub doc: String,
    /// Whether the user defined it.
    pub own: bool,
}

impl Completion {
    fn new(text: impl Into<String>, ty: impl Into<String>) -> Completion {
        Completion { text: text.into(), ty: ty.into(), doc: String::new(), own: false }
    }

    fn about(self, doc: &str) -> Completion {
        Completion { doc: crate::docs::summary(doc).to_owned(), ..self }
    }
}

/// Reserved words that begin or continue expressions.
const KEYWORDS: &[&str] = &[
    "let", "rec", "and", "in", "fun", "lin", "if", "then", "else", "match", "with", "when", "as", "for", "loop",
    "while", "do", "type", "alias", "import", "true", "false", "test", "bench",
];

impl Session {
    /// The candidates for a prefix. `optim.ad` looks into a module, `p.x` into the type of a value.
    pub fn complete(&mut self, prefix: &str) -> Vec<Completion> {
        self.guarded(|s| s.completions(prefix)).unwrap_or_default()
    }

    fn completions(&mut self, prefix: &str) -> Vec<Completion> {
        fault::point(fault::PanicPoint::Inspection);
        let mut out = match prefix.rsplit_once('.') {
            Some((before, member)) => self.members(before, member),
            None => self.names(prefix),
        };
        out.sort_by(|a, b| a.text.cmp(&b.text));
        // A type and its constructor may share a name.
        out.dedup_by(|a, b| a.text == b.text && (a.ty == "type") == (b.ty == "type"));
        out
    }

    fn names(&mut self, prefix: &str) -> Vec<Completion> {
        let mut out = Vec::new();
        self.names_of(&self.env, "", prefix, &mut out);
        out.iter_mut().for_each(|c| c.own = true);
        if let Some(base) = &self.env.base {
            self.names_of(base, "", prefix, &mut out);
        }
        for p in Prim::ALL.iter().filter(|p| p.name().starts_with(prefix) && p.name().starts_with(char::is_alphabetic))
        {
            out.push(Completion::new(p.name(), prim_type(*p)).about(p.row().doc));
        }
        let known = |name: &str| self.env.value(Symbol::new(name)).is_some();
        let modules = adl_std::MODULES.iter().filter(|(n, _)| n.starts_with(prefix) && !known(n));
        out.extend(
            modules.map(|(n, source)| {
                Completion::new(format!("{n}."), "module").about(&crate::docs::head_comment(source))
            }),
        );
        out.extend(
            KEYWORDS
                .iter()
                .filter(|k| !prefix.is_empty() && k.starts_with(prefix))
                .map(|k| Completion::new(*k, "keyword")),
        );
        out
    }

    /// The names that the user defined.
    pub fn own_names(&mut self) -> Vec<Completion> {
        let own = |s: &mut Session| {
            let mut out = Vec::new();
            s.names_of(&s.env, "", "", &mut out);
            out
        };
        self.guarded(own).unwrap_or_default()
    }

    /// Everything that an environment itself names; `before` stands before each name.
    fn names_of(&self, env: &Env, before: &str, prefix: &str, out: &mut Vec<Completion>) {
        self.values_of(env, before, prefix, out);
        self.declarations_of(env, before, prefix, out);
        out.extend(
            env.modules
                .keys()
                .filter(|n| n.as_str().starts_with(prefix))
                .map(|n| Completion::new(format!("{before}{n}."), "module")),
        );
    }

    /// Types and constructors of an environment, with their declarations.
    fn declarations_of(&self, env: &Env, before: &str, prefix: &str, out: &mut Vec<Completion>) {
        for (n, (d, tag)) in env.cons.iter().filter(|(n, _)| n.as_str().starts_with(prefix)) {
            let ty = declared::constructor(d, *tag).unwrap_or_else(|| "constructor".to_owned());
            out.push(Completion { doc: declared::declaration(d), ..Completion::new(format!("{before}{n}"), ty) });
        }
        for (n, t) in env.types.iter().filter(|(n, _)| n.as_str().starts_with(prefix)) {
            out.push(Completion { doc: declared::type_name(*n, t), ..Completion::new(format!("{before}{n}"), "type") });
        }
    }

    /// Values of an environment; names that begin with `__` are internal.
    fn values_of(&self, env: &Env, before: &str, prefix: &str, out: &mut Vec<Completion>) {
        for (n, g) in env.values.iter().filter(|(n, _)| n.as_str().starts_with(prefix) && !n.as_str().starts_with("__"))
        {
            out.push(
                Completion::new(format!("{before}{n}"), self.type_text(&g.scheme))
                    .about(g.doc.as_deref().unwrap_or("")),
            );
        }
    }

    fn members(&mut self, before: &str, member: &str) -> Vec<Completion> {
        let mut out = Vec::new();
        if let Some(ty) = self.type_of_path(before) {
            self.fields(&ty, before, member, &mut out);
            return out;
        }
        let Some(env) = self.module_named(before) else { return out };
        let head = format!("{before}.");
        self.values_of(&env, &head, member, &mut out);
        if self.std.contains_key(before) {
            // Undocumented members of a standard module are internal.
            out.retain(|c| {
                env.values
                    .get(&Symbol::new(&c.text[head.len()..]))
                    .is_some_and(|g| g.doc.is_some() || g.alias.is_some())
            });
        } else {
            self.declarations_of(&env, &head, member, &mut out);
        }
        out
    }

    fn fields(&self, ty: &Ty, before: &str, member: &str, out: &mut Vec<Completion>) {
        match ty {
            Ty::Record(r) => {
                for (n, t) in r.fields.iter().filter(|(n, _)| n.as_str().starts_with(member)) {
                    out.push(Completion::new(format!("{before}.{n}"), self.type_text(&Scheme::mono(t.clone()))));
                }
            }
            Ty::Array(_, e) => match &**e {
                Ty::Array(..) if "T".starts_with(member) => {
                    out.push(Completion::new(format!("{before}.T"), "the transpose"));
                }
                e => self.fields(e, before, member, out),
            },
            _ => {}
        }
    }

    /// The type of `x.a.b`, where `x` is a value in scope.
    fn type_of_path(&self, path: &str) -> Option<Ty> {
        let mut parts = path.split('.');
        let mut ty = self.env.value(Symbol::new(parts.next()?))?.scheme.ty.clone();
        for p in parts {
            let Ty::Record(r) = &ty else { return None };
            ty = r.fields.iter().find(|(n, _)| n.as_str() == p)?.1.clone();
        }
        Some(ty)
    }

    /// A module in scope: a standard one or an alias.
    pub(crate) fn module_named(&mut self, name: &str) -> Option<Rc<Env>> {
        if let Some(env) = self.env.modules.get(&Symbol::new(name)) {
            return Some(env.clone());
        }
        self.load_std(name);
        self.std.get(name).cloned()
    }

    /// The complete type of a value or built-in in scope.
    pub(crate) fn type_of_name(&self, name: &str) -> Option<String> {
        match self.env.value(Symbol::new(name)) {
            Some(g) => Some(self.type_text(&g.scheme.clone())),
            None => Prim::by_name(name).map(|p| prim_type(p).to_owned()),
        }
    }

    /// The complete type of a member of a module.
    pub(crate) fn type_of_member(&mut self, name: &str) -> Option<String> {
        let (module, member) = name.rsplit_once('.')?;
        let env = self.module_named(module)?;
        let g = env.values.get(&Symbol::new(member))?;
        Some(self.type_text(&g.scheme))
    }

    /// The user's definitions with their types.
    pub fn listing(&self) -> Vec<Completion> {
        let mut out = Vec::new();
        self.values_of(&self.env, "", "", &mut out);
        out.extend(self.env.types.keys().map(|n| Completion::new(n.as_str(), "type")));
        out.extend(self.env.modules.keys().map(|n| Completion::new(n.as_str(), "module")));
        out.sort_by(|a, b| a.text.cmp(&b.text));
        out
    }

    /// The approximate size in bytes of a definition's value.
    pub fn bytes_of(&self, name: &str) -> Option<u64> {
        let g = self.env.values.get(&Symbol::new(name))?;
        self.machine.global(g.id).map(bytes)
    }

    /// The name in scope closest to an unknown name.
    pub fn nearest(&mut self, name: &str) -> Option<String> {
        self.guarded(|s| s.nearest_name(name)).unwrap_or_default()
    }

    fn nearest_name(&mut self, name: &str) -> Option<String> {
        let (module, member) = name.rsplit_once('.').map_or((None, name), |(m, n)| (Some(m), n));
        let all = match module {
            Some(m) => self.members(m, ""),
            None => self.names(""),
        };
        let (own, others): (Vec<&Completion>, Vec<&Completion>) = all.iter().partition(|c| c.own);
        let whole = module.map_or(member.to_owned(), |m| format!("{m}.{member}"));
        let texts = |all: Vec<&'_ Completion>| {
            all.into_iter().map(|c| c.text.trim_end_matches('.').to_owned()).collect::<Vec<_>>()
        };
        let (own, others) = (texts(own), texts(others));
        nearest_of(&whole, [&own, &others].map(|group| group.iter().map(String::as_str))).map(str::to_owned)
    }
}

/// The approximate size in bytes of a value. For values with very many parts, only the first ones are counted.
fn bytes(v: &Value) -> u64 {
    const MOST: usize = 1 << 16;
    let (mut todo, mut total, mut looked) = (vec![v], 0u64, 0);
    while let Some(v) = todo.pop() {
        looked += 1;
        total += 16;
        match v {
            Value::Array(a) => {
                let each = match a.kind() {
                    Kind::F64 | Kind::I64 => 8,
                    Kind::F32 => 4,
                    Kind::Bool => 1,
                    Kind::Unit | Kind::Boxed | Kind::Tuple | Kind::Record => 0,
                };
                total += a.shape.iter().product::<usize>() as u64 * each;
                todo.extend(a.values());
            }
            Value::Tuple(t) => todo.extend(&t.0),
            Value::Record(r) => todo.extend(&r.vals),
            Value::Data(d) => todo.extend(&d.fields),
            Value::Str(s) => total += s.len() as u64,
            _ => {}
        }
        if looked > MOST {
            break;
        }
    }
    total
}
