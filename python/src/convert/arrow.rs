//! Tables and columns of other libraries, by the PyCapsule interface of Arrow.
//!
//! A table is a record of columns. Columns of 64-bit numbers in one piece are lent, in both directions.

use super::arrays::{LENT, warn};
use crate::errors;
use adl_interp::value::{Array, Buf, Record, Shape, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{RecordTy, Size, Ty};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array as _, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    StringArray, make_array,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString, PyTuple};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

type TypedValue = (Value, Ty);

fn failed(py: Python<'_>, e: &ArrowError) -> PyErr {
    errors::plain(py, "E0201", &format!("expected data of Arrow, found: {e}"), "convert the columns to NumPy")
}

/// What a capsule points to.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &std::ffi::CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

/// The value of an object that offers data of Arrow; `None` if it offers none.
pub fn from_arrow(object: &Bound<'_, PyAny>, lend: bool) -> PyResult<Option<TypedValue>> {
    let py = object.py();
    if object.hasattr("__arrow_c_array__")? {
        let both = object.call_method0("__arrow_c_array__")?;
        let both = both.cast::<PyTuple>()?;
        let schema = pointer::<FFI_ArrowSchema>(&both.get_item(0)?, c"arrow_schema")?;
        let data = pointer::<FFI_ArrowArray>(&both.get_item(1)?, c"arrow_array")?;
        // SAFETY: the names of the capsules say what they point to. The array is moved out, and an empty one is left for
        // the capsule to release, as the interface wants.
        let found = unsafe { from_ffi(FFI_ArrowArray::from_raw(data.as_ptr()), schema.as_ref()) };
        let column = make_array(found.map_err(|e| failed(py, &e))?);
        return Ok(Some(ArrowColumn { py, name: "", lend }.value(&[column])?));
    }
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, c"arrow_array_stream")?;
        // SAFETY: as above.
        let Ok(reader) = (unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }) else { return Ok(None) };
        return Ok(Some(table(py, reader, lend)?));
    }
    Ok(None)
}

/// A record of columns from batches of rows.
fn table(py: Python<'_>, reader: RecordBatchStreamReader, lend: bool) -> PyResult<TypedValue> {
    let names: Vec<String> =
        arrow_array::RecordBatchReader::schema(&reader).fields().iter().map(|f| f.name().clone()).collect();
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); names.len()];
    for batch in reader {
        let batch = batch.map_err(|e| failed(py, &e))?;
        columns.iter_mut().zip(batch.columns()).for_each(|(all, c)| all.push(c.clone()));
    }
    record(py, &names, &columns, lend)
}

fn record(py: Python<'_>, names: &[String], columns: &[Vec<ArrayRef>], lend: bool) -> PyResult<TypedValue> {
    let mut fields = Vec::with_capacity(names.len());
    for (name, chunks) in names.iter().zip(columns) {
        let (v, t) = ArrowColumn { py, name, lend }.value(chunks)?;
        fields.push((Symbol::new(name), v, t));
    }
    adl_syntax::field_order::written(fields.iter().map(|f| f.0));
    fields.sort_by_key(|f| f.0.as_str());
    let names: Rc<[Symbol]> = fields.iter().map(|f| f.0).collect();
    let ty = RecordTy { fields: fields.iter().map(|f| (f.0, f.2.clone())).collect(), tail: None };
    let vals = fields.into_iter().map(|f| f.1).collect();
    Ok((Value::Record(Rc::new(Record { names, vals })), Ty::Record(Rc::new(ty))))
}

/// A column to be read.
struct ArrowColumn<'py, 'n> {
    py: Python<'py>,
    name: &'n str,
    lend: bool,
}

impl ArrowColumn<'_, '_> {
    fn value(&self, chunks: &[ArrayRef]) -> PyResult<TypedValue> {
        let empty = DataType::Float64;
        let ty = chunks.first().map_or(&empty, |c| c.data_type());
        let nulls: usize = chunks.iter().map(arrow_array::Array::null_count).sum();
        if nulls > 0 {
            return self.wrong("no nulls", &format!("{nulls} nulls"), "fill or drop them first");
        }
        let count: usize = chunks.iter().map(arrow_array::Array::len).sum();
        let (buf, element) = match ty {
            DataType::Float64 => return self.wide::<Float64Type>(chunks, Buf::F64, Ty::Float),
            DataType::Int64 => return self.wide::<Int64Type>(chunks, Buf::I64, Ty::Int),
            DataType::Float32 => (Buf::F32(all::<Float32Type>(chunks)), Ty::F32),
            DataType::Int8 => (self.ints::<Int8Type>(chunks)?, Ty::Int),
            DataType::Int16 => (self.ints::<Int16Type>(chunks)?, Ty::Int),
            DataType::Int32 => (self.ints::<Int32Type>(chunks)?, Ty::Int),
            DataType::UInt8 => (self.ints::<UInt8Type>(chunks)?, Ty::Int),
            DataType::UInt16 => (self.ints::<UInt16Type>(chunks)?, Ty::Int),
            DataType::UInt32 => (self.ints::<UInt32Type>(chunks)?, Ty::Int),
            DataType::UInt64 => (self.ints::<UInt64Type>(chunks)?, Ty::Int),
            DataType::Boolean => (Buf::Bool(chunks.iter().flat_map(|c| c.as_boolean().values()).collect()), Ty::Bool),
            DataType::Utf8 => return Ok(texts(chunks.iter().flat_map(AsArray::as_string::<i32>).flatten())),
            DataType::LargeUtf8 => return Ok(texts(chunks.iter().flat_map(AsArray::as_string::<i64>).flatten())),
            DataType::Utf8View => return Ok(texts(chunks.iter().flat_map(AsArray::as_string_view).flatten())),
            DataType::Struct(fields) => {
                let names: Vec<String> = fields.iter().map(|f| f.name().clone()).collect();
                let column = |k: usize| chunks.iter().map(|c| c.as_struct().column(k).clone()).collect();
                let columns: Vec<Vec<ArrayRef>> = (0..names.len()).map(column).collect();
                return record(self.py, &names, &columns, self.lend);
            }
            other => {
                let hint = "convert it first, or select other columns";
                return self.wrong("numbers, Bools or texts", &other.to_string(), hint);
            }
        };
        let value = Value::Array(Rc::new(Array::new(Shape::from_slice(&[count]), buf)));
        Ok((value, column_type(count, element)))
    }

    fn wrong<T>(&self, expected: &str, found: &str, hint: &str) -> PyResult<T> {
        let at = if self.name.is_empty() { String::new() } else { format!(" in column `{}`", self.name) };
        Err(errors::plain(self.py, "E0201", &format!("expected {expected}{at}, found {found}"), hint))
    }

    /// Numbers of 64 bits, lent if they are many and in one piece.
    fn wide<P: ArrowPrimitiveType>(
        &self,
        chunks: &[ArrayRef],
        buf: fn(Vec<P::Native>) -> Buf,
        ty: Ty,
    ) -> PyResult<TypedValue> {
        if let ([one], true) = (chunks, self.lend)
            && one.len() >= LENT
        {
            let values = one.as_primitive::<P>().values();
            let (at, count) = (values.as_ptr().cast_mut(), values.len());
            // SAFETY: the column has `count` aligned elements in one piece, and `owner` keeps them alive. `Array::borrowed`
            // forgets the vector: it is only read, so that no allocator sees an address that it does not know.
            let lent = buf(unsafe { Vec::from_raw_parts(at, count, count) });
            let owner = Box::new(one.clone());
            let value = Value::Array(Rc::new(Array::borrowed(Shape::from_slice(&[count]), lent, owner)));
            return Ok((value, column_type(count, ty)));
        }
        let all = all::<P>(chunks);
        let count = all.len();
        Ok((Value::Array(Rc::new(Array::new(Shape::from_slice(&[count]), buf(all)))), column_type(count, ty)))
    }

    fn ints<P: ArrowPrimitiveType>(&self, chunks: &[ArrayRef]) -> PyResult<Buf>
    where
        i64: TryFrom<P::Native>,
    {
        let values = chunks.iter().flat_map(|c| c.as_primitive::<P>().values().iter());
        let all: Result<Vec<i64>, _> = values.map(|x| i64::try_from(*x)).collect();
        let Ok(all) = all else {
            return self.wrong("Ints of 64 bits", "a larger number", "convert the column to floats");
        };
        warn(self.py, all.len() * size_of::<P::Native>(), &format!("its type is {}, not Int64", P::DATA_TYPE))?;
        Ok(Buf::I64(all))
    }
}

fn column_type(count: usize, element: Ty) -> Ty {
    Ty::Array(Size::known(count as u64), Rc::new(element))
}

fn all<P: ArrowPrimitiveType>(chunks: &[ArrayRef]) -> Vec<P::Native> {
    chunks.iter().flat_map(|c| c.as_primitive::<P>().values().iter().copied()).collect()
}

fn texts<'a>(all: impl Iterator<Item = &'a str>) -> TypedValue {
    let all: Vec<Value> = all.map(|s| Value::Str(Rc::new(s.into()))).collect();
    let count = all.len();
    (array::boxed(all), column_type(count, Ty::Str))
}

/// An array of NumPy as an owner of memory.
struct Owner {
    _array: AssertUnwindSafe<Py<PyAny>>,
}

/// The elements of an array of NumPy with one axis, without a copy.
fn given<T: Element + arrow_buffer::ArrowNativeType>(a: &Bound<'_, PyArrayDyn<T>>) -> Option<ScalarBuffer<T>> {
    let start = NonNull::new(a.data().cast::<u8>())?;
    if a.ndim() != 1 || !a.is_c_contiguous() || !(start.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
        return None;
    }
    let owner = Arc::new(Owner { _array: AssertUnwindSafe(a.clone().into_any().unbind()) });
    // SAFETY: the array has these bytes in one piece, and `owner` keeps them alive.
    let buffer = unsafe { Buffer::from_custom_allocation(start, a.len() * size_of::<T>(), owner) };
    Some(ScalarBuffer::new(buffer, 0, a.len()))
}

/// A column of a record as one of Arrow.
fn to_column(name: &str, column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(a) = column.cast::<PyArrayDyn<f64>>()
        && let Some(values) = given(a)
    {
        return Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values, None)));
    }
    if let Ok(a) = column.cast::<PyArrayDyn<i64>>()
        && let Some(values) = given(a)
    {
        return Ok(Arc::new(PrimitiveArray::<Int64Type>::new(values, None)));
    }
    if let Ok(a) = column.cast::<PyArrayDyn<f32>>()
        && let Some(values) = given(a)
    {
        return Ok(Arc::new(PrimitiveArray::<Float32Type>::new(values, None)));
    }
    if let Ok(a) = column.cast::<PyArrayDyn<bool>>()
        && a.ndim() == 1
    {
        return Ok(Arc::new(BooleanArray::from(a.try_readonly()?.as_array().iter().copied().collect::<Vec<bool>>())));
    }
    if !column.is_instance_of::<PyString>()
        && let Ok(all) = column.extract::<Vec<String>>()
    {
        return Ok(Arc::new(StringArray::from(all)));
    }
    let found = column.get_type().name()?;
    let message = format!("expected an array with one axis or a list of texts in column `{name}`, found `{found}`");
    Err(errors::plain(column.py(), "E0201", &message, "a table has columns of numbers, Bools or texts, in one piece"))
}

/// A record of columns as a stream of Arrow: one batch of rows.
#[pyfunction]
pub fn arrow_stream<'py>(py: Python<'py>, record: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyCapsule>> {
    let mut columns = Vec::with_capacity(record.len());
    for (name, column) in record.iter() {
        let name = name.extract::<String>()?;
        let column = to_column(&name, &column)?;
        columns.push((name, column));
    }
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| {
        let message = format!("expected columns of one length, found: {e}");
        errors::plain(py, "E0301", &message, "a table has one value in each row of each column")
    })?;
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    PyCapsule::new(py, FFI_ArrowArrayStream::new(Box::new(reader)), Some(c"arrow_array_stream".to_owned()))
}
