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
    let values: usize = trace.operations.iter().map(|one| one.result.values.len()).sum();
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
        data = embedded(&data(title, trace, trace.operations.iter(), |values| Some(rounded(values)))),
    ))
}

/// Returns true if the [page of an explanation](super::attention) shows scores, masks, gates and states of
/// `trace`: if there are some, and not too many.
pub fn has_inner_operations(trace: &Trace) -> bool {
    let values: usize = inner(trace).map(|one| one.result.values.len()).sum();
    (1..=MAX_VALUES).contains(&values)
}

/// The scores before the softmax, masks, gates and states of a trace.
fn inner(trace: &Trace) -> impl Iterator<Item = &TracedOperation> {
    trace.operations.iter().filter(|one| {
        let part = one.name.rsplit('.').next().unwrap_or_default();
        matches!(part, "scores" | "mask" | "bias" | "candidate" | "c" | "h") || part.ends_with("_gate")
    })
}

/// The data of the operations that an explanation shows; `None` if there are none, or too many.
pub(super) fn inner_data<'a>(title: &'a str, trace: &'a Trace) -> Option<impl Serialize + use<'a>> {
    has_inner_operations(trace).then(|| data(title, trace, inner(trace), |values| Some(rounded(values))))
}

/// `trace` as JSON: an object with `title`; `src` and `tgt`, the tokens that the encoder and the decoder
/// read, and `next`, the token that follows each of `tgt`; `operations`, each with its `name`, the `position`
/// of the target for decoders that compute one position after the other, its `formula`, the `shape` of its
/// result with the `mean`, the `norm` and the `largest` absolute value, and the tokens of its rows and
/// columns, if they are positions; with `has_values`, also its `values`, of which the last dimension varies
/// fastest; `gradients`, if wanted, with the `loss`, its `position` if it is of one prediction, the lengths
/// of the gradients of the layers' `outputs` at each position, and those of the `parameters`; and `warnings`.
pub fn trace_data<'a>(title: &'a str, trace: &'a Trace, has_values: bool) -> impl Serialize + use<'a> {
    data(title, trace, trace.operations.iter(), move |values| has_values.then_some(values))
}

/// The data that [`trace_data`] describes. There may be millions of values, so they are serialized without a
/// copy.
#[derive(Serialize)]
struct TraceData<'a, V> {
    title: &'a str,
    src: &'a [String],
    tgt: &'a [String],
    next: &'a [String],
    operations: Vec<OperationData<'a, V>>,
    gradients: Option<Value>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct OperationData<'a, V> {
    name: &'a str,
    position: Option<usize>,
    formula: &'a str,
    shape: &'a [usize],
    mean: f64,
    norm: f64,
    largest: f32,
    row_tokens: Option<&'a [String]>,
    column_tokens: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<V>,
}

/// The data of `operations` of `trace`; `values` makes what is written of their values.
fn data<'a, V: Serialize>(
    title: &'a str,
    trace: &'a Trace,
    operations: impl Iterator<Item = &'a TracedOperation>,
    values: impl Fn(&'a [f32]) -> Option<V>,
) -> TraceData<'a, V> {
    let operation = |one: &'a TracedOperation| OperationData {
        name: &one.name,
        position: one.position,
        formula: &one.formula,
        shape: &one.result.shape,
        mean: one.mean(),
        norm: one.norm(),
        largest: one.largest(),
        row_tokens: trace.row_tokens(one),
        column_tokens: trace.column_tokens(one),
        values: values(&one.result.values),
    };
    TraceData {
        title,
        src: &trace.src,
        tgt: &trace.tgt,
        next: &trace.next,
        operations: operations.map(operation).collect(),
        gradients: trace.gradients.as_ref().map(|gradients| norms(trace, gradients)),
        warnings: trace.warnings.iter().map(Warning::to_string).collect(),
    }
}

fn norms(trace: &Trace, gradients: &GradientNorms) -> Value {
    let output = |PositionNorms { name, norms }: &PositionNorms| {
        let tokens = if trace.is_source(name) { &trace.src } else { &trace.tgt };
        let side = if trace.is_source(name) { "src" } else { "tgt" };
        json!({"name": name, "side": side, "tokens": tokens[..norms.len().min(tokens.len())], "norms": norms})
    };
    let parameter = |(name, norm): &(String, f64)| json!({"name": name, "norm": norm});
    json!({
        "loss": gradients.loss,
        "position": trace.backward_from,
        "outputs": gradients.outputs.iter().map(output).collect::<Vec<_>>(),
        "parameters": gradients.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// The values with [`DIGITS`] significant digits.
fn rounded(values: &[f32]) -> Vec<f64> {
    let one = |&x: &f32| {
        let x = f64::from(x);
        if x == 0.0 || !x.is_finite() {
            return x;
        }
        let unit = 10_f64.powi(DIGITS - 1 - x.abs().log10().floor() as i32);
        (x * unit).round() / unit
    };
    values.iter().map(one).collect()
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
