//! Tests of intact, damaged and unsuitable files of weights.

use std::fs;

use attentive_model::engine::{Engine, Precision};

use super::*;
use crate::MappedWeights;
use crate::weights::{sha256_of, write};

fn read(path: &Path, expected: &[(String, Vec<usize>)]) -> Result<Vec<Parameter>> {
    SafetensorsFile::open(path, None)?.parameters(expected)
}

fn saved() -> (tempfile::TempDir, PathBuf, Vec<(String, Vec<usize>)>) {
    let parameter = Parameter { name: "a.weight".into(), shape: vec![2, 1], values: vec![1.5, -2.0] };
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    write(&path, &[parameter]).expect("write");
    (folder, path, vec![("a.weight".into(), vec![2, 1])])
}

#[test]
fn written_parameters_are_read_back() {
    let (_folder, path, expected) = saved();
    assert_eq!(read(&path, &expected).expect("read")[0].values, [1.5, -2.0]);
}

#[test]
fn mapped_parameters_are_those_that_are_read() {
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    let parameter = |name: &str, values: &[f32]| Parameter {
        name: name.into(),
        shape: vec![values.len()],
        values: values.into(),
    };
    let parameters = [parameter("b", &[1.5, -2.0, 0.25]), parameter("a", &[4.0])];
    write(&path, &parameters).expect("write");
    let expected = parameters.each_ref().map(|parameter| (parameter.name.clone(), parameter.shape.clone()));
    let mapped = SafetensorsFile::open(&path, None).expect("open").mapped(&expected);
    let mapped = MappedWeights::joined(vec![mapped.expect("map")], &expected);
    assert_eq!(mapped.len(), 2);
    for (index, read) in read(&path, &expected).expect("read").into_iter().enumerate() {
        assert_eq!(mapped.parameter(index), (&*read.name, &*read.shape));
        assert_eq!(*mapped.values(index), *read.values);
    }
    let other = [("a".into(), vec![1])];
    assert!(SafetensorsFile::open(&path, None).expect("open").mapped(&other).is_err());
}

#[test]
fn an_engine_has_the_weights_of_its_file_and_refuses_damage() {
    let architecture = attentive_samples::variant("d_model = 96").architecture(50_000, 300);
    let size = |(_, shape): &(String, Vec<usize>)| 4 * shape.iter().product::<usize>();
    let expected = crate::shapes(&architecture);
    let value = |i: usize| (i as f32 * 0.7).sin();
    let parameters: Vec<Parameter> = (expected.iter())
        .map(|(name, shape)| Parameter {
            name: name.clone(),
            shape: shape.clone(),
            values: (0..shape.iter().product()).map(value).collect(),
        })
        .collect();
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    write(&path, &parameters).expect("write");
    let sha256 = sha256_of(&fs::read(&path).expect("read"));
    let open = |sha256: &str| SafetensorsFile::open(&path, Some(sha256)).expect("open");
    let begun = |sha256: &str| {
        let mut file = open(sha256);
        file.begin_checksum().expect("whole");
        file
    };
    let made = |file: SafetensorsFile| {
        packed(vec![(file, expected.clone())], Precision::F32, |weights| Engine::new(&architecture, weights))
    };
    let engine = |sha256: &str| {
        let (now, before) = (made(open(sha256)), made(begun(sha256)));
        assert_eq!(now.is_ok(), before.is_ok());
        now
    };
    // One of them is packed before the others.
    assert!(expected.iter().map(size).max() > Some(packing::LARGE));
    let found = attentive_model::engine::parameters(engine(&sha256).expect("whole").weights(), &architecture);
    assert!(found == parameters, "the weights differ");
    assert!(begun(&sha256).parameters(&expected).expect("whole") == parameters);
    // The checksum ends with the error.
    packed(vec![(begun(&sha256), Vec::new())], Precision::F32, |_| ()).expect_err("other parameters");

    let mut bytes = fs::read(&path).expect("read");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&path, &bytes).expect("write");
    let problem = engine(&sha256).expect_err("damaged").to_string();
    assert!(problem.contains("its SHA-256 is"), "{problem}");

    let (file, mut other) = (open(&sha256), open(&sha256));
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("write");
    let problem = other.begin_checksum().expect_err("cut").to_string();
    assert!(problem.contains("it was changed meanwhile"), "{problem}");
    let cut = made(file);
    let problem = cut.expect_err("cut").to_string();
    assert!(problem.contains("it was changed meanwhile"), "{problem}");
}

#[test]
fn damage_and_mismatches_are_reported() {
    let (_folder, path, expected) = saved();
    let problem =
        |expected: &[(String, Vec<usize>)]| read(&path, expected).expect_err("must fail").to_string();
    assert!(problem(&[]).contains("`a.weight` is not part of"));
    assert!(problem(&[("a.weight".into(), vec![3, 1])]).contains("[2, 1]"));
    let more = [expected.clone(), vec![("b".into(), vec![1])]].concat();
    assert!(problem(&more).contains("`b` [1] is missing"));
    let whole = fs::read(&path).expect("read");
    for cut in [0, 5, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).expect("write");
        assert!(problem(&expected).contains("not a complete safetensors file"));
    }
}

#[test]
fn a_wrong_checksum_is_refused() {
    let (_folder, path, expected) = saved();
    let sha256 = sha256_of(&fs::read(&path).expect("read"));
    let read = || SafetensorsFile::open(&path, Some(&sha256))?.parameters(&expected);
    assert!(read().is_ok());
    let digest = SafetensorsFile::open(&path, None).expect("open").digest();
    assert_eq!(digest.expect("read"), sha256);
    let mut bytes = fs::read(&path).expect("read");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&path, bytes).expect("write");
    // The header itself is intact.
    let file = SafetensorsFile::open(&path, Some(&sha256)).expect("open");
    assert!(file.check(&expected).is_ok());
    assert!(file.digest().is_err());
    let error = read().expect_err("must fail");
    assert!(error.to_string().contains(&sha256), "{error}");
}

#[test]
fn a_header_larger_than_the_file_is_refused() {
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    for header in [
        r#"{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}"#,
        r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#,
        r#"{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}}"#,
    ] {
        let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        fs::write(&path, bytes).expect("write");
        assert!(SafetensorsFile::open(&path, None).is_err(), "{header}");
    }
    fs::write(&path, u64::MAX.to_le_bytes()).expect("write");
    assert!(SafetensorsFile::open(&path, None).is_err());
}

#[test]
fn values_of_any_order_and_size_are_assigned_correctly() {
    let parameter = |name: &str, len: usize| Parameter {
        name: name.into(),
        shape: vec![len],
        values: (0..len).map(|i| i as f32).collect(),
    };
    // More than a chunk, an empty one, and names whose order differs from the expected one.
    let parameters =
        [parameter("z", 7), parameter("b", CHUNK_BYTES / 2 + 3), parameter("empty", 0), parameter("a", 1)];
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    write(&path, &parameters).expect("write");
    let expected: Vec<(String, Vec<usize>)> =
        parameters.iter().map(|parameter| (parameter.name.clone(), parameter.shape.clone())).collect();
    assert_eq!(read(&path, &expected).expect("read"), parameters);
}

#[test]
fn other_types_and_surplus_bytes_are_refused() {
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("model.safetensors");
    let problem = |header: &str, data: &[u8]| {
        let length = (header.len() as u64).to_le_bytes();
        fs::write(&path, [&length, header.as_bytes(), data].concat()).expect("write");
        read(&path, &[("a".into(), vec![1])]).expect_err("must fail").to_string()
    };
    let integer = r#"{"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}}"#;
    assert!(problem(integer, &[0; 2]).contains("`a` holds I16, expected F32, F16 or BF16"));
    let gap = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
    assert!(problem(gap, &[0; 8]).contains("not a complete safetensors file"));
    let surplus = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    assert!(problem(surplus, &[0; 5]).contains("not a complete safetensors file"));
}
