//! The functions that JavaScript calls. Bytes are passed in memory that [`allocate`] has reserved, and come
//! back in a buffer that stays until the next call.

use std::cell::RefCell;

use crate::engine::WebEngine;

thread_local! {
    static ENGINE: RefCell<Option<WebEngine>> = const { RefCell::new(None) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" {
    /// The linker's function that prepares the C library. Without this mention of it, the linker would call it
    /// with each call of JavaScript.
    fn __wasm_call_ctors();
}

/// Prepares the module; the first call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn _initialize() {
    // SAFETY: called once.
    unsafe { __wasm_call_ctors() }
}

/// Reserves `len` bytes, which a later call takes over.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn allocate(len: usize) -> *mut u8 {
    Box::leak(vec![0; len].into_boxed_slice()).as_mut_ptr()
}

/// Takes over bytes that [`allocate`] has reserved.
fn taken(at: *mut u8, len: usize) -> Vec<u8> {
    // SAFETY: the page passes each address and length of `allocate` to one call.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) }.into_vec()
}

/// The address of the result of the last call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Puts `bytes` into the output, and returns their length.
fn put(bytes: Vec<u8>) -> usize {
    OUTPUT.with_borrow_mut(|output| *output = bytes);
    OUTPUT.with_borrow(Vec::len)
}

/// Loads models. Returns the length of the problem, if there is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn start(at: *mut u8, len: usize) -> usize {
    match WebEngine::new(&taken(at, len)) {
        Ok(engine) => {
            ENGINE.set(Some(engine));
            0
        }
        Err(error) => put(error.to_string().into_bytes()),
    }
}

/// Sends a request. Returns the length of the problem, if there is one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn send(
    number: u32,
    head: *mut u8,
    head_len: usize,
    body: *mut u8,
    body_len: usize,
) -> usize {
    let (head, body) = (taken(head, head_len), taken(body, body_len));
    ENGINE.with_borrow_mut(|engine| match engine.as_mut().map(|engine| engine.send(number, &head, body)) {
        Some(Ok(())) => 0,
        Some(Err(problem)) => put(problem.into_bytes()),
        None => put(b"the models are not loaded".to_vec()),
    })
}

/// Cancels a request.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cancel(number: u32) {
    ENGINE.with_borrow_mut(|engine| engine.as_mut().map(|engine| engine.cancel(number)));
}

/// Does some work, and returns the length of the events in the output.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn step() -> usize {
    let mut events = Vec::new();
    ENGINE.with_borrow_mut(|engine| engine.as_mut().map(|engine| engine.step(&mut events)));
    put(events)
}

/// True if no request is in progress.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn is_idle() -> bool {
    ENGINE.with_borrow(|engine| engine.as_ref().is_none_or(WebEngine::is_idle))
}
