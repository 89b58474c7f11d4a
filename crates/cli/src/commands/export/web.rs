//! A model as a page that works in the browser.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::{folder_of, hexadecimal};
use attentive_checkpoint::{self as checkpoint, files};
use attentive_config::Config;
use attentive_evaluate::quantize::{QuantizeOptions, quantize};
use attentive_interop::name_of;
use attentive_model::engine::Precision;
use attentive_page::{offline_script, web_page};
use attentive_text::Languages;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The files of the engine that browsers load.
const ENGINE: [&str; 5] = ["attentive.wasm", "attentive.js", "engine.js", "files.js", "worker.js"];

/// The other files of the engine.
const PAPERS: [&str; 5] =
    [DESCRIPTION, "attentive.d.ts", "LICENSE-APACHE", "LICENSE-MIT", "LICENSES-OF-DEPENDENCIES.txt"];

/// The file that names the engine and its version.
const DESCRIPTION: &str = "package.json";

/// The page, as browsers ask for it.
const PAGE: &str = "./";

/// The format of `manifest.json`.
const FORMAT: u32 = 1;

/// What is written for the web.
pub(super) struct WebExport<'a> {
    /// The codes of the source and the target language.
    pub(super) languages: Option<[&'a str; 2]>,
    /// The number type of the weights; `None` for `int8`, and for that of a quantized model.
    pub(super) precision: Option<Precision>,
    pub(super) license: Option<&'a str>,
    /// The folder of the engine; `None` for that of this program.
    pub(super) engine: Option<&'a Path>,
}

/// `manifest.json`
#[derive(Serialize)]
struct Manifest<'a> {
    format: u32,
    program: String,
    models: [WebModel<'a>; 1],
}

/// A model in the manifest.
#[derive(Serialize)]
struct WebModel<'a> {
    name: String,
    dir: String,
    task: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<&'a str>,
    files: Vec<WebFile>,
}

impl WebModel<'_> {
    fn paths(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|file| file.path.clone())
    }
}

#[derive(Serialize)]
struct WebFile {
    path: String,
    bytes: u64,
    sha256: String,
}

/// What the description of the engine says.
#[derive(Deserialize)]
struct Description {
    version: String,
}

impl WebExport<'_> {
    /// Writes the model in `dir` and its page to the new folder `out`, which appears as a whole, and returns
    /// the number of bytes that a browser loads.
    ///
    /// # Errors
    /// [`Error::Usage`] without the engine of this version; the errors of [`quantize`]; [`Error::Io`].
    pub(super) fn write(&self, dir: &Path, out: &Path) -> Result<u64> {
        let engine = self.find_engine()?;
        let parent = folder_of(out);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        let folder = tempfile::Builder::new().prefix(".attentive-web-").tempdir_in(parent);
        let folder = folder.map_err(Error::io("write", out))?;
        let root = folder.path();
        let name = match self.languages {
            Some(pair) => pair.join("-"),
            None => served_name(dir),
        };
        let model = format!("models/{name}");
        create(&root.join("models"))?;
        let task = self.write_model(dir, &root.join(&model))?;
        let [source, target] = self.languages.map_or([None; 2], |pair| pair.map(Some));
        let files = list(root, &model)?;
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        create(&root.join("engine"))?;
        for file in ENGINE.into_iter().chain(PAPERS) {
            let (from, to) = (engine.join(file), root.join("engine").join(file));
            let copied = fs::copy(&from, &to).map_err(Error::io("copy", &from))?;
            if ENGINE.contains(&file) {
                bytes += copied;
            }
        }
        let license = self.license;
        let models = [WebModel { name, dir: model, task, source, target, license, files }];
        let program = format!("attentive {}", env!("CARGO_PKG_VERSION"));
        let manifest = Manifest { format: FORMAT, program, models };
        let (manifest, models) = (json(&manifest)?, manifest.models);
        let page = web_page();
        let mut version = Sha256::new();
        for part in [&manifest, &page] {
            version.update(part);
        }
        for file in ENGINE {
            let path = root.join("engine").join(file);
            version.update(fs::read(&path).map_err(Error::io("read", &path))?);
        }
        let kept = [PAGE, "index.html", "manifest.json"].map(str::to_owned).into_iter();
        let kept = kept.chain(ENGINE.iter().map(|file| format!("engine/{file}")));
        let kept: Vec<String> = kept.chain(models.iter().flat_map(WebModel::paths)).collect();
        let offline = offline_script(&hexadecimal(version.finalize()), &kept);
        for (name, text) in [("manifest.json", manifest), ("index.html", page), ("offline.js", offline)] {
            let path = root.join(name);
            bytes += text.len() as u64;
            fs::write(&path, text).map_err(Error::io("write", &path))?;
        }
        fs::rename(root, out).map_err(Error::io("write", out))?;
        let _ = folder.keep();
        Ok(bytes)
    }

    /// Writes the model, and returns its task.
    fn write_model(&self, dir: &Path, out: &Path) -> Result<&'static str> {
        let described = checkpoint::describe(dir)?;
        if let Some(pair) = self.languages {
            Languages::matching(pair, &described.tokenizers, &described.config.model.family)?;
        }
        let stored = described.is_quantized.then_some(described.precision);
        match (stored, self.precision) {
            (Some(stored), Some(asked)) if stored != asked => {
                return Err(Error::usage(
                    format!("`{}` is stored in {stored}, and cannot become {asked}", dir.display()),
                    "leave the precision out, or give the model from which it was quantized",
                ));
            }
            (Some(_), _) => checkpoint::copy(dir, out)?,
            (None, asked) => {
                let precision = asked.unwrap_or(Precision::Int8);
                quantize(dir, out, None, &QuantizeOptions::new(precision))?;
            }
        }
        Ok(described.config.model.family.task().name())
    }

    /// The folder of the engine.
    fn find_engine(&self) -> Result<PathBuf> {
        let found = match self.engine {
            Some(given) => Some(given.to_path_buf()),
            None => places().into_iter().find(|place| place.join(DESCRIPTION).is_file()),
        };
        let Some(found) = found else {
            return Err(Error::usage(
                "the engine for web pages is not beside this program",
                "give its folder with `--engine`: `scripts/web` in the source code builds it, and packages of releases have it",
            ));
        };
        let path = found.join(DESCRIPTION);
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let description: Result<Description, _> = serde_json::from_str(&text);
        let Ok(Description { version }) = description else {
            return Err(Error::usage(
                format!("`{}` does not describe an engine", path.display()),
                "give the folder that `scripts/web` writes",
            ));
        };
        if version != env!("CARGO_PKG_VERSION") {
            return Err(Error::usage(
                format!(
                    "the engine in `{}` is of version {version}, this program of version {}",
                    found.display(),
                    env!("CARGO_PKG_VERSION")
                ),
                "use an engine and a program of the same version",
            ));
        }
        Ok(found)
    }
}

/// Where the engine is beside this program: in a package, or in the folder of a build.
fn places() -> Vec<PathBuf> {
    let Ok(program) = env::current_exe().and_then(fs::canonicalize) else {
        return Vec::new();
    };
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    ["web", "../share/attentive/web", "../web"].iter().map(|place| folder.join(place)).collect()
}

/// A name for the model in `dir` with the characters that names of served models may have.
fn served_name(dir: &Path) -> String {
    let home = Config::home(dir);
    let name = name_of(&fs::canonicalize(&home).unwrap_or(home));
    let usable = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(usable).take(64).collect();
    if name.is_empty() { "model".to_owned() } else { name }
}

/// The files of the model in `folder` below `root`, but for those that only people read.
fn list(root: &Path, folder: &str) -> Result<Vec<WebFile>> {
    let dir = root.join(folder);
    let entries = fs::read_dir(&dir).map_err(Error::io("read", &dir))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != files::REPORT);
    names.sort();
    let file = |name: String| {
        let path = dir.join(&name);
        let content = fs::read(&path).map_err(Error::io("read", &path))?;
        Ok(WebFile {
            path: format!("{folder}/{name}"),
            bytes: content.len() as u64,
            sha256: hexadecimal(Sha256::digest(content)),
        })
    };
    names.into_iter().map(file).collect()
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir(folder).map_err(Error::io("create", folder))
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map_err(|error| Error::Data { problem: error.to_string(), hint: None })
}
