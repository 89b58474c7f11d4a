//! Buffers that are used again.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Buffers of one thread, the smallest first. What a new buffer contains is unspecified.
#[derive(Debug, Default)]
pub(super) struct ScratchPool(RefCell<Vec<Vec<f32>>>);

/// A buffer, which returns to its [`ScratchPool`] when it is dropped.
#[derive(Debug)]
pub(super) struct ScratchBuffer<'a> {
    data: Vec<f32>,
    len: usize,
    home: &'a ScratchPool,
}

impl ScratchPool {
    /// A buffer of `len` elements: the smallest that is large enough, or a new one in place of the largest,
    /// so that few become large.
    pub(super) fn take(&self, len: usize) -> ScratchBuffer<'_> {
        let mut free = self.0.borrow_mut();
        let index = free.partition_point(|data| data.len() < len);
        let data = if index < free.len() {
            free.remove(index)
        } else {
            drop(free.pop());
            vec![0.0; len]
        };
        ScratchBuffer { data, len, home: self }
    }
}

impl Clone for ScratchPool {
    /// New buffers: their contents do not matter.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Deref for ScratchBuffer<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[..self.len]
    }
}

impl DerefMut for ScratchBuffer<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[..self.len]
    }
}

impl Drop for ScratchBuffer<'_> {
    fn drop(&mut self) {
        let data = std::mem::take(&mut self.data);
        let mut free = self.home.0.borrow_mut();
        let index = free.partition_point(|other| other.len() < data.len());
        free.insert(index, data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_buffer_that_suffices_is_used_again() {
        let buffers = ScratchPool::default();
        let sizes = || -> Vec<usize> { buffers.0.borrow().iter().map(Vec::len).collect() };
        drop([buffers.take(30), buffers.take(10), buffers.take(20)]);
        assert_eq!(sizes(), [10, 20, 30]);
        {
            let (one, other) = (buffers.take(15), buffers.take(0));
            assert_eq!((one.len(), other.len()), (15, 0));
            assert_eq!(sizes(), [30]);
        }
        drop(buffers.take(40));
        assert_eq!(sizes(), [10, 20, 40]);
    }
}
