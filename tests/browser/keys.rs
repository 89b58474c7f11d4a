//! API keys.

use crate::page::visit;
use crate::server::Server;

#[test]
fn a_key_is_asked_for_only_where_one_is_needed() {
    let models = [("one", "transformer")];
    let open = Server::start(&models, &[], "");
    visit(open.address(), |page| {
        page.text("h2");
        page.until("document.getElementById('key-form').hidden");
    });
    let server = Server::start(&models, &[("keys", "sesame\n")], "--api-key-file keys");
    visit(server.address(), |page| {
        page.until("!document.getElementById('key-form').hidden");
        page.write("#key", "open");
        page.press("#key-form button");
        page.until("document.getElementById('problem').textContent.includes('unknown')");
        page.write("#key", "sesame");
        page.press("#key-form button");
        page.until("document.getElementById('key-form').hidden");
        page.write("#text", "1 2 3");
        page.text(".result .text:not(.growing)");
        // The key stays in this tab.
        page.reload();
        page.text(".result .text:not(.growing)");
    });
}
