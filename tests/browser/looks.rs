//! Colours and widths.

use serde_json::json;

use crate::page::{Page, visit};
use crate::server::Server;

const BACKGROUND: &str = "return getComputedStyle(document.body).backgroundColor";

/// The brightness of the page's background, from 0 to 255.
async fn brightness(page: &Page) -> f64 {
    let colour = page.run(BACKGROUND).await;
    let colour = colour
        .as_str()
        .unwrap()
        .trim_matches(|c: char| !c.is_ascii_digit());
    let parts: Vec<f64> = colour
        .split(", ")
        .map(|part| part.parse().unwrap())
        .collect();
    parts.iter().sum::<f64>() / 3.0
}

#[test]
fn the_page_is_light_or_dark_like_the_system_unless_told_otherwise() {
    let server = Server::start(&[("one", "transformer")], &[], "");
    visit(server.address(), async |page| {
        page.system("light").await;
        assert!(brightness(&page).await > 200.0);
        page.system("dark").await;
        assert!(brightness(&page).await < 60.0);
        page.choose("#theme", "light").await;
        assert!(brightness(&page).await > 200.0);
        page.reload().await;
        assert!(brightness(&page).await > 200.0);
        page.choose("#theme", "").await;
        assert!(brightness(&page).await < 60.0);
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
    visit(&address.clone(), async move |page| {
        for (model, text) in [
            ("one", "1 2 3 4 5 6 7 8 9 1 2 3"),
            ("lm", "1 2 3"),
            ("mlm", "1 <mask> 3"),
        ] {
            page.go(&format!("{address}/#model={model}&text={text}&most=30"))
                .await;
            page.reload().await;
            page.text("h2").await;
            if model == "lm" {
                page.press("#actions button").await;
            }
            page.press(".attention:not([hidden]) > summary").await;
            page.until("document.querySelector('.map-frame canvas')")
                .await;
            for width in [1400, 390] {
                for scheme in ["light", "dark"] {
                    page.system(scheme).await;
                    page.resize(width).await;
                    let wide = page
                        .run("return document.documentElement.scrollWidth")
                        .await;
                    assert_eq!(wide, json!(width), "{model}");
                    page.picture(&format!("{model}-{width}-{scheme}")).await;
                }
            }
        }
    });
}
