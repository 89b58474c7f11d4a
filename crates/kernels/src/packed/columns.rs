//! Some columns of a packed weight.

use std::fmt;

use super::lines::{self, PANEL, PanelLine};
use super::{PackedBf16, PackedF32, PackedInt8, PackedWeight, Precision};

/// Output columns of a packed weight `[n, k]`, copied side by side: again a packed weight, with as many
/// columns as were copied. A product with it has the same bits in a column as one with the whole weight.
#[derive(Clone)]
pub struct PackedColumns {
    precision: Precision,
    n: usize,
    k: usize,
    lines: Vec<PanelLine>,
    /// For 8-bit integers only, as their sums.
    scales: Vec<f32>,
    sums: Vec<i32>,
}

impl PackedColumns {
    /// No columns yet of a weight of this type with k input columns.
    pub fn new(precision: Precision, k: usize) -> Self {
        Self { precision, n: 0, k, lines: Vec::new(), scales: Vec::new(), sums: Vec::new() }
    }

    /// Copies column `column` of `weight` behind the others.
    ///
    /// # Panics
    /// If the weight has another type or other input columns, or does not have this column.
    pub fn push(&mut self, weight: PackedWeight<'_>, column: usize) {
        assert_eq!(weight.precision(), self.precision, "type of the weight");
        assert_eq!(weight.k(), self.k, "input columns");
        assert!(column < weight.n(), "column {column} of {}", weight.n());
        let (bytes, per_word) = match weight {
            PackedWeight::F32(weight) => (weight.as_bytes(), 1),
            PackedWeight::Bf16(weight) => (weight.as_bytes(), 2),
            PackedWeight::Int8(weight) => {
                self.scales.push(weight.scales()[column]);
                self.sums.push(weight.sums()[column]);
                (weight.as_bytes()[0], 4)
            }
        };
        let words = self.k.div_ceil(per_word);
        let lane = self.n % PANEL;
        if lane == 0 {
            self.lines.resize(self.lines.len() + words, PanelLine::ZERO);
        }
        let first = self.lines.len() - words;
        let panel = &bytes[column / PANEL * words * size_of::<PanelLine>()..];
        let start = column % PANEL * 4;
        let from = panel.chunks_exact(size_of::<PanelLine>());
        for (to, from) in self.lines[first..].iter_mut().zip(from) {
            let word = &from[start..start + 4];
            to.0[lane] = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        }
        self.n += 1;
    }

    /// The columns.
    pub fn view(&self) -> PackedWeight<'_> {
        const WHOLE: &str = "a value for each column";
        let (n, k) = (self.n, self.k);
        match self.precision {
            Precision::F32 => {
                let values = lines::numbers(&self.lines);
                PackedWeight::F32(PackedF32::new(n, k, values).expect(WHOLE))
            }
            Precision::Bf16 => {
                let values = lines::numbers(&self.lines);
                PackedWeight::Bf16(PackedBf16::new(n, k, values).expect(WHOLE))
            }
            Precision::Int8 => {
                let (values, scales) = (lines::numbers(&self.lines), &self.scales);
                let weight = PackedInt8::new(n, k, values, scales, &self.sums);
                PackedWeight::Int8(weight.expect(WHOLE))
            }
        }
    }
}

impl fmt::Debug for PackedColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n, k, .. } = self;
        write!(f, "PackedColumns [{n}, {k}] of {:?}", self.precision)
    }
}
