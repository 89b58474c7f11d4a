//! What differs from epoch to epoch in the examples of a corpus.

use std::sync::Arc;

use attentive_base::batch::TokenId;
use attentive_base::body::Body;
use attentive_base::error::{Error, Result};
use attentive_base::random::Random;
use attentive_config::{AugmentationConfig, Config, Task, TrainConfig};
use attentive_text::{SpecialTokens, SubwordSampler, SubwordSampling, Tokenizer, Tokenizers};

use crate::batching::augmentation::augment;
use crate::batching::guide::CorpusAlignments;
use crate::encoding::example::{EncoderInput, Example};

/// Bases of the random streams; line `n` of epoch `e` uses these plus `n` plus 2³²·`e`.
const AUGMENTATION_STREAM: u64 = 0x6175_676d_0000_0000;
const SUBWORDS_STREAM: u64 = 0x7375_6277_0000_0000;

/// Changes of examples, anew in each epoch. A change depends on the seed, the epoch and the line alone, and
/// needs nothing but the tokens, so that training data on disk are the same with and without.
#[derive(Clone, Debug)]
pub struct Variation {
    task: Task,
    tokenizers: Tokenizers,
    augmentation: AugmentationConfig,
    /// Which words of a pair belong together, if they are known.
    alignments: Option<Arc<CorpusAlignments>>,
    /// The samplers of source and target.
    subwords: Option<[SubwordSampler; 2]>,
    /// The maximum number of tokens per side. Examples that would be longer stay as they are.
    max_len: usize,
    seed: u64,
}

impl Variation {
    /// Returns the changes that `[train]` asks for; `None` if it asks for none. `alignments` are those of the
    /// corpus, without which no tags are added.
    ///
    /// # Errors
    /// [`Error::Config`] if the vocabulary is of another kind than a setting needs.
    pub fn new(
        config: &Config,
        tokenizers: &Tokenizers,
        alignments: Option<Arc<CorpusAlignments>>,
    ) -> Result<Option<Self>> {
        let task = config.model.family.task();
        let subwords = subwords(&config.train, task, tokenizers)?;
        let augmentation = config.train.augmentation.clone();
        if subwords.is_none() && !augmentation.is_on() {
            return Ok(None);
        }
        Ok(Some(Self {
            task,
            tokenizers: tokenizers.clone(),
            augmentation,
            alignments,
            subwords,
            max_len: config.data.max_len.min(config.model.max_len),
            seed: config.seed,
        }))
    }

    /// Returns the form that `example` has in `epoch`. It fits into a batch of `batch_tokens`.
    pub(crate) fn of(&self, example: &Example, epoch: u64, batch_tokens: usize) -> Example {
        let mut varied = example.clone();
        if self.augmentation.is_on() {
            self.augment(&mut varied, epoch);
        }
        if let Some([src, tgt]) = &self.subwords {
            let mut random = self.random(SUBWORDS_STREAM, epoch, example.line);
            self.resample(&mut varied, src, tgt, &mut random);
        }
        let lengths = varied.lengths();
        let fits =
            lengths.src.max(lengths.tgt) <= self.max_len && lengths.least_batch_tokens() <= batch_tokens;
        if fits { varied } else { example.clone() }
    }

    fn random(&self, stream: u64, epoch: u64, line: usize) -> Random {
        Random::new(self.seed, stream.wrapping_add(epoch << 32).wrapping_add(line as u64))
    }

    /// Segments the words of `example` anew.
    fn resample(
        &self,
        example: &mut Example,
        src: &SubwordSampler,
        tgt: &SubwordSampler,
        random: &mut Random,
    ) {
        match &mut example.inputs {
            Body::Encoder(EncoderInput::Tokens(text)) => {
                *text = src.sample(text, random);
                if self.task == Task::Fill {
                    example.tgt_out.clone_from(text);
                }
                return;
            }
            Body::EncoderDecoder(EncoderInput::Tokens(text), _) => *text = src.sample(text, random),
            Body::Encoder(EncoderInput::Vectors { .. })
            | Body::EncoderDecoder(EncoderInput::Vectors { .. }, _)
            | Body::Decoder(_) => {}
        }
        example.set_target(tgt.sample(&example.tgt_out, random));
    }

    /// Changes the text of a pair whose tokens spell all of it.
    fn augment(&self, example: &mut Example, epoch: u64) {
        let mut random = self.random(AUGMENTATION_STREAM, epoch, example.line);
        let (src, tgt) = (self.tokenizers.src(), self.tokenizers.tgt());
        let ends = |special: SpecialTokens| special.n_first()..special.n_last();
        let of_src = Framed::new(example.src(), ends(src.special()), src);
        let of_tgt = Framed::new(&example.tgt_out, 0..1, tgt);
        let (Some(of_src), Some(of_tgt)) = (of_src, of_tgt) else {
            return;
        };
        let (Ok(mut src_text), Ok(mut tgt_text)) = (src.decode(of_src.text), tgt.decode(of_tgt.text)) else {
            return;
        };
        let links = self.alignments.as_deref().map_or(&[][..], |all| all.of_line(example.line));
        if !augment(&self.augmentation, &mut src_text, &mut tgt_text, links, &mut random) {
            return;
        }
        // A tokenizer from another program may not accept every text.
        let (Ok(new_src), Ok(new_tgt)) = (src.encode(&src_text), tgt.encode(&tgt_text)) else {
            return;
        };
        // The vocabulary may lack capital letters.
        if new_src.contains(&src.special().unk) || new_tgt.contains(&tgt.special().unk) {
            return;
        }
        let (new_src, new_tgt) = (of_src.with(&new_src), of_tgt.with(&new_tgt));
        if let Body::EncoderDecoder(EncoderInput::Tokens(text), _) = &mut example.inputs {
            *text = new_src;
            example.set_target(new_tgt);
        }
    }
}

/// The samplers of both sides, if `[train]` asks for them.
fn subwords(train: &TrainConfig, task: Task, tokenizers: &Tokenizers) -> Result<Option<[SubwordSampler; 2]>> {
    let (key, value, sampling) = match (train.bpe_dropout, train.unigram_alpha) {
        (0.0, 0.0) => return Ok(None),
        (dropout, 0.0) => ("train.bpe_dropout", dropout, SubwordSampling::BpeDropout(dropout)),
        (_, alpha) => ("train.unigram_alpha", alpha, SubwordSampling::UnigramAlpha(alpha)),
    };
    let sampler = |tokenizer: &Tokenizer| {
        SubwordSampler::new(tokenizer, sampling).map_err(|problem| {
            Error::config(
                key,
                format!("0, since the vocabulary is of another kind: {problem}"),
                value.to_string(),
            )
        })
    };
    let src = sampler(tokenizers.src())?;
    // The labels of a classifier have no subwords.
    let tgt = if task == Task::Classify { src.clone() } else { sampler(tokenizers.tgt())? };
    Ok(Some([src, tgt]))
}

/// The tokens of a text, and the tokens around it, which are no text.
struct Framed<'a> {
    before: &'a [TokenId],
    text: &'a [TokenId],
    after: &'a [TokenId],
}

impl<'a> Framed<'a> {
    /// Divides `ids`, of which as many are around the text as `n_around` says. Tokens of other roles may
    /// begin the text, such as the code of a language; `None` if there are some within it.
    fn new(ids: &'a [TokenId], n_around: std::ops::Range<usize>, tokenizer: &Tokenizer) -> Option<Self> {
        let (text, after) = ids.split_at_checked(ids.len().checked_sub(n_around.end)?)?;
        let is_marked = |id: &TokenId| !tokenizer.is_of_text(*id);
        let n_before = text.iter().take_while(|id| is_marked(id)).count().max(n_around.start);
        let (before, text) = text.split_at_checked(n_before)?;
        (!text.iter().any(is_marked)).then_some(Self { before, text, after })
    }

    /// The same frame around another text.
    fn with(&self, text: &[TokenId]) -> Vec<TokenId> {
        [self.before, text, self.after].concat()
    }
}
