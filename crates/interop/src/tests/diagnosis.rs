//! Tests of the errors for files and directories that are not models.

use super::*;

/// The error of importing the directory with these files, and its hint.
fn of_files(files: &[(&str, &[u8])]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    of_path(folder.path())
}

fn of_path(path: &Path) -> (String, String) {
    let error = open(path).unwrap_err();
    let hint = error.hint().map(|hint| hint.to_string());
    (error.to_string(), hint.unwrap_or_default())
}

#[test]
fn other_formats_are_recognized() {
    for (name, problem, hint) in [
        ("config.toml", "a model directory of Attentive", "as it is"),
        ("adapter_config.json", "an adapter", "merge_and_unload"),
        ("adapter_model.bin", "an adapter", "merge_and_unload"),
        ("pytorch_model.bin", "a pickled file", "weights_only=True"),
        ("pytorch_model-00001-of-00002.bin", "a pickled file", "safetensors"),
        ("model.pt", "a pickled file", "the tool that wrote it"),
        ("model.gguf", "GGUF", "was made from"),
        ("model.onnx", "ONNX", "was made from"),
        ("model.bin", "CTranslate2", "was converted from"),
        ("tf_model.h5", "TensorFlow", "from_tf=True"),
        ("flax_model.msgpack", "Flax", "from_flax=True"),
        ("model.fp16.safetensors", "named `model.safetensors`", "rename"),
        ("model.safetensors", "`config.json` that describes it is missing", "get all files"),
        ("model.enfr.intgemm.alphas.bin.gz", "compressed", "gunzip"),
        ("snapshots", "a cache", "one of the directories"),
        ("notes.txt", "no `config.json`", "attentive help import"),
    ] {
        let (found, advice) = of_files(&[(name, b"\x80\x02 of another tool")]);
        assert!(found.contains(problem) && advice.contains(hint), "{name}: {found}; {advice}");
        if name == "notes.txt" || name == "config.toml" {
            continue;
        }
        // The file is beside a description in which another tool does not name the kind.
        let (found, _) = of_files(&[(name, b"x"), ("config.json", b"{}")]);
        assert!(found.contains(problem), "{name}: {found}");
    }
    let (found, _) = of_files(&[("config.json", b"{}")]);
    assert!(found.contains("`model_type` is missing"), "{found}");
}

#[test]
fn weights_of_other_tools_are_recognized_beside_a_description() {
    let folder = changed("t5", "config.json", |_| ());
    let weights = folder.path().join("model.safetensors");
    for (name, problem) in [
        ("tf_model.h5", "TensorFlow"),
        ("pytorch_model.bin", "a pickled file"),
        ("model.fp16.safetensors", "named `model.safetensors`"),
    ] {
        let other = folder.path().join(name);
        fs::rename(&weights, &other).unwrap();
        let problem_found = refusal(&folder);
        assert!(problem_found.contains(problem), "{name}: {problem_found}");
        assert!(of_path(&other).0.contains(problem), "{name} itself");
        fs::rename(&other, &weights).unwrap();
    }
    // The file of the weights may be given in place of its directory.
    open(&weights).unwrap();
}

#[test]
fn pointers_in_place_of_files_are_recognized() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    for name in ["model.safetensors", "tokenizer.json", "config.json"] {
        let folder = changed("t5", "config.json", |_| ());
        fs::write(folder.path().join(name), pointer).unwrap();
        let (problem, hint) = of_path(folder.path());
        assert!(problem.contains(name) && problem.contains("Git LFS"), "{problem}");
        assert!(hint.contains("git lfs pull"), "{hint}");
    }
}

#[test]
fn missing_paths_are_named_as_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nowhere");
    let (problem, _) = of_path(&path);
    assert!(problem.starts_with(&format!("cannot read `{}`:", path.display())), "{problem}");
}
