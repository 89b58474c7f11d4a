//! Sizes and choices of `[model]` that depend on each other.

use std::num::NonZeroUsize;

use attentive_base::count::count;
use attentive_base::error::Result;

use super::{refuse, refuse_with, require};
use crate::{
    AttentionKind, CellKind, DecoderConfig, EncoderConfig, InputFeeding, ModelConfig, Positions,
    RotaryScaling, StackKind, Translator,
};

pub(super) fn check(model: &ModelConfig) -> Result<()> {
    let family = &model.family;
    if let Some(decoder) = family.decoder() {
        input_feeding(model, decoder)?;
    }
    if let Some(translator) = family.translator() {
        attention(model, translator)?;
        alignment(model, translator)?;
    }
    if model.has(StackKind::Recurrent) {
        recurrent(model)?;
    }
    if model.attends() {
        heads(model)?;
    }
    if model.has(StackKind::Transformer) {
        positions(model)?;
    }
    vectors(model)?;
    output(model)
}

/// Refuses to feed the context of a decoder that does not attend.
fn input_feeding(model: &ModelConfig, decoder: &DecoderConfig) -> Result<()> {
    let translator = model.family.translator();
    let attends = translator.is_some_and(|keys| keys.attention != AttentionKind::None);
    require(
        attends || decoder.input_feeding != InputFeeding::Context || decoder.stack == StackKind::Transformer,
        "model.recurrent.input_feeding",
        "`none` or `output`, since without attention there is no context",
        "`context`",
    )
}

/// Refuses attention that does not fit the stacks.
fn attention(model: &ModelConfig, translator: &Translator) -> Result<()> {
    let attention = translator.attention;
    let encoder = translator.encoder.stack;
    if translator.decoder.stack == StackKind::Transformer {
        return Ok(());
    }
    let key = "model.recurrent.attention";
    if encoder == StackKind::Transformer && attention == AttentionKind::None {
        let expected =
            "`additive`, `concat`, `dot` or `general`, since a Transformer encoder has no final state";
        return refuse(key, expected, "`none`");
    }
    if model.recurrent.cell == CellKind::Ssru && attention == AttentionKind::Additive {
        let expected = "`concat`, `dot`, `general` or `none`, since the gates of an SSRU read no context";
        return refuse(key, expected, "`additive`");
    }
    let d_hidden = model.recurrent.d_hidden;
    let d_memory = match encoder {
        StackKind::Transformer => model.d_model,
        StackKind::Recurrent => d_hidden,
    };
    if attention == AttentionKind::Dot && d_memory != d_hidden {
        let hint = "`model.recurrent.attention = \"general\"` accepts any width";
        return refuse_with(
            "model.recurrent.d_hidden",
            format!("the width of the encoder's output, {d_memory}, for `dot` attention"),
            d_hidden,
            Some(hint.into()),
        );
    }
    Ok(())
}

/// Refuses a layer or a head for alignments that does not exist.
fn alignment(model: &ModelConfig, translator: &Translator) -> Result<()> {
    for (key, number, what, most) in [
        ("model.alignment_layer", translator.alignment_layer, "layer", translator.decoder.n_decoder_layers),
        ("model.alignment_head", translator.alignment_head, "head", model.decoder_heads()),
    ] {
        let number = number.map_or(0, NonZeroUsize::get);
        require(
            number <= most,
            key,
            format!("at most {most}, since the decoder has {}", count(most, what)),
            number,
        )?;
    }
    Ok(())
}

fn recurrent(model: &ModelConfig) -> Result<()> {
    let d_hidden = model.recurrent.d_hidden;
    let halves = |encoder: &EncoderConfig| encoder.stack == StackKind::Recurrent && encoder.bidirectional;
    require(
        d_hidden.is_multiple_of(2) || !model.family.encoder().is_some_and(halves),
        "model.recurrent.d_hidden",
        "an even number, since each direction gives half",
        d_hidden,
    )
}

/// The heads of each stack, under their keys.
fn heads_of_stacks(model: &ModelConfig) -> [(&'static str, usize); 2] {
    [("model.n_heads", model.n_heads), ("model.n_decoder_heads", model.decoder_heads())]
}

fn heads(model: &ModelConfig) -> Result<()> {
    let d_model = model.d_model;
    for (key, n_heads) in heads_of_stacks(model) {
        if model.d_head.is_none() && !d_model.is_multiple_of(n_heads) {
            /// More heads than any model has.
            const MAX_HEADS: usize = 4096;
            let nearest = (1..=d_model.min(MAX_HEADS))
                .filter(|n| d_model.is_multiple_of(*n))
                .min_by_key(|n| n.abs_diff(n_heads));
            let expected = format!("a divisor of `model.d_model` = {d_model}");
            let hint = nearest.map(|n| format!("the nearest is {n}"));
            return refuse_with(key, expected, n_heads, hint);
        }
        let n_kv_heads = model.n_kv_heads.map_or(n_heads, NonZeroUsize::get);
        require(
            n_heads.is_multiple_of(n_kv_heads),
            "model.n_kv_heads",
            format!("a divisor of `{key}` = {n_heads}, or 0"),
            n_kv_heads,
        )?;
    }
    Ok(())
}

fn positions(model: &ModelConfig) -> Result<()> {
    let d_model = model.d_model;
    match model.positions {
        Positions::SinusoidalInterleaved | Positions::SinusoidalConcatenated
            if !d_model.is_multiple_of(2) =>
        {
            refuse("model.d_model", "an even number, for sinusoidal positions", d_model)
        }
        // The exponent i/(d/2 − 1) divides by zero at a width of 2.
        Positions::SinusoidalTensor2tensor if !d_model.is_multiple_of(2) || d_model < 4 => refuse(
            "model.d_model",
            "an even number, 4 or more, for Tensor2Tensor's sinusoidal positions",
            d_model,
        ),
        Positions::Rotary if model.self_attends() => rotary(model),
        Positions::Relative | Positions::LearnedRelative if model.self_attends() => {
            let (buckets, distance) = (model.relative_buckets, model.relative_distance);
            let expected = format!("a whole number, {buckets} or more");
            require(distance >= buckets, "model.relative_distance", expected, distance)
        }
        _ => Ok(()),
    }
}

fn rotary(model: &ModelConfig) -> Result<()> {
    rotary_scaling(model.rotary_scaling)?;
    let d_model = model.d_model;
    if let Some(d_head) = model.d_head.map(NonZeroUsize::get) {
        let expected = "an even number, for rotary positions";
        return require(d_head.is_multiple_of(2), "model.d_head", expected, d_head);
    }
    let expected = format!("heads of even size, for rotary positions of `model.d_model` = {d_model}");
    heads_of_stacks(model).into_iter().try_for_each(|(key, n)| {
        let found = format!("{} of size {}", count(n, "head"), d_model / n);
        require((d_model / n).is_multiple_of(2), key, &expected, found)
    })
}

fn rotary_scaling(scaling: RotaryScaling) -> Result<()> {
    let (low, high) = (scaling.low_frequency_factor, scaling.high_frequency_factor);
    require(
        high.is_finite() && high > low,
        "model.rotary_scaling.high_frequency_factor",
        format!("a number above `low_frequency_factor` = {low}"),
        high,
    )
}

/// Checks the width of vectors read in place of tokens.
fn vectors(model: &ModelConfig) -> Result<()> {
    let Some(width) = model.family.d_input() else {
        return Ok(());
    };
    let key = "model.recurrent.d_input";
    let expected =
        format!("`model.d_model` = {}, since a Transformer reads vectors of its own width", model.d_model);
    let fits = width == model.d_model || !model.has(StackKind::Transformer);
    require(fits, key, expected, width)
}

/// Checks the prediction of tokens. The input of a tied projection is as wide as the embeddings.
fn output(model: &ModelConfig) -> Result<()> {
    let Some(output) = model.family.output() else {
        return Ok(());
    };
    // The widths depend on no vocabulary.
    let reads = model.architecture(1, 1).head.d_in();
    require(
        reads == model.d_model || !output.tie_embeddings.ties_output(),
        "model.tie_embeddings",
        format!(
            "`none` or `inputs`, since the prediction reads {reads} numbers and the embeddings have {}",
            model.d_model
        ),
        "another",
    )
}
