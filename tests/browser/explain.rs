//! The page that `attentive explain` writes.

use crate::models;
use crate::page::{DOWN, visit};
use crate::run::Folder;

#[test]
fn the_page_of_explain_shows_attention_and_alternatives() {
    let folder = Folder::new();
    models::train(&folder, "one", "transformer");
    let mut command = folder.command("explain runs/one");
    let outcome = command.args(["1 2 3", "--target", "3 2 1"]).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let address = format!("file://{}", folder.path("explanation.html").display());
    visit(&address, |page| {
        page.wait_for(".pair path");
        page.texts(".pair .tokens .token bdi", |all| all.len() == 4 + 4);
        page.press(".pair .tokens .token:nth-child(2)");
        page.text(".readout", |told| told.starts_with("2 attends most to") && told.contains("In place of 2"));
        page.choose(".controls select", "encoder_self");
        page.until("document.querySelector('.pair h4').textContent.includes('Source token')");
        // All heads in their colors, and what the mask hides.
        page.choose(".controls select", "decoder_self");
        page.choose(".controls label:nth-child(3) select", "-2");
        page.texts(".hue", |all| all == ["head 1", "head 2"]);
        page.expect("document.querySelector('.hues').hidden", false);
        page.text("section p.quiet:not([hidden]) + .hues", |_| true);
        page.until(
            "document.querySelector('#operations .leaf') && !document.querySelector('#operations').hidden",
        );
        for width in [1400, 390] {
            page.resize(width);
            page.picture(&format!("explain-{width}"));
        }
    });
}

/// Where the rows of tokens do not fit, tokens stand in columns, and no line crosses one.
#[test]
fn lines_run_beside_the_tokens_on_a_phone() {
    let folder = Folder::new();
    models::train(&folder, "one", "transformer");
    let mut command = folder.command("explain runs/one");
    let long = "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6";
    let outcome = command.args([long, "--target", long]).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let address = format!("file://{}", folder.path("explanation.html").display());
    visit(&address, |page| {
        page.wait_for(".pair path");
        page.expect(COLUMNS, false);
        page.resize(390);
        page.wait_for(".pair.upright path");
        page.expect(COLUMNS, true);
        page.picture("explain-long-390");
        // The keys of columns.
        page.act("document.querySelector('.pair .token').focus()");
        page.keys(DOWN);
        page.until("document.querySelector('.pair .token:nth-child(2)').matches('.chosen')");
        page.resize(1400);
        page.until("!document.querySelector('.pair.upright')");
    });
}

/// Whether the tokens stand in two columns with all lines between them.
const COLUMNS: &str = "(() => {
    const [from, to] = [...document.querySelectorAll('.pair .tokens')].map((group) => [...group.children]);
    const right = Math.max(...from.map((node) => node.getBoundingClientRect().right));
    const left = Math.min(...to.map((node) => node.getBoundingClientRect().left));
    const lines = [...document.querySelectorAll('.pair path')].map((line) => line.getBoundingClientRect());
    return left > right && lines.every((line) => line.left > right - 3 && line.right < left + 3);
})()";
