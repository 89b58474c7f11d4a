//! `attentive serve`: models that do not translate.

use attentive::decode::{SampleOptions, Sampling};
use attentive::pipeline::{GenerateOptions, Generation, Pipeline};
use serde_json::{Value, json};

use attentive::server::ServedModel;

use crate::support::http::{events, get, post, post_with};
use crate::support::serving::{Running, config, fixture};

/// Options of `/api/generate` and of OpenAI's API, where only these differ from the defaults.
pub(crate) fn options(seed: u64, number: u64, temperature: f64, max_new_tokens: usize) -> GenerateOptions {
    let sampling = Sampling { temperature, seed, ..Sampling::default() };
    GenerateOptions { sample: SampleOptions { sampling, number, max_new_tokens }, stop: [].into() }
}

/// What the pipeline continues `prompt` with.
pub(crate) fn generated(prompt: &str, options: &GenerateOptions) -> Generation {
    let pipeline = Pipeline::load(fixture("decoder-only")).unwrap();
    let prompt = pipeline.prompt(prompt).unwrap();
    pipeline.generate(&prompt, options, &mut |_| Ok(())).unwrap()
}

/// Whatever their names.
#[test]
fn only_translators_have_languages() {
    let mut config = config();
    config.models = [("tag-de", "tagger"), ("lm-de", "decoder-only"), ("en-de", "transformer-post")]
        .map(|(name, of)| ServedModel::new(name, fixture(of)))
        .into();
    let server = Running::start(config);
    let languages = get(server.address, "/languages").expect(200);
    let codes: Vec<_> = languages.as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["de", "en"]);
    let pairs = get(server.address, "/v2/glossary-language-pairs").expect(200);
    assert_eq!(pairs["supported_languages"].as_array().unwrap().len(), 1, "{pairs}");
}

/// JSON leaves open which one counts.
#[test]
fn repeated_fields_are_refused() {
    let server = Running::start(config());
    for (path, body) in [
        ("/translate", r#"{"q": "1", "q": "2", "source": "en", "target": "de"}"#),
        ("/v2/translate", r#"{"text": ["1"], "text": ["2"], "source_lang": "EN", "target_lang": "DE"}"#),
        ("/api/translate", r#"{"model": "en-de", "text": "1", "text": "2"}"#),
        ("/api/translate", r#"{"model": "en-de", "text": "1", "terms": {"1": "2", "1": "3"}}"#),
    ] {
        let reply = post_with(server.address, path, "Content-Type: application/json\r\n", body);
        assert!(reply.status >= 400 && reply.body.contains("duplicate field"), "{body}: {reply:?}");
    }
}

#[test]
fn own_tasks_are_those_of_the_commands() {
    let server = Running::start(config());
    let address = server.address;
    // Generate.
    let expected = generated("the", &options(0, 0, 0.8, 20));
    let asked = json!({"prompt": "the", "max_new_tokens": 20});
    let found = post(address, "/api/generate", &asked).expect(200);
    let pipeline = Pipeline::load(fixture("decoder-only")).unwrap();
    let tokens = pipeline.tokenizers().tgt().spelled(&expected.tokens);
    let whole = json!({"model": "lm", "prompt": "the", "text": expected.text, "tokens": tokens, "ending": "max_new_tokens", "warnings": []});
    assert_eq!(found, whole);
    let asked = json!({"prompt": "the", "max_new_tokens": 20, "stream": true});
    let events = events(&post(address, "/api/generate", &asked).body);
    let data = |data: &String| serde_json::from_str::<Value>(data).unwrap();
    let pieces = events.iter().filter(|(name, _)| name == "text");
    let pieces: String = pieces.map(|(_, text)| data(text)["piece"].as_str().unwrap().to_owned()).collect();
    assert_eq!(pieces, expected.text);
    assert_eq!(data(&events[events.len() - 2].1), whole);
    assert_eq!(events.last().unwrap(), &("done".to_owned(), "{}".to_owned()));
    // Fill.
    let text = "the <mask> sees Anna";
    let filled = Pipeline::load(fixture("encoder-only")).unwrap().fill(text, 3).unwrap();
    let asked = json!({"text": text, "count": 3});
    let found = post(address, "/api/fill", &asked).expect(200);
    assert_eq!((&found["input"], &found["text"]), (&json!(text), &json!(filled.text)));
    assert_eq!(found["gaps"][0][2]["token"], filled.gaps[0][2].text);
    assert_eq!(found["gaps"][0].as_array().unwrap().len(), 3);
    let error = post(address, "/api/fill", &json!({"text": "no gap"})).expect(422);
    assert!(error["error"]["message"].as_str().unwrap().contains("<mask>"));
    let error = post(address, "/api/fill", &json!({"text": [text, " ", "no gap"]})).expect(422);
    assert!(error["error"]["message"].as_str().unwrap().starts_with("text 3: "), "{error}");
    // Tag.
    let lines = ["the dog sees Ben", "the cat"];
    let tagged = Pipeline::load(fixture("tagger")).unwrap().tag(1, &lines).unwrap();
    let found = post(address, "/api/tag", &json!({"text": lines})).expect(200);
    for (found, tagged) in found["results"].as_array().unwrap().iter().zip(&tagged) {
        assert_eq!((&found["tokens"], &found["tags"]), (&json!(tagged.tokens), &json!(tagged.tags)));
    }
    let found = post(address, "/api/tag", &json!({"text": lines[0]})).expect(200);
    assert_eq!(found["tags"], json!(tagged[0].tags));
    // Embed, with a vector of null for a blank line.
    let found = post(address, "/api/embed", &json!({"model": "mlm", "text": ["the dog", " "]})).expect(200);
    assert!(found["results"][0]["vector"].is_array() && found["results"][1]["vector"].is_null());
    // No model classifies.
    post(address, "/api/classify", &json!({"text": "a"})).expect(404);
    // Explain.
    for (model, text) in
        [("en-de", "1 2 3"), ("lm", "the dog"), ("mlm", "the <mask>"), ("fr-de", "the dog sees Ben")]
    {
        let found = post(address, "/api/explain", &json!({"model": model, "text": text})).expect(200);
        assert_eq!(found["title"], model);
        assert!(!found["maps"].as_array().unwrap().is_empty(), "{model}");
    }
    let asked = json!({"model": "en-de", "text": "1 2 3", "target": "9 9"});
    assert_eq!(post(address, "/api/explain", &asked).expect(200)["written"][0]["token"], "9");
    let asked = json!({"model": "lm", "text": "the", "target": "9"});
    post(address, "/api/explain", &asked).expect(422);
    let models = get(address, "/api/models").expect(200);
    let pipeline = Pipeline::load(fixture("transformer-post")).unwrap();
    let beam_width = pipeline.config().decode.beam_width;
    let parameters = pipeline.n_weights();
    assert_eq!(
        models["models"][0],
        json!({"name": "en-de", "task": "translate", "source": "en", "target": "de",
        "parameters": parameters, "max_len": 48, "beam_width": beam_width, "embeds": true, "precision": "f32"})
    );
    let limits = json!({
        "characters": config().limits.characters, "texts": 2048, "beam_width": 16, "n_best": 11,
        "max_new_tokens": 4096
    });
    assert_eq!(models["limits"], limits);
}

#[test]
fn exact_tokens_are_continued_and_explained() {
    let server = Running::start(config());
    let address = server.address;
    let asked = json!({"model": "lm", "prompt": "the", "max_new_tokens": 9});
    let free = post(address, "/api/generate", &asked).expect(200);
    let asked = json!({"model": "lm", "text": "the", "target_tokens": free["tokens"]});
    let found = post(address, "/api/explain", &asked).expect(200);
    let read = found["tgt"].as_array().unwrap();
    assert!(read.ends_with(free["tokens"].as_array().unwrap()), "{found}");
    // What was read is continued by what was written.
    let begun = &read[..read.len() - 5];
    let asked = json!({"model": "lm", "prompt_tokens": begun, "temperature": 0, "max_new_tokens": 1});
    let next = post(address, "/api/generate", &asked).expect(200);
    let written = &found["written"][begun.len() - 1];
    let likeliest = written["alternatives"][0]["probability"].as_f64() > written["probability"].as_f64();
    let likeliest = if likeliest { &written["alternatives"][0] } else { written };
    assert_eq!(next["tokens"], json!([likeliest["token"]]));
    assert!(next["prompt"].as_str().unwrap().starts_with("the"));

    let asked = json!({"model": "en-de", "text": "1 2 3", "target_tokens": ["9", "8"]});
    let found = post(address, "/api/explain", &asked).expect(200);
    assert_eq!(found["written"][1]["token"], "8");
    for (path, wrong, named) in [
        ("/api/explain", json!({"model": "en-de", "text": "1", "target_tokens": ["xyz"]}), "xyz"),
        (
            "/api/explain",
            json!({"model": "en-de", "text": "1", "target": "9", "target_tokens": ["9"]}),
            "not both",
        ),
        ("/api/generate", json!({"model": "lm", "prompt_tokens": ["xyz"]}), "xyz"),
        ("/api/generate", json!({"model": "lm", "prompt": "the", "prompt_tokens": ["e"]}), "not both"),
        ("/api/generate", json!({"model": "lm"}), "missing"),
    ] {
        let error = post(address, path, &wrong).expect(422);
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn everything_is_described() {
    let server = Running::start(config());
    let found = get(server.address, "/openapi.json").expect(200);
    let info = json!({
        "title": "Attentive",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Models that translate, generate, fill, tag, classify and embed text.",
        "license": {"name": "MIT OR Apache-2.0"},
    });
    assert_eq!(found["info"], info);
    let paths = found["paths"].as_object().unwrap();
    for path in [
        "/translate",
        "/languages",
        "/detect",
        "/health",
        "/frontend/settings",
        "/v2/translate",
        "/v2/languages",
        "/v2/usage",
        "/v1/completions",
        "/v1/models",
        "/v1/models/{id}",
        "/v1/embeddings",
        "/api/models",
        "/api/translate",
        "/api/generate",
        "/api/fill",
        "/api/tag",
        "/api/classify",
        "/api/embed",
        "/api/explain",
        "/metrics",
        "/livez",
        "/readyz",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    // Every schema that is referred to is there.
    let schemas = &found["components"]["schemas"];
    let text = found.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.get(name).is_some(), "{name}");
    }
    let page = get(server.address, "/");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").is_some());
    for name in ["Translate", "Generate"] {
        let schema = &found["components"]["schemas"][name];
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        assert!(schema["allOf"].is_null() && schema["properties"]["model"].is_object(), "{schema}");
    }
    let width = &found["components"]["schemas"]["Translate"]["properties"]["beam_width"];
    assert_eq!((&width["minimum"], width["description"].is_string()), (&json!(1), true), "{width}");
}
