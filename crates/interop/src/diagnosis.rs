//! Explains why a file or directory cannot be imported, and suggests a remedy.

use std::io::Read;
use std::path::Path;

use attentive_base::error::Error;
use attentive_base::regular_file;
use glob::Pattern;

use super::keys::not_understood;
use super::listing::{file_name, files_of};

/// The beginning of the text that Git LFS leaves in place of a large file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A pattern of file names, a description of such files, and a suggestion.
struct Known(&'static str, &'static str, &'static str);

const ADAPTER: &str = "it is an adapter, which changes another model";
const MERGE: &str =
    "merge it into that model with `merge_and_unload` of the Python package `peft`, and import the result";
const PICKLED: &str = "a pickled file can run any program when it is read, so it is not read";
const UNPICKLE: &str = "write safetensors with Python, in the directory of the model: python -c \"import \
                        glob, torch; from safetensors.torch import save_file; save_file({name: \
                        tensor.clone().contiguous() for file in glob.glob('pytorch_model*.bin') for name, \
                        tensor in torch.load(file, map_location='cpu', weights_only=True).items()}, \
                        'model.safetensors')\"";
const OWN_TOOL: &str = "convert it to a `transformers` directory with the tool that wrote it";
const ORIGINAL: &str = "import the `transformers` model that it was made from";
const CONVERT: &str = "convert them with Python: load the model with `from_pretrained(DIR, from_tf=True)`, \
                       or `from_flax=True`, and write it with `save_pretrained`";

/// Known files. The first pattern that matches is used.
const KNOWN: [Known; 17] = [
    Known(
        "config.toml",
        "it belongs to a model directory of Attentive",
        "all commands read the directory as it is",
    ),
    Known("adapter_config.json", ADAPTER, MERGE),
    Known("adapter_model.*", ADAPTER, MERGE),
    Known("pytorch_model*.bin", PICKLED, UNPICKLE),
    Known("*.pt", PICKLED, OWN_TOOL),
    Known("*.pth", PICKLED, OWN_TOOL),
    Known("*.ckpt", PICKLED, OWN_TOOL),
    Known("*.gguf", "GGUF is not supported", ORIGINAL),
    Known("*.onnx", "ONNX is not supported", ORIGINAL),
    Known("onnx", "ONNX is not supported", ORIGINAL),
    Known(
        "model.bin",
        "models of CTranslate2 are not supported",
        "import the model that it was converted from",
    ),
    Known("*.h5", "weights of TensorFlow are not supported", CONVERT),
    Known("*.msgpack", "weights of Flax are not supported", CONVERT),
    Known(
        "model.safetensors",
        "it cannot be read, or the `config.json` that describes it is missing",
        "get all files of the model; a link may lead nowhere, as in a cache that was emptied",
    ),
    Known(
        "*.safetensors",
        "the file of the weights should be named `model.safetensors`",
        "rename it, if it holds the whole model",
    ),
    Known("*.gz", "compressed files are not supported", "unpack the files of the model with `gunzip`"),
    Known(
        "snapshots",
        "it is a cache, which may hold several versions of a model",
        "name one of the directories in it",
    ),
];

/// Returns the error for `path`, a file or directory without the files of a model: a description of what it
/// is, or else `problem`.
pub(super) fn of(path: &Path, problem: &str) -> Error {
    let files = match files_of(path) {
        Ok(files) => files,
        Err(error) => return error,
    };
    let known = KNOWN.iter().find_map(|Known(pattern, problem, hint)| {
        let pattern = Pattern::new(pattern).expect("a valid pattern");
        let file = { files.iter() }.find(|file| pattern.matches(&file_name(file)))?;
        Some(Error::Model { path: file.clone(), problem: (*problem).into(), hint: Some((*hint).into()) })
    });
    known.unwrap_or_else(|| not_understood(path, problem))
}

/// Returns this error, unless its file is a pointer of Git LFS, which is then reported.
pub(super) fn or_pointer(error: Error) -> Error {
    match error {
        Error::Model { path, .. } if is_pointer(&path) => Error::Model {
            path,
            problem: "it is a Git LFS pointer, not the file itself".into(),
            hint: Some("get the file with `git lfs pull`".into()),
        },
        _ => error,
    }
}

fn is_pointer(path: &Path) -> bool {
    let mut start = [0; POINTER.len()];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *POINTER
}
