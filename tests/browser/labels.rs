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
        page.texts(".result .token bdi", |all| all == ["1", "2", "3"]);
    });
}

#[test]
fn lines_are_compared_by_their_vectors() {
    let server = Server::start(&[("vectors", "imported bert_encoder")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "w19 w4\nw19 w4\nw23 w33 w11 w21");
        // The whole last line.
        page.texts(".result th bdi", |lines| lines.len() == 3 && lines[2] == "w23 w33 w11 w21");
        page.texts(".result td", |cells| {
            let cosines: Vec<f64> = cells.iter().map(|one| one.parse().unwrap()).collect();
            // Equal lines have equal vectors; the table is symmetric.
            cosines.len() == 9
                && [cosines[0], cosines[1], cosines[4], cosines[8]] == [1.0; 4]
                && cosines[2] == cosines[6]
                && cosines[2] < 1.0
        });
    });
}
