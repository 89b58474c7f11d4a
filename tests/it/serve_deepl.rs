//! `attentive serve`: the API of DeepL.

use serde_json::{Value, json};

use crate::serve_translate::lines;
use crate::support::http::{get, post, post_form};
use crate::support::serving::{Running, config};

#[test]
fn deepl_speaks_to_its_clients() {
    let (lines, expected) = lines("transformer-post");
    let server = Running::start(config());
    let address = server.address;
    let asked =
        json!({"text": lines[..5], "source_lang": "EN", "target_lang": "DE", "show_billed_characters": true});
    let found = post(address, "/v2/translate", &asked).expect(200);
    for (n, one) in found["translations"].as_array().unwrap().iter().enumerate() {
        assert_eq!(one["text"], json!(expected[n]));
        assert_eq!(one["detected_source_language"], "EN");
        assert_eq!(one["billed_characters"], lines[n].chars().count());
    }
    let form = "text=1+2+3&text=9&target_lang=de&source_lang=en";
    let found = post_form(address, "/v2/translate", form).expect(200);
    assert_eq!(found["translations"].as_array().unwrap().len(), 2);
    // Each text has a language of its own.
    let texts =
        ["The dog sees the old house and hears Ben.", "Le chien voit la vieille maison et entend Ben."];
    let asked = json!({"text": texts, "target_lang": "DE"});
    let found = post(address, "/v2/translate", &asked).expect(200);
    let languages = found["translations"].as_array().unwrap().iter();
    let languages: Vec<_> = languages.map(|one| one["detected_source_language"].clone()).collect();
    assert_eq!(languages, ["EN", "FR"]);
    let asked = json!({"text": ["<p>1 <i>2</i></p>"], "target_lang": "DE", "source_lang": "EN", "tag_handling": "html"});
    let found = post(address, "/v2/translate", &asked).expect(200);
    assert!(found["translations"][0]["text"].as_str().unwrap().contains("<i>"));
    let sources = get(address, "/v2/languages").expect(200);
    assert_eq!(sources, json!([{"language": "EN", "name": "English"}, {"language": "FR", "name": "French"}]));
    let targets = get(address, "/v2/languages?type=target").expect(200);
    assert_eq!(targets, json!([{"language": "DE", "name": "German", "supports_formality": false}]));
    let usage = get(address, "/v2/usage").expect(200);
    assert!(usage["character_count"].as_u64().unwrap() > 0);
}

#[test]
fn deepl_refuses_in_its_own_way() {
    let server = Running::start(config());
    let refuse = |asked: Value, status: u16, words: &str| {
        let found = post(server.address, "/v2/translate", &asked).expect(status);
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    };
    refuse(json!({"target_lang": "DE"}), 400, "text");
    refuse(json!({"text": ["1"]}), 400, "target_lang");
    refuse(json!({"text": ["1"], "target_lang": "IT"}), 400, "target_lang");
    refuse(json!({"text": ["1"], "source_lang": "DE", "target_lang": "DE"}), 400, "source_lang");
    refuse(json!({"text": ["1"], "target_lang": "DE", "tag_handling": "pdf"}), 400, "tag_handling");
    refuse(json!({"text": ["1"], "target_lang": "DE", "formality": "more"}), 400, "formality");
    refuse(
        json!({"text": ["1"], "target_lang": "DE", "glossary_id": "g"}),
        400,
        "Use of a glossary requires the source_lang",
    );
    assert_eq!(
        get(server.address, "/v2/none").expect(404)["message"],
        "there is no such path; `/openapi.json` lists all paths"
    );
    assert_eq!(get(server.address, "/v2/translate").status, 405);
}
