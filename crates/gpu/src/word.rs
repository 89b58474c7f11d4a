//! The parameters of kernels: words of 32 bits.

/// A number that fits into a word.
pub(crate) trait Word {
    /// Its bits.
    fn word(self) -> u32;
}

impl Word for u32 {
    fn word(self) -> u32 {
        self
    }
}

impl Word for usize {
    fn word(self) -> u32 {
        u32::try_from(self).expect("sizes and indices on a GPU are below 2³²")
    }
}

impl Word for f32 {
    fn word(self) -> u32 {
        self.to_bits()
    }
}

impl Word for bool {
    fn word(self) -> u32 {
        self.into()
    }
}

/// The words of these numbers.
macro_rules! words {
    ($($number:expr),* $(,)?) => { [$($crate::word::Word::word($number)),*] };
}

pub(crate) use words;

/// The words of all `numbers`.
pub(crate) fn all_words<W: Word>(numbers: impl IntoIterator<Item = W>) -> Vec<u32> {
    numbers.into_iter().map(Word::word).collect()
}
