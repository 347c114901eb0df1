//! Functions as data (defunctionalisation; Reynolds, "Definitional interpreters for higher-order programming
//! languages").
//!
//! Some functions are represented as values of a data type that is generated for their function type. These are
//! functions inside declared data, functions that grow from call to call (continuations), and functions in arrays that
//! capture arrays. The data type has a constructor for each code; its fields are the captured values and the globals
//! that the code reads. Applying such a value calls one IR function per type, with a branch for each constructor.
//!
//! The set of codes is known only at the end. So constructors are added during specialisation, and the apply functions
//! are written when the entry is complete, repeatedly until no constructor is new. These types belong to one entry;
//! functions that use them are not shared with other entries ([`Spec::discard_function_data`]). A derivative inside the entry
//! needs complete types. If a constructor is added after one, the entry is specialised again with all constructors known
//! ([`FunctionData::again`]).

use crate::call::{IrTarget, ResultPromise};
use crate::info::{local_types, tyvars};
use crate::key::Key;
use crate::limits::defunctionalise::MAX_CODES;
use crate::types::{apply, closed};
use crate::val::{Closure, Fun, Val};
use crate::{Attempt, Layout, Spec};
use adl_ir::{Block, DataDecl, DataId, FnId, Function, Op, Out, Ty as IrTy, Var};
use adl_typing::core::{GlobalId, Lambda};
use adl_typing::ty::{self, Ty};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// The data type for functions of one type.
struct FunctionDataType {
    arg: Ty,
    result: Ty,
    /// The functions that apply such values, one for each number of derivatives of a function inside itself around.
    apply: BTreeMap<u8, ApplyFunction>,
    codes: Vec<CodeCase>,
    /// Whether a derivative depends on the set of codes, so that it must not grow.
    sealed: bool,
}

/// A function that applies functions that are data.
struct ApplyFunction {
    id: FnId,
    /// The number of codes that its body covers; `None` if it has no body yet.
    written: Option<usize>,
    /// Whether the body is being generated.
    writing: bool,
}

/// A code with its captured values. Their variables are placeholders; only layouts matter.
#[derive(Clone)]
struct CodeCase {
    key: Key,
    globals: Vec<(GlobalId, Val)>,
    fun: Rc<Fun>,
    fields: Vec<IrTy>,
}

/// All functions that one entry represents as data.
#[derive(Default)]
pub(crate) struct FunctionData {
    by_type: HashMap<Ty, DataId>,
    kinds: BTreeMap<DataId, FunctionDataType>,
    /// Declared types whose layouts were computed for this entry.
    pub(crate) declared: Vec<(ty::DataId, Vec<Ty>)>,
    /// Recursive functions whose result layout was used before the function was complete.
    pub(crate) promised: HashSet<FnId>,
    /// The number of specialisations in progress, by code and by the derivatives of a function inside itself around.
    pub(crate) making: HashMap<(*const Lambda, u8), usize>,
    /// Whether a code was added after a derivative that depends on the set of codes.
    pub(crate) late: bool,
}

impl FunctionData {
    /// The data types of functions.
    pub(crate) fn types(&self) -> HashSet<DataId> {
        self.kinds.keys().copied().collect()
    }

    /// The same codes, for specialising the entry again: nothing is written or sealed.
    pub(crate) fn again(mut self) -> FunctionData {
        for kind in self.kinds.values_mut() {
            (kind.apply, kind.sealed) = (BTreeMap::new(), false);
        }
        FunctionData { promised: HashSet::new(), making: HashMap::new(), late: false, ..self }
    }
}

/// Whether values of this type contain functions, other than inside declared data.
pub(crate) fn functional(t: &Ty) -> bool {
    match t {
        Ty::Fun(..) | Ty::Lin(..) => true,
        Ty::Tuple(ts) => ts.iter().any(functional),
        Ty::Record(r) => r.fields.iter().any(|f| functional(&f.1)),
        Ty::Array(_, e) => functional(e),
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str | Ty::Var(_) | Ty::Meta(_) | Ty::Data(..) => {
            false
        }
    }
}

/// Whether values of this type contain arrays of functions.
pub(crate) fn in_arrays(t: &Ty) -> bool {
    match t {
        Ty::Array(_, e) => functional(e),
        Ty::Tuple(ts) => ts.iter().any(in_arrays),
        Ty::Record(r) => r.fields.iter().any(|f| in_arrays(&f.1)),
        Ty::Unit
        | Ty::Bool
        | Ty::Int
        | Ty::Float
        | Ty::F32
        | Ty::Str
        | Ty::Var(_)
        | Ty::Meta(_)
        | Ty::Data(..)
        | Ty::Fun(..)
        | Ty::Lin(..) => false,
    }
}

impl Spec<'_> {
    /// The data type for functions of a given type.
    pub(crate) fn function_data(&mut self, t: &Ty) -> Attempt<DataId> {
        // A type variable without an instance has no values, so that any type will do.
        let mut vars = BTreeSet::new();
        tyvars(t, &mut vars);
        let ty = apply(&vars.into_iter().map(|v| (v, Ty::Int)).collect(), t);
        let Ty::Fun(arg, result) = &ty else { return Err(self.no("a function inside data")) };
        if let Some(d) = self.boxes.by_type.get(&ty) {
            return Ok(*d);
        }
        let id = self.p.add_data(DataDecl { name: "function".to_owned(), cons: Vec::new(), declared: None });
        let kind = FunctionDataType {
            arg: (**arg).clone(),
            result: (**result).clone(),
            apply: BTreeMap::new(),
            codes: Vec::new(),
            sealed: false,
        };
        self.boxes.kinds.insert(id, kind);
        self.boxes.by_type.insert(ty, id);
        Ok(id)
    }

    fn kind(&mut self, d: DataId) -> Attempt<&mut FunctionDataType> {
        if !self.boxes.kinds.contains_key(&d) {
            return Err(self.no("a function inside data that was made elsewhere"));
        }
        self.boxes
            .kinds
            .get_mut(&d)
            .ok_or_else(|| crate::Unsupported::new("a function inside data", adl_syntax::span::Span::default()))
    }

    /// The type of the functions that a data type represents.
    pub(crate) fn function_ty(&mut self, d: DataId) -> Attempt<Ty> {
        let kind = self.kind(d)?;
        Ok(Ty::Fun(Rc::new(kind.arg.clone()), Rc::new(kind.result.clone())))
    }

    /// Converts the functions in a value to data where a layout requires it.
    pub(crate) fn shaped(&mut self, value: Val, layout: &Layout) -> Attempt<Val> {
        if !value.has_fun() {
            return Ok(value);
        }
        match (value, layout) {
            (Val::Fun(f), Layout::Fun(d)) => self.boxed(&f, *d),
            (Val::Tuple(vs), Layout::Tuple(ls)) => {
                Ok(Val::Tuple(vs.into_iter().zip(ls).map(|(v, l)| self.shaped(v, l)).collect::<Attempt<_>>()?))
            }
            (Val::Record(fs), Layout::Record(ls)) => Ok(Val::Record(
                fs.into_iter().zip(ls).map(|((n, v), (_, l))| Ok((n, self.shaped(v, l)?))).collect::<Attempt<_>>()?,
            )),
            (v @ Val::Array(_), Layout::Array(e)) => {
                if self.layout_of_val(&v).is_ok_and(|have| have == *layout) {
                    return Ok(v);
                }
                let n = self.extent(&v, 0)?;
                self.each(n, &[v], Out::Collect, &mut |s, _, elems| s.shaped(elems[0].clone(), e))
            }
            _ => Err(self.no("a function inside data")),
        }
    }

    /// Converts all functions in a value of the given type to data.
    pub(crate) fn functions_as_data(&mut self, v: Val, t: &Ty) -> Attempt<Val> {
        if !v.has_fun() {
            return Ok(v);
        }
        let l = self.layout(t)?;
        self.shaped(v, &l)
    }

    /// Converts a function to data.
    fn boxed(&mut self, fun: &Rc<Fun>, id: DataId) -> Attempt<Val> {
        let plain = match &**fun {
            Fun::Boxed(_, from) if *from == id => return Ok(Val::Fun(fun.clone())),
            Fun::Boxed(..) => return Err(self.no("a function inside data that was made elsewhere")),
            Fun::Tagged(tag, fs) => return self.boxed_choice(*tag, fs, 0, id),
            _ => fun.clone(),
        };
        let t = self.function_ty(id)?;
        let Val::Fun(f) = self.instantiate(Val::Fun(plain), &t) else { return Err(self.no("a function inside data")) };
        let f = self.with_data_captured(&f)?;
        let reached = self.globals_of(&[Val::Fun(f.clone())]);
        let mut globals = Vec::new();
        for g in reached {
            globals.push((g, self.global_val(g)?));
        }
        let tag = self.code(id, &globals, &f)?;
        let fields: Vec<Var> = globals.iter().flat_map(|g| g.1.leaves()).chain(f.leaves()).collect();
        let x = self.b.one(Op::Construct { data: id, tag, fields }, IrTy::Data(id));
        Ok(Val::fun(Fun::Boxed(x, id)))
    }

    fn boxed_choice(&mut self, tag: Var, fs: &[Rc<Fun>], k: usize, d: DataId) -> Attempt<Val> {
        if k + 1 >= fs.len() {
            return self.boxed(&fs[k], d);
        }
        let n = self.int(k as i64);
        let c = self.b.cmp(adl_ir::Cmp::Eq, tag, n);
        self.branch_on(c, &mut |s| s.boxed(&fs[k], d), &mut |s| s.boxed_choice(tag, fs, k + 1, d))
    }

    /// The constructor number of a code, which is added if it is new.
    fn code(&mut self, id: DataId, globals: &[(GlobalId, Val)], fun: &Rc<Fun>) -> Attempt<u32> {
        let mut key = Key::new();
        globals.iter().for_each(|g| self.key_val(&g.1, &mut key));
        self.key_fun(fun, &mut key);
        let kind = self.kind(id)?;
        if let Some(k) = kind.codes.iter().position(|c| c.key == key) {
            return Ok(k as u32);
        }
        let (tag, sealed) = (kind.codes.len(), kind.sealed);
        self.boxes.late |= sealed;
        if tag >= MAX_CODES {
            return Err(self.no("functions that contain ever more functions"));
        }
        let fields: Vec<IrTy> =
            globals.iter().flat_map(|g| g.1.leaves()).chain(fun.leaves()).map(|v| self.b.ty(v)).collect();
        let mut decl = (**self.p.data(id)).clone();
        decl.cons.push((format!("code{tag}"), fields.clone()));
        self.p.set_data(id, decl);
        let code = CodeCase { key, globals: globals.to_vec(), fun: fun.clone(), fields };
        self.kind(id)?.codes.push(code);
        Ok(tag as u32)
    }

    /// The same function with its captured functions converted to data, so that functions which contain functions are
    /// finitely many.
    fn with_data_captured(&mut self, fun: &Rc<Fun>) -> Attempt<Rc<Fun>> {
        let captures = |vs: &[Val]| vs.iter().any(Val::has_fun);
        match &**fun {
            Fun::Closure(closure) if closure.env.iter().any(|(_, v)| v.has_fun()) => {
                let mut types = HashMap::new();
                match &closure.group {
                    Some(g) => g.iter().for_each(|(_, _, lam)| types.extend(local_types(lam))),
                    None => types.extend(local_types(&closure.lam)),
                }
                let mut env = Vec::new();
                for (l, v) in closure.env.iter() {
                    let t = types.get(l).map(|t| apply(&closure.subst, t)).filter(closed);
                    env.push((
                        *l,
                        match t {
                            Some(t) => self.functions_as_data(v.clone(), &t)?,
                            None => v.clone(),
                        },
                    ));
                }
                Ok(Rc::new(Fun::Closure(Closure { env: env.into(), ..closure.clone() })))
            }
            Fun::Partial(callee, args) if captures(args) => {
                let Fun::Closure(c) = &**callee else { return Ok(fun.clone()) };
                let mut own = Vec::new();
                for (k, v) in args.iter().enumerate() {
                    let t = k
                        .checked_sub(c.hidden.len())
                        .and_then(|k| c.lam.params.get(k))
                        .map(|p| apply(&c.subst, &p.ty))
                        .filter(closed);
                    own.push(match t {
                        Some(t) => self.functions_as_data(v.clone(), &t)?,
                        None => v.clone(),
                    });
                }
                Ok(Rc::new(Fun::Partial(self.with_data_captured(callee)?, own)))
            }
            _ => Ok(fun.clone()),
        }
    }

    /// Applies a function that is represented as data.
    pub(crate) fn apply_function_data(&mut self, boxed: Var, data_id: DataId, arg: Val) -> Attempt<Val> {
        let inside = self.early.inside;
        let kind = self.kind(data_id)?;
        let (arg_ty, result_ty) = (kind.arg.clone(), kind.result.clone());
        let known = kind.apply.get(&inside).map(|a| a.id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.p.reserve("apply");
                let apply = ApplyFunction { id, written: None, writing: false };
                self.kind(data_id)?.apply.insert(inside, apply);
                id
            }
        };
        let (from, to) = (self.layout(&arg_ty)?, self.layout(&result_ty)?);
        let arg = self.shaped(arg, &from)?;
        if self.layout_of_val(&arg)? != from {
            return Err(self.no("an argument that is laid out differently from its type"));
        }
        let target =
            IrTarget { id, globals: Rc::new([]), result: Self::build(&to, &mut |_| Var(u32::MAX)), tys: to.leaves() };
        self.emit_call(&target, &[Val::fun(Fun::Boxed(boxed, data_id)), arg], None, false)
    }

    /// Generates the apply functions until no code is new. Functions whose generation is in progress further out are
    /// skipped: the outer generation would overwrite the result without the newest codes.
    pub(crate) fn write_apply_functions(&mut self) -> Attempt<()> {
        loop {
            let open = |k: &FunctionDataType| {
                let mut all = k.apply.iter();
                all.find(|(_, a)| !a.writing && a.written != Some(k.codes.len())).map(|(inside, a)| (*inside, a.id))
            };
            let next = self.boxes.kinds.iter().find_map(|(d, k)| open(k).map(|(inside, id)| (*d, inside, id)));
            let Some((d, inside, id)) = next else { return Ok(()) };
            let outer = std::mem::replace(&mut self.early.inside, inside);
            self.write_apply(d, id)?;
            self.early.inside = outer;
        }
    }

    fn write_apply(&mut self, data_id: DataId, id: FnId) -> Attempt<()> {
        let inside = self.early.inside;
        let kind = self.kind(data_id)?;
        let (arg, result, codes) = (kind.arg.clone(), kind.result.clone(), kind.codes.len());
        self.progress(data_id, Some(codes), true)?;
        // Nothing may use the body before it covers all codes: a derivative of it inside one of the codes is rejected.
        self.p.set(id, Function::placeholder("apply"));
        let (from, to) = (self.layout(&arg)?, self.layout(&result)?);
        let f = &mut self.b.func;
        let x = f.fresh(IrTy::Data(data_id), false);
        let arg = Self::build(&from, &mut |t| f.fresh(t, false));
        let inputs = [Val::fun(Fun::Boxed(x, data_id)), arg];
        self.function("apply", id, &inputs, &[], ResultPromise::Layout(to.clone()), &mut |s, vals| {
            let Some(x) = vals[0].leaves().first().copied() else { return Err(s.no("a function without a value")) };
            s.apply_body(x, data_id, &vals[1], &result, &to)
        })?;
        if self.cache.effectful.contains(&id) {
            return Err(self.no("output or input in a function inside data"));
        }
        let covered = self.kind(data_id)?.apply.get(&inside).and_then(|a| a.written);
        self.progress(data_id, covered, false)
    }

    /// Records how far the body of the apply function is.
    fn progress(&mut self, data_id: DataId, written: Option<usize>, writing: bool) -> Attempt<()> {
        let inside = self.early.inside;
        let apply = self.kind(data_id)?.apply.get_mut(&inside);
        apply.into_iter().for_each(|a| (a.written, a.writing) = (written, writing));
        Ok(())
    }

    fn apply_body(&mut self, boxed: Var, id: DataId, arg: &Val, result: &Ty, to: &Layout) -> Attempt<Val> {
        if self.kind(id)?.codes.is_empty() {
            return Ok(self.fail("a function that is not there is applied"));
        }
        let (mut branches, mut params): (Vec<(Block, Val)>, Vec<Vec<Var>>) = (Vec::new(), Vec::new());
        let outer = self.globals.clone();
        // A branch may add codes to this very type. Each gets a branch, so that the body is complete before it is
        // optimised.
        while let Some(c) = self.kind(id)?.codes.get(branches.len()).cloned() {
            let ps: Vec<Var> = c.fields.iter().map(|t| self.b.func.fresh(t.clone(), false)).collect();
            let mut next = ps.iter().copied();
            let mut field = |v: Var| next.next().unwrap_or(v);
            let globals: BTreeMap<GlobalId, Val> = c.globals.iter().map(|(g, v)| (*g, v.map(&mut field))).collect();
            let f = Rc::new(c.fun.map(&mut field));
            self.globals = Rc::new(globals);
            branches.push(self.block(&mut |s| {
                let v = s.call(&f, vec![arg.clone()], Some(result.clone()))?;
                s.shaped(v, to)
            })?);
            params.push(ps);
        }
        self.globals = outer;
        self.progress(id, Some(branches.len()), true)?;
        self.switch(boxed, branches, params)
    }

    /// Freezes the types before a derivative, which needs them complete.
    pub(crate) fn freeze_function_data(&mut self) -> Attempt<()> {
        self.write_apply_functions()?;
        if self.boxes.late {
            // Functions that an earlier derivative has made lack these codes. The entry is specialised again.
            return Err(self.no("functions inside data that are made after a derivative inside"));
        }
        self.boxes.kinds.values_mut().for_each(|k| k.sealed = true);
        Ok(())
    }

    /// Forgets the functions made for this entry.
    pub(crate) fn discard_new(&mut self) {
        self.new.drain(..).for_each(|k| drop(self.cache.made.remove(&k)));
    }

    /// Forgets everything that depends on this entry's functional data types.
    pub(crate) fn discard_function_data(&mut self) {
        if self.boxes.kinds.is_empty() {
            return;
        }
        self.discard_new();
        for key in self.boxes.declared.drain(..) {
            self.cache.datas.remove(&key);
        }
    }

    /// Whether a layout contains functions, including inside declared data.
    pub(crate) fn holds_functions(&self, l: &Layout) -> bool {
        let (mut todo, mut seen) = (vec![l.clone()], HashSet::new());
        while let Some(l) = todo.pop() {
            match l {
                Layout::Fun(_) => return true,
                Layout::Leaf(_) | Layout::Unit => {}
                Layout::Tuple(ls) => todo.extend(ls),
                Layout::Record(fs) => todo.extend(fs.into_iter().map(|f| f.1)),
                Layout::Array(e) => todo.push((*e).clone()),
                Layout::Data(d) => {
                    if let (true, Some(cons)) = (seen.insert(d), self.cache.layouts.get(&d)) {
                        todo.extend(cons.iter().flat_map(|c| c.1.iter().cloned()));
                    }
                }
            }
        }
        false
    }

    /// Whether the same code is being specialised at least twice at the same time, for different captured functions.
    pub(crate) fn grows(&self, lam: &Rc<Lambda>) -> bool {
        self.boxes.making.get(&(Rc::as_ptr(lam), self.early.inside)).is_some_and(|n| *n >= 2)
    }

    /// An array of functions as data.
    pub(crate) fn stack_function_data(&mut self, vals: &[Val], elem: &Ty) -> Attempt<Val> {
        let l = self.layout(elem)?;
        let vals = vals.iter().map(|v| self.shaped(v.clone(), &l)).collect::<Attempt<Vec<_>>>()?;
        let rows: Vec<Vec<Var>> = vals.iter().map(Val::leaves).collect();
        let mut outs = Vec::new();
        for (k, x) in rows[0].iter().enumerate() {
            let t = self.b.ty(*x).array(1);
            outs.push(self.b.one(Op::ArrayLit { elems: rows.iter().map(|r| r[k]).collect(), shape: None }, t));
        }
        Ok(Val::array_of(vals[0].with(&outs)))
    }
}
