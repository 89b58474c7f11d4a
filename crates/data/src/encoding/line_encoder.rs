//! Corpora as token ids.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use attentive_base::batch::TokenId;
use attentive_base::count::{count, number};
use attentive_base::error::{Error, Result};
use attentive_config::Task;
use attentive_text::{Sides, Tokenizer, Tokenizers, WordCache};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::batching::masking::can_be_hidden;
use crate::corpus::Corpus;
use crate::corpus::item::{Item, NumberedItem, TagInput};
use crate::encoding::example::Example;
use crate::encoding::label_origin::LabelOrigin;
use crate::encoding::token_counts::TokenCounts;
use crate::progress::{Progress, ProgressCallback};

/// Number of lines encoded in parallel between two calls of a [`ProgressCallback`].
pub(crate) const LINES_PER_CALL: usize = 1 << 14;

/// Counts of lines kept and dropped during encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodeStats {
    /// Lines kept.
    pub kept: usize,
    /// Lines dropped because a side has too many tokens.
    pub dropped_long: usize,
    /// Lines kept of which only the beginning of a side is used, since it has too many tokens.
    #[serde(default)]
    pub cropped: usize,
    /// Pairs dropped because one side has too many tokens compared with the other.
    pub dropped_uneven: usize,
    /// Texts dropped because a masked language model could predict none of their tokens.
    pub dropped_unknown: usize,
    /// Maximum number of tokens per side, including `</s>`.
    pub max_len: usize,
    /// The source tokens of the kept lines.
    pub src: TokenCounts,
    /// The target tokens of the kept lines, if they are text.
    pub tgt: TokenCounts,
}

impl EncodeStats {
    /// Returns the number of dropped lines.
    pub fn dropped(&self) -> usize {
        self.dropped_long + self.dropped_uneven + self.dropped_unknown
    }

    /// Returns the error for the case that no line is kept.
    fn nothing_left(&self) -> Error {
        let (lines, most) = (self.dropped(), count(self.max_len, "token"));
        let (problem, hint) = match self.dropped_unknown {
            _ if self.dropped_uneven > 0 => (
                format!("no line is left: {self}"),
                "raise `data.max_ratio`, and check that the sides belong together",
            ),
            0 => (
                match lines {
                    1 => format!("the only line has a side of more than {most}"),
                    _ => format!("all {} have a side of more than {most}", count(lines, "line")),
                },
                "raise `data.max_len` and `model.max_len`",
            ),
            _ => (
                match lines {
                    1 => {
                        format!("the only line does not have both a known token and at most {most}")
                    }
                    _ => format!("none of the {lines} lines has both a known token and at most {most}"),
                },
                "use text in the language that the tokenizer was trained on",
            ),
        };
        Error::data(problem, hint)
    }
}

impl fmt::Display for EncodeStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, cropped, dropped_long, dropped_uneven, dropped_unknown, max_len, .. } = self;
        write!(f, "{} encoded", count(*kept, "line"))?;
        if *cropped > 0 {
            let most = count(*max_len, "token");
            write!(f, ", {} of them cropped to sides of {most}", number(*cropped as u64))?;
        }
        for (dropped, reason) in [
            (*dropped_long, format!("with a side of more than {}", count(*max_len, "token"))),
            (*dropped_uneven, "with sides of too different lengths".to_owned()),
            (*dropped_unknown, "without a known token".to_owned()),
        ] {
            if dropped > 0 {
                write!(f, ", {} dropped {reason}", number(dropped as u64))?;
            }
        }
        Ok(())
    }
}

/// Encodes lines in parallel. Drops or crops lines with a side of more than `max_len` tokens, including
/// special ones, and drops texts for a masked language model in which no token [`can_be_hidden`].
#[derive(Debug)]
pub struct LineEncoder<'a> {
    task: Task,
    tokenizers: &'a Tokenizers,
    /// Whether long sides are cropped.
    crops: bool,
    /// The maximum ratio of the numbers of tokens of two sides.
    max_ratio: f64,
    labels: LabelOrigin<'a>,
    stats: EncodeStats,
    /// The encoded words of each thread.
    words: Vec<Mutex<Words>>,
}

/// The words that a thread has encoded.
#[derive(Clone, Debug)]
struct Words {
    src: WordCache,
    tgt: WordCache,
}

impl<'a> LineEncoder<'a> {
    /// Returns an encoder of lines for `task`, with sides of at most `max_len` tokens.
    pub fn new(task: Task, tokenizers: &'a Tokenizers, max_len: usize) -> Self {
        let stats = EncodeStats { max_len, ..EncodeStats::default() };
        let threads = rayon::current_num_threads();
        let words = Words {
            src: WordCache::new(tokenizers.src(), threads),
            tgt: WordCache::new(tokenizers.tgt(), threads),
        };
        Self {
            task,
            tokenizers,
            crops: false,
            max_ratio: f64::INFINITY,
            labels: LabelOrigin::Learned(usize::MAX),
            stats,
            words: (0..threads).map(|_| Mutex::new(words.clone())).collect(),
        }
    }

    /// Uses the beginning of a side that is too long instead of dropping the line, if `crops`. Lines of tags
    /// are dropped in any case.
    pub fn cropping(self, crops: bool) -> Self {
        Self { crops, ..self }
    }

    /// Also drops pairs if one side has more than `max_ratio` times as many tokens as the other; 0 keeps all.
    pub fn within_ratio(self, max_ratio: f64) -> Self {
        Self { max_ratio: if max_ratio > 0.0 { max_ratio } else { f64::INFINITY }, ..self }
    }

    /// Sets where the labels come from, for messages; otherwise they were learned from the training data.
    pub fn with_labels(self, labels: LabelOrigin<'a>) -> Self {
        Self { labels, ..self }
    }

    /// Encodes the next lines. `error` makes an error from a line number and a problem.
    ///
    /// # Errors
    /// [`Error::Data`] if a tokenizer from another program cannot encode a text; the result of `error` if a
    /// tag or label is not in the vocabulary.
    pub fn encode(
        &mut self,
        entries: &[NumberedItem],
        error: impl Fn(usize, String) -> Error + Sync,
    ) -> Result<Vec<Example>> {
        let special = self.tokenizers.tgt().special();
        let encode_one = |entry: &NumberedItem| {
            let thread = rayon::current_thread_index().unwrap_or(0) % self.words.len();
            let mut words = self.words[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let most = if self.crops { self.stats.max_len } else { usize::MAX };
            let (example, is_cropped) = encode_entry(entry, self.task, self.tokenizers, most, &mut words)?;
            let example = Example { weight: entry.weight, ..example };
            let checked = self.labels.check(&example.tgt_out, entry, self.tokenizers.tgt());
            checked.map_err(|problem| error(entry.line, problem))?;
            let fits = example.src_len().max(example.tgt_len()) <= self.stats.max_len;
            Ok(fits.then_some((example, is_cropped)))
        };
        let encoded: Result<Vec<Option<(Example, bool)>>> = entries.par_iter().map(encode_one).collect();
        let encoded = encoded?;
        self.stats.cropped += encoded.iter().flatten().filter(|(_, is_cropped)| *is_cropped).count();
        let mut examples: Vec<Example> = encoded.into_iter().flatten().map(|(example, _)| example).collect();
        let fitting = examples.len();
        if self.task == Task::Translate {
            examples.retain(|example| {
                let (src, tgt) = (example.src_len() as f64, example.tgt_len() as f64);
                src.max(tgt) <= self.max_ratio * src.min(tgt)
            });
        }
        let even = examples.len();
        let asks = |example: &Example| {
            let mut tokens = example.tgt_out.iter();
            self.task != Task::Fill || tokens.any(|&token| can_be_hidden(token, special))
        };
        examples.retain(asks);
        self.stats.dropped_long += entries.len() - fitting;
        self.stats.dropped_uneven += fitting - even;
        self.stats.dropped_unknown += even - examples.len();
        self.stats.kept += examples.len();
        self.count(&examples);
        Ok(examples)
    }

    /// Counts the tokens of kept lines.
    fn count(&mut self, examples: &[Example]) {
        let Sides { src, tgt } = self.tokenizers.sides();
        // A masked language model has the text on both sides. Labels are known, and vectors are no tokens.
        let (reads, writes) = match self.task {
            Task::Translate => (true, true),
            Task::Tag | Task::Classify => (true, false),
            Task::Generate | Task::Fill | Task::Embed => (false, true),
        };
        let of = |is_text: bool, side: fn(&Example) -> &[TokenId], special| {
            let texts = examples.par_iter().filter(|one| is_text && one.is_text());
            let counts = texts.map(|example| TokenCounts::of(side(example), special));
            counts.sum::<TokenCounts>()
        };
        let src = of(reads, Example::src, src);
        let tgt = of(writes, |example| &example.tgt_out, tgt);
        self.stats.src = [self.stats.src, src].into_iter().sum();
        self.stats.tgt = [self.stats.tgt, tgt].into_iter().sum();
    }

    /// Returns the counts for all lines.
    ///
    /// # Errors
    /// [`Error::Data`] if no line is left.
    pub fn finish(self) -> Result<EncodeStats> {
        match self.stats.kept {
            0 => Err(self.stats.nothing_left()),
            _ => Ok(self.stats),
        }
    }
}

/// Encodes all lines of `corpus`.
///
/// # Errors
/// [`Error::Data`] if no line is left, or if a tokenizer from another program cannot encode a text;
/// [`Error::Line`] if a tag or label is not in the vocabulary.
pub fn encode(
    corpus: &Corpus,
    mut encoder: LineEncoder<'_>,
    progress: ProgressCallback<'_>,
) -> Result<(Vec<Example>, EncodeStats)> {
    let entries = corpus.entries();
    let (mut examples, mut done) = (Vec::with_capacity(entries.len()), 0);
    for some in entries.chunks(LINES_PER_CALL) {
        examples.extend(encoder.encode(some, |line, problem| corpus.error(line, problem))?);
        done += some.len();
        let of = entries.len();
        progress(Progress::Encoded { done, of });
    }
    Ok((examples, encoder.finish()?))
}

/// Encodes one line, and crops its sides of text to `most` tokens. Returns whether one was longer.
fn encode_entry(
    entry: &NumberedItem,
    task: Task,
    tokenizers: &Tokenizers,
    most: usize,
    words: &mut Words,
) -> Result<(Example, bool)> {
    let (src, tgt) = (tokenizers.src(), tokenizers.tgt());
    let special = tgt.special();
    let line = entry.line;
    let mut is_cropped = false;
    let mut cropped = |mut ids: Vec<TokenId>, n_special: usize| {
        let room = most.saturating_sub(n_special);
        is_cropped |= ids.len() > room;
        ids.truncate(room);
        ids
    };
    let frame = src.special().n_frame();
    // The end, and the token that every translation begins with.
    let around_target = 1 + usize::from(special.forced.is_some());
    let example = match &entry.item {
        Item::Translation { src: from, tgt: to } => {
            let (from, to) = (words.src.encode(from)?, words.tgt.encode(to)?);
            let (from, to) = (cropped(from, frame), cropped(to, around_target));
            Example::translation(from, &to, tokenizers.sides(), line)
        }
        Item::Tagged { input, tags } => {
            let tags = ids_of(tags, tgt)?;
            let example = match input {
                TagInput::Tokens(words) if src.in_pieces() => {
                    let words = src.encode_pieces(words)?;
                    return Ok((Example::in_pieces(&words, &tags, src.special(), line), false));
                }
                TagInput::Tokens(tokens) => Example::tokens(ids_of(tokens, src)?, line),
                TagInput::Vectors(vectors) => {
                    let width = vectors.len() / tags.len().max(1);
                    Example::vectors(vectors.clone(), width.max(1), line)
                }
            };
            Example { tgt_out: tags, ..example }
        }
        Item::Labeled { text, label } => Example {
            tgt_out: vec![tgt.encode_word(label)?],
            ..Example::unlabeled(cropped(words.src.encode(text)?, frame), src.special(), line)
        },
        Item::Text(text) if task == Task::Fill => {
            Example::whole(cropped(words.tgt.encode(text)?, special.n_frame()), special, line)
        }
        Item::Text(text) => Example::text(&cropped(words.tgt.encode(text)?, 1), special, line),
    };
    Ok((example, is_cropped))
}

fn ids_of(words: &[String], tokenizer: &Tokenizer) -> Result<Vec<TokenId>> {
    words.iter().map(|word| tokenizer.encode_word(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_line_is_not_called_all_lines() {
        let problem = |dropped_long, dropped_unknown| {
            let stats = EncodeStats { dropped_long, dropped_unknown, max_len: 1, ..EncodeStats::default() };
            stats.nothing_left().to_string()
        };
        let long = "have a side of more than 1 token";
        assert_eq!(problem(2, 0), format!("all 2 lines {long}"));
        let long = long.replace("have", "has");
        assert_eq!(problem(1, 0), format!("the only line {long}"));
        let unknown = "both a known token and at most 1 token";
        assert_eq!(problem(1, 1), format!("none of the 2 lines has {unknown}"));
        assert_eq!(problem(0, 1), format!("the only line does not have {unknown}"));
    }
}
