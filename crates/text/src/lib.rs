//! Tokenization: text to token ids and back, tokenizer files, and vocabulary learning.
//!
//! A tokenizer is one `tokenizer.json` in the format of Hugging Face's `tokenizers`, which does the encoding.
//! Vocabularies are learned by this crate's own code, so that the same text always gives the same file, byte
//! for byte.

mod boundaries;
mod charsmap;
mod charsmap_builder;
mod contract;
mod decoder;
mod detokenizer;
mod format;
mod growth;
mod known_language;
mod languages;
mod learn;
mod lines;
mod normalizer;
mod pre_tokenizer;
mod special;
mod subword_sampler;
#[cfg(test)]
mod tests;
mod tokenizer;
mod tokenizer_model;
mod tokenizers;
mod unigram_model;
mod word_characters;
mod word_marks;
mod words;

pub use charsmap_builder::{check_normalization, compiled_normalization};
pub use contract::Sides;
pub use detokenizer::Detokenizer;
pub use known_language::KnownLanguage;
pub use languages::Languages;
pub use languages::some as some_languages;
pub use learn::{Masks, learn, learn_labels, learn_tagged};
pub use normalizer::composed;
pub use special::{MASK, SpecialTokens};
pub use subword_sampler::{SubwordSampler, SubwordSampling};
pub use tokenizer::{Joint, Tokenizer, Unnamed};
pub use tokenizer::{UNKNOWN_SPELLING, UNREACHABLE, vocabulary};
pub use tokenizer_model::SUMS;
pub use tokenizers::{Tokenizers, UnnamedTokenizers};
pub use word_characters::is_in_word;
pub use word_marks::WordMarks;
pub use words::WordCache;
