//! The left operand of products with packed weights.

use super::Precision;
use super::lines::{Line, numbers_mut};
use crate::area::{area, assert_shape};
#[cfg(target_arch = "x86_64")]
use crate::gemm::pairs;
use crate::gemm::{Engine, Float, Isa, bf16, int8};

/// Memory for a [`Left`], to be used again and again.
#[derive(Clone, Default)]
pub struct LeftBuf {
    lines: Vec<Line>,
    scales: Vec<f32>,
}

impl std::fmt::Debug for LeftBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LeftBuf of {} bytes", size_of_val(&*self.lines))
    }
}

/// The left operand `[rows, k]` of products with packed weights of one type, rounded and laid out as they
/// need it. Each of its rows depends on that row only.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    pub(super) rows: usize,
    pub(super) k: usize,
    pub(super) kind: Kind<'a>,
}

impl std::fmt::Debug for Left<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rows, k, .. } = self;
        write!(f, "Left [{rows}, {k}]")
    }
}

/// How a left operand is stored.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    F32(Isa, &'a [f32]),
    /// Bfloat16 numbers as `f32`.
    Rounded(Isa, &'a [f32]),
    #[cfg(target_arch = "x86_64")]
    Pairs(crate::gemm::PairIsa, &'a [pairs::Block]),
    Int8(int8::Left<'a>),
}

/// What computes a product with packed weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    Float(Engine),
    Integer(int8::IntegerIsa),
}

impl Kernel {
    /// The best one of this CPU.
    pub(super) fn detect(precision: Precision, rows: usize) -> Self {
        match precision {
            Precision::F32 => Self::Float(Engine::detect(Float::F32)),
            Precision::Bf16 => Self::Float(Engine::detect(Float::Bf16)),
            Precision::Int8 => Self::Integer(int8::IntegerIsa::detect(rows)),
        }
    }

    /// The number of lines needed to store an operand `[rows, k]`.
    pub(super) fn lines(self, rows: usize, k: usize) -> usize {
        let bytes = match self {
            Self::Float(Engine::F32(_)) => 0,
            Self::Float(Engine::Rounded(_)) => area(area(rows, k), 4),
            #[cfg(target_arch = "x86_64")]
            Self::Float(Engine::Pairs(_)) => area(pairs::n_blocks(rows, k), size_of::<pairs::Block>()),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Float(Engine::Pairs(_)) => unreachable!("x86-64 instruction sets"),
            Self::Integer(_) => int8::left_len(rows, k),
        };
        bytes.div_ceil(size_of::<Line>())
    }
}

impl<'a> Left<'a> {
    /// Prepares `x` `[rows, k]` for products with weights of type `precision`, on the calling thread.
    ///
    /// # Panics
    /// If `x` does not have rows · k elements.
    pub fn prepare(
        precision: Precision,
        rows: usize,
        k: usize,
        x: &'a [f32],
        buffer: &'a mut LeftBuf,
    ) -> Self {
        let kernel = Kernel::detect(precision, rows);
        let LeftBuf { lines, scales } = buffer;
        let (needed, scales_needed) = (kernel.lines(rows, k), rows);
        if lines.len() < needed {
            lines.resize(needed, Line::ZERO);
        }
        if scales.len() < scales_needed {
            scales.resize(scales_needed, 0.0);
        }
        Self::prepare_in(kernel, rows, k, x, &mut lines[..needed], &mut scales[..rows], false)
    }

    /// [`Self::prepare`] for a given kernel, which this CPU must support, in memory of the right size; on
    /// several threads if `parallel`.
    pub(super) fn prepare_in(
        kernel: Kernel,
        rows: usize,
        k: usize,
        x: &'a [f32],
        lines: &'a mut [Line],
        scales: &'a mut [f32],
        parallel: bool,
    ) -> Self {
        assert_shape("x", x, [rows, k]);
        let kind = match kernel {
            Kernel::Float(Engine::F32(isa)) => Kind::F32(isa, x),
            Kernel::Float(Engine::Rounded(isa)) => {
                let rounded = &mut numbers_mut(lines)[..x.len()];
                bf16::round_into(x, rounded);
                Kind::Rounded(isa, rounded)
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(Engine::Pairs(isa)) => {
                let blocks = pairs::blocks_of(numbers_mut(lines));
                pairs::prepare(rows, k, x, blocks, parallel);
                Kind::Pairs(isa, blocks)
            }
            #[cfg(not(target_arch = "x86_64"))]
            Kernel::Float(Engine::Pairs(_)) => unreachable!("x86-64 instruction sets"),
            Kernel::Integer(isa) => {
                let bytes = &mut numbers_mut(lines)[..int8::left_len(rows, k)];
                Kind::Int8(int8::prepare(isa, k, x, bytes, scales, parallel))
            }
        };
        Self { rows, k, kind }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}
