//! Language models.

use crate::page::{Page, texts, visit};
use crate::server::Server;

/// A text and its tokens.
type Written = (String, Vec<String>);

/// Reads the continued text once it is complete and `is_right`. Marks its element, which the next
/// continuation replaces, so that it is not read again.
#[track_caller]
fn continued(page: &Page, is_right: impl Fn(&Written) -> bool) -> Written {
    let tokens = texts(".token-list .token bdi");
    let written = format!(
        "document.querySelector('.token-list') && !document.querySelector('[aria-busy], .old') \
         && [document.querySelector('.written').innerText.trim(), {tokens}]"
    );
    let written = page.read(&written, is_right);
    page.act("document.querySelector('.written').classList.add('old')");
    written
}

#[test]
fn a_text_is_continued_from_any_token() {
    let server = Server::start(&[("lm", "decoder_only")], &[], "");
    let address = format!("{}/#text=1+2+3&most=200&temperature=1", server.address());
    visit(&address, |page| {
        page.press("#actions button");
        // The first token was not written.
        let (first, _) =
            continued(page, |(text, tokens)| text.starts_with("1 2 3") && tokens[..2] == ["2", "3"]);
        // The same seed gives the same text, another one another.
        page.press("#actions button");
        continued(page, |(text, _)| *text == first);
        page.press("#actions button:nth-child(2)");
        page.expect("document.querySelector('[name=seed]').value", "1");
        continued(page, |(text, _)| *text != first);
        // From another second token.
        page.press(".token-list .token:nth-child(2)");
        let other = page.text(".alternative:not([disabled]) bdi", |_| true);
        page.press(".alternative:not([disabled])");
        continued(page, |(text, tokens)| {
            text.starts_with(&format!("1 2 {other}")) && tokens[..2] == ["2", &other]
        });
        page.until("document.querySelectorAll('.token.given').length === 2");
        page.press(".attention > summary");
        page.wait_for(".map-frame canvas");
    });
}
