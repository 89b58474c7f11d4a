//! Language models.

use crate::page::visit;
use crate::server::Server;

/// Waits for the tokens of a continuation.
const DONE: &str =
    "document.querySelector('.token-list') && !document.querySelector('[aria-busy]')";

#[test]
fn a_text_is_continued_from_any_token() {
    let server = Server::start(&[("lm", "decoder_only")], &[], "");
    let address = format!("{}/#text=1+2+3&most=40&temperature=1", server.address());
    visit(&address, async |page| {
        page.text("h2").await;
        page.run("window.seen = new Set(); new MutationObserver(() => seen.add(document.querySelector('.written').textContent)).observe(document.querySelector('.result'), { childList: true, subtree: true, characterData: true })").await;
        page.press("#actions button").await;
        page.until(DONE).await;
        assert!(page.run("return seen.size").await.as_u64().unwrap() > 2);
        let first = page.text(".written").await;
        assert!(first.starts_with("1 2 3"), "{first}");
        let before = page.texts(".token-list .token bdi").await;
        assert_eq!(before[..3], ["1", "2", "3"]);
        // The same seed gives the same text, another one another.
        page.press("#actions button").await;
        page.until(DONE).await;
        assert_eq!(page.text(".written").await, first);
        page.press("#actions button:nth-child(2)").await;
        page.until(&format!(
            "{DONE} && document.querySelector('[name=seed]').value === '1'"
        ))
        .await;
        assert_ne!(page.text(".written").await, first);
        // From another second token.
        page.press(".token-list .token:nth-child(2)").await;
        let other = page.text(".alternative:not([disabled]) bdi").await;
        page.press(".alternative:not([disabled])").await;
        page.until("document.querySelectorAll('.token.given').length === 2")
            .await;
        let after = page.texts(".token-list .token bdi").await;
        assert_eq!(after[..2], ["1", other.as_str()]);
        assert!(
            page.text(".written")
                .await
                .starts_with(&format!("1 {other}"))
        );
        page.press(".attention > summary").await;
        page.until("document.querySelector('.map-frame canvas')")
            .await;
    });
}
