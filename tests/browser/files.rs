//! Files, and texts that are copied.

use std::fs;

use crate::page::{PASTE, retry, visit};
use crate::run::Folder;
use crate::server::Server;
use crate::translate::translation;

/// What the field holds.
const TEXT: &str = "document.getElementById('text').value";

/// Notes in `window.told` what the first button below the translation says.
const LISTEN: &str = "
    window.told = [];
    const button = document.querySelector('.panel .foot button');
    new MutationObserver(() => told.push(button.textContent)).observe(button, { childList: true });";

#[test]
fn a_file_is_dropped_translated_and_saved() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.wait_for("h2");
        page.drop_file("notes.txt", "'\\ufeff1 2 3\\r\\n\\r\\n4 5 6\\r\\n'");
        page.expect(TEXT, "1 2 3\n\n4 5 6\n");
        page.text("#count", |count| count.starts_with("notes.txt · 6 words"));
        let [first, second] = ["1 2 3", "4 5 6"].map(|line| server.translation("en-de", line));
        let shown = translation(page, |text| text == format!("{first}\n\n{second}\n"));
        page.press(".panel .foot button:nth-of-type(2)");
        let saved = folder.path("notes.txt");
        let outcome = retry(|| match fs::read_to_string(&saved) {
            Ok(text) if text == shown => Ok(()),
            other => Err(other),
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        // What is no text is refused, and the text stays.
        page.drop_file("picture.png", "new Uint8Array([137, 80, 78, 71, 0, 255])");
        page.text("#file-problem", |problem| {
            problem.contains("picture.png") && problem.contains("not a text file")
        });
        page.drop_file("large.txt", "'x'.repeat(3000000)");
        page.text("#file-problem", |problem| problem.contains("too large"));
        translation(page, |text| text == shown);
    });
}

#[test]
fn a_file_with_markup_keeps_it() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.wait_for("h2");
        let srt = |text: &str| format!("1\r\n00:00:01,000 --> 00:00:02,000\r\n{text}\r\n");
        page.drop_file("film.srt", &format!("{:?}", srt("1 2 3")));
        page.text("#count", |count| count.starts_with("film.srt"));
        let expected = srt(&server.translation("en-de", "1 2 3"));
        page.text(".result .file", |text| text.trim() == expected.replace("\r\n", "\n").trim());
        page.text(".panel .status", |status| status.starts_with("film.srt in"));
        page.press(".panel .foot button:nth-of-type(2)");
        let saved = folder.path("film.srt");
        let outcome = retry(|| match fs::read_to_string(&saved) {
            Ok(text) if text == expected => Ok(()),
            other => Err(other),
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        page.drop_file("broken.json", "'{'");
        page.text(".panel .problem", |problem| problem.contains("not JSON"));
        page.drop_file("letter.docx", "'PK'");
        page.text("#file-problem", |problem| {
            problem.contains("letter.docx") && problem.contains("not supported")
        });
        // Without the file, the text is text again.
        page.press("#clear");
        page.write("#text", "1 2 3");
        translation(page, |text| text == server.translation("en-de", "1 2 3"));
    });
}

#[test]
fn a_translation_is_copied() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.write("#text", "1 2 3\n4 5 6");
        let shown = translation(page, |_| true);
        page.act(LISTEN);
        page.press(".panel .foot button");
        page.until("told.includes('Copied')");
        page.press("#clear");
        page.until("document.activeElement.id === 'text'");
        page.keys(PASTE);
        page.expect(TEXT, shown);
    });
}

#[test]
fn a_long_paste_leaves_the_window_where_it_is() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.wait_for("h2");
        page.act("navigator.clipboard.writeText('1 2 3\\n'.repeat(300)).then(() => (window.copied = true))");
        page.until("window.copied");
        page.press("#text");
        page.keys(PASTE);
        page.until("document.getElementById('text').value.length > 1000");
        // What follows the next two frames.
        page.act(
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => (window.drawn = true))))",
        );
        page.until("window.drawn && document.documentElement.scrollHeight > 3 * innerHeight");
        page.expect("scrollY", 0);
    });
}
