//! Translation.

use fantoccini::key::Key;

use crate::page::{Page, visit};
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

/// The tokens of the translation without their probabilities.
async fn tokens(page: &Page) -> Vec<String> {
    page.until(&format!("document.querySelector({TOKENS:?})"))
        .await;
    page.texts(".token-list .token bdi").await
}

#[test]
fn a_translation_grows_while_typing() {
    let server = Server::start(&MODELS[..1], &[], "");
    visit(server.address(), async |page| {
        page.text("h2").await;
        page.run(WATCH).await;
        page.write("#text", &"1 2 3 4 5 6 7 8 9 ".repeat(12)).await;
        page.until("document.querySelector('.result .text:not(.growing)')")
            .await;
        assert!(page.run("return seen.length").await.as_u64().unwrap() > 1);
        let first = page.text(".result .text").await;
        assert_eq!(page.texts(".candidate").await.len(), 3);
        assert!(page.texts(".candidate").await[0].starts_with(&first));
        // Another one of the list.
        page.press(".candidate:nth-child(2)").await;
        page.until("document.querySelector('.candidate:nth-child(2)[aria-checked=true]')")
            .await;
        assert_ne!(page.text(".result .text").await, first);
        // What was typed outlasts the page.
        page.until("location.hash.includes('1+2+3')").await;
        page.reload().await;
        assert_eq!(page.text(".result .text:not(.growing)").await, first);
        page.write("#text", "1 2 3").await;
        page.until("document.querySelectorAll('.pair .tokens, .token-list .token').length > 0")
            .await;
    });
}

#[test]
fn the_rest_is_written_anew_after_another_token() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, async |page| {
        let before = tokens(&page).await;
        page.press(&format!("{TOKENS}:nth-child(2)")).await;
        let other = page.text(".alternative:not([disabled]) bdi").await;
        assert_ne!(other, before[1]);
        assert!(page.texts(".alternative").await.len() >= 8);
        page.press(".alternative:not([disabled])").await;
        page.until("document.querySelectorAll('.token.given').length === 2")
            .await;
        let after = tokens(&page).await;
        assert_eq!((&after[0], &after[1]), (&before[0], &other));
        let first = page.text(".result .text").await;
        assert!(
            first.starts_with(&format!("{} {other}", before[0])),
            "{first}"
        );
        page.press(".panel section > button").await;
        page.until("document.querySelectorAll('.token.given').length === 0")
            .await;
        assert_eq!(tokens(&page).await, before);
    });
}

#[test]
fn the_keyboard_is_enough() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, async |page| {
        let before = tokens(&page).await;
        let tab = Key::Tab + "";
        page.run("document.getElementById('text').focus()").await;
        for _ in 0..3 {
            page.keys(&tab).await;
        }
        let focused = "document.activeElement.matches('.token-list .token')";
        page.until(focused).await;
        page.keys(&(Key::Right + "")).await;
        page.keys(&(Key::Enter + "")).await;
        let open = "document.activeElement.matches('.alternative')";
        page.until(open).await;
        page.keys(&(Key::Escape + "")).await;
        page.until(focused).await;
        page.keys(&(Key::Enter + "")).await;
        page.until(open).await;
        page.keys(&(Key::Down + "")).await;
        page.keys(&(Key::Enter + "")).await;
        page.until("document.querySelectorAll('.token.given').length === 2")
            .await;
        page.until("document.activeElement.matches('.token.given')")
            .await;
        assert_ne!(tokens(&page).await[1], before[1]);
    });
}

#[test]
fn the_attention_is_shown_as_lines_and_as_heat_maps() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text=1+2+3+4+5", server.address());
    visit(&address, async |page| {
        let tokens = tokens(&page).await;
        page.press(".attention > summary").await;
        assert!(
            page.text(".map-frame + *, .view h3")
                .await
                .contains("sentence")
        );
        page.until("document.querySelectorAll('.pair path').length > 0")
            .await;
        // One row a token, one column a source token with `</s>`; some of the weights are large.
        let [rows, columns] = [tokens.len(), 6];
        let shown = page.texts(".pair .tokens .token bdi").await;
        assert_eq!(shown.len(), rows + columns);
        let colours = page
            .run("const map = document.querySelector('.map-frame canvas'); const all = map.getContext('2d').getImageData(0, 0, map.width, map.height).data; return new Set(new Uint32Array(all.buffer)).size")
            .await;
        assert!(colours.as_u64().unwrap() > 10, "{colours}");
        assert_eq!(page.texts(".all .small").await.len(), 2 * 3);
        page.press(".all .small:nth-of-type(1)").await;
        page.until("document.querySelector('.map-frame').previousSibling.previousSibling.textContent.includes('head 1')").await;
        page.press(".pair .tokens .token:nth-child(2)").await;
        let told = page.text(".readout").await;
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
    visit(&address, async |page| {
        page.choose("#other", "two").await;
        page.until("document.querySelectorAll('.panel').length === 2")
            .await;
        page.until("document.querySelectorAll('.panel .result .text:not(.growing)').length === 2")
            .await;
        assert_eq!(page.texts("h2").await, ["one", "two"]);
        page.choose("#model", "two").await;
        page.choose("#other", "").await;
        page.until("document.querySelectorAll('.panel').length === 1")
            .await;
        assert_eq!(page.texts("h2").await, ["two"]);
    });
}

#[test]
fn warnings_and_errors_stand_with_their_model() {
    let server = Server::start(&MODELS[..1], &[], "");
    let address = format!("{}/#text={}", server.address(), "1+".repeat(300));
    visit(&address, async |page| {
        assert!(
            page.text(".panel .warnings li")
                .await
                .contains("too long for the model")
        );
        page.write("[name=best]", "60").await;
        let problem = page.text(".panel .problem:not(:empty)").await;
        assert!(problem.contains("translations"), "{problem}");
        page.write("[name=best]", "2").await;
        page.until("document.querySelector('.panel .problem').textContent === ''")
            .await;
        page.until("document.querySelectorAll('.candidate').length === 2")
            .await;
    });
}
