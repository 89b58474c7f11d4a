//! A page in the browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::driver::{Driver, Session};

/// Longest wait for something to happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const RIGHT: &str = "\u{e014}";
pub(crate) const DOWN: &str = "\u{e015}";

/// Control and V, released again.
pub(crate) const PASTE: &str = "\u{e009}v\u{e000}";

/// Control and A, released again.
const ALL: &str = "\u{e009}a\u{e000}";

/// Addresses of other servers that the page has asked for something.
const STRANGERS: &str = "return performance.getEntriesByType('resource').map((one) => one.name) \
    .filter((name) => !name.startsWith(location.origin))";

/// A page in a browser of its own.
pub(crate) struct Page(Session);

/// Opens `address` in a browser, plays `scene`, and closes the browser. Afterwards the page must not have complained, nor
/// asked other servers. Does nothing where there is no browser.
pub(crate) fn visit(address: &str, scene: impl FnOnce(&Page)) {
    let Some(driver) = Driver::start() else {
        return;
    };
    let page = Page(driver.session());
    page.go(address);
    scene(&page);
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert_eq!(page.run(STRANGERS), json!([]));
}

impl Page {
    /// Goes to an address.
    pub(crate) fn go(&self, address: &str) {
        self.0.post("url", json!({"url": address}));
    }

    /// Reloads the page.
    pub(crate) fn reload(&self) {
        self.0.post("refresh", json!({}));
    }

    /// What the page's script returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.0
            .post("execute/sync", json!({"script": script, "args": []}))
    }

    /// Waits until the expression `condition` is true.
    pub(crate) fn until(&self, condition: &str) {
        self.wait(condition, PATIENCE);
    }

    /// The same for what takes long on a slow machine.
    pub(crate) fn patiently(&self, condition: &str) {
        self.wait(condition, 6 * PATIENCE);
    }

    fn wait(&self, condition: &str, patience: Duration) {
        let start = Instant::now();
        while self.run(&format!("return Boolean({condition})")) != true {
            if start.elapsed() > patience {
                let text = self.run("return document.body.innerText");
                let text = text.as_str().unwrap_or_default();
                panic!("in vain: {condition}\n{text}\n{:?}", self.complaints());
            }
            sleep(Duration::from_millis(30));
        }
    }

    /// Waits until an element matches `css`, and returns the text of the first.
    pub(crate) fn text(&self, css: &str) -> String {
        self.until(&format!("document.querySelector({css:?})"));
        let text = self.run(&format!("return document.querySelector({css:?}).innerText"));
        text.as_str().unwrap().trim().to_owned()
    }

    /// The texts of all elements that match `css`.
    pub(crate) fn texts(&self, css: &str) -> Vec<String> {
        let all = format!(
            "return [...document.querySelectorAll({css:?})].map((one) => one.innerText.trim())"
        );
        serde_json::from_value(self.run(&all)).unwrap()
    }

    /// Waits until an element matches `css`, and presses the first as a mouse does.
    pub(crate) fn press(&self, css: &str) {
        let element = self.element(css);
        self.0.post(&format!("element/{element}/click"), json!({}));
    }

    /// Types `text` into the field that matches `css`, in place of what it holds.
    pub(crate) fn write(&self, css: &str, text: &str) {
        let element = self.element(css);
        let typed = json!({"text": format!("{ALL}{text}")});
        self.0.post(&format!("element/{element}/value"), typed);
    }

    /// Types at whatever has the focus.
    pub(crate) fn keys(&self, keys: &str) {
        let element = id(&self.0.get("element/active"));
        self.0
            .post(&format!("element/{element}/value"), json!({"text": keys}));
    }

    /// Chooses an option of the list that matches `css`.
    pub(crate) fn choose(&self, css: &str, value: &str) {
        self.press(&format!("{css} option[value={value:?}]"));
    }

    /// Moves the mouse to the middle of the first element that matches `css`.
    pub(crate) fn point(&self, css: &str) {
        self.until(&format!("document.querySelector({css:?})"));
        let middle = format!(
            "const box = document.querySelector({css:?}).getClientRects()[0]; \
             return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]"
        );
        let middle = self.run(&middle);
        let moved = json!({"type": "pointerMove", "duration": 0, "x": middle[0], "y": middle[1]});
        let mouse = json!({"type": "pointer", "id": "mouse", "actions": [moved]});
        self.0.post("actions", json!({"actions": [mouse]}));
    }

    /// Drops a file of this name and content (an expression) on the page.
    pub(crate) fn drop_file(&self, name: &str, content: &str) {
        self.run(&format!(
            "const dataTransfer = new DataTransfer();
             dataTransfer.items.add(new File([{content}], {name:?}));
             const options = {{ dataTransfer, bubbles: true, cancelable: true }};
             document.getElementById('text').dispatchEvent(new DragEvent('drop', options));"
        ));
    }

    /// Lets the page use the clipboard, and saves its files in `folder`.
    pub(crate) fn trust(&self, folder: &Path) {
        let folder = folder.to_str().unwrap();
        let permissions = json!(["clipboardReadWrite", "clipboardSanitizedWrite"]);
        self.devtools(
            "Browser.grantPermissions",
            json!({"permissions": permissions}),
        );
        let saved = json!({"behavior": "allow", "downloadPath": folder});
        self.devtools("Browser.setDownloadBehavior", saved);
    }

    fn element(&self, css: &str) -> String {
        self.until(&format!("document.querySelector({css:?})"));
        id(&self
            .0
            .post("element", json!({"using": "css selector", "value": css})))
    }

    /// Makes the system light or dark.
    pub(crate) fn system(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Makes the window `width` wide, and as high as the page; a narrow one is that of a phone.
    pub(crate) fn resize(&self, width: u32) {
        let phone = width < 500;
        let mut height = json!(900);
        for _ in 0..2 {
            let size =
                json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
            self.devtools("Emulation.setDeviceMetricsOverride", size);
            height = self.run("return document.documentElement.scrollHeight");
        }
    }

    /// Takes a picture, if pictures are wanted.
    pub(crate) fn picture(&self, name: &str) {
        if let Some(folder) = env::var_os("ATTENTIVE_SCREENSHOTS").map(PathBuf::from) {
            fs::create_dir_all(&folder).unwrap();
            let picture = self.devtools("Page.captureScreenshot", json!({"format": "png"}));
            let picture = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
            fs::write(folder.join(format!("{name}.png")), picture).unwrap();
        }
    }

    /// What the page has written to its console, but for answers of the server that say what went wrong.
    fn complaints(&self) -> Vec<String> {
        let entries = self.0.post("se/log", json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let messages = entries.iter().filter_map(|entry| entry["message"].as_str());
        let strange = messages.filter(|message| !message.contains("Failed to load resource"));
        strange.map(str::to_owned).collect()
    }

    fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.0.post("goog/cdp/execute", body)
    }
}

/// The id of an element.
fn id(element: &Value) -> String {
    let id = element
        .as_object()
        .and_then(|element| element.values().next());
    id.and_then(Value::as_str).expect("an element").to_owned()
}
