//! The page of a trace, and its data.

use attentive_base::error::{Error, Result};
use attentive_model::trace::{GradientNorms, PositionNorms, TracedOperation};
use attentive_pipeline::{Trace, Warning};
use serde::Serialize;
use serde_json::{Value, json};

use super::attention::embedded;

/// The largest number of values; more make a page too slow for browsers.
const MAX_VALUES: usize = 4_000_000;

/// The digits that a page shows of a value.
const DIGITS: i32 = 4;

/// Returns an HTML page with every operation of `trace`, folded by the parts of the model, with its formula
/// and its values as a heat map. `title` names the model.
///
/// # Errors
/// [`Error::Usage`] if there are more values than a page can show.
pub fn trace(title: &str, trace: &Trace) -> Result<String> {
    let values = n_values(trace);
    if values > MAX_VALUES {
        return Err(Error::usage(
            format!("{values} values are more than a page can show"),
            format!("shorten the sentence or choose operations: a page shows at most {MAX_VALUES} values"),
        ));
    }
    Ok(format!(
        include_str!("page.html"),
        style =
            concat!(include_str!("../shared/theme.css"), include_str!("tree.css"), include_str!("page.css")),
        script = concat!(
            include_str!("../shared/dom.js"),
            include_str!("../shared/colors.js"),
            include_str!("values.js"),
            include_str!("tree.js"),
            include_str!("start.js")
        ),
        data = embedded(&rounded_values(title, trace)),
    ))
}

/// The data of a page.
pub(super) fn rounded_values(title: &str, trace: &Trace) -> Value {
    with_values(title, trace, |values| json!(values.iter().map(|&x| rounded(x)).collect::<Vec<_>>()))
}

fn n_values(trace: &Trace) -> usize {
    trace.operations.iter().map(|one| one.result.values.len()).sum()
}

/// What an explanation shows of a trace: scores before the softmax, masks, gates and states; nothing if they
/// are too many.
pub(super) fn inner(trace: Option<&Trace>) -> Option<Trace> {
    let mut inner = trace.cloned()?;
    inner.operations.retain(|one| {
        let part = one.name.rsplit('.').next().unwrap_or_default();
        matches!(part, "scores" | "mask" | "bias" | "candidate" | "c" | "h") || part.ends_with("_gate")
    });
    (!inner.operations.is_empty() && n_values(&inner) <= MAX_VALUES).then_some(inner)
}

/// `trace` as JSON: an object with `title`; `src` and `tgt`, the tokens that the encoder and the decoder
/// read; `operations`, each with its `name`, the `position` of the target for decoders that compute one
/// position after the other, its `formula`, the `shape` of its result with the `mean`, the `norm` and the
/// `largest` absolute value, and the tokens of its rows and columns, if they are positions; with
/// `has_values`, also its `values`, of which the last dimension varies fastest; `gradients`, if wanted, with
/// the `loss`, the lengths of the gradients of the layers' `outputs` at each position, and those of the
/// `parameters`; and `warnings`.
pub fn trace_data<'a>(title: &'a str, trace: &'a Trace, has_values: bool) -> impl Serialize + use<'a> {
    with_values(title, trace, |values| if has_values { json!(values) } else { Value::Null })
}

fn with_values(title: &str, trace: &Trace, values: impl Fn(&[f32]) -> Value) -> Value {
    let Trace { src, tgt, next, operations, gradients, warnings, .. } = trace;
    let operation = |one: &TracedOperation| {
        let mut data = json!({
            "name": one.name,
            "position": one.position,
            "formula": one.formula,
            "shape": one.result.shape,
            "mean": one.mean(),
            "norm": one.norm(),
            "largest": one.largest(),
            "row_tokens": trace.row_tokens(one),
            "column_tokens": trace.column_tokens(one),
        });
        match values(&one.result.values) {
            Value::Null => {}
            values => data["values"] = values,
        }
        data
    };
    json!({
        "title": title,
        "src": src,
        "tgt": tgt,
        "next": next,
        "operations": operations.iter().map(operation).collect::<Vec<_>>(),
        "gradients": gradients.as_ref().map(|gradients| norms(trace, gradients)),
        "warnings": warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    })
}

fn norms(trace: &Trace, gradients: &GradientNorms) -> Value {
    let output = |PositionNorms { name, norms }: &PositionNorms| {
        let tokens = if trace.is_source(name) { &trace.src } else { &trace.tgt };
        json!({"name": name, "tokens": tokens[..norms.len().min(tokens.len())], "norms": norms})
    };
    let parameter = |(name, norm): &(String, f64)| json!({"name": name, "norm": norm});
    json!({
        "loss": gradients.loss,
        "position": trace.backward_from,
        "outputs": gradients.outputs.iter().map(output).collect::<Vec<_>>(),
        "parameters": gradients.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// A value with [`DIGITS`] significant digits.
fn rounded(x: f32) -> Value {
    let x = f64::from(x);
    if x == 0.0 || !x.is_finite() {
        return json!(x);
    }
    let unit = 10_f64.powi(DIGITS - 1 - x.abs().log10().floor() as i32);
    json!((x * unit).round() / unit)
}

#[cfg(test)]
mod tests {
    use attentive_model::trace::TracedValues;

    use super::*;

    const EVIL: &str = "</script><script>alert(1)</script>";

    fn example() -> Trace {
        let operation = |name: &str, shape: &[usize], values: &[f32]| TracedOperation {
            name: name.into(),
            position: None,
            formula: "a < b".into(),
            result: TracedValues { shape: shape.into(), values: values.into() },
        };
        Trace {
            src: vec![EVIL.into(), "</s>".into()],
            tgt: vec!["<s>".into()],
            next: vec!["</s>".into()],
            classes: Vec::new(),
            backward_from: None,
            operations: vec![
                operation("src.embedding", &[2, 1], &[1.0, -0.123_456]),
                operation("decoder.layers.0.cross_attention.weights", &[1, 1, 2], &[0.25, 0.75]),
            ],
            gradients: Some(GradientNorms {
                loss: 2.0,
                outputs: vec![PositionNorms { name: "src".into(), norms: vec![0.5, 0.25] }],
                parameters: vec![("head.weight".into(), 1.0)],
            }),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn the_data_say_what_rows_and_columns_are() {
        let data = serde_json::to_value(trace_data("m", &example(), true)).expect("JSON");
        let [embedding, weights] = [0, 1].map(|number| &data["operations"][number]);
        assert_eq!(embedding["row_tokens"], json!([EVIL, "</s>"]));
        assert_eq!(embedding["column_tokens"], Value::Null);
        assert_eq!(weights["row_tokens"], json!(["<s>"]));
        assert_eq!(weights["column_tokens"], json!([EVIL, "</s>"]));
        assert_eq!(weights["values"], json!([0.25, 0.75]));
        assert_eq!(weights["largest"], 0.75);
        assert_eq!(data["gradients"]["outputs"][0]["norms"], json!([0.5, 0.25]));
        let brief = serde_json::to_value(trace_data("m", &example(), false)).expect("JSON");
        assert_eq!(brief["operations"][0].get("values"), None);
    }

    #[test]
    fn the_page_is_self_contained_and_no_text_escapes() {
        let page = trace("m", &example()).expect("a small trace");
        assert_eq!(page.matches("</script>").count(), 2);
        for word in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("-0.1235"), "four digits");
    }

    #[test]
    fn too_many_values_are_refused() {
        let mut example = example();
        example.operations[0].result.values = vec![0.0; MAX_VALUES];
        let error = trace("m", &example).expect_err("too large").to_string();
        assert!(error.contains("more than a page can show"), "{error}");
    }
}
