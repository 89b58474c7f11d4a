//! The program `attentive`: runs the command line.

use std::process::ExitCode;

/// Training frequently allocates and frees large buffers on several threads, which many system allocators do
/// slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    attentive_cli::main()
}
