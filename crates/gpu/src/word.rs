//! The parameters of kernels: words of 32 bits.

/// A number that fits into a word.
pub(crate) trait ShaderWord {
    /// Its bits.
    fn word(self) -> u32;
}

impl ShaderWord for u32 {
    fn word(self) -> u32 {
        self
    }
}

impl ShaderWord for usize {
    fn word(self) -> u32 {
        u32::try_from(self).expect("sizes and indices on a GPU are below 2³²")
    }
}

impl ShaderWord for f32 {
    fn word(self) -> u32 {
        self.to_bits()
    }
}

impl ShaderWord for bool {
    fn word(self) -> u32 {
        self.into()
    }
}

/// The words of these numbers.
macro_rules! words {
    ($($number:expr),* $(,)?) => { [$($crate::word::ShaderWord::word($number)),*] };
}

pub(crate) use words;

/// The words of all `numbers`.
pub(crate) fn all_words<W: ShaderWord>(numbers: impl IntoIterator<Item = W>) -> Vec<u32> {
    numbers.into_iter().map(ShaderWord::word).collect()
}
