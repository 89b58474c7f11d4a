//! The attention and predictions of a model, as JSON for the scripts of the pages.

use attentive_base::error::{Error, Result};
use attentive_model::nn::{AttentionMap, AttentionSite};
use attentive_pipeline::{
    Alternative, GeneratedToken, Inspection, LabelScore, MaskGuesses, Predicted, Warning,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Weights are stored in thousandths: integers, most of them 0, keep the page small.
const UNITS: u32 = 1000;

/// The largest number of weights; more make a page too slow for browsers.
const MAX_WEIGHTS: usize = 8_000_000;

/// Refuses an inspection whose number of attention weights makes the page too large.
///
/// # Errors
/// [`Error::Usage`] with the number of weights.
pub fn check_size(weights: usize) -> Result<()> {
    if weights <= MAX_WEIGHTS {
        return Ok(());
    }
    Err(Error::usage(
        format!("{weights} attention weights are more than a page can show"),
        format!("shorten the sentence: a page shows at most {MAX_WEIGHTS}"),
    ))
}

/// Returns the approximate size in bytes of an [`explanation`] with this number of attention weights.
pub fn bytes_of(weights: usize) -> usize {
    /// A digit or two and a comma: the weights of a row sum to 1, so most of them are small.
    const EACH: usize = 3;
    weights.saturating_mul(EACH)
}

/// `inspection` as JSON, which is embedded in the page of [`attention`](super::attention). `title` names the
/// model.
///
/// An object with `title`; `src` and `tgt`, the tokens that the encoder and the decoder read; `written`, for
/// each position of `tgt` the `token` that follows, its `probability` and its `alternatives`; `tags` and
/// `labels`, predictions with their `probability`; `masks`, for each masked token its `position` in `src` and
/// the likeliest tokens, its `guesses`; `maps`, each with `name`, `site` (`encoder_self`,
/// `decoder_self` or `cross`), `layer`, `rows`, `columns` and `heads`, for each head its weights row by row,
/// where `units` stands for 1; and `warnings`.
pub fn explanation<'a>(title: &'a str, inspection: &'a Inspection) -> impl Serialize + use<'a> {
    let thousandths = |weight: &f32| (weight * UNITS as f32).round() as u16;
    let rounded = |head: &'a [f32]| head.iter().map(thousandths).collect();
    with_weights::<Vec<u16>>(title, inspection, UNITS, rounded)
}

/// [`explanation`] with the weights as they are: `units` is 1.
pub fn exact_explanation<'a>(title: &'a str, inspection: &'a Inspection) -> impl Serialize + use<'a> {
    with_weights::<&[f32]>(title, inspection, 1, |head| head)
}

/// An explanation in which `head` makes what is written of the weights of a head.
fn with_weights<'a, W: Serialize>(
    title: &'a str,
    inspection: &'a Inspection,
    units: u32,
    head: impl Fn(&'a [f32]) -> W,
) -> Explanation<'a, W> {
    let Inspection { src, tgt, written, predicted, maps, warnings } = inspection;
    let (mut tags, mut labels, mut masks) = (Vec::new(), Vec::new(), Vec::new());
    match predicted {
        Some(Predicted::Tags(found)) => tags = scores(found),
        Some(Predicted::Labels(found)) => labels = scores(found),
        Some(Predicted::Masks(found)) => masks = found.iter().map(at_mask).collect(),
        None => {}
    }
    Explanation {
        title,
        units,
        src,
        tgt,
        written: written.iter().map(token).collect(),
        tags,
        labels,
        masks,
        maps: maps.iter().map(|one| map(one, &head)).collect(),
        warnings: warnings.iter().map(Warning::to_string).collect(),
    }
}

/// The data that [`explanation`] describes. There may be millions of weights, so they are serialized without
/// a copy.
#[derive(Serialize)]
struct Explanation<'a, W> {
    title: &'a str,
    units: u32,
    src: &'a [String],
    tgt: &'a [String],
    written: Vec<Value>,
    tags: Vec<Value>,
    labels: Vec<Value>,
    masks: Vec<Value>,
    maps: Vec<Map<'a, W>>,
    warnings: Vec<String>,
}

/// The weights of an attention.
#[derive(Serialize)]
struct Map<'a, W> {
    name: &'a str,
    site: &'static str,
    layer: Value,
    rows: usize,
    columns: usize,
    heads: Vec<W>,
}

fn token(written: &GeneratedToken) -> Value {
    let GeneratedToken { token, probability, alternatives } = written;
    json!({"token": token, "probability": probability, "alternatives": tokens(alternatives)})
}

fn at_mask(MaskGuesses { position, guesses }: &MaskGuesses) -> Value {
    json!({"position": position, "guesses": tokens(guesses)})
}

fn tokens(alternatives: &[Alternative]) -> Vec<Value> {
    let one = |Alternative { token, probability }: &Alternative| json!({"token": token, "probability": probability});
    alternatives.iter().map(one).collect()
}

fn scores(labels: &[LabelScore]) -> Vec<Value> {
    let score =
        |LabelScore { label, probability }: &LabelScore| json!({"label": label, "probability": probability});
    labels.iter().map(score).collect()
}

fn map<'a, W>(map: &'a AttentionMap, head: impl Fn(&'a [f32]) -> W) -> Map<'a, W> {
    let AttentionMap { name, site, layer, weights } = map;
    let [_, n_heads, rows, columns] = weights.shape;
    let heads = weights.values.chunks(rows * columns).take(n_heads).map(head);
    let site = match site {
        AttentionSite::EncoderSelf => "encoder_self",
        AttentionSite::DecoderSelf => "decoder_self",
        AttentionSite::Cross => "cross",
    };
    Map { name, site, layer: json!(layer), rows, columns, heads: heads.collect() }
}
