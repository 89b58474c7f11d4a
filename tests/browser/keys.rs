//! API keys.

use serde_json::json;

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
        // Asking is no error.
        assert_eq!(page.texts(".problem:not(:empty)"), Vec::<String>::new());
        page.write("#key", "open");
        page.press("#key-form button");
        page.until("document.getElementById('key-problem').textContent.includes('unknown')");
        assert_eq!(page.texts(".problem:not(:empty)").len(), 1);
        assert_eq!(
            page.run("return sessionStorage.getItem('attentive-key')"),
            json!(null)
        );
        page.write("#key", "sesame");
        page.press("#key-form button");
        page.until("document.getElementById('key-form').hidden");
        page.until("document.getElementById('key').value === ''");
        page.write("#text", "1 2 3");
        page.text(".result .sentence");
        // The key stays in this tab, and out of the command.
        page.reload();
        page.text(".result .sentence");
        page.press("#command-box > summary");
        page.until("document.getElementById('command').textContent.includes('Bearer $KEY')");
        let everything = page.run("return document.documentElement.outerHTML");
        assert!(!everything.as_str().unwrap().contains("sesame"));
        assert_eq!(page.run("return localStorage.length"), json!(0));
    });
}
