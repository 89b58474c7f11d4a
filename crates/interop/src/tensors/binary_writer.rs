//! Writes Marian's binary files; see [`super::binary`].

use std::io::{self, Write};

use super::binary::{F32, INT8, TEXT, VERSION};

/// All data begin at a multiple of this many bytes.
const ALIGNMENT: usize = 256;

/// A tensor of a binary file.
#[derive(Debug)]
pub(crate) struct BinaryTensor {
    name: String,
    kind: u64,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl BinaryTensor {
    /// The numbers `values`, row after row.
    pub(crate) fn float(name: String, shape: Vec<usize>, values: &[f32]) -> Self {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name, kind: F32, shape, data }
    }

    /// The `integers`, which are `factor` times the numbers of the tensor.
    pub(crate) fn int8(name: String, shape: Vec<usize>, integers: &[i8], factor: f32) -> Self {
        let mut data: Vec<u8> = integers.iter().map(|&integer| integer as u8).collect();
        data.extend(factor.to_le_bytes());
        Self { name, kind: INT8, shape, data }
    }

    /// `text`, with a zero at its end.
    pub(crate) fn text(name: &str, text: &str) -> Self {
        let data = [text.as_bytes(), &[0]].concat();
        Self { name: name.to_owned(), kind: TEXT, shape: vec![data.len()], data }
    }

    /// The number of weights, and of their bytes.
    pub(crate) fn sizes(&self) -> [usize; 2] {
        let count: usize = self.shape.iter().product();
        let width = if self.kind == INT8 { 1 } else { size_of::<f32>() };
        [count, count * width]
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Writes `tensors`.
pub(crate) fn write(tensors: &[BinaryTensor], out: &mut dyn Write) -> io::Result<()> {
    let mut head = Vec::new();
    let mut number = |number: usize| head.extend((number as u64).to_le_bytes());
    number(VERSION as usize);
    number(tensors.len());
    for BinaryTensor { name, kind, shape, data } in tensors {
        let size = data.len().next_multiple_of(ALIGNMENT);
        [name.len() + 1, *kind as usize, shape.len(), size].into_iter().for_each(&mut number);
    }
    for BinaryTensor { name, .. } in tensors {
        head.extend(name.as_bytes());
        head.push(0);
    }
    for size in tensors.iter().flat_map(|tensor| &tensor.shape) {
        let size = i32::try_from(*size).map_err(io::Error::other)?;
        head.extend(size.to_le_bytes());
    }
    let start = (head.len() + size_of::<u64>()).next_multiple_of(ALIGNMENT);
    let padding = start - head.len() - size_of::<u64>();
    head.extend((padding as u64).to_le_bytes());
    head.resize(start, 0);
    out.write_all(&head)?;
    for BinaryTensor { data, .. } in tensors {
        out.write_all(data)?;
        out.write_all(&[0; ALIGNMENT][..data.len().next_multiple_of(ALIGNMENT) - data.len()])?;
    }
    Ok(())
}
