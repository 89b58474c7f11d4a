//! Converts runs of earlier versions, with their checkpoints, to the present format, in place:
//! `cargo run --release -p attentive-checkpoint --example convert RUN …`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use attentive_checkpoint::weights::{self, sha256_of};
use attentive_checkpoint::{
    Provenance, Run, Stored, TrainingState, load_recipe, shapes, sums, to_json, write_recipe,
};
use serde_json::Value;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    std::env::args().skip(1).try_for_each(|run| convert(Path::new(&run)))
}

fn convert(dir: &Path) -> Outcome<()> {
    let (config, tokenizers) = load_recipe(dir)?;
    let architecture = attentive_checkpoint::architecture(&config, &tokenizers);
    let parameters = shapes(&architecture);
    let run = Run::new(dir);
    for step in run.steps()? {
        let folder = run.folder(step);
        let weights = rewrite(&folder.join("model.safetensors"), &parameters)?;
        let file = folder.join("optimizer.safetensors");
        let slots = [vec!["mean", "square"], vec!["velocity"], vec![]];
        let optimizer = slots.iter().find_map(|slots| {
            let slots =
                |name: &str| slots.iter().map(move |slot| format!("{slot}.{name}")).collect::<Vec<_>>();
            let expected = parameters
                .iter()
                .flat_map(|(name, shape)| slots(name).into_iter().map(move |name| (name, shape.clone())));
            rewrite(&file, &expected.collect::<Vec<_>>()).ok()
        });
        let mut state: TrainingState<Value> = serde_json::from_slice(&fs::read(folder.join("state.json"))?)?;
        if state.position.window == usize::MAX {
            state.position.window = 0;
        }
        let state = to_json(&state)?;
        fs::write(folder.join("state.json"), &state)?;
        let sums = [
            ("model.safetensors", weights),
            ("optimizer.safetensors", optimizer.ok_or("another optimizer")?),
            ("state.json", sha256_of(&state)),
        ];
        describe(&folder, sums.map(|(name, sum)| (name.to_owned(), sum)).into())?;
    }
    let resumed = dir.with_file_name("resumed.safetensors");
    if resumed.exists() {
        rewrite(&resumed, &parameters)?;
    }
    let weights = rewrite(&dir.join("model.safetensors"), &parameters)?;
    write_recipe(dir, &config, &tokenizers)?;
    let mut known = sums::of(&config, &tokenizers);
    known.insert("model.safetensors".to_owned(), weights);
    describe(dir, known)
}

/// Writes the tensors in `file` by their present names, and returns the checksum.
fn rewrite(file: &Path, expected: &[(String, Vec<usize>)]) -> Outcome<String> {
    let stored = Stored::open(file, None)?.parameters(expected)?;
    weights::write(file, &stored)?;
    Ok(weights::sha256(&stored)?)
}

fn describe(folder: &Path, sha256: BTreeMap<String, String>) -> Outcome<()> {
    let path = folder.join("provenance.json");
    let provenance: Provenance = serde_json::from_slice(&fs::read(&path)?)?;
    Ok(fs::write(path, to_json(&Provenance { sha256, ..provenance })?)?)
}
