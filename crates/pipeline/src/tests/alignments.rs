//! Alignments, and the coverage of the source.

use super::*;

#[test]
fn alignments_follow_the_attention() {
    let recurrent = ["additive", "dot", "general"].map(recurrent);
    for pipeline in std::iter::once(of(Family::Transformer)).chain(recurrent) {
        let tgt = pipeline.tokenizers().tgt();
        let pairs = ["two cats", "a dog runs over the field", "", "a"].map(|src| {
            let text = format!("{src} barks");
            (src, tgt.encode(&text).unwrap())
        });
        let given: Vec<(&str, &[u32])> = pairs.iter().map(|(src, ids)| (*src, &ids[..])).collect();
        let aligned = pipeline.align(&given).unwrap();
        for ((src, ids), alignment) in pairs.iter().zip(aligned) {
            if src.is_empty() {
                assert_eq!(alignment, Alignment::default());
                continue;
            }
            // Words are tokens here, so the alignment can be read off the inspection.
            let text = tgt.decode(ids).unwrap();
            let inspection = pipeline.inspect(src, Some(&text)).unwrap();
            let is_cross = |map: &&attentive_model::nn::AttentionMap| {
                map.name.contains("attention") && map.site == attentive_model::nn::AttentionSite::Cross
            };
            let map = inspection.maps.iter().rfind(is_cross).unwrap();
            let [_, heads, _, src_len] = map.weights.shape;
            let weights = &map.weights.values;
            let rows = weights.len() / heads / src_len;
            let mut expected = Vec::new();
            for j in 0..ids.len() {
                let weight = |i: usize| -> f32 {
                    (0..heads).map(|head| weights[(head * rows + j) * src_len + i]).sum()
                };
                let best = (0..src_len).max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap();
                if best + 1 < src_len {
                    expected.push((best, j));
                }
            }
            expected.sort_unstable();
            assert_eq!(alignment.0, expected, "{:?}", pipeline.config.model);
        }
    }
}

/// All weights, of the mean of the heads or of one of them in the layer that is named.
#[test]
fn soft_alignments_are_rows_of_the_attention() {
    for (layer, head) in [(None, None), (Some(1), Some(2)), (Some(2), None)] {
        let keys = [("alignment_layer", layer), ("alignment_head", head)];
        let keys = keys.iter().filter_map(|(key, value)| Some(format!(", {key} = {}", (*value)?)));
        let pipeline =
            with(&format!("family = 'transformer', n_decoder_layers = 2{}", keys.collect::<String>()));
        let tgt = pipeline.tokenizers().tgt();
        let (src, text) = ("a dog runs over the field", "two cats barks");
        let ids = [tgt.encode(text).unwrap(), vec![tgt.special().eos]].concat();
        let soft = pipeline.soft_alignments(&[("", &[][..]), (src, &ids[..])]).unwrap();
        assert_eq!(soft[0], SoftAlignment::default());
        let inspection = pipeline.inspect(src, Some(text)).unwrap();
        let maps = inspection.maps.iter().filter(|map| map.site == attentive_model::nn::AttentionSite::Cross);
        let maps = Vec::from_iter(maps);
        let weights = &maps[layer.unwrap_or(maps.len()) - 1].weights;
        let [_, heads, rows, src_len] = weights.shape;
        assert_eq!(soft[1].0.len(), ids.len());
        for (j, row) in soft[1].0.iter().enumerate() {
            assert_eq!(row.len(), src_len);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
            for (i, &weight) in row.iter().enumerate() {
                let of_head = |head: usize| weights.values[(head * rows + j) * src_len + i];
                let expected = match head {
                    Some(head) => of_head(head - 1),
                    None => (0..heads).map(of_head).sum::<f32>() / heads as f32,
                };
                assert!((weight - expected).abs() < 1e-6, "{layer:?} {head:?}: {weight}, not {expected}");
            }
        }
        // The hard alignment is that of the largest weights; the last position is that of `</s>`.
        let hard = pipeline.align(&[(src, &ids[..ids.len() - 1])]).unwrap();
        let largest = |row: &Vec<f32>| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        let most = soft[1].0[..ids.len() - 1].iter().map(largest).enumerate();
        let mut links: Vec<_> = most.filter(|(_, i)| i + 1 < src_len).map(|(j, i)| (i, j)).collect();
        links.sort_unstable();
        assert_eq!(hard[0].0, links, "{layer:?} {head:?}");
    }
}

#[test]
fn models_without_attention_are_told_apart() {
    let blind = recurrent("none");
    let mut options = options(&blind, 1);
    options.search.coverage_penalty = 0.2;
    for error in
        [blind.align::<&str>(&[]).unwrap_err(), blind.translate_lines(&["a dog"], &options).unwrap_err()]
    {
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("needs attention to the source"), "{error}");
    }
}

/// The scores of a search with coverage equal those from the attention under teacher forcing.
#[test]
fn coverage_is_that_of_the_attention() {
    for pipeline in [of(Family::Transformer), recurrent("additive")] {
        let mut options = options(&pipeline, 3);
        options.search.coverage_penalty = 0.4;
        options.search.strategy = Strategy::beam(3, 3, EarlyStopping::Never);
        let lines = ["a dog runs over the green field", "two cats", "the dog barks at two cats"];
        let found = pipeline.translate_lines(&lines, &options).unwrap();
        for (line, translation) in lines.iter().zip(found) {
            for found in translation.hypotheses {
                let inspection = pipeline.inspect(line, Some(&found.text)).unwrap();
                let map =
                    inspection.maps.iter().rfind(|map| map.site == attentive_model::nn::AttentionSite::Cross);
                let weights = &map.unwrap().weights;
                let [_, heads, rows, src_len] = weights.shape;
                let weights = &weights.values;
                let steps = found.token_log_probs.len();
                assert!(steps <= rows);
                let mut penalty = 0.0;
                for i in 0..src_len {
                    let sum: f32 = (0..heads)
                        .flat_map(|head| (0..steps).map(move |j| (head * rows + j) * src_len + i))
                        .map(|place| weights[place] / heads as f32)
                        .sum();
                    penalty += f64::from(sum.min(1.0)).ln();
                }
                let expected = options.search.score(found.log_prob, steps) + 0.4 * penalty;
                assert!((found.score - expected).abs() < 1e-3, "{} {expected}", found.score);
            }
        }
    }
}
