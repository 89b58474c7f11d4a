//! The attention of a model.

use attentive::nn::{AttentionMap, AttentionSite};
use attentive::page;
use attentive::pipeline::InspectionTarget;
use pyo3::prelude::*;

use crate::model::PyModel;
use crate::tensor::Tensor;
use crate::translation::problems;

/// The weights of an attention: its name, its site, its layer and a tensor `[heads, rows, columns]`.
type Map = (String, &'static str, usize, Tensor);

/// The tokens that the encoder and the decoder read, the maps, a page that shows them, and the problems with
/// the text.
type Inspected = (Vec<String>, Vec<String>, Vec<Map>, String, Vec<String>);

/// The attention for `text` and its `translation`, or the model's own.
#[pyfunction]
pub(crate) fn attention(
    py: Python<'_>,
    model: &PyModel,
    text: &str,
    translation: Option<&str>,
) -> PyResult<Inspected> {
    model.run_whole(py, |pipeline| {
        let shown = pipeline.show(text, translation.map_or(InspectionTarget::Own, InspectionTarget::Text))?;
        page::check_size(shown.weights(pipeline))?;
        let trace = shown.clone().trace(pipeline)?;
        let inspection = shown.inspect(pipeline)?;
        let page = page::attention(&model.name(), &inspection, Some(&trace));
        Ok((
            inspection.src,
            inspection.tgt,
            inspection.maps.into_iter().map(map).collect(),
            page,
            problems(inspection.warnings),
        ))
    })
}

fn map(map: AttentionMap) -> Map {
    let site = match map.site {
        AttentionSite::EncoderSelf => "encoder_self",
        AttentionSite::DecoderSelf => "decoder_self",
        AttentionSite::Cross => "cross",
    };
    let [_, heads, rows, columns] = map.weights.shape;
    let weights = Tensor::new(vec![heads, rows, columns], map.weights.values);
    (map.name, site, map.layer, weights)
}
