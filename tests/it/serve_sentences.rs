//! `attentive serve`: texts of several sentences, none of which is lost.

use std::fs;

use attentive::pipeline::Pipeline;
use attentive::random::Random;
use attentive::server::ServedModel;
use serde_json::{Value, json};

use crate::support::http::{Reply, events, post};
use crate::support::process::with_run;
use crate::support::serving::{Running, config, fixture};

/// What stands between sentences.
const BLANKS: &[&str] = &[" ", "  ", "\n", "\r\n\r\n", "\t", " \n\n ", "\u{a0}"];

/// Paragraphs, each of which is sentences with the blanks before them, and the blanks at its end.
fn paragraphs(count: usize) -> Vec<(Vec<(String, String)>, String)> {
    let mut random = Random::new(1, 0);
    let paragraph = |_| {
        let sentences = 1 + random.below(5);
        let sentence = |number: usize| {
            let before = match number {
                0 => "",
                _ => random.choose(BLANKS),
            };
            let words: Vec<String> = (0..1 + random.below(5)).map(|_| random.below(10).to_string()).collect();
            let end = random.choose(&[" .", " !", " ?", " ?!"]);
            (before.to_owned(), words.join(" ") + end)
        };
        let sentences = (0..sentences).map(sentence).collect();
        let after = random.choose(&["", "\n", " \t"]).to_string();
        (sentences, after)
    };
    (0..count).map(paragraph).collect()
}

fn whole(sentences: &[(String, String)], after: &str) -> String {
    let parts = sentences.iter().flat_map(|(before, text)| [before, text]);
    parts.map(String::as_str).collect::<String>() + after
}

/// The parts of a result of `/api/translate` put together.
fn together(result: &Value, part: &str) -> String {
    let sentences = result["sentences"].as_array().unwrap();
    let parts = sentences.iter().flat_map(|one| [&one["before"], &one[part]]);
    let parts: String = parts.map(|part| part.as_str().unwrap()).collect();
    parts + result["after"].as_str().unwrap()
}

#[test]
fn every_sentence_is_translated_by_every_api() {
    let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
    let paragraphs = paragraphs(40);
    let translated = |(sentences, after): &(Vec<(String, String)>, String)| {
        let texts: Vec<&String> = sentences.iter().map(|(_, text)| text).collect();
        let texts = pipeline.translate(&texts).unwrap();
        let before = sentences.iter().map(|(before, _)| before.clone());
        whole(&before.zip(texts).collect::<Vec<_>>(), after)
    };
    let texts: Vec<String> = paragraphs.iter().map(|(parts, after)| whole(parts, after)).collect();
    let expected: Vec<String> = paragraphs.iter().map(translated).collect();
    let server = Running::start(config());
    let address = server.address;

    let asked = json!({"q": texts, "source": "en", "target": "de"});
    let found = post(address, "/translate", &asked).expect(200);
    assert_eq!(found["translatedText"], json!(expected));

    let asked = json!({"text": texts, "source_lang": "EN", "target_lang": "DE"});
    let found = post(address, "/v2/translate", &asked).expect(200);
    let found = found["translations"].as_array().unwrap().iter();
    let found: Vec<&str> = found.map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(found, expected);

    let asked = json!({"model": "en-de", "text": texts});
    let found = post(address, "/api/translate", &asked).expect(200);
    for (number, result) in found["results"].as_array().unwrap().iter().enumerate() {
        assert_eq!(result["translations"][0]["text"], expected[number]);
        assert_eq!(together(result, "source"), texts[number]);
        assert_eq!(together(result, "translation"), expected[number]);
        let sentences = &paragraphs[number].0;
        assert_eq!(result["sentences"].as_array().unwrap().len(), sentences.len());
    }

    let asked = json!({"model": "en-de", "text": texts, "stream": true});
    let mut streamed = vec![Value::Null; texts.len()];
    for (name, data) in events(&post(address, "/api/translate", &asked).body) {
        let data: Value = serde_json::from_str(&data).unwrap();
        match name.as_str() {
            "text" => assert!(data["text"].is_string(), "{data}"),
            "result" => {
                let number = data["index"].as_u64().unwrap() as usize;
                streamed[number] = data;
            }
            other => assert_eq!(other, "done"),
        }
    }
    for ((result, expected), text) in streamed.iter().zip(&expected).zip(&texts) {
        assert_eq!(result["translations"][0]["text"], *expected, "{result}");
        assert_eq!(together(result, "source"), *text);
    }
}

#[test]
fn a_stream_begins_with_texts_without_sentences() {
    let server = Running::start(config());
    for alignments in [false, true] {
        for texts in [vec!["", "9 8", " \n "], vec![" ", ""]] {
            let asked = json!({"model": "en-de", "text": texts, "alignments": alignments});
            let whole = post(server.address, "/api/translate", &asked).expect(200);
            let mut asked = asked;
            asked["stream"] = true.into();
            let streamed = events(&post(server.address, "/api/translate", &asked).body);
            let blank = |index: &usize| texts[*index].trim().is_empty();
            let first = (0..texts.len()).filter(blank);
            let rest = (0..texts.len()).filter(|index| !blank(index));
            let results = streamed.iter().filter(|(name, _)| name == "result");
            let results: Vec<Value> = results.map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
            assert_eq!(results.len(), texts.len(), "{streamed:?}");
            for (index, result) in first.chain(rest).zip(&results) {
                let mut expected = whole["results"][index].clone();
                expected["index"] = index.into();
                assert_eq!(*result, expected);
            }
            assert_eq!(streamed.last().unwrap().0, "done");
        }
    }
}

#[test]
fn a_single_sentence_is_answered_as_without_division() {
    let server = Running::start(config());
    let ask = |text: &str, split: bool| {
        let asked = json!({
            "model": "en-de", "text": text, "n_best": 3, "alignments": true, "split_sentences": split,
            "prefix": "1 2",
        });
        post(server.address, "/api/translate", &asked).expect(200)["results"][0].clone()
    };
    for text in ["9 8 7", "3", "4 5 ."] {
        assert_eq!(ask(text, true), ask(text, false));
    }
    let sampled = |texts: Value| {
        let asked = json!({"model": "en-de", "text": texts, "sampling": {"seed": 3}});
        post(server.address, "/api/translate", &asked).expect(200)["results"][1].clone()
    };
    // What is drawn depends on the number of the text, not on the sentences of others.
    assert_eq!(sampled(json!(["1", "2 3 4"])), sampled(json!(["1 !\n2 ?\n3", "2 3 4"])));
}

#[test]
fn words_and_ranks_are_those_of_the_whole_text() {
    let server = Running::start(config());
    let ask = |text: &str| {
        let asked = json!({"model": "en-de", "text": text, "n_best": 2, "alignments": true});
        post(server.address, "/api/translate", &asked).expect(200)["results"][0].clone()
    };
    let (first, second, both) = (ask("9 8 7"), ask("6 5"), ask("9 8 7\n6 5"));
    for rank in 0..2 {
        let of = |result: &Value, key: &str| result["translations"][rank][key].clone();
        let (one, other) = (of(&first, "text"), of(&second, "text"));
        let (one, other) = (one.as_str().unwrap(), other.as_str().unwrap());
        assert_eq!(of(&both, "text"), format!("{one}\n{other}"));
        for key in ["score", "log_prob"] {
            let sum = of(&first, key).as_f64().unwrap() + of(&second, key).as_f64().unwrap();
            assert_eq!(of(&both, key).as_f64().unwrap(), sum);
        }
        let tokens = |result: &Value| of(result, "tokens").as_array().unwrap().clone();
        assert_eq!(tokens(&both), [tokens(&first), tokens(&second)].concat());
        let words = one.split_whitespace().count();
        let pairs =
            |result: &Value| -> Vec<(u64, u64)> { serde_json::from_value(of(result, "alignment")).unwrap() };
        let moved = pairs(&second).into_iter();
        let moved = moved.map(|(src, tgt)| (src + 3, tgt + words as u64));
        let all: Vec<_> = pairs(&first).into_iter().chain(moved).collect();
        assert_eq!(pairs(&both), all);
    }
}

#[test]
fn demands_that_several_sentences_cannot_meet_are_refused() {
    let server = Running::start(config());
    let ask = |asked: Value| -> Reply {
        let mut whole = json!({"model": "en-de", "text": "9 8\n7 6"});
        whole.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        post(server.address, "/api/translate", &whole)
    };
    let refused = ask(json!({"phrases": ["1"]})).expect(422);
    assert_eq!(refused["error"]["field"], "phrases");
    let refused = ask(json!({"prefix": "1 2\n3"})).expect(422);
    assert_eq!(refused["error"]["field"], "prefix");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("split_sentences"));
    let found = ask(json!({"prefix": "1 2"})).expect(200);
    let sentences = &found["results"][0]["sentences"];
    assert!(sentences[0]["translation"].as_str().unwrap().starts_with("1 2"), "{found}");
    ask(json!({"phrases": ["1"], "split_sentences": false})).expect(200);
    let blank = json!({"model": "en-de", "text": [" ", "9"], "prefix": "1"});
    let found = post(server.address, "/api/translate", &blank).expect(200);
    let warning = found["results"][0]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("blank"), "{warning}");
    assert_eq!(found["results"][0]["translations"][0]["text"], " ");
}

#[test]
fn deepl_divides_as_it_is_told() {
    let server = Running::start(config());
    let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
    let one = |text: &str| pipeline.translate(&[text]).unwrap().remove(0);
    let ask = |more: Value| {
        let mut asked = json!({"text": ["9 8 . 7\n6 5"], "source_lang": "EN", "target_lang": "DE"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = post(server.address, "/v2/translate", &asked).expect(200);
        found["translations"][0]["text"].as_str().unwrap().to_owned()
    };
    let lines = format!("{} {}\n{}", one("9 8 ."), one("7"), one("6 5"));
    for more in [json!({}), json!({"split_sentences": "1"}), json!({"split_sentences": true})] {
        assert_eq!(ask(more), lines);
    }
    let punctuation = format!("{} {}", one("9 8 ."), one("7 6 5"));
    assert_eq!(ask(json!({"split_sentences": "nonewlines"})), punctuation);
    assert_eq!(ask(json!({"tag_handling": "html"})), punctuation);
    assert_eq!(ask(json!({"split_sentences": "0"})), one("9 8 . 7 6 5"));
    assert_eq!(ask(json!({"split_sentences": 0, "tag_handling": "html"})), one("9 8 . 7 6 5"));
    assert_eq!(ask(json!({"tag_handling": "xml"})), lines);
    let asked = json!({"text": ["9"], "target_lang": "DE", "source_lang": "EN", "split_sentences": "2"});
    let refused = post(server.address, "/v2/translate", &asked).expect(400);
    assert!(refused["message"].as_str().unwrap().contains("split_sentences"));
}

#[test]
fn what_the_vocabulary_cannot_spell_is_reported() {
    let server = Running::start(config());
    let asked = json!({"model": "en-de", "text": ["9 8", "9 猫 8 ☃x 猫"]});
    let found = post(server.address, "/api/translate", &asked).expect(200);
    assert_eq!(found["results"][0]["warnings"], json!([]));
    let warning = found["results"][1]["warnings"][0].as_str().unwrap();
    assert!(warning.ends_with("place: `猫`, `☃x`"), "{warning}");
    let asked = json!({"q": "9 猫", "source": "en", "target": "de"});
    let reply = post(server.address, "/translate", &asked);
    assert!(reply.header("x-warnings").unwrap().contains("\\u{732b}"), "{reply:?}");
    let asked = json!({"text": ["9 8"], "source_lang": "EN", "target_lang": "DE"});
    assert!(post(server.address, "/v2/translate", &asked).header("x-warnings").is_none());
    // Emoji at the ends of sentences stay.
    let asked = json!({"q": "9 8 🎉", "source": "en", "target": "de"});
    let reply = post(server.address, "/translate", &asked);
    assert!(reply.header("x-warnings").is_none());
    let text = reply.json()["translatedText"].as_str().unwrap().to_owned();
    assert!(text.ends_with(" 🎉"), "{text}");
}

/// Each API says it in its own way.
#[test]
fn what_was_cut_off_is_reported() {
    // A model whose translations have one token.
    let folder = with_run("transformer-post");
    let [config_path, provenance] = ["run/config.toml", "run/provenance.json"].map(|file| folder.path(file));
    let text = fs::read_to_string(&config_path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("max_new_"));
    let text: Vec<&str> = lines.collect();
    let short = "[decode]\nmax_new_factor = 0.0\nmax_new_extra = 1";
    fs::write(&config_path, text.join("\n").replace("[decode]", short)).unwrap();
    let mut origin: Value = serde_json::from_slice(&fs::read(&provenance).unwrap()).unwrap();
    origin["sha256"] = json!({});
    fs::write(&provenance, origin.to_string()).unwrap();
    let mut config = config();
    config.models = vec![ServedModel::new("en-de", folder.path("run"))];
    let server = Running::start(config);
    let cut_off = "the translation was cut off at the length limit";
    let asked = json!({"text": "9 8 7 6 5"});
    let found = post(server.address, "/api/translate", &asked).expect(200);
    assert_eq!(found["results"][0]["warnings"], json!([cut_off]), "{found}");
    for (path, asked) in [
        ("/translate", json!({"q": "9 8 7 6 5", "source": "en", "target": "de"})),
        ("/v2/translate", json!({"text": ["9 8 7 6 5"], "source_lang": "EN", "target_lang": "DE"})),
    ] {
        assert_eq!(post(server.address, path, &asked).header("x-warnings"), Some(cut_off), "{path}");
    }
}

#[test]
fn more_sentences_than_allowed_are_refused() {
    let mut config = config();
    config.limits.texts = Some(10);
    let server = Running::start(config);
    let text = "1\n".repeat(11);
    let asked = json!({"model": "en-de", "text": text});
    let refused = post(server.address, "/api/translate", &asked).expect(413);
    assert_eq!(refused["error"]["field"], "text");
    let asked = json!({"q": text, "source": "en", "target": "de"});
    post(server.address, "/translate", &asked).expect(413);
}
