//! Translation.

use std::process::Command;

use serde_json::{Value, json};

use crate::page::{Page, visit};
use crate::server::Server;

/// Models of a direction and back.
pub(crate) const BOTH_WAYS: [(&str, &str); 2] = [("en-de", "transformer"), ("de-en", "transformer")];

/// Whether the text that is in the field now is translated: nothing is marked for a moment after typing, but
/// what is shown belongs to another text.
pub(crate) const DONE: &str = "(() => {
    const sourceOf = (result) => {
        const copy = result.cloneNode(true);
        copy.querySelectorAll('.sentence').forEach((one) => (one.textContent = one.getAttribute('aria-description')));
        return copy.textContent;
    };
    const text = document.getElementById('text').value;
    return document.querySelector('.result .sentence') && !document.querySelector('[aria-busy], .growing')
        && [...document.querySelectorAll('.result')].every((result) => sourceOf(result) === text);
})()";

/// Watches the first result: `window.seen` are the texts that it has shown while it was growing.
const WATCH: &str = "
    window.seen = [];
    new MutationObserver(() => {
        const text = document.querySelector('.growing')?.textContent;
        if (text && seen.at(-1) !== text) seen.push(text);
    }).observe(document.querySelector('.result'), { childList: true, subtree: true, characterData: true });";

/// The first translation of the text in the field, with all its blanks, once it is complete and `is_right`.
#[track_caller]
pub(crate) fn translation(page: &Page, is_right: impl Fn(&str) -> bool) -> String {
    let shown = format!("{DONE} ? document.querySelector('.result .text').textContent : null");
    page.read(&shown, |text: &String| is_right(text))
}

/// Puts a long `text` into the field, as pasting does.
pub(crate) fn paste(page: &Page, text: &str) {
    page.act(&format!(
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
        page.wait_for("h2");
        page.act(WATCH);
        page.write("#text", &"1 2 3 4 5 6 7 8 9 ".repeat(12));
        let first = translation(page, |_| true);
        page.until("seen.length > 0");
        page.text(".status", |status| status.starts_with("1 sentence in "));
        // What was typed outlasts reloading the page, but gets neither into the history nor into other tabs.
        page.until("sessionStorage.getItem('attentive-text')");
        // The address changes a moment after the text.
        page.until("location.href.includes('model=one')");
        page.expect("location.href.includes('1+2')", false);
        page.reload();
        translation(page, |text| text == first);
        page.expect("localStorage.length", 0);
    });
}

#[test]
fn languages_have_names_and_can_be_swapped() {
    let server = Server::start(&BOTH_WAYS, &[], "");
    visit(server.address(), |page| {
        page.text("#from option:checked", |name| name == "English");
        page.text("#to option:checked", |name| name == "German");
        page.write("#text", "1 2 3 4");
        let there = translation(page, |_| true);
        page.press("#swap");
        page.expect("document.getElementById('model').value", "de-en");
        page.text("#from option:checked", |name| name == "German");
        page.expect("document.getElementById('text').value", there.as_str());
        let back = server.translation("de-en", &there);
        translation(page, |text| text == back);
        // Nothing can be compared: the other model reads another language.
        page.expect("document.getElementById('comparison').hidden", true);
        page.choose("#from", "en");
        page.expect("document.getElementById('model').value", "en-de");
    });
    // One direction: there is nothing to choose, and the button says why it does nothing.
    let server = Server::start(&BOTH_WAYS[..1], &[], "");
    visit(server.address(), |page| {
        page.texts("#bar .only", |all| all.join(" ").trim_end() == "English German en-de none");
        page.expect("document.querySelectorAll('#bar select:not([hidden])').length", 0);
        page.expect("document.getElementById('comparison').hidden", true);
        page.press("#swap");
        page.text("#swap-reason", |reason| reason == "No model here translates German into English.");
    });
}

#[test]
fn models_of_the_same_task_stand_side_by_side() {
    let models = [("one", "transformer"), ("two", "transformer"), ("lm", "decoder_only")];
    let server = Server::start(&models, &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, |page| {
        page.texts("#other option", |all| all == ["none", "two"]);
        page.choose("#other", "two");
        page.texts("h2", |all| all == ["Translation", "Translation"]);
        page.texts(".panel .name", |all| all == ["one", "two"]);
        translation(page, |_| true);
        page.texts(".result .sentence", |all| all.len() == 2);
        // Those of one light up with those of the other.
        page.point(".result .sentence");
        page.until("document.querySelectorAll('.sentence.lit').length === 3");
        page.press(".microscope > summary");
        page.until("document.querySelectorAll('.microscope .map-frame canvas').length === 2");
        page.choose("#model", "two");
        page.until("document.querySelectorAll('.panel').length === 1");
        page.texts("#other option", |all| all == ["none", "one"]);
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
        let before = translation(page, |_| true);
        server.stop();
        page.keys("\n4 5 6");
        page.text(".panel .problem", |problem| problem.contains("cannot be reached"));
        page.text(".result .text", |shown| shown.starts_with(&before));
        page.until(
            "[...document.querySelectorAll('.foot button')].some((one) => one.textContent === 'Go on' && \
                    !one.hidden)",
        );
    });
}

/// The arguments that a shell makes of a command of `curl`, one a line.
fn arguments(command: &str) -> String {
    let printed = command.replacen("curl", "printf '%s\\n'", 1);
    let mut shell = Command::new("sh");
    let outcome = shell.args(["-c", &printed]).output().unwrap();
    String::from_utf8(outcome.stdout).unwrap()
}

#[test]
fn the_command_is_quoted_for_a_shell() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "it's $1 `x` \"2\"");
        translation(page, |_| true);
        page.press("#command-box > summary");
        let body = json!({"model": "one", "text": "it's $1 `x` \"2\""});
        let expected = format!("-s\n{}/api/translate\n--json\n{body}\n", server.address());
        page.text("#command", |command| arguments(command) == expected);
        // A long text comes from a file.
        paste(page, &"1 2 3 4 5 ".repeat(1000));
        page.text("#command", |command| command.starts_with("jq ") && command.len() < 300);
    });
}

#[test]
fn the_api_is_one_click_away() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.press("#reference-box > summary");
        page.texts("#reference dt", |all| {
            all.len() > 20 && all.iter().any(|one| one == "POST /api/translate")
        });
        page.texts("#reference dd", |all| (all.iter()).all(|text| !text.is_empty() && !text.contains('`')));
        page.texts("#reference h3", |all| {
            all == ["Attentive", "LibreTranslate", "DeepL", "OpenAI", "Operation"]
        });
        // None is missing, but for the questions that browsers ask before a request.
        let described = server.get("/openapi.json");
        let methods = described["paths"].as_object().unwrap().values().filter_map(Value::as_object);
        let methods = methods.flat_map(serde_json::Map::keys).filter(|method| *method != "options");
        page.expect("document.querySelectorAll('#reference dt').length", methods.count());
        for width in [1400, 390] {
            page.resize(width);
            page.picture(&format!("api-{width}"));
            page.expect("document.documentElement.scrollWidth", width);
        }
        page.press("#api-link");
        page.until(
            "location.pathname === '/openapi.json' && document.body.textContent.includes('/api/translate')",
        );
    });
}
