//! A page in the browser.

use std::env;
use std::fs;
use std::future::Future;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::driver::Driver;

/// Longest wait for something to happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A page in a browser of its own.
#[derive(Clone)]
pub(crate) struct Page(Client);

/// Opens `address` in a browser, plays `scene`, and closes the browser. Afterwards the page must not have complained, nor
/// asked other servers. Does nothing where there is no browser.
pub(crate) fn visit<F>(address: &str, scene: impl FnOnce(Page) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let Some(driver) = Driver::start() else {
        return;
    };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let page = Page::open(&driver).await;
        page.go(address).await;
        let played = tokio::spawn(scene(page.clone())).await;
        let complaints = page.complaints().await;
        let strangers = page.run("return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith(location.origin))").await;
        page.0.close().await.unwrap();
        if let Err(failure) = played {
            eprintln!("the page's complaints: {complaints:?}");
            resume_unwind(failure.into_panic());
        }
        assert!(complaints.is_empty(), "{complaints:?}");
        assert_eq!(strangers, json!([]));
    });
}

impl Page {
    async fn open(driver: &Driver) -> Self {
        let options = [
            "--headless=new",
            "--no-sandbox",
            "--hide-scrollbars",
            "--window-size=1400,1000",
        ];
        let mut capabilities = Map::new();
        capabilities.insert("goog:chromeOptions".into(), json!({"args": options}));
        capabilities.insert("goog:loggingPrefs".into(), json!({"browser": "ALL"}));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(driver.address());
        Self(client.await.expect("a browser"))
    }

    /// Goes to an address.
    pub(crate) async fn go(&self, address: &str) {
        self.0.goto(address).await.unwrap();
    }

    /// What the page's script returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.0.execute(script, Vec::new()).await.unwrap()
    }

    /// Waits until the expression `condition` is true.
    pub(crate) async fn until(&self, condition: &str) {
        let start = Instant::now();
        while self.run(&format!("return Boolean({condition})")).await != true {
            if start.elapsed() > PATIENCE {
                let text = self.run("return document.body.innerText").await;
                panic!(
                    "in vain: {condition}\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits until an element that matches `css` is there, and returns the text of the first.
    pub(crate) async fn text(&self, css: &str) -> String {
        self.until(&format!("document.querySelector({css:?})"))
            .await;
        let text = self
            .run(&format!("return document.querySelector({css:?}).innerText"))
            .await;
        text.as_str().unwrap().trim().to_owned()
    }

    /// The texts of all elements that match `css`.
    pub(crate) async fn texts(&self, css: &str) -> Vec<String> {
        let script = format!(
            "return [...document.querySelectorAll({css:?})].map((one) => one.innerText.trim())"
        );
        serde_json::from_value(self.run(&script).await).unwrap()
    }

    /// Waits for an element that matches `css`, and presses the first as a mouse does.
    pub(crate) async fn press(&self, css: &str) {
        let element = self
            .0
            .wait()
            .at_most(PATIENCE)
            .for_element(Locator::Css(css));
        element.await.unwrap().click().await.unwrap();
    }

    /// Types into the element that matches `css`.
    pub(crate) async fn write(&self, css: &str, text: &str) {
        let element = self.0.find(Locator::Css(css)).await.unwrap();
        element.clear().await.unwrap();
        element.send_keys(text).await.unwrap();
    }

    /// Types at whatever has the focus.
    pub(crate) async fn keys(&self, keys: &str) {
        let focused = self.0.active_element().await.unwrap();
        focused.send_keys(keys).await.unwrap();
    }

    /// Chooses an option of a list.
    pub(crate) async fn choose(&self, css: &str, value: &str) {
        let element = self.0.find(Locator::Css(css)).await.unwrap();
        element.select_by_value(value).await.unwrap();
    }

    /// Reloads the page.
    pub(crate) async fn reload(&self) {
        self.0.refresh().await.unwrap();
    }

    /// Makes the system light or dark.
    pub(crate) async fn system(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}))
            .await;
    }

    /// Makes the window as wide as `width`, and as high as the page; narrow ones are phones.
    pub(crate) async fn resize(&self, width: u32) {
        for height in [
            json!(900),
            self.run("return document.documentElement.scrollHeight")
                .await,
        ] {
            let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
            self.devtools("Emulation.setDeviceMetricsOverride", size)
                .await;
        }
    }

    /// Takes a picture, if pictures are wanted.
    pub(crate) async fn picture(&self, name: &str) {
        if let Some(folder) = env::var_os("ATTENTIVE_SCREENSHOTS").map(PathBuf::from) {
            fs::create_dir_all(&folder).unwrap();
            let picture = self.0.screenshot().await.unwrap();
            fs::write(folder.join(format!("{name}.png")), picture).unwrap();
        }
    }

    /// What the page has written to its console, but for answers of the server that were expected to be errors.
    async fn complaints(&self) -> Vec<String> {
        let command = Command("se/log", json!({"type": "browser"}));
        let entries = self.0.issue_cmd(command).await.unwrap();
        let entries = entries.as_array().cloned().unwrap_or_default();
        let messages = entries
            .iter()
            .map(|entry| entry["message"].as_str().unwrap_or_default());
        let strange = messages.filter(|message| !message.contains("Failed to load resource"));
        strange.map(str::to_owned).collect()
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.0
            .issue_cmd(Command("goog/cdp/execute", body))
            .await
            .unwrap();
    }
}

/// A command of `chromedriver` alone: its path below the session, and its body.
#[derive(Debug)]
struct Command(&'static str, Value);

impl WebDriverCompatibleCommand for Command {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.0
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.1.to_string()))
    }
}
