//! The page that visualizes attention.

use attentive_pipeline::{Inspection, Trace};
use serde::Serialize;

use super::trace::inner_data;
use super::{explanation, shared};

/// Returns an HTML page with every attention of `inspection` as a heat map, and a view of the sentence in
/// which each token shows what it attends to; of a `trace` of the same sentence, it also has the scores
/// before the softmax, the masks, and the gates and states of recurrent cells. `title` names the model.
pub fn attention(title: &str, inspection: &Inspection, trace: Option<&Trace>) -> String {
    let operations = trace.and_then(|trace| inner_data(title, trace));
    format!(
        include_str!("page.html"),
        style = concat!(shared::style!(), include_str!("../trace/tree.css"), include_str!("page.css")),
        script = concat!(
            shared::script!(),
            include_str!("../trace/values.js"),
            include_str!("../trace/tree.js"),
            include_str!("start.js")
        ),
        data = embedded(&explanation(title, inspection)),
        trace = embedded(&operations),
    )
}

/// JSON for a script element: without `<`, no text can end the element or open a comment.
pub(super) fn embedded(data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    data.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use attentive_model::nn::{AttentionMap, AttentionSite};
    use attentive_pipeline::{Alternative, GeneratedToken, LabelScore, Predicted, Warning};
    use attentive_tape::AttentionWeights;
    use serde_json::{Value, json};

    use super::*;

    const EVIL: &str = "</script><script>alert(1)</script><!-- & \" ' {data}";

    fn inspection() -> Inspection {
        Inspection {
            src: vec![EVIL.into(), "</s>".into()],
            tgt: vec!["<s>".into(), EVIL.into()],
            written: vec![GeneratedToken {
                token: EVIL.into(),
                probability: 0.5,
                alternatives: vec![Alternative { token: EVIL.into(), probability: 0.25 }],
            }],
            predicted: Some(Predicted::Labels(vec![LabelScore { label: EVIL.into(), probability: 1.0 }])),
            maps: vec![AttentionMap {
                name: "decoder.layers.0.cross_attention".into(),
                site: AttentionSite::Cross,
                layer: 0,
                weights: AttentionWeights {
                    shape: [1, 2, 2, 2],
                    values: vec![1.0, 0.0, 0.3337, 0.6663, 0.5, 0.5, 0.25, 0.75],
                },
            }],
            warnings: vec![Warning { line: None, problem: EVIL.into() }],
        }
    }

    /// The page's data as a browser would parse it.
    fn read_back(page: &str) -> Value {
        let (_, rest) =
            page.split_once("<script id=\"data\" type=\"application/json\">").expect("a data element");
        let (data, _) = rest.split_once("</script>").expect("its end");
        serde_json::from_str(data).expect("JSON")
    }

    #[test]
    fn no_text_can_escape_the_data() {
        let page = attention(EVIL, &inspection(), None);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("</script>").count(), 3);
        let data = read_back(&page);
        for text in [
            &data["title"],
            &data["src"][0],
            &data["tgt"][1],
            &data["written"][0]["token"],
            &data["written"][0]["alternatives"][0]["token"],
            &data["labels"][0]["label"],
            &data["warnings"][0],
        ] {
            assert_eq!(text, EVIL);
        }
    }

    #[test]
    fn weights_are_thousandths_head_by_head() {
        let map = &read_back(&attention("m", &inspection(), None))["maps"][0];
        assert_eq!(map["heads"], json!([[1000, 0, 334, 666], [500, 500, 250, 750]]));
        assert_eq!((&map["rows"], &map["columns"]), (&json!(2), &json!(2)));
        assert_eq!(map["site"], "cross");
    }

    #[test]
    fn the_page_loads_no_other_resources() {
        let page = attention("m", &inspection(), None);
        for word in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn a_model_without_attention_has_a_page() {
        let mut inspection = inspection();
        inspection.maps.clear();
        assert_eq!(read_back(&attention("m", &inspection, None))["maps"], json!([]));
    }
}
