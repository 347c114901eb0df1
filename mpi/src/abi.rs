//! The functions of MPI that adl calls, under each of three binary interfaces. They differ in the type and the values
//! of handles: integers of a pointer's width in the standard ABI (MPI 5.0, chapter 20), C's `int` in MPICH, and
//! addresses of symbols in Open MPI.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

/// A handle of the standard ABI or of Open MPI.
type Pointer = usize;

/// The handles and constants of one library.
#[derive(Clone, Copy)]
struct Handles<H> {
    world: H,
    byte: H,
    errors_return: H,
    /// `MPI_THREAD_FUNNELED`: only the thread that initialises MPI calls it.
    funneled: c_int,
}

/// The functions of a library whose handles are `H`. `_library` keeps it open, to the end of the process: Open MPI leaves
/// threads and exit handlers behind, which crash if their code is unloaded.
struct OpenLibrary<H> {
    handles: Handles<H>,
    init: unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int,
    comm_rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    comm_size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    set_errhandler: unsafe extern "C" fn(H, H) -> c_int,
    allgather: unsafe extern "C" fn(*const c_void, c_int, H, *mut c_void, c_int, H, H) -> c_int,
    allgatherv: unsafe extern "C" fn(*const c_void, c_int, H, *mut c_void, *const c_int, *const c_int, H, H) -> c_int,
    #[allow(clippy::type_complexity)]
    alltoallv: unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        H,
        *mut c_void,
        *const c_int,
        *const c_int,
        H,
        H,
    ) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    _library: ManuallyDrop<Library>,
}

/// An open MPI. Lengths are in bytes; buffers are as long as the functions say.
pub trait Mpi {
    /// This rank and the number of ranks.
    fn place(&self) -> Result<(usize, usize), String>;
    /// Each rank's `mine`, of one length on all ranks, into `all`, which has room for them.
    fn all_gather(&self, mine: &[u8], all: &mut [u8]) -> Result<(), String>;
    /// Each rank's `mine`, of `counts[r]` bytes, into `all` at `starts[r]`.
    fn all_gather_v(&self, mine: &[u8], all: &mut [u8], parts: &Parts) -> Result<(), String>;
    /// The parts of `mine`, one for each rank, into `all`, one from each rank.
    fn all_to_all(&self, mine: (&[u8], &Parts), all: (&mut [u8], &Parts)) -> Result<(), String>;
    /// Ends all ranks.
    fn abort(&self, code: i32);
    /// Leaves the other ranks.
    fn finalize(&self);
}

/// How a buffer divides into one part for each rank.
pub struct Parts {
    counts: Vec<c_int>,
    starts: Vec<c_int>,
    /// The sum of the counts.
    pub total: usize,
}

impl Parts {
    /// Parts of these lengths, one behind the other. Their sum is at most [`crate::limits::ROUND`].
    pub fn new(lengths: &[usize]) -> Parts {
        let mut parts = Parts { counts: Vec::new(), starts: Vec::new(), total: 0 };
        for n in lengths {
            parts.starts.push(parts.total as c_int);
            parts.counts.push(*n as c_int);
            parts.total += n;
        }
        parts
    }
}

/// The address of a buffer. That of an empty one may be any number in Rust, and some numbers have a meaning in MPI: in the
/// standard ABI, `MPI_IN_PLACE` is 1.
fn address(bytes: &[u8]) -> *const c_void {
    static NOTHING: u8 = 0;
    if bytes.is_empty() { (&raw const NOTHING).cast() } else { bytes.as_ptr().cast() }
}

/// The address of a buffer that MPI writes to; of an empty one it writes nothing.
fn address_mut(bytes: &mut [u8]) -> *mut c_void {
    if bytes.is_empty() { address(bytes).cast_mut() } else { bytes.as_mut_ptr().cast() }
}

/// Opens a library and initialises MPI.
pub fn open(path: &Path) -> Result<Box<dyn Mpi>, String> {
    // SAFETY: opening runs the library's initialisers. The user has named this library, or it has the name of an MPI.
    // Its symbols are global because Open MPI's plug-ins look them up there.
    let library = unsafe { Library::open(Some(path.as_os_str()), RTLD_NOW | RTLD_GLOBAL) };
    let library = library.map_err(|e| e.to_string())?;
    let name = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let standard = name.file_name().and_then(OsStr::to_str).is_some_and(|n| n.contains("mpi_abi"));
    if standard {
        let handles = Handles::<Pointer> { world: 0x101, byte: 0x247, errors_return: 0x143, funneled: 1024 };
        return initialised(library, handles);
    }
    match open_mpi(&library) {
        Some(handles) => initialised(library, handles),
        None => {
            let (world, byte, errors_return) = (0x4400_0000, 0x4c00_010d, 0x5400_0001);
            initialised(library, Handles::<c_int> { world, byte, errors_return, funneled: 1 })
        }
    }
}

/// The handles of Open MPI, if the library is one: the addresses of its objects.
fn open_mpi(library: &Library) -> Option<Handles<Pointer>> {
    let address = |name: &[u8]| {
        // SAFETY: the symbol is only used as an address, never read or called.
        let symbol = unsafe { library.get::<*const c_void>(name) };
        symbol.ok().map(|s| s.into_raw() as Pointer)
    };
    Some(Handles {
        world: address(b"ompi_mpi_comm_world\0")?,
        byte: address(b"ompi_mpi_byte\0")?,
        errors_return: address(b"ompi_mpi_errors_return\0")?,
        funneled: 1,
    })
}

fn initialised<H: Copy + 'static>(library: Library, handles: Handles<H>) -> Result<Box<dyn Mpi>, String> {
    macro_rules! function {
        ($name:literal) => {{
            // SAFETY: the field that takes the pointer has the C prototype of the function of this name in the MPI
            // standard, with handles of this library's ABI.
            let symbol = unsafe { library.get(concat!($name, "\0").as_bytes()) };
            *symbol.map_err(|e| format!("it has no {}: {e}", $name))?
        }};
    }
    let mpi = OpenLibrary {
        handles,
        init: function!("MPI_Init_thread"),
        comm_rank: function!("MPI_Comm_rank"),
        comm_size: function!("MPI_Comm_size"),
        set_errhandler: function!("MPI_Comm_set_errhandler"),
        allgather: function!("MPI_Allgather"),
        allgatherv: function!("MPI_Allgatherv"),
        alltoallv: function!("MPI_Alltoallv"),
        error_string: function!("MPI_Error_string"),
        abort: function!("MPI_Abort"),
        finalize: function!("MPI_Finalize"),
        _library: ManuallyDrop::new(library),
    };
    let mut provided = 0;
    // SAFETY: MPI allows null for both arguments; `provided` is writable. MPI is initialised once in a process,
    // because `World::open` is called once.
    let code = unsafe { (mpi.init)(std::ptr::null_mut(), std::ptr::null_mut(), handles.funneled, &raw mut provided) };
    mpi.check(code)?;
    // SAFETY: MPI is initialised, and both handles are predefined ones.
    mpi.check(unsafe { (mpi.set_errhandler)(handles.world, handles.errors_return) })?;
    Ok(Box::new(mpi))
}

impl<H: Copy> OpenLibrary<H> {
    /// The text of an error code.
    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut n) = ([0u8; 1024], 0);
        // SAFETY: the buffer is longer than MPI_MAX_ERROR_STRING (512) of every ABI; `n` is writable.
        unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &raw mut n) };
        let n = usize::try_from(n).unwrap_or(0).min(text.len());
        Err(String::from_utf8_lossy(&text[..n]).into_owned())
    }
}

impl<H: Copy> Mpi for OpenLibrary<H> {
    fn place(&self) -> Result<(usize, usize), String> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI is initialised; both results are writable.
        self.check(unsafe { (self.comm_rank)(self.handles.world, &raw mut rank) })?;
        // SAFETY: as above.
        self.check(unsafe { (self.comm_size)(self.handles.world, &raw mut size) })?;
        Ok((usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1)))
    }

    fn all_gather(&self, mine: &[u8], all: &mut [u8]) -> Result<(), String> {
        let (Handles { world, byte, .. }, n) = (self.handles, mine.len() as c_int);
        // SAFETY: MPI reads `n` bytes of `mine` and writes `n` bytes for each rank; `World` makes `all` that long.
        let code = unsafe { (self.allgather)(address(mine), n, byte, address_mut(all), n, byte, world) };
        self.check(code)
    }

    fn all_gather_v(&self, mine: &[u8], all: &mut [u8], parts: &Parts) -> Result<(), String> {
        assert!(all.len() >= parts.total, "room for all parts");
        let Handles { world, byte, .. } = self.handles;
        // SAFETY: MPI reads all of `mine`, and writes `counts[r]` bytes at `starts[r]`, which is inside `all`. Every
        // rank gives the same counts, because all have learned them from each other.
        let code = unsafe {
            (self.allgatherv)(
                address(mine),
                mine.len() as c_int,
                byte,
                address_mut(all),
                parts.counts.as_ptr(),
                parts.starts.as_ptr(),
                byte,
                world,
            )
        };
        self.check(code)
    }

    fn all_to_all(&self, mine: (&[u8], &Parts), all: (&mut [u8], &Parts)) -> Result<(), String> {
        assert!(mine.0.len() >= mine.1.total && all.0.len() >= all.1.total, "room for all parts");
        let Handles { world, byte, .. } = self.handles;
        // SAFETY: the parts lie inside their buffers, and each rank expects as many bytes from another as that one
        // sends, because all have learned the counts from each other.
        let code = unsafe {
            (self.alltoallv)(
                address(mine.0),
                mine.1.counts.as_ptr(),
                mine.1.starts.as_ptr(),
                byte,
                address_mut(all.0),
                all.1.counts.as_ptr(),
                all.1.starts.as_ptr(),
                byte,
                world,
            )
        };
        self.check(code)
    }

    fn abort(&self, code: i32) {
        // SAFETY: MPI is initialised. The call may return, if the other ranks cannot be reached.
        unsafe { (self.abort)(self.handles.world, code) };
    }

    fn finalize(&self) {
        // SAFETY: MPI is initialised, and nothing is called afterwards, because `World::finish` takes the world.
        unsafe { (self.finalize)() };
    }
}
