//! API keys.

use serde_json::Value;

use crate::page::visit;
use crate::server::Server;
use crate::translate::translation;

#[test]
fn a_key_is_asked_for_only_where_one_is_needed() {
    let models = [("one", "transformer")];
    let open = Server::start(&models, &[], "");
    visit(open.address(), |page| {
        page.wait_for("h2");
        page.until("document.getElementById('key-form').hidden");
    });
    let server = Server::start(&models, &[("keys", "sesame\n")], "--api-key-file keys");
    visit(server.address(), |page| {
        page.until("!document.getElementById('key-form').hidden");
        // Asking is no error.
        page.texts(".problem:not(:empty)", <[_]>::is_empty);
        page.write("#key", "open");
        page.press("#key-form button");
        page.text("#key-problem", |problem| problem.contains("unknown"));
        page.texts(".problem:not(:empty)", |all| all.len() == 1);
        page.expect("sessionStorage.getItem('attentive-key')", Value::Null);
        page.write("#key", "sesame");
        page.press("#key-form button");
        page.until("document.getElementById('key-form').hidden");
        page.until("document.getElementById('key').value === ''");
        page.write("#text", "1 2 3");
        let shown = translation(page, |_| true);
        // The key stays in this tab, and out of the command.
        page.reload();
        translation(page, |text| text == shown);
        page.press("#command-box > summary");
        page.until("document.getElementById('command').textContent.includes('Bearer $KEY')");
        page.expect("document.documentElement.outerHTML.includes('sesame')", false);
        page.expect("localStorage.length", 0);
    });
}
