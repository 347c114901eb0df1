//! Products of matrices, in tiles: a workgroup makes 64 by 64 numbers, each thread four by four, from strips of both that it
//! keeps in its own memory. Terms are added from left to right, so that the result depends on nothing but the numbers.

use crate::array::{Array, Scalar};
use crate::error::{Res, not_here};
use crate::fold::{Maker, Operator};
use crate::queue::Gpu;
use crate::wgsl::scalar::zero;
use crate::wgsl::{Emit, load, wgsl};
use adl_ir::{Function, Program};
use adl_prim::Bin;

/// Edge of the tiles.
const TILE: usize = 64;

/// Depth of the strips.
const DEPTH: usize = 16;

/// Terms of a product on a software device: its kernels end loops after 65,535 turns, of all loops together.
const LONGEST: usize = 12_000;

/// Matrix·matrix, matrix·vector or vector·matrix; axes of `b` after the second stand for columns.
pub fn matmul(gpu: &Gpu, a: &Array, b: &Array) -> Res<Array> {
    let (n, k) = if a.shape.len() == 1 { (1, a.shape[0]) } else { (a.shape[0], a.len() / a.shape[0].max(1)) };
    let depth = b.shape.first().copied().unwrap_or(0);
    let m: usize = b.shape.iter().skip(1).product();
    let same = a.shape.last() == b.shape.first() && a.scalar == b.scalar && a.shape.len() <= 2;
    if !same || !matches!(a.scalar, Scalar::F32 | Scalar::F64 | Scalar::I64) {
        return not_here(format!("the product of arrays of shapes {:?} and {:?}", a.shape, b.shape));
    }
    let shape = [a.shape[..a.shape.len() - 1].to_vec(), b.shape[1..].to_vec()].concat();
    let k = if n == 0 { depth } else { k };
    if n == 1 || m == 1 || a.scalar == Scalar::I64 {
        return dots(gpu, a, b, [n, m, k])?.reshaped(shape);
    }
    tiles(gpu, a, b, [n, m, k], shape)
}

/// The inner product of two arrays of one shape: a number on the device.
pub fn dot(gpu: &Gpu, a: &Array, b: &Array) -> Res<Array> {
    if a.shape != b.shape || a.scalar != b.scalar {
        return not_here(format!("the inner product of arrays of shapes {:?} and {:?}", a.shape, b.shape));
    }
    let k = a.len();
    dots(gpu, &a.reshaped(vec![1, k])?, &b.reshaped(vec![k, 1])?, [1, 1, k])?.reshaped(Vec::new())
}

/// Each number as a reduction.
fn dots(gpu: &Gpu, a: &Array, b: &Array, [n, m, k]: [usize; 3]) -> Res<Array> {
    let (kind, program, function) = (a.scalar, Program::default(), Function::default());
    let op = Operator {
        kinds: vec![kind],
        combine: &|e, x, y| e.bin(Bin::Add, kind, &x[0], &y[0]).map(|t| vec![t]),
        neutral: &|e| Ok(vec![e.zero(kind)]),
        prepare: &|_| Ok(()),
    };
    let from = |e: &mut Emit<'_>, row: &str, j: &str| {
        let (x, y, m, k) = (e.slot(a, false)?, e.slot(b, false)?, e.word(m as u32), e.word(k as u32));
        let (x, y) = (load(x, kind, &format!("({row} / {m}) * {k} + {j}")), load(y, kind, &format!("{j} * {m} + {row} % {m}")));
        let t = e.bin(Bin::Mul, kind, &x, &y)?;
        Ok(vec![e.define("c", &t)])
    };
    let mut outs = Maker { gpu, program: &program, function: &function, env: &|_| None }.reduce(&op, n * m, k, &from)?;
    Ok(outs.remove(0))
}

fn tiles(gpu: &Gpu, a: &Array, b: &Array, [n, m, k]: [usize; 3], shape: Vec<usize>) -> Res<Array> {
    let (ty, out) = (wgsl(a.scalar), gpu.empty(a.scalar, shape)?);
    if out.is_empty() {
        return Ok(out);
    }
    if gpu.caps.software && k > LONGEST {
        return not_here("products of so many terms on a device that leaves loops");
    }
    let (program, function) = Default::default();
    let mut e = Emit::new(gpu, &program, &function, &|_| None);
    let words = [n, m, k, m.div_ceil(TILE)].map(|w| e.word(w as u32));
    let (x, y, z) = (e.slot(a, false)?, e.slot(b, false)?, e.slot(&out, true)?);
    let body = BODY.replace("$a", &format!("a{x}")).replace("$b", &format!("a{y}")).replace("$c", &format!("a{z}"));
    let names = ["$n", "$m", "$k", "$wide"];
    let body = names.iter().zip(&words).fold(body, |t, (name, w)| t.replace(name, w)).replace("$zero", zero(a.scalar)).replace("$ty", ty);
    for l in body.lines() {
        match l.trim() {
            "$ended" => e.ended(&format!("k0 < {}", words[2])),
            _ => e.line(l),
        }
    }
    let shared = format!("var<workgroup> left: array<{ty}, {0}>;\nvar<workgroup> right: array<{ty}, {0}>;", TILE * DEPTH);
    let w = e.finish(256, &shared);
    gpu.launch(&w.kernel, &w.bound(), &w.words, (n.div_ceil(TILE) * m.div_ceil(TILE)) as u32)?;
    Ok(out)
}

/// The kernel, for tiles of 64 and strips of 16: thread `l` makes rows 4 (l / 16) … and columns 4 (l % 16) …
const BODY: &str = "if group < params[0] {
  let r0 = (group / $wide) * 64u;
  let c0 = (group % $wide) * 64u;
  let r = (l / 16u) * 4u;
  let c = (l % 16u) * 4u;
  var acc: array<$ty, 16>;
  for (var i = 0u; i < 16u; i++) { acc[i] = $zero; }
  var k0 = 0u;
  for (; k0 < $k; k0 = k0 + 16u) {
    let depth = min(16u, $k - k0);
    for (var i = l; i < 1024u; i = i + 256u) {
      let row = r0 + i / 16u;
      let at = k0 + i % 16u;
      if row < $n && at < $k { left[(i % 16u) * 64u + i / 16u] = $a[row * $k + at]; }
      let column = c0 + i % 64u;
      let below = k0 + i / 64u;
      if column < $m && below < $k { right[i] = $b[below * $m + column]; }
    }
    workgroupBarrier();
    for (var d = 0u; d < depth; d++) {
      let y0 = right[d * 64u + c];
      let y1 = right[d * 64u + c + 1u];
      let y2 = right[d * 64u + c + 2u];
      let y3 = right[d * 64u + c + 3u];
      for (var i = 0u; i < 4u; i++) {
        let x = left[d * 64u + r + i];
        acc[4u * i] = acc[4u * i] + x * y0;
        acc[4u * i + 1u] = acc[4u * i + 1u] + x * y1;
        acc[4u * i + 2u] = acc[4u * i + 2u] + x * y2;
        acc[4u * i + 3u] = acc[4u * i + 3u] + x * y3;
      }
    }
    workgroupBarrier();
  }
  $ended
  for (var i = 0u; i < 16u; i++) {
    let row = r0 + r + i / 4u;
    let column = c0 + c + i % 4u;
    if row < $n && column < $m { $c[row * $m + column] = acc[i]; }
  }
}";
