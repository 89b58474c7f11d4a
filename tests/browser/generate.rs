//! Language models.

use crate::page::visit;
use crate::server::Server;

/// Waits for the tokens of a continuation.
const DONE: &str =
    "document.querySelector('.token-list') && !document.querySelector('[aria-busy]')";

#[test]
fn a_text_is_continued_from_any_token() {
    let server = Server::start(&[("lm", "decoder_only")], &[], "");
    let address = format!("{}/#text=1+2+3&most=200&temperature=1", server.address());
    visit(&address, |page| {
        page.text("h2");
        page.press("#actions button");
        page.until(DONE);
        let first = page.text(".written");
        assert!(first.starts_with("1 2 3"), "{first}");
        let before = page.texts(".token-list .token bdi");
        // The first token was not written.
        assert_eq!(before[..2], ["2", "3"]);
        // The same seed gives the same text, another one another.
        page.press("#actions button");
        page.until(DONE);
        assert_eq!(page.text(".written"), first);
        page.press("#actions button:nth-child(2)");
        page.until(&format!(
            "{DONE} && document.querySelector('[name=seed]').value === '1'"
        ));
        assert_ne!(page.text(".written"), first);
        // From another second token.
        page.press(".token-list .token:nth-child(2)");
        let other = page.text(".alternative:not([disabled]) bdi");
        page.press(".alternative:not([disabled])");
        page.until("document.querySelectorAll('.token.given').length === 2");
        let after = page.texts(".token-list .token bdi");
        assert_eq!(after[..2], ["2", other.as_str()]);
        assert!(page.text(".written").starts_with(&format!("1 2 {other}")));
        page.press(".attention > summary");
        page.until("document.querySelector('.map-frame canvas')");
    });
}
