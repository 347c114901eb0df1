//! Data movement: kernels that copy elements to other positions.

use crate::array::{Array, Scalar, cut};
use crate::buffer_pool::Buffer;
use crate::error::{Check, Res, unsupported};
use crate::limits::data_movement::{COPIED, EDGE};
use crate::nest::{THREADS, each};
use crate::queue::Gpu;
use crate::wgsl::{Emit, load, packed};

/// The length of the first axis, and the number of scalars per element of it.
pub(crate) fn rows(a: &Array) -> (usize, usize) {
    (a.shape.first().copied().unwrap_or(1), a.shape.iter().skip(1).product())
}

/// An array of a given shape, each element of which is copied from the position of `a` that `place` computes.
fn moved(gpu: &Gpu, a: &Array, shape: Vec<usize>, place: impl FnOnce(&mut Emit<'_>, &str) -> String) -> Res<Array> {
    let out = gpu.empty(a.scalar, shape)?;
    each(gpu, out.len(), |e, i| {
        let k = place(e, i);
        let (from, to) = (e.slot(a, false)?, e.slot(&out, true)?);
        e.line(&format!("a{to}[{i}] = {};", packed(a.scalar, &load(from, a.scalar, &k))));
        Ok(())
    })?;
    Ok(out)
}

/// 0, 1, …, n - 1 as Ints.
pub fn iota(gpu: &Gpu, n: usize) -> Res<Array> {
    let out = gpu.empty(Scalar::I64, vec![n])?;
    each(gpu, n, |e, i| {
        let to = e.slot(&out, true)?;
        e.line(&format!("a{to}[{i}] = l_of({i});"));
        Ok(())
    })?;
    Ok(out)
}

/// `n` copies along a new first axis.
pub fn replicate(gpu: &Gpu, n: usize, a: &Array) -> Res<Array> {
    let shape = [vec![n], a.shape.clone()].concat();
    moved(gpu, a, shape, |e, i| {
        let m = e.word(a.len() as u32);
        format!("{i} % {m}")
    })
}

/// The array reversed along the first axis.
pub fn reverse(gpu: &Gpu, a: &Array) -> Res<Array> {
    let (n, k) = rows(a);
    moved(gpu, a, a.shape.clone(), |e, i| {
        let (n, k) = (e.word(n as u32), e.word(k as u32));
        format!("({n} - 1u - {i} / {k}) * {k} + {i} % {k}")
    })
}

/// The array rotated left by `by` along the first axis.
pub fn rotate(gpu: &Gpu, by: i64, a: &Array) -> Res<Array> {
    let (n, k) = rows(a);
    let by = by.rem_euclid(n.max(1) as i64) as usize * k;
    moved(gpu, a, a.shape.clone(), |e, i| {
        // The elements before the wrap-around, and those after it; computing the sum first could overflow a word.
        let (left, by) = (e.word((a.len() - by) as u32), e.word(by as u32));
        format!("select({i} - {left}, {i} + {by}, {i} < {left})")
    })
}

/// `a[lo:hi]` along the first axis.
pub fn slice(gpu: &Gpu, a: &Array, lo: usize, hi: usize) -> Res<Array> {
    let (n, k) = rows(a);
    if lo > hi || hi > n {
        return unsupported(format!("the slice {lo}:{hi} of an axis of length {n}"));
    }
    let shape = [vec![hi - lo], a.shape[1..].to_vec()].concat();
    let out = gpu.empty(a.scalar, shape)?;
    gpu.copy_into(&a.buffer, (lo * k) as u64 * a.scalar.bytes(), &out.buffer, 0, out.bytes())?;
    Ok(out)
}

/// Concatenation along the first axis.
pub fn concat(gpu: &Gpu, a: &Array, b: &Array) -> Res<Array> {
    if a.scalar != b.scalar || a.shape.get(1..) != b.shape.get(1..) {
        return unsupported(format!("arrays of shapes {:?} and {:?} in a row", a.shape, b.shape));
    }
    let shape = [vec![rows(a).0 + rows(b).0], a.shape[1..].to_vec()].concat();
    let out = gpu.empty(a.scalar, shape)?;
    gpu.copy_into(&a.buffer, 0, &out.buffer, 0, a.bytes())?;
    gpu.copy_into(&b.buffer, 0, &out.buffer, a.bytes(), b.bytes())?;
    Ok(out)
}

/// Rows at Int indices, which are in bounds; with `zeros`, those out of bounds are zero (0, false).
pub fn gather(gpu: &Gpu, array: &Array, at: &Array, zeros: bool) -> Res<Array> {
    let (n, width) = rows(array);
    let out = gpu.empty(array.scalar, [at.shape.clone(), array.shape[1..].to_vec()].concat())?;
    if array.bytes().max(out.bytes()) > gpu.caps.binding {
        return gathered(gpu, array, at, zeros, out);
    }
    each(gpu, out.len(), |emit, index| {
        let (from, keys, to) = (emit.slot(array, false)?, emit.slot(at, false)?, emit.slot(&out, true)?);
        let (n, k) = (emit.word(n as u32), emit.word(width as u32));
        let key = emit.define("i", &format!("a{keys}[{index} / {k}]"));
        let inside = emit.define("f", &format!("{key} >= 0li && {key} < l_of({n})"));
        if !zeros {
            let check = emit.check(Check::Bounds);
            emit.line(&format!("if !{inside} {{ fault({check}); }}"));
        }
        let place = emit.define("k", &format!("select(0u, u32({key}) * {k} + {index} % {k}, {inside})"));
        let x = format!(
            "select({}, {}, {inside})",
            crate::wgsl::scalar::zero(array.scalar),
            load(from, array.scalar, &place)
        );
        emit.line(&format!("a{to}[{index}] = {};", packed(array.scalar, &x)));
        Ok(())
    })?;
    Ok(out)
}

/// [`gather`] if an array exceeds the maximum binding: one launch for each part of the result and each part of the
/// source, which writes the elements found there. The first part of the source also handles indices out of bounds.
fn gathered(gpu: &Gpu, array: &Array, at: &Array, zeros: bool, out: Array) -> Res<Array> {
    let ((length, width), most) = (rows(array), (gpu.caps.binding / 8) as usize / 256 * 256);
    if most == 0 || array.is_empty() {
        return unsupported("kernels that see too little memory, or rows of nothing");
    }
    let (program, function) = Default::default();
    let mut emit = Emit::new(gpu, &program, &function, &|_| None);
    let [first, end, low, high] = [0; 4].map(|w| emit.word(w));
    let (n, k) = (emit.word(length as u32), emit.word(width as u32));
    let check = if zeros { None } else { Some(emit.check(Check::Bounds)) };
    let (from, keys, to) = (emit.part(array, false)?, emit.slot(at, false)?, emit.part(&out, true)?);
    emit.open(&format!("if group < params[0] && group * {THREADS}u + l < {end} - {first}"));
    let (offset, index) = (
        emit.define("o", &format!("group * {THREADS}u + l")),
        emit.define("i", &format!("{first} + group * {THREADS}u + l")),
    );
    let key = emit.define("i", &format!("a{keys}[{index} / {k}]"));
    emit.open(&format!("if {key} >= 0li && {key} < l_of({n})"));
    let place = emit.define("k", &format!("u32({key}) * {k} + {index} % {k}"));
    emit.line(&format!("if {place} >= {low} && {place} < {high} {{ a{to}[{offset}] = a{from}[{place} - {low}]; }}"));
    emit.close();
    emit.open(&format!("else if {low} == 0u"));
    check.iter().for_each(|c| emit.line(&format!("fault({c});")));
    emit.line(&format!("a{to}[{offset}] = {};", packed(array.scalar, crate::wgsl::scalar::zero(array.scalar))));
    emit.close();
    emit.close();
    let w = emit.finish(THREADS, "");
    let mut words = w.words.clone();
    for (o, i) in (0..out.len()).step_by(most).flat_map(|o| (0..array.len()).step_by(most).map(move |i| (o, i))) {
        let (o, i) = ((o, (o + most).min(out.len())), (i, (i + most).min(array.len())));
        words[..4].copy_from_slice(&[o.0, o.1, i.0, i.1].map(|w| w as u32));
        let bound = [cut(array, i.0, i.1), at.whole(), cut(&out, o.0, o.1)];
        gpu.launch(&w.kernel, &bound, &words, ((o.1 - o.0) as u32).div_ceil(THREADS))?;
    }
    Ok(out)
}

/// A square matrix with a vector on its diagonal, or the diagonal of a matrix.
pub fn diag(gpu: &Gpu, array: &Array) -> Res<Array> {
    let (n, width) = match array.shape[..] {
        [n] => (n, n),
        [n, m] => (n, m),
        _ => return unsupported(format!("the diagonal of an array of shape {:?}", array.shape)),
    };
    let shape = if array.shape.len() == 1 { vec![n, n] } else { vec![n.min(width)] };
    let out = gpu.empty(array.scalar, shape)?;
    each(gpu, out.len(), |e, i| {
        let (from, to, m) = (e.slot(array, false)?, e.slot(&out, true)?, e.word(width as u32));
        let x = if array.shape.len() == 1 {
            let zero = crate::wgsl::scalar::zero(array.scalar);
            format!("select({zero}, {}, {i} / {m} == {i} % {m})", load(from, array.scalar, &format!("{i} / {m}")))
        } else {
            load(from, array.scalar, &format!("{i} * {m} + {i}"))
        };
        e.line(&format!("a{to}[{i}] = {};", packed(array.scalar, &x)));
        Ok(())
    })?;
    Ok(out)
}

/// Transposes the first two axes.
pub fn transpose(gpu: &Gpu, array: &Array) -> Res<Array> {
    let [height, width, ..] = array.shape[..] else { return unsupported("the transpose of a vector") };
    let rest: usize = array.shape[2..].iter().product();
    let shape = [vec![width, height], array.shape[2..].to_vec()].concat();
    if rest != 1 {
        return moved(gpu, array, shape, |e, i| {
            let (n, m, k) = (e.word(height as u32), e.word(width as u32), e.word(rest as u32));
            format!("(({i} / {k}) % {n} * {m} + ({i} / {k}) / {n}) * {k} + {i} % {k}")
        });
    }
    let out = gpu.empty(array.scalar, shape)?;
    let (program, function) = Default::default();
    let mut emit = Emit::new(gpu, &program, &function, &|_| None);
    let (rows, columns, across) =
        (emit.word(height as u32), emit.word(width as u32), emit.word(width.div_ceil(EDGE) as u32));
    let (from, to) = (emit.slot(array, false)?, emit.slot(&out, true)?);
    emit.open("if group < params[0]");
    let (r0, c0) = (
        emit.define("k", &format!("(group / {across}) * {EDGE}u")),
        emit.define("k", &format!("(group % {across}) * {EDGE}u")),
    );
    let (i, j) = (emit.define("i", &format!("l / {EDGE}u")), emit.define("j", &format!("l % {EDGE}u")));
    emit.line(&format!("if {r0} + {i} < {rows} && {c0} + {j} < {columns} {{ tile[{i} * {}u + {j}] = a{from}[({r0} + {i}) * {columns} + {c0} + {j}]; }}", EDGE + 1));
    emit.line("workgroupBarrier();");
    emit.line(&format!("if {r0} + {j} < {rows} && {c0} + {i} < {columns} {{ a{to}[({c0} + {i}) * {rows} + {r0} + {j}] = tile[{j} * {}u + {i}]; }}", EDGE + 1));
    emit.close();
    let shared = format!("var<workgroup> tile: array<{}, {}>;", crate::wgsl::stored(array.scalar), EDGE * (EDGE + 1));
    let w = emit.finish((EDGE * EDGE) as u32, &shared);
    gpu.launch(&w.kernel, &w.bound(), &w.words, (height.div_ceil(EDGE) * width.div_ceil(EDGE)) as u32)?;
    Ok(out)
}

impl Gpu {
    /// Copies the first `bytes` bytes of a buffer, a multiple of four. A kernel copies large buffers: it is two to three
    /// times as fast as the driver's copy on an H100.
    pub fn copy(&self, from: &Buffer, bytes: u64) -> Res<Buffer> {
        let to = self.alloc(bytes)?;
        if self.caps.tiles && (COPIED..=self.caps.binding).contains(&bytes) {
            self.copy_by_kernel(from, &to, bytes)?;
            return Ok(to);
        }
        self.copy_into(from, 0, &to, 0, bytes)?;
        Ok(to)
    }

    /// Each thread copies words at equal distances, so that several reads are in flight.
    fn copy_by_kernel(&self, from: &Buffer, to: &Buffer, bytes: u64) -> Res<()> {
        const EACH: usize = 4;
        let words = (bytes / 4) as usize;
        let whole = |b: &Buffer| Array { buffer: b.clone(), scalar: Scalar::Word, shape: vec![words] };
        let (source, target, part) = (whole(from), whole(to), words.div_ceil(EACH));
        each(self, part, |e, i| {
            let (x, y) = (e.slot(&source, false)?, e.slot(&target, true)?);
            let (all, part) = (e.word(words as u32), e.word(part as u32));
            let at: Vec<String> =
                (0..EACH).map(|k| e.define("k", &format!("min({i} + {k}u * {part}, {all} - 1u)"))).collect();
            let read: Vec<String> = at.iter().map(|k| e.define("w", &format!("a{x}[{k}]"))).collect();
            at.iter().zip(&read).for_each(|(k, w)| e.line(&format!("a{y}[{k}] = {w};")));
            Ok(())
        })
    }
}
