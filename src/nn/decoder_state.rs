//! The decoding state of a Transformer decoder.

use burn::tensor::{Device, Tensor};

use super::sources::{Groups, Sources};
use super::{Ragged, Sequence};
use crate::ops::{Lengths, Starts, select_rows};

/// Rows in decoding, each at its own position of its own sentence.
#[derive(Clone, Debug)]
pub struct TransformerState {
    pub(super) layers: Vec<LayerState>,
    /// The next position of each row.
    positions: Vec<usize>,
    sources: Sources,
}

/// The state of a layer.
#[derive(Clone, Debug)]
pub(super) struct LayerState {
    own: Own,
    /// Keys and values of the memory, one row per source.
    memory: Ragged,
}

/// A layer's state of earlier positions.
#[derive(Clone, Debug)]
enum Own {
    /// Keys and values.
    Keys(Ragged),
    /// The state of a cell, `[rows, width]`; absent without rows.
    Cell {
        state: Option<Tensor<2>>,
        width: usize,
    },
}

impl LayerState {
    pub(super) fn with_keys() -> Self {
        Self {
            own: Own::Keys(Ragged::new()),
            memory: Ragged::new(),
        }
    }

    pub(super) fn with_cell(width: usize) -> Self {
        Self {
            own: Own::Cell { state: None, width },
            memory: Ragged::new(),
        }
    }

    /// Appends `new` keys and values and returns those of all positions.
    ///
    /// # Panics
    /// If this is the state of a cell.
    pub(super) fn append(&mut self, new: Tensor<2>, real: &Lengths) -> (Tensor<2>, Lengths) {
        let Own::Keys(cache) = &mut self.own else {
            panic!("a layer with attention keeps keys and values");
        };
        cache.append(new, real.width(), real.lens());
        cache.view()
    }

    /// The state of the cell.
    pub(super) fn cell(&self) -> Option<Tensor<2>> {
        match &self.own {
            Own::Keys(_) => None,
            Own::Cell { state, .. } => state.clone(),
        }
    }

    pub(super) fn set_cell(&mut self, new: Tensor<2>) {
        if let Own::Cell { state, .. } = &mut self.own {
            *state = Some(new);
        }
    }

    /// Keys and values of the memory.
    pub(super) fn memory(&mut self) -> (Tensor<2>, Lengths) {
        self.memory.view()
    }
}

impl Own {
    fn admit(&mut self, count: usize, device: &Device) {
        match self {
            Self::Keys(cache) => cache.extend(Ragged::empty(count)),
            Self::Cell { state, width } => {
                let new = Tensor::zeros([count, *width], device);
                *state = Some(match state.take() {
                    Some(old) => Tensor::cat(vec![old, new], 0),
                    None => new,
                });
            }
        }
    }

    fn select(&mut self, rows: &[usize]) {
        match self {
            Self::Keys(cache) => cache.select(rows),
            Self::Cell { state, .. } => {
                let selected = |state| select_rows(state, rows);
                *state = state.take().filter(|_| !rows.is_empty()).map(selected);
            }
        }
    }
}

impl TransformerState {
    pub(super) fn new(layers: impl Iterator<Item = LayerState>) -> Self {
        Self {
            layers: layers.collect(),
            positions: Vec::new(),
            sources: Sources::default(),
        }
    }

    /// Adds `count` rows at position 0, with the keys and values of their memory for each layer.
    pub(super) fn admit(
        &mut self,
        count: usize,
        memories: impl Iterator<Item = Option<Sequence>>,
        device: &Device,
    ) {
        for (layer, memory) in self.layers.iter_mut().zip(memories) {
            layer.own.admit(count, device);
            if let Some(Sequence { x, lengths }) = memory {
                layer.memory.extend(Ragged::padded(x, &lengths));
            }
        }
        self.positions.extend(std::iter::repeat_n(0, count));
        self.sources.admit(count);
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// The next position of each row.
    pub fn starts(&self) -> Starts {
        match self.positions.as_slice() {
            [] => Starts::All(0),
            [first, rest @ ..] if rest.iter().all(|other| other == first) => Starts::All(*first),
            each => Starts::Each(each.into()),
        }
    }

    pub(super) fn advance(&mut self, by: &[usize]) {
        self.positions
            .iter_mut()
            .zip(by)
            .for_each(|(position, by)| *position += by);
    }

    pub(super) fn groups(&self) -> Groups {
        self.sources.groups()
    }

    /// Replaces row `i` by the previous row `rows[i]`; rows that are not named are dropped.
    pub fn select(&mut self, rows: &[usize]) {
        if rows.iter().copied().eq(0..self.rows()) {
            return;
        }
        let kept = self.sources.select(rows);
        for layer in &mut self.layers {
            layer.own.select(rows);
            if let Some(kept) = &kept {
                layer.memory.select(kept);
            }
        }
        self.positions = rows.iter().map(|&row| self.positions[row]).collect();
    }
}
