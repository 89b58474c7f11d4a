//! The handler of SIGBUS, which the system raises for a page of a file that cannot be read: the file was
//! truncated, or its disk failed.

use std::ffi::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::mapped::IfLost;

/// The addresses of a mapped file, as the handler finds them. Entries are never freed, since the handler may
/// look at them at any time; those that are not in use are used again.
struct Entry {
    is_used: AtomicBool,
    /// The first address; 0 if the other fields are not to be read.
    start: AtomicUsize,
    end: AtomicUsize,
    /// A [`Message`] if the process is to end.
    message: AtomicPtr<Message>,
    has_lost: AtomicBool,
    next: *const Entry,
}

// SAFETY: all fields that change are atomic.
unsafe impl Sync for Entry {}

/// What is written to standard error before the process ends. It is made in advance, since a handler must not
/// allocate.
struct Message(Vec<u8>);

/// The latest entry; the others follow from it.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

/// The handler that was there before ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Lets the handler know a mapped file, until it is dropped.
#[derive(Debug)]
pub(crate) struct MappingGuard(&'static Entry);

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("has_lost", &self.has_lost).finish_non_exhaustive()
    }
}

impl MappingGuard {
    /// Watches the pages of `map`, the bytes of the file `path`.
    pub(crate) fn over(map: &[u8], path: &Path, if_lost: IfLost) -> Self {
        install();
        let message = match if_lost {
            IfLost::Zeros => ptr::null_mut(),
            IfLost::End => Box::into_raw(Box::new(Message::about(path))),
        };
        let entry = Entry::free();
        let page = page();
        entry.has_lost.store(false, Ordering::Relaxed);
        entry.message.store(message, Ordering::Relaxed);
        let start = map.as_ptr() as usize;
        entry.end.store((start + map.len()).next_multiple_of(page), Ordering::Relaxed);
        entry.start.store(start / page * page, Ordering::Release);
        Self(entry)
    }

    /// True if a part of the file was lost, and reads as zeros.
    pub(crate) fn has_lost(&self) -> bool {
        self.0.has_lost.load(Ordering::Acquire)
    }
}

impl Drop for MappingGuard {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
        let message = self.0.message.swap(ptr::null_mut(), Ordering::AcqRel);
        if !message.is_null() {
            // SAFETY: it comes from `Box::into_raw`, and nobody else has it: nothing reads the file any more,
            // so the handler is not called for it.
            drop(unsafe { Box::from_raw(message) });
        }
        self.0.is_used.store(false, Ordering::Release);
    }
}

impl Message {
    fn about(path: &Path) -> Self {
        let mut text = b"error: `".to_vec();
        text.extend(path.as_os_str().as_bytes());
        text.extend(
            b"` was truncated while it was in use, or cannot be read any more\n\
              hint: restore the file, and start again; a file that is in use must be replaced by renaming \
              another one, not overwritten\n",
        );
        Self(text)
    }
}

impl Entry {
    /// Takes an entry that is not in use, or makes one.
    fn free() -> &'static Self {
        let take = |entry: &Self| !entry.is_used.swap(true, Ordering::AcqRel);
        if let Some(entry) = entries().find(|entry| take(entry)) {
            return entry;
        }
        let new = Box::into_raw(Box::new(Self {
            is_used: AtomicBool::new(true),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            message: AtomicPtr::default(),
            has_lost: AtomicBool::new(false),
            next: ENTRIES.load(Ordering::Acquire),
        }));
        loop {
            // SAFETY: nobody else knows the entry before it is in the list, and it is never freed.
            let entry = unsafe { &mut *new };
            let next = entry.next.cast_mut();
            match ENTRIES.compare_exchange(next, new, Ordering::AcqRel, Ordering::Acquire) {
                Err(latest) => entry.next = latest,
                // SAFETY: see above. From now on, it is only shared.
                Ok(_) => return unsafe { &*new },
            }
        }
    }

    /// Puts zeros in the place of the lost page at `address`, and of all behind it: if the file was
    /// truncated, they are lost too, and the system allows only so many mappings. False if it refuses.
    fn replace(&self, address: usize) -> bool {
        let page = page();
        let start = address / page * page;
        let len = self.end.load(Ordering::Relaxed) - start;
        // SAFETY: the pages belong to a mapping that is only read, and stay mapped. `mmap` is a plain system
        // call.
        let replaced = unsafe {
            libc::mmap(
                start as *mut c_void,
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        self.has_lost.store(true, Ordering::Release);
        replaced != libc::MAP_FAILED
    }
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: entries are never freed, and their `next` does not change once they are in the list.
    let entry = |entry: *const Entry| unsafe { entry.as_ref() };
    std::iter::successors(entry(ENTRIES.load(Ordering::Acquire)), move |last| entry(last.next))
}

/// The size of a page.
fn page() -> usize {
    static PAGE: OnceLock<usize> = OnceLock::new();
    // SAFETY: `sysconf` only returns a number.
    *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize })
}

/// Installs the handler, once.
fn install() {
    BEFORE.get_or_init(|| {
        // The handler must not initialize it.
        page();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
        // SAFETY: both values of `sigaction` are complete, and `handle` does nothing that a handler must not
        // do.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = handler as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&mut ours.sa_mask);
            let mut before: libc::sigaction = std::mem::zeroed();
            // If it fails, the signal has its usual effect.
            libc::sigaction(libc::SIGBUS, &ours, &mut before);
            before
        }
    });
}

/// Handles SIGBUS. Only what POSIX lists as safe in a handler is called.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes valid information about the signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let found = entries().find(|entry| {
        let start = entry.start.load(Ordering::Acquire);
        start != 0 && (start..entry.end.load(Ordering::Relaxed)).contains(&address)
    });
    let Some(entry) = found else {
        return pass_on(signal, info, context);
    };
    // SAFETY: a message is freed only when its file is not read any more.
    match unsafe { entry.message.load(Ordering::Acquire).as_ref() } {
        None if entry.replace(address) => {}
        None => pass_on(signal, info, context),
        Some(Message(text)) => {
            // SAFETY: both are plain system calls.
            unsafe {
                libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
                libc::_exit(1);
            }
        }
    }
}

/// Does what would have been done without our handler.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // `install` may not have returned yet, if another thread maps the first file.
    let before = BEFORE.get();
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    match handler {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: plain system calls. The instruction is repeated, and the signal then ends the process.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        handler if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: with this flag, it is a function of this type.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag, it is a function of this type.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
