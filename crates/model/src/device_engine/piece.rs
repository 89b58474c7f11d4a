//! Tokens that are read at a time.
//!
//! Rows that only go on by a token would be padded to the prompts of others, and the weights of attention
//! grow with the square of a prompt's length. So tokens are read in pieces: some rows, or a part of one.

use attentive_base::batch::{Padded, TokenId};

/// What a piece holds at most, unless a single token is more.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceLimits {
    /// Positions, with padding.
    pub(super) positions: usize,
    /// Positions times what the longest of them sees: the weights of a head.
    pub(super) weights: usize,
}

impl PieceLimits {
    /// 64 MiB of weights with 16 heads.
    pub(super) const DEFAULT: Self = Self { positions: 4096, weights: 1 << 20 };

    /// For decoders that compute one position after the other.
    pub(super) const ONE_POSITION: Self = Self { positions: 1, weights: usize::MAX };

    fn allow(self, positions: usize, seen: usize) -> bool {
        positions <= self.positions && positions.saturating_mul(seen) <= self.weights
    }
}

/// Next tokens of some rows.
#[derive(Debug)]
pub(super) struct Piece {
    /// Their rows in the state, ascending.
    pub(super) rows: Vec<usize>,
    pub(super) tokens: Padded,
}

/// A row that reads tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    /// Its row in the state.
    pub(super) row: usize,
    /// The position of its first token.
    pub(super) position: usize,
    /// The positions of its source.
    pub(super) src_len: usize,
    pub(super) tokens: &'a [TokenId],
}

impl<'a> Reader<'a> {
    /// The most positions that a token among the first `len` sees.
    fn seen(self, len: usize) -> usize {
        self.src_len.max(self.position + len)
    }

    /// Its next tokens, as many as a piece may hold, and the reader of those behind them.
    fn cut(self, limits: PieceLimits) -> (Self, Option<Self>) {
        let (mut len, mut too_many) = (1, self.tokens.len() + 1);
        while too_many - len > 1 {
            let middle = len + (too_many - len) / 2;
            if limits.allow(middle, self.seen(middle)) { len = middle } else { too_many = middle }
        }
        let (tokens, rest) = self.tokens.split_at(len);
        let behind = Self { position: self.position + len, tokens: rest, ..self };
        (Self { tokens, ..self }, (!rest.is_empty()).then_some(behind))
    }
}

/// The pieces of all tokens, in an order in which they can be read. Rows of one token are never padded.
pub(super) fn pieces(readers: Vec<Reader<'_>>, limits: PieceLimits) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut waiting = readers;
    while !waiting.is_empty() {
        let cut = waiting.into_iter().map(|reader| reader.cut(limits));
        let (mut now, later): (Vec<Reader<'_>>, Vec<_>) = cut.unzip();
        waiting = later.into_iter().flatten().collect();
        // Rows of about the same length need little padding.
        now.sort_by_key(|reader| reader.tokens.len());
        let mut open: Vec<Reader<'_>> = Vec::new();
        for reader in now {
            let len = reader.tokens.len();
            let seen = open.iter().chain([&reader]).map(|one| one.seen(len)).max();
            let fits = limits.allow((open.len() + 1) * len, seen.unwrap_or(0));
            let is_padding = open.first().is_some_and(|one| one.tokens.len() == 1) && len > 1;
            if !open.is_empty() && (!fits || is_padding) {
                pieces.push(piece(std::mem::take(&mut open)));
            }
            open.push(reader);
        }
        pieces.push(piece(open));
    }
    pieces
}

fn piece(mut readers: Vec<Reader<'_>>) -> Piece {
    readers.sort_by_key(|reader| reader.row);
    let tokens: Vec<&[TokenId]> = readers.iter().map(|reader| reader.tokens).collect();
    Piece { rows: readers.iter().map(|reader| reader.row).collect(), tokens: Padded::new(&tokens, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of each piece and its tokens, without padding.
    fn cut(rows: &[(usize, usize, &[TokenId])], limits: PieceLimits) -> Vec<Vec<(usize, Vec<TokenId>)>> {
        let readers = rows.iter().enumerate();
        let readers =
            readers.map(|(row, &(position, src_len, tokens))| Reader { row, position, src_len, tokens });
        let of_piece = |Piece { rows, tokens }: Piece| {
            let ids = tokens.ids.chunks(tokens.width()).zip(tokens.lens());
            let ids = ids.map(|(ids, &len)| ids[..len].to_vec());
            rows.into_iter().zip(ids).collect()
        };
        let pieces = pieces(readers.collect(), limits).into_iter();
        pieces.map(of_piece).collect()
    }

    #[test]
    fn a_step_is_one_piece() {
        let rows: [(usize, usize, &[TokenId]); 2] = [(3, 4, &[7]), (0, 2, &[8])];
        let pieces = cut(&rows, PieceLimits::DEFAULT);
        assert_eq!(pieces, [[(0, vec![7]), (1, vec![8])]]);
        assert!(cut(&[], PieceLimits::DEFAULT).is_empty());
    }

    #[test]
    fn rows_of_one_token_are_read_apart_from_prompts() {
        let rows: [(usize, usize, &[TokenId]); 4] =
            [(0, 0, &[1, 2, 3]), (5, 0, &[4]), (0, 0, &[5, 6]), (2, 0, &[7])];
        let pieces = cut(&rows, PieceLimits::DEFAULT);
        let expected = [vec![(1, vec![4]), (3, vec![7])], vec![(0, vec![1, 2, 3]), (2, vec![5, 6])]];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn a_piece_may_follow_one_of_all_rows() {
        let rows: [(usize, usize, &[TokenId]); 2] = [(0, 0, &[1, 2, 3]), (0, 2, &[4, 5])];
        let limits = PieceLimits { positions: 100, weights: 8 };
        let expected = [vec![(0, vec![1, 2]), (1, vec![4, 5])], vec![(0, vec![3])]];
        assert_eq!(cut(&rows, limits), expected);
    }

    #[test]
    fn pieces_keep_to_their_limits_and_lose_nothing() {
        let tokens: Vec<TokenId> = (0..40).collect();
        let rows: Vec<(usize, usize, &[TokenId])> =
            (0..12).map(|row| (3 * row, 7 * (row % 3), &tokens[..1 + 13 * row % 40])).collect();
        for (positions, weights) in [(1, 1), (8, 1000), (64, 300), (1000, 100), (1000, 100_000)] {
            let limits = PieceLimits { positions, weights };
            let mut read: Vec<Vec<TokenId>> = vec![Vec::new(); rows.len()];
            for piece in cut(&rows, limits) {
                let width = piece.iter().map(|(_, ids)| ids.len()).max().unwrap();
                let seen = piece.iter().map(|&(row, _)| {
                    let (position, src_len, _) = rows[row];
                    src_len.max(position + read[row].len() + width)
                });
                let fits = limits.allow(piece.len() * width, seen.max().unwrap());
                assert!(fits || piece.len() * width == 1, "{piece:?}");
                assert!(piece.is_sorted_by_key(|&(row, _)| row));
                for (row, ids) in piece {
                    read[row].extend(ids);
                }
            }
            for (read, (_, _, tokens)) in read.iter().zip(&rows) {
                assert_eq!(read, tokens);
            }
        }
    }
}
