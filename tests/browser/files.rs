//! Files, and texts that are copied.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::page::{PASTE, visit};
use crate::run::Folder;
use crate::server::Server;
use crate::translate::translation;

#[test]
fn a_file_is_dropped_translated_and_saved() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.text("h2");
        page.drop_file("notes.md", "'\\ufeff1 2 3\\r\\n\\r\\n4 5 6\\r\\n'");
        let shown = translation(page);
        assert_eq!(
            page.run("return document.getElementById('text').value"),
            json!("1 2 3\n\n4 5 6\n")
        );
        assert!(page.text("#count").starts_with("notes.md · 6 words"));
        let [first, second] = ["1 2 3", "4 5 6"].map(|line| server.translation("en-de", line));
        assert_eq!(shown, format!("{first}\n\n{second}\n"));
        page.press(".panel .foot button:nth-of-type(2)");
        let saved = folder.path("notes.de.md");
        let start = Instant::now();
        while !saved.exists() {
            assert!(start.elapsed() < Duration::from_secs(20), "no file");
            sleep(Duration::from_millis(50));
        }
        assert_eq!(fs::read_to_string(saved).unwrap(), shown);
        // What is no text is refused, and the text stays.
        page.drop_file("picture.png", "new Uint8Array([137, 80, 78, 71, 0, 255])");
        let problem = page.text("#file-problem:not(:empty)");
        assert!(
            problem.contains("picture.png") && problem.contains("not a text file"),
            "{problem}"
        );
        page.drop_file("large.txt", "'x'.repeat(3000000)");
        page.until("document.getElementById('file-problem').textContent.includes('too large')");
        assert_eq!(translation(page), shown);
    });
}

#[test]
fn a_translation_is_copied() {
    let server = Server::start(&[("en-de", "transformer")], &[], "");
    let folder = Folder::new();
    visit(server.address(), |page| {
        page.trust(&folder.path(""));
        page.write("#text", "1 2 3\n4 5 6");
        let shown = translation(page);
        page.press(".panel .foot button");
        page.until("document.querySelector('.panel .foot button').textContent === 'Copied'");
        page.press("#clear");
        page.until("document.activeElement.id === 'text'");
        page.keys(PASTE);
        let pasted = format!("document.getElementById('text').value === {}", json!(shown));
        page.until(&pasted);
    });
}
