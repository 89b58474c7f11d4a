//! Long texts: every sentence is translated, stays in its place, and lights up with its counterpart.

use serde_json::json;

use crate::page::{Page, RIGHT, TAB, visit};
use crate::server::Server;
use crate::translate::{DONE, paste, translation};

const MODEL: [(&str, &str); 1] = [("en-de", "transformer")];

/// Sentence number `n`; each has a word of its own.
fn sentence(n: usize) -> String {
    let (a, b, c) = (n % 9 + 1, n / 9 % 9 + 1, n / 81 % 9 + 1);
    format!("The mark{n} has {a} {b} {c} of {b} {a} here.")
}

/// The sources of all sentences that are shown translated.
const SOURCES: &str = "[...document.querySelectorAll('.result .sentence')] .filter((one) => \
    one.textContent).map((one) => one.getAttribute('aria-description'))";

/// The text behind the field.
const MIRROR: &str = r"document.getElementById('mirror').textContent.replace(/\u200b+$/, '')";

#[test]
fn sentences_and_paragraphs_are_translated_where_they_stand() {
    let server = Server::start(&MODEL, &[], "");
    let all: Vec<String> = (0..7).map(sentence).collect();
    let text = |parts: &[String]| {
        format!(
            "{} {}\n\n  {} {}  {}\n{}\n\n\n{}\n",
            parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
        )
    };
    visit(server.address(), |page| {
        page.wait_for("h2");
        paste(page, &text(&all));
        // As each is translated by itself, with the blanks of the source.
        let alone: Vec<String> = (all.iter()).map(|one| server.translation("en-de", one)).collect();
        translation(page, |shown| shown == text(&alone));
        page.expect(SOURCES, json!(all));
        page.expect(MIRROR, text(&all));
    });
}

/// Sentences of several languages and scripts, with a number in each.
const LANGUAGES: [&str; 6] = [
    "Mr. Smith paid $3.50 for 101 apples. \"Is 102 enough?\" she asked. No. It is 103 now!",
    "Herr Dr. Meier kam um 8.30 Uhr mit 201 Leuten. Er sagte: „Guten Tag, 202!“ Dann ging er, z. B. zu 203.",
    "Il a dit : « Bonjour 301 ! » Elle est partie avec M. Dupont et 302 amis. Et 303 ?",
    "これは401です。次は402です！最後は403ですか？",
    "Он ушёл в 501 дом. Где 502 дома? Вот 503!",
    "وصل 601 رجل. هل رأيت 602 كتابا؟ نعم، 603!",
];

#[test]
fn no_sentence_of_any_language_is_lost() {
    let server = Server::start(&MODEL, &[], "");
    visit(server.address(), |page| {
        page.wait_for("h2");
        let text = LANGUAGES.join("\n\n");
        paste(page, &text);
        page.until(DONE);
        page.read(SOURCES, |found: &Vec<String>| {
            let mut numbers = (1..=6).flat_map(|language| (1..=3).map(move |n| language * 100 + n));
            let with = |number: &str| found.iter().filter(|one| one.contains(number)).count();
            found.len() >= 18 && numbers.all(|number| with(&number.to_string()) == 1)
        });
        page.expect(MIRROR, text);
    });
}

#[test]
fn three_thousand_words_are_translated() {
    let server = Server::start(&MODEL, &[], "");
    let all: Vec<String> = (0..300).map(sentence).collect();
    // Paragraphs of 1 to 20 sentences, and one of 90.
    let mut text = all[..90].join(" ");
    for (n, one) in all[90..].iter().enumerate() {
        text += if [0, 1, 5, 15, 35, 60, 90, 120, 121, 150, 180].contains(&n) { "\n\n" } else { " " };
        text += one;
    }
    visit(server.address(), |page| {
        page.wait_for("h2");
        paste(page, &text);
        page.text("#count", |count| count == "3,000 words");
        page.patiently(DONE);
        page.expect(SOURCES, json!(all));
        page.text(".status", |status| status.starts_with("300 sentences in "));
        // The panes are as high as their texts.
        page.expect(
            "document.getElementById('text').scrollHeight - document.getElementById('text').clientHeight",
            0,
        );
    });
}

#[test]
fn a_translation_can_be_stopped_and_gone_on_with() {
    let server = Server::start(&MODEL, &[], "");
    let all: Vec<String> = (0..400).map(sentence).collect();
    visit(server.address(), |page| {
        page.wait_for("h2");
        // Stops as soon as something is translated, of several requests.
        page.act(
            "const stop = [...document.querySelectorAll('.foot button')].find((one) => one.textContent === 'Stop');
             const watch = new MutationObserver(() => {
                 if (document.querySelector('.result .sentence')) { watch.disconnect(); stop.click(); }
             });
             watch.observe(document.querySelector('.result'), { childList: true, subtree: true });",
        );
        paste(page, &all.join("\n"));
        page.until(
            "document.querySelector('.status').textContent === 'Stopped.' && \
                    !document.querySelector('[aria-busy]')",
        );
        page.read(SOURCES, |before: &Vec<String>| (1..400).contains(&before.len()));
        page.press(".panel .foot button:nth-of-type(4):not([hidden])");
        page.patiently(DONE);
        page.expect(SOURCES, json!(all));
    });
}

#[test]
fn a_sentence_and_its_counterpart_light_up() {
    let server = Server::start(&MODEL, &[], "");
    let all: Vec<String> = (0..4).map(sentence).collect();
    let lit = |page: &Page, n: usize| {
        let source = json!(all[n]);
        page.until(&format!(
            "document.querySelector('#mirror .lit')?.textContent === {source} && \
             document.querySelector('.result .lit')?.getAttribute('aria-description') === {source} && \
             document.querySelectorAll('.lit').length === 2"
        ));
    };
    visit(server.address(), |page| {
        page.wait_for("h2");
        paste(page, &format!("{} {}\n{} {}", all[0], all[1], all[2], all[3]));
        page.until(DONE);
        // The mouse over the translation, and over the source.
        page.point(".result .part:nth-child(3) .sentence");
        lit(page, 2);
        page.point("#mirror .part:nth-child(1) .sentence:nth-of-type(2)");
        lit(page, 1);
        page.point("h1");
        page.until("!document.querySelector('.lit')");
        // The keyboard: one tab stop, arrow keys within.
        page.act("document.getElementById('clear').focus()");
        page.keys(TAB);
        lit(page, 0);
        page.keys(RIGHT);
        page.keys(RIGHT);
        page.keys(RIGHT);
        lit(page, 3);
        page.keys(TAB);
        page.until("!document.querySelector('.lit')");
        // The caret in the source.
        page.act(
            "const field = document.getElementById('text'); field.focus(); field.setSelectionRange(1, 1)",
        );
        page.keys(RIGHT);
        lit(page, 0);
        // The microscope follows.
        page.press(".microscope > summary");
        page.text(".examined", |source| source == all[0]);
        page.press(".result .part:nth-child(3) .sentence:nth-of-type(2)");
        page.text(".examined", |source| source == all[3]);
        page.text(".microscope [role=status]", |place| place.contains("4 of 4"));
    });
}
