//! Taggers, and encoders.

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

#[test]
fn lines_are_compared_by_their_vectors() {
    let server = Server::start(&[("vectors", "imported bert_encoder")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "w19 w4\nw19 w4\nw23 w33 w11 w21");
        page.until("document.querySelectorAll('.result td').length === 9");
        let cosines: Vec<f64> = (page.texts(".result td").iter())
            .map(|one| one.parse().unwrap())
            .collect();
        // Equal lines have equal vectors; the table is symmetric.
        assert_eq!([cosines[0], cosines[1], cosines[4], cosines[8]], [1.0; 4]);
        assert!(cosines[2] == cosines[6] && cosines[2] < 1.0, "{cosines:?}");
    });
}
