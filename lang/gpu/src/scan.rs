//! Scans: what tiles make together is scanned, then each tile again, after what stands left of it (see `fold`).

use crate::array::Array;
use crate::error::Res;
use crate::fold::{Begun, ITEMS, Maker, Numbers, Operator, Source, Tiles, assign, begin, copies, gather, reading, store};
use crate::stage;
use crate::wgsl::{Emit, load, wgsl};

impl Maker<'_> {
    /// Scans rows: arrays of rows of the same length.
    pub fn scan(&self, op: &Operator<'_>, rows: usize, length: usize, exclusive: bool, from: Source<'_>) -> Res<Vec<Array>> {
        let outs = self.empty(op, &[rows, length])?;
        if rows * length == 0 {
            return Ok(outs);
        }
        let t = Tiles { rows, length, threads: op.threads()? };
        let carry = match t.count() {
            1 => None,
            n => {
                let sums = self.totals(op, &t, from)?;
                Some(self.scan(op, rows, n, true, &reading(&sums, n))?)
            }
        };
        let mut e = self.emit();
        spread(&mut e, op, &t, from, carry.as_deref(), (&outs, exclusive))?;
        self.launch(e.finish(t.threads, &stage::shared(self.gpu, op, t.threads)), &t)?;
        Ok(outs)
    }
}

/// Writes all prefixes of a tile, after what stands left of it.
fn spread(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, from: Source<'_>, carry: Option<&[Array]>, (outs, exclusive): (&[Array], bool)) -> Res<()> {
    let b = begin(e, t, op)?;
    let x = op.declare(e, "x");
    let staged = stage::load(e, op, t, &b, from)?;
    let kept: Numbers = op.kinds.iter().map(|_| e.name("kept")).collect();
    let own = |j: &str| kept.iter().map(|k| format!("{k}[{j} - {}]", b.first)).collect::<Numbers>();
    if staged {
        gather(e, op, &x, (&b.row, &b.first, &b.end), &|e, _, j| Ok(stage::read(e, op, &b.start, j)))?;
    } else {
        kept.iter().zip(&op.kinds).for_each(|(n, s)| e.line(&format!("var {n}: array<{}, {ITEMS}>;", wgsl(*s))));
        gather(e, op, &x, (&b.row, &b.first, &b.end), &|e, r, j| {
            let v = from(e, r, j)?;
            let v = copies(e, &v);
            assign(e, &own(j), &v);
            Ok(v)
        })?;
    }
    threads(e, op, t, &x, &b.active)?;
    let acc = left(e, op, carry, &b)?;
    let (j, length) = (e.name("j"), e.word(t.length as u32));
    e.line(&format!("var {j} = {};", b.first));
    e.open(&format!("for (; {j} < {}; {j}++)", b.end));
    let v = if staged { stage::read(e, op, &b.start, &j) } else { copies(e, &own(&j)) };
    let before = copies(e, &acc);
    grow(e, op, &acc, &v)?;
    let made = if exclusive { &before } else { &acc };
    if staged {
        stage::write(e, op, &b.start, &j, made);
    } else {
        store(e, op, outs, &format!("({} * {length} + {j})", b.row), made)?;
    }
    e.close();
    e.ended(&format!("{j} < {}", b.end));
    if staged {
        stage::store(e, op, t, &b, (outs, &length))?;
    }
    e.close();
    Ok(())
}

/// What stands left of a thread's elements.
fn left(e: &mut Emit<'_>, op: &Operator<'_>, carry: Option<&[Array]>, b: &Begun) -> Res<Numbers> {
    let acc = op.declare(e, "acc");
    let before = match carry {
        None => (op.neutral)(e)?,
        Some(c) => c.iter().map(|a| e.slot(a, false).map(|s| load(s, a.scalar, &b.tile))).collect::<Res<_>>()?,
    };
    assign(e, &acc, &before);
    e.open(&format!("if l > 0u && l < {}", b.active));
    grow(e, op, &acc, &op.shared_at("l - 1u"))?;
    e.close();
    Ok(acc)
}

/// Puts a tuple to the right of what is accumulated.
fn grow(e: &mut Emit<'_>, op: &Operator<'_>, acc: &[String], by: &[String]) -> Res<()> {
    let v = copies(e, by);
    let made = (op.combine)(e, acc, &v)?;
    let made = copies(e, &made);
    assign(e, acc, &made);
    Ok(())
}

/// Scans what the threads of a tile made: afterwards the workgroup's memory has all prefixes.
fn threads(e: &mut Emit<'_>, op: &Operator<'_>, t: &Tiles, x: &[String], active: &str) -> Res<()> {
    assign(e, &op.shared_at("l"), x);
    e.line("workgroupBarrier();");
    let d = e.name("d");
    e.open(&format!("for (var {d} = 1u; {d} < {}u; {d} = {d} * 2u)", t.threads));
    let y = op.declare(e, "y");
    assign(e, &y, &op.shared_at("l"));
    e.open(&format!("if l >= {d} && l < {active}"));
    let left = copies(e, &op.shared_at(&format!("l - {d}")));
    let made = (op.combine)(e, &left, &y)?;
    let made = copies(e, &made);
    assign(e, &y, &made);
    e.close();
    e.line("workgroupBarrier();");
    assign(e, &op.shared_at("l"), &y);
    e.line("workgroupBarrier();");
    e.close();
    Ok(())
}
