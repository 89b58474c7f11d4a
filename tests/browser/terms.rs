//! Terms.

use crate::page::visit;
use crate::server::Server;
use crate::translate::translation;

#[test]
fn terms_take_the_places_of_what_translates_them() {
    let server = Server::start(&[("en-de", "toy")], &[], "");
    visit(server.address(), |page| {
        page.write("#text", "The dog sees the cat.\nThe child hears the bird.\nMy cat likes the dog.");
        translation(page, |before| before.starts_with("Das Hund sieht das Katze."));
        page.press("#terms-box > summary");
        page.write("#terms", "dog = Pudel\ncat=Kater");
        page.text("#terms-count", |count| count == "(2)");
        let expected = "Das Pudel sieht das Kater.\nDas Kind hört das Vogel.\nMein Kater mag das Pudel.";
        translation(page, |after| after == expected);
        // The microscope looks for translations with the terms as well.
        page.press(".microscope > summary");
        page.press(".result .part:nth-child(1) .sentence");
        page.text(".examined", |source| source == "The dog sees the cat.");
        page.texts(".candidate", |found| found.len() > 1 && found[0].contains("Pudel"));
        // Without the terms, the translation is as before.
        page.write("#terms", "horse = Gaul");
        translation(page, |after| after.starts_with("Das Hund sieht das Katze."));
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
        // What the vocabulary cannot write is reported, and the sentence is translated.
        page.text(".panel .warnings", |warning| warning.contains("the term `Straße` cannot be written"));
        translation(page, |text| !text.is_empty());
    });
}
