//! Safetensors files with a checksum that is quick to compare.
//!
//! The header's metadata holds the name of the format, followed by the CRC-32 of all numbers. Comparing it
//! takes milliseconds, unlike SHA-256.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use attentive_base::foreign::try_contain;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

/// The key of the metadata.
pub(super) const KEY: &str = "format";
/// Start of the numbers in a file, in multiples of this many bytes.
pub(super) const ALIGNMENT: usize = 64;
/// Size of the header's length.
pub(super) const LENGTH_BYTES: usize = 8;

/// One tensor of a file.
pub(super) struct RawTensor<'a> {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: &'a [u8],
}

/// The type and shape of each tensor, and its byte range in the file.
pub(super) type TensorIndex = HashMap<String, (TensorInfo, Range<usize>)>;

/// A file that has not been written yet.
pub struct TensorFile<'a> {
    /// The length of the header, and the header.
    start: Vec<u8>,
    tensors: Vec<RawTensor<'a>>,
}

impl<'a> TensorFile<'a> {
    /// A file of the format called `format` with these tensors, in this order.
    pub(super) fn new(format: &str, tensors: Vec<RawTensor<'a>>) -> io::Result<Self> {
        Ok(Self { start: start(format, &tensors)?, tensors })
    }

    /// The number of bytes that [`TensorFile::write`] writes.
    pub fn size(&self) -> u64 {
        let numbers: usize = self.tensors.iter().map(|tensor| tensor.bytes.len()).sum();
        (self.start.len() + numbers) as u64
    }

    /// Writes the whole file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.start)?;
        self.tensors.iter().try_for_each(|tensor| out.write_all(tensor.bytes))
    }
}

/// What comes before the numbers of these tensors.
fn start(format: &str, tensors: &[RawTensor<'_>]) -> io::Result<Vec<u8>> {
    let mut checksum = crc32fast::Hasher::new();
    tensors.iter().for_each(|tensor| checksum.update(tensor.bytes));
    let mut end = 0;
    let infos = tensors.iter().map(|tensor| {
        let start = end;
        end += tensor.bytes.len();
        let info =
            TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets: (start, end) };
        (tensor.name.clone(), info)
    });
    let format = format!("{format} {:08x}", checksum.finalize());
    let metadata = HashMap::from([(KEY.to_owned(), format)]);
    let metadata = Metadata::new(Some(metadata), infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    let len = (LENGTH_BYTES + header.len()).next_multiple_of(ALIGNMENT) - LENGTH_BYTES;
    header.resize(len, b' ');
    Ok([&(len as u64).to_le_bytes()[..], &header].concat())
}

/// Returns the tensors of a file of the format called `format`.
///
/// # Errors
/// Describes the problem if the file is truncated, damaged or of another format.
pub(super) fn read(format: &str, file: &[u8]) -> Result<TensorIndex, String> {
    let read = || SafeTensors::read_metadata(file).map_err(|error| error.to_string());
    let (header, metadata) =
        try_contain(read).map_err(|problem| format!("not a complete safetensors file: {problem}"))?;
    let start = LENGTH_BYTES + header;
    let values = metadata.metadata().as_ref();
    let found = values.and_then(|values| values.get(KEY)).map_or("", String::as_str);
    let Some(checksum) = found.strip_prefix(format) else {
        return Err(format!("its format is `{found}`, expected `{format}`"));
    };
    if checksum.trim() != format!("{:08x}", crc32fast::hash(&file[start..])) {
        return Err("damaged: the checksum of its numbers is wrong".into());
    }
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let (first, end) = info.data_offsets;
        (name, (info.clone(), start + first..start + end))
    });
    Ok(tensors.collect())
}
