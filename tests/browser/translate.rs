//! Translation.

use serde_json::json;

use crate::page::{Page, visit};
use crate::server::Server;

/// Models of a direction and back.
pub(crate) const BOTH_WAYS: [(&str, &str); 2] =
    [("en-de", "transformer"), ("de-en", "transformer")];

/// Whether everything is translated.
pub(crate) const DONE: &str =
    "document.querySelector('.result .sentence') && !document.querySelector('[aria-busy]')";

/// Watches the first result: `window.seen` are the texts that it has shown while it was growing.
const WATCH: &str = "
    window.seen = [];
    new MutationObserver(() => {
        const text = document.querySelector('.growing')?.textContent;
        if (text && seen.at(-1) !== text) seen.push(text);
    }).observe(document.querySelector('.result'), { childList: true, subtree: true, characterData: true });";

/// The text of the first translation with all its blanks.
pub(crate) fn translation(page: &Page) -> String {
    page.until(DONE);
    let text = page.run("return document.querySelector('.result .text').textContent");
    text.as_str().unwrap().to_owned()
}

/// Puts a long `text` into the field, as pasting does.
pub(crate) fn paste(page: &Page, text: &str) {
    page.run(&format!(
        "const field = document.getElementById('text');
         field.value = {};
         field.dispatchEvent(new Event('input'));",
        json!(text)
    ));
}

#[test]
fn a_translation_grows_while_typing() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.text("h2");
        page.run(WATCH);
        page.write("#text", &"1 2 3 4 5 6 7 8 9 ".repeat(12));
        let first = translation(page);
        assert!(page.run("return seen.length").as_u64().unwrap() > 0);
        assert!(page.text(".status").starts_with("1 sentence in "));
        // What was typed outlasts reloading the page, but gets neither into the history nor into other tabs.
        page.until("sessionStorage.getItem('attentive-text')");
        assert_eq!(
            page.run("return location.href.includes('1+2')"),
            json!(false)
        );
        page.reload();
        assert_eq!(translation(page), first);
        assert_eq!(page.run("return localStorage.length"), json!(0));
    });
}

#[test]
fn languages_have_names_and_can_be_swapped() {
    let server = Server::start(&BOTH_WAYS, &[], "");
    visit(server.address(), |page| {
        assert_eq!(page.text("#from option:checked"), "English");
        assert_eq!(page.text("#to option:checked"), "German");
        page.write("#text", "1 2 3 4");
        let there = translation(page);
        page.press("#swap");
        page.until("document.getElementById('model').value === 'de-en'");
        assert_eq!(page.text("#from option:checked"), "German");
        page.until(DONE);
        assert_eq!(
            page.run("return document.getElementById('text').value"),
            json!(there)
        );
        assert_eq!(translation(page), server.translation("de-en", &there));
        // Nothing can be compared: the other model reads another language.
        assert_eq!(
            page.run("return document.getElementById('comparison').hidden"),
            json!(true)
        );
        page.choose("#from", "en");
        page.until("document.getElementById('model').value === 'en-de'");
    });
    let server = Server::start(&BOTH_WAYS[..1], &[], "");
    visit(server.address(), |page| {
        page.until("document.getElementById('swap').disabled");
    });
}

#[test]
fn models_of_the_same_task_stand_side_by_side() {
    let models = [
        ("one", "transformer"),
        ("two", "transformer"),
        ("lm", "decoder_only"),
    ];
    let server = Server::start(&models, &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, |page| {
        page.text("h2");
        assert_eq!(page.texts("#other option"), ["none", "two"]);
        page.choose("#other", "two");
        page.until("document.querySelectorAll('.result .sentence').length === 2");
        assert_eq!(page.texts("h2"), ["one", "two"]);
        // Those of one light up with those of the other.
        page.point(".result .sentence");
        page.until("document.querySelectorAll('.sentence.lit').length === 3");
        page.press(".microscope > summary");
        page.until("document.querySelectorAll('.microscope .map-frame canvas').length === 2");
        page.choose("#model", "two");
        page.until("document.querySelectorAll('.panel').length === 1");
        assert_eq!(page.texts("#other option"), ["none", "one"]);
        page.choose("#model", "lm");
        page.until("document.getElementById('comparison').hidden");
    });
}

#[test]
fn a_server_that_is_gone_is_reported_and_nothing_is_lost() {
    let mut server = Server::start(&[("one", "transformer")], &[], "");
    let address = server.address().to_owned();
    visit(&address, |page| {
        page.write("#text", "1 2 3");
        let before = translation(page);
        server.stop();
        page.keys("\n4 5 6");
        let problem = page.text(".panel .problem:not(:empty)");
        assert!(problem.contains("cannot be reached"), "{problem}");
        let shown = page.run("return document.querySelector('.result .text').textContent");
        assert!(shown.as_str().unwrap().starts_with(&before), "{shown}");
        page.until("[...document.querySelectorAll('.foot button')].some((one) => one.textContent === 'Go on' && !one.hidden)");
    });
}

#[test]
fn the_command_is_quoted_for_a_shell() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "it's $1 `x` \"2\"");
        page.press("#command-box > summary");
        let command = page.text("#command:not(:empty)");
        let printed = command.replacen("curl", "printf '%s\\n'", 1);
        let shell = std::process::Command::new("sh")
            .args(["-c", &printed])
            .output()
            .unwrap();
        let printed = String::from_utf8(shell.stdout).unwrap();
        let body = json!({"model": "one", "text": "it's $1 `x` \"2\""});
        let expected = format!("-s\n{}/api/translate\n--json\n{body}\n", server.address());
        assert_eq!(printed, expected);
        // A long text comes from a file.
        paste(page, &"1 2 3 4 5 ".repeat(1000));
        page.until("document.getElementById('command').textContent.startsWith('jq ')");
        assert!(page.text("#command").len() < 300);
    });
}

#[test]
fn the_api_is_one_click_away() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.press("#reference-box > summary");
        page.until("document.querySelectorAll('#reference dt').length > 20");
        assert!(
            page.texts("#reference dt")
                .contains(&"POST /api/translate".to_owned())
        );
        assert!(
            page.texts("#reference dd")
                .iter()
                .all(|text| !text.is_empty() && !text.contains('`'))
        );
        for width in [1400, 390] {
            page.resize(width);
            page.picture(&format!("api-{width}"));
            let wide = page.run("return document.documentElement.scrollWidth");
            assert_eq!(wide, json!(width));
        }
        page.press("#api-link");
        page.until("location.pathname === '/openapi.json' && document.body.textContent.includes('/api/translate')");
    });
}
