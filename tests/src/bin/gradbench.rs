//! A tool for `GradBench`: reads messages from standard input and writes an answer to each to standard output.

use adl_tests::gradbench::Tool;
use std::io::{BufRead, Write};

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

fn main() -> std::io::Result<()> {
    let mut tool = Tool::default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", tool.answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}
