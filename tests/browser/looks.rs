//! Colors and widths.

use serde_json::json;

use crate::page::{Page, visit};
use crate::server::Server;

const BACKGROUND: &str = "return getComputedStyle(document.body).backgroundColor";

/// The brightness of the page's background, from 0 to 255.
fn brightness(page: &Page) -> f64 {
    let color = page.run(BACKGROUND);
    let color = color
        .as_str()
        .unwrap()
        .trim_matches(|c: char| !c.is_ascii_digit());
    let parts: Vec<f64> = color
        .split(", ")
        .map(|part| part.parse().unwrap())
        .collect();
    parts.iter().sum::<f64>() / 3.0
}

#[test]
fn the_page_is_light_or_dark_like_the_system_unless_told_otherwise() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), |page| {
        page.system("light");
        assert!(brightness(page) > 200.0);
        page.system("dark");
        assert!(brightness(page) < 60.0);
        page.choose("#theme", "light");
        assert!(brightness(page) > 200.0);
        page.reload();
        assert!(brightness(page) > 200.0);
        page.choose("#theme", "");
        assert!(brightness(page) < 60.0);
    });
}

/// Nothing sticks out of the page, on a screen or on a phone. The pictures are for people.
#[test]
fn everything_fits_on_a_screen_and_on_a_phone() {
    let models = [
        ("one", "transformer"),
        ("lm", "decoder_only"),
        ("mlm", "encoder_only"),
    ];
    let server = Server::start(&models, &[], "");
    let address = server.address().to_owned();
    visit(&address.clone(), move |page| {
        for (model, text) in [
            ("one", "1 2 3 4 5 6 7 8 9 1 2 3"),
            ("lm", "1 2 3"),
            ("mlm", "1 <mask> 3"),
        ] {
            page.go("about:blank"); // or else only the part after `#` changes, which loads nothing
            page.go(&format!("{address}/#model={model}&text={text}&most=30"));
            page.text("h2");
            if model == "lm" {
                page.press("#actions button");
            }
            if model == "one" {
                page.press(".microscope > summary");
            } else {
                page.press(".attention:not([hidden]) > summary");
            }
            page.until("document.querySelector('.map-frame canvas')");
            for width in [1400, 390] {
                for scheme in ["light", "dark"] {
                    page.system(scheme);
                    page.resize(width);
                    let wide = page.run("return document.documentElement.scrollWidth");
                    assert_eq!(wide, json!(width), "{model}");
                    page.picture(&format!("{model}-{width}-{scheme}"));
                }
            }
        }
    });
}
