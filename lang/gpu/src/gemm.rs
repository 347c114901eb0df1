//! Matrix products, single and batched, in tiles: a work-group computes 64 × 64 elements, each thread 4 × 4, from
//! strips of both operands in work-group memory. Terms are added from left to right, so that the result depends on the
//! operands only. Products with vectors are sums (see `column_reduction`).

use crate::array::{Array, Scalar};
use crate::error::{Res, unsupported};
use crate::fold::{KernelContext, TupleOperator};
use crate::limits::gemm::{DEPTH, EACH, EDGE, LONGEST};
use crate::queue::Gpu;
use crate::wgsl::scalar::zero;
use crate::wgsl::{Emit, load, wgsl};
use adl_ir::{Function, Program};
use adl_prim::Bin;

/// The edge of a tile.
const TILE: usize = EDGE * EACH;

/// Matrix × matrix, matrix × vector or vector × matrix. Axes of `right_array` after the first are treated as columns.
pub fn matmul(gpu: &Gpu, left_array: &Array, right_array: &Array) -> Res<Array> {
    let (rows, terms) = if left_array.shape.len() == 1 {
        (1, left_array.shape[0])
    } else {
        (left_array.shape[0], left_array.len() / left_array.shape[0].max(1))
    };
    let depth = right_array.shape.first().copied().unwrap_or(0);
    let columns: usize = right_array.shape.iter().skip(1).product();
    let same = left_array.shape.last() == right_array.shape.first()
        && left_array.scalar == right_array.scalar
        && left_array.shape.len() <= 2;
    if !same || !matches!(left_array.scalar, Scalar::F32 | Scalar::F64 | Scalar::I64) {
        return unsupported(format!(
            "the product of arrays of shapes {:?} and {:?}",
            left_array.shape, right_array.shape
        ));
    }
    let shape = [left_array.shape[..left_array.shape.len() - 1].to_vec(), right_array.shape[1..].to_vec()].concat();
    let k = if rows == 0 { depth } else { terms };
    if rows == 1 || columns == 1 || left_array.scalar == Scalar::I64 {
        return dots(gpu, left_array, right_array, [rows, columns, k])?.reshaped(shape);
    }
    let (left, right) = (
        StridedOperand { array: left_array, iteration: 0, rows: k, terms: 1 },
        StridedOperand { array: right_array, iteration: 0, rows: 1, terms: columns },
    );
    tiles(gpu, 1, (left, right), [rows, columns, k])?.reshaped(shape)
}

/// An operand with strides: from one product of the batch to the next (0 if they share it), from one row (or column) of
/// the product to the next, and from term to term.
#[derive(Clone, Copy)]
pub(crate) struct StridedOperand<'a> {
    pub array: &'a Array,
    pub iteration: usize,
    pub rows: usize,
    pub terms: usize,
}

/// The inner product of two arrays of one shape, as a device scalar.
pub fn dot(gpu: &Gpu, a: &Array, b: &Array) -> Res<Array> {
    if a.shape != b.shape || a.scalar != b.scalar {
        return unsupported(format!("the inner product of arrays of shapes {:?} and {:?}", a.shape, b.shape));
    }
    let k = a.len();
    dots(gpu, &a.reshaped(vec![1, k])?, &b.reshaped(vec![k, 1])?, [1, 1, k])?.reshaped(Vec::new())
}

/// Each element as a separate sum: vector × matrix with contiguous columns, matrix × vector, or others.
fn dots(gpu: &Gpu, a: &Array, b: &Array, [rows, columns, depth]: [usize; 3]) -> Res<Array> {
    let (kind, program, function) = (a.scalar, Program::default(), Function::default());
    let op = TupleOperator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(Bin::Add, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| Ok(vec![e.zero(kind)]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let (x, y, m, k) = (e.slot(a, false)?, e.slot(b, false)?, e.word(columns as u32), e.word(depth as u32));
        let (x, y) =
            (load(x, kind, &format!("({row} / {m}) * {k} + {j}")), load(y, kind, &format!("{j} * {m} + {row} % {m}")));
        let t = e.bin(Bin::Mul, kind, &x, &y)?;
        Ok(vec![e.define("c", &t)])
    };
    let maker = KernelContext { gpu, program: &program, function: &function, env: &|_| None };
    if columns == 1 {
        return maker.sums_of_rows(kind, rows, depth, &from);
    }
    let mut outs = if rows == 1 {
        maker.columns(&op, columns, depth, &from)
    } else {
        maker.reduce(&op, rows * columns, depth, &from)
    }?;
    Ok(outs.remove(0))
}

/// A batch of `turns` products `Σ l. left[i, l] · right[l, j]` with n × m elements of k terms each, in f64 or f32.
pub(crate) fn tiles(
    gpu: &Gpu,
    trip: usize,
    (left, right): (StridedOperand<'_>, StridedOperand<'_>),
    [rows, columns, depth]: [usize; 3],
) -> Res<Array> {
    let kind = left.array.scalar;
    let (ty, out) = (wgsl(kind), gpu.empty(kind, vec![trip, rows, columns])?);
    if out.is_empty() {
        return Ok(out);
    }
    if gpu.caps.software && depth > LONGEST {
        return unsupported("products of so many terms on a device that leaves loops");
    }
    let (program, function) = Default::default();
    let mut emit = Emit::new(gpu, &program, &function, &|_| None);
    let (wide, high) = (columns.div_ceil(TILE), rows.div_ceil(TILE));
    // An odd distance between the rows of a strip avoids bank conflicts.
    let fits = 2 * ((TILE + 1) * DEPTH) as u64 * kind.bytes() <= u64::from(gpu.caps.workgroup);
    let pitch = if fits { TILE + 1 } else { TILE };
    let Ok(groups) = u32::try_from(trip * wide * high) else { return unsupported("so many products") };
    let numbers = [
        rows,
        columns,
        depth,
        wide,
        high,
        left.iteration,
        left.rows,
        left.terms,
        right.iteration,
        right.rows,
        right.terms,
    ];
    let names = ["$n", "$m", "$k", "$wide", "$high", "$at", "$ar", "$al", "$bt", "$br", "$bl"];
    let words = numbers.map(|w| emit.word(w as u32));
    let (x, y, z) = (emit.slot(left.array, false)?, emit.slot(right.array, false)?, emit.slot(&out, true)?);
    // Neighbouring threads load neighbouring elements: of one row, or of one term.
    let places = [("$left", left.terms <= left.rows), ("$right", right.terms <= right.rows)];
    let body = places.iter().fold(BODY.to_owned(), |t, (name, by_row)| {
        t.replace(&format!("{name}_row"), if *by_row { "i / 16u" } else { "i % 64u" })
            .replace(&format!("{name}_term"), if *by_row { "i % 16u" } else { "i / 64u" })
    });
    let body = unrolled(&body).replace("$pitch", &format!("{pitch}u"));
    let body =
        body.replace("$a[", &format!("a{x}[")).replace("$b[", &format!("a{y}[")).replace("$c[", &format!("a{z}["));
    let body = body.replace("$zero", zero(kind)).replace("$ty", ty);
    let body = names.iter().zip(&words).rev().fold(body, |t, (name, w)| t.replace(name, w));
    for l in body.lines() {
        match l.trim() {
            "#ended" => emit.ended(&format!("k0 < {}", words[2])),
            _ => emit.line(l),
        }
    }
    let shared =
        format!("var<workgroup> left: array<{ty}, {0}>;\nvar<workgroup> right: array<{ty}, {0}>;", pitch * DEPTH);
    let w = emit.finish(256, &shared);
    gpu.launch(&w.kernel, &w.bound(), &w.words, groups)?;
    Ok(out)
}

/// The kernel's text with the statements on a thread's elements written out, so that they are in registers.
fn unrolled(text: &str) -> String {
    let all = |f: &dyn Fn(usize) -> String| (0..EACH).map(f).collect::<String>();
    let pairs = |f: &dyn Fn(usize, usize) -> String| all(&|i| all(&|j| f(i, j)));
    text.replace("$clear", &pairs(&|i, j| format!("var z{i}_{j} = $zero;\n")))
        .replace("$load", &all(&|i| {
            format!("let x{i} = left[d * $pitch + l / {EDGE}u + {0}u];\nlet y{i} = right[d * $pitch + l % {EDGE}u + {0}u];\n", EDGE * i)
        }))
        .replace("$add", &pairs(&|i, j| format!("z{i}_{j} = z{i}_{j} + x{i} * y{j};\n")))
        .replace("$store", &pairs(&|i, j| {
            format!("if row + {0}u < $n && column + {1}u < $m {{ $c[(product * $n + row + {0}u) * $m + column + {1}u] = z{i}_{j}; }}\n", EDGE * i, EDGE * j)
        }))
}

/// The kernel: thread `l` computes every 16th row from l / 16 on, and every 16th column from l % 16 on. Neighbouring
/// threads thus read neighbouring elements of work-group memory, and write neighbouring ones of the result.
const BODY: &str = "if group < params[0] {
  let product = group / ($wide * $high);
  let r0 = (group / $wide % $high) * 64u;
  let c0 = (group % $wide) * 64u;
  $clear
  var k0 = 0u;
  for (; k0 < $k; k0 = k0 + 16u) {
    let depth = min(16u, $k - k0);
    for (var i = l; i < 1024u; i = i + 256u) {
      let lr = $left_row;
      let lt = $left_term;
      if r0 + lr < $n && k0 + lt < $k { left[lt * $pitch + lr] = $a[product * $at + (r0 + lr) * $ar + (k0 + lt) * $al]; }
      let rr = $right_row;
      let rt = $right_term;
      if c0 + rr < $m && k0 + rt < $k { right[rt * $pitch + rr] = $b[product * $bt + (c0 + rr) * $br + (k0 + rt) * $bl]; }
    }
    workgroupBarrier();
    for (var d = 0u; d < depth; d++) {
      $load
      $add
    }
    workgroupBarrier();
  }
  #ended
  let row = r0 + l / 16u;
  let column = c0 + l % 16u;
  $store
}";
