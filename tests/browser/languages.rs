//! The language of the text.

use crate::page::visit;
use crate::server::Server;
use crate::translate::BOTH_WAYS;

const GERMAN: &str = "Der alte Lehrer gibt den Kindern ein Buch und geht dann langsam nach Hause.";
const ENGLISH: &str =
    "The old teacher gives the children a book, and then they walk home through the park with their mother.";

#[test]
fn the_page_says_that_a_text_is_in_another_language() {
    let server = Server::start(&BOTH_WAYS, &[], "");
    visit(server.address(), |page| {
        page.wait_for("h2");
        page.write("#text", GERMAN);
        page.text(".language", |told| {
            told.starts_with("This looks like German, but en-de reads English. Translate from German")
        });
        page.press(".language button");
        page.expect("document.getElementById('model').value", "de-en");
        page.expect("document.querySelector('.language').hidden", true);
        page.write("#text", ENGLISH);
        page.text(".language", |told| told.starts_with("This looks like English"));
        page.picture("language");
        page.press("#clear");
        page.expect("document.querySelector('.language').hidden", true);
    });
}

#[test]
fn the_language_chooses_the_model() {
    let server = Server::start(&BOTH_WAYS, &[], "");
    visit(server.address(), |page| {
        page.wait_for("h2");
        page.choose("#from", "?");
        page.write("#text", GERMAN);
        page.expect("document.getElementById('model').value", "de-en");
        page.text("#from option:checked", |name| name == "Detect language: German");
        page.write("#text", ENGLISH);
        page.expect("document.getElementById('model').value", "en-de");
        page.choose("#from", "de");
        page.expect("document.getElementById('model').value", "de-en");
        page.expect("document.getElementById('from').value", "de");
    });
}

#[test]
fn sentences_of_low_probability_are_marked() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.wait_for("h2");
        // Words that the model does not know.
        page.write("#text", "Wxyz qvw jkq");
        page.wait_for(".sentence.weak");
        page.picture("weak");
    });
}
