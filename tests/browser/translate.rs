//! Translation.

use crate::page::{DOWN, ENTER, ESCAPE, Page, RIGHT, TAB, visit};
use crate::server::Server;

const MODELS: [(&str, &str); 2] = [("one", "transformer"), ("two", "transformer")];

/// The tokens whose alternatives can be seen.
const TOKENS: &str = ".token-list .token:not([disabled])";

/// Watches the first result: `window.seen` are the texts that it has shown while it was growing.
const WATCH: &str = "
    window.seen = [];
    new MutationObserver(() => {
        const text = document.querySelector('.growing')?.textContent;
        if (text && seen.at(-1) !== text) seen.push(text);
    }).observe(document.querySelector('.result'), { childList: true, subtree: true, characterData: true });";

/// The size of the first heat map in weights, and the number of its colours.
const FIRST_MAP: &str = "
    const { width, height } = document.querySelector('.all canvas');
    const context = document.querySelector('.all canvas').getContext('2d');
    const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
    return { width, height, colours: new Set(pixels).size };";

/// The tokens of the translation without their probabilities.
fn tokens(page: &Page) -> Vec<String> {
    page.until(&format!("document.querySelector({TOKENS:?})"));
    page.texts(".token-list .token bdi")
}

#[test]
fn a_translation_grows_while_typing() {
    let server = Server::start(&MODELS[..1], &[], "");
    visit(server.address(), |page| {
        page.text("h2");
        page.run(WATCH);
        page.write("#text", &"1 2 3 4 5 6 7 8 9 ".repeat(12));
        page.until("document.querySelector('.result .text:not(.growing)')");
        assert!(page.run("return seen.length").as_u64().unwrap() > 0);
        let first = page.text(".result .text");
        assert_eq!(page.texts(".candidate").len(), 3);
        assert!(page.texts(".candidate")[0].starts_with(&first));
        // Another one of the list.
        page.press(".candidate:nth-child(2)");
        page.until("document.querySelector('.candidate:nth-child(2)[aria-checked=true]')");
        assert_ne!(page.text(".result .text"), first);
        // What was typed outlasts the page.
        page.until("location.hash.includes('1+2+3')");
        page.reload();
        assert_eq!(page.text(".result .text:not(.growing)"), first);
    });
}

#[test]
fn the_rest_is_written_anew_after_another_token() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
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
        let first = page.text(".result .text");
        assert!(
            first.starts_with(&format!("{} {other}", before[0])),
            "{first}"
        );
        page.press(".panel section > button");
        page.until("document.querySelectorAll('.token.given').length === 0");
        assert_eq!(tokens(page), before);
    });
}

#[test]
fn the_keyboard_is_enough() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, |page| {
        let before = tokens(page);
        page.run("document.getElementById('text').focus()");
        for _ in 0..3 {
            page.keys(TAB);
        }
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
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, |page| {
        let tokens = tokens(page);
        page.press(".attention > summary");
        page.until("document.querySelectorAll('.pair path').length > 0");
        // One row a token, one column a source token with `</s>`; some of the weights are large.
        let [rows, columns] = [tokens.len(), 6];
        let shown = page.texts(".pair .tokens .token bdi");
        assert_eq!(shown.len(), rows + columns);
        let map = page.run(FIRST_MAP);
        assert!(map["height"] == rows && map["width"] == columns, "{map}");
        assert!(map["colours"].as_u64().unwrap() > 5, "{map}");
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
fn two_models_stand_side_by_side() {
    let server = Server::start(&MODELS, &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, |page| {
        page.choose("#other", "two");
        page.until("document.querySelectorAll('.panel').length === 2");
        page.until("document.querySelectorAll('.panel .result .text:not(.growing)').length === 2");
        assert_eq!(page.texts("h2"), ["one", "two"]);
        page.choose("#model", "two");
        page.choose("#other", "");
        page.until("document.querySelectorAll('.panel').length === 1");
        assert_eq!(page.texts("h2"), ["two"]);
    });
}

#[test]
fn warnings_and_errors_stand_with_their_model() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text={}", server.address(), "1+".repeat(300));
    visit(&address, |page| {
        assert!(
            page.text(".panel .warnings li")
                .contains("too long for the model")
        );
        page.write("[name=best]", "60");
        let problem = page.text(".panel .problem:not(:empty)");
        assert!(problem.contains("translations"), "{problem}");
        page.write("[name=best]", "2");
        page.until("document.querySelector('.panel .problem').textContent === ''");
        page.until("document.querySelectorAll('.candidate').length === 2");
    });
}
