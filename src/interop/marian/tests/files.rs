//! Which files belong to a model.

use super::*;

#[test]
fn files_are_found_beside_the_weights() {
    let folder = copied("npz");
    let path = folder.path().join("model.npz");
    assert_eq!(
        Foreign::open(&path, None, &Languages::default())
            .unwrap()
            .kind,
        "Marian, npz"
    );
    fs::copy(&path, folder.path().join("other.npz")).unwrap();
    // `decoder.yml` names the model.
    assert!(Foreign::open(folder.path(), None, &Languages::default()).is_ok());
    fs::remove_file(folder.path().join("decoder.yml")).unwrap();
    assert!(refusal(folder.path()).contains("several models, such as `model.npz` and `other.npz`"));
    let own = folder.path().join("other.npz.decoder.yml");
    fs::write(&own, "beam-size: 3").unwrap();
    let config = Foreign::open(
        &folder.path().join("other.npz"),
        None,
        &Languages::default(),
    )
    .unwrap()
    .config;
    assert_eq!(config.decode.beam_width, 3);
    fs::copy(
        folder.path().join("vocab.yml"),
        folder.path().join("vocab2.yml"),
    )
    .unwrap();
    assert!(refusal(&path).contains("its vocabularies should be one file, or two"));
    fs::rename(
        folder.path().join("vocab.yml"),
        folder.path().join("vocab.src.yml"),
    )
    .unwrap();
    fs::rename(
        folder.path().join("vocab2.yml"),
        folder.path().join("vocab.tgt.yml"),
    )
    .unwrap();
    assert!(Foreign::open(&path, None, &Languages::default()).is_ok());
}
