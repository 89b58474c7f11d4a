//! Inspection of a model's attention and predictions.

use attentive_base::batch::{Batch, Padded, TokenId};
use attentive_base::body::Body;
use attentive_base::error::{Error, Result};
use attentive_config::{StackKind, Task, Units};
use attentive_data::Example;
use attentive_decode::{NextToken, likeliest};
use attentive_model::nn::{AttentionMap, AttentionWatch, Pass};
use attentive_tape::{self as tape, Value};
use attentive_text::Tokenizer;

use super::classify::{LabelScore, likeliest_labels};
use super::generated_token::{Alternative, GeneratedToken, generated_tokens};
use super::tokenized_line::TokenizedLine;
use super::{Pipeline, TranslateOptions, Warning};

/// The number of labels shown for a text.
const LABELS: usize = 3;
/// The number of tokens shown at a mask.
const GUESSES: usize = 5;

/// The attention and predictions of a model for one sentence. Tokens are spelled as in the vocabulary.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The encoder's input; empty for a model without an encoder.
    pub src: Vec<String>,
    /// The decoder's input, one token per position; empty for a model without a decoder.
    pub tgt: Vec<String>,
    /// The token after each position of `tgt`; may be missing for the last position.
    pub written: Vec<GeneratedToken>,
    /// The predictions of a labeling model; `None` for other models.
    pub predicted: Option<Predicted>,
    /// The weights of every attention, for a batch of this one sentence. Empty for a recurrent model without
    /// attention.
    pub maps: Vec<AttentionMap>,
    /// Problems with the text.
    pub warnings: Vec<Warning>,
}

/// The labels predicted by a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicted {
    /// The most likely tag at each position of [`Inspection::src`].
    Tags(Vec<LabelScore>),
    /// The most likely labels of the text, at most three, most likely first.
    Labels(Vec<LabelScore>),
    /// The most likely tokens at each masked position of [`Inspection::src`].
    Masks(Vec<MaskGuesses>),
}

/// The most likely tokens at a mask, most likely first.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskGuesses {
    /// The position of the mask.
    pub position: usize,
    /// The tokens.
    pub guesses: Vec<Alternative>,
}

/// The target of a sentence to inspect.
#[derive(Clone, Copy, Debug)]
pub enum InspectionTarget<'a> {
    /// The best translation found by the configured search; for a model that does not translate, no target.
    Own,
    Text(&'a str),
    /// Tokens, spelled as in the vocabulary.
    Tokens(&'a [String]),
    /// The tokens of a translation that was found before.
    Found(&'a [TokenId]),
}

/// A sentence prepared for an inspection.
#[derive(Clone, Debug)]
pub struct InspectionInput {
    /// `None` for a blank sentence.
    pub(super) example: Option<Example>,
    pub(super) warnings: Vec<Warning>,
}

impl Pipeline {
    /// Runs the model on `src` with `target` as its translation, or with the best translation found by the
    /// configured search if there is no target. Language models read `src` only; in a masked language model,
    /// `<mask>` hides a token.
    ///
    /// # Errors
    /// [`Error::Usage`] for a blank sentence, for a `target` with a model that does not translate, and for
    /// taggers without attention over tokens; [`Error::Data`] if the model's logits are NaN.
    pub fn inspect(&self, src: &str, target: Option<&str>) -> Result<Inspection> {
        self.show(src, target.map_or(InspectionTarget::Own, InspectionTarget::Text))?.inspect(self)
    }

    /// Prepares an inspection of `src`, without running the model unless it has to translate.
    ///
    /// With [`InspectionTarget::Tokens`] and a language model, the tokens follow the text `src`, which is
    /// read like a prompt and may be empty.
    ///
    /// # Errors
    /// The errors of [`Pipeline::inspect`]; [`Error::Data`] for a token that is not in the vocabulary and for
    /// special tokens; [`Error::Usage`] for tokens with a model without a decoder and a prompt that is too
    /// long.
    pub fn show(&self, src: &str, target: InspectionTarget<'_>) -> Result<InspectionInput> {
        let model = &self.config.model;
        match model.family.task() {
            Task::Embed => Err(predicts_nothing()),
            Task::Tag if !model.has(StackKind::Transformer) || model.family.d_input().is_some() => {
                let problem = "this tagger has no attention over tokens to explain";
                Err(Error::usage(
                    problem,
                    "use it with `attentive tag`; `attentive trace` shows its gates and states",
                ))
            }
            _ => self.sentence(src, target),
        }
    }

    /// Like [`Pipeline::show`], for all models that read tokens.
    pub(super) fn sentence(&self, src: &str, target: InspectionTarget<'_>) -> Result<InspectionInput> {
        if self.config.model.family.d_input().is_some() {
            let problem = "this model reads vectors in place of tokens";
            return Err(Error::usage(problem, "use a model that reads text"));
        }
        match (self.config.model.family.task(), target) {
            (Task::Translate, target) => self.show_pair(src, target),
            (Task::Generate, InspectionTarget::Tokens(tokens)) => self.show_continued(src, tokens),
            (_, InspectionTarget::Tokens(_)) => {
                Err(Error::usage("this model writes no tokens", "give only the text"))
            }
            (_, InspectionTarget::Text(_) | InspectionTarget::Found(_)) => Err(Error::usage(
                "this model does not translate, so it cannot take a target",
                "give only the text",
            )),
            (Task::Generate, InspectionTarget::Own) => self.show_text(src),
            (Task::Fill, InspectionTarget::Own) => self.show_whole(src),
            (Task::Classify | Task::Embed, InspectionTarget::Own) => self.show_labeled(src),
            (Task::Tag, InspectionTarget::Own) => self.show_tagged(src),
        }
    }

    fn show_pair(&self, src: &str, target: InspectionTarget<'_>) -> Result<InspectionInput> {
        let source = TokenizedLine::read(src, self)?;
        if source.ids.is_empty() {
            return Ok(InspectionInput::new(None, []));
        }
        let tokenizer = self.tokenizers.tgt();
        // The target has one more token: `<s>` or `</s>`.
        let room = self.architecture.max_len.saturating_sub(1);
        let (tgt, warnings) = match target {
            InspectionTarget::Text(text) => {
                let target = TokenizedLine::text(text, tokenizer, room)?;
                (target.ids, target.warnings)
            }
            InspectionTarget::Tokens(tokens) => {
                let target = TokenizedLine::of(self.continuable(tokens)?).within(room);
                (target.ids, target.warnings)
            }
            InspectionTarget::Found(tokens) => (tokens[..tokens.len().min(room)].to_vec(), Vec::new()),
            InspectionTarget::Own => {
                let options = TranslateOptions::from(&self.config.decode);
                let translations = self.translate_lines(&[src], &options)?;
                let best = translations.into_iter().flat_map(|line| line.hypotheses);
                let mut tokens = best.map(|best| best.tokens).next().unwrap_or_default();
                tokens.truncate(room);
                (tokens, Vec::new())
            }
        };
        let example = Example::pair(source.ids, &tgt, tokenizer.special(), 1);
        Ok(InspectionInput::new(Some(example), [("sentence", source.warnings), ("target", warnings)]))
    }

    fn show_text(&self, text: &str) -> Result<InspectionInput> {
        let source = TokenizedLine::text(text, self.tokenizers.tgt(), self.text_room())?;
        Ok(self.show_ids(source))
    }

    fn show_continued(&self, prompt: &str, tokens: &[String]) -> Result<InspectionInput> {
        let mut source = TokenizedLine::of(Vec::new());
        if !prompt.is_empty() {
            let prompt = self.prompt(prompt)?;
            let start = usize::from(self.config.data.units == Units::Lines);
            source.ids.extend(&prompt.ids[start..]);
            source.warnings = prompt.warnings;
        }
        source.ids.extend(self.continuable(tokens)?);
        Ok(self.show_ids(source.within(self.text_room())))
    }

    /// The maximum number of tokens of a text for a language model; a model of a stream does not use `<s>`.
    fn text_room(&self) -> usize {
        self.architecture.max_len - usize::from(self.config.data.units == Units::Lines)
    }

    fn show_ids(&self, source: TokenizedLine) -> InspectionInput {
        let TokenizedLine { ids, warnings, .. } = source;
        let example = match (ids.is_empty(), self.config.data.units) {
            (true, _) => None,
            (false, Units::Stream) => {
                Some(Example { tgt_out: ids[1..].to_vec(), inputs: Body::Decoder(ids), line: 1, weight: 1.0 })
            }
            (false, Units::Lines) => Some(Example::text(&ids, self.tokenizers.tgt().special(), 1)),
        };
        InspectionInput::new(example, [("text", warnings)])
    }

    fn show_whole(&self, text: &str) -> Result<InspectionInput> {
        let tokenizer = self.tokenizers.tgt();
        let frame = tokenizer.special().n_frame();
        let room = self.architecture.max_len.saturating_sub(frame);
        let mask = self.mask()?;
        let encode = |text: &str| tokenizer.encode_masked(text, mask);
        let TokenizedLine { ids, warnings, .. } = TokenizedLine::with(text, room, encode)?;
        let example = (!ids.is_empty()).then(|| Example::whole(ids, tokenizer.special(), 1));
        Ok(InspectionInput::new(example, [("text", warnings)]))
    }

    fn show_labeled(&self, text: &str) -> Result<InspectionInput> {
        let source = TokenizedLine::read(text, self)?;
        Ok(InspectionInput::new(read(source.ids), [("text", source.warnings)]))
    }

    fn show_tagged(&self, text: &str) -> Result<InspectionInput> {
        let tokenizer = self.tokenizers.src();
        if tokenizer.in_pieces() {
            return self.show_labeled(text);
        }
        let encode = |text: &str| tokenizer.encode_words(text);
        let TokenizedLine { ids, warnings, .. } =
            TokenizedLine::with(text, self.architecture.max_len, encode)?;
        Ok(InspectionInput::new(read(ids), [("text", warnings)]))
    }

    /// The likeliest tokens at each mask among the tokens `read`, of which `logits` has a row each.
    fn at_masks(&self, read: &[TokenId], logits: &Value) -> Result<Vec<MaskGuesses>> {
        let (mask, tokenizer) = (self.mask()?, self.tokenizers.tgt());
        let positions = read.iter().enumerate().filter(|(_, id)| **id == mask).map(|(position, _)| position);
        let positions: Vec<usize> = positions.collect();
        let never: Vec<TokenId> = tokenizer.special().ids().collect();
        let rows = likeliest(tape::select_rows(logits.clone(), &positions), GUESSES, &never);
        let guess = |next: NextToken| Alternative {
            token: tokenizer.token(next.token).unwrap_or_default(),
            probability: next.log_prob.exp(),
        };
        let each = positions.into_iter().zip(rows);
        let each = each
            .map(|(position, row)| MaskGuesses { position, guesses: row.into_iter().map(guess).collect() });
        Ok(each.collect())
    }

    /// The tokens that the model never generates.
    fn never_written(&self) -> Result<Vec<TokenId>> {
        Ok(match self.config.model.family.task() {
            Task::Translate => self.contract()?.never,
            _ => self.text_rules()?.never,
        })
    }

    /// The tokens that the encoder and the decoder read, as the vocabulary spells them.
    pub(super) fn tokens_read(&self, example: &Example) -> [Vec<String>; 2] {
        let reader = match self.config.model.family.task() {
            Task::Translate | Task::Tag | Task::Classify | Task::Embed => self.tokenizers.src(),
            Task::Generate | Task::Fill => self.tokenizers.tgt(),
        };
        [reader.spelled(example.src()), self.tokenizers.tgt().spelled(example.tgt_in())]
    }

    fn look(&self, input: InspectionInput) -> Result<Inspection> {
        let InspectionInput { example, warnings } = input;
        let Some(example) = example else {
            return Err(Error::usage("the sentence is blank", "give some text"));
        };
        let batch = batch_of(&example);
        let watch = AttentionWatch::default();
        let logits = self.model().forward(&batch, &Pass::inference().watched(&watch));
        let tgt_tokenizer = self.tokenizers.tgt();
        let task = self.config.model.family.task();
        let predicted = match task {
            Task::Fill => Some(Predicted::Masks(self.at_masks(example.src(), &logits)?)),
            _ => predicted(task, &logits, tgt_tokenizer)?,
        };
        let written = match batch.tgt_in() {
            None => Vec::new(),
            Some(_) => {
                let never = self.never_written()?;
                generated_tokens(logits, &example.tgt_out, tgt_tokenizer, &never)
            }
        };
        let [src, tgt] = self.tokens_read(&example);
        Ok(Inspection { src, tgt, written, predicted, maps: watch.into_maps(), warnings })
    }
}

impl InspectionInput {
    /// Returns the number of attention weights of the inspection.
    pub fn weights(&self, pipeline: &Pipeline) -> usize {
        let [src, tgt] = self.lens();
        pipeline.architecture().attention_weights(src, tgt)
    }

    /// Returns the number of tokens that the model reads.
    pub fn tokens(&self) -> usize {
        self.lens().iter().sum()
    }

    /// The numbers of tokens that the encoder and the decoder read.
    fn lens(&self) -> [usize; 2] {
        let lens = |example: &Example| [example.src().len(), example.tgt_in().len()];
        self.example.as_ref().map_or([0; 2], lens)
    }

    /// Runs the model on the sentence.
    ///
    /// # Errors
    /// The errors of [`Pipeline::inspect`].
    pub fn inspect(self, pipeline: &Pipeline) -> Result<Inspection> {
        pipeline.look(self)
    }

    /// The `warnings` are labeled with the text that they refer to.
    fn new<const N: usize>(example: Option<Example>, warnings: [(&str, Vec<Warning>); N]) -> Self {
        let named = |(what, warnings): (&str, Vec<Warning>)| -> Vec<Warning> {
            let name = |warning: Warning| Warning::new(format!("the {what}: {}", warning.problem));
            warnings.into_iter().map(name).collect()
        };
        Self { example, warnings: warnings.into_iter().flat_map(named).collect() }
    }
}

/// The batch of one example.
pub(super) fn batch_of(example: &Example) -> Batch {
    let inputs = example.inputs.as_ref();
    Batch::of(inputs.map(|src| Padded::single(src.tokens()).into(), |tgt_in| Padded::single(tgt_in)))
}

/// The example of tokens that an encoder reads; `None` without tokens.
fn read(tokens: Vec<TokenId>) -> Option<Example> {
    (!tokens.is_empty()).then(|| Example::tokens(tokens, 1))
}

fn predicts_nothing() -> Error {
    Error::usage("this model predicts nothing: it computes text vectors", "use it with `attentive embed`")
}

/// The predictions of a model for `task` with the logits `logits`, `[rows, labels]`.
fn predicted(task: Task, logits: &Value, tokenizer: &Tokenizer) -> Result<Option<Predicted>> {
    let best = |count| likeliest_labels(logits.clone(), count, tokenizer);
    let predicted = match task {
        Task::Tag => Predicted::Tags(best(1)?.concat()),
        Task::Classify => Predicted::Labels(best(LABELS)?.concat()),
        Task::Translate | Task::Generate | Task::Fill | Task::Embed => return Ok(None),
    };
    Ok(Some(predicted))
}
