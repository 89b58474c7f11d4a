//! A page in the browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::driver::{Driver, Session};

/// Longest wait for something to happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(30);

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
const STRANGERS: &str = "performance.getEntriesByType('resource').map((one) => one.name) \
    .filter((name) => !name.startsWith(location.origin))";

/// A page in a browser of its own.
pub(crate) struct Page(Session);

/// Opens `address` in a browser, plays `scene`, and closes the browser. Afterwards the page must not have
/// complained, nor asked other servers. Does nothing where there is no browser.
pub(crate) fn visit(address: &str, scene: impl FnOnce(&Page)) {
    let Some(driver) = Driver::start() else {
        return;
    };
    let page = Page(driver.session());
    page.go(address);
    scene(&page);
    assert_eq!(page.complaints(), Vec::<String>::new());
    page.expect(STRANGERS, json!([]));
}

/// Calls `attempt` until it succeeds; returns its last failure if it does not within the usual patience.
pub(crate) fn retry<T, E>(attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    retry_for(PATIENCE, attempt)
}

fn retry_for<T, E>(patience: Duration, mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let start = Instant::now();
    loop {
        let outcome = attempt();
        if outcome.is_ok() || start.elapsed() > patience {
            return outcome;
        }
        sleep(PAUSE);
    }
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

    /// Evaluates `expression` until its value is a `T` that `is_right`, and returns that value. Tests read
    /// the page in no other way, since it changes while they run.
    #[track_caller]
    pub(crate) fn read<T: DeserializeOwned>(&self, expression: &str, is_right: impl Fn(&T) -> bool) -> T {
        self.require(self.look(PATIENCE, expression, is_right), expression)
    }

    /// Waits until the expression `condition` is true.
    #[track_caller]
    pub(crate) fn until(&self, condition: &str) {
        self.hold(PATIENCE, condition);
    }

    /// The same for what takes long on a slow machine.
    #[track_caller]
    pub(crate) fn patiently(&self, condition: &str) {
        self.hold(6 * PATIENCE, condition);
    }

    #[track_caller]
    fn hold(&self, patience: Duration, condition: &str) {
        let outcome = self.look(patience, &format!("Boolean({condition})"), |is: &bool| *is);
        self.require(outcome, condition);
    }

    /// Waits until `expression` has the value `expected`.
    #[track_caller]
    pub(crate) fn expect(&self, expression: &str, expected: impl Into<Value>) {
        let expected = expected.into();
        let outcome = self.look(PATIENCE, expression, |value: &Value| *value == expected);
        self.require(outcome, &format!("{expression} is {expected}"));
    }

    /// Waits until an element matches `css`.
    #[track_caller]
    pub(crate) fn wait_for(&self, css: &str) {
        self.until(&format!("document.querySelector({css:?})"));
    }

    /// The text of the first element that matches `css`, once it `is_right`.
    #[track_caller]
    pub(crate) fn text(&self, css: &str, is_right: impl Fn(&str) -> bool) -> String {
        let text = format!("document.querySelector({css:?})?.innerText.trim()");
        self.read(&text, |text: &String| is_right(text))
    }

    /// The texts of all elements that match `css`, once they are right.
    #[track_caller]
    pub(crate) fn texts(&self, css: &str, are_right: impl Fn(&[String]) -> bool) -> Vec<String> {
        self.read(&texts(css), |texts: &Vec<String>| are_right(texts))
    }

    /// Evaluates `expression` until its value is a `T` that `is_right`; otherwise, returns what it was at
    /// last.
    fn look<T: DeserializeOwned>(
        &self,
        patience: Duration,
        expression: &str,
        is_right: impl Fn(&T) -> bool,
    ) -> Result<T, Value> {
        retry_for(patience, || {
            let value = self.run(&format!("return ({expression})"))?;
            match T::deserialize(&value) {
                Ok(right) if is_right(&right) => Ok(right),
                _ => Err(value),
            }
        })
    }

    /// The value of `outcome`; fails with what is on the page if there is none.
    #[track_caller]
    fn require<T>(&self, outcome: Result<T, Value>, wanted: &str) -> T {
        match outcome {
            Ok(value) => value,
            Err(last) => {
                let text = self.run("return document.body.innerText");
                let text = text.unwrap_or_default();
                let text = text.as_str().unwrap_or_default();
                panic!("in vain: {wanted}\nat last: {last}\n{text}\n{:?}", self.complaints());
            }
        }
    }

    /// What `script` returns.
    fn run(&self, script: &str) -> Result<Value, Value> {
        let body = json!({"script": script, "args": []});
        self.0.attempt("execute/sync", body)
    }

    /// Runs a script that does something.
    #[track_caller]
    pub(crate) fn act(&self, script: &str) {
        self.run(script).unwrap();
    }

    /// Sends `command` to the first element that matches `css`, once there is one that takes it.
    #[track_caller]
    fn command(&self, css: &str, command: &str, body: &Value) {
        let outcome = retry(|| {
            let by = json!({"using": "css selector", "value": css});
            let element = id(&self.0.attempt("element", by)?);
            let path = format!("element/{element}/{command}");
            self.0.attempt(&path, body.clone())
        });
        self.require(outcome, &format!("{command} {css}"));
    }

    /// Presses the first element that matches `css` as a mouse does.
    #[track_caller]
    pub(crate) fn press(&self, css: &str) {
        self.command(css, "click", &json!({}));
    }

    /// Types `text` into the field that matches `css`, in place of what it holds.
    #[track_caller]
    pub(crate) fn write(&self, css: &str, text: &str) {
        self.command(css, "value", &json!({"text": format!("{ALL}{text}")}));
    }

    /// Types at whatever has the focus.
    #[track_caller]
    pub(crate) fn keys(&self, keys: &str) {
        self.command(":focus", "value", &json!({"text": keys}));
    }

    /// Chooses an option of the list that matches `css`.
    #[track_caller]
    pub(crate) fn choose(&self, css: &str, value: &str) {
        self.press(&format!("{css} option[value={value:?}]"));
    }

    /// Moves the mouse to the middle of the first element that matches `css`.
    #[track_caller]
    pub(crate) fn point(&self, css: &str) {
        let middle = format!(
            "(({{ x, y, width, height }}) => [x + width / 2, y + height / 2].map(Math.round)) \
             (document.querySelector({css:?}).getClientRects()[0])"
        );
        let [x, y] = self.read(&middle, |_: &[i64; 2]| true);
        let moved = json!({"type": "pointerMove", "duration": 0, "x": x, "y": y});
        let mouse = json!({"type": "pointer", "id": "mouse", "actions": [moved]});
        self.0.post("actions", json!({"actions": [mouse]}));
    }

    /// Drops a file of this name and content (an expression) on the page.
    pub(crate) fn drop_file(&self, name: &str, content: &str) {
        self.act(&format!(
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
        self.devtools("Browser.grantPermissions", json!({"permissions": permissions}));
        let saved = json!({"behavior": "allow", "downloadPath": folder});
        self.devtools("Browser.setDownloadBehavior", saved);
    }

    /// Makes the system light or dark.
    pub(crate) fn system(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Makes the window `width` wide, and as high as the page; a narrow one is that of a phone.
    #[track_caller]
    pub(crate) fn resize(&self, width: u32) {
        let phone = width < 500;
        let mut height = json!(900);
        for _ in 0..2 {
            let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
            self.devtools("Emulation.setDeviceMetricsOverride", size);
            self.expect("document.documentElement.clientWidth", width);
            height = self.read("document.documentElement.scrollHeight", Value::is_u64);
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

/// An expression for the texts of all elements that match `css`.
pub(crate) fn texts(css: &str) -> String {
    format!("[...document.querySelectorAll({css:?})].map((one) => one.innerText.trim())")
}

/// The id of an element.
fn id(element: &Value) -> String {
    let id = element.as_object().and_then(|element| element.values().next());
    id.and_then(Value::as_str).expect("an element").to_owned()
}
