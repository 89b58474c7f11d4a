//! `attentive serve`: conversations by OpenAI's API.

use attentive::pipeline::{GenerateOptions, Pipeline};
use serde_json::{Value, json};

use crate::support::http::{events, post};
use crate::support::serving::{Running, config, fixture};

const PATH: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

/// The pieces of a stream: what was said, why it ended, and the numbers of tokens.
fn streamed(body: &str) -> (String, Value, Value) {
    let (mut text, mut reason, mut usage) = (String::new(), Value::Null, Value::Null);
    let events = events(body);
    let (_, last) = events.last().unwrap();
    assert_eq!(last, "[DONE]");
    for (number, (_, data)) in events.iter().take(events.len() - 1).enumerate() {
        let chunk: Value = serde_json::from_str(data).unwrap();
        assert_eq!(chunk["object"], "chat.completion.chunk");
        let Some(choice) = chunk["choices"].get(0) else {
            usage = chunk["usage"].clone();
            continue;
        };
        if number == 0 {
            assert_eq!(choice["delta"]["role"], "assistant");
        }
        text += choice["delta"]["content"].as_str().unwrap_or_default();
        if !choice["finish_reason"].is_null() {
            reason = choice["finish_reason"].clone();
        }
    }
    (text, reason, usage)
}

#[test]
fn translation_models_translate_the_last_message() {
    let server = Running::start(config());
    let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
    let lines = pipeline.translate(&["9 8 7", "6 5"]).unwrap();
    let expected = format!("{}\n\n{}\n", lines[0], lines[1]);
    let text = "9 8 7\n\n6 5\n";
    let asked = json!({"model": "en-de", "messages": user(text)});
    let found = post(server.address, PATH, &asked).expect(200);
    assert_eq!((&found["object"], &found["model"]), (&"chat.completion".into(), &"en-de".into()));
    let choice = &found["choices"][0];
    assert_eq!(choice["message"], json!({"role": "assistant", "content": expected, "refusal": null}));
    let usage = &found["usage"];
    // With `</s>`.
    assert_eq!(usage["prompt_tokens"], 7);
    let tokens = lines.iter().map(|line| line.split_whitespace().count());
    assert_eq!(usage["completion_tokens"], tokens.sum::<usize>());

    let mut asked = json!({
        "model": "en-de", "messages": user(text), "stream": true, "stream_options": {"include_usage": true},
    });
    let reply = post(server.address, PATH, &asked);
    let (said, reason, counted) = streamed(&reply.body);
    assert_eq!((&said, &reason), (&expected, &choice["finish_reason"]));
    assert_eq!(&counted, usage);

    // The languages may choose the model.
    let system = json!({"role": "system", "content": "Translate from English to German."});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": text}]});
    asked = json!({"messages": [system, parts]});
    let found = post(server.address, PATH, &asked).expect(200);
    assert_eq!(found["model"], "en-de");
    assert_eq!(found["choices"][0]["message"]["content"], expected);

    // Clients send answers back as they are.
    let messages = json!([user("5")[0], choice["message"], user(text)[0]]);
    asked = json!({"model": "en-de", "messages": messages});
    let found = post(server.address, PATH, &asked).expect(200);
    assert_eq!(found["choices"][0]["message"]["content"], expected);
}

#[test]
fn what_translation_models_cannot_do_is_refused() {
    let server = Running::start(config());
    let refused = |more: Value, param: &str| {
        let mut asked = json!({"model": "en-de", "messages": user("9 8")});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = post(server.address, PATH, &asked).expect(400);
        assert_eq!(found["error"]["param"], param, "{found}");
        assert_eq!(found["error"]["type"], "invalid_request_error");
        found["error"]["message"].as_str().unwrap().to_owned()
    };
    let with_system = |text: &str| {
        let system = json!({"role": "system", "content": text});
        json!({"messages": [system, {"role": "user", "content": "9"}]})
    };
    let said = refused(with_system("You are a helpful assistant."), "messages");
    assert!(said.contains("Translate from English to German."), "{said}");
    let said = refused(with_system("Translate from French to German"), "messages");
    assert!(said.contains("from English to German"), "{said}");
    let last = json!({"messages": [{"role": "assistant", "content": "9"}]});
    assert!(refused(last, "messages").contains("must be the user's"));
    refused(json!({"messages": []}), "messages");
    refused(json!({"stop": "9"}), "stop");
    refused(json!({"n": 2, "stream": true}), "n");
    refused(json!({"tools": [{}]}), "tools");
    refused(json!({"logprobs": true}), "logprobs");
    refused(json!({"store": true}), "store");
    refused(json!({"tool_choice": "required"}), "tool_choice");
    refused(json!({"service_tier": "flex"}), "service_tier");
    refused(json!({"reasoning_effort": "high"}), "reasoning_effort");
    let json_object = json!({"response_format": {"type": "json_object"}});
    let said = refused(json_object, "response_format");
    assert!(said.contains("only `{\"type\": \"text\"}` is supported"), "{said}");
    refused(json!({"max_tokens": 0}), "max_tokens");
    refused(json!({"max_completion_tokens": 0, "max_tokens": 1}), "max_completion_tokens");
    refused(json!({"model": "lm", "max_completion_tokens": 1_000_000}), "max_completion_tokens");
    let many = vec![json!({"type": "text", "": 0}); 10];
    refused(json!({"tools": many}), "tools");
    let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]);
    refused(json!({"messages": image}), "messages[0].content[0].type");
    refused(json!({"messages": [{"role": "user", "content": 9}]}), "messages[0].content");
    let asked = json!({"model": "mlm", "messages": user("9")});
    post(server.address, PATH, &asked).expect(400);
    let asked = json!({"model": "none", "messages": user("9")});
    post(server.address, PATH, &asked).expect(404);
}

#[test]
fn language_models_go_on_with_the_conversation() {
    let server = Running::start(config());
    let pipeline = Pipeline::load(fixture("decoder-only")).unwrap();
    let prompt = pipeline.prompt("User: a\nAssistant:").unwrap();
    let mut options = GenerateOptions::default();
    options.sample.sampling.temperature = 0.0;
    options.sample.max_new_tokens = 5;
    let expected = pipeline.generate(&prompt, &options, &mut |_| Ok(())).unwrap();
    let mut asked = json!({
        "model": "lm", "messages": user("a"), "temperature": 0, "max_completion_tokens": 5,
    });
    let found = post(server.address, PATH, &asked).expect(200);
    let choice = &found["choices"][0];
    assert_eq!(choice["message"]["content"], expected.text.trim_start());
    assert_eq!(found["usage"]["completion_tokens"], expected.tokens.len());
    asked["stream"] = true.into();
    let (said, reason, _) = streamed(&post(server.address, PATH, &asked).body);
    assert_eq!((said.as_str(), &reason), (expected.text.trim_start(), &choice["finish_reason"]));
    let two = json!({"model": "lm", "messages": user("a"), "n": 2, "seed": 1, "max_tokens": 3});
    let found = post(server.address, PATH, &two).expect(200);
    assert_eq!(found["choices"].as_array().unwrap().len(), 2);
}

#[test]
fn fields_that_ask_for_nothing_are_accepted() {
    let server = Running::start(config());
    let plain = json!({"model": "en-de", "messages": user("9 8")});
    let expected = post(server.address, PATH, &plain).expect(200)["choices"].clone();
    for fields in [
        json!({"store": false, "metadata": {"of": "mine"}, "tool_choice": "none", "parallel_tool_calls": true,
            "service_tier": "auto", "user": "me", "logit_bias": {}, "n": 1, "response_format": {"type": "text"},
            "tools": [], "logprobs": false, "top_logprobs": 0, "modalities": ["text"], "frequency_penalty": 0,
            "presence_penalty": 0.0, "reasoning_effort": "none", "verbosity": "medium", "functions": [],
            "function_call": "auto", "safety_identifier": "me", "prompt_cache_key": "mine"}),
        json!({"store": null, "metadata": null, "tool_choice": null, "parallel_tool_calls": null, "service_tier": null,
            "user": null, "logit_bias": null, "n": null, "response_format": null, "tools": null, "audio": null,
            "prediction": null, "web_search_options": null, "stop": null, "stream": null, "stream_options": null}),
        json!({"tool_choice": "auto", "service_tier": "default", "parallel_tool_calls": false}),
        json!({"metadata": "x", "user": 1, "parallel_tool_calls": "x"}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "9"},
            {"text": " 8", "type": "text"}]}]}),
        // An answer as OpenAI's clients keep it.
        json!({"messages": [
            {"role": "user", "content": "1"},
            {"role": "assistant", "content": "2", "refusal": null, "audio": null, "function_call": null,
                "tool_calls": null, "annotations": []},
            {"role": "user", "content": "9 8", "name": "me"},
        ]}),
    ] {
        let mut asked = plain.clone();
        asked.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let found = post(server.address, PATH, &asked).expect(200);
        assert_eq!(found["choices"], expected, "{fields}");
    }
}
