//! Masked language models.

use crate::page::visit;
use crate::server::Server;

#[test]
fn gaps_are_filled_by_choice() {
    let server = Server::start(&[("mlm", "encoder_only")], &[], "");
    visit(server.address(), |page| {
        page.text("h2");
        page.write("#text", "1 2 3 4");
        assert!(page.text(".status:not(:empty)").contains("<mask>"));
        // Masks the third word.
        page.run("document.getElementById('text').setSelectionRange(4, 5)");
        page.press("#actions button");
        page.until("document.getElementById('text').value === '1 2 <mask> 4'");
        assert!(page.text(".result .text").starts_with("1 2 "));
        let guesses = page.texts(".gaps .alternative bdi");
        assert_eq!(guesses.len(), 8);
        page.press(".gaps .alternative:nth-child(3)");
        let filled = format!(
            "document.getElementById('text').value === '1 2 {} 4'",
            guesses[2]
        );
        page.until(&filled);
        page.write("#text", "<mask> 2 <mask>");
        page.until("document.querySelectorAll('.gaps section').length === 2");
        page.press(".attention > summary");
        page.until("document.querySelector('.map-frame canvas')");
    });
}
