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

#[test]
fn files_may_be_elsewhere() {
    let folder = copied("npz");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("vocabs")).unwrap();
    fs::rename(path("vocab.yml"), path("vocabs/both.yml")).unwrap();
    for named in [
        "vocabs/both.yml",
        "vocabs\\both.yml",
        "./vocabs/both.yml",
        path("vocabs/both.yml").to_str().unwrap(),
    ] {
        fs::write(path("decoder.yml"), format!("models: [model.npz]\nvocabs:\n- {named:?}\n")).unwrap();
        let found = MarianFiles::find(folder.path()).unwrap().vocabs;
        let Vocabs::Joint(found) = found else { panic!("{found:?}") };
        assert_eq!(found.canonicalize().unwrap(), path("vocabs/both.yml").canonicalize().unwrap());
    }
    // Models are often moved without their folders.
    fs::write(path("decoder.yml"), "models: [/gone/model.npz]\nvocabs: [gone/both.yml]\n").unwrap();
    fs::rename(path("vocabs/both.yml"), path("both.yml")).unwrap();
    assert_eq!(MarianFiles::find(folder.path()).unwrap().vocabs, Vocabs::Joint(path("both.yml")));
    // A file that is where it should be comes before one of the same name here.
    fs::create_dir_all(path("run2")).unwrap();
    fs::copy(path("model.npz"), path("run2/model.npz")).unwrap();
    let both = "models: [model.npz, run2/model.npz]\nvocabs: [both.yml]\n";
    fs::write(path("decoder.yml"), both).unwrap();
    let found = MarianFiles::find(folder.path()).unwrap();
    assert_eq!((found.weights, found.partners), (path("model.npz"), vec![path("run2/model.npz")]));
    fs::remove_file(path("run2/model.npz")).unwrap();
    let problem = refusal(folder.path());
    assert!(
        problem.contains("`model.npz` and `run2/model.npz`, of which only `model.npz` is here"),
        "{problem}"
    );
    fs::write(path("decoder.yml"), "models: [model.npz]\nvocabs: [en/both.yml, de/both.yml]\n").unwrap();
    assert!(refusal(folder.path()).contains("of which only `both.yml` is here"));
    fs::write(path("decoder.yml"), "models: [gone/other.npz]\n").unwrap();
    assert!(refusal(folder.path()).contains("`gone/other.npz`, which its `decoder.yml` names, is missing"));
}

#[test]
fn the_best_checkpoint_of_a_training_is_imported() {
    let folder = copied("npz");
    let path = |name: &str| folder.path().join(name);
    fs::remove_file(path("decoder.yml")).unwrap();
    for name in
        ["model.iter10.npz", "model.npz.best-chrf.npz", "model.npz.optimizer.npz", "model.npz.orig.npz"]
    {
        fs::copy(path("model.npz"), path(name)).unwrap();
    }
    fs::write(path("model.npz.yml"), "valid-metrics: [chrf]\nguided-alignment: align.gz\n").unwrap();
    let foreign = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap();
    assert_eq!(
        foreign.notes,
        ["`model.npz.best-chrf.npz` was imported, the best of 3 checkpoints by `chrf`"]
    );
    assert!(MarianFiles::find(folder.path()).unwrap().is_guided);
    fs::write(path("model.npz.yml"), "guided-alignment: none\n").unwrap();
    assert!(!MarianFiles::find(folder.path()).unwrap().is_guided);
    // The training knows better than the search.
    fs::write(path("decoder.yml"), "models: [model.npz]\nalignment: soft\n").unwrap();
    assert!(!MarianFiles::find(folder.path()).unwrap().is_guided);
}

#[test]
fn several_models_are_an_ensemble() {
    let folder = copied("npz");
    let path = |name: &str| folder.path().join(name);
    fs::copy(path("model.npz"), path("other.npz")).unwrap();
    let with = |weights: &str| {
        let text = format!("models: [model.npz, other.npz]\nvocabs: [vocab.yml, vocab.yml]\n{weights}\n");
        fs::write(path("decoder.yml"), text).unwrap();
        ForeignModel::open(folder.path(), None, &Languages::default())
    };
    for (weights, expected) in [("", [1.0, 1.0]), ("weights: [0.3, 0.7]", [0.3, 0.7])] {
        let foreign = with(weights).unwrap();
        assert_eq!((foreign.partners.len(), &foreign.log_weights[..]), (1, &expected[..]));
    }
    let problem = with("weights: [1, 2, 3]").unwrap_err().to_string();
    assert!(problem.contains("`decoder.yml` has 3 weights for 2 models"), "{problem}");
}

#[test]
fn converted_types_are_named() {
    let folder = copied("npz");
    for (kind, name) in [
        (0x0802, "packed16"),
        (0x1801, "packed8avx2"),
        (0x2801, "packed8avx512"),
        (0x10002, "intgemm16"),
        (0x12001, "intgemm8avx512"),
        (0x4102, "intgemm16"),
    ] {
        let path = folder.path().join("model.bin");
        let item = |name: &str, kind, bytes: Vec<u8>| (name.to_owned(), kind, vec![1, bytes.len()], bytes);
        fs::write(&path, binary(&[item("Wemb", kind, vec![0; 8])])).unwrap();
        let problem = Tensors::binary(&path).unwrap().check_type("Wemb").unwrap_err();
        assert!(problem.to_string().contains(&format!("of Marian's type `{name}`")), "{problem}");
        assert!(problem.hint().unwrap().contains("to `intgemm8`"));
    }
}

/// Marian itself has another number for the same integers.
#[test]
fn integers_of_marian_are_those_of_firefox() {
    let folder = copied("firefox");
    let path = folder.path().join(FIREFOX);
    let read = |path: &Path| {
        let tensors = Tensors::binary(path).unwrap();
        let names: Vec<String> = tensors.names().filter(|name| *name != OPTIONS).map(str::to_owned).collect();
        names.into_iter().map(|name| (tensors.values(&name).unwrap().into_owned(), name)).collect::<Vec<_>>()
    };
    let own = read(&path);
    let mut file = fs::read(&path).unwrap();
    let n = u64::from_le_bytes(file[8..16].try_into().unwrap()) as usize;
    let mut changed = 0;
    for header in 0..n {
        let place = 16 + 32 * header + 8;
        if file[place..place + 8] == 0x4101u64.to_le_bytes() {
            file[place..place + 8].copy_from_slice(&0x10001u64.to_le_bytes());
            changed += 1;
        }
    }
    assert!(changed > 10);
    fs::write(&path, file).unwrap();
    assert!(read(&path) == own);
}
