//! Masking for masked language models.

use attentive_base::batch::{Batch, IGNORE, Src, TokenId};
use attentive_base::body::Body;
use attentive_base::random::Random;
use attentive_text::{SpecialTokens, Tokenizer};

/// The fraction of tokens to be predicted, and how they are masked (Devlin et al. 2019, section 3.1).
const CHOSEN: f64 = 0.15;
const MASKED: f64 = 0.8;
const RANDOM: f64 = 0.1;

/// Base of the random streams; line `n` of epoch `e` uses this plus both.
const FIRST_STREAM: u64 = 0x6d61_736b_0000_0000;

/// Masks for evaluation do not depend on the seed of the run.
const FIXED_SEED: u64 = 0;

/// True if a masked language model may be asked to predict `token`. The exceptions are `</s>`, which ends
/// every text, and `<unk>`, which carries no information.
pub fn can_be_hidden(token: TokenId, special: SpecialTokens) -> bool {
    token != special.eos && token != special.unk
}

/// Masks random tokens other than `</s>` and `<unk>`. Each token is chosen for prediction with a probability
/// of 15 %, and at least one per text; of these, 80 % become `<mask>`, 10 % a random token, and 10 % stay
/// unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masking {
    mask: TokenId,
    special: SpecialTokens,
    vocab_size: usize,
    seed: u64,
}

impl Masking {
    /// The epoch number used for validation batches.
    pub const VALIDATION: u64 = u32::MAX as u64;

    /// Returns masks drawn from `seed`; `None` if the tokenizer has no `<mask>`.
    pub fn new(tokenizer: &Tokenizer, seed: u64) -> Option<Self> {
        let special = tokenizer.special();
        Some(Self { mask: special.mask?, special, vocab_size: tokenizer.vocab_size(), seed })
    }

    /// Returns masks for evaluation, the same for every run; `None` if the tokenizer has no `<mask>`.
    pub fn fixed(tokenizer: &Tokenizer) -> Option<Self> {
        Self::new(tokenizer, FIXED_SEED)
    }

    /// Masks the tokens that the encoder reads in a batch of whole texts, in pass `epoch` over the corpus;
    /// the targets of all other tokens become [`IGNORE`]. Other batches stay as they are.
    pub fn apply(&self, batch: &mut Batch, epoch: u64) {
        let Body::Encoder(Src::Tokens(read)) = &mut batch.inputs else {
            return;
        };
        let width = read.width();
        for (row, &line) in batch.lines.iter().enumerate() {
            let places = row * width..row * width + read.lens()[row];
            let (src, tgt) = (&mut read.ids[places.clone()], &mut batch.tgt_out.ids[places]);
            let stream = FIRST_STREAM.wrapping_add(epoch << 32).wrapping_add(line as u64);
            self.mask(src, tgt, &mut Random::new(self.seed, stream));
        }
    }

    fn mask(&self, src: &mut [TokenId], tgt: &mut [TokenId], random: &mut Random) {
        tgt.fill(IGNORE);
        let words: Vec<usize> =
            (0..src.len()).filter(|&place| can_be_hidden(src[place], self.special)).collect();
        let mut chosen = words.clone();
        chosen.retain(|_| random.chance(CHOSEN));
        if chosen.is_empty() && !words.is_empty() {
            chosen.push(*random.choose(&words));
        }
        for place in chosen {
            tgt[place] = src[place];
            let fate = random.uniform();
            if fate < MASKED {
                src[place] = self.mask;
            } else if fate < MASKED + RANDOM {
                let ordinary = self.special.n_ordinary(self.vocab_size);
                src[place] = self.special.ordinary(random.below(ordinary));
            }
        }
    }
}
