//! Buffers that are used again.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Buffers of one thread. What a new buffer contains is unspecified.
#[derive(Debug, Default)]
pub(super) struct Buffers(RefCell<Vec<Vec<f32>>>);

/// A buffer, which returns to its [`Buffers`] when it is dropped.
#[derive(Debug)]
pub(super) struct Buffer<'a> {
    data: Vec<f32>,
    len: usize,
    home: &'a Buffers,
}

impl Buffers {
    /// A buffer of `len` elements.
    pub(super) fn take(&self, len: usize) -> Buffer<'_> {
        let mut data = self.0.borrow_mut().pop().unwrap_or_default();
        if data.len() < len {
            data.clear();
            data.resize(len, 0.0);
        }
        Buffer {
            data,
            len,
            home: self,
        }
    }
}

impl Clone for Buffers {
    /// New buffers: their contents do not matter.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Deref for Buffer<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[..self.len]
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[..self.len]
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.home
            .0
            .borrow_mut()
            .push(std::mem::take(&mut self.data));
    }
}
