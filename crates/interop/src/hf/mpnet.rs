//! MPNet (Song et al. 2020): RoBERTa with additional relative positions, but without token types.

use std::path::Path;

use attentive_architecture::Positions;
use attentive_base::error::Result;

use super::{Described, roberta};
use crate::keys::UnreadKeys;
use crate::recipe::SourcePattern::{Rows, Same};
use crate::recipe::{NameMapping, names};
use crate::tensors::Tensors;

/// The number of buckets of distances, and the distance from which on all share one. No file names other
/// numbers.
const BUCKETS: usize = 32;
const DISTANCE: usize = 128;

/// The names that differ from BERT's.
pub(super) const NAMES: NameMapping = names! {
    "src.positions.learned" => Rows("embeddings.position_embeddings.weight"),
    "encoder.distance_bias.table" => Same("encoder.relative_attention_bias.weight"),
    "encoder.layers.{}.self_attention.query" => Same("encoder.layer.{}.attention.attn.q"),
    "encoder.layers.{}.self_attention.key" => Same("encoder.layer.{}.attention.attn.k"),
    "encoder.layers.{}.self_attention.value" => Same("encoder.layer.{}.attention.attn.v"),
    "encoder.layers.{}.self_attention.output" => Same("encoder.layer.{}.attention.attn.o"),
    "encoder.layers.{}.self_attention_residual.norm" => Same("encoder.layer.{}.attention.LayerNorm"),
};

pub(super) fn describe(keys: &mut UnreadKeys, dir: &Path, tensors: &Tensors) -> Result<Described> {
    keys.only("relative_attention_num_buckets", BUCKETS)?;
    let mut described = roberta::relative(keys, dir, tensors)?;
    described.names.insert(0, NAMES);
    described.prefix = "mpnet.";
    let model = &mut described.model;
    model.positions = Positions::LearnedRelative;
    model.relative_buckets = BUCKETS;
    model.relative_distance = DISTANCE;
    Ok(described)
}
