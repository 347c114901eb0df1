//! Expressions as documents.

use super::Formatter;
use super::doc::{D, Doc, align, choice, concat, flat, group, hard, line, nest, nil, space};
use super::types::TypeContext;
use crate::ast::{Expr, ExprKind, Generator, IndexArg, Lit, LoopKind, Pat, Signature, Slice, Stmt};
use crate::span::Span;
use std::rc::Rc;

/// An expression's document, and its form when it hangs at the end of a line: `[`, `(fun x ->` or `loop ... do` stay on
/// that line, and the rest follows below, indented.
pub(super) struct HangingDoc {
    pub(super) doc: D,
    pub(super) hanging: Option<D>,
    /// Whether hanging is preferred to a new line.
    pub(super) bracket: bool,
}

impl HangingDoc {
    pub(super) fn plain(doc: D) -> HangingDoc {
        HangingDoc { doc, hanging: None, bracket: false }
    }

    /// `content` on one line, or broken; the broken form can hang.
    pub(super) fn hangs(content: D) -> HangingDoc {
        HangingDoc { doc: group(content.clone()), hanging: Some(content), bracket: false }
    }
}

impl Formatter<'_> {
    pub(super) fn expr(&mut self, e: &Expr) -> D {
        self.build(e).doc
    }

    pub(super) fn build(&mut self, e: &Expr) -> HangingDoc {
        super::guarded(|| self.build_here(e))
    }

    fn build_here(&mut self, expr: &Expr) -> HangingDoc {
        match &expr.kind {
            ExprKind::Lit(Lit::Unit) => {
                let open = self.tokens.sign("(");
                HangingDoc::plain(concat(vec![open, self.tokens.sign(")")]))
            }
            ExprKind::Lit(Lit::Float(_)) => HangingDoc::plain(self.number(expr.span)),
            ExprKind::Lit(_) | ExprKind::Interp(_) | ExprKind::Error => {
                HangingDoc::plain(self.tokens.verbatim(expr.span))
            }
            ExprKind::Var(name) => HangingDoc::plain(self.tokens.word(expr.span, name.as_str())),
            ExprKind::Con(module, name) => HangingDoc::plain(self.qualified(*module, *name)),
            ExprKind::Section(op) => {
                let (open, op) = (self.tokens.sign("("), self.tokens.sign(op.text()));
                HangingDoc::plain(concat(vec![open, op, self.tokens.sign(")")]))
            }
            ExprKind::App(function, args) => self.application(function, args),
            ExprKind::Bin(..) => HangingDoc::plain(self.operators(expr, false)),
            ExprKind::Neg(operand) => HangingDoc::plain(self.negation(operand)),
            ExprKind::Fun(params, body) => self.function("fun", params, body),
            ExprKind::Lin(param, body) => self.function("lin", std::slice::from_ref(&**param), body),
            ExprKind::Block(stmts) => HangingDoc::plain(self.block_operand(stmts, expr.span)),
            ExprKind::If(..) => HangingDoc::plain(self.conditional(expr)),
            ExprKind::Match(scrutinee, arms) => self.match_expression(scrutinee, arms, expr.span),
            ExprKind::Tuple(parts) => self.tuple(parts, expr.span),
            ExprKind::Paren(inner) => self.parentheses(inner),
            ExprKind::Record(fields) => self.record(fields, expr.span),
            ExprKind::Update(base, changes) => self.update(base, changes, expr.span),
            ExprKind::Field(base, name) => {
                let base = self.expr(base);
                let dot = self.tokens.sign(".");
                HangingDoc::plain(concat(vec![base, dot, self.ident(*name)]))
            }
            ExprKind::Array(parts) => self.elements("[", parts, "]", expr.span),
            ExprKind::Index(base, args) => {
                let base = self.expr(base);
                let args = self.list("[", args, "]", Self::index);
                HangingDoc::plain(concat(vec![base, args]))
            }
            ExprKind::For(generators, body) => self.comprehension(generators, body),
            ExprKind::Iverson(condition) => {
                let open = self.tokens.sign("[|");
                let condition = self.expr(condition);
                HangingDoc::plain(group(concat(vec![open, space(), condition, space(), self.tokens.sign("|]")])))
            }
            ExprKind::Loop(pat, init, kind, body) => {
                let one_line = self.tokens.on_one_line(expr.span);
                self.loop_expression(pat, init, kind, body, one_line)
            }
            ExprKind::Ann(inner, signature) => {
                let open = self.tokens.sign("(");
                let inner = self.annotated(inner, signature);
                HangingDoc::plain(group(concat(vec![open, inner, self.tokens.sign(")")])))
            }
        }
    }

    fn annotated(&mut self, inner: &Expr, signature: &Signature) -> D {
        let inner = self.expr(inner);
        let colon = self.tokens.sign(":");
        let signature = self.signature(signature);
        concat(vec![inner, space(), colon, space(), signature])
    }

    /// A part of a tuple, in which an annotation needs no parentheses of its own.
    pub(super) fn part(&mut self, e: &Expr) -> D {
        match &e.kind {
            ExprKind::Ann(inner, signature) => self.annotated(inner, signature),
            _ => self.expr(e),
        }
    }

    // Application and operators.

    /// An application has one of three layouts: all on one line; one argument hanging at the end of the line; or each
    /// argument on its own line. The hanging argument is the last one, or a function before small ones (`map (fun x ->
    /// ...) xs`).
    fn application(&mut self, function: &Expr, args: &[Expr]) -> HangingDoc {
        let mut built = vec![self.build(function)];
        for arg in args {
            let arg = self.build(arg);
            built.push(arg);
        }
        let docs: Vec<D> = built.iter().map(|b| b.doc.clone()).collect();
        let one_line = spaced(&docs);
        let after_function = args.iter().rposition(|a| !is_small(a)).filter(|i| is_function(&args[*i]));
        let hangs = after_function.unwrap_or(args.len().saturating_sub(1)) + 1;
        let others_hang = built.iter().enumerate().any(|(i, b)| i != hangs && b.hanging.is_some());
        // Small arguments fill lines, others get a line each.
        let fill = !built.iter().skip(1).zip(args).any(|(b, arg)| b.hanging.is_some() && !is_block(arg))
            && built[0].hanging.is_none();
        let below = if fill { filled(&docs[1..], args) } else { docs[1..].iter().map(|d| below(d.clone())).collect() };
        let broken = concat(vec![docs[0].clone(), nest(concat(below))]);
        let hanging = built.get_mut(hangs).and_then(|b| b.hanging.take()).filter(|_| !others_hang);
        let Some(hanging) = hanging else {
            // A text that is too long on a line of its own, too, stays where it is.
            let Some((text, head)) = docs.split_last().filter(|_| args.last().is_some_and(is_text)) else {
                return HangingDoc::plain(choice(vec![one_line, broken]));
            };
            let rows = Rc::new(Doc::Rows(vec![(0, spaced(head)), (super::INDENT, text.clone())]));
            return HangingDoc::plain(choice(vec![one_line.clone(), rows, one_line]));
        };
        if hangs < args.len() && !args.get(hangs - 1).is_some_and(|arg| self.has_lines(arg)) {
            let rows = docs.iter().enumerate().map(|(i, d)| (if i > 0 { super::INDENT } else { 0 }, d.clone()));
            return HangingDoc::plain(choice(vec![one_line, Rc::new(Doc::Rows(rows.collect())), broken]));
        }
        let mut parts = vec![flat(spaced(&docs[..hangs])), space(), hanging];
        for doc in &docs[hangs + 1..] {
            parts.extend([space(), flat(doc.clone())]);
        }
        let hanging = concat(parts);
        let doc = choice(vec![one_line, hanging.clone(), broken]);
        HangingDoc { doc, hanging: Some(hanging), bracket: false }
    }

    /// A function in parentheses whose body takes lines of its own.
    fn has_lines(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Paren(inner) => self.has_lines(inner),
            ExprKind::Fun(_, body) | ExprKind::Lin(_, body) => match &body.kind {
                ExprKind::Paren(_) => is_block(body) && !self.tokens.on_one_line(body.span),
                ExprKind::Block(_) | ExprKind::Match(..) | ExprKind::Loop(..) => true,
                ExprKind::If(..) | ExprKind::For(..) | ExprKind::Fun(..) | ExprKind::Lin(..) => true,
                _ => false,
            },
            _ => false,
        }
    }

    // Functions, loops.

    fn function(&mut self, word: &str, params: &[Pat], body: &Expr) -> HangingDoc {
        let word = self.tokens.sign(word);
        let params = self.params(params);
        let arrow = self.tokens.sign("->");
        let body = self.body(body);
        HangingDoc::hangs(concat(vec![word, params, space(), arrow, body]))
    }

    /// A block after `->`, `do` and the like: on the same line or indented below.
    pub(super) fn body(&mut self, expr: &Expr) -> D {
        match &expr.kind {
            ExprKind::Block(stmts) if !self.stays_on_one_line(stmts, expr.span) => {
                let stmts = self.stmts(stmts);
                nest(concat(vec![hard(), stmts]))
            }
            // `-> (let` on several lines hangs, as it does behind `=`.
            ExprKind::Paren(_) if is_block(expr) => {
                let HangingDoc { doc, hanging, .. } = self.build(expr);
                hanging.map_or_else(|| nest(concat(vec![line(), doc])), |hanging| concat(vec![space(), hanging]))
            }
            _ => {
                let body = self.entry(expr);
                nest(concat(vec![line(), body]))
            }
        }
    }

    /// A block that is always on its own lines.
    fn body_below(&mut self, e: &Expr) -> D {
        let entries = match &e.kind {
            ExprKind::Block(stmts) => self.stmts(stmts),
            _ => self.entry(e),
        };
        nest(concat(vec![hard(), entries]))
    }

    fn comprehension(&mut self, generators: &[Generator], body: &Expr) -> HangingDoc {
        let mut head = vec![self.tokens.sign("for"), space()];
        for (i, generator) in generators.iter().enumerate() {
            if i > 0 {
                head.extend([self.tokens.sign(","), space()]);
            }
            match generator {
                Generator::Index(name, bound) => {
                    head.push(self.ident(*name));
                    if let Some(bound) = bound {
                        head.extend([space(), self.tokens.sign("<"), space(), self.expr(bound)]);
                    }
                }
                Generator::Element(pat, source) => head.extend(self.pattern_in(pat, source)),
            }
        }
        head.extend([space(), self.tokens.sign("->")]);
        let body = self.body(body);
        HangingDoc::hangs(concat(vec![concat(head), body]))
    }

    /// `p in e`.
    fn pattern_in(&mut self, pat: &Pat, source: &Expr) -> [D; 5] {
        let pat = self.pat(pat, TypeContext::Top);
        [pat, space(), self.tokens.sign("in"), space(), self.expr(source)]
    }

    fn loop_expression(&mut self, pat: &Pat, init: &Expr, kind: &LoopKind, body: &Expr, one_line: bool) -> HangingDoc {
        let mut head = vec![self.tokens.sign("loop"), space(), self.pat(pat, TypeContext::Top), space()];
        head.extend([self.tokens.sign("="), space(), self.expr(init)]);
        match kind {
            LoopKind::For(name, bound) => {
                head.extend([line(), self.tokens.sign("for"), space(), self.ident(*name), space()]);
                head.extend([self.tokens.sign("<"), space(), self.expr(bound)]);
            }
            LoopKind::In(pat, source) => {
                head.extend([line(), self.tokens.sign("for"), space()]);
                head.extend(self.pattern_in(pat, source));
            }
            LoopKind::While(condition) => {
                head.extend([line(), self.tokens.sign("while"), space(), self.expr(condition)]);
            }
        }
        head.extend([space(), self.tokens.sign("do")]);
        let body = match one_line {
            true => self.body(body),
            false => self.body_below(body),
        };
        HangingDoc::hangs(concat(vec![group(nest(concat(head))), body]))
    }

    // if

    /// On one line; or each branch on its keyword's line; or all branches indented below.
    fn conditional(&mut self, expr: &Expr) -> D {
        let (mut broken, mut rows, mut row) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = expr;
        while let ExprKind::If(condition, then, otherwise) = &rest.kind {
            let head = [self.tokens.sign("if"), space(), nest(self.expr(condition)), space(), self.tokens.sign("then")];
            let then = self.body(then);
            broken.extend(head.iter().cloned().chain([then.clone()]));
            row.extend(head.into_iter().chain([then]));
            rows.push(std::mem::take(&mut row));
            let Some(otherwise) = otherwise else { break };
            let word = self.tokens.sign("else");
            broken.extend([line(), word.clone()]);
            row.push(word);
            let commented = self.tokens.first_comment_before(otherwise.span.lo).is_some();
            if matches!(otherwise.kind, ExprKind::If(..)) && !commented {
                broken.push(space());
                row.push(space());
            } else {
                let body = self.body(otherwise);
                broken.push(body.clone());
                row.push(body);
                rows.push(std::mem::take(&mut row));
            }
            if commented {
                break;
            }
            rest = otherwise;
        }
        let broken = concat(broken);
        let is_chain = rows.len() > 2 && !self.tokens.on_one_line(expr.span);
        let rows = Rc::new(Doc::Rows(rows.into_iter().map(|row| (0, concat(row))).collect()));
        choice(if is_chain { vec![rows, broken] } else { vec![broken.clone(), rows, broken] })
    }

    // Brackets.

    fn parentheses(&mut self, inner: &Expr) -> HangingDoc {
        let open = self.tokens.sign("(");
        match &inner.kind {
            ExprKind::Block(stmts) => {
                let sequence = !matches!(stmts.first(), Some(Stmt::Let(..)));
                let hangs = !sequence && !self.stays_on_one_line(stmts, inner.span);
                let entries = match (sequence, hangs) {
                    (true, _) => self.sequence(stmts),
                    (false, true) => self.stmts(stmts),
                    (false, false) => self.block_operand(stmts, inner.span),
                };
                let close = self.tokens.sign(")");
                let hanging = hangs
                    .then(|| concat(vec![open.clone(), nest(concat(vec![hard(), entries.clone()])), close.clone()]));
                HangingDoc { doc: concat(vec![open, align(entries), close]), hanging, bracket: true }
            }
            ExprKind::If(..) | ExprKind::Match(..) => {
                let inner = align(self.expr(inner));
                HangingDoc::plain(concat(vec![open, inner, self.tokens.sign(")")]))
            }
            _ => {
                let built = self.build(inner);
                let close = self.tokens.sign(")");
                let wrap = |doc: D| concat(vec![open.clone(), doc, close.clone()]);
                HangingDoc { doc: wrap(built.doc), hanging: built.hanging.map(wrap), bracket: built.bracket }
            }
        }
    }

    /// A tuple whose last part may hang: `(value, lin d -> ...)`.
    fn tuple(&mut self, parts: &[Expr], span: Span) -> HangingDoc {
        let ends_in_function = matches!(parts.last().map(|p| &p.kind), Some(ExprKind::Fun(..) | ExprKind::Lin(..)));
        let Some((last, first)) = parts.split_last().filter(|_| ends_in_function) else {
            return self.elements("(", parts, ")", span);
        };
        let mut head = vec![self.tokens.sign("(")];
        for part in first {
            head.extend([self.part(part), self.tokens.sign(","), space()]);
        }
        let last = self.build(last);
        let close = self.tokens.sign(")");
        let one_line = concat(vec![concat(head.clone()), last.doc.clone(), close.clone()]);
        let hanging = concat(vec![flat(concat(head)), last.hanging.unwrap_or(last.doc), close]);
        HangingDoc { doc: choice(vec![one_line, hanging.clone()]), hanging: Some(hanging), bracket: true }
    }

    /// `head = value`, or the head alone where it says both.
    pub(super) fn given(&mut self, head: D, punned: bool, value: &Expr) -> D {
        if punned {
            return head;
        }
        let sign = self.tokens.sign("=");
        let value = self.build(value);
        self.after_sign(concat(vec![head, space(), sign]), value)
    }

    /// `head = value`: on one line; with the value below on one line; hanging; or below.
    pub(super) fn after_sign(&mut self, head: D, value: HangingDoc) -> D {
        let one_line = concat(vec![head.clone(), space(), value.doc.clone()]);
        let rows = Rc::new(Doc::Rows(vec![(0, head.clone()), (super::INDENT, value.doc.clone())]));
        let below = concat(vec![head.clone(), nest(concat(vec![hard(), value.doc]))]);
        match value.hanging {
            Some(hanging) => {
                let hanging = concat(vec![flat(head), space(), hanging]);
                choice(if value.bracket {
                    vec![one_line, hanging, below]
                } else {
                    vec![one_line, rows, hanging, below]
                })
            }
            None => choice(vec![one_line, below]),
        }
    }

    pub(super) fn index(&mut self, arg: &IndexArg) -> D {
        match arg {
            IndexArg::At(e) => self.expr(e),
            IndexArg::Slice(slice) => {
                let Slice { from, to, step } = &**slice;
                let mut parts = vec![from.as_ref().map_or(nil(), |e| self.expr(e))];
                if step.is_some() && to.is_none() && self.tokens.at("::") {
                    parts.push(self.tokens.sign("::"));
                } else {
                    parts.push(self.tokens.sign(":"));
                    parts.extend(to.as_ref().map(|e| self.expr(e)));
                    parts.extend(step.as_ref().map(|_| self.tokens.sign(":")));
                }
                parts.extend(step.as_ref().map(|e| self.expr(e)));
                concat(parts)
            }
        }
    }
}

fn below(doc: D) -> D {
    concat(vec![line(), doc])
}

/// Arguments that fill lines. A small last one does not stand on a line alone.
fn filled(docs: &[D], args: &[Expr]) -> Vec<D> {
    let mut all: Vec<D> = docs.iter().map(|d| group(below(d.clone()))).collect();
    if args.len() > 2
        && args.last().is_some_and(is_small)
        && let Some([before, last]) = docs.last_chunk::<2>()
    {
        all.truncate(docs.len() - 2);
        all.push(group(concat(vec![line(), before.clone(), group(below(last.clone()))])));
    }
    all
}

fn spaced(docs: &[D]) -> D {
    concat(docs.iter().enumerate().flat_map(|(i, d)| [if i > 0 { space() } else { nil() }, d.clone()]).collect())
}

/// Whether an expression is short enough to follow a function that takes several lines.
pub(super) fn is_small(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Var(_) | ExprKind::Con(..) | ExprKind::Section(_) => true,
        ExprKind::Lit(lit) => !matches!(lit, Lit::Str(_)),
        ExprKind::Field(base, _) => is_small(base),
        ExprKind::Index(base, args) => {
            is_small(base) && args.iter().all(|a| matches!(a, IndexArg::At(e) if is_small(e)))
        }
        _ => false,
    }
}

fn is_function(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Paren(inner) if matches!(inner.kind, ExprKind::Fun(..) | ExprKind::Lin(..)))
}

/// Whether `e` ends in a construct that extends as far as possible.
pub(super) fn extends_rightward(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Fun(..) | ExprKind::Lin(..) | ExprKind::If(..) | ExprKind::Match(..) | ExprKind::For(..) => true,
        ExprKind::Loop(..) | ExprKind::Block(_) => true,
        ExprKind::App(_, args) => args.last().is_some_and(extends_rightward),
        ExprKind::Bin(_, _, _, right) => extends_rightward(right),
        ExprKind::Neg(operand) => extends_rightward(operand),
        ExprKind::Lit(_) | ExprKind::Interp(_) | ExprKind::Var(_) | ExprKind::Con(..) | ExprKind::Section(_) => false,
        ExprKind::Tuple(_) | ExprKind::Paren(_) | ExprKind::Record(_) | ExprKind::Update(..) => false,
        ExprKind::Field(..) | ExprKind::Array(_) | ExprKind::Index(..) | ExprKind::Iverson(_) => false,
        ExprKind::Ann(..) | ExprKind::Error => false,
    }
}

/// A block in parentheses.
fn is_block(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Paren(inner) if matches!(inner.kind, ExprKind::Block(_)))
}

fn is_text(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Lit(Lit::Str(_)) | ExprKind::Interp(_))
}
