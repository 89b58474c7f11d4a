//! The source sentence of each row of a decoder's state.

/// The sources of rows; hypotheses of one sentence share its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    /// The slot of each row, counted from 0 in the order of first appearance.
    slots: Vec<usize>,
    n_slots: usize,
}

/// Rows grouped by source; the rows of a source are queries of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// The number of sources.
    pub n_groups: usize,
    /// The row at each place `[n_groups · width]`, and the place of each row; absent if rows are already in order.
    pub order: Option<(Vec<usize>, Vec<usize>)>,
}

impl Groups {
    /// `order` for rows of `len` queries each.
    pub(super) fn order_of(&self, len: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let (row_at, place_of) = self.order.as_ref()?;
        let queries = |places: &[usize]| {
            let places = places.iter();
            places
                .flat_map(|place| place * len..(place + 1) * len)
                .collect()
        };
        Some((queries(row_at), queries(place_of)))
    }
}

impl Sources {
    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.slots.len()
    }

    /// The slot of each row.
    pub(super) fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// Adds a row for each of `count` new sources.
    pub(super) fn admit(&mut self, count: usize) {
        self.slots.extend(self.n_slots..self.n_slots + count);
        self.n_slots += count;
    }

    /// Replaces row `i` by the previous row `rows[i]`. Returns the slots that remain, in order, if any were dropped or moved.
    pub(super) fn select(&mut self, rows: &[usize]) -> Option<Vec<usize>> {
        let mut kept = Vec::new();
        let mut renamed = vec![usize::MAX; self.n_slots];
        let slots = rows.iter().map(|&row| {
            let slot = self.slots[row];
            if renamed[slot] == usize::MAX {
                renamed[slot] = kept.len();
                kept.push(slot);
            }
            renamed[slot]
        });
        self.slots = slots.collect();
        let unchanged = kept.iter().copied().eq(0..self.n_slots);
        self.n_slots = kept.len();
        (!unchanged).then_some(kept)
    }

    /// The rows grouped by source.
    pub(super) fn groups(&self) -> Groups {
        let mut rows_of = vec![Vec::new(); self.n_slots];
        for (row, &slot) in self.slots.iter().enumerate() {
            rows_of[slot].push(row);
        }
        let width = rows_of.iter().map(Vec::len).max().unwrap_or(0);
        let mut place_of = vec![0; self.slots.len()];
        let mut row_at = Vec::with_capacity(self.n_slots * width);
        for rows in &rows_of {
            for number in 0..width {
                // Padding repeats a row, whose result is dropped.
                let row = rows[number.min(rows.len() - 1)];
                if number < rows.len() {
                    place_of[row] = row_at.len();
                }
                row_at.push(row);
            }
        }
        let in_order = row_at.iter().copied().eq(0..self.slots.len());
        Groups {
            n_groups: self.n_slots,
            order: (!in_order).then_some((row_at, place_of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_renumbered_when_sources_are_dropped() {
        let mut sources = Sources::default();
        sources.admit(3);
        assert_eq!(sources.select(&[0, 1, 2]), None);
        assert_eq!(sources.select(&[0, 0, 2, 2, 2]), Some(vec![0, 2]));
        assert_eq!(sources.slots(), [0, 0, 1, 1, 1]);
        sources.admit(1);
        let groups = sources.groups();
        assert_eq!(groups.n_groups, 3);
        let (row_at, place_of) = groups.order.expect("an order");
        assert_eq!(row_at, [0, 1, 1, 2, 3, 4, 5, 5, 5]);
        assert_eq!(place_of, [0, 1, 3, 4, 5, 6]);
        assert_eq!(sources.select(&[5]), Some(vec![2]));
        assert!(sources.groups().order.is_none());
    }
}
