//! Products of matrices in bf16, with sums in f32.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, DriverError, LaunchConfig, PushKernelArg};

use crate::bf16::Bf16;
use crate::buffer::{Buffer, Matrix, Shape, address};
use crate::cuda::{Cuda, THREADS, small};
use crate::error::Error;

/// How the operands of `out[m, n]` lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `a[m, k] · b[n, k]ᵀ`: a layer, whose weights are `b`.
    Nt,
    /// `a[m, k] · b[k, n]`: the gradient of the inputs of a layer.
    Nn,
    /// `a[k, m]ᵀ · b[k, n]`: the gradient of the weights of a layer.
    Tn,
}

/// What a block of threads computes. It changes no bit of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 128 × 128 numbers.
    Large,
    /// 64 × 64 numbers.
    Small,
}

/// Where the result goes.
#[derive(Debug)]
pub enum Out<'a> {
    /// It replaces what is there.
    F32(&'a mut Buffer<f32>),
    /// It is added to what is there.
    AddF32(&'a mut Buffer<f32>),
    /// It is rounded and replaces what is there.
    Bf16(&'a mut Buffer<Bf16>),
}

/// The names of the kernels, by form and tile.
pub(crate) const KERNELS: [[&str; 2]; 3] = [
    ["product_nt_128", "product_nt_64"],
    ["product_nn_128", "product_nn_64"],
    ["product_tn_128", "product_tn_64"],
];

/// The loaded kernels, in the order of `KERNELS`.
pub(crate) struct Kernels([[CudaFunction; 2]; 3]);

impl Kernels {
    pub(crate) fn of(module: &Arc<CudaModule>) -> Result<Self, DriverError> {
        let [nt, nn, tn] = KERNELS.map(|names| -> Result<_, DriverError> {
            let [large, small] = names.map(|name| module.load_function(name));
            Ok([large?, small?])
        });
        Ok(Self([nt?, nn?, tn?]))
    }

    fn get(&self, form: Form, tile: Tile) -> &CudaFunction {
        &self.0[form as usize][tile as usize]
    }
}

/// The sizes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Nt, Self::Nn, Self::Tn];

    /// The sizes of a product of matrices of these shapes.
    ///
    /// # Panics
    ///
    /// If they do not fit together.
    pub(crate) fn sizes(self, a: Shape, b: Shape, out: Shape) -> Sizes {
        let (m, k) = match self {
            Self::Nt | Self::Nn => (a.rows, a.columns),
            Self::Tn => (a.columns, a.rows),
        };
        let (n, b_k) = match self {
            Self::Nt => (b.rows, b.columns),
            Self::Nn | Self::Tn => (b.columns, b.rows),
        };
        assert!(
            b_k == k && (out.rows, out.columns) == (m, n),
            "{a:?} and {b:?} have no product {out:?} of the form {self:?}"
        );
        Sizes { m, n, k }
    }
}

impl Tile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Large, Self::Small];

    /// The tile for a result of this size: the large one if every multiprocessor gets one. Not measured yet.
    pub fn for_result(rows: usize, columns: usize, multiprocessors: usize) -> Self {
        if Self::Large.blocks(rows, columns) >= multiprocessors {
            Self::Large
        } else {
            Self::Small
        }
    }

    fn side(self) -> usize {
        match self {
            Self::Large => 128,
            Self::Small => 64,
        }
    }

    fn blocks(self, rows: usize, columns: usize) -> usize {
        rows.div_ceil(self.side()) * columns.div_ceil(self.side())
    }
}

/// What happens to the result, as `Output` in `product.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub(crate) enum Kind {
    F32 = 0,
    AddF32 = 1,
    Bf16 = 2,
}

impl Out<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::F32(_) => Kind::F32,
            Self::AddF32(_) => Kind::AddF32,
            Self::Bf16(_) => Kind::Bf16,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(buffer) | Self::AddF32(buffer) => buffer.len(),
            Self::Bf16(buffer) => buffer.len(),
        }
    }

    pub(crate) fn address(&mut self, shape: Shape, cuda: &Cuda) -> u64 {
        match self {
            Self::F32(buffer) | Self::AddF32(buffer) => address(&buffer.slice, shape, &cuda.stream),
            Self::Bf16(buffer) => address(&buffer.slice, shape, &cuda.stream),
        }
    }
}

impl Cuda {
    /// `out[m, n]`, of matrices in bf16 with sums in f32. Each number is one sum over k in a fixed order, so it depends neither
    /// on the other rows and columns nor on the tile.
    ///
    /// # Errors
    ///
    /// The driver does not start the kernel.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit together or into their buffers, or have 2³⁰ or more rows or columns.
    pub fn product(
        &self,
        form: Form,
        a: Matrix<'_, Bf16>,
        b: Matrix<'_, Bf16>,
        out: Out<'_>,
        shape: Shape,
    ) -> Result<(), Error> {
        let tile = Tile::for_result(shape.rows, shape.columns, self.device.multiprocessors);
        self.product_by(tile, form, a, b, out, shape)
    }

    /// [`product`](Self::product) with the tile chosen by the caller.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// As there.
    pub fn product_by(
        &self,
        tile: Tile,
        form: Form,
        a: Matrix<'_, Bf16>,
        b: Matrix<'_, Bf16>,
        mut out: Out<'_>,
        shape: Shape,
    ) -> Result<(), Error> {
        let Sizes { m, n, k } = form.sizes(a.shape, b.shape, shape);
        shape.check(out.len());
        if m == 0 || n == 0 {
            return Ok(());
        }
        let blocks = u32::try_from(tile.blocks(m, n)).expect("less than 2³² blocks");
        let addresses = [
            a.address(&self.stream),
            b.address(&self.stream),
            out.address(shape, self),
        ];
        let sizes = [m, n, k, a.shape.stride, b.shape.stride, shape.stride]
            .map(|size| small(size).expect("less than 2³⁰ rows and columns"));
        let output = out.kind() as i32;
        let mut launch = self
            .stream
            .launch_builder(self.kernels.product.get(form, tile));
        for address in &addresses {
            launch.arg(address);
        }
        for size in &sizes {
            launch.arg(size);
        }
        launch.arg(&output);
        // SAFETY: these are the parameters of the kernel, in its order, and it reads and writes nothing outside of the three
        // matrices, which lie in their buffers.
        unsafe {
            launch.launch(LaunchConfig {
                grid_dim: (blocks, 1, 1),
                block_dim: (THREADS, 1, 1),
                shared_mem_bytes: 0,
            })
        }
        .map_err(Error::failed("start a kernel"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_results_get_small_tiles() {
        assert_eq!(Tile::for_result(4096, 2048, 132), Tile::Large);
        assert_eq!(Tile::for_result(1024, 256, 132), Tile::Small);
    }

    #[test]
    #[should_panic(expected = "have no product")]
    fn matrices_that_do_not_fit_together_are_refused() {
        let (a, b) = (Shape::dense(2, 3), Shape::dense(3, 4));
        Form::Nt.sizes(a, b, Shape::dense(2, 4));
    }

    #[test]
    #[should_panic(expected = "reaches beyond a buffer of 11")]
    fn matrices_do_not_reach_beyond_their_buffer() {
        Shape::dense(3, 4).check(11);
    }
}
