//! The page that `attentive trace --html` writes.

use crate::models;
use crate::page::visit;
use crate::run::Folder;

#[test]
fn the_page_of_a_trace_unfolds_operations() {
    let folder = Folder::new();
    models::train(&folder, "one", "transformer");
    let mut command = folder.command("trace runs/one");
    let arguments = ["1 2 3", "--target", "3 2 1", "--html", "--backward"];
    let outcome = command.args(arguments).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let address = format!("file://{}", folder.path("trace.html").display());
    visit(&address, |page| {
        page.wait_for("#main > details canvas");
        page.until("document.querySelectorAll('.leaf').length > 30");
        page.press("#controls button");
        page.act(
            "document.querySelector('[data-name=\"decoder.layers.0.self_attention.mask\"]').open = true",
        );
        page.wait_for("[data-name='decoder.layers.0.self_attention.mask'] canvas[role=img]");
        page.text("[data-name='decoder.layers.0.self_attention.mask'] .formula", |text| {
            text.starts_with("1 where a position (row) may look")
        });
        page.act(
            "const find = document.querySelector('input'); find.value = 'scores'; \
             find.dispatchEvent(new Event('input'))",
        );
        page.until(
            "[...document.querySelectorAll('.leaf:not([hidden])')].every((leaf) => \
             leaf.dataset.name.endsWith('scores'))",
        );
        for width in [1400, 390] {
            page.resize(width);
            page.picture(&format!("trace-{width}"));
        }
    });
}
