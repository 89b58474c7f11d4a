//! The system's permission to use AMX.

/// Requests permission from Linux, which then reserves space for the tiles in this process's threads. Assumes
/// that the CPU has tiles.
#[cfg(target_os = "linux")]
pub(crate) fn permits_matrix_unit() -> bool {
    const ARCH_PRCTL: isize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let result: isize;
    // SAFETY: this system call accesses no memory of the process.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

/// On other systems, AMX is not used.
#[cfg(not(target_os = "linux"))]
pub(crate) fn permits_matrix_unit() -> bool {
    false
}
