//! Models that work in the browser, without a server of ours.
//!
//! Needs the engine (`scripts/web`) in `target/web`, and Python for its web server. Without the engine, the
//! tests are skipped with a message, unless `ATTENTIVE_BROWSER_TESTS` is `required`.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::models;
use crate::page::visit;
use crate::run::Folder;
use crate::translate::{DONE, translation};

/// A folder on Python's web server, which is ended when dropped.
struct StaticServer {
    process: Child,
    address: String,
}

impl StaticServer {
    fn start(folder: &Path) -> Self {
        let command = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"];
        let mut python = Command::new("python3");
        python.args(command).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = python.spawn().expect("python3");
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split(['(', ')']).nth(1).expect("an address").to_owned();
        Self { process, address }
    }
}

impl Drop for StaticServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Trains a model of `family` and exports it to `site` in `folder`; false without the engine.
fn export(folder: &Folder, family: &str) -> bool {
    models::train(folder, "model", family);
    let outcome = folder
        .run("export runs/model --to web --precision f32 --languages en-de --license CC0 --output site");
    if outcome.code == Some(2) && outcome.stderr.contains("scripts/web") {
        let is_required = env::var("ATTENTIVE_BROWSER_TESTS").is_ok_and(|value| value == "required");
        assert!(!is_required, "{outcome:?}");
        eprintln!("skipped: there is no engine for web pages; `scripts/web` builds it");
        return false;
    }
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    true
}

#[test]
fn a_page_translates_by_itself_and_without_a_network() {
    let folder = Folder::new();
    if !export(&folder, "transformer") {
        return;
    }
    let text = "1 2 3 4 5 6 7 8 9";
    folder.write("in", text);
    let expected = folder.run("translate runs/model in").stdout;
    let server = StaticServer::start(&folder.path("site"));
    let address = server.address.clone();
    visit(&address, |page| {
        page.wait_for("h2");
        page.text("#licenses", |text| text == "Licenses: en-de: CC0.");
        page.write("#text", text);
        translation(page, |found| found == expected.trim_end());
        page.text(".status", |status| status.starts_with("1 sentence in "));
        page.press(".microscope > summary");
        page.until("document.querySelector('.map-frame canvas') && !document.querySelector('[aria-busy]')");
        page.expect("[...document.querySelectorAll('#command-box, #reference-box')].filter((one) => one.offsetParent).length", 0);
        for width in [1400, 390] {
            page.resize(width);
            page.expect("document.documentElement.scrollWidth", width);
            page.picture(&format!("web-{width}"));
        }
        // All files are kept once the service worker is at work.
        page.act("navigator.serviceWorker.ready.then(({ active }) => (window.keeper = active))");
        page.until("window.keeper?.state === 'activated'");
        drop(server);
        page.reload();
        page.wait_for("h2");
        page.write("#text", "9 8 7");
        page.until(DONE);
    });
}

#[test]
fn a_text_of_40_kb_is_translated() {
    let folder = Folder::new();
    if !export(&folder, "transformer") {
        return;
    }
    let digits =
        |number: usize| number.to_string().chars().map(|digit| format!("{digit} ")).collect::<String>();
    let text: String =
        (10_000..14_500).map(|number| format!("{}.", digits(number).trim())).collect::<Vec<_>>().join(" ");
    assert!(text.len() > 40_000);
    let server = StaticServer::start(&folder.path("site"));
    visit(&server.address.clone(), |page| {
        page.wait_for("h2");
        crate::translate::paste(page, &text);
        page.until(DONE);
        page.text(".status", |status| status.starts_with("4500 sentences in "));
    });
}

/// Two models work side by side, a text is given up, and markup is kept.
#[test]
fn one_page_has_two_models() {
    let folder = Folder::new();
    if !export(&folder, "transformer") {
        return;
    }
    models::train(&folder, "other", "seq2seq");
    folder.succeeds("export runs/other --to web --precision f32 --output site/other");
    folder.write("in", "1 2 3 4 5");
    let expected = ["model", "other"].map(|name| folder.run(&format!("translate runs/{name} in")).stdout);
    let server = StaticServer::start(&folder.path("site"));
    visit(&server.address.clone(), |page| {
        page.wait_for("h2");
        page.act(SCRIPT);
        page.until("window.outcome");
        page.expect("window.outcome.error", Value::Null);
        page.expect("window.outcome.texts", expected.map(|text| text.trim_end().to_owned()).to_vec());
        page.expect("window.outcome.given_up", "enough");
        page.read("window.outcome.html", |html: &String| {
            html.starts_with("<p class=\"x\">") && html.ends_with("</p><script>4 5</script>")
        });
    });
}

const SCRIPT: &str = r#"
const script = async () => {
  const { load } = await import("./engine/attentive.js");
  const [first, other] = await Promise.all([load("."), load("other")]);
  const stop = new AbortController();
  const long = (async () => {
    for await (const sentence of other.translate("1 2 3 4 5. ".repeat(4000), { signal: stop.signal })) {
      stop.abort(new Error("enough"));
    }
  })();
  const given_up = await long.catch(({ message }) => message);
  const texts = await Promise.all([first, other].map((models) => models.translateText("1 2 3 4 5")));
  const { text: html } = await first.translateFile("a.html", '<p class="x">1 2 <b>3</b></p><script>4 5</script>');
  first.close();
  other.close();
  return { error: null, given_up, texts, html };
};
script().catch((error) => ({ error: String(error) })).then((outcome) => (window.outcome = outcome));
"#;

/// The page says what is wrong if a file is damaged.
#[test]
fn a_damaged_file_is_named() {
    let folder = Folder::new();
    if !export(&folder, "transformer") {
        return;
    }
    let site = folder.path("site");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(site.join("manifest.json")).unwrap()).unwrap();
    let files = manifest["models"][0]["files"].as_array().unwrap();
    let config = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("config.toml")).unwrap();
    std::fs::write(site.join(config["path"].as_str().unwrap()), "x").unwrap();
    let server = StaticServer::start(&site);
    visit(&server.address.clone(), |page| {
        page.text("#problem", |problem| problem.contains("config.toml is damaged"));
    });
}
