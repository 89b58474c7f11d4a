//! `attentive serve`: OpenAI's API.

use attentive::pipeline::Pipeline;
use serde_json::{Value, json};

use crate::serve_models::{generated, options};
use crate::support::http::{events, get, post};
use crate::support::serving::{Running, config, fixture};

#[test]
fn completions_are_those_of_the_pipeline() {
    let server = Running::start(config());
    let address = server.address;
    let asked = json!({"model": "lm", "prompt": "the ", "max_tokens": 30, "seed": 5, "n": 2, "echo": true});
    let found = post(address, "/v1/completions", &asked).expect(200);
    assert_eq!(found["object"], "text_completion");
    for number in 0..2 {
        let expected = generated("the ", &options(5, number as u64, 1.0, 30));
        let choice = &found["choices"][number];
        assert_eq!(choice["text"], format!("the {}", expected.text));
        assert_eq!((&choice["index"], &choice["finish_reason"]), (&json!(number), &json!("length")));
    }
    assert_eq!(found["usage"], json!({"prompt_tokens": 4, "completion_tokens": 60, "total_tokens": 64}));
    // A stream gives the same text in pieces.
    let expected = generated("the ", &options(5, 0, 1.0, 30));
    let asked = json!({"prompt": "the ", "max_tokens": 30, "seed": 5, "stream": true,
        "stream_options": {"include_usage": true}});
    let reply = post(address, "/v1/completions", &asked);
    let mut events: Vec<String> = events(&reply.body).into_iter().map(|(_, data)| data).collect();
    assert_eq!(events.pop().unwrap(), "[DONE]");
    let chunks: Vec<Value> = events.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let (usage, chunks) = chunks.split_last().unwrap();
    assert_eq!((&usage["choices"], &usage["usage"]["completion_tokens"]), (&json!([]), &json!(30)));
    let texts = chunks.iter().map(|chunk| chunk["choices"][0]["text"].as_str().unwrap());
    assert_eq!(texts.collect::<String>(), expected.text);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "length");
    assert!(others.iter().all(|chunk| chunk["choices"][0]["finish_reason"].is_null()));
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"] && chunk["usage"].is_null()));
    let asked = json!({"prompt": "the ", "max_tokens": 2, "seed": 5, "stream": true, "n": 2, "echo": true});
    let mut texts = [String::new(), String::new()];
    for (_, data) in self::events(&post(address, "/v1/completions", &asked).body) {
        if let Ok(chunk) = serde_json::from_str::<Value>(&data) {
            let choice = &chunk["choices"][0];
            let number = choice["index"].as_u64().unwrap() as usize;
            texts[number] += choice["text"].as_str().unwrap();
        }
    }
    for (number, text) in texts.iter().enumerate() {
        let expected = generated("the ", &options(5, number as u64, 1.0, 2));
        assert_eq!(*text, format!("the {}", expected.text));
    }
    // A stop string ends the text before it.
    let stop: String = expected.text.chars().skip(5).take(3).collect();
    let asked = json!({"prompt": "the ", "max_tokens": 30, "seed": 5, "stop": stop});
    let found = post(address, "/v1/completions", &asked).expect(200);
    assert_eq!(found["choices"][0]["text"], expected.text.split(&stop).next().unwrap());
    assert_eq!(found["choices"][0]["finish_reason"], "stop");
    assert!(server.metric("attentive_time_to_first_token_seconds_count", "openai") >= 1.0);
}

#[test]
fn openai_refuses_in_its_own_way() {
    let server = Running::start(config());
    let refuse = |path: &str, asked: Value, status: u16, field: &str| {
        let found = post(server.address, path, &asked).expect(status);
        let error = &found["error"];
        assert_eq!(error["type"], "invalid_request_error", "{error}");
        if !field.is_empty() {
            assert_eq!(error["param"], field, "{error}");
        }
    };
    let completions = "/v1/completions";
    for (field, value) in [
        ("logprobs", json!(1)),
        ("best_of", json!(2)),
        ("suffix", json!("end")),
        ("logit_bias", json!({"1": 2})),
        ("presence_penalty", json!(0.5)),
        ("frequency_penalty", json!(1)),
        ("n", json!(0)),
        ("n", json!(100)),
        ("max_tokens", json!(1_000_000)),
        ("store", json!(true)),
        ("service_tier", json!("priority")),
        ("stream_options", json!({"include_usage": true})),
        ("max_tokens", json!("many")),
    ] {
        refuse(completions, json!({"prompt": "the", field: value}), 400, field);
    }
    let defaults = json!({"prompt": "the", "max_tokens": 1, "logprobs": null, "best_of": 1, "suffix": "", "logit_bias": {},
        "presence_penalty": 0, "frequency_penalty": 0.0, "user": "me", "store": false, "metadata": {"a": "b"},
        "service_tier": "auto", "n": 1});
    post(server.address, completions, &defaults).expect(200);
    let all = json!({"prompt": "the", "max_tokens": 1, "n": 3, "best_of": 3, "metadata": "x"});
    let found = post(server.address, completions, &all).expect(200);
    assert_eq!(found["choices"].as_array().unwrap().len(), 3);
    refuse(completions, json!({"prompt": "the", "n": 2, "best_of": 3}), 400, "best_of");
    refuse(completions, json!({"prompt": "the", "stop": ["a", "b", "c", "d", "e"]}), 413, "stop");
    refuse(completions, json!({"prompt": "the", "unknown": 1}), 400, "");
    refuse(completions, json!({"prompt": "the", "temperature": -1}), 400, "");
    refuse(completions, json!({"prompt": "e".repeat(100)}), 400, "prompt");
    refuse(completions, json!({"prompt": "the", "model": "en-de"}), 400, "model");
    refuse(completions, json!({"prompt": "the", "model": "none"}), 404, "");
    refuse("/v1/embeddings", json!({"input": "", "model": "mlm"}), 400, "input");
    refuse("/v1/embeddings", json!({"input": "a", "model": "mlm", "dimensions": 2}), 400, "dimensions");
    refuse("/v1/chat/completions", json!({"messages": []}), 400, "messages");
    refuse(completions, json!({"prompt": "the", "max_tokens": 0}), 400, "max_tokens");
    let part = json!({"type": "text", "text": "the", "foo": 1});
    let messages = json!([{"role": "user", "content": [part]}]);
    refuse("/v1/chat/completions", json!({"messages": messages}), 400, "messages[0].content[0].foo");
    for value in [json!(null), json!(5)] {
        refuse("/v1/embeddings", json!({"input": "a", "encoding_format": value}), 400, "encoding_format");
    }
    refuse("/v1/completions?n=2", json!({"prompt": "the"}), 400, "");
}

/// Answers have no field for them.
#[test]
fn warnings_are_in_a_header() {
    let server = Running::start(config());
    let unknown = [
        ("/v1/completions", json!({"prompt": "the 猫", "max_tokens": 2})),
        ("/v1/completions", json!({"prompt": "the 猫", "max_tokens": 2, "stream": true})),
        (
            "/v1/chat/completions",
            json!({"model": "lm", "messages": [{"role": "user", "content": "猫"}], "max_tokens": 1}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": "en-de", "messages": [{"role": "user", "content": "9 猫"}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": "en-de", "messages": [{"role": "user", "content": "9 猫"}], "stream": true}),
        ),
        ("/v1/embeddings", json!({"model": "mlm", "input": "the 猫"})),
    ];
    for (path, asked) in unknown {
        let reply = post(server.address, path, &asked);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        assert!(reply.header("x-warnings").unwrap_or_default().contains("vocabulary"), "{path}: {reply:?}");
    }
}

#[test]
fn openai_lists_models_and_embeds() {
    let server = Running::start(config());
    let address = server.address;
    let models = get(address, "/v1/models").expect(200);
    let names: Vec<_> = models["data"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(names, ["en-de", "fr-de", "lm", "mlm", "tagger"]);
    assert_eq!(get(address, "/v1/models/lm").expect(200), models["data"][2]);
    assert_eq!(get(address, "/v1/models/none").expect(404)["error"]["code"], "model_not_found");
    let pipeline = Pipeline::load(fixture("encoder-only")).unwrap();
    let texts = ["the dog sees Anna", "the cat"];
    let expected = pipeline.embed(1, &texts).unwrap();
    let asked = json!({"model": "mlm", "input": texts});
    let found = post(address, "/v1/embeddings", &asked).expect(200);
    for (one, expected) in found["data"].as_array().unwrap().iter().zip(&expected) {
        assert_eq!(one["embedding"], json!(expected.vector));
    }
    let asked = json!({"model": "mlm", "input": texts[0], "encoding_format": "base64"});
    let found = post(address, "/v1/embeddings", &asked).expect(200);
    let width = expected[0].vector.as_ref().unwrap().len();
    let encoded = found["data"][0]["embedding"].as_str().unwrap();
    assert_eq!(encoded.len(), (width * 4).div_ceil(3) * 4);
}
