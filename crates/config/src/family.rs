//! `[model]`: the families of models, and the keys that only some of them have.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;

use attentive_architecture::{
    AttentionKind, Body, CellKind, InputFeeding, LabelLayer, Pooling, Task, TieEmbeddings,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// The kind of model. It also sets which stacks the encoder and the decoder have by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-also" = "arch architecture model_type"))]
pub enum Family {
    /// Translates with the encoder and decoder of *Attention Is All You Need*.
    Transformer,
    /// Translates with a recurrent encoder and decoder (Sutskever et al. 2014). The decoder has attention,
    /// unless `model.recurrent.attention` is `none`.
    Seq2seq,
    /// A causal language model: the decoder of a Transformer. It continues texts.
    DecoderOnly,
    /// A masked language model: the encoder of a Transformer (Devlin et al. 2019). It fills gaps in texts.
    EncoderOnly,
    /// Gives each token a label.
    Tagger,
    /// Gives the whole text a label.
    Classifier,
    /// Computes vectors of texts. Such a model can be imported but not trained.
    Encoder,
}

/// The keys of `[model]` that not all families have, for each [`Family`]. Keys of `[model.recurrent]` have
/// dotted names here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum FamilyConfig {
    /// [`Family::Transformer`].
    Transformer(Translator),
    /// [`Family::Seq2seq`].
    Seq2seq(Translator),
    /// [`Family::DecoderOnly`].
    DecoderOnly {
        /// The decoder.
        #[serde(flatten)]
        decoder: DecoderConfig,
        /// The prediction of tokens.
        #[serde(flatten)]
        output: OutputConfig,
        /// Further tokens, besides `</s>`, that end a text of a language model. By default, there are none.
        #[schemars(extend("examples" = [["<|im_end|>"]]))]
        extra_eos_tokens: Option<Vec<String>>,
    },
    /// [`Family::EncoderOnly`].
    EncoderOnly {
        /// The encoder.
        #[serde(flatten)]
        encoder: EncoderConfig,
        /// The prediction of tokens.
        #[serde(flatten)]
        output: OutputConfig,
        /// Whether a linear map, the activation function and a norm come before the output projection of a
        /// masked language model, as in BERT (Devlin et al. 2019).
        #[serde(default)]
        output_transform: bool,
    },
    /// [`Family::Tagger`].
    Tagger {
        /// The encoder.
        #[serde(flatten)]
        encoder: EncoderConfig,
        /// Whether a tagger reads subwords and labels each word at its first subword. Otherwise, each word is
        /// one token. With `model.from`, it follows the tokenizer of the base model.
        #[serde(default)]
        #[schemars(extend("x-needs" = "tokens"))]
        word_pieces: bool,
        /// The width of the vectors that a tagger reads in place of tokens. By default, or if it is 0, a
        /// tagger reads tokens. A Transformer encoder needs vectors of the width `model.d_model`.
        #[serde(rename = "recurrent.d_input", default, deserialize_with = "unless_zero")]
        #[schemars(range(min = 0, max = 1 << 16), extend("examples" = [13]))]
        d_input: Option<NonZeroUsize>,
    },
    /// [`Family::Classifier`].
    Classifier {
        /// The encoder.
        #[serde(flatten)]
        encoder: EncoderConfig,
        /// How the vectors of all positions are reduced to one vector of the text.
        #[serde(default)]
        pooling: Pooling,
        /// The layer between a text's vector and the labels of a classifier.
        #[serde(default)]
        label_layer: LabelLayer,
    },
    /// [`Family::Encoder`].
    Encoder {
        /// The encoder.
        #[serde(flatten)]
        encoder: EncoderConfig,
        /// How the vectors of all positions are reduced to one vector of the text.
        #[serde(default)]
        pooling: Pooling,
        /// Whether the vector of a text is scaled to length 1.
        #[serde(default)]
        normalize_embeddings: bool,
    },
}

/// The keys of models that translate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Translator {
    /// The encoder.
    #[serde(flatten)]
    pub encoder: EncoderConfig,
    /// The decoder.
    #[serde(flatten)]
    pub decoder: DecoderConfig,
    /// The prediction of tokens.
    #[serde(flatten)]
    pub output: OutputConfig,
    /// The width of the inner layer of the decoder's feed-forward networks. By default, or if it is 0, it is
    /// `model.d_ff`.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0, max = 1 << 18), extend("examples" = [512], "x-needs" = "both_transformers"))]
    pub d_decoder_ff: Option<NonZeroUsize>,
    /// The number of attention heads in the decoder. By default, or if it is 0, it is `model.n_heads`.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0, max = 1 << 16), extend("examples" = [8], "x-needs" = "both_transformers"))]
    pub n_decoder_heads: Option<NonZeroUsize>,
    /// The decoder layer, counted from 1, whose attention to the source aligns words: for alignments, terms,
    /// and the places of tags. By default, or if it is 0, it is the last one. Import sets it for models that
    /// were trained with guided alignments.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0, max = 1000), extend("examples" = [1], "x-needs" = "transformer_decoder"))]
    #[schemars(extend("x-also" = "transformer_guided_alignment_layer alignment_layer_idx"))]
    pub alignment_layer: Option<NonZeroUsize>,
    /// The head of that attention, counted from 1. By default, or if it is 0, the average of all heads aligns
    /// words.
    #[serde(deserialize_with = "unless_zero")]
    #[schemars(range(min = 0, max = 1 << 16), extend("examples" = [1], "x-needs" = "transformer_decoder"))]
    #[schemars(extend("x-also" = "alignment_heads"))]
    pub alignment_head: Option<NonZeroUsize>,
    /// The attention of the recurrent decoder to the source.
    #[serde(rename = "recurrent.attention")]
    #[schemars(extend("x-needs" = "recurrent_decoder"))]
    pub attention: AttentionKind,
    /// A token with which every translation must begin, such as the code of a language. By default, there is
    /// none.
    #[schemars(extend("examples" = ["<s>"]))]
    pub forced_bos_token: Option<String>,
    /// A token with which translations that reach the length limit must end. By default, there is none.
    #[schemars(extend("examples" = ["</s>"]))]
    pub forced_eos_token: Option<String>,
}

/// The keys of models with an encoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EncoderConfig {
    /// The kind of layers in the encoder.
    #[serde(rename = "encoder")]
    pub stack: StackKind,
    /// The number of layers in the encoder.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend(
        "x-also" = "encoder_layers num_encoder_layers enc_layers layers n_layers num_layers enc_depth"
    ))]
    pub n_encoder_layers: usize,
    /// Whether the recurrent encoder reads the text in both directions. Each direction gives half of a
    /// layer's output.
    #[serde(rename = "recurrent.bidirectional")]
    #[schemars(extend("x-needs" = "recurrent_encoder"))]
    pub bidirectional: bool,
    /// A token before every text that the encoder reads. By default, there is none.
    #[schemars(extend("examples" = ["<s>"], "x-needs" = "source_tokens"))]
    pub source_first: Option<String>,
    /// A token after every text that the encoder reads. By default, there is none.
    #[schemars(extend("examples" = ["</s>"], "x-needs" = "source_tokens"))]
    pub source_last: Option<String>,
}

/// The keys of models with a decoder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DecoderConfig {
    /// The kind of layers in the decoder.
    #[serde(rename = "decoder")]
    pub stack: StackKind,
    /// The number of layers in the decoder.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("x-also" = "decoder_layers num_decoder_layers dec_layers dec_depth"))]
    pub n_decoder_layers: usize,
    /// The mixing of the positions of the target in a Transformer decoder: by self-attention or by a
    /// recurrent cell in its place.
    #[schemars(extend("x-needs" = "transformer_decoder"))]
    pub decoder_mixing: MixingKind,
    /// Whether the prediction of a recurrent decoder reads tanh(W \[s; c\]), where s is the decoder's top
    /// state and c is the context of attention. Otherwise it reads \[s; c\] or, without attention, s.
    #[serde(rename = "recurrent.readout")]
    #[schemars(extend("x-needs" = "recurrent_decoder"))]
    pub readout: bool,
    /// What a recurrent decoder reads of the position before, besides the last token.
    #[serde(rename = "recurrent.input_feeding")]
    #[schemars(extend("x-needs" = "recurrent_decoder", "x-also" = "input_feed"))]
    pub input_feeding: InputFeeding,
    /// The first token that the decoder reads, in training and in decoding. By default, it is `<s>`.
    #[schemars(extend("examples" = ["</s>"], "x-needs" = "start_token"))]
    pub decoder_start_token: Option<String>,
    /// Whether the embedding of the token that the decoder reads first is zero, and stays so in training, as
    /// in Marian. A model can be exported to Marian and Firefox only if it is.
    #[schemars(extend("x-needs" = "start_token"))]
    pub zero_start_embedding: bool,
    /// The tokens that are never generated. By default, they are `<pad>` and `<s>`, and in language models
    /// all special tokens except `</s>`.
    #[schemars(extend("examples" = [["<pad>", "<unk>"]]))]
    pub suppress_tokens: Option<Vec<String>>,
}

/// The keys of models that predict tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OutputConfig {
    /// Which of the embeddings and the output projection are the same matrix. Sharing saves parameters.
    #[schemars(extend(
        "x-also" = "tied_embeddings tied_embeddings_all tied_embeddings_src share_all_embeddings \
                    share_decoder_input_output_embed tie_word_embeddings"
    ))]
    pub tie_embeddings: TieEmbeddings,
    /// Whether the output projection has a bias.
    pub output_bias: bool,
    /// The factor of the last layer's output before the output projection.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub logit_scale: f64,
}

/// A kind of stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StackKind {
    /// Transformer layers.
    Transformer,
    /// Recurrent layers; see `model.recurrent`.
    Recurrent,
}

/// Mixing of the positions in a Transformer decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixingKind {
    /// Causal self-attention.
    Attention,
    /// A recurrent cell.
    #[serde(untagged)]
    Recurrent(CellKind),
}

impl JsonSchema for MixingKind {
    fn schema_name() -> Cow<'static, str> {
        "MixingKind".into()
    }

    /// Attention, and the cells with their texts.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choices = vec![json!({
            "type": "string", "const": "attention", "description": "Causal self-attention."
        })];
        let cells = CellKind::json_schema(generator);
        choices.extend(cells.get("oneOf").and_then(Value::as_array).into_iter().flatten().cloned());
        json_schema!({
            "description": "Mixing of the positions in a Transformer decoder.", "oneOf": choices
        })
    }
}

/// Reads a number, of which 0 stands for the default.
pub(super) fn unless_zero<'de, D>(from: D) -> Result<Option<NonZeroUsize>, D::Error>
where
    D: Deserializer<'de>,
{
    usize::deserialize(from).map(NonZeroUsize::new)
}

impl fmt::Display for Family {
    /// Writes the name in configurations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Family {
    /// The task of the family.
    pub fn task(self) -> Task {
        match self {
            Self::Transformer | Self::Seq2seq => Task::Translate,
            Self::DecoderOnly => Task::Generate,
            Self::EncoderOnly => Task::Fill,
            Self::Tagger => Task::Tag,
            Self::Classifier => Task::Classify,
            Self::Encoder => Task::Embed,
        }
    }

    /// The keys for the stacks of the family, with their defaults.
    pub(super) fn stacks(self) -> &'static [(&'static str, &'static str)] {
        const ENCODER: &str = "model.encoder";
        const DECODER: &str = "model.decoder";
        match self {
            Self::Transformer => &[(ENCODER, "transformer"), (DECODER, "transformer")],
            Self::Seq2seq => &[(ENCODER, "recurrent"), (DECODER, "recurrent")],
            Self::DecoderOnly => &[(DECODER, "transformer")],
            Self::EncoderOnly | Self::Classifier | Self::Encoder => &[(ENCODER, "transformer")],
            Self::Tagger => &[(ENCODER, "recurrent")],
        }
    }
}

impl FamilyConfig {
    /// The family.
    pub fn family(&self) -> Family {
        match self {
            Self::Transformer(_) => Family::Transformer,
            Self::Seq2seq(_) => Family::Seq2seq,
            Self::DecoderOnly { .. } => Family::DecoderOnly,
            Self::EncoderOnly { .. } => Family::EncoderOnly,
            Self::Tagger { .. } => Family::Tagger,
            Self::Classifier { .. } => Family::Classifier,
            Self::Encoder { .. } => Family::Encoder,
        }
    }

    /// The task of the family.
    pub fn task(&self) -> Task {
        self.family().task()
    }

    /// The keys of a model that translates.
    pub fn translator(&self) -> Option<&Translator> {
        match self {
            Self::Transformer(translator) | Self::Seq2seq(translator) => Some(translator),
            _ => None,
        }
    }

    /// The keys of the encoder and the decoder.
    pub fn body(&self) -> Body<&EncoderConfig, &DecoderConfig> {
        match self {
            Self::Transformer(keys) | Self::Seq2seq(keys) => {
                Body::EncoderDecoder(&keys.encoder, &keys.decoder)
            }
            Self::DecoderOnly { decoder, .. } => Body::Decoder(decoder),
            Self::EncoderOnly { encoder, .. }
            | Self::Tagger { encoder, .. }
            | Self::Classifier { encoder, .. }
            | Self::Encoder { encoder, .. } => Body::Encoder(encoder),
        }
    }

    /// The keys of the encoder.
    pub fn encoder(&self) -> Option<&EncoderConfig> {
        self.body().encoder().copied()
    }

    /// The keys of the decoder.
    pub fn decoder(&self) -> Option<&DecoderConfig> {
        self.body().decoder().copied()
    }

    /// The keys for the prediction of tokens.
    pub fn output(&self) -> Option<&OutputConfig> {
        match self {
            Self::DecoderOnly { output, .. } | Self::EncoderOnly { output, .. } => Some(output),
            _ => self.translator().map(|translator| &translator.output),
        }
    }

    /// The width of the vectors that the model reads in place of tokens, if it does.
    pub fn d_input(&self) -> Option<usize> {
        match self {
            Self::Tagger { d_input, .. } => d_input.map(NonZeroUsize::get),
            _ => None,
        }
    }
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            stack: StackKind::Transformer,
            n_encoder_layers: 3,
            bidirectional: true,
            source_first: None,
            source_last: None,
        }
    }
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            stack: StackKind::Transformer,
            n_decoder_layers: 3,
            decoder_mixing: MixingKind::Attention,
            readout: true,
            input_feeding: InputFeeding::None,
            decoder_start_token: None,
            zero_start_embedding: false,
            suppress_tokens: None,
        }
    }
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self { tie_embeddings: TieEmbeddings::All, output_bias: false, logit_scale: 1.0 }
    }
}
