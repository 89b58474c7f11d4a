//! From the last layer to the next token.

use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError};

use attentive_base::batch::TokenId;
use attentive_decode::{Answer, Logits, NextToken, Question};
use attentive_kernels::gemm::Activation;
use attentive_kernels::packed::{LeftOperand, LeftOperandBuf, linear_packed_columns, shared_by, team_size};
use attentive_kernels::team;
use attentive_kernels::top_k::{ExpSum, SUM_CHUNK, TopK, exp_sum, log_of_sums};

use super::LastLayer;
use super::columns::{ColumnBlock, CommonColumns, Listed, SentenceColumns};
use super::linear::PackedLinear;

/// The output projection.
#[derive(Debug)]
pub(super) struct Projection {
    map: PackedLinear,
    scale: f32,
}

impl Projection {
    /// The projection `map` of the last layer times `scale`.
    pub(super) fn new(map: PackedLinear, scale: f64) -> Self {
        Self { map, scale: scale as f32 }
    }

    /// The number of tokens.
    pub(super) fn d_out(&self) -> usize {
        self.map.d_out()
    }

    /// Width of the last layer.
    pub(super) fn d_in(&self) -> usize {
        self.map.d_in()
    }

    /// The instructions of the product.
    pub(super) fn instructions(&self) -> String {
        self.map.weight.view().precision().instructions().to_owned()
    }

    /// The columns of these `tokens`, which are candidates of every sentence.
    pub(super) fn common_columns(&self, tokens: &[TokenId]) -> CommonColumns {
        CommonColumns::new(&self.map, tokens)
    }

    /// The logits of all rows, row after row, also those of tokens that are no candidates.
    pub(super) fn logits(&self, last: LastLayer) -> Logits {
        let rows = last.rows;
        let values = self.scaled(last.values);
        let mut logits = vec![0.0; rows * self.map.d_out()];
        self.map.apply(rows, &values, &mut logits);
        Logits::new(logits, self.map.d_out())
    }

    /// See [`attentive_decode::likeliest`].
    pub(super) fn likeliest(&self, last: LastLayer, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        let rows = last.rows;
        let question = likeliest_of_any_row(count, never);
        let keep = Keep { questions: RowQuestions::OfAll(&question), sums: true };
        let parts = self.parts(last, keep);
        (0..rows).map(|row| answer(&parts, row, 0).next_tokens()).collect()
    }

    /// See [`attentive_decode::Stepper::answers`]. A shortlist has no effect.
    pub(super) fn answers(&self, last: LastLayer, questions: &[Question]) -> Vec<Answer> {
        let last = LastLayer { listed: None, ..last };
        let keep = Keep { questions: RowQuestions::OfEach(questions), sums: true };
        let parts = self.parts(last, keep);
        let all = questions.iter().enumerate();
        all.map(|(row, question)| answer(&parts, row, question.tokens.len())).collect()
    }

    /// See [`attentive_decode::Stepper::most_likely`].
    pub(super) fn most_likely(&self, last: LastLayer, never: &[TokenId]) -> Vec<Option<TokenId>> {
        let rows = last.rows;
        let question = likeliest_of_any_row(1, never);
        let keep = Keep { questions: RowQuestions::OfAll(&question), sums: false };
        let parts = self.parts(last, keep);
        let best = |row| largest(&parts, row).first().map(|&(_, token)| token);
        (0..rows).map(best).collect()
    }

    /// What is kept of the logits, which exist only for some columns at a time. Threads share the columns.
    fn parts(&self, last: LastLayer, keep: Keep<'_>) -> Vec<Part> {
        let LastLayer { rows, values, listed } = last;
        let values = self.scaled(values);
        let values = PackedLinear::probed(&[&self.map], &values);
        if let Some(listed) = listed {
            return vec![self.listed(&values, &listed, keep)];
        }
        let weight = self.map.weight.view();
        let mut buffer = LeftOperandBuf::default();
        let left = LeftOperand::prepare(weight.precision(), rows, weight.k(), &values, &mut buffer);
        let n_chunks = weight.n().div_ceil(SUM_CHUNK);
        let each = n_chunks.div_ceil(team_size(rows, weight));
        let n_parts = n_chunks.div_ceil(each);
        let parts: Vec<OnceLock<Part>> = (0..n_parts).map(|_| OnceLock::new()).collect();
        team::run(n_parts, &|part| {
            let chunks = part * each..n_chunks.min((part + 1) * each);
            let _ = parts[part].set(self.of_columns(&left, chunks, keep));
        });
        let done = parts.into_iter().filter_map(OnceLock::into_inner);
        done.collect()
    }

    fn scaled(&self, mut values: Vec<f32>) -> Vec<f32> {
        if self.scale != 1.0 {
            values.iter_mut().for_each(|x| *x *= self.scale);
        }
        values
    }

    /// What is kept of the logits of each row's candidates. Threads share the sentences.
    fn listed(&self, values: &[f32], listed: &Listed, keep: Keep<'_>) -> Part {
        let columns = &mut *listed.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let sentences = columns.of(&listed.rows, &self.map);
        let common = &columns.common.block;
        let n_logits: usize = sentences.iter().map(|(rows, one)| rows.len() * one.candidates.len()).sum();
        let (n_rows, d) = (listed.rows.len(), self.d_in());
        let n_parts = shared_by(n_rows, n_logits / n_rows.max(1), d).min(sentences.len()).max(1);
        let each = n_rows.div_ceil(n_parts);
        // The sentences whose rows begin in a part belong to it.
        let part_of = |(rows, _): &(Range<usize>, _)| rows.start / each.max(1);
        let parts: Vec<&[SentenceRows]> = sentences.chunk_by(|a, b| part_of(a) == part_of(b)).collect();
        let done: Vec<OnceLock<Vec<OfRow>>> = parts.iter().map(|_| OnceLock::new()).collect();
        team::run(parts.len(), &|part| {
            let _ = done[part].set(self.of_sentences(values, common, parts[part], keep));
        });
        Part(done.into_iter().filter_map(OnceLock::into_inner).flatten().collect())
    }

    /// What is kept of the logits of the candidates of `sentences`, row after row, of whose columns some are
    /// `common`.
    fn of_sentences(
        &self,
        values: &[f32],
        common: &ColumnBlock,
        sentences: &[SentenceRows],
        keep: Keep<'_>,
    ) -> Vec<OfRow> {
        let (d, n_common) = (self.d_in(), common.len());
        let rows_of = |rows: &Range<usize>| &values[rows.start * d..rows.end * d];
        let (mut of_common, mut of_own) = (ColumnLogits::default(), ColumnLogits::default());
        let (mut logits, mut found) = (Vec::new(), Vec::new());
        let mut rest = sentences;
        while let Some((first, _)) = rest.first() {
            // So few rows at a time that their logits stay in the cache, and so many that a tile is full.
            let count = rest.iter().take_while(|(rows, _)| rows.start < first.start + ROWS_OF_TILE).count();
            let (chunk, others) = rest.split_at(count);
            rest = others;
            let last = &chunk[count - 1].0;
            let rows = first.start..last.end;
            of_common.compute(rows.len(), rows_of(&rows), common);
            for (own_rows, columns) in chunk {
                of_own.compute(own_rows.len(), rows_of(own_rows), &columns.own);
                for row in own_rows.clone() {
                    let of_common = of_common.row(row - rows.start);
                    let of_own = of_own.row(row - own_rows.start);
                    logits.clear();
                    logits.extend(columns.indices.iter().map(|&index| match index as usize {
                        index if index < n_common => of_common[index],
                        index => of_own[index - n_common],
                    }));
                    let (question, candidates) = (keep.questions.of(row), &columns.candidates);
                    found.push(of_candidates(candidates, &logits, question, keep.sums));
                }
            }
        }
        found
    }

    /// What is kept of some chunks of columns.
    fn of_columns(&self, left: &LeftOperand<'_>, chunks: Range<usize>, keep: Keep<'_>) -> Part {
        let (weight, bias) = (self.map.weight.view(), self.map.bias.as_ref().map(|bias| bias.as_slice()));
        let rows = left.rows();
        let new = |row| OfRow::new(keep.questions.of(row), chunks.len());
        let mut part: Vec<OfRow> = (0..rows).map(new).collect();
        let mut logits = vec![0.0; rows * SUM_CHUNK];
        for chunk in chunks {
            let first = chunk * SUM_CHUNK;
            let columns = first..weight.n().min(first + SUM_CHUNK);
            let logits = &mut logits[..rows * columns.len()];
            let identity = Activation::Identity;
            linear_packed_columns(left, weight, bias, identity, columns.clone(), logits);
            let of_rows = part.iter_mut().zip(logits.chunks_exact(columns.len()));
            for (row, (kept, logits)) in of_rows.enumerate() {
                kept.add(keep.questions.of(row), first, logits, keep.sums);
            }
        }
        Part(part)
    }
}

/// The rows of a sentence, and the columns of its candidates.
type SentenceRows = (Range<usize>, Arc<SentenceColumns>);

/// The rows of a tile of products.
const ROWS_OF_TILE: usize = 12;

/// The logits of some rows and columns, in memory that is used again.
#[derive(Default)]
struct ColumnLogits {
    values: Vec<f32>,
    width: usize,
    left: LeftOperandBuf,
}

impl ColumnLogits {
    /// Computes those of the `rows` rows of `x` and of `columns`.
    fn compute(&mut self, rows: usize, x: &[f32], columns: &ColumnBlock) {
        let (weight, bias) = columns.view();
        self.width = weight.n();
        self.values.resize(rows * self.width, 0.0);
        if self.width > 0 {
            let left = LeftOperand::prepare(weight.precision(), rows, weight.k(), x, &mut self.left);
            let identity = Activation::Identity;
            linear_packed_columns(&left, weight, bias, identity, 0..self.width, &mut self.values);
        }
    }

    /// The logits of row `row`.
    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }
}

/// What is kept of the `logits` of the candidates of a row.
fn of_candidates(candidates: &[TokenId], logits: &[f32], question: &Question, sums: bool) -> OfRow {
    // Indices in the list, which is sorted, stand for tokens.
    let index = |token: &TokenId| candidates.binary_search(token).ok();
    let barred = question.barred.iter().filter_map(index);
    let barred: Vec<u32> = barred.map(|index| index as u32).collect();
    let mut largest = TopK::new(question.count);
    largest.add(logits, 0, &barred);
    OfRow {
        largest: largest.renumbered(candidates),
        sums: if sums { logits.chunks(SUM_CHUNK).map(exp_sum).collect() } else { Vec::new() },
        named: Vec::new(),
    }
}

/// The question about any row for its `count` likeliest tokens without those in `never`.
fn likeliest_of_any_row(count: usize, never: &[TokenId]) -> Question {
    Question { count, barred: never.to_vec(), tokens: Vec::new() }
}

/// What to keep of the logits of each row.
#[derive(Clone, Copy)]
struct Keep<'a> {
    questions: RowQuestions<'a>,
    /// The sums of exponentials, for probabilities.
    sums: bool,
}

/// The questions about rows.
#[derive(Clone, Copy)]
enum RowQuestions<'a> {
    OfAll(&'a Question),
    OfEach(&'a [Question]),
}

impl<'a> RowQuestions<'a> {
    /// The question about row `row`.
    fn of(self, row: usize) -> &'a Question {
        match self {
            Self::OfAll(question) => question,
            Self::OfEach(questions) => &questions[row],
        }
    }
}

/// What is kept of some columns of the logits, for each row.
struct Part(Vec<OfRow>);

/// What is kept of some columns of the logits of a row.
struct OfRow {
    largest: TopK,
    sums: Vec<ExpSum>,
    /// The logits of tokens that the question names, with their indices in it.
    named: Vec<(usize, f32)>,
}

impl OfRow {
    /// Nothing of a row yet, with room for `n_sums` sums.
    fn new(question: &Question, n_sums: usize) -> Self {
        Self { largest: TopK::new(question.count), sums: Vec::with_capacity(n_sums), named: Vec::new() }
    }

    /// Keeps what `question` asks for of `logits`, the first of which is that of token `first`, and their sum
    /// if `sums`.
    fn add(&mut self, question: &Question, first: usize, logits: &[f32], sums: bool) {
        let (number, barred) = (first as u32, &question.barred);
        if sums {
            let sum = exp_sum(logits);
            self.sums.push(sum);
            self.largest.add_summed(logits, number, barred, sum);
        } else {
            self.largest.add(logits, number, barred);
        }
        for (index, &token) in question.tokens.iter().enumerate() {
            let column = (token as usize).checked_sub(first);
            if let Some(&logit) = column.and_then(|column| logits.get(column)) {
                self.named.push((index, logit));
            }
        }
    }
}

/// The largest logits of row `row` with their tokens, from `parts` in the order of their columns.
fn largest(parts: &[Part], row: usize) -> Vec<(f32, TokenId)> {
    let all = parts.iter().map(|part| part.0[row].largest.clone());
    let joined = all.reduce(|mut all, part| {
        all.append(part);
        all
    });
    joined.map_or_else(Vec::new, TopK::into_sorted)
}

/// The answer to a question about row `row` that names `n_tokens` tokens, from `parts` in the order of their
/// columns.
fn answer(parts: &[Part], row: usize, n_tokens: usize) -> Answer {
    let of_row = || parts.iter().map(|part| &part.0[row]);
    let sums: Vec<ExpSum> = of_row().flat_map(|kept| &kept.sums).copied().collect();
    let mut logits = vec![f32::NEG_INFINITY; n_tokens];
    for &(index, logit) in of_row().flat_map(|kept| &kept.named) {
        logits[index] = logit;
    }
    Answer { likeliest: largest(parts, row), logits, total: log_of_sums(&sums) }
}
