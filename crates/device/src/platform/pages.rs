//! Memory for buffers.

/// Pages of the operating system, which take no memory before they are first written, and give it back when
/// they are dropped. An allocator would keep the memory of buffers that are no longer needed, beside that of
/// the larger ones that replace them.
#[cfg(not(target_family = "wasm"))]
type Memory = memmap2::MmapMut;

/// Memory of the allocator: a module of WebAssembly has no other one, and gives none back.
#[cfg(target_family = "wasm")]
type Memory = Vec<f32>;

/// Memory for elements.
#[derive(Debug)]
pub(crate) struct Pages(Memory);

impl Pages {
    /// Room for `capacity` elements; `None` without enough memory.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn of(capacity: usize) -> Option<Self> {
        Memory::map_anon(capacity.checked_mul(size_of::<f32>())?).ok().map(Self)
    }

    /// See above.
    #[cfg(target_family = "wasm")]
    pub(crate) fn of(capacity: usize) -> Option<Self> {
        let mut values = Memory::new();
        values.try_reserve_exact(capacity).ok()?;
        values.resize(capacity, 0.0);
        Some(Self(values))
    }

    /// The elements for which there is room.
    pub(crate) fn values(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }

    /// The elements for which there is room, to change them.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
