//! The console as a page on any web server, with its models beside it: they work in the browser.

use serde_json::json;

use super::console::{self, Surroundings};

/// Returns `index.html`. It loads `engine/attentive.js` and the models of `manifest.json`.
pub fn web_page() -> String {
    let note = "<p class=\"quiet\">The models work in your browser: no text leaves it. \
                <span id=\"loading\" role=\"status\"></span> <span id=\"licenses\"></span></p>";
    console::page(&Surroundings {
        transport: include_str!("transport.js"),
        sources: "'self' 'wasm-unsafe-eval'",
        workers: "worker-src 'self'; ",
        note,
        has_server: false,
    })
}

/// Returns `offline.js`, the page's service worker, for files of this `version`: it stores the files at
/// `paths`, so that the page works without a network.
pub fn offline_script(version: &str, paths: &[String]) -> String {
    format!("const [VERSION, PATHS] = {};\n\n{}", json!([version, paths]), include_str!("offline.js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_no_server() {
        let page = web_page();
        assert!(page.contains("script-src 'self' 'wasm-unsafe-eval' 'sha256-"));
        assert!(page.contains("import { load } from \"./engine/attentive.js\""));
        assert!(!page.contains("fetch(path, {") && !page.contains("unsafe-inline"));
        for word in ["http:", "https:", "@import", "url(", "WebSocket", "XMLHttp"] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn another_version_has_another_script() {
        let paths = ["./".to_owned()];
        assert!(offline_script("a\"b", &paths).starts_with("const [VERSION, PATHS] = [\"a\\\"b\",[\"./\"]]"));
        assert_ne!(offline_script("1", &paths), offline_script("2", &paths));
    }
}
