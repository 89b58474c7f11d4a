//! The words of a source text, cut at the tags inside them.

use std::ops::Range;

/// Words separated by whitespace. A word never extends over two pieces of the text. Each consists of one
/// unit, or of several if there are tags inside it. Tags are always between units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkupWords {
    /// The bytes of each unit.
    units: Vec<Range<usize>>,
    /// The units of each word.
    words: Vec<Range<usize>>,
    /// The words of each piece, and of the gap before each piece and after the last one.
    pieces: Vec<Range<usize>>,
    gaps: Vec<Range<usize>>,
}

impl MarkupWords {
    /// The words of `text`, which consists of `pieces` with `gaps` before, between and after them, cut at the
    /// places `cuts`, in ascending order.
    pub(super) fn new(text: &str, gaps: &[Range<usize>], pieces: &[Range<usize>], cuts: &[usize]) -> Self {
        let mut all = Self { units: Vec::new(), words: Vec::new(), pieces: Vec::new(), gaps: Vec::new() };
        for (number, gap) in gaps.iter().enumerate() {
            let words = all.add(text, gap, cuts);
            all.gaps.push(words);
            if let Some(piece) = pieces.get(number) {
                let words = all.add(text, piece, cuts);
                all.pieces.push(words);
            }
        }
        all
    }

    /// Adds the words of `text[range]`, and returns their numbers.
    fn add(&mut self, text: &str, range: &Range<usize>, cuts: &[usize]) -> Range<usize> {
        let first = self.words.len();
        for word in word_ranges(&text[range.clone()]) {
            self.push(range.start + word.start..range.start + word.end, cuts);
        }
        first..self.words.len()
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

    /// The units of gap `gap`.
    pub(super) fn units_of_gap(&self, gap: usize) -> Range<usize> {
        self.units_of_words(self.gaps[gap].clone())
    }

    /// The words of piece `piece`.
    pub(super) fn words_of_piece(&self, piece: usize) -> Range<usize> {
        self.pieces[piece].clone()
    }

    /// The units of piece `piece`.
    pub(super) fn units_of_piece(&self, piece: usize) -> Range<usize> {
        self.units_of_words(self.words_of_piece(piece))
    }

    fn units_of_words(&self, words: Range<usize>) -> Range<usize> {
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
