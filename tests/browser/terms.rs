//! Terms.

use serde_json::json;

use crate::page::visit;
use crate::server::Server;
use crate::translate::{DONE, translation};

#[test]
fn sentences_with_a_term_get_its_translation() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "1 2 3\n4 5 6\n1 4 1");
        let before = translation(page);
        page.press("#terms-box > summary");
        page.write("#terms", "5 = 9 9 9\n5 6=8 7 8");
        page.until("document.getElementById('terms-count').textContent === '(2)'");
        page.until(
            "document.querySelectorAll('.result .sentence')[1]?.textContent.includes('9 9 9')",
        );
        let after = translation(page);
        let [before, after] = [&before, &after].map(|text| text.split('\n').collect::<Vec<_>>());
        assert!(after[1].contains("8 7 8"), "{after:?}");
        // The other sentences have no such word.
        assert_eq!([before[0], before[2]], [after[0], after[2]]);
        // The microscope looks for translations with the terms as well.
        page.press(".microscope > summary");
        page.press(".result .part:nth-child(3) .sentence");
        page.until("document.querySelector('.examined').textContent === '4 5 6'");
        page.until("document.querySelectorAll('.candidate').length > 1");
        let found = page.texts(".candidate");
        assert!(found.iter().all(|one| one.contains("9 9 9")), "{found:?}");
    });
}

#[test]
fn lines_that_are_no_terms_are_named() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "1 2 3");
        page.press("#terms-box > summary");
        page.write("#terms", "1 = 2\n3\n4 =");
        let problem = page.text("#terms-problem:not(:empty)");
        assert!(problem.starts_with("Lines 2, 3"), "{problem}");
        page.write("#terms", "1 = Straße");
        page.until("document.getElementById('terms-problem').textContent === ''");
        page.until(DONE);
        // What the vocabulary cannot write is reported.
        let problem = page.text(".panel .problem:not(:empty)");
        assert!(problem.contains("Straße"), "{problem}");
        assert_eq!(
            page.run("return document.querySelector('.result .sentence').textContent !== ''"),
            json!(true)
        );
    });
}
