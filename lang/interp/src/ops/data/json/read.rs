//! Reads JSON text as a value of an expected type, in one pass.

use super::tokens::{JsonReader, TokenKind};
use crate::error::{Res, codes};
use crate::upcalls::Upcalls;
use crate::value::{ConInfo, Record, Rep, Tuple, Value, seq};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{ConDecl, DataDecl, Ty};
use std::rc::Rc;

/// Reads bytes as a type.
pub fn read(m: &mut dyn Upcalls, path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    let mut r = Reader { m, text: JsonReader::new(path, bytes)?, inside: Vec::new() };
    if *rep == Rep::Other {
        return Err(r
            .text
            .error("the type of this value is not known here")
            .hint("annotate it: `(read_json path : {x : Float})`"));
    }
    let v = r.value(rep)?;
    match r.text.peek() {
        TokenKind::End => Ok(v),
        _ => Err(r.text.error("text behind the value")),
    }
}

/// A step of the path from the root to a part.
enum PathStep {
    Field(Symbol),
    Element(usize),
}

struct Reader<'a, 'b> {
    m: &'a mut dyn Upcalls,
    text: JsonReader<'b>,
    inside: Vec<PathStep>,
}

impl Reader<'_, '_> {
    /// The error that a value of another kind was found than `want`.
    fn wrong(&mut self, want: &str) -> Box<crate::error::Error> {
        let have = self.text.peek().name();
        let mut at = String::new();
        for s in &self.inside {
            match s {
                PathStep::Field(n) if at.is_empty() => at.push_str(n.as_str()),
                PathStep::Field(n) => at.push_str(&format!(".{n}")),
                PathStep::Element(i) => at.push_str(&format!("[{i}]")),
            }
        }
        let at = if at.is_empty() { String::new() } else { format!("`{at}`: ") };
        self.text.error(format!("{at}expected {want}, found {have}"))
    }

    fn value(&mut self, rep: &Rep) -> Res<Value> {
        crate::memory::on_stack(128 * 1024, 1024 * 1024, || self.value_here(rep))
    }

    fn value_here(&mut self, rep: &Rep) -> Res<Value> {
        let next = self.text.peek();
        match (rep, next) {
            (Rep::Unit, TokenKind::Null) => {
                self.text.word(next);
                Ok(Value::Unit)
            }
            (Rep::Bool, TokenKind::True | TokenKind::False) => {
                self.text.word(next);
                Ok(Value::Bool(next == TokenKind::True))
            }
            (Rep::Float | Rep::F32, TokenKind::Null) => {
                self.text.word(next);
                Ok(float(rep, f64::NAN))
            }
            (Rep::Float | Rep::F32, TokenKind::Number) => {
                let x = self.text.number()?.parse().unwrap_or(f64::NAN);
                Ok(float(rep, x))
            }
            (Rep::Int, TokenKind::Number) => self.int(),
            (Rep::Str, TokenKind::Text) => Ok(crate::ops::data_text(&self.text.string()?)),
            (Rep::Array(n, e), TokenKind::List) => self.array(*n, e),
            (Rep::Tuple(parts), TokenKind::List) => self.tuple(parts),
            (Rep::Record(fields), TokenKind::Object) => self.record(fields),
            (Rep::Data(d, args), _) => self.data(d, args),
            (Rep::Array(..), _) => Err(self.wrong("a list")),
            (Rep::Tuple(parts), _) => Err(self.wrong(&format!("a list of {}", parts.len()))),
            (Rep::Record(_), _) => Err(self.wrong("an object")),
            (Rep::Int, _) => Err(self.wrong("a whole number")),
            (Rep::Float | Rep::F32, _) => Err(self.wrong("a number")),
            (Rep::Bool, _) => Err(self.wrong("true or false")),
            (Rep::Str, _) => Err(self.wrong("a text")),
            (Rep::Unit, _) => Err(self.wrong("null")),
            (Rep::Other, _) => Err(self.wrong("a type that JSON holds")),
        }
    }

    fn int(&mut self) -> Res<Value> {
        let mark = self.text.mark();
        let text = self.text.number()?;
        let whole = |x: f64| (x == x.trunc() && x.abs() < 9e15).then_some(x as i64);
        match text.parse::<i64>().ok().or_else(|| text.parse().ok().and_then(whole)) {
            Some(n) => Ok(Value::Int(n)),
            None => {
                self.text.rewind(mark);
                Err(self.wrong("a whole number of 64 bits"))
            }
        }
    }

    /// The elements of an array: `rep` is the type of each element, or `None` after the last one.
    fn elements(&mut self, rep: &dyn Fn(usize) -> Option<Rc<Rep>>) -> Res<Vec<Value>> {
        let mut out = Vec::new();
        self.text.open();
        while self.text.more(b']', out.len())? {
            if out.len() % 4096 == 0 {
                crate::polling::poll()?;
            }
            let Some(rep) = rep(out.len()) else { return Err(self.wrong("the end of the list")) };
            self.inside.push(PathStep::Element(out.len()));
            crate::memory::grow(&mut out, 1)?;
            out.push(self.value(&rep)?);
            self.inside.pop();
        }
        Ok(out)
    }

    fn array(&mut self, n: Option<usize>, rep: &Rc<Rep>) -> Res<Value> {
        let mark = self.text.mark();
        let vals = self.elements(&|_| Some(rep.clone()))?;
        let problem = match n {
            Some(n) if n != vals.len() => Some(format!("expected a list of {n}, found one of {}", vals.len())),
            _ => None,
        };
        let v = match problem {
            None if vals.is_empty() => return Ok(rep.no_elements()),
            None => match seq::pack(self.m, vals) {
                // These errors are not about the text.
                Err(e) if e.stops() || e.diag.code == codes::MEMORY => return Err(e),
                packed => packed.map_err(|e| e.diag.message),
            },
            Some(text) => Err(text),
        };
        v.map_err(|text| {
            self.text.rewind(mark);
            self.text.error(text)
        })
    }

    fn tuple(&mut self, parts: &[Rc<Rep>]) -> Res<Value> {
        let vals = self.elements(&|i| parts.get(i).cloned())?;
        if vals.len() < parts.len() {
            return Err(self.text.error(format!("expected a list of {}, found one of {}", parts.len(), vals.len())));
        }
        Ok(Value::Tuple(Rc::new(Tuple(vals))))
    }

    /// Keys that are not in the type are skipped. A missing field is null, if its type has a null value.
    fn record(&mut self, fields: &[(Symbol, Rc<Rep>)]) -> Res<Value> {
        let mark = self.text.mark();
        let mut vals: Vec<Option<Value>> = fields.iter().map(|_| None).collect();
        self.text.open();
        let mut n = 0;
        while self.text.more(b'}', n)? {
            n += 1;
            let key = self.text.key()?;
            let found = fields.iter().position(|(f, _)| f.as_str() == key).or_else(|| {
                let name = crate::ops::data::identifier(&key);
                fields.iter().position(|(f, _)| f.as_str() == name)
            });
            let Some(i) = found else {
                self.text.skip()?;
                continue;
            };
            self.inside.push(PathStep::Field(fields[i].0));
            vals[i] = Some(self.value(&fields[i].1)?);
            self.inside.pop();
        }
        let mut done = Vec::with_capacity(vals.len());
        for (v, (name, rep)) in vals.into_iter().zip(fields) {
            match v.or_else(|| symbolic_zero(rep)) {
                Some(v) => done.push(v),
                None => {
                    self.text.rewind(mark);
                    return Err(self.text.error(format!("this object has no field `{name}`")));
                }
            }
        }
        Ok(Value::Record(Rc::new(Record { names: fields.iter().map(|f| f.0).collect(), vals: done })))
    }

    fn data(&mut self, decl: &Rc<DataDecl>, args: &[Rc<Rep>]) -> Res<Value> {
        let next = self.text.peek();
        match next {
            TokenKind::Null if is_option(decl) => {
                self.text.word(next);
                Ok(make(decl, &decl.cons[0], Vec::new()))
            }
            _ if is_option(decl) => {
                let rep = self.field(&decl.cons[1].fields[0], decl, args);
                let x = self.value(&rep)?;
                Ok(make(decl, &decl.cons[1], vec![x]))
            }
            TokenKind::List if is_list(decl) => {
                let rep = self.field(&decl.cons[1].fields[0], decl, args);
                let vals = self.elements(&|_| Some(rep.clone()))?;
                let nil = make(decl, &decl.cons[0], Vec::new());
                Ok(vals.into_iter().rev().fold(nil, |tail, x| make(decl, &decl.cons[1], vec![x, tail])))
            }
            TokenKind::Text => {
                let mark = self.text.mark();
                let name = self.text.string()?;
                match decl.cons.iter().find(|c| c.name.as_str() == name && c.fields.is_empty()) {
                    Some(c) => Ok(make(decl, c, Vec::new())),
                    None => Err(self.no_constructor(mark, decl, &name)),
                }
            }
            TokenKind::Object => self.constructor(decl, args),
            _ => Err(self.wrong(&format!("a `{}` (`\"Name\"` or `{{\"Name\": [fields]}}`)", decl.name))),
        }
    }

    fn no_constructor(&mut self, mark: usize, d: &DataDecl, name: &str) -> Box<crate::error::Error> {
        self.text.rewind(mark);
        let all: Vec<String> = d.cons.iter().map(|c| format!("`{}` with {} fields", c.name, c.fields.len())).collect();
        self.text.error(format!("`{name}` is not a constructor of `{}`; it has {}", d.name, all.join(", ")))
    }

    /// `{"Name": [fields]}`; for a single field the brackets may be omitted.
    fn constructor(&mut self, decl: &Rc<DataDecl>, args: &[Rc<Rep>]) -> Res<Value> {
        let mark = self.text.mark();
        self.text.open();
        if !self.text.more(b'}', 0)? {
            return Err(self.no_constructor(mark, decl, ""));
        }
        let name = self.text.key()?;
        let Some(con) = decl.cons.iter().find(|c| c.name.as_str() == name) else {
            return Err(self.no_constructor(mark, decl, &name));
        };
        let reps: Vec<Rc<Rep>> = con.fields.iter().map(|t| self.field(t, decl, args)).collect();
        self.inside.push(PathStep::Field(con.name));
        let fields = match (self.text.peek(), reps.as_slice()) {
            (TokenKind::List, _) => self.elements(&|i| reps.get(i).cloned())?,
            (_, [one]) => vec![self.value(one)?],
            _ => return Err(self.wrong(&format!("a list of {}", reps.len()))),
        };
        self.inside.pop();
        if fields.len() < reps.len() {
            return Err(self.text.error(format!("`{name}` has {} fields, and here are {}", reps.len(), fields.len())));
        }
        if self.text.more(b'}', 1)? {
            return Err(self.text.error("expected an object with one key: the constructor's name"));
        }
        Ok(make(decl, con, fields))
    }

    /// The run-time type representation of a field, for a declaration's type arguments.
    fn field(&self, t: &Ty, d: &DataDecl, args: &[Rc<Rep>]) -> Rc<Rep> {
        crate::value::rep::field_rep(&|id| self.m.declaration(id), t, d, args)
    }
}

fn float(rep: &Rep, x: f64) -> Value {
    if *rep == Rep::F32 { Value::F32(x as f32) } else { Value::Float(x) }
}

/// The value of a missing field, if its type has a null value.
fn symbolic_zero(rep: &Rep) -> Option<Value> {
    match rep {
        Rep::Data(d, _) if is_option(d) => Some(make(d, &d.cons[0], Vec::new())),
        Rep::Unit => Some(Value::Unit),
        Rep::Float | Rep::F32 => Some(float(rep, f64::NAN)),
        _ => None,
    }
}

/// Whether a type has the form `None | Some x`.
fn is_option(d: &DataDecl) -> bool {
    matches!(d.cons.as_slice(), [n, s] if n.name.as_str() == "None" && n.fields.is_empty() && s.name.as_str() == "Some" && s.fields.len() == 1)
}

/// Whether a type has the form `Nil | Cons x rest`.
fn is_list(d: &DataDecl) -> bool {
    matches!(d.cons.as_slice(), [n, c] if n.name.as_str() == "Nil" && n.fields.is_empty() && c.name.as_str() == "Cons" && c.fields.len() == 2)
}

fn make(d: &DataDecl, c: &ConDecl, fields: Vec<Value>) -> Value {
    let con = ConInfo { name: c.name, tag: c.tag, data: d.id, arity: fields.len() as u32 };
    Value::data(Rc::new(con), fields)
}
