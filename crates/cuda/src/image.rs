//! The compiled kernels.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::device::Capability;
use crate::error::Error;

/// The compiled kernels for one kind of GPU, compressed by gzip. `scripts/cuda/compile.py` writes the files.
#[derive(Debug)]
pub(crate) struct Image {
    compressed: &'static [u8],
    /// The version of CUDA that the driver must support at least: with programs, any of the same major version as the compiler;
    /// with PTX, that of the compiler.
    pub(crate) needed: i32,
}

const SM_80: Image = Image {
    compressed: include_bytes!("images/sm_80.cubin.gz"),
    needed: 12_000,
};
const SM_86: Image = Image {
    compressed: include_bytes!("images/sm_86.cubin.gz"),
    needed: 12_000,
};
const SM_89: Image = Image {
    compressed: include_bytes!("images/sm_89.cubin.gz"),
    needed: 12_000,
};
const SM_90A: Image = Image {
    compressed: include_bytes!("images/sm_90a.cubin.gz"),
    needed: 12_000,
};
const PTX: Image = Image {
    compressed: include_bytes!("images/compute_80.ptx.gz"),
    needed: 12_080,
};

impl Image {
    /// The kernels for a GPU: a program for exactly this one, or else PTX, which the driver translates. None if the GPU is too
    /// old.
    pub(crate) fn for_capability(capability: Capability) -> Option<Self> {
        match (capability.major, capability.minor) {
            (..=7, _) => None,
            (8, 0) => Some(SM_80),
            (8, 6) => Some(SM_86),
            (8, 9) => Some(SM_89),
            (9, 0) => Some(SM_90A),
            _ => Some(PTX),
        }
    }

    /// The program, or the text of PTX, with a zero at the end, which the driver expects of a text.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        GzDecoder::new(self.compressed)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::Failed {
                action: "get its kernels",
                reason: error.to_string(),
            })?;
        bytes.push(0);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attention, product};

    const ALL: [Image; 5] = [SM_80, SM_86, SM_89, SM_90A, PTX];

    #[test]
    fn every_image_has_every_kernel() {
        for image in ALL {
            let bytes = image.bytes().expect("an image");
            let attention = attention::KERNELS.iter().map(|(_, name)| name);
            for name in product::KERNELS.iter().flatten().chain(attention) {
                let found = bytes
                    .windows(name.len())
                    .any(|part| part == name.as_bytes());
                assert!(found, "{name}");
            }
        }
    }

    #[test]
    fn programs_are_elf_files_for_their_kind_of_gpu_and_ptx_is_text() {
        for (image, kind) in ALL.iter().zip([80_u8, 86, 89, 90]) {
            let bytes = image.bytes().expect("an image");
            assert_eq!(&bytes[..4], b"\x7fELF");
            // `e_flags` of a file of 64 bits; its lowest byte is the kind of GPU.
            assert_eq!(bytes[48], kind);
        }
        let ptx = String::from_utf8(PTX.bytes().expect("an image")).expect("text");
        assert!(ptx.contains(".version 8.7"), "of CUDA 12.8");
        assert!(ptx.contains(".target sm_80"));
    }

    #[test]
    fn gpus_get_programs_of_their_own_or_ptx() {
        let image = |major, minor| {
            let image = Image::for_capability(Capability { major, minor });
            image.map(|image| image.compressed)
        };
        assert_eq!(image(7, 5), None);
        assert_eq!(image(8, 0), Some(SM_80.compressed));
        assert_eq!(image(8, 7), Some(PTX.compressed));
        assert_eq!(image(8, 9), Some(SM_89.compressed));
        assert_eq!(image(9, 0), Some(SM_90A.compressed));
        assert_eq!(image(12, 0), Some(PTX.compressed));
    }
}
