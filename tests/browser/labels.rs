//! Taggers and classifiers.

use crate::page::visit;
use crate::server::Server;

#[test]
fn each_token_gets_its_tag() {
    let server = Server::start(&[("tags", "tagger")], &[], "");
    let address = format!("{}/#text=1+2+3", server.address());
    visit(&address, |page| {
        page.until("[...document.querySelectorAll('.result .token small')].length === 3");
        page.until("document.querySelector('.result .token small').textContent.includes('%')");
        assert_eq!(page.texts(".result .token bdi"), ["1", "2", "3"]);
    });
}
