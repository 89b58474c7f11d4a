//! `attentive serve`: the APIs that translate give what `attentive translate` gives.

use std::thread;

use attentive::pipeline::Pipeline;
use serde_json::{Value, json};

use crate::support::http::{events, get, post, post_form, post_with};
use crate::support::serving::{Running, config, fixture};

/// Lines of different lengths, and what `model` makes of them.
pub(crate) fn lines(model: &str) -> (Vec<String>, Vec<String>) {
    let line = |n: usize| {
        let words = (0..1 + n % 9).map(|word| ((n * 7 + word * 3) % 10).to_string());
        words.collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = (0..40).map(line).collect();
    let pipeline = Pipeline::load(fixture(model)).unwrap();
    let translations = pipeline.translate(&lines).unwrap();
    (lines, translations)
}

#[test]
fn all_apis_agree_with_the_pipeline_whoever_else_asks() {
    let (lines, expected) = lines("transformer-post");
    let server = Running::start(config());
    let address = server.address;
    thread::scope(|scope| {
        for client in 0..8 {
            let (lines, expected) = (&lines, &expected);
            scope.spawn(move || {
                for n in (0..lines.len()).cycle().skip(client * 5).take(lines.len() / 2) {
                    let (line, expected) = (&lines[n], &expected[n]);
                    let found = match (client + n) % 4 {
                        0 => {
                            let asked = json!({"q": line, "source": "en", "target": "de"});
                            post(address, "/translate", &asked).expect(200)["translatedText"].clone()
                        }
                        1 => {
                            let asked = json!({"text": [line], "source_lang": "EN", "target_lang": "DE"});
                            post(address, "/v2/translate", &asked).expect(200)["translations"][0]["text"]
                                .clone()
                        }
                        2 => {
                            let asked = json!({"model": "en-de", "text": line});
                            let answer = post(address, "/api/translate", &asked).expect(200);
                            answer["results"][0]["translations"][0]["text"].clone()
                        }
                        _ => {
                            let asked = json!({"model": "en-de", "text": line, "stream": true});
                            let reply = post(address, "/api/translate", &asked);
                            let events = events(&reply.body);
                            let (_, result) = events.iter().find(|(name, _)| name == "result").unwrap();
                            let result: Value = serde_json::from_str(result).unwrap();
                            result["translations"][0]["text"].clone()
                        }
                    };
                    assert_eq!(found, json!(expected), "{line}");
                }
            });
        }
        scope.spawn(|| {
            let asked = json!({"q": lines, "source": "en", "target": "de"});
            let found = post(address, "/translate", &asked).expect(200);
            assert_eq!(found["translatedText"], json!(expected));
        });
    });
}

#[test]
fn libretranslate_speaks_to_its_clients() {
    let (lines, expected) = lines("transformer-post");
    let server = Running::start(config());
    let address = server.address;
    // A form, as the Python client sends it, with an empty key.
    let found = post_form(address, "/translate", "q=9+8+7&source=en&target=de&api_key=").expect(200);
    let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
    let whole = json!({"translatedText": pipeline.translate(&["9 8 7"]).unwrap()[0]});
    assert_eq!(found, whole);
    // Parameters of the URL.
    let found = post_with(address, "/translate?q=9+8+7&source=en&target=de", "", "").expect(200);
    assert_eq!(found, whole);
    // A list, with alternatives and HTML.
    let asked = json!({"q": lines[..3], "source": "en", "target": "de", "alternatives": 2});
    let found = post(address, "/translate", &asked).expect(200);
    assert_eq!(found["translatedText"], json!(expected[..3]));
    let others = found["alternatives"].as_array().unwrap();
    assert!(others.len() == 3 && others.iter().all(|one| one.as_array().unwrap().len() <= 2));
    assert!(found.get("detectedLanguage").is_none());
    let html = json!({"q": "<p>9 <b>8</b> 7</p>", "source": "en", "target": "de", "format": "html"});
    let found = post(address, "/translate", &html).expect(200);
    let text = found["translatedText"].as_str().unwrap();
    assert!(text.starts_with("<p>") && text.ends_with("</p>") && text.contains("<b>"), "{text}");
    // Languages.
    let asked = json!({"q": "The dog sees Anna in the old house.", "source": "auto", "target": "de"});
    let found = post(address, "/translate", &asked).expect(200);
    assert_eq!(found["detectedLanguage"]["language"], "en");
    assert!(found["detectedLanguage"]["confidence"].as_f64().unwrap() <= 100.0);
    let languages = get(address, "/languages").expect(200);
    let english = json!({"code": "en", "name": "English", "targets": ["de"]});
    assert_eq!(languages[1], english, "{languages}");
    // Among the languages that models here read.
    let detected = post_form(address, "/detect", "q=Le+chien+court+dans+la+rue").expect(200);
    assert_eq!(detected[0]["language"], "fr");
    assert_eq!(get(address, "/health").expect(200), json!({"status": "ok"}));
    let settings = get(address, "/frontend/settings").expect(200);
    assert_eq!(settings["keyRequired"], false);
    let any = get(address, "/languages");
    assert_eq!(any.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn libretranslate_refuses_in_its_own_way() {
    let server = Running::start(config());
    let refuse = |asked: Value, status: u16, words: &str| {
        let found = post(server.address, "/translate", &asked).expect(status);
        let error = found["error"].as_str().unwrap();
        assert!(error.contains(words), "{error}");
        assert_eq!(found.as_object().unwrap().len(), 1);
    };
    refuse(json!({"source": "en", "target": "de"}), 400, "missing q parameter");
    refuse(json!({"q": "1", "target": "de"}), 400, "missing source parameter");
    refuse(json!({"q": "1", "source": "en"}), 400, "missing target parameter");
    refuse(json!({"q": "1", "source": "english", "target": "de"}), 400, "english is not supported");
    refuse(json!({"q": "1", "source": "en", "target": "it"}), 400, "it is not supported");
    refuse(json!({"q": 1, "source": "en", "target": "de"}), 400, "expected a string or a list");
    refuse(json!({"q": "1", "source": "en", "target": "de", "alternatives": 11}), 400, "allows at most 10");
    refuse(json!({"q": "1", "source": "en", "target": "de", "format": "pdf"}), 400, "format");
    refuse(json!({"q": vec!["1"; 3000], "source": "en", "target": "de"}), 413, "3,000 texts");
    let long = "1 ".repeat(300_000);
    refuse(json!({"q": long, "source": "en", "target": "de"}), 413, "characters");
}

#[test]
fn own_translations_tell_everything() {
    let server = Running::start(config());
    let address = server.address;
    let asked = json!({"model": "en-de", "text": ["1 2 3", "", "9 x 7"], "beam_width": 4, "n_best": 3, "alignments": true});
    let found = post(address, "/api/translate", &asked).expect(200);
    assert_eq!(found["model"], "en-de");
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let best = &results[0]["translations"];
    assert_eq!(best.as_array().unwrap().len(), 3);
    assert!(best[0]["score"].as_f64() >= best[1]["score"].as_f64());
    let log_probs = best[0]["token_log_probs"].as_array().unwrap();
    assert!(log_probs.iter().all(|log_prob| log_prob.as_f64().unwrap() <= 0.0));
    assert!(best[0]["alignment"].is_array());
    assert_eq!(results[1]["translations"][0]["text"], "");
    // Demands.
    let asked = json!({"model": "en-de", "text": "1 2 3", "prefix": "7 7"});
    let found = post(address, "/api/translate", &asked).expect(200);
    let text = found["results"][0]["translations"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("7 7"), "{text}");
    let asked = json!({"model": "en-de", "text": "1 2 3", "prefix_tokens": ["7", "7"]});
    assert_eq!(post(address, "/api/translate", &asked).expect(200), found);
    // Samples depend on the seed and the number of the line alone.
    let sampled = |texts: Value| {
        let sampling = json!({"seed": 3, "temperature": 2.0});
        let asked = json!({"model": "en-de", "text": texts, "sampling": sampling, "n_best": 2});
        post(address, "/api/translate", &asked).expect(200)["results"][0].clone()
    };
    assert_eq!(sampled(json!("1 2 3")), sampled(json!(["1 2 3", "4"])));
    // A stream ends with everything, and grows before.
    let asked = json!({"model": "en-de", "text": ["1 2 3 4 5", "9 8"], "stream": true});
    let reply = post(address, "/api/translate", &asked);
    assert_eq!(reply.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let events = events(&reply.body);
    let named = |name: &str| events.iter().filter(|(found, _)| found == name).count();
    assert!(named("text") >= 1, "{events:?}");
    assert_eq!((named("result"), named("done"), named("error")), (2, 1, 0));
    assert_eq!(events.last().unwrap().0, "done");
}

#[test]
fn own_translations_refuse_in_their_own_way() {
    let server = Running::start(config());
    let refuse = |asked: Value, status: u16, code: &str, words: &str| {
        let found = post(server.address, "/api/translate", &asked).expect(status);
        let error = &found["error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refuse(json!({"model": "en-de"}), 422, "invalid_value", "missing field `text`");
    refuse(json!({"text": "1"}), 422, "invalid_value", "`en-de`, `fr-de`");
    refuse(json!({"text": "1", "model": "none"}), 404, "model_not_found", "`none`");
    refuse(json!({"text": "1", "model": "lm"}), 422, "invalid_value", "cannot translate");
    refuse(json!({"text": "1", "model": "en-de", "beam": 3}), 422, "invalid_value", "unknown field `beam`");
    // Fields of the search are told like all others: with their names, and what is expected.
    for (fields, field, words) in [
        (json!({"beamwidth": 3}), "beamwidth", "unknown field `beamwidth`, expected one of `alignments`"),
        (json!({"beamwidth": 3}), "beamwidth", "`length_penalty_formula`"),
        (json!({"beam_width": "3"}), "beam_width", "expected a whole number, 1 or more"),
        (json!({"early_stopping": "x"}), "early_stopping", "`early_stopping`: unknown value `x`"),
        (json!({"early_stopping": 3}), "early_stopping", "expected a string"),
        (json!({"length_penalty": -1}), "length_penalty", "0 or more"),
        (json!({"sampling": {}, "beam_width": 3}), "beam_width", "nothing, since translations are sampled"),
        (json!({"sampling": {"topp": 1}}), "sampling.topp", "unknown field `topp`, expected one of"),
    ] {
        let mut asked = json!({"text": "1", "model": "en-de"});
        asked.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let error = &post(server.address, "/api/translate", &asked).expect(422)["error"];
        assert_eq!(error["field"], field, "{error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    let twice = r#"{"text": "1", "model": "en-de", "beam_width": 2, "beam_width": 3}"#;
    let reply = post_with(server.address, "/api/translate", "", twice);
    assert!(reply.status == 422 && reply.body.contains(r#""field":"beam_width""#), "{reply:?}");
    refuse(json!({"text": "1", "model": "en-de", "beam_width": 0}), 422, "invalid_value", "1 or more");
    refuse(json!({"text": "1", "model": "en-de", "n_best": 50}), 422, "invalid_value", "at most 11");
    refuse(json!({"text": "1", "model": "en-de", "prefix": "unheard"}), 422, "invalid_value", "vocabulary");
    refuse(
        json!({"text": "1", "model": "en-de", "prefix": "1", "prefix_tokens": ["1"]}),
        422,
        "invalid_value",
        "either",
    );
    refuse(
        json!({"text": "1", "model": "en-de", "sampling": {"temperature": -1}}),
        422,
        "invalid_value",
        "temperature",
    );
}
