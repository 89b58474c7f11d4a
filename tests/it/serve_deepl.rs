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

/// The tags of `xml`, in order.
fn tags(xml: &str) -> Vec<&str> {
    let parts = xml.split_inclusive('>').filter_map(|part| Some(&part[part.find('<')?..]));
    parts.filter(|tag| !tag.starts_with("<![CDATA[")).collect()
}

#[test]
fn xml_keeps_its_tree() {
    let server = Running::start(config());
    let ask = |xml: &str, more: &Value| {
        let mut asked =
            json!({"text": [xml], "target_lang": "DE", "source_lang": "EN", "tag_handling": "xml"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(server.address, "/v2/translate", &asked)
    };
    let translated = |xml: &str, more: &Value| -> String {
        ask(xml, more).expect(200)["translations"][0]["text"].as_str().unwrap().to_owned()
    };
    let xml = "<?xml version='1.0'?>\n<!DOCTYPE R [<!ENTITY e 'x'>]>\n<R xmlns:p=\"u\"><p:A n='1>2'>1 2 3</p:A>\
               <link>4 5</link><!-- > --><Br/><c><![CDATA[6 & 7]]></c></R>\n";
    let found = translated(xml, &json!({}));
    assert_eq!(tags(&found), tags(xml), "{found}");
    assert!(found.contains("<c><![CDATA[") && found.contains("]]></c>"), "{found}");
    assert_ne!(found, xml);
    let kept = translated("<r><a>1 2</a><b>3 4</b></r>", &json!({"ignore_tags": ["a", "x"]}));
    assert!(kept.contains("<a>1 2</a>") && !kept.contains("<b>3 4</b>"), "{kept}");
    for more in [
        json!({"ignore_tags": "a,b"}),
        json!({"ignore_tags": ["a", "b"], "splitting_tags": "r", "non_splitting_tags": [], "outline_detection": false}),
    ] {
        let xml = "<r><a>1 2</a><b>3 4</b></r>";
        assert_eq!(translated(xml, &more), xml, "{more}");
    }
    let two = "<r><a>1 2</a><b>3 4</b></r>";
    let usual = translated(two, &json!({}));
    let nulls = json!({"outline_detection": null, "ignore_tags": null, "splitting_tags": null});
    assert_eq!(translated(two, &nulls), usual);
    let form = "text=%3Ca%3E1+2%3C%2Fa%3E&target_lang=DE&source_lang=EN&tag_handling=xml&ignore_tags=b&ignore_tags=a\
                &outline_detection=0";
    let found = post_form(server.address, "/v2/translate", form).expect(200);
    assert_eq!(found["translations"][0]["text"], "<a>1 2</a>");
    let refused = ask("<a>1\n  2</b>", &json!({})).expect(400);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("not well-formed: line 2, column 4"), "{message}");
    ask("<a/>", &json!({"ignore_tags": 3})).expect(400);
}

/// A field changes something, is refused, or is named in a warning.
#[test]
fn no_field_is_dropped_in_silence() {
    let server = Running::start(config());
    let warned = |path: &str, base: &Value, more: Value| {
        let mut asked = base.clone();
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = post(server.address, path, &asked);
        assert_eq!(reply.status, 200, "{reply:?}");
        (reply.header("x-warnings").unwrap_or_default().to_owned(), reply.expect(200))
    };
    let deepl = json!({"text": ["1 2"], "source_lang": "EN", "target_lang": "DE"});
    let translate = |more| warned("/v2/translate", &deepl, more);
    for (field, value) in [
        ("context", json!("a text")),
        ("style_id", json!("s")),
        ("custom_instructions", json!(["be short"])),
        ("anything", json!({"else": [1]})),
    ] {
        assert_eq!(translate(json!({field: value})).0, format!("`{field}` is ignored"));
    }
    assert_eq!(translate(json!({"context": "", "style_id": null})).0, "");
    assert_eq!(translate(json!({"y": false, "x": []})).0, "`x`, `y` are ignored");
    let many: serde_json::Map<String, Value> = (0..20).map(|n| (format!("f{n:02}"), json!(n))).collect();
    let told = translate(Value::Object(many)).0;
    assert!(told.starts_with("`f00`, `f01`") && told.ends_with("`f07` and 12 more are ignored"), "{told}");
    // Before warnings about texts, of which only some are told.
    let texts: Vec<String> = (0..9).map(|n| format!("猫{n}")).collect();
    let (told, _) = translate(json!({"text": texts, "context": "x"}));
    assert!(told.starts_with("`context` is ignored; "), "{told}");
    let glossary = json!({"name": "g", "source_lang": "EN", "target_lang": "DE", "entries": "a\tb", "x": 1});
    let created = post(server.address, "/v2/glossaries", &glossary);
    assert_eq!((created.status, created.header("x-warnings")), (201, Some("`x` is ignored")), "{created:?}");
    let html = json!({"ignore_tags": ["a"], "tag_handling": "html"});
    assert_eq!(translate(html).0, "`ignore_tags` is ignored without `tag_handling=xml`");
    let outline = json!({"outline_detection": false});
    assert_eq!(translate(outline).0, "`outline_detection` is ignored without `tag_handling=xml`");
    // Fields of objects, of the URL, and of requests that have none.
    let draft = json!({"source_lang": "EN", "target_lang": "DE", "entries": "a\tb", "x": 1});
    let several = post(server.address, "/v3/glossaries", &json!({"name": "g", "dictionaries": [draft]}));
    assert_eq!(several.header("x-warnings"), Some("`dictionaries.0.x` is ignored"), "{several:?}");
    for path in
        ["/v2/usage", "/v2/languages", "/v2/glossaries", "/v3/glossaries", "/v2/glossary-language-pairs"]
    {
        let reply = get(server.address, &format!("{path}?x=1"));
        assert_eq!((reply.status, reply.header("x-warnings")), (200, Some("`x` is ignored")), "{path}");
    }
    assert_eq!(translate(json!({"preserve_formatting": true, "enable_beta_languages": false})).0, "");
    for (asked, used) in [
        ("latency_optimized", "latency_optimized"),
        ("quality_optimized", "quality_optimized"),
        ("prefer_quality_optimized", "quality_optimized"),
    ] {
        let (warnings, found) = translate(json!({"model_type": asked}));
        assert_eq!((&*warnings, &found["translations"][0]["model_type_used"]), ("", &json!(used)));
    }
    let unknown = json!({"text": ["1"], "target_lang": "DE", "source_lang": "EN", "model_type": "best"});
    post(server.address, "/v2/translate", &unknown).expect(400);

    let libre = json!({"q": "1 2", "source": "en", "target": "de"});
    assert_eq!(warned("/translate", &libre, json!({"x": 1, "y": null})).0, "`x` is ignored");
    assert_eq!(warned("/detect", &json!({"q": "1"}), json!({"x": 1})).0, "`x` is ignored");
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
    refuse(json!({"text": ["1"], "source_lang": "EN", "target_lang": "FR"}), 400, "target_lang");
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
