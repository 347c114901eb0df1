//! The location of an array's elements: host memory, device memory, or both.
//!
//! All reads of elements go through [`Array::buf`], which downloads elements that exist only on a device.
//! Afterwards both copies are kept until the array is modified. Queries that need no elements (shapes,
//! [`Array::kind`]) do not download. If a download fails, because the device was lost or the user interrupted
//! it, `buf` returns zeros. These are never observed, because the run stops at its next poll
//! (`crate::polling::fail`).

use super::{Array, Buf, Shape};
use crate::error::Error;
use crate::polling;
use std::cell::OnceCell;
use std::rc::Rc;

/// The kind of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    F64,
    F32,
    I64,
    Bool,
    Unit,
    Boxed,
    Tuple,
    Record,
}

impl Buf {
    /// The kind of the elements.
    pub fn kind(&self) -> Kind {
        match self {
            Buf::F64(_) => Kind::F64,
            Buf::F32(_) => Kind::F32,
            Buf::I64(_) => Kind::I64,
            Buf::Bool(_) => Kind::Bool,
            Buf::Unit => Kind::Unit,
            Buf::Boxed(_) => Kind::Boxed,
            Buf::Tuple(_) => Kind::Tuple,
            Buf::Record(..) => Kind::Record,
        }
    }
}

/// Elements in device memory.
pub trait Remote {
    /// Copies the elements to the host: numbers or Bools of the kind given by [`Remote::kind`], or boxes.
    fn download(&self) -> Result<Buf, Box<Error>>;
    /// The kind of the elements.
    fn kind(&self) -> Kind;
    /// Bytes of device memory.
    fn bytes(&self) -> u64;
    /// The same numbers with -0 replaced by 0; `None` if the device does not support this.
    fn unsigned(&self) -> Option<Box<dyn Remote>>;
    /// The object itself, to be downcast by the device that made it.
    fn any(&self) -> &dyn std::any::Any;
}

/// Elements in device memory, and the zeros that replace them after a failed download.
struct RemoteCopy {
    remote: Box<dyn Remote>,
    blank: OnceCell<Buf>,
}

/// The elements of an array.
#[derive(Default)]
pub struct Elements {
    host: OnceCell<Buf>,
    away: OnceCell<Rc<RemoteCopy>>,
    /// Who owns the memory of `host`, if it is not the array: it is only read, and never freed here.
    owner: Option<Box<dyn std::any::Any>>,
}

impl Clone for Elements {
    /// A copy owns its elements.
    fn clone(&self) -> Elements {
        Elements { host: self.host.clone(), away: self.away.clone(), owner: None }
    }
}

impl Drop for Elements {
    fn drop(&mut self) {
        if self.owner.is_some() {
            std::mem::forget(self.host.take());
        }
    }
}

impl std::fmt::Debug for Elements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.host.get(), self.away.get()) {
            (Some(b), _) => write!(f, "{b:?}"),
            (None, Some(a)) => write!(f, "{:?} on a device", a.remote.kind()),
            (None, None) => write!(f, "nothing"),
        }
    }
}

impl From<Buf> for Elements {
    #[inline]
    fn from(b: Buf) -> Elements {
        Elements { host: OnceCell::from(b), away: OnceCell::new(), owner: None }
    }
}

/// Zeros in place of elements that could not be downloaded.
fn blank(kind: Kind, n: usize) -> Buf {
    match kind {
        Kind::F64 => Buf::F64(vec![0.0; n]),
        Kind::F32 => Buf::F32(vec![0.0; n]),
        Kind::I64 => Buf::I64(vec![0; n]),
        Kind::Bool => Buf::Bool(vec![false; n]),
        Kind::Boxed => Buf::Boxed(vec![super::Value::Zero; n]),
        Kind::Unit | Kind::Tuple | Kind::Record => Buf::Unit,
    }
}

impl Elements {
    #[cold]
    fn fetch(&self, n: usize) -> &Buf {
        let Some(away) = self.away.get() else { return self.host.get_or_init(|| Buf::Unit) };
        match away.remote.download() {
            Ok(b) => self.host.get_or_init(|| b),
            Err(e) => {
                polling::fail(e);
                away.blank.get_or_init(|| blank(away.remote.kind(), n))
            }
        }
    }
}

impl Array {
    /// An array from a buffer and its complete shape.
    #[inline]
    pub fn new(shape: Shape, buf: Buf) -> Array {
        Array { shape, elements: buf.into() }
    }

    /// An array from elements in device memory and its complete shape.
    pub fn remote(shape: Shape, remote: Box<dyn Remote>) -> Array {
        let away = Rc::new(RemoteCopy { remote, blank: OnceCell::new() });
        Array { shape, elements: Elements { host: OnceCell::new(), away: OnceCell::from(away), owner: None } }
    }

    /// An array whose elements another owner holds, such as an array of Python. `buf` is read, but never changed, resized
    /// or freed; `owner` is dropped with the array.
    pub fn borrowed(shape: Shape, buf: Buf, owner: Box<dyn std::any::Any>) -> Array {
        Array { shape, elements: Elements { host: OnceCell::from(buf), away: OnceCell::new(), owner: Some(owner) } }
    }

    /// Whether another owner holds the elements.
    pub fn is_borrowed(&self) -> bool {
        self.elements.owner.is_some()
    }

    /// The elements on the host; downloads them if necessary.
    #[inline]
    pub fn buf(&self) -> &Buf {
        match self.elements.host.get() {
            Some(b) => b,
            None => self.elements.fetch(self.shape.iter().product()),
        }
    }

    /// The elements for modification on the host; a copy on a device is dropped.
    #[inline]
    pub fn buf_mut(&mut self) -> &mut Buf {
        self.parts_mut().1
    }

    /// The shape and the elements for modification on the host.
    #[inline]
    pub fn parts_mut(&mut self) -> (&mut Shape, &mut Buf) {
        if self.elements.away.get().is_some() || self.elements.owner.is_some() {
            self.move_to_host();
        }
        // The host buffer exists: `move_to_host` has downloaded it, or the array was never on a device.
        self.elements.host.get_or_init(|| Buf::Unit);
        match self.elements.host.get_mut() {
            Some(b) => (&mut self.shape, b),
            None => unreachable!("a buffer was put there just now"),
        }
    }

    #[cold]
    fn move_to_host(&mut self) {
        if self.elements.owner.is_some() {
            self.elements = self.elements.clone();
        }
        if self.elements.host.get().is_none() {
            let b = self.buf().clone();
            self.elements.host = OnceCell::from(b);
        }
        self.elements.away = OnceCell::new();
    }

    /// The elements on the host.
    pub fn into_buf(mut self) -> Buf {
        std::mem::replace(self.buf_mut(), Buf::Unit)
    }

    /// The kind of its elements, wherever they are.
    #[inline]
    pub fn kind(&self) -> Kind {
        match (self.elements.host.get(), self.elements.away.get()) {
            (Some(b), _) => b.kind(),
            (None, Some(a)) => a.remote.kind(),
            (None, None) => Kind::Unit,
        }
    }

    /// Whether its elements are numbers or Bools, wherever they are.
    #[inline]
    pub fn is_flat(&self) -> bool {
        matches!(self.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool)
    }

    /// The boxed values or columns that it contains. An array that is only on a device has none that contain
    /// functions or globals, so the result is empty.
    pub fn values(&self) -> &[super::Value] {
        match self.elements.host.get() {
            Some(Buf::Tuple(vs) | Buf::Record(_, vs) | Buf::Boxed(vs)) => vs,
            _ => &[],
        }
    }

    /// Its elements in device memory, if there is a copy.
    #[inline]
    pub fn away(&self) -> Option<&dyn Remote> {
        self.elements.away.get().map(|a| &*a.remote)
    }

    /// The array with -0 replaced by 0, if it is only on a device and the device supports this. The result
    /// stays there.
    pub fn unsigned_remote(&self) -> Option<Array> {
        let remote = self.away().filter(|_| self.is_remote())?.unsigned()?;
        Some(Array::remote(self.shape.clone(), remote))
    }

    /// Whether its elements are only on a device.
    #[inline]
    pub fn is_remote(&self) -> bool {
        self.elements.host.get().is_none() && self.elements.away.get().is_some()
    }

    /// Records that a copy of its elements is on a device. Has no effect if there already is one.
    pub fn add_remote_copy(&self, remote: Box<dyn Remote>) {
        let _ = self.elements.away.set(Rc::new(RemoteCopy { remote, blank: OnceCell::new() }));
    }
}
