//! The page that `attentive inspect` writes.

use crate::models;
use crate::page::visit;
use crate::run::Folder;

#[test]
fn the_page_of_inspect_shows_attention_and_alternatives() {
    let folder = Folder::new();
    models::train(&folder, "one", "transformer");
    let mut command = folder.command("inspect runs/one");
    let outcome = command
        .args(["1 2 3", "--target", "3 2 1"])
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let address = format!("file://{}", folder.path("inspect.html").display());
    visit(&address, |page| {
        page.until("document.querySelectorAll('.pair path').length > 0");
        assert_eq!(page.texts(".pair .tokens .token bdi").len(), 4 + 4);
        page.press(".pair .tokens .token:nth-child(2)");
        let told = page.text(".readout");
        assert!(
            told.starts_with("2 attends most to") && told.contains("In place of 2"),
            "{told}"
        );
        page.choose(".controls select", "encoder_self");
        page.until("document.querySelector('.pair h4').textContent.includes('Source token')");
        for width in [1400, 390] {
            page.resize(width);
            page.picture(&format!("inspect-{width}"));
        }
    });
}
