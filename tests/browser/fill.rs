//! Masked language models.

use crate::page::visit;
use crate::server::Server;

#[test]
fn gaps_are_filled_by_choice() {
    let server = Server::start(&[("mlm", "encoder_only")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "1 2 3 4");
        page.text(".status", |status| status.contains("<mask>"));
        // Masks the third word.
        page.act("document.getElementById('text').setSelectionRange(4, 5)");
        page.press("#actions button");
        page.until("document.getElementById('text').value === '1 2 <mask> 4'");
        page.text(".result .text", |text| text.starts_with("1 2 "));
        let guesses = page.texts(".gaps .alternative bdi", |all| all.len() == 8);
        page.press(".gaps .alternative:nth-child(3)");
        let filled = format!("1 2 {} 4", guesses[2]);
        page.expect("document.getElementById('text').value", filled);
        page.write("#text", "<mask> 2 <mask>");
        page.until(
            "document.querySelectorAll('.gaps section').length === 2 && \
                    !document.querySelector('[aria-busy]')",
        );
        page.press(".attention > summary");
        page.wait_for(".map-frame canvas");
    });
}
