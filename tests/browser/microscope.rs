//! What is inside a translation.

use serde_json::Value;

use crate::page::{DOWN, ENTER, ESCAPE, Page, RIGHT, TAB, texts, visit};
use crate::server::Server;
use crate::translate::translation;

const MODEL: [(&str, &str); 1] = [("one", "transformer")];

/// The tokens whose alternatives can be seen.
const TOKENS: &str = ".token-list .token:not([disabled])";

/// The size of the first heat map in weights, and the number of its colors.
const FIRST_MAP: &str = "(() => {
    const { width, height } = document.querySelector('.all canvas');
    const context = document.querySelector('.all canvas').getContext('2d');
    const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
    return { width, height, colors: new Set(pixels).size };
})()";

/// The tokens of the translation without their probabilities, once their alternatives are there and they are
/// right.
#[track_caller]
fn tokens(page: &Page, are_right: impl Fn(&[String]) -> bool) -> Vec<String> {
    let tokens = texts(".token-list .token bdi");
    let examined =
        format!("document.querySelector({TOKENS:?}) && !document.querySelector('[aria-busy]') && {tokens}");
    page.read(&examined, |tokens: &Vec<String>| are_right(tokens))
}

/// A server, and the address of its page with a text and an open microscope.
fn opened() -> (Server, String) {
    let server = Server::start(&MODEL, &[], "");
    let address = format!("{}/#inside=1&text=1+2+3+4+5", server.address());
    (server, address)
}

#[test]
fn it_opens_by_one_click_and_shows_the_best_translations() {
    let server = Server::start(&MODEL, &[], "");
    let address = format!("{}/#text=1+2+3", server.address());
    visit(&address, |page| {
        let first = translation(page, |_| true);
        page.texts(TOKENS, <[_]>::is_empty);
        page.press(".microscope > summary");
        tokens(page, |_| true);
        page.texts(".candidate", |all| all.len() == 3 && all[0].starts_with(&first));
        // Another one of the list becomes the translation.
        page.press(".candidate:nth-child(2)");
        page.wait_for(".candidate:nth-child(2)[aria-checked=true]");
        let second = translation(page, |text| text != first);
        page.texts(".candidate", |all| all[1].starts_with(&second));
    });
}

#[test]
fn the_rest_is_written_anew_after_another_token() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = tokens(page, |_| true);
        page.press(&format!("{TOKENS}:nth-child(2)"));
        let other = page.text(".alternative:not([disabled]) bdi", |other| other != before[1]);
        page.texts(".alternative", |all| all.len() >= 8);
        page.press(".alternative:not([disabled])");
        page.until("document.querySelectorAll('.token.given').length === 2");
        tokens(page, |after| after[0] == before[0] && after[1] == other);
        let changed = translation(page, |text| text.starts_with(&format!("{} {other}", before[0])));
        // The choice stays when something else changes.
        page.press("#text");
        page.keys("\n1");
        page.until("document.querySelectorAll('.result .sentence').length === 2");
        translation(page, |text| text.starts_with(&changed));
        page.until("document.querySelectorAll('.token.given').length === 2");
        page.press(".microscope section > button");
        page.until("document.querySelectorAll('.token.given').length === 0");
        tokens(page, |tokens| tokens == before);
    });
}

/// The heights of all tokens.
const HEIGHTS: &str = "[...document.querySelectorAll('.token-list .token')].map((one) => one.offsetHeight)";

#[test]
fn alternatives_leave_the_tokens_as_they_are() {
    let (_server, address) = opened();
    visit(&address, |page| {
        for width in [1400, 390] {
            page.resize(width);
            tokens(page, |_| true);
            let before: Value = page.read(HEIGHTS, |_| true);
            page.press(&format!("{TOKENS}:nth-child(2)"));
            page.wait_for(".alternative");
            page.expect(HEIGHTS, before);
            page.picture(&format!("alternatives-{width}"));
            page.keys(ESCAPE);
            page.until("!document.querySelector('.alternative')");
        }
    });
}

#[test]
fn the_keyboard_is_enough() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = tokens(page, |_| true);
        page.act("document.querySelector('.microscope [name=best]').focus()");
        page.keys(TAB);
        let focused = "document.activeElement.matches('.token-list .token')";
        page.until(focused);
        page.keys(RIGHT);
        page.keys(ENTER);
        let open = "document.activeElement.matches('.alternative')";
        page.until(open);
        page.keys(ESCAPE);
        page.until(focused);
        page.keys(ENTER);
        page.until(open);
        page.keys(DOWN);
        page.keys(ENTER);
        page.until("document.querySelectorAll('.token.given').length === 2");
        page.until("document.activeElement.matches('.token.given')");
        tokens(page, |after| after[1] != before[1]);
    });
}

#[test]
fn the_attention_is_shown_as_lines_and_as_heat_maps() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let tokens = tokens(page, |_| true);
        page.wait_for(".pair path");
        // One row a token, one column a source token with `</s>`; some of the weights are large.
        let [rows, columns] = [tokens.len(), 6];
        page.texts(".pair .tokens .token bdi", |all| all.len() == rows + columns);
        page.read(FIRST_MAP, |map: &Value| {
            let size = map["height"] == rows && map["width"] == columns;
            size && map["colors"].as_u64() > Some(5)
        });
        page.texts(".all .small", |all| all.len() == 2 * 3);
        page.press(".all .small:nth-of-type(1)");
        page.until("document.querySelector('section:has(> .map-frame) > h3').textContent.includes('head 1')");
        page.press(".pair .tokens .token:nth-child(2)");
        page.text(".readout", |told| told.contains("attends most to") && told.contains("In place of"));
    });
}

#[test]
fn more_translations_than_the_server_gives_are_not_requested() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = translation(page, |_| true);
        page.write("[name=best]", "60");
        translation(page, |text| text == before);
        page.write("[name=best]", "2");
        page.text(".microscope .problem", str::is_empty);
        page.texts(".candidate", |all| all.len() == 2);
    });
}

#[test]
fn what_the_model_cannot_read_is_reported() {
    let server = Server::start(&MODEL, &[], "");
    let address = format!("{}/#text=1+zebra+3", server.address());
    visit(&address, |page| {
        translation(page, |_| true);
        page.texts(".panel .warnings li", |told| told.iter().any(|one| one.contains("zebra")));
    });
}

/// The bits of the chosen head, and the most of all heads.
const BITS: &str = "(() => {
    const heads = [...document.querySelectorAll('.all .small')].filter((one) => +one.dataset.head >= 0);
    const bits = (one) => Number(one.title.match(/[0-9.]+(?= bits)/)[0]);
    const chosen = heads.find((one) => one.getAttribute('aria-pressed') === 'true');
    return chosen ? [bits(chosen), Math.max(...heads.map(bits))] : null;
})()";

#[test]
fn the_head_that_tells_most_comes_first_unless_another_is_chosen() {
    let (_server, address) = opened();
    visit(&address, |page| {
        for text in ["1 2", "1 2 3 4 5 6 7", "9 8 7 1"] {
            page.write("#text", text);
            page.text(".examined", |shown| shown == text);
            page.texts(".pair .tokens:last-of-type .token bdi", |all| {
                all.len() == text.split(' ').count() + 1
            });
            page.read(BITS, |[chosen, most]: &[f64; 2]| chosen == most);
        }
        // The average, which is chosen, stays.
        page.press(".all .small:last-of-type");
        page.write("#text", "5 5 6");
        page.text(".examined", |shown| shown == "5 5 6");
        page.texts(".pair .tokens:last-of-type .token bdi", |all| all.len() == 4);
        page.expect("document.querySelector('.all .small[aria-pressed=true]').dataset.head", "-1");
    });
}
