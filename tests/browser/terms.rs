//! Terms.

use crate::page::visit;
use crate::server::Server;
use crate::translate::translation;

#[test]
fn sentences_with_a_term_get_its_translation() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "1 2 3\n4 5 6\n1 4 1");
        let before = translation(page, |_| true);
        let before: Vec<&str> = before.split('\n').collect();
        page.press("#terms-box > summary");
        page.write("#terms", "5 = 9 9 9\n5 6=8 7 8");
        page.text("#terms-count", |count| count == "(2)");
        translation(page, |after| {
            let after: Vec<&str> = after.split('\n').collect();
            // The other sentences have no such word.
            let others = [after[0], after[2]] == [before[0], before[2]];
            others && ["9 9 9", "8 7 8"].iter().all(|term| after[1].contains(term))
        });
        // The microscope looks for translations with the terms as well.
        page.press(".microscope > summary");
        page.press(".result .part:nth-child(3) .sentence");
        page.text(".examined", |source| source == "4 5 6");
        page.texts(".candidate", |found| found.len() > 1 && found.iter().all(|one| one.contains("9 9 9")));
    });
}

#[test]
fn lines_that_are_no_terms_are_named() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "1 2 3");
        translation(page, |_| true);
        page.press("#terms-box > summary");
        page.write("#terms", "1 = 2\n3\n4 =");
        page.text("#terms-problem", |problem| problem.starts_with("Lines 2, 3"));
        page.write("#terms", "1 = Straße");
        page.text("#terms-problem", str::is_empty);
        // What the vocabulary cannot write is reported.
        page.text(".panel .problem", |problem| problem.contains("Straße"));
        translation(page, |text| !text.is_empty());
    });
}
