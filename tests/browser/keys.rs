//! API keys.

use crate::page::visit;
use crate::server::Server;

#[test]
fn a_key_is_asked_for_only_where_one_is_needed() {
    let models = [("one", "transformer")];
    let open = Server::start(&models, &[], "");
    visit(open.address(), async |page| {
        page.text("h2").await;
        page.until("document.getElementById('key-form').hidden")
            .await;
    });
    let server = Server::start(&models, &[("keys", "sesame\n")], "--api-key-file keys");
    visit(server.address(), async |page| {
        page.until("!document.getElementById('key-form').hidden")
            .await;
        page.write("#key", "open").await;
        page.press("#key-form button").await;
        page.until("document.getElementById('problem').textContent.includes('unknown')")
            .await;
        page.write("#key", "sesame").await;
        page.press("#key-form button").await;
        page.until("document.getElementById('key-form').hidden")
            .await;
        page.write("#text", "1 2 3").await;
        page.text(".result .text:not(.growing)").await;
        // The key stays in this tab.
        page.reload().await;
        page.text(".result .text:not(.growing)").await;
    });
}
