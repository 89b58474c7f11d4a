//! `attentive serve`: files, the language of a text, and parts that are no language.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::serve_translate::lines;
use crate::support::http::{Reply, get, post, post_with};
use crate::support::serving::{Running, config, until};

/// The head and the body of a form with a file and fields.
fn form((name, content): (&str, &str), fields: &[(&str, &str)]) -> (&'static str, String) {
    let mut body = String::new();
    for (field, value) in fields {
        body += &format!("--X\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{value}\r\n");
    }
    body += &format!(
        "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--X--\r\n"
    );
    ("Content-Type: multipart/form-data; boundary=X\r\n", body)
}

/// Pages send the fields of other requests as such forms, too.
#[test]
fn forms_without_a_file_are_requests() {
    let server = Running::start(config());
    let address = server.address;
    let form = |fields: &[(&str, &str)]| {
        let (head, body) = form(("a.txt", "1"), fields);
        let file = body.find("--X\r\nContent-Disposition: form-data; name=\"file\"").unwrap();
        (head, format!("{}--X--\r\n", &body[..file]))
    };
    let post = |path: &str, (head, body): (&str, String)| post_with(address, path, head, &body);
    let languages = [("source", "en"), ("target", "de")];
    let translate = |texts: &[&str]| {
        let texts = texts.iter().map(|text| ("q", *text));
        form(&texts.chain(languages).collect::<Vec<_>>())
    };
    let plain = |q: Value| {
        let asked = json!({"q": q, "source": "en", "target": "de"});
        crate::support::http::post(address, "/translate", &asked).expect(200)
    };
    assert_eq!(post("/translate", translate(&["1 2"])).expect(200), plain(json!("1 2")));
    assert_eq!(post("/translate", translate(&["1 2", "3"])).expect(200), plain(json!(["1 2", "3"])));
    assert_eq!(post("/detect", form(&[("q", "Hello")])).status, 200);
    let deepl = form(&[("text", "1 2"), ("source_lang", "EN"), ("target_lang", "DE")]);
    assert_eq!(post("/v2/translate", deepl).status, 200);
    let with_file = self::form(("a.txt", "1"), &languages);
    let refused = post("/translate", with_file).expect(400);
    assert!(refused["error"].as_str().unwrap().contains("files are not translated here"), "{refused}");
    // As LibreTranslate's own tests ask.
    assert_eq!(get(address, "/spec").expect(200), get(address, "/openapi.json").expect(200));
    for (fields, expected) in [
        (vec![("q", "Hello"), ("source", "en"), ("target", "zz")], "zz is not supported"),
        (vec![("q", "Hello"), ("source", "zz"), ("target", "de")], "zz is not supported"),
        (languages.to_vec(), "Invalid request: missing q parameter"),
    ] {
        assert_eq!(post("/translate", form(&fields)).expect(400)["error"], expected);
    }
}

fn upload(address: SocketAddr, path: &str, file: (&str, &str), fields: &[(&str, &str)]) -> Reply {
    let (head, body) = form(file, fields);
    post_with(address, path, head, &body)
}

fn srt(text: &str) -> String {
    format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n")
}

#[test]
fn files_are_translated_by_all_apis() {
    let (lines, expected) = lines("transformer-post");
    let (source, expected) = (srt(&lines[3]), srt(&expected[3]));
    let server = Running::start(config());
    let address = server.address;

    let asked = json!({"model": "en-de", "name": "a.srt", "text": source});
    let found = post(address, "/api/translate_file", &asked).expect(200);
    assert_eq!((&found["text"], &found["name"]), (&json!(expected), &json!("a.srt")));

    let fields = [("source", "en"), ("target", "de")];
    let found = upload(address, "/translate_file", ("a.srt", &source), &fields).expect(200);
    let url = found["translatedFileUrl"].as_str().unwrap();
    let (_, path) = url.split_once("localhost").unwrap();
    for _ in 0..2 {
        let file = get(address, path);
        assert_eq!((file.status, &*file.body), (200, &*expected));
        assert_eq!(file.header("content-disposition"), Some("attachment; filename*=UTF-8''a.srt"));
    }

    let fields = [("source_lang", "EN"), ("target_lang", "DE")];
    let ticket = upload(address, "/v2/document", ("dir/b ü.srt", &source), &fields).expect(200);
    let (id, key) =
        (ticket["document_id"].as_str().unwrap(), json!({"document_key": ticket["document_key"]}));
    let status = format!("/v2/document/{id}");
    until("the document is done", || post(address, &status, &key).expect(200)["status"] == "done");
    let done = post(address, &status, &key).expect(200);
    assert_eq!(done["billed_characters"], source.chars().count());
    post(address, &status, &json!({"document_key": "x"})).expect(404);
    let file = post(address, &format!("{status}/result"), &key);
    assert_eq!((file.status, &*file.body), (200, &*expected));
    assert_eq!(file.header("content-disposition"), Some("attachment; filename*=UTF-8''b%20%C3%BC.srt"));
    // It is released.
    post(address, &format!("{status}/result"), &key).expect(404);

    // A long name keeps its end, and the address its scheme.
    let (name, fields) = (format!("{}.srt", "a".repeat(400)), [("source", "en"), ("target", "de")]);
    let (head, body) = form((&name, &source), &fields);
    let found =
        post_with(address, "/translate_file", &format!("{head}X-Forwarded-Proto: https, http\r\n"), &body);
    let url = found.expect(200)["translatedFileUrl"].as_str().unwrap().to_owned();
    let path = url.strip_prefix("https://localhost").unwrap();
    let file = get(address, path);
    assert!(file.header("content-disposition").unwrap().ends_with("aaa.srt"), "{file:?}");

    let settings = get(address, "/frontend/settings").expect(200);
    assert_eq!(settings["filesTranslation"], true);
    assert!(settings["supportedFilesFormat"].as_array().unwrap().contains(&json!(".srt")));
}

/// Requests of different APIs have descriptions of their own.
#[test]
fn forms_with_a_file_are_described() {
    let server = Running::start(config());
    let all = get(server.address, "/openapi.json").expect(200);
    for (path, fields) in [
        ("/translate_file", ["file", "source", "target"]),
        ("/v2/document", ["file", "source_lang", "target_lang"]),
    ] {
        let content = &all["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"];
        let name = content["schema"]["$ref"].as_str().unwrap().trim_start_matches('#');
        let described = &all.pointer(name).unwrap()["properties"];
        assert!(fields.iter().all(|field| described[field].is_object()), "{path}: {described}");
    }
}

#[test]
fn wrong_files_are_refused() {
    let server = Running::start(config());
    let address = server.address;
    let fields = [("source", "en"), ("target", "de")];
    for (name, content, words) in [
        ("a.docx", "PK", "the file extension `.docx` is not supported"),
        ("a", "x", "no extension"),
        ("a.json", "{", "not JSON"),
        ("a.xml", "<a>", "line 1, column 1"),
        ("a.po", "msgid \"", "line 1"),
    ] {
        let reply = upload(address, "/translate_file", (name, content), &fields);
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.body.contains(words), "{reply:?}");
    }
    // What DeepL's clients send besides is named; a short text may be in any language.
    let fields = [("target_lang", "DE"), ("foo", "1")];
    for text in ["Two men.", "Menu", "Garden"] {
        let reply = upload(address, "/v2/document", ("a.txt", text), &fields);
        assert_eq!((reply.status, reply.header("x-warnings")), (200, Some("`foo` is ignored")), "{reply:?}");
        let ticket = reply.json();
        let path = format!("/v2/document/{}", ticket["document_id"].as_str().unwrap());
        let key = json!({"document_key": ticket["document_key"]});
        until("it is translated", || post(address, &path, &key).expect(200)["status"] == "done");
    }
    // A document that cannot be read is found out later.
    let deepl = [("target_lang", "DE"), ("source_lang", "EN")];
    let ticket = upload(address, "/v2/document", ("a.json", "{"), &deepl).expect(200);
    let path = format!("/v2/document/{}", ticket["document_id"].as_str().unwrap());
    let key = json!({"document_key": ticket["document_key"]});
    until("the document has failed", || post(address, &path, &key).expect(200)["status"] == "error");
    assert!(post(address, &path, &key).expect(200)["error_message"].as_str().unwrap().contains("not JSON"));

    let reply = upload(address, "/translate_file", ("a.txt", "1"), &[("source", "en")]);
    assert_eq!(reply.status, 400, "{reply:?}");
    let reply = post_with(address, "/translate_file", "Content-Type: text/plain\r\n", "x");
    assert_eq!(reply.status, 415, "{reply:?}");
    let (form, _) = form(("", ""), &[]);
    for body in ["", "--X", "--X\r\nContent-Disposition: form-data; name=\"file\"", "--X--\r\n", "x"] {
        let reply = post_with(address, "/translate_file", form, body);
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
    }
    let many: String = (0..100)
        .map(|n| format!("--X\r\nContent-Disposition: form-data; name=\"f{n}\"\r\n\r\n1\r\n"))
        .collect();
    let reply = post_with(address, "/translate_file", form, &format!("{many}--X--\r\n"));
    assert!(reply.status == 400 && reply.body.contains("fields"), "{reply:?}");
    let two = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n1\r\n";
    let reply = post_with(address, "/translate_file", form, &format!("{two}{two}--X--\r\n"));
    assert!(reply.status == 400 && reply.body.contains("more than one file"), "{reply:?}");
    get(address, "/download_file/unknown.txt").expect(404);
}

#[test]
fn languages_are_those_of_the_models() {
    let server = Running::start(config());
    let address = server.address;
    let detect = |path: &str, body: Value| post(address, path, &body).expect(200);
    // Models here read English and French, and write German.
    let german = "Der alte Lehrer gibt den Kindern ein Buch und geht dann langsam nach Hause.";
    let english = "The old teacher gives the children a book, and then they walk home through the park with their mother.";
    let among = detect("/detect", json!({"q": german}))[0]["language"].clone();
    assert!(among == "en" || among == "fr", "{among}");
    assert_eq!(detect("/detect", json!({"q": english}))[0]["language"], "en");
    assert_eq!(detect("/api/detect", json!({"text": german}))["language"], "de");
    assert_eq!(detect("/api/detect", json!({"text": english}))["language"], "en");
    // A script that no model reads.
    let thai = detect("/detect", json!({"q": "ผู้ชายคนหนึ่งเดินไปตามถนนกับสุนัขของเขา"}));
    assert_eq!((thai.as_array().unwrap().len(), &thai[0]["confidence"]), (1, &json!(0.0)));
    // Markup is not the language of a file, nor of a text with markup.
    let tags = "<em class=\"the children and their mother with the book of the teacher\">".repeat(20);
    let page =
        format!("{tags}<p>Le vieux professeur donne un livre aux enfants et rentre lentement chez lui.</p>");
    assert_eq!(detect("/api/detect", json!({"text": page, "name": "a.html"}))["language"], "fr");
    let asked = json!({"q": page, "source": "auto", "target": "de", "format": "html"});
    assert_eq!(detect("/translate", asked)["detectedLanguage"]["language"], "fr");
    for short in ["", "12:30", "ok"] {
        assert_eq!(detect("/api/detect", json!({"text": short}))["language"], Value::Null);
    }
}

#[test]
fn placeables_and_probabilities() {
    let (lines, expected) = lines("transformer-post");
    let server = Running::start(config());
    let address = server.address;
    let with = format!("{{name}} {} %s", lines[3]);
    let ask = |body: Value| post(address, "/api/translate", &body).expect(200)["results"][0].clone();
    let found = ask(json!({"model": "en-de", "text": with}));
    let whole = format!("{{name}} {} %s", expected[3]);
    assert_eq!(found["translations"][0]["text"], json!(whole));
    let sentence = &found["sentences"][0];
    assert_eq!((&sentence["before"], &found["after"]), (&json!("{name} "), &json!(" %s")));
    let probability = sentence["probability"].as_f64().unwrap();
    let tokens = found["translations"][0]["tokens"].as_array().unwrap();
    assert!(probability > 0.0 && probability <= 1.0 && !tokens.is_empty());

    // Inside a sentence: by alignment, in a stream, too.
    let (first, rest) = lines[3].split_once(' ').unwrap();
    let inside = format!("{first} {{name}} {rest}");
    let found = ask(json!({"model": "en-de", "text": inside}));
    let text = found["translations"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("{name}").count(), 1, "{found}");
    let without: Vec<&str> = text.split_whitespace().filter(|word| *word != "{name}").collect();
    assert_eq!(without.join(" "), expected[3]);
    assert_eq!(found["sentences"][0]["source"], json!(inside));
    assert_eq!(found["sentences"][0]["translation"], found["translations"][0]["text"]);
    let stream = post(address, "/api/translate", &json!({"model": "en-de", "text": inside, "stream": true}));
    assert!(stream.body.contains("event: result") && stream.body.contains(text), "{stream:?}");

    // Where the model must read them, a warning says what it lost.
    let found = ask(json!({"model": "en-de", "text": inside, "alignments": true}));
    assert!(found["warnings"].to_string().contains("lacks `{name}`"), "{found}");
    let found = ask(json!({"model": "en-de", "text": inside, "keep_placeables": false}));
    assert!(found["warnings"].to_string().contains("lacks `{name}`"), "{found}");
    let asked = json!({"model": "en-de", "text": inside, "alignments": true, "keep_placeables": true});
    post(address, "/api/translate", &asked).expect(422);

    let chat = json!({"model": "en-de", "messages": [{"role": "user", "content": inside}]});
    let answer = post(address, "/v1/chat/completions", &chat).expect(200);
    assert_eq!(answer["choices"][0]["message"]["content"], json!(text));
    let chat = json!({"model": "en-de", "stream": true, "messages": [{"role": "user", "content": inside}]});
    let stream = post(address, "/v1/chat/completions", &chat);
    assert!(stream.body.contains(&json!({"content": text}).to_string()), "{stream:?}");
    for (path, asked, place) in [
        ("/translate", json!({"q": inside, "source": "en", "target": "de"}), "/translatedText"),
        (
            "/v2/translate",
            json!({"text": [inside], "source_lang": "EN", "target_lang": "DE"}),
            "/translations/0/text",
        ),
    ] {
        let found = post(address, path, &asked).expect(200);
        assert_eq!(found.pointer(place), Some(&json!(text)), "{path}");
    }
}
