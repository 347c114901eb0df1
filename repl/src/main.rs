//! The binary `adl`.

use std::process::ExitCode;

// Programs allocate and free small arrays by the million, and large ones repeatedly.
#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned()).collect();
    ExitCode::from(adl_cli::main(&words, None))
}
