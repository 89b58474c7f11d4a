//! Masked language models.

use crate::page::visit;
use crate::server::Server;

#[test]
fn gaps_are_filled_by_choice() {
    let server = Server::start(&[("mlm", "encoder_only")], &[], "");
    visit(server.address(), async |page| {
        page.text("h2").await;
        page.write("#text", "1 2 3 4").await;
        assert!(page.text(".status:not(:empty)").await.contains("<mask>"));
        // Masks the third word.
        page.run("document.getElementById('text').setSelectionRange(4, 5)")
            .await;
        page.press("#actions button").await;
        page.until("document.getElementById('text').value === '1 2 <mask> 4'")
            .await;
        assert!(page.text(".result .text").await.starts_with("1 2 "));
        let guesses = page.texts(".gaps .alternative bdi").await;
        assert_eq!(guesses.len(), 8);
        page.press(".gaps .alternative:nth-child(3)").await;
        let filled = format!(
            "document.getElementById('text').value === '1 2 {} 4'",
            guesses[2]
        );
        page.until(&filled).await;
        page.write("#text", "<mask> 2 <mask>").await;
        page.until("document.querySelectorAll('.gaps section').length === 2")
            .await;
        page.press(".attention > summary").await;
        page.until("document.querySelector('.map-frame canvas')")
            .await;
    });
}
