//! Results of PyTorch in `tests/fixtures/`.

use std::path::Path;

use safetensors::SafeTensors;

/// The file `NAME.safetensors`.
pub(crate) fn read(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let path = fixtures.join(name).with_extension("safetensors");
    std::fs::read(path).expect("the fixture is part of the repository")
}

/// A tensor's elements.
pub(crate) fn values(file: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let tensor = file.tensor(name).unwrap_or_else(|_| panic!("the fixture has {name}"));
    let bytes = tensor.data().chunks_exact(4);
    bytes.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Checks equality to within `tolerance` times the larger of 1 and the expected magnitude.
pub(crate) fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1.0),
            "{what}, element {index}: found {found}, PyTorch has {expected}"
        );
    }
}
