//! Branches. Each computes its value in its own block, and the values are converted to one common layout.

use crate::key::Key;
use crate::val::{Fun, KnownRep, Val};
use crate::{Attempt, Spec};
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Stmt, Trip, Ty as IrTy, Var};
use adl_typing::core::Expr;
use adl_typing::ty::Ty;
use std::rc::Rc;

/// The source of a branch's result.
#[derive(Clone)]
enum ResultSource {
    Var(Var),
    /// Not used in this branch: zero.
    Zero,
    /// The number of a candidate function.
    Tag(i64),
    /// The branch's candidate number, or an array of such numbers, mapped to the common numbering.
    Remap(Var, Vec<i64>),
    /// An array with the extents of another: of the number of the only candidate function.
    Tags(Var, i64),
    /// Not used in this branch: an array with the extents of another, of empty arrays or of zeros.
    Filler(Var),
}

/// The results of all branches: for each, its type and its source in each branch.
#[derive(Default)]
struct JoinedResults {
    /// Whether a function gets a tag even if there is only one candidate.
    always: bool,
    /// The number of axes of the arrays around the value.
    axes: u32,
    tys: Vec<IrTy>,
    src: Vec<Vec<ResultSource>>,
}

impl JoinedResults {
    fn leaf(&mut self, ty: IrTy, src: Vec<ResultSource>) -> Var {
        self.tys.push(ty);
        self.src.push(src);
        Var(u32::MAX)
    }
}

/// A function in a branch: the common numbers of its candidates.
enum CandidateSet {
    None,
    One(usize, Rc<Fun>),
    Many(Var, Vec<usize>, Vec<Rc<Fun>>),
}

/// Computes a branch's value.
pub(crate) type Make<'f, 's> = &'f mut dyn FnMut(&mut Spec<'s>) -> Attempt<Val>;

impl<'s> Spec<'s> {
    /// `if c then yes else no` with a condition of Core.
    pub(crate) fn choose(&mut self, c: &Expr, yes: Make<'_, 's>, no: Make<'_, 's>) -> Attempt<Val> {
        match self.eval(c)? {
            Val::Bottom => Ok(Val::Bottom),
            c => {
                let c = self.leaf(&c)?;
                self.branch_on(c, yes, no)
            }
        }
    }

    /// `if c then yes else no`.
    pub(crate) fn branch_on(&mut self, c: Var, yes: Make<'_, 's>, no: Make<'_, 's>) -> Attempt<Val> {
        match self.known.literals.get(&c) {
            Some(Lit::Bool(true)) => return yes(self),
            Some(Lit::Bool(false)) => return no(self),
            _ => {}
        }
        let a = self.block(yes)?;
        let b = self.block(no)?;
        let (mut blocks, template, tys) = self.join(vec![a, b])?;
        let (Some(b), Some(a)) = (blocks.pop(), blocks.pop()) else { return Err(self.no("no branches")) };
        let (outs, _) = self.b.emit(Op::If(c, Box::new(a), Box::new(b)), &tys, &[]);
        Ok(template.with(&outs))
    }

    /// Opens a block whose results are set later, and returns it with its value.
    pub(crate) fn block(&mut self, f: Make<'_, 's>) -> Attempt<(Block, Val)> {
        let (span, mark) = (self.b.span, self.sizes.mark());
        self.b.open();
        let v = f(self)?;
        self.b.span = span;
        self.sizes.forget(mark);
        Ok((self.b.close(Vec::new(), Vec::new()), v))
    }

    /// Converts blocks to a common result layout. Returns the blocks, the layout as a value, and the result types.
    pub(crate) fn join(&mut self, branches: Vec<(Block, Val)>) -> Attempt<(Vec<Block>, Val, Vec<IrTy>)> {
        let vals: Vec<Option<Val>> =
            branches.iter().map(|(_, v)| if matches!(v, Val::Bottom) { None } else { Some(v.clone()) }).collect();
        let mut joined_results = JoinedResults::default();
        let refs: Vec<Option<&Val>> = vals.iter().map(Option::as_ref).collect();
        let template = self.unify(&refs, &mut joined_results)?;
        let mut blocks = Vec::new();
        for (k, (mut block, _)) in branches.into_iter().enumerate() {
            for (ty, src) in joined_results.tys.iter().zip(&joined_results.src) {
                let v = self.source(&mut block, ty, &src[k]);
                block.results.push(v);
            }
            blocks.push(block);
        }
        Ok((blocks, template, joined_results.tys))
    }

    fn append(&mut self, block: &mut Block, op: Op, ty: IrTy) -> Var {
        let v = self.b.func.fresh(ty, false);
        block.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.b.span });
        v
    }

    fn zero_in(&mut self, block: &mut Block, ty: &IrTy) -> Var {
        match ty {
            IrTy::Str => self.append(block, Op::Lit(Lit::Str("".into())), IrTy::Str),
            IrTy::Bool => self.append(block, Op::Lit(Lit::Bool(false)), IrTy::Bool),
            t => self.append(block, Op::Zero(t.clone()), t.clone()),
        }
    }

    fn source(&mut self, block: &mut Block, ty: &IrTy, src: &ResultSource) -> Var {
        match src {
            ResultSource::Var(v) => *v,
            ResultSource::Zero => self.zero_in(block, ty),
            ResultSource::Tag(n) => self.append(block, Op::Lit(Lit::I64(*n)), IrTy::I64),
            ResultSource::Tags(like, n) => {
                let n = self.append(block, Op::Lit(Lit::I64(*n)), IrTy::I64);
                self.filled_like(block, *like, ty, n)
            }
            ResultSource::Filler(like) => {
                let zero = self.zero_in(block, ty.scalar());
                self.filled_like(block, *like, ty, zero)
            }
            ResultSource::Remap(tag, to) if self.b.ty(*tag).rank() > 0 => self.remap_all(block, *tag, to),
            ResultSource::Remap(tag, to) => {
                let mut out = self.append(block, Op::Lit(Lit::I64(to[0])), IrTy::I64);
                for (i, n) in to.iter().enumerate().skip(1) {
                    let i = self.append(block, Op::Lit(Lit::I64(i as i64)), IrTy::I64);
                    let n = self.append(block, Op::Lit(Lit::I64(*n)), IrTy::I64);
                    let c = self.append(block, Op::Cmp(Cmp::Eq, *tag, i), IrTy::Bool);
                    out = self.append(block, Op::Select(c, n, out), IrTy::I64);
                }
                out
            }
        }
    }

    /// An array of type `ty` with the extents of `like`, of empty arrays or of one number.
    fn filled_like(&mut self, block: &mut Block, like: Var, ty: &IrTy, number: Var) -> Var {
        let (axes, mut made) = (self.b.ty(like).rank(), number);
        for k in (0..ty.rank()).rev() {
            let n = match k < axes {
                true => self.append(block, Op::Dim(like, k), IrTy::I64),
                false => self.append(block, Op::Lit(Lit::I64(0)), IrTy::I64),
            };
            let more = self.b.ty(made).array(1);
            made = self.append(block, Op::Replicate { n, a: made }, more);
        }
        made
    }

    /// Maps each number of an array.
    fn remap_all(&mut self, block: &mut Block, tags: Var, to: &[i64]) -> Var {
        let ty = self.b.ty(tags);
        let n = self.append(block, Op::Dim(tags, 0), IrTy::I64);
        let (i, tag) = (self.b.func.fresh(IrTy::I64, false), self.b.func.fresh(ty.elem(), false));
        let mut body = Block { params: vec![i, tag], ..Block::default() };
        let mapped = self.source(&mut body, &ty.elem(), &ResultSource::Remap(tag, to.to_vec()));
        body.results.push(mapped);
        let each = Loop { xs: vec![tags], outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
        let (all, count) = (self.b.func.fresh(ty, false), self.b.func.fresh(IrTy::I64, false));
        let (outs, op) = (vec![all, count], Op::Loop(Box::new(each)));
        block.stmts.push(Stmt { outs, lin_outs: Vec::new(), op, span: self.b.span });
        all
    }

    /// The common layout of some values (`None` for a branch without a value).
    fn unify(&mut self, vs: &[Option<&Val>], joined_results: &mut JoinedResults) -> Attempt<Val> {
        let Some(first) = vs.iter().flatten().next().copied() else { return Ok(Val::Bottom) };
        match first {
            Val::Unit | Val::Bottom => Ok(first.clone()),
            Val::Rep(r) => Ok(Val::Rep(Rc::new(unsized_rep(r)))),
            Val::Leaf(x) => self.unify_leaf(*x, vs, joined_results).map(Val::Leaf),
            Val::Data(x, d) => self.unify_leaf(*x, vs, joined_results).map(|v| Val::Data(v, *d)),
            Val::Tuple(ts) => {
                let parts = (0..ts.len()).map(|i| {
                    self.unify_part(vs, joined_results, &|v| match v {
                        Val::Tuple(ts) => ts.get(i),
                        _ => None,
                    })
                });
                Ok(Val::Tuple(parts.collect::<Attempt<_>>()?))
            }
            Val::Record(fs) => {
                let parts = (0..fs.len()).map(|i| {
                    let v = self.unify_part(vs, joined_results, &|v| match v {
                        Val::Record(gs) => gs.get(i).map(|f| &f.1),
                        _ => None,
                    });
                    Ok((fs[i].0, v?))
                });
                Ok(Val::Record(parts.collect::<Attempt<_>>()?))
            }
            Val::Array(_) => {
                joined_results.axes += 1;
                let e = self.unify_part(vs, joined_results, &|v| match v {
                    Val::Array(e) => Some(e),
                    _ => None,
                });
                joined_results.axes -= 1;
                Ok(Val::Array(Box::new(e?)))
            }
            Val::Fun(_) => self.unify_fun(vs, joined_results),
        }
    }

    fn unify_part<'v>(
        &mut self,
        vs: &[Option<&'v Val>],
        joined_results: &mut JoinedResults,
        part: &dyn Fn(&'v Val) -> Option<&'v Val>,
    ) -> Attempt<Val> {
        let mut parts = Vec::new();
        for v in vs {
            parts.push(match v {
                None => None,
                Some(v) => match part(v) {
                    Some(p) => Some(p),
                    None => return Err(self.no("branches whose values are laid out differently")),
                },
            });
        }
        self.unify(&parts, joined_results)
    }

    /// An array of elements that contain functions: for each element the candidate's number, and the values that the
    /// candidates capture.
    pub(crate) fn stack_tagged_functions(&mut self, vals: &[Val], elem: Option<&Ty>) -> Attempt<Val> {
        let mut joined_results = JoinedResults { always: true, ..JoinedResults::default() };
        let refs: Vec<Option<&Val>> = vals.iter().map(Some).collect();
        let made = self.unify(&refs, &mut joined_results);
        let arrays = |(ty, src): (&IrTy, &Vec<ResultSource>)| {
            ty.rank() > 0 && src.iter().any(|s| matches!(s, ResultSource::Zero | ResultSource::Filler(_)))
        };
        let template = match (made, elem) {
            (Ok(t), _) if !joined_results.tys.iter().zip(&joined_results.src).any(arrays) => t,
            (_, Some(t)) if crate::types::closed(t) => return self.stack_function_data(vals, t),
            (Err(e), _) => return Err(e),
            _ => return Err(self.no("an array of functions that capture arrays")),
        };
        let mut outs = Vec::new();
        for (ty, src) in joined_results.tys.iter().zip(&joined_results.src) {
            let mut made = Block::default();
            let elems = src.iter().map(|s| self.source(&mut made, ty, s)).collect();
            made.stmts.into_iter().for_each(|s| self.b.push(s));
            let t = ty.array(1);
            outs.push(self.b.one(Op::ArrayLit { elems, shape: None }, t));
        }
        Ok(Val::array_of(template.with(&outs)))
    }

    /// Gives each function in a value a candidate number, so that an array of such values has a length.
    pub(crate) fn tagged(&mut self, v: &Val) -> Val {
        match v {
            Val::Fun(f) if !matches!(&**f, Fun::Tagged(..) | Fun::Boxed(..)) => {
                let first = self.int(0);
                Val::fun(Fun::Tagged(first, vec![f.clone()]))
            }
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| self.tagged(v)).collect()),
            Val::Record(fs) => Val::Record(fs.iter().map(|(n, v)| (*n, self.tagged(v))).collect()),
            Val::Unit | Val::Leaf(_) | Val::Array(_) | Val::Data(..) | Val::Fun(_) | Val::Rep(_) | Val::Bottom => {
                v.clone()
            }
        }
    }

    fn unify_leaf(&mut self, first: Var, vs: &[Option<&Val>], j: &mut JoinedResults) -> Attempt<Var> {
        let ty = self.b.ty(first);
        let mut src = Vec::new();
        for v in vs {
            src.push(match v {
                None => ResultSource::Zero,
                Some(Val::Leaf(x) | Val::Data(x, _)) if self.b.ty(*x) == ty => ResultSource::Var(*x),
                Some(_) => return Err(self.no("branches whose values are laid out differently")),
            });
        }
        Ok(j.leaf(ty, src))
    }

    fn unify_fun(&mut self, vs: &[Option<&Val>], joined_results: &mut JoinedResults) -> Attempt<Val> {
        let mut cands: Vec<(Key, Rc<Fun>)> = Vec::new();
        let mut choices = Vec::new();
        for v in vs {
            choices.push(match v {
                None => CandidateSet::None,
                Some(Val::Fun(f)) => match &**f {
                    Fun::Tagged(tag, fs) => {
                        let at = fs.iter().map(|f| self.candidate(f, &mut cands)).collect();
                        CandidateSet::Many(*tag, at, fs.clone())
                    }
                    _ => CandidateSet::One(self.candidate(f, &mut cands), f.clone()),
                },
                Some(_) => return Err(self.no("branches whose values are laid out differently")),
            });
        }
        let tags = IrTy::I64.array(joined_results.axes);
        // The numbers of functions in arrays say how many there are.
        let numbered = joined_results.axes > 0 && choices.iter().any(|c| matches!(c, CandidateSet::Many(..)));
        let tagged = numbered || cands.len() > 1 || joined_results.always && joined_results.axes == 0;
        let sources = choices.iter().map(|c| number(c, joined_results.axes)).collect();
        let tag = tagged.then(|| joined_results.leaf(tags, sources));
        let mut funs = Vec::new();
        for (k, (_, f)) in cands.iter().enumerate() {
            let leaves: Vec<Option<Vec<Var>>> = choices.iter().map(|c| chosen(c, k).map(|f| f.leaves())).collect();
            let absent: Vec<ResultSource> = choices.iter().map(|c| unused(c, joined_results.axes)).collect();
            let tys: Vec<IrTy> = f.leaves().iter().map(|v| self.b.ty(*v)).collect();
            let mut i = 0;
            funs.push(Rc::new(f.map(&mut |_| {
                i += 1;
                let sources = leaves.iter().zip(&absent);
                let src = sources.map(|(l, no)| l.as_ref().map_or(no.clone(), |l| ResultSource::Var(l[i - 1])));
                joined_results.leaf(tys[i - 1].clone(), src.collect())
            })));
        }
        Ok(Val::Fun(match (tag, funs.len()) {
            (None, _) => funs.swap_remove(0),
            (Some(tag), _) => Rc::new(Fun::Tagged(tag, funs)),
        }))
    }

    fn candidate(&mut self, f: &Rc<Fun>, cands: &mut Vec<(Key, Rc<Fun>)>) -> usize {
        let mut key = Key::new();
        self.key_fun(f, &mut key);
        match cands.iter().position(|c| c.0 == key) {
            Some(i) => i,
            None => {
                cands.push((key, f.clone()));
                cands.len() - 1
            }
        }
    }
}

/// An array of functions as a branch has it, from which the extents are taken.
fn functions(c: &CandidateSet) -> Option<Var> {
    match c {
        CandidateSet::None => None,
        CandidateSet::One(_, f) => f.leaves().first().copied(),
        CandidateSet::Many(tags, ..) => Some(*tags),
    }
}

/// The numbers of a branch's functions, in the arrays of `axes` axes in which they are.
fn number(c: &CandidateSet, axes: u32) -> ResultSource {
    match (c, functions(c).filter(|_| axes > 0)) {
        (CandidateSet::None, _) => ResultSource::Zero,
        (CandidateSet::One(k, _), Some(like)) => ResultSource::Tags(like, *k as i64),
        (CandidateSet::One(k, _), None) => ResultSource::Tag(*k as i64),
        (CandidateSet::Many(tag, at, _), _) if at.iter().enumerate().all(|(k, to)| k == *to) => ResultSource::Var(*tag),
        (CandidateSet::Many(tag, at, _), _) => ResultSource::Remap(*tag, at.iter().map(|k| *k as i64).collect()),
    }
}

/// What stands for the captured values of a function that is no candidate in this branch.
fn unused(c: &CandidateSet, axes: u32) -> ResultSource {
    functions(c).filter(|_| axes > 0).map_or(ResultSource::Zero, ResultSource::Filler)
}

fn chosen(c: &CandidateSet, k: usize) -> Option<&Rc<Fun>> {
    match c {
        CandidateSet::None => None,
        CandidateSet::One(i, f) => (*i == k).then_some(f),
        CandidateSet::Many(_, at, fs) => at.iter().position(|i| *i == k).map(|i| &fs[i]),
    }
}

/// Removes sizes on which branches may disagree.
fn unsized_rep(r: &KnownRep) -> KnownRep {
    match r {
        KnownRep::Array(_, e) => KnownRep::Array(crate::val::ArraySize::Unknown, Rc::new(unsized_rep(e))),
        KnownRep::Tuple(ps) => KnownRep::Tuple(ps.iter().map(|p| Rc::new(unsized_rep(p))).collect()),
        KnownRep::Record(fs) => KnownRep::Record(fs.iter().map(|(n, p)| (*n, Rc::new(unsized_rep(p)))).collect()),
        KnownRep::Base(_) | KnownRep::Other => r.clone(),
    }
}
