//! The words of a source text, cut at the tags inside them.

use std::ops::Range;

/// Words separated by whitespace. A word never extends over two pieces of the text. Each consists of one
/// unit, or of several if there are tags inside it. Tags are always between units.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// The bytes of each unit.
    units: Vec<Range<usize>>,
    /// The units of each word.
    words: Vec<Range<usize>>,
    /// The words of each piece.
    pieces: Vec<Range<usize>>,
}

impl Words {
    /// The words of the pieces of `text`, cut at the places `cuts`, in ascending order.
    pub(super) fn of_pieces(text: &str, pieces: &[Range<usize>], cuts: &[usize]) -> Self {
        let mut all = Self { units: Vec::new(), words: Vec::new(), pieces: Vec::new() };
        for piece in pieces {
            let first = all.words.len();
            for word in word_ranges(&text[piece.clone()]) {
                all.push(piece.start + word.start..piece.start + word.end, cuts);
            }
            all.pieces.push(first..all.words.len());
        }
        all
    }

    fn push(&mut self, word: Range<usize>, cuts: &[usize]) {
        let first = self.units.len();
        let mut start = word.start;
        let inside = cuts.partition_point(|&cut| cut <= word.start);
        for &cut in cuts[inside..].iter().take_while(|&&cut| cut < word.end) {
            if cut > start {
                self.units.push(start..cut);
                start = cut;
            }
        }
        self.units.push(start..word.end);
        self.words.push(first..self.units.len());
    }

    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// The bytes of unit `unit`.
    pub(super) fn bytes(&self, unit: usize) -> Range<usize> {
        self.units[unit].clone()
    }

    /// The units of word `word`.
    pub(super) fn units_of_word(&self, word: usize) -> Range<usize> {
        self.words[word].clone()
    }

    /// The words of piece `piece`.
    pub(super) fn words_of_piece(&self, piece: usize) -> Range<usize> {
        self.pieces[piece].clone()
    }

    /// The units of piece `piece`.
    pub(super) fn units_of_piece(&self, piece: usize) -> Range<usize> {
        let words = self.words_of_piece(piece);
        let start = |word: usize| self.words.get(word).map_or(self.units.len(), |w| w.start);
        start(words.start)..start(words.end)
    }

    /// The number of units before the place `at` of the text.
    pub(super) fn unit_at(&self, at: usize) -> usize {
        self.units.partition_point(|unit| unit.start < at)
    }
}

/// The ranges of the words of `text`.
pub(super) fn word_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_whitespace().map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    })
}
