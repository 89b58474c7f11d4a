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

/// Returns `offline.js`, the page's service worker, for files of this `version`: it stores the files of the
/// page, so that it works without a network.
pub fn offline_script(version: &str) -> String {
    // What a page asks for before the script is at work.
    let page = ["./", "manifest.json", "engine/attentive.js"];
    format!("const [VERSION, PAGE] = {};\n\n{}", json!([version, page]), include_str!("offline.js"))
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
        assert!(offline_script("a\"b").starts_with("const [VERSION, PAGE] = [\"a\\\"b\",["));
        assert_ne!(offline_script("1"), offline_script("2"));
    }
}
