//! Sequences of different lengths, side by side.

use burn::tensor::{Device, Tensor, TensorData};

use crate::ops::Lengths;

/// Rows of different numbers of vectors: row i holds `lens[i]` vectors, then padding that is never read.
///
/// Decoding keeps keys, values and memories in this form while rows are admitted and dropped.
#[derive(Clone, Debug)]
pub struct Ragged {
    /// `[rows · width, d]`; absent while there are no vectors.
    x: Option<Tensor<2>>,
    lens: Vec<usize>,
    width: usize,
    /// A pending selection of rows.
    moved: Option<Vec<usize>>,
}

impl Ragged {
    /// No rows.
    pub fn new() -> Self {
        Self {
            x: None,
            lens: Vec::new(),
            width: 0,
            moved: None,
        }
    }

    /// `rows` rows without vectors.
    pub fn empty(rows: usize) -> Self {
        Self {
            lens: vec![0; rows],
            ..Self::new()
        }
    }

    /// Padded rows, `[rows · width, d]`.
    pub fn padded(x: Tensor<2>, lengths: &Lengths) -> Self {
        Self {
            x: Some(x),
            lens: lengths.lens().to_vec(),
            width: lengths.width(),
            moved: None,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.moved.as_ref().map_or(self.lens.len(), Vec::len)
    }

    /// Replaces row `i` by the previous row `rows[i]`; the vectors are moved later. Has no effect without rows.
    pub fn select(&mut self, rows: &[usize]) {
        if self.rows() == 0 {
            return;
        }
        self.moved = Some(match self.moved.take() {
            Some(moved) => rows.iter().map(|&row| moved[row]).collect(),
            None => rows.to_vec(),
        });
    }

    /// Appends the rows of `other`.
    pub fn extend(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        if self.rows() == 0 {
            *self = other;
            return;
        }
        let (own, others) = (self.lens.len(), other.lens.len());
        let lens: Vec<usize> = self.lens.iter().chain(&other.lens).copied().collect();
        let blocks = match (self.x.take(), other.x.take()) {
            (None, None) => None,
            (Some(x), new) if other.width <= self.width => {
                let mut blocks = Blocks::reuse(x, self.width);
                blocks.push(new, &other.lens, other.width, 0..others);
                Some(blocks)
            }
            (x, new) => {
                let width = self.width.max(other.width);
                let like = x.as_ref().or(new.as_ref());
                let mut blocks = Blocks::new(lens.len(), width, like.expect("either"));
                blocks.push(x, &self.lens, self.width, 0..own);
                blocks.push(new, &other.lens, other.width, 0..others);
                Some(blocks)
            }
        };
        *self = Self::of(blocks, lens);
    }

    /// Appends `count` vectors to each row, `[rows · count, d]`, of which the first `real[i]` belong to row i.
    pub fn append(&mut self, new: Tensor<2>, count: usize, real: &[usize]) {
        let Some(old) = self.x.take() else {
            *self = Self {
                x: Some(new),
                lens: real.to_vec(),
                width: count,
                moved: None,
            };
            return;
        };
        let origins = self.moved.take();
        let origins = origins.unwrap_or_else(|| (0..self.lens.len()).collect());
        let before: Vec<usize> = origins.iter().map(|&row| self.lens[row]).collect();
        let lens: Vec<usize> = before
            .iter()
            .zip(real)
            .map(|(old, new)| old + new)
            .collect();
        let needed = lens.iter().copied().max().unwrap_or(0);
        // Rows that were repeated probably will be again, which needs a copy in any case.
        let stays = count == 1 && only_forward(&origins);
        let mut blocks = if stays && needed <= self.width {
            Blocks::reuse(old, self.width).compact(&origins, &before)
        } else {
            let room = if stays { needed / 4 + GROWTH } else { 0 };
            let mut blocks = Blocks::new(lens.len(), needed + room, &old);
            blocks.push(Some(old), &self.lens, self.width, origins);
            blocks
        };
        blocks.add(new, count, &before, real);
        *self = Self::of(Some(blocks), lens);
    }

    /// The vectors `[rows · width, d]`, and the number of real vectors of each row.
    ///
    /// # Panics
    /// If there are no vectors.
    pub fn view(&mut self) -> (Tensor<2>, Lengths) {
        self.settle();
        let x = self.x.clone().expect("rows that hold vectors");
        (x, Lengths::new(self.lens.clone(), self.width))
    }

    /// Carries out a pending selection.
    fn settle(&mut self) {
        let Some(origins) = self.moved.take() else {
            return;
        };
        if origins.iter().copied().eq(0..self.lens.len()) {
            return;
        }
        let lens: Vec<usize> = origins.iter().map(|&row| self.lens[row]).collect();
        let blocks = self.x.take().map(|x| {
            if only_forward(&origins) {
                return Blocks::reuse(x, self.width).compact(&origins, &lens);
            }
            let width = lens.iter().copied().max().unwrap_or(0);
            let mut blocks = Blocks::new(lens.len(), width, &x);
            blocks.push(Some(x), &self.lens, self.width, origins);
            blocks
        });
        *self = Self::of(blocks, lens);
    }

    /// Rows of `lens` vectors.
    fn of(blocks: Option<Blocks>, lens: Vec<usize>) -> Self {
        Self {
            width: blocks.as_ref().map_or(0, |blocks| blocks.width),
            x: blocks.and_then(Blocks::into_tensor),
            lens,
            moved: None,
        }
    }
}

impl Default for Ragged {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether every row moves to its own place or one before it, so that rows can be moved in order without a copy.
fn only_forward(origins: &[usize]) -> bool {
    (0..).zip(origins).all(|(row, &origin)| row <= origin)
}

/// Vectors that every row has room for at least, once it has outgrown its room.
const GROWTH: usize = 8;

/// Rows of `width` vectors on the host, being filled.
struct Blocks {
    values: Vec<f32>,
    rows: usize,
    width: usize,
    /// Width of a vector.
    d: usize,
    device: Device,
}

impl Blocks {
    /// No rows yet, and room for `rows` of vectors like those of `like`.
    fn new(rows: usize, width: usize, like: &Tensor<2>) -> Self {
        let [_, d] = like.dims();
        Self {
            values: Vec::with_capacity(rows * width * d),
            rows: 0,
            width,
            d,
            device: like.device(),
        }
    }

    /// The rows of `x`, which are changed in place if nothing else holds it.
    fn reuse(x: Tensor<2>, width: usize) -> Self {
        let ([all, d], device) = (x.dims(), x.device());
        Self {
            values: values(x),
            rows: all / width,
            width,
            d,
            device,
        }
    }

    /// Adds rows `origins` of `x`, `[rows · width, d]`, whose real vectors `lens` counts; rows without vectors if there is no
    /// `x`.
    fn push(
        &mut self,
        x: Option<Tensor<2>>,
        lens: &[usize],
        width: usize,
        origins: impl IntoIterator<Item = usize>,
    ) {
        let old = x.map(values).unwrap_or_default();
        for origin in origins {
            let first = origin * width * self.d;
            self.values
                .extend_from_slice(&old[first.min(old.len())..][..lens[origin] * self.d]);
            self.rows += 1;
            self.values.resize(self.rows * self.stride(), 0.0);
        }
    }

    /// Replaces row i by row `origins[i]`, which has `lens[i]` vectors and does not lie before row i.
    fn compact(mut self, origins: &[usize], lens: &[usize]) -> Self {
        let stride = self.stride();
        for (row, (&origin, &len)) in origins.iter().zip(lens).enumerate() {
            let from = origin * stride;
            if origin != row {
                let real = from..from + len * self.d;
                self.values.copy_within(real, row * stride);
            }
        }
        self.rows = origins.len();
        self.values.truncate(self.rows * stride);
        self
    }

    /// Adds the first `real[i]` of `count` vectors of `new` to row i, behind the `before[i]` that it has.
    fn add(&mut self, new: Tensor<2>, count: usize, before: &[usize], real: &[usize]) {
        let new = values(new);
        for (row, (&before, &real)) in before.iter().zip(real).enumerate() {
            let from = row * count * self.d;
            let to = row * self.stride() + before * self.d;
            let len = real * self.d;
            self.values[to..to + len].copy_from_slice(&new[from..from + len]);
        }
    }

    /// Elements from one row to the next.
    fn stride(&self) -> usize {
        self.width * self.d
    }

    fn into_tensor(self) -> Option<Tensor<2>> {
        let shape = [self.rows * self.width, self.d];
        let is_empty = shape[0] == 0;
        (!is_empty).then(|| Tensor::from_data(TensorData::new(self.values, shape), &self.device))
    }
}

/// The elements of `x`, without a copy if nothing else holds it.
fn values(x: Tensor<2>) -> Vec<f32> {
    let data = x.into_data().convert::<f32>();
    data.try_into_vec().expect("the vectors were made f32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn tensor(values: &[f32]) -> Tensor<2> {
        let data = TensorData::new(values.to_vec(), [values.len(), 1]);
        Tensor::from_data(data, &Device::flex())
    }

    fn rows(ragged: &mut Ragged) -> Vec<Vec<f32>> {
        let (x, lengths) = ragged.view();
        let values = values(x);
        let rows = values.chunks(lengths.width());
        rows.zip(lengths.lens())
            .map(|(row, &len)| row[..len].to_vec())
            .collect()
    }

    #[test]
    fn rows_grow_move_and_are_joined() {
        let mut ragged = Ragged::empty(2);
        ragged.append(tensor(&[1.0, 2.0, 3.0, 0.0]), 2, &[2, 1]);
        assert_eq!(rows(&mut ragged), [vec![1.0, 2.0], vec![3.0]]);
        for step in 0..30 {
            ragged.append(
                tensor(&[10.0 + step as f32, 50.0 + step as f32]),
                1,
                &[1, 1],
            );
        }
        let grown = rows(&mut ragged);
        assert_eq!((grown[0].len(), grown[1].len()), (32, 31));
        assert_eq!(grown[1][..3], [3.0, 50.0, 51.0]);
        ragged.select(&[1, 1, 0]);
        ragged.select(&[2, 0]);
        ragged.append(tensor(&[7.0, 8.0]), 1, &[1, 1]);
        let moved = rows(&mut ragged);
        assert_eq!(moved[0], [&grown[0][..], &[7.0]].concat());
        assert_eq!(moved[1], [&grown[1][..], &[8.0]].concat());
        ragged.extend(Ragged::empty(1));
        ragged.extend(Ragged::padded(tensor(&[4.0, 5.0]), &Lengths::full(1, 2)));
        let joined = rows(&mut ragged);
        assert_eq!(joined[..2], moved);
        assert_eq!(joined[2..], [vec![], vec![4.0, 5.0]]);
        ragged.select(&[3]);
        assert_eq!(rows(&mut ragged), [[4.0, 5.0]]);
        ragged.select(&[]);
        assert_eq!(ragged.rows(), 0);
    }

    #[test]
    fn random_changes_equal_those_of_plain_lists() {
        let mut random = Random::new(5, 0);
        for _ in 0..200 {
            let (mut ragged, mut plain) = (Ragged::new(), Vec::<Vec<f32>>::new());
            for change in 0..40 {
                let value = change as f32;
                match random.below(4) {
                    0 => {
                        let lens: Vec<usize> =
                            (0..=random.below(3)).map(|_| random.below(4)).collect();
                        let lengths = Lengths::new(lens.clone(), 4);
                        let x = tensor(&vec![value; lens.len() * 4]);
                        ragged.extend(Ragged::padded(x, &lengths));
                        plain.extend(lens.into_iter().map(|len| vec![value; len]));
                    }
                    1 if plain.len() > 1 => {
                        let gone = random.below(plain.len());
                        let mut kept: Vec<usize> = (0..plain.len()).collect();
                        kept.swap_remove(gone);
                        ragged.select(&kept);
                        plain.swap_remove(gone);
                    }
                    2 if !plain.is_empty() => {
                        let chosen: Vec<usize> =
                            (0..3).map(|_| random.below(plain.len())).collect();
                        ragged.select(&chosen);
                        plain = chosen.iter().map(|&row| plain[row].clone()).collect();
                    }
                    _ if !plain.is_empty() => {
                        ragged.append(tensor(&vec![value; plain.len()]), 1, &vec![1; plain.len()]);
                        plain.iter_mut().for_each(|row| row.push(value));
                    }
                    _ => {}
                }
                if plain.iter().any(|row| !row.is_empty()) && random.below(2) == 0 {
                    assert_eq!(rows(&mut ragged), plain);
                }
            }
        }
    }
}
