//! The page that visualizes attention.

use serde_json::{Value, json};

use crate::nn::{AttentionMap, AttentionSite};
use crate::pipeline::{Inspection, LabelScore, Predicted, Warning};

/// Weights are stored in thousandths: integers, most of them 0, keep the page small.
const UNITS: u32 = 1000;

/// The page's script, concatenated from its parts.
const SCRIPT: &str = concat!(
    include_str!("weights.js"),
    include_str!("sentence.js"),
    include_str!("map.js"),
    include_str!("choice.js"),
);

/// An HTML page with every attention of `inspection` as a heat map, and a view of the sentence in which each token
/// shows what it attends to. `title` names the model.
pub fn attention(title: &str, inspection: &Inspection) -> String {
    format!(
        include_str!("page.html"),
        style = include_str!("page.css"),
        script = SCRIPT,
        data = embedded(&data(title, inspection)),
    )
}

/// What [`attention`] shows, for a script of another page.
pub fn explanation(title: &str, inspection: &Inspection) -> Value {
    data(title, inspection)
}

/// JSON for a script element: without `<`, no text can end the element or open a comment.
fn embedded(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

fn data(title: &str, inspection: &Inspection) -> Value {
    let Inspection {
        src,
        tgt,
        written,
        predicted,
        maps,
        warnings,
    } = inspection;
    let (tags, labels) = match predicted {
        Some(Predicted::Tags(tags)) => (scores(tags), Vec::new()),
        Some(Predicted::Labels(labels)) => (Vec::new(), scores(labels)),
        None => (Vec::new(), Vec::new()),
    };
    let written: Vec<Value> = written
        .iter()
        .map(|written| json!({"token": written.token, "probability": written.probability}))
        .collect();
    json!({
        "title": title,
        "units": UNITS,
        "src": src,
        "tgt": tgt,
        "written": written,
        "tags": tags,
        "labels": labels,
        "maps": maps.iter().map(map).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    })
}

fn scores(labels: &[LabelScore]) -> Vec<Value> {
    let score = |LabelScore { label, probability }: &LabelScore| json!({"label": label, "probability": probability});
    labels.iter().map(score).collect()
}

fn map(map: &AttentionMap) -> Value {
    let AttentionMap {
        name,
        site,
        layer,
        weights,
    } = map;
    let [_, n_heads, rows, columns] = weights.dims();
    let numbers: Vec<f32> = weights.clone().into_data().iter().collect();
    let numbers: Vec<u32> = numbers
        .iter()
        .map(|w| (w * UNITS as f32).round() as u32)
        .collect();
    let heads: Vec<&[u32]> = numbers.chunks(rows * columns).take(n_heads).collect();
    let site = match site {
        AttentionSite::EncoderSelf => "encoder_self",
        AttentionSite::DecoderSelf => "decoder_self",
        AttentionSite::Cross => "cross",
    };
    json!({
        "name": name,
        "site": site,
        "layer": layer,
        "rows": rows,
        "columns": columns,
        "heads": heads,
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::*;
    use crate::pipeline::Written;

    const EVIL: &str = "</script><script>alert(1)</script><!-- & \" ' {data}";

    fn inspection() -> Inspection {
        let weights = [[[[1.0, 0.0], [0.3337, 0.6663]], [[0.5, 0.5], [0.25, 0.75]]]];
        Inspection {
            src: vec![EVIL.into(), "</s>".into()],
            tgt: vec!["<s>".into(), EVIL.into()],
            written: vec![Written {
                token: EVIL.into(),
                probability: 0.5,
            }],
            predicted: Some(Predicted::Labels(vec![LabelScore {
                label: EVIL.into(),
                probability: 1.0,
            }])),
            maps: vec![AttentionMap {
                name: "decoder.layers.0.cross_attention".into(),
                site: AttentionSite::Cross,
                layer: 0,
                weights: Tensor::from_data(weights, &Device::flex()),
            }],
            warnings: vec![Warning {
                line: None,
                problem: EVIL.into(),
            }],
        }
    }

    /// The page's data as a browser would parse it.
    fn read_back(page: &str) -> Value {
        let (_, rest) = page
            .split_once("<script id=\"data\" type=\"application/json\">")
            .expect("a data element");
        let (data, _) = rest.split_once("</script>").expect("its end");
        serde_json::from_str(data).expect("JSON")
    }

    #[test]
    fn no_text_can_escape_the_data() {
        let page = attention(EVIL, &inspection());
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(page.matches("</script>").count(), 2);
        let data = read_back(&page);
        for text in [
            &data["title"],
            &data["src"][0],
            &data["tgt"][1],
            &data["written"][0]["token"],
            &data["labels"][0]["label"],
            &data["warnings"][0],
        ] {
            assert_eq!(text, EVIL);
        }
    }

    #[test]
    fn weights_are_thousandths_head_by_head() {
        let map = &read_back(&attention("m", &inspection()))["maps"][0];
        assert_eq!(
            map["heads"],
            json!([[1000, 0, 334, 666], [500, 500, 250, 750]])
        );
        assert_eq!((&map["rows"], &map["columns"]), (&json!(2), &json!(2)));
        assert_eq!(map["site"], "cross");
    }

    #[test]
    fn the_page_loads_no_other_resources() {
        let page = attention("m", &inspection());
        for word in [
            "http:", "https:", "src=", "href=", "@import", "url(", "fetch(",
        ] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn a_model_without_attention_has_a_page() {
        let mut inspection = inspection();
        inspection.maps.clear();
        assert_eq!(read_back(&attention("m", &inspection))["maps"], json!([]));
    }
}
