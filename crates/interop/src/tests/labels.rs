//! Tests of heads that label texts and words.

use attentive_architecture::LabelLayer;
use attentive_config::{Family, FamilyConfig};

use super::configs::with_keys;
use super::tensors::with_tensors;
use super::*;

#[test]
fn labels_have_their_names() {
    let foreign = open(&fixture("bert_classifier")).unwrap();
    let labels = foreign.tokenizers.tgt();
    let names: Vec<String> = (0..3).filter_map(|id| labels.token(id)).collect();
    assert_eq!(names, ["bad", "so so", "good"]);
    // A label may contain blanks and special tokens.
    assert_eq!(labels.encode("so so").unwrap(), [1]);
    let FamilyConfig::Classifier { pooling, label_layer, .. } = foreign.config.model.family else {
        panic!("{:?}", foreign.config.model);
    };
    assert_eq!((pooling, label_layer), (Pooling::First, LabelLayer::Tanh));
}

#[test]
fn labels_without_names_are_numbered() {
    let folder = changed("bert_classifier", "config.json", |keys| {
        keys.as_object_mut().unwrap().remove("id2label");
    });
    let labels = open(folder.path()).unwrap().tokenizers;
    assert_eq!(labels.tgt().token(2).as_deref(), Some("LABEL_2"));
}

#[test]
fn heads_that_give_no_single_label_are_refused() {
    let cases = [
        (
            json!({"problem_type": "multi_label_classification"}),
            "`problem_type` = \"multi_label_classification\" is not supported",
        ),
        (
            json!({"architectures": ["BertForMultipleChoice"]}),
            "`architectures` = [\"BertForMultipleChoice\"] is not supported",
        ),
        (json!({"id2label": {"0": "a"}}), "`id2label` names 1 label, but the head has 3"),
        (json!({"id2label": {"0": "a", "1": "b"}}), "`id2label` names 2 labels, but the head has 3"),
        (json!({"id2label": {"0": "a", "1": "b", "2": "a"}}), "`id2label` has the label `a` twice"),
    ];
    for (keys, expected) in cases {
        let problem = refusal(&with_keys("bert_classifier", keys, None));
        assert!(problem.contains(expected), "{problem}");
    }
    let blank = json!({"id2label": {"0": "O", "1": "a b", "2": "c", "3": "d"}});
    let problem = refusal(&with_keys("bert_tagger", blank, None));
    assert!(problem.contains("the label `a b` of words has a blank"), "{problem}");
}

#[test]
fn heads_are_recognized_without_the_name_of_their_class() {
    for kind in ["bert", "roberta", "mpnet", "distilbert", "xlm_roberta"] {
        for (head, family) in [("classifier", Family::Classifier), ("tagger", Family::Tagger)] {
            let fixed = format!("{kind}_{head}");
            if !KINDS.contains(&&*fixed) {
                continue;
            }
            let folder = with_keys(&fixed, json!({"architectures": null}), None);
            assert_eq!(open(folder.path()).unwrap().config.model.family.family(), family);
        }
    }
}

#[test]
fn a_head_of_other_tasks_is_not_read_as_one_of_labels() {
    let folder = with_tensors("bert_tagger", |tensors| {
        let classifier = tensors.remove("classifier.weight").unwrap();
        tensors.insert("qa_outputs.weight".into(), classifier);
    });
    let problem = refusal(&folder);
    assert!(problem.contains("`classifier.bias`") || problem.contains("qa_outputs"), "{problem}");
}

#[test]
fn long_lines_are_tagged_in_parts() {
    let (_folder, dir) = imported("bert_tagger");
    let pipeline = Pipeline::load(&dir).unwrap();
    let line = ["w5a w6 w7ab"; 30].join(" ");
    let found = pipeline.tag(1, &[&line]).unwrap().remove(0);
    assert_eq!(found.tags.len(), 90);
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].problem.contains("reads 40 tokens at once"));
    // A part is tagged as if it were a line: first 38 tokens, then, after 40 words, the next part.
    let words: Vec<&str> = line.split(' ').collect();
    let alone = pipeline.tag(1, &[words[..19].join(" "), words[40..59].join(" ")]);
    let alone = alone.unwrap();
    assert!(alone.iter().all(|one| one.warnings.is_empty()));
    assert_eq!(alone[0].tags[..], found.tags[..19]);
    assert_eq!(alone[1].tags[..], found.tags[40..59]);
    // The server reads it like this.
    let pieces: Vec<&str> = pipeline.pieces_to_tag(&line).into_iter().map(|range| &line[range]).collect();
    assert_eq!(pieces.len(), 3);
    let joined = pipeline.join_tagged(&line, pipeline.tag(1, &pieces).unwrap());
    assert_eq!(joined, found);
    let short = "w5a w6";
    let alone = pipeline.tag(1, &[short]).unwrap();
    assert_eq!(pipeline.join_tagged(short, alone.clone()), alone[0]);
}

#[test]
fn words_that_are_unknown_are_counted_and_tagged() {
    let (_folder, dir) = imported("bert_tagger");
    let pipeline = Pipeline::load(&dir).unwrap();
    let found = pipeline.tag(1, &["w5 ??? w6", ""]).unwrap();
    assert_eq!((found[0].tags.len(), found[0].unknown), (3, 1));
    assert!(found[1].tags.is_empty());
    let inspection = pipeline.inspect("w5a w6", None).unwrap();
    assert_eq!(inspection.src, ["[CLS]", "w5", "##a", "w6", "[SEP]"]);
}
