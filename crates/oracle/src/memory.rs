//! The numbers of buffers.

use attentive_device::Buffer;

/// The elements of an operand.
pub(super) fn elements(buffer: &Buffer) -> &[f64] {
    buffer.memory::<Vec<f64>>().map_or(&[], Vec::as_slice)
}

/// The elements of a result.
pub(super) fn elements_mut(buffer: &mut Buffer) -> &mut Vec<f64> {
    buffer.memory_mut().expect("a result has memory")
}

/// Writes a result.
pub(super) fn put(buffer: &mut Buffer, found: Vec<f64>) {
    assert_eq!(buffer.len(), found.len(), "the length of a result");
    *elements_mut(buffer) = found;
}

/// Writes a result if it is wanted.
pub(super) fn put_if(buffer: Option<&mut Buffer>, found: Vec<f64>) {
    if let Some(buffer) = buffer {
        put(buffer, found);
    }
}

/// The same numbers in double precision.
pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// The elements of an operand in single precision.
pub(super) fn narrow(buffer: &Buffer) -> Vec<f32> {
    elements(buffer).iter().map(|&value| value as f32).collect()
}

/// `total` += `x`
pub(super) fn sum(total: &mut [f64], x: &[f64]) {
    assert_eq!(total.len(), x.len(), "the lengths of two terms");
    total.iter_mut().zip(x).for_each(|(total, x)| *total += x);
}
