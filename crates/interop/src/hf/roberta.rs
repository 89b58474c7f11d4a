//! RoBERTa (Liu et al. 2019), XLM-R (Conneau et al. 2020) and CamemBERT (Martin et al. 2020): BERT's encoder
//! with other heads. The first position follows the row of the padding.

use std::path::Path;

use attentive_architecture::{ActivationKind, LabelLayer};
use attentive_base::error::Result;
use attentive_config::ModelConfig;

use super::Described;
use super::bert::{self, BertVariant};
use super::labels::{EncoderHead, names_of_labels};
use crate::keys::UnreadKeys;
use crate::recipe::SourcePattern::Same;
use crate::recipe::{NameMapping, Unused, names};
use crate::tensors::Tensors;

/// The head of the masked language model.
pub(super) const HEAD: NameMapping = names! {
    "head.transform.linear" => Same("lm_head.dense"),
    "head.transform.norm" => Same("lm_head.layer_norm"),
    "head.weight" => Same("lm_head.decoder.weight"),
    "head.bias" => Same("lm_head.bias"),
};
pub(super) const TEXTS: NameMapping = names_of_labels!("classifier.out_proj", "classifier.dense");
pub(super) const WORDS: NameMapping = names_of_labels!("classifier");

pub(super) fn describe(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors) -> Result<Described> {
    keys.ignore(&["type_vocab_size"]);
    keys.only("position_embedding_type", "absolute")?;
    let described = relative(keys, dir, tensors)?;
    Ok(Described { prefix: "roberta.", ..described })
}

/// Describes the features that RoBERTa and MPNet have in common, with the names of BERT.
pub(super) fn relative(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors) -> Result<Described> {
    let tied = keys.or("tie_word_embeddings", true)?;
    let padding: usize = keys.peek("pad_token_id")?.unwrap_or(1);
    let rows: usize = keys.required("max_position_embeddings")?;
    let offset = padding.saturating_add(1);
    let Some(max_len) = rows.checked_sub(offset).filter(|&len| len > 0) else {
        return Err(keys.refuse("max_position_embeddings", &rows.into()));
    };
    let head = EncoderHead::of(keys, dir, tensors, "lm_head.bias")?;
    let shape = BertVariant {
        n_encoder_layers: keys.required("num_hidden_layers")?,
        max_len,
        tied,
        label_layer: LabelLayer::Tanh,
    };
    let model =
        ModelConfig { position_offset: offset, ..bert::sizes(keys, bert::encoder(dir, &head, shape)?)? };
    let is_masked = head == EncoderHead::Masked;
    if is_masked && model.activation != ActivationKind::Gelu {
        let problem = "`hidden_act` is not `gelu`, which the head of the masked language model always has";
        return Err(keys.problem(problem));
    }
    let mut unused = vec![
        Unused::Ignored("embeddings.position_ids"),
        Unused::Ignored("embeddings.token_type_ids"),
        Unused::Ignored("pooler.dense.weight"),
        Unused::Ignored("pooler.dense.bias"),
    ];
    if is_masked {
        unused.push(Unused::CopyOf("lm_head.decoder.bias", "lm_head.bias"))
    } else {
        unused.push(Unused::Under("lm_head."))
    }
    if is_masked && tied {
        unused.push(Unused::CopyOf("lm_head.decoder.weight", "embeddings.word_embeddings.weight"));
    }
    let mut described =
        Described { unused, ..Described::new(model, keys.required("vocab_size")?, bert::NAMES) };
    if is_masked {
        described.names.insert(0, HEAD);
    }
    Ok(described.with(head, TEXTS, WORDS))
}
