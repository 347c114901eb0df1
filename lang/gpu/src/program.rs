//! The device as the interpreter sees it: implements [`adl_interp::device`], and converts the interpreter's values to
//! [`exec::Value`]s.
//!
//! Array results stay on the device until the interpreter reads them. Large array arguments are sent once, and then
//! exist on both sides. Scalars are read immediately, since the host needs them.

use crate::array::{Array, Data, Scalar};
use crate::error::{Error, Res, unsupported};
use crate::exec;
use crate::limits::program::{INTS, STAYS};
use crate::queue::Gpu;
use adl_interp::device::{Device, DeviceUsage, KernelLimits, Prepared, Refusal, gone};
use adl_interp::error::{self, codes};
use adl_interp::ir::op_site;
use adl_interp::value::{self, Buf, Kind, Remote, Value};
use adl_ir::{Builder, FnId, Lit, Program, Ty};
use adl_prim::Bin;
use std::rc::Rc;

/// Opens a device for the interpreter: the adapter with the given number or part of a name; the first one by default.
/// `compiled`: what [`Device::compiled`] returned in an earlier run.
pub fn open(pick: Option<&str>, compiled: Option<&[u8]>) -> Result<Rc<dyn Device>, String> {
    Ok(device(Rc::new(Gpu::open_with_cache(pick, compiled).map_err(|e| e.to_string())?)))
}

/// Wraps an open device for the interpreter.
pub fn device(gpu: Rc<Gpu>) -> Rc<dyn Device> {
    gpu.set_interrupt_query(adl_interp::interrupted);
    Rc::new(InterpreterDevice(gpu))
}

struct InterpreterDevice(Rc<Gpu>);

struct DeviceFunction {
    gpu: Rc<Gpu>,
    program: Rc<Program>,
    f: FnId,
    ready: exec::Prepared,
}

/// An array value on the device.
struct DeviceValue {
    gpu: Rc<Gpu>,
    /// The declared types, if the value may contain data.
    program: Option<Rc<Program>>,
    value: exec::Value,
    ty: Ty,
}

fn refusal(e: Error) -> Refusal {
    match e {
        Error::Unsupported(why) => Refusal::Unsupported(why),
        Error::Stopped => Refusal::Stop(stopped()),
        Error::Fault(_) | Error::Memory(_) | Error::Refused(_) => Refusal::Failed(e.to_string()),
        Error::Lost(_) | Error::NoAdapter(_) => Refusal::Lost(e.to_string()),
    }
}

fn stopped() -> Box<error::Error> {
    error::Error::new(codes::INTERRUPT, "interrupted")
}

impl Device for InterpreterDevice {
    fn name(&self) -> String {
        self.0.caps.name.clone()
    }

    fn is_software(&self) -> bool {
        self.0.caps.software
    }

    fn prepare(&self, program: Program, f: FnId) -> Result<Rc<dyn Prepared>, String> {
        exec::fits(&program, f)?;
        let ready = exec::Prepared::new(&program, f);
        Ok(Rc::new(DeviceFunction { gpu: self.0.clone(), program: Rc::new(program), f, ready }))
    }

    fn wait(&self) -> Result<(), Refusal> {
        self.0.wait().map_err(refusal)
    }

    fn compiled(&self) -> Option<Vec<u8>> {
        if self.0.work().compiled > 0 { self.0.cache_blob() } else { None }
    }

    fn used(&self) -> DeviceUsage {
        let (w, m) = (self.0.work(), self.0.memory());
        DeviceUsage {
            kernels: w.kernels,
            submits: w.submits,
            up: w.up,
            down: w.down,
            traffic: w.traffic,
            memory: m.used,
            peak: m.peak,
        }
    }
}

impl Prepared for DeviceFunction {
    fn run(&self, args: &[Value], patience: KernelLimits) -> Result<Vec<Value>, Refusal> {
        let f = self.program.func(self.f);
        let params: Vec<&Ty> = f.body.params.iter().chain(&f.body.lin_params).map(|v| f.ty(*v)).collect();
        let results: Vec<&Ty> = f.body.results.iter().chain(&f.body.lin_results).map(|v| f.ty(*v)).collect();
        let run = || {
            let args = args.iter().zip(params).map(|(v, t)| sent(&self.gpu, v, t)).collect::<Res<Vec<_>>>()?;
            let made = self.ready.run_within(&self.gpu, &args, patience)?;
            let outs = made
                .into_iter()
                .zip(results)
                .map(|(v, t)| received(&self.gpu, &self.program, v, t))
                .collect::<Res<Vec<_>>>()?;
            if self.gpu.has_unread_faults() {
                self.gpu.wait()?;
            }
            Ok(outs)
        };
        let out = run();
        if out.is_err() && self.gpu.has_unread_faults() {
            // Clears faults of the abandoned call, which must not be attributed to a later one.
            drop(self.gpu.wait());
        }
        out.map_err(refusal)
    }
}

/// Sends a value of the interpreter to the device.
fn sent(gpu: &Rc<Gpu>, v: &Value, ty: &Ty) -> Res<exec::Value> {
    Ok(match (v, ty) {
        (Value::Float(x), _) => exec::Value::Number(Lit::F64(*x)),
        (Value::F32(x), _) => exec::Value::Number(Lit::F32(*x)),
        (Value::Int(x), _) => exec::Value::Number(Lit::I64(*x)),
        (Value::Bool(x), _) => exec::Value::Number(Lit::Bool(*x)),
        (Value::Zero, _) => exec::Value::SymbolicZero,
        (Value::Array(a), Ty::Array(e, _)) => sent_array(gpu, a, e, ty)?,
        _ => return unsupported("values that a GPU does not have"),
    })
}

fn sent_array(gpu: &Rc<Gpu>, array: &value::Array, elem: &Ty, ty: &Ty) -> Res<exec::Value> {
    let held = array.away().and_then(|r| r.any().downcast_ref::<DeviceValue>());
    if let Some(h) = held.filter(|h| Rc::ptr_eq(&h.gpu, gpu)) {
        return Ok(h.value.clone());
    }
    let data = match array.buf() {
        Buf::I64(x) if array.shape.len() == 1 && x.len() <= INTS => return Ok(exec::Value::Ints(Rc::new(x.clone()))),
        Buf::F64(x) => gpu.array_of(Scalar::F64, x, array.shape.to_vec()),
        Buf::F32(x) => gpu.array_of(Scalar::F32, x, array.shape.to_vec()),
        Buf::I64(x) => gpu.array_of(Scalar::I64, x, array.shape.to_vec()),
        Buf::Bool(x) => gpu.array(&Data::Bool(x.clone()), array.shape.to_vec()),
        Buf::Boxed(rows) if matches!(elem, Ty::Array(..)) => {
            return Ok(exec::Value::Data(
                0,
                Rc::new(rows.iter().map(|r| sent(gpu, r, elem)).collect::<Res<Vec<_>>>()?),
            ));
        }
        Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {
            return unsupported("arrays of what a GPU does not have");
        }
    };
    let sent = exec::Value::Array(data?);
    if array.shape.iter().product::<usize>() >= STAYS {
        array.add_remote_copy(Box::new(DeviceValue {
            gpu: gpu.clone(),
            program: None,
            value: sent.clone(),
            ty: ty.clone(),
        }));
    }
    Ok(sent)
}

/// Converts a device value to one of the interpreter.
fn received(gpu: &Rc<Gpu>, program: &Rc<Program>, result: exec::Value, ty: &Ty) -> Res<Value> {
    Ok(match (result, ty) {
        (exec::Value::SymbolicZero, _) => Value::Zero,
        (exec::Value::Number(l), _) => number(&l)?,
        (exec::Value::Ints(x), _) => value::array::ints((*x).clone()),
        (exec::Value::Array(a), Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool) => first(gpu, &a)?,
        (exec::Value::Data(tag, fields), Ty::Data(d)) => {
            let decl = program.datas.get(d.0 as usize);
            let Some((_, tys)) = decl.and_then(|d| d.cons.get(tag as usize)).filter(|c| c.1.len() == fields.len())
            else {
                return unsupported("data whose constructors are not known");
            };
            let fields =
                fields.iter().zip(tys).map(|(v, t)| received(gpu, program, v.clone(), t)).collect::<Res<Vec<_>>>()?;
            Value::data(op_site::constructor(decl, tag, fields.len()), fields)
        }
        (value, Ty::Array(_, rank)) => {
            let shape = match &value {
                exec::Value::Array(a) => a.shape.iter().take(*rank as usize).copied().collect(),
                exec::Value::Data(_, rows) if *rank == 1 => value::Shape::from_slice(&[rows.len()]),
                _ => return unsupported("a result of another kind than its type says"),
            };
            Value::Array(Rc::new(value::Array::remote(
                shape,
                Box::new(DeviceValue { gpu: gpu.clone(), program: Some(program.clone()), value, ty: ty.clone() }),
            )))
        }
        _ => return unsupported("a result of another kind than its type says"),
    })
}

fn number(l: &Lit) -> Res<Value> {
    Ok(match l {
        Lit::F64(x) => Value::Float(*x),
        Lit::F32(x) => Value::F32(*x),
        Lit::I64(x) => Value::Int(*x),
        Lit::Bool(x) => Value::Bool(*x),
        Lit::Str(_) => return unsupported("texts are not on a GPU"),
    })
}

/// The scalar in an array without axes.
fn first(gpu: &Gpu, a: &Array) -> Res<Value> {
    let one = match gpu.read(a)? {
        Data::F64(x) => x.first().map(|x| Value::Float(*x)),
        Data::F32(x) => x.first().map(|x| Value::F32(*x)),
        Data::I64(x) => x.first().map(|x| Value::Int(*x)),
        Data::Bool(x) => x.first().map(|x| Value::Bool(*x)),
        Data::Word(_) => None,
    };
    one.map_or_else(|| unsupported("a number that is none"), Ok)
}

impl DeviceValue {
    /// The boxes of an array that stores their axes after its own.
    fn boxes(&self, a: &Array) -> Res<Vec<exec::Value>> {
        let rank = self.ty.rank() as usize;
        let Some((outer, inner)) = a.shape.split_at_checked(rank) else {
            return unsupported("boxes of another shape than their type says");
        };
        let bytes = inner.iter().product::<usize>() as u64 * a.scalar.bytes();
        let one = |k: usize| {
            let row = self.gpu.empty(a.scalar, inner.to_vec())?;
            self.gpu.copy_into(&a.buffer, k as u64 * bytes, &row.buffer, 0, bytes)?;
            Ok(exec::Value::Array(row))
        };
        (0..outer.iter().product::<usize>()).map(one).collect()
    }

    fn rows(&self, rows: &[exec::Value]) -> Res<Buf> {
        let Ty::Array(elem, _) = &self.ty else { return unsupported("rows of what has none") };
        let program = self.program.clone().unwrap_or_default();
        Ok(Buf::Boxed(rows.iter().map(|r| received(&self.gpu, &program, r.clone(), elem)).collect::<Res<Vec<_>>>()?))
    }
}

impl Remote for DeviceValue {
    fn download(&self) -> Result<Buf, Box<error::Error>> {
        let read = match &self.value {
            exec::Value::Array(a) if self.kind() == Kind::Boxed => self.boxes(a).and_then(|rows| self.rows(&rows)),
            exec::Value::Array(a) => self.gpu.read(a).and_then(|d| match d {
                Data::F64(x) => Ok(Buf::F64(x)),
                Data::F32(x) => Ok(Buf::F32(x)),
                Data::I64(x) => Ok(Buf::I64(x)),
                Data::Bool(x) => Ok(Buf::Bool(x)),
                Data::Word(_) => unsupported("words are none of the language's"),
            }),
            exec::Value::Data(_, rows) => self.rows(rows),
            _ => unsupported("an array that is none"),
        };
        read.map_err(|e| match e {
            Error::Stopped => stopped(),
            e => gone(&e.to_string()),
        })
    }

    fn kind(&self) -> Kind {
        match &self.ty {
            Ty::Array(e, _) => match &**e {
                Ty::F64 => Kind::F64,
                Ty::F32 => Kind::F32,
                Ty::I64 => Kind::I64,
                Ty::Bool => Kind::Bool,
                Ty::Str | Ty::Array(..) | Ty::Data(_) => Kind::Boxed,
            },
            _ => Kind::Boxed,
        }
    }

    fn bytes(&self) -> u64 {
        match &self.value {
            exec::Value::Array(a) => a.bytes(),
            _ => 0,
        }
    }

    fn unsigned(&self) -> Option<Box<dyn Remote>> {
        let zero = match self.kind() {
            Kind::F64 => Lit::F64(0.0),
            Kind::F32 => Lit::F32(0.0),
            _ => return None,
        };
        let mut b = Builder::new("unsigned");
        let x = b.param(self.ty.clone());
        let zero = b.lit(zero);
        let y = b.bin(Bin::Add, zero, x);
        let mut program = Program::default();
        let f = program.add(b.finish(vec![y], Vec::new()));
        let made = exec::run(&self.gpu, &program, f, std::slice::from_ref(&self.value)).ok()?;
        Some(Box::new(DeviceValue {
            gpu: self.gpu.clone(),
            program: None,
            value: made.into_iter().next()?,
            ty: self.ty.clone(),
        }))
    }

    fn any(&self) -> &dyn std::any::Any {
        self
    }
}
