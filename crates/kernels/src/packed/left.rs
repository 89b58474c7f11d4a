//! The left operand of products with packed weights.

use super::Precision;
use super::lines::{PanelLine, numbers_mut};
use crate::area::{area, assert_shape};
use crate::gemm::pairs;
use crate::gemm::{Float, FloatKernel, Isa, bf16, int8};

/// Memory for a [`LeftOperand`], to be used again and again.
#[derive(Clone, Default)]
pub struct LeftOperandBuf {
    lines: Vec<PanelLine>,
    scales: Vec<f32>,
}

impl std::fmt::Debug for LeftOperandBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LeftOperandBuf of {} bytes", size_of_val(&*self.lines))
    }
}

/// The left operand `[rows, k]` of products with packed weights of one type, rounded and laid out as they
/// need it. Each of its rows depends on that row only.
#[derive(Clone, Copy)]
pub struct LeftOperand<'a> {
    pub(super) rows: usize,
    pub(super) k: usize,
    pub(super) storage: LeftStorage<'a>,
}

impl std::fmt::Debug for LeftOperand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, k, .. } = self;
        write!(f, "LeftOperand [{rows}, {k}]")
    }
}

/// How a left operand is stored.
#[derive(Clone, Copy)]
pub(super) enum LeftStorage<'a> {
    F32(Isa, &'a [f32]),
    /// Bfloat16 numbers as `f32`.
    Rounded(Isa, &'a [f32]),
    Pairs(crate::gemm::PairIsa, &'a [pairs::PairBlock]),
    Int8(int8::Int8LeftOperand<'a>),
}

/// What computes a product with packed weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProductKernel {
    Float(FloatKernel),
    Integer(int8::IntegerIsa),
}

impl ProductKernel {
    /// The best one of this CPU.
    pub(super) fn detect(precision: Precision, rows: usize) -> Self {
        match precision {
            Precision::F32 => Self::Float(FloatKernel::detect(Float::F32)),
            Precision::Bf16 => Self::Float(FloatKernel::detect(Float::Bf16)),
            Precision::Int8 => Self::Integer(int8::IntegerIsa::detect(rows)),
        }
    }

    /// The number of lines needed to store an operand `[rows, k]`.
    pub(super) fn lines(self, rows: usize, k: usize) -> usize {
        let bytes = match self {
            Self::Float(FloatKernel::F32(_)) => 0,
            Self::Float(FloatKernel::Rounded(_)) => area(area(rows, k), 4),
            Self::Float(FloatKernel::Pairs(_)) => {
                area(pairs::n_blocks(rows, k), size_of::<pairs::PairBlock>())
            }
            Self::Integer(_) => int8::left_len(rows, k),
        };
        bytes.div_ceil(size_of::<PanelLine>())
    }
}

impl<'a> LeftOperand<'a> {
    /// Prepares `x` `[rows, k]` for products with weights of type `precision`, on the calling thread.
    ///
    /// # Panics
    /// If `x` does not have rows · k elements.
    pub fn prepare(
        precision: Precision,
        rows: usize,
        k: usize,
        x: &'a [f32],
        buffer: &'a mut LeftOperandBuf,
    ) -> Self {
        let kernel = ProductKernel::detect(precision, rows);
        let LeftOperandBuf { lines, scales } = buffer;
        let (needed, scales_needed) = (kernel.lines(rows, k), rows);
        if lines.len() < needed {
            lines.resize(needed, PanelLine::ZERO);
        }
        if scales.len() < scales_needed {
            scales.resize(scales_needed, 0.0);
        }
        Self::prepare_in(kernel, rows, k, x, &mut lines[..needed], &mut scales[..rows], false)
    }

    /// [`Self::prepare`] for a given kernel, which this CPU must support, in memory of the right size; on
    /// several threads if `parallel`.
    pub(super) fn prepare_in(
        kernel: ProductKernel,
        rows: usize,
        k: usize,
        x: &'a [f32],
        lines: &'a mut [PanelLine],
        scales: &'a mut [f32],
        parallel: bool,
    ) -> Self {
        assert_shape("x", x, [rows, k]);
        let storage = match kernel {
            ProductKernel::Float(FloatKernel::F32(isa)) => LeftStorage::F32(isa, x),
            ProductKernel::Float(FloatKernel::Rounded(isa)) => {
                let rounded = &mut numbers_mut(lines)[..x.len()];
                bf16::round_into(x, rounded);
                LeftStorage::Rounded(isa, rounded)
            }
            ProductKernel::Float(FloatKernel::Pairs(isa)) => {
                let blocks = pairs::blocks_of(numbers_mut(lines));
                pairs::prepare(rows, k, x, blocks, parallel);
                LeftStorage::Pairs(isa, blocks)
            }
            ProductKernel::Integer(isa) => {
                let bytes = &mut numbers_mut(lines)[..int8::left_len(rows, k)];
                LeftStorage::Int8(int8::prepare(isa, k, x, bytes, scales, parallel))
            }
        };
        Self { rows, k, storage }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}
