//! Standard output that was closed when the process began (`>&-`). Rust's runtime opens `/dev/null` in its
//! place before `main`, so that what is written is lost without an error.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true if standard output was closed when the process began. On systems other than Linux and macOS,
/// nobody knows.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Looks at standard output before the runtime does.
#[cfg(any(target_os = "linux", target_os = "macos"))]
extern "C" fn look() {
    // SAFETY: a plain system call.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions in this section before `main`. This one needs nothing of the
// runtime.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = look;
