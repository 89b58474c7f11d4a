//! Exports encoders as BERT, DistilBERT, RoBERTa and MPNet, with their heads.

use attentive_architecture::{LabelLayer, NormPosition, Pooling, Positions, Task};
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_checkpoint::LoadedModel;
use attentive_config::{EncoderConfig, FamilyConfig, ModelConfig, OutputConfig, StackKind};
use attentive_text::Tokenizers;
use serde_json::{Map, Value, json};

use super::{HfModel, activation, positions, vocab};
use crate::export::{ExportProblem, UnsupportedFeatures};
use crate::hf::{bert, distilbert, mpnet, roberta};
use crate::recipe::NameMapping;

/// A kind of encoder in `transformers`.
struct Form {
    kind: &'static str,
    model_type: &'static str,
    /// The prefix of the names of its classes.
    class: &'static str,
    /// The names of the encoder. The first match is used.
    names: &'static [NameMapping],
    /// The names of the heads: masked language models, classifiers of texts, and taggers of words.
    heads: [NameMapping; 3],
    /// The path of the text classifier.
    classifier: &'static str,
    prefix: &'static str,
    bare: &'static [&'static str],
    /// The layer before the text classifier.
    layer: LabelLayer,
    /// The name of the output bias of the masked language model.
    bias: &'static str,
    /// The number of rows of the token type table.
    types: usize,
}

const BERT: Form = Form {
    kind: "BERT",
    model_type: "bert",
    class: "Bert",
    names: &[bert::NAMES],
    heads: [bert::NAMES, bert::TEXTS, bert::WORDS],
    classifier: "classifier",
    prefix: "bert.",
    bare: &["cls.", "classifier."],
    layer: LabelLayer::Tanh,
    bias: "cls.predictions.bias",
    types: 2,
};

const DISTILBERT: Form = Form {
    kind: "DistilBERT",
    model_type: "distilbert",
    class: "DistilBert",
    names: &[distilbert::NAMES],
    heads: [distilbert::NAMES, distilbert::TEXTS, distilbert::WORDS],
    classifier: "classifier",
    prefix: "distilbert.",
    bare: &["vocab_", "classifier.", "pre_classifier."],
    layer: LabelLayer::Relu,
    bias: "vocab_projector.bias",
    types: 0,
};

const ROBERTA: Form = Form {
    kind: "RoBERTa",
    model_type: "roberta",
    class: "Roberta",
    names: &[bert::NAMES],
    heads: [roberta::HEAD, roberta::TEXTS, roberta::WORDS],
    classifier: "classifier.out_proj",
    prefix: "roberta.",
    bare: &["lm_head.", "classifier."],
    layer: LabelLayer::Tanh,
    bias: "lm_head.bias",
    types: 1,
};

const MPNET: Form = Form {
    kind: "MPNet",
    model_type: "mpnet",
    class: "MPNet",
    names: &[mpnet::NAMES, bert::NAMES],
    prefix: "mpnet.",
    types: 0,
    ..ROBERTA
};

impl Form {
    /// Returns the kind that is most similar to `model`.
    fn of(model: &ModelConfig) -> Self {
        match (model.positions, &model.family) {
            (Positions::LearnedRelative, _) => MPNET,
            _ if model.position_offset > 0 => ROBERTA,
            (_, FamilyConfig::Classifier { label_layer, .. }) if *label_layer == LabelLayer::Relu => {
                DISTILBERT
            }
            _ => BERT,
        }
    }

    /// Refuses a model that differs from this kind. Its padding token is `pad`.
    fn check(&self, model: &ModelConfig, pad: TokenId) -> Result<(), ExportProblem> {
        let mut differences = UnsupportedFeatures::of(model);
        let first = if self.has_offset() { pad as usize + 1 } else { 0 };
        let relative = (model.relative_buckets, model.relative_distance);
        for (equal, difference) in [
            (model.has(StackKind::Transformer), "the encoder is recurrent"),
            (model.norm_position == NormPosition::Post, "`model.norm_position` is not `post`"),
            (model.final_norm != Some(true), "`model.final_norm` is true"),
            (model.embedding_norm, "`model.embedding_norm` is false"),
            (!model.scale_embeddings, "`model.scale_embeddings` is true"),
            (
                model.position_offset == first,
                "`model.position_offset` is neither 0 nor that behind the row of the padding",
            ),
            (
                !model.positions.are_relative() || relative == (32, 128),
                "`model.relative_buckets` is not 32 or `model.relative_distance` is not 128",
            ),
            (
                self.model_type != DISTILBERT.model_type || model.norm_epsilon == 1e-12,
                "`model.norm_epsilon` is not 1e-12",
            ),
        ] {
            differences.unless(equal, difference);
        }
        match model.family {
            FamilyConfig::EncoderOnly { output_transform, .. } => {
                differences.unless(output_transform, "`model.output_transform` is false")
            }
            FamilyConfig::Classifier { pooling, label_layer, .. } => {
                let same = label_layer == self.layer;
                differences.unless(same, "`model.label_layer` is `none`");
                let first = pooling == Pooling::First;
                differences.unless(first, "`model.pooling` is not `first`");
            }
            FamilyConfig::Tagger { word_pieces, .. } => {
                differences.unless(word_pieces, "`model.word_pieces` is false");
            }
            _ => {}
        }
        differences.refuse(self.kind)
    }

    /// True if its first position follows the row of the padding.
    fn has_offset(&self) -> bool {
        [ROBERTA.model_type, MPNET.model_type].contains(&self.model_type)
    }

    /// The keys for the sizes of `model`, which has `rows` positions.
    fn sizes(&self, model: &ModelConfig, n_layers: usize, rows: usize) -> Value {
        if self.model_type == DISTILBERT.model_type {
            json!({
                "dim": model.d_model,
                "hidden_dim": model.d_ff,
                "n_layers": n_layers,
                "n_heads": model.n_heads,
                "max_position_embeddings": rows,
                "activation": activation(model.activation),
                "dropout": model.dropout,
                "attention_dropout": model.attention_dropout,
                "sinusoidal_pos_embds": false,
            })
        } else {
            json!({
                "hidden_size": model.d_model,
                "intermediate_size": model.d_ff,
                "num_hidden_layers": n_layers,
                "num_attention_heads": model.n_heads,
                "max_position_embeddings": rows,
                "hidden_act": activation(model.activation),
                "hidden_dropout_prob": model.dropout,
                "attention_probs_dropout_prob": model.attention_dropout,
                "layer_norm_eps": model.norm_epsilon,
            })
        }
    }
}

/// Returns the kind that is most similar to `model`; an error if the model differs from it.
pub(super) fn check(model: &ModelConfig, tokenizers: &Tokenizers) -> Result<&'static str, ExportProblem> {
    let form = Form::of(model);
    form.check(model, tokenizers.src().special().pad)?;
    Ok(form.kind)
}

/// Converts an encoder.
pub(super) fn hf_model(loaded: &LoadedModel, encoder: &EncoderConfig) -> Result<HfModel> {
    let model = &loaded.config.model;
    let form = Form::of(model);
    check(model, &loaded.tokenizers).map_err(ExportProblem::into_error)?;
    let (vocab, d) = (vocab(&loaded.architecture), model.d_model);
    let rows = model.position_offset + model.max_len;
    let mut config = form.sizes(model, encoder.n_encoder_layers, rows);
    config["model_type"] = form.model_type.into();
    config["vocab_size"] = vocab.into();
    let tied = |output: &OutputConfig| output.tie_embeddings.ties_output();
    config["tie_word_embeddings"] = model.family.output().is_none_or(tied).into();
    let mut added = Vec::new();
    if form.types > 0 {
        config["type_vocab_size"] = form.types.into();
        let types = vec![0.0; form.types * d];
        added.push(("embeddings.token_type_embeddings.weight", vec![form.types, d], types));
    }
    if let Some(table) = positions(&loaded.architecture) {
        added.push(("embeddings.position_embeddings.weight", vec![rows, d], table));
    }
    let [masked, texts, words] = form.heads;
    let (suffix, head, labels) = match model.family.task() {
        Task::Classify => ("ForSequenceClassification", texts, Some(form.classifier)),
        Task::Tag => ("ForTokenClassification", words, Some("classifier")),
        Task::Fill => ("ForMaskedLM", masked, None),
        _ => ("Model", masked, None),
    };
    if model.family.output().is_some_and(|output| !output.output_bias) {
        added.push((form.bias, vec![vocab], vec![0.0; vocab]));
    }
    if labels.is_some() {
        name_labels(&mut config, loaded);
    }
    config["architectures"] = json!([format!("{}{suffix}", form.class)]);
    Ok(HfModel {
        kind: form.kind,
        config,
        names: [&[head], form.names].concat(),
        prefix: if suffix == "Model" { "" } else { form.prefix },
        bare: form.bare,
        added,
        labels,
        ..HfModel::default()
    })
}

/// The labels of a model, as tokens, without the special tokens.
pub(super) fn labels(loaded: &LoadedModel) -> impl Iterator<Item = TokenId> {
    let tokenizer = loaded.tokenizers.tgt();
    let special = tokenizer.special();
    let ids = 0..tokenizer.vocab_size() as TokenId;
    ids.filter(move |&id| !special.contains(id))
}

/// Writes the names of the labels to `config`.
fn name_labels(config: &mut Value, loaded: &LoadedModel) {
    let tokenizer = loaded.tokenizers.tgt();
    let (mut names, mut numbers) = (Map::new(), Map::new());
    for (number, id) in labels(loaded).enumerate() {
        let name = tokenizer.token(id).unwrap_or_default();
        names.insert(number.to_string(), name.clone().into());
        numbers.insert(name, number.into());
    }
    config["id2label"] = names.into();
    config["label2id"] = numbers.into();
}
