//! What is inside a translation.

use crate::page::{DOWN, ENTER, ESCAPE, Page, RIGHT, TAB, visit};
use crate::server::Server;
use crate::translate::{DONE, translation};

const MODEL: [(&str, &str); 1] = [("one", "transformer")];

/// The tokens whose alternatives can be seen.
const TOKENS: &str = ".token-list .token:not([disabled])";

/// The size of the first heat map in weights, and the number of its colors.
const FIRST_MAP: &str = "
    const { width, height } = document.querySelector('.all canvas');
    const context = document.querySelector('.all canvas').getContext('2d');
    const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
    return { width, height, colors: new Set(pixels).size };";

/// The tokens of the translation without their probabilities.
fn tokens(page: &Page) -> Vec<String> {
    page.until(&format!("document.querySelector({TOKENS:?})"));
    page.texts(".token-list .token bdi")
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
        let first = translation(page);
        assert_eq!(page.texts(TOKENS), Vec::<String>::new());
        page.press(".microscope > summary");
        tokens(page);
        assert_eq!(page.texts(".candidate").len(), 3);
        assert!(page.texts(".candidate")[0].starts_with(&first));
        // Another one of the list becomes the translation.
        page.press(".candidate:nth-child(2)");
        page.until("document.querySelector('.candidate:nth-child(2)[aria-checked=true]')");
        let second = translation(page);
        assert_ne!(second, first);
        assert!(page.texts(".candidate")[1].starts_with(&second));
    });
}

#[test]
fn the_rest_is_written_anew_after_another_token() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = tokens(page);
        page.press(&format!("{TOKENS}:nth-child(2)"));
        let other = page.text(".alternative:not([disabled]) bdi");
        assert_ne!(other, before[1]);
        assert!(page.texts(".alternative").len() >= 8);
        page.press(".alternative:not([disabled])");
        page.until("document.querySelectorAll('.token.given').length === 2");
        let after = tokens(page);
        assert_eq!((&after[0], &after[1]), (&before[0], &other));
        let changed = translation(page);
        assert!(
            changed.starts_with(&format!("{} {other}", before[0])),
            "{changed}"
        );
        // The choice stays when something else changes.
        page.press("#text");
        page.keys("\n1");
        page.until("document.querySelectorAll('.result .sentence').length === 2");
        assert!(translation(page).starts_with(&changed));
        page.until("document.querySelectorAll('.token.given').length === 2");
        page.press(".microscope section > button");
        page.until("document.querySelectorAll('.token.given').length === 0");
        assert_eq!(tokens(page), before);
    });
}

/// The heights of all tokens.
const HEIGHTS: &str =
    "return [...document.querySelectorAll('.token-list .token')].map((one) => one.offsetHeight)";

#[test]
fn alternatives_leave_the_tokens_as_they_are() {
    let (_server, address) = opened();
    visit(&address, |page| {
        for width in [1400, 390] {
            page.resize(width);
            tokens(page);
            let before = page.run(HEIGHTS);
            page.press(&format!("{TOKENS}:nth-child(2)"));
            page.until("document.querySelector('.alternative')");
            assert_eq!(page.run(HEIGHTS), before);
            page.picture(&format!("alternatives-{width}"));
            page.keys(ESCAPE);
        }
    });
}

#[test]
fn the_keyboard_is_enough() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = tokens(page);
        page.run("document.querySelector('.microscope [name=best]').focus()");
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
        assert_ne!(tokens(page)[1], before[1]);
    });
}

#[test]
fn the_attention_is_shown_as_lines_and_as_heat_maps() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let tokens = tokens(page);
        page.until("document.querySelectorAll('.pair path').length > 0");
        // One row a token, one column a source token with `</s>`; some of the weights are large.
        let [rows, columns] = [tokens.len(), 6];
        let shown = page.texts(".pair .tokens .token bdi");
        assert_eq!(shown.len(), rows + columns);
        let map = page.run(FIRST_MAP);
        assert!(map["height"] == rows && map["width"] == columns, "{map}");
        assert!(map["colors"].as_u64().unwrap() > 5, "{map}");
        assert_eq!(page.texts(".all .small").len(), 2 * 3);
        page.press(".all .small:nth-of-type(1)");
        page.until("document.querySelector('.map-frame').previousSibling.previousSibling.textContent.includes('head 1')");
        page.press(".pair .tokens .token:nth-child(2)");
        let told = page.text(".readout");
        assert!(
            told.contains("attends most to") && told.contains("In place of"),
            "{told}"
        );
    });
}

#[test]
fn what_fails_inside_leaves_the_translation_alone() {
    let (_server, address) = opened();
    visit(&address, |page| {
        let before = translation(page);
        page.write("[name=best]", "60");
        let problem = page.text(".microscope .problem:not(:empty)");
        assert!(problem.contains("translations"), "{problem}");
        page.until(DONE);
        assert_eq!(translation(page), before);
        page.write("[name=best]", "2");
        page.until("document.querySelector('.microscope .problem').textContent === ''");
        page.until("document.querySelectorAll('.candidate').length === 2");
    });
}

#[test]
fn what_the_model_cannot_read_is_reported() {
    let server = Server::start(&MODEL, &[], "");
    let address = format!("{}/#text=1+zebra+3", server.address());
    visit(&address, |page| {
        page.until(DONE);
        let told = page.texts(".panel .warnings li");
        assert!(told.iter().any(|one| one.contains("zebra")), "{told:?}");
    });
}
