//! One row for each operation of the IR. The row is what the other crates ask about an operation without knowing it:
//! its operands and text form, which operands may be linear, what it may do besides computing, and how its cost is
//! counted. An operation without a row does not compile.

use crate::func::Var;
#[cfg(feature = "generate")]
use crate::generate::choices::{Choices, Chosen};
use crate::names;
use crate::op::{Conv, LinearIn, Op};
use crate::operands::{Operand, Written};
use crate::parse::{ParseResult, Parser};
use crate::print::Printer;
use adl_prim::{Bin, Un};

/// What an operation does besides computing its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: equal statements may be merged, and unused ones removed. A built-in has its own row.
    Pure,
    /// It updates its first operand in place if it holds the last reference.
    Update,
    /// It takes a value apart or ends it; its results are used exactly as often as the verifier says.
    Split,
    /// What its blocks or its callee do.
    Parts,
    /// It may exchange messages: all ranks of a run execute it equally often and in one order.
    Message,
}

/// Whether an operation may fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fails {
    /// Never, for operands of the right types.
    Never,
    /// For some operators or types of operands: see [`crate::rewrite::never_fails`].
    ByTypes,
    /// Indices may be out of bounds, extents may differ or be negative.
    Sometimes,
}

/// Whether tangents of operands reach the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tangent {
    /// The result is piecewise constant or an index.
    Stops,
    /// From each operand with a tangent, unless the row of the operator or built-in says otherwise.
    Passes,
}

/// What one run of an operation costs in the cost model of [`crate::eval::cost`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostUnit {
    /// Nothing, or what its blocks or its callee cost.
    Free,
    /// One for each number of the result.
    Each,
    /// A number that depends on its operands.
    Own,
}

/// Which part of the cost is arithmetic on real numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// None: it moves numbers or computes with indices.
    Nothing,
    /// All of it.
    All,
    /// Half of it; the other half is the access.
    Half,
}

/// Which numbers of its linear operands an operation reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// All, so that its cost or its results pay for each.
    All,
    /// A part, or what its blocks read.
    Part,
}

/// The columns of a row that are the same for all operations of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct OpRow {
    pub effect: Effect,
    pub fails: Fails,
    pub tangent: Tangent,
    pub unit: CostUnit,
    pub arithmetic: Arithmetic,
    pub reads: Reads,
}

/// The column `linear`.
macro_rules! linear {
    (none) => { LinearIn::Nothing };
    (parts) => { LinearIn::Parts };
    ([by $rule:expr]) => { $rule };
    ([$kind:ident $($operand:ident)*]) => {{
        #[allow(unused_mut)]
        let mut operands = Vec::new();
        $($operand.visit(&mut |v| operands.push(v));)*
        LinearIn::$kind(operands)
    }};
}

/// The columns after `linear`, in the order of the table.
macro_rules! columns {
    ($effect:ident $fails:ident $tangent:ident $unit:ident $arithmetic:ident $reads:ident) => {
        OpRow {
            effect: Effect::$effect,
            fails: Fails::$fails,
            tangent: Tangent::$tangent,
            unit: CostUnit::$unit,
            arithmetic: Arithmetic::$arithmetic,
            reads: Reads::$reads,
        }
    };
}

/// The label beside an operand, or no text.
macro_rules! label {
    () => {
        ""
    };
    ($label:literal) => {
        $label
    };
}

/// Makes the functions on operations that are read off the rows.
///
/// A row of `written` is: the variant with its fields, the word of the text form, what follows the word, in this
/// order, and the columns. A row of `custom` has a word that depends on its fields, or a text form of its own in
/// [`crate::print`] and [`crate::parse`]; its list names the operands only.
macro_rules! operations {
    (
        written { $($name:ident $fields:tt $word:literal [$($field:ident $($label:literal)?),*] $linear:tt
            $effect:ident $fails:ident $tangent:ident $unit:ident $arithmetic:ident $reads:ident;)* }
        custom { $($own:ident $parts:tt ($text:expr) [$($operand:expr),*] $lin:tt
            $eff:ident $fail:ident $tan:ident $cost:ident $arith:ident $read:ident;)* }
    ) => {
        /// The names of all rows.
        pub const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($own)),*];

        #[allow(unused_variables)]
        impl Op {
            /// The row of the operation.
            pub fn row(&self) -> OpRow {
                match self {
                    $(Op::$name { .. } => columns!($effect $fails $tangent $unit $arithmetic $reads),)*
                    $(Op::$own { .. } => columns!($eff $fail $tan $cost $arith $read),)*
                }
            }

            /// The keyword with which the operation begins in the text form. A literal has none.
            pub(crate) fn word(&self) -> &'static str {
                match self {
                    $(Op::$name { .. } => $word,)*
                    $(Op::$own $parts => $text,)*
                }
            }

            /// Which operands may be linear.
            pub fn linear_in(&self) -> LinearIn {
                match self {
                    $(Op::$name $fields => linear!($linear),)*
                    $(Op::$own $parts => linear!($lin),)*
                }
            }

            /// Calls `f` with each operand of the operation itself, linear or not. Nested blocks are not visited.
            pub fn each_operand(&self, f: &mut dyn FnMut(Var)) {
                match self {
                    $(Op::$name $fields => { $($field.visit(f);)* })*
                    $(Op::$own $parts => { $($operand.visit(f);)* })*
                }
            }

            /// Calls `f` with a reference to each operand, as [`Op::each_operand`].
            fn each_operand_mut(&mut self, f: &mut dyn FnMut(&mut Var)) {
                match self {
                    $(Op::$name $fields => { $($field.visit_mut(f);)* })*
                    $(Op::$own $parts => { $($operand.visit_mut(f);)* })*
                }
            }

            /// The name of its row.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Op::$name { .. } => stringify!($name),)*
                    $(Op::$own { .. } => stringify!($own),)*
                }
            }

            /// An operation of a row of `written` with operands that `choices` make.
            #[cfg(feature = "generate")]
            pub(crate) fn choose(row: &str, choices: &mut dyn Choices) -> Option<Op> {
                Some(match row {
                    $(stringify!($name) => {
                        $(let $field = Chosen::choose(choices, label!($($label)?))?;)*
                        Op::$name $fields
                    })*
                    _ => return None,
                })
            }

            /// The text form of an operation whose row defines it.
            pub(crate) fn print_row(&self, printer: &Printer) -> Option<String> {
                let mut out = self.word().to_owned();
                match self {
                    $(Op::$name $fields => { $($field.print(printer, label!($($label)?), &mut out);)* })*
                    $(Op::$own { .. } => return None,)*
                }
                Some(out)
            }

            /// Parses what follows `word`, if a row defines the text form.
            pub(crate) fn parse_row(parser: &mut Parser, word: &str) -> ParseResult<Option<Op>> {
                Ok(Some(match word {
                    $($word => {
                        $(let $field = Written::parse(parser, label!($($label)?))?;)*
                        Op::$name $fields
                    })*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

impl Op {
    /// Replaces each operand of the operation itself. Nested blocks are not changed.
    pub fn map_operands(&mut self, f: &mut dyn FnMut(Var) -> Var) {
        self.each_operand_mut(&mut |v| *v = f(*v));
    }
}

#[rustfmt::skip]
operations! {
    // variant, word, operands                                          linear in      effect fails     tangent unit arithmetic reads
    written {
        Zero(ty) "zero" [ty]                                               [All]          Pure   Never     Stops  Free Nothing All;
        Not(a) "not" [a]                                                   none           Pure   Never     Stops  Each Nothing All;
        Select(c, a, b) "select" [c, a, b]                                 [All a b]      Pure   ByTypes   Passes Each Nothing All;
        Dim(a, axis) "dim" [axis, a]                                       none           Pure   Never     Stops  Free Nothing All;
        Shape(a) "shape" [a]                                               none           Pure   Never     Stops  Free Nothing All;
        Size(a) "size" [a]                                                 none           Pure   Never     Stops  Free Nothing All;
        Index { a, at, shape } "index" [a, at "[]", shape "shape"]         [All a]        Pure   Sometimes Passes Each Nothing Part;
        IndexAdd { acc, at, v, shape } "index_add" [acc, at "[]", v, shape "shape"]
                                                                           [All acc v]    Update Sometimes Passes Own  Half    All;
        IndexSet { acc, at, v, shape } "index_set" [acc, at "[]", v, shape "shape"]
                                                                           [All acc v]    Update Sometimes Passes Own  Nothing Part;
        Slice { a, lo, hi, shape } "slice" [a, lo, hi, shape "shape"]      [All a]        Pure   Sometimes Passes Each Nothing Part;
        SliceAdd { acc, lo, hi, v, shape } "slice_add" [acc, lo, hi, v, shape "shape"]
                                                                           [All acc v]    Update Sometimes Passes Own  Half    All;
        Gather { a, at, shape } "gather" [a, at, shape "shape"]            [All a]        Pure   Sometimes Passes Each Nothing Part;
        GatherAdd { acc, at, v, shape } "gather_add" [acc, at, v, shape "shape"]
                                                                           [All acc v]    Update Sometimes Passes Own  Half    All;
        Reverse(a) "reverse" [a]                                           [All a]        Pure   Never     Passes Each Nothing All;
        Rotate { n, a } "rotate" [n, a]                                    [All a]        Pure   Sometimes Passes Each Nothing All;
        Concat { a, b, len, shape } "concat" [a, b, len "len", shape "shape"]
                                                                           [All a b]      Pure   Sometimes Passes Each Nothing All;
        Reshape { a, to, from } "reshape" [a, to, from "from"]             [All a]        Pure   Sometimes Passes Free Nothing All;
        Transpose(a) "transpose" [a]                                       [All a]        Pure   Never     Passes Free Nothing All;
        Replicate { n, a } "replicate" [n, a]                              [All a]        Pure   Sometimes Passes Free Nothing All;
        Sum { a, n } "sum" [a, n "len"]                                    [All a]        Pure   Sometimes Passes Own  All     All;
        Broadcast { a, shape } "broadcast" [a, shape]                      [All a]        Pure   Sometimes Passes Free Nothing All;
        SumAll { a, shape } "sum_all" [a, shape "shape"]                   [All a]        Pure   Sometimes Passes Own  All     All;
        ArrayLit { elems, shape } "array" [elems, shape "shape"]           [All elems]    Pure   ByTypes   Passes Each Nothing All;
        Dot(a, b) "dot" [a, b]                                             [OneOf a b]    Pure   Sometimes Passes Own  All     All;
        MatMul(a, b) "matmul" [a, b]                                       [OneOf a b]    Pure   Sometimes Passes Own  All     All;
        Outer(a, b) "outer" [a, b]                                         [OneOf a b]    Pure   Sometimes Passes Each All     All;
        Cumsum { a, reverse } "cumsum" [a, reverse "reversed"]             [All a]        Pure   Sometimes Passes Each All     All;
        Nonzero(a) "nonzero" [a]                                           none           Pure   Sometimes Stops  Own  Nothing All;
        Zeros(a) "zeros" [a]                                               none           Pure   Sometimes Stops  Own  Nothing All;
        Dup(a) "dup" [a]                                                   [All a]        Split  Sometimes Passes Free Nothing All;
        Collective { kind, args, at } "collective" [kind, args, at "at"]   [All args]     Message Sometimes Passes Free Nothing All;
        Drop(a) "drop" [a]                                                 [All a]        Split  Sometimes Passes Free Nothing All;
    }
    custom {
        Lit(value) ("") []                                                 none           Pure   Never     Stops  Free Nothing All;
        Un(function, a) (function.word()) [a]                              [by un(*function, *a)]
                                                                                          Pure   ByTypes   Passes Each All     All;
        Bin(operator, a, b) (operator.word()) [a, b]                       [by bin(*operator, *a, *b)]
                                                                                          Pure   ByTypes   Passes Each All     All;
        Cmp(order, a, b) (order.word()) [a, b]                             none           Pure   ByTypes   Stops  Each Nothing All;
        Convert(to, a) (names::conv(*to)) [a]                              [by convert(*to, *a)]
                                                                                          Pure   ByTypes   Passes Each Nothing All;
        Prim(prim, args) ("prim") [args]                                   none           Pure   Sometimes Passes Own  All     All;
        Contract(c) ("contract") [c.a, c.b, c.size]                        none           Pure   Sometimes Passes Own  All     All;
        Construct { data, tag, fields } ("construct") [fields]             [All fields]   Pure   Sometimes Passes Free Nothing Part;
        Destruct { a, data, tag } ("destruct") [a]                         [All a]        Split  Sometimes Passes Free Nothing Part;
        If(c, yes, no) ("if") [c]                                          parts          Parts  Sometimes Passes Free Nothing Part;
        Switch(c, arms) ("switch") [c]                                     parts          Parts  Sometimes Passes Free Nothing Part;
        Loop(l) ("loop") [l.trip, l.init, l.lin_init, l.xs, l.lin_xs]      parts          Parts  Sometimes Passes Free Nothing Part;
        Call { f: callee, args, lin_args, rule, checkpoint } ("call") [args, lin_args]
                                                                           parts          Parts  Sometimes Passes Free Nothing Part;
        Soac(s) (names::soac(s.kind)) [s.neutral, s.arrays]                none           Parts  Sometimes Passes Free Nothing Part;
        ReduceByIndex { dest, op, neutral, keys, values } ("reduce_by_index") [dest, neutral, keys, values]
                                                                           none           Parts  Sometimes Passes Free Nothing Part;
    }
}

fn un(function: Un, a: Var) -> LinearIn {
    if function == Un::Neg { LinearIn::All(vec![a]) } else { LinearIn::Nothing }
}

fn bin(operator: Bin, a: Var, b: Var) -> LinearIn {
    match operator {
        Bin::Add | Bin::Sub => LinearIn::All(vec![a, b]),
        Bin::Mul | Bin::ScaleTangent => LinearIn::All(vec![b]),
        Bin::Div => LinearIn::All(vec![a]),
        _ => LinearIn::Nothing,
    }
}

fn convert(to: Conv, a: Var) -> LinearIn {
    match to {
        Conv::ToF64 | Conv::ToF32 => LinearIn::All(vec![a]),
        Conv::ToI64 => LinearIn::Nothing,
    }
}
