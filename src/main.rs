//! The program `attentive`: parse, run, say what went wrong.

mod cli;

use std::process::ExitCode;

/// Training takes and gives back large buffers on several threads, which many systems' own allocators do slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
