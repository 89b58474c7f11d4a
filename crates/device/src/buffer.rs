//! Buffers of numbers in the memory of a device.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter};
use std::mem;

use crate::current;
use crate::platform::Pages;
use crate::pool::{self, SMALLEST};
use crate::rehearsal::VirtualBuffer;

/// A vector of numbers in the memory of a [device](crate::Device), which only this device can read and write.
///
/// Its memory goes back to the device when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    len: usize,
    storage: Storage,
}

/// Where the numbers are.
enum Storage {
    /// In a vector of its own.
    Own(Vec<f32>),
    /// At the beginning of pages that go back to a pool.
    Pooled(Option<Pages>),
    /// Nowhere.
    Imagined {
        /// What a rehearsal counts until it is dropped; `None` for what it does not count.
        _memory: Option<VirtualBuffer>,
    },
    /// In memory that only its device knows.
    Elsewhere(Box<dyn Any + Send + Sync>),
}

impl Debug for Storage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own(_) => "memory of the host",
            Self::Pooled(_) => "memory of a pool of the host",
            Self::Imagined { .. } => "no memory: it is only rehearsed",
            Self::Elsewhere(_) => "memory of another device",
        })
    }
}

impl Buffer {
    /// No numbers.
    pub const EMPTY: Self = Self { len: 0, storage: Storage::Own(Vec::new()) };

    /// Returns a buffer of `len` elements of the [current device](current) with unspecified contents.
    pub fn take(len: usize) -> Self {
        current().allocate(len)
    }

    /// Returns a buffer of `len` elements that exist nowhere, for the parameters of a model that is only
    /// [rehearsed](crate::rehearse).
    pub fn imagined(len: usize) -> Self {
        Self::imagined_in(len, None)
    }

    /// Returns `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut zeros = Self::take(len);
        current().fill(&mut zeros, 0.0);
        zeros
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements, which are copied unless the device computes in the memory of the host; none of a
    /// buffer that is only rehearsed.
    pub fn values(&self) -> Cow<'_, [f32]> {
        current().download(self)
    }

    /// Returns the elements; those of a pool are copied.
    pub fn into_vec(mut self) -> Vec<f32> {
        match &mut self.storage {
            Storage::Own(values) => mem::take(values),
            Storage::Pooled(_) | Storage::Imagined { .. } | Storage::Elsewhere(_) => {
                self.values().into_owned()
            }
        }
    }

    /// Changes the elements on the host: in place if the device computes there.
    pub fn edit(&mut self, edit: impl FnOnce(&mut [f32])) {
        match &mut self.storage {
            Storage::Own(_) | Storage::Pooled(_) => edit(self.host_mut()),
            Storage::Imagined { .. } | Storage::Elsewhere(_) => {
                let mut values = self.values().into_owned();
                edit(&mut values);
                *self = values.into();
            }
        }
    }

    /// A buffer of `len` elements in the memory of the host, with unspecified contents.
    pub(crate) fn of_host(len: usize) -> Self {
        let storage = if len < SMALLEST {
            Storage::Own(vec![0.0; len])
        } else {
            Storage::Pooled(Some(pool::take(len)))
        };
        Self { len, storage }
    }

    /// A buffer in the memory of the host.
    pub(crate) fn own(values: Vec<f32>) -> Self {
        Self { len: values.len(), storage: Storage::Own(values) }
    }

    /// A buffer in a rehearsal.
    pub(crate) fn imagined_in(len: usize, memory: Option<VirtualBuffer>) -> Self {
        Self { len, storage: Storage::Imagined { _memory: memory } }
    }

    /// Returns a buffer of `len` elements in `memory` that only its device can read, for an implementation of
    /// [`Device`](crate::Device); see [`Buffer::memory`].
    pub fn elsewhere(len: usize, memory: impl Any + Send + Sync) -> Self {
        Self { len, storage: Storage::Elsewhere(Box::new(memory)) }
    }

    /// Returns true if the numbers are in the memory of the host, where all threads can read them.
    pub fn is_on_host(&self) -> bool {
        matches!(self.storage, Storage::Own(_) | Storage::Pooled(_))
    }

    /// The elements in the memory of the host.
    ///
    /// # Panics
    /// If they are elsewhere.
    pub(crate) fn host(&self) -> &[f32] {
        match &self.storage {
            Storage::Own(values) => values,
            Storage::Pooled(Some(pages)) => &pages.values()[..self.len],
            storage => misplaced(storage),
        }
    }

    /// The elements in the memory of the host, to change them.
    ///
    /// # Panics
    /// If they are elsewhere.
    pub(crate) fn host_mut(&mut self) -> &mut [f32] {
        match &mut self.storage {
            Storage::Own(values) => values,
            Storage::Pooled(Some(pages)) => &mut pages.values_mut()[..self.len],
            storage => misplaced(storage),
        }
    }

    /// Returns the memory of [`Buffer::elsewhere`]; `None` for [`Buffer::EMPTY`].
    ///
    /// # Panics
    /// If it is memory of another device.
    pub fn memory<M: Any>(&self) -> Option<&M> {
        match &self.storage {
            Storage::Elsewhere(memory) if memory.is::<M>() => memory.downcast_ref(),
            Storage::Own(_) if self.len == 0 => None,
            storage => misplaced(storage),
        }
    }

    /// Like [`Buffer::memory`], to change it.
    ///
    /// # Panics
    /// See [`Buffer::memory`].
    pub fn memory_mut<M: Any>(&mut self) -> Option<&mut M> {
        self.memory::<M>()?;
        match &mut self.storage {
            Storage::Elsewhere(memory) => memory.downcast_mut(),
            _ => None,
        }
    }
}

/// Refuses a buffer of another device.
fn misplaced(storage: &Storage) -> ! {
    let device = current();
    panic!("{device:?} cannot compute with a buffer in {storage:?}");
}

impl Default for Buffer {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<Vec<f32>> for Buffer {
    /// A buffer of the [current device](current); nothing is copied if it computes in the memory of the host.
    fn from(values: Vec<f32>) -> Self {
        current().upload(values)
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::take(self.len);
        current().copy(self, &mut copy);
        copy
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Storage::Pooled(pages) = &mut self.storage
            && let Some(pages) = pages.take()
        {
            pool::give(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pooled;

    #[test]
    fn vectors_from_elsewhere_do_not_accumulate() {
        drop(Buffer::from(vec![1.0; 7_000]));
        assert_eq!(pooled(), 0);
    }
}
