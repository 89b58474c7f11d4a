//! The columns of the output projection that the shortlists of sentences ask for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use attentive_base::batch::TokenId;
use attentive_kernels::packed::{PackedColumns, PackedWeight};

use super::linear::PackedLinear;
use crate::incremental::Candidates;

/// The candidates of each row, and the copied columns of a search.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) rows: Vec<Candidates>,
    pub(super) columns: Arc<Mutex<Columns>>,
}

/// Columns of the output projection, copied side by side.
#[derive(Debug)]
pub(super) struct ColumnBlock {
    weight: PackedColumns,
    bias: Option<Vec<f32>>,
}

impl ColumnBlock {
    /// The columns of `tokens` in `map`.
    fn new(map: &PackedLinear, tokens: impl IntoIterator<Item = TokenId>) -> Self {
        let all = map.weight.view();
        let mut weight = PackedColumns::new(all.precision(), all.k());
        let mut bias = map.bias.as_ref().map(|bias| (bias, Vec::new()));
        for token in tokens {
            weight.push(all, token as usize);
            if let Some((all, copied)) = &mut bias {
                copied.push(all[token as usize]);
            }
        }
        Self { weight, bias: bias.map(|(_, copied)| copied) }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.weight.view().n()
    }

    /// The columns and their biases.
    pub(super) fn view(&self) -> (PackedWeight<'_>, Option<&[f32]>) {
        (self.weight.view(), self.bias.as_deref())
    }
}

/// The columns of the tokens that are candidates of every sentence.
#[derive(Debug)]
pub(super) struct CommonColumns {
    pub(super) block: ColumnBlock,
    /// The index of each token's column, or [`MISSING`].
    indices: Vec<u32>,
}

const MISSING: u32 = u32::MAX;

impl CommonColumns {
    /// The columns of `tokens`, which are distinct, in `map`.
    pub(super) fn new(map: &PackedLinear, tokens: &[TokenId]) -> Self {
        let mut indices = vec![MISSING; map.weight.d_out()];
        for (index, &token) in tokens.iter().enumerate() {
            indices[token as usize] = index as u32;
        }
        Self { block: ColumnBlock::new(map, tokens.iter().copied()), indices }
    }
}

/// The columns of the candidates of a sentence.
#[derive(Debug)]
pub(super) struct SentenceColumns {
    /// In increasing order.
    pub(super) candidates: Candidates,
    /// Those that are not common.
    pub(super) own: ColumnBlock,
    /// For each candidate the index of its column: among the common ones, or behind them among its own.
    pub(super) indices: Vec<u32>,
}

impl SentenceColumns {
    fn new(candidates: Candidates, map: &PackedLinear, common: &CommonColumns) -> Self {
        let is_own = |token: &TokenId| common.indices[*token as usize] == MISSING;
        let own = ColumnBlock::new(map, candidates.iter().copied().filter(is_own));
        let mut next_own = common.block.len() as u32;
        let index = |&token: &TokenId| match common.indices[token as usize] {
            MISSING => {
                next_own += 1;
                next_own - 1
            }
            index => index,
        };
        let indices = candidates.iter().map(index).collect();
        Self { candidates, own, indices }
    }
}

/// The columns of a search: those of each sentence are copied when it first asks for them. Which ones are
/// there affects time only: a column of a product does not depend on the others.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) common: Arc<CommonColumns>,
    /// By the address of the sentence's candidates, which each of them keeps.
    sentences: HashMap<usize, Arc<SentenceColumns>>,
}

impl Columns {
    /// No columns besides the common ones yet.
    pub(super) fn new(common: Arc<CommonColumns>) -> Self {
        Self { common, sentences: HashMap::new() }
    }

    /// Returns the columns of each sentence, with its rows, which are adjacent and have the same candidates.
    pub(super) fn of(
        &mut self,
        rows: &[Candidates],
        map: &PackedLinear,
    ) -> Vec<(Range<usize>, Arc<SentenceColumns>)> {
        let mut found = Vec::new();
        let mut first = 0;
        for same in rows.chunk_by(Arc::ptr_eq) {
            let columns = self.sentences.entry(address(&same[0]));
            let columns =
                columns.or_insert_with(|| SentenceColumns::new(same[0].clone(), map, &self.common).into());
            found.push((first..first + same.len(), Arc::clone(columns)));
            first += same.len();
        }
        // Those of sentences that have ended are dropped a few at a time.
        if self.sentences.len() > 2 * found.len() {
            self.sentences =
                found.iter().map(|(_, one)| (address(&one.candidates), Arc::clone(one))).collect();
        }
        found
    }
}

/// Where the list is, which no other one shares as long as it exists.
fn address(list: &Candidates) -> usize {
    list.as_ptr().addr()
}
