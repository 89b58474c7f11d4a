//! Tests of the choice of files that belong to a model.

use super::*;

#[test]
fn files_are_found_beside_the_weights() {
    let folder = copied("npz");
    let path = folder.path().join("model.npz");
    assert_eq!(ForeignModel::open(&path, None, &Languages::default()).unwrap().kind, "Marian, npz");
    fs::copy(&path, folder.path().join("other.npz")).unwrap();
    // `decoder.yml` names the model.
    assert!(ForeignModel::open(folder.path(), None, &Languages::default()).is_ok());
    fs::remove_file(folder.path().join("decoder.yml")).unwrap();
    assert!(refusal(folder.path()).contains("several models, such as `model.npz` and `other.npz`"));
    let own = folder.path().join("other.npz.decoder.yml");
    fs::write(&own, "beam-size: 3").unwrap();
    let config =
        ForeignModel::open(&folder.path().join("other.npz"), None, &Languages::default()).unwrap().config;
    assert_eq!(config.decode.beam_width, 3);
    fs::copy(folder.path().join("vocab.yml"), folder.path().join("vocab2.yml")).unwrap();
    assert!(refusal(&path).contains("its vocabularies should be one file, or two with"));
    fs::rename(folder.path().join("vocab.yml"), folder.path().join("vocab.src.yml")).unwrap();
    fs::rename(folder.path().join("vocab2.yml"), folder.path().join("vocab.tgt.yml")).unwrap();
    assert!(ForeignModel::open(&path, None, &Languages::default()).is_ok());
}

#[test]
fn files_of_the_same_pair_belong_together() {
    let folder = copied("firefox");
    let path = |name: &str| folder.path().join(name);
    let shortlist = |model: &str| -> std::result::Result<Vec<u8>, String> {
        let foreign = ForeignModel::open(&path(model), None, &Languages::default());
        let foreign = foreign.map_err(|error| error.to_string())?;
        let (_folder, dir) = written(foreign);
        Ok(fs::read(dir.join("shortlist.safetensors")).unwrap())
    };
    let own = shortlist(FIREFOX).unwrap();
    // These belong to a model of another pair, with another list and vocabulary.
    let other = FIREFOX.replace("xxyy", "aabb");
    fs::copy(path(FIREFOX), path(&other)).unwrap();
    fs::copy(path("vocab.xxyy.spm"), path("vocab.aabb.spm")).unwrap();
    let problem = shortlist(&other).unwrap_err();
    assert!(problem.contains(&format!("which shortlist belongs to `{other}`")), "{problem}");
    let mut list = fs::read(path(LEXICON)).unwrap();
    let first = u64::from_le_bytes(list[16..24].try_into().unwrap());
    list[16..24].copy_from_slice(&(first + 1).to_le_bytes());
    mend_shortlist(&mut list);
    fs::write(path(&LEXICON.replace("xxyy", "aabb")), list).unwrap();
    assert!(shortlist(FIREFOX).unwrap() == own);
    assert!(shortlist(&other).unwrap() != own);
    assert!(refusal(folder.path()).contains("several models"));
}

#[test]
fn binary_files_of_other_tools_are_no_weights() {
    let folder = copied("firefox");
    for name in ["pytorch_model.bin", "training_args.bin", "qualityModel.bin"] {
        fs::write(folder.path().join(name), b"PK\x03\x04 of another tool").unwrap();
    }
    ForeignModel::open(folder.path(), None, &Languages::default()).unwrap();
    fs::remove_file(folder.path().join(FIREFOX)).unwrap();
    assert!(refusal(folder.path()).contains("a pickled file"));
}

#[test]
fn the_search_says_which_vocabulary_is_the_source_s() {
    let folder = copied("npz");
    let path = |name: &str| folder.path().join(name);
    for name in ["vocab.ro.yml", "vocab.src.yml"] {
        fs::copy(path("vocab.yml"), path(name)).unwrap();
    }
    let found = |vocabs: &str| {
        fs::write(path("decoder.yml"), format!("vocabs: [{vocabs}]")).unwrap();
        MarianFiles::find(&path("model.npz")).map(|files| files.vocabs)
    };
    // The order is not alphabetical, and not the one that the names suggest.
    let separate = Vocabs::Separate([path("vocab.ro.yml"), path("vocab.src.yml")]);
    assert_eq!(found("vocab.ro.yml, vocab.src.yml").unwrap(), separate);
    assert_eq!(found("vocab.yml, vocab.yml").unwrap(), Vocabs::Joint(path("vocab.yml")));
    assert_eq!(found("vocab.yml").unwrap(), Vocabs::Joint(path("vocab.yml")));
    let problem = found("vocab.yml, vocab.yml, vocab.ro.yml").unwrap_err().to_string();
    assert!(problem.contains("names 3 vocabularies"), "{problem}");
}
