//! Multi-head attention.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, DriverError, LaunchConfig, PushKernelArg};

use crate::bf16::Bf16;
use crate::buffer::{Buffer, Matrix, Shape, address};
use crate::cuda::{Cuda, THREADS, small};
use crate::error::Error;

/// The queries of a block of threads, as `kQueries` in `attention.cu`.
const QUERIES: usize = 64;

/// The kernels by the columns of a head.
pub(crate) const KERNELS: [(usize, &str); 3] = [
    (32, "attention_32"),
    (64, "attention_64"),
    (128, "attention_128"),
];

/// The sizes of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// Sentences.
    pub batch: usize,
    /// Heads of the queries.
    pub heads: usize,
    /// Heads of the keys and values, a divisor of `heads`: each is shared by as many neighbors.
    pub kv_heads: usize,
    /// Queries of a sentence.
    pub tgt: usize,
    /// Keys of a sentence.
    pub src: usize,
    /// Columns of a head: 32, 64 or 128.
    pub width: usize,
    /// Whether query i sees the keys up to i + `src` − `tgt` only.
    pub is_causal: bool,
}

/// The operands of attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionInputs<'a> {
    /// Queries `[batch · tgt, heads · width]`.
    pub q: Matrix<'a, Bf16>,
    /// Keys `[batch · src, kv_heads · width]`.
    pub k: Matrix<'a, Bf16>,
    /// Values, like the keys.
    pub v: Matrix<'a, Bf16>,
    /// How many keys of each sentence are not padding: at most `src`. The others are not read.
    pub lengths: Option<&'a Buffer<u32>>,
    /// The factor of the products of queries and keys.
    pub scale: f32,
}

/// The loaded kernels, in the order of `KERNELS`.
pub(crate) struct Kernels([CudaFunction; 3]);

impl Kernels {
    pub(crate) fn of(module: &Arc<CudaModule>) -> Result<Self, DriverError> {
        let [narrow, middle, wide] = KERNELS.map(|(_, name)| module.load_function(name));
        Ok(Self([narrow?, middle?, wide?]))
    }

    fn get(&self, width: usize) -> Option<&CudaFunction> {
        let index = KERNELS.iter().position(|(it, _)| *it == width)?;
        Some(&self.0[index])
    }
}

impl Cuda {
    /// softmax(`scale` · q · kᵀ) · v of each head, to `out` `[batch · tgt, heads · width]`, and the logarithms of the sums of
    /// the softmax to `log_sums` `[batch, heads, tgt]`. A query that sees no key gets zeros, and −3·10³⁸ as logarithm. The
    /// result for a query depends on itself and the keys that it sees alone.
    ///
    /// # Errors
    ///
    /// The driver does not start the kernel.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit together, or a head has another width than 32, 64 or 128.
    pub fn attention(
        &self,
        sizes: Attention,
        inputs: AttentionInputs<'_>,
        out: &mut Buffer<Bf16>,
        log_sums: &mut Buffer<f32>,
    ) -> Result<(), Error> {
        let AttentionInputs { q, k, v, .. } = inputs;
        let lengths = inputs.lengths;
        sizes.check(inputs, out.len(), log_sums.len());
        let Attention {
            batch,
            heads,
            kv_heads,
            tgt,
            src,
            width,
            is_causal,
        } = sizes;
        let kernel = self.kernels.attention.get(width);
        let kernel = kernel.expect("a head has 32, 64 or 128 columns");
        let blocks = batch * heads * tgt.div_ceil(QUERIES);
        if blocks == 0 {
            return Ok(());
        }
        let whole = |len| Shape::dense(1, len);
        let addresses = [
            q.address(&self.stream),
            k.address(&self.stream),
            v.address(&self.stream),
            address(&out.slice, whole(out.len), &self.stream),
            address(&log_sums.slice, whole(log_sums.len), &self.stream),
            lengths.map_or(0, |it| address(&it.slice, whole(it.len), &self.stream)),
        ];
        let strides = [q.shape.stride, k.shape.stride, v.shape.stride];
        let numbers = [heads, kv_heads, tgt, src].into_iter().chain(strides);
        let numbers: Vec<i32> = numbers
            .map(|size| small(size).expect("less than 2³⁰ rows and columns"))
            .chain([i32::from(is_causal)])
            .collect();
        let mut launch = self.stream.launch_builder(kernel);
        for address in &addresses {
            launch.arg(address);
        }
        for number in &numbers {
            launch.arg(number);
        }
        launch.arg(&inputs.scale);
        // SAFETY: these are the parameters of the kernel, in its order. It reads nothing outside of the operands, whatever the
        // lengths are, since it takes a larger one for `src`, and writes all of the results, whose sizes were checked.
        unsafe {
            launch.launch(LaunchConfig {
                grid_dim: (u32::try_from(blocks).expect("less than 2³² blocks"), 1, 1),
                block_dim: (THREADS, 1, 1),
                shared_mem_bytes: 0,
            })
        }
        .map_err(Error::failed("start a kernel"))?;
        Ok(())
    }
}

impl Attention {
    fn check(&self, inputs: AttentionInputs<'_>, out: usize, log_sums: usize) {
        let AttentionInputs {
            q, k, v, lengths, ..
        } = inputs;
        let size = |matrix: Matrix<'_, Bf16>| (matrix.shape.rows, matrix.shape.columns);
        let queries = (self.batch * self.tgt, self.heads * self.width);
        let keys = (self.batch * self.src, self.kv_heads * self.width);
        let fits = self.heads.is_multiple_of(self.kv_heads)
            && size(q) == queries
            && size(k) == keys
            && size(v) == keys
            && out == queries.0 * queries.1
            && log_sums == self.batch * self.heads * self.tgt
            && lengths.is_none_or(|lengths| lengths.len() == self.batch);
        assert!(fits, "the operands do not fit to {self:?}");
    }
}
