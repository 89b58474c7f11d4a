//! Colors and widths.

use crate::page::{Page, visit};
use crate::server::Server;
use crate::translate::translation;

/// Waits until the brightness of the page's background, from 0 to 255, `is_right`.
#[track_caller]
fn brightness(page: &Page, is_right: impl Fn(f64) -> bool) {
    page.read(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)",
        |parts: &[f64; 3]| is_right(parts.iter().sum::<f64>() / 3.0),
    );
}

#[test]
fn the_page_is_light_or_dark_like_the_system_unless_told_otherwise() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    let is_light = |brightness| brightness > 200.0;
    let is_dark = |brightness| brightness < 60.0;
    visit(server.address(), |page| {
        page.system("light");
        brightness(page, is_light);
        page.system("dark");
        brightness(page, is_dark);
        page.choose("#theme", "light");
        brightness(page, is_light);
        page.reload();
        brightness(page, is_light);
        page.choose("#theme", "");
        brightness(page, is_dark);
    });
}

/// Nothing sticks out of the page, on a screen or on a phone. The pictures are for people.
#[test]
fn everything_fits_on_a_screen_and_on_a_phone() {
    let models = [("one", "transformer"), ("lm", "decoder_only"), ("mlm", "encoder_only")];
    let server = Server::start(&models, &[], "");
    let address = server.address().to_owned();
    visit(&address.clone(), move |page| {
        for (model, text) in [("one", "1 2 3 4 5 6 7 8 9 1 2 3"), ("lm", "1 2 3"), ("mlm", "1 <mask> 3")] {
            page.go("about:blank"); // or else only the part after `#` changes, which loads nothing
            page.go(&format!("{address}/#model={model}&text={text}&most=30"));
            page.wait_for("h2");
            if model == "lm" {
                page.press("#actions button");
            }
            if model == "one" {
                translation(page, |_| true);
                page.press(".microscope > summary");
            } else {
                page.press(".attention:not([hidden]) > summary");
            }
            page.until(
                "document.querySelector('.map-frame canvas') && !document.querySelector('[aria-busy]')",
            );
            for width in [1400, 390] {
                for scheme in ["light", "dark"] {
                    page.system(scheme);
                    page.resize(width);
                    page.expect("document.documentElement.scrollWidth", width);
                    page.picture(&format!("{model}-{width}-{scheme}"));
                }
            }
        }
    });
}
