use std::fs::{self, File};

use attentive_config::ModelConfig;
use attentive_model::engine::{Dense, Engine, parameters};
use attentive_samples::{base, decodes, model, variant, variants};
use safetensors::SafeTensors;
use safetensors::tensor::{Metadata, TensorInfo};

use super::*;
use crate::checksummed_tensors::{ALIGNMENT, KEY, LENGTH_BYTES};
use crate::shapes;

fn engine(config: &ModelConfig, precision: Precision) -> (Architecture, Engine) {
    let model = model(config);
    let weights = &mut Dense::new(precision, model.copied());
    let architecture = model.architecture().clone();
    let engine = Engine::new(&architecture, weights);
    (architecture, engine)
}

fn written(engine: &Engine) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(engine.weights()).unwrap().write(&mut bytes).unwrap();
    bytes
}

/// Opens a file with these bytes.
fn open(bytes: &[u8], architecture: &Architecture) -> Result<QuantizedWeights> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed");
    fs::write(&path, bytes).unwrap();
    QuantizedWeights::open(&path, architecture)
}

fn problem(bytes: &[u8], architecture: &Architecture) -> String {
    match open(bytes, architecture) {
        Err(Error::Model { problem, .. }) => problem,
        outcome => panic!("{outcome:?}"),
    }
}

/// A file with these tensors, and its checksum. `pad` more blanks follow the header.
fn encoded(tensors: &[RawTensor<'_>], pad: usize) -> Vec<u8> {
    let mut end = 0;
    let infos = tensors.iter().map(|tensor| {
        let start = end;
        end += tensor.bytes.len();
        let info =
            TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets: (start, end) };
        (tensor.name.clone(), info)
    });
    let infos = infos.collect();
    let numbers = tensors.iter().flat_map(|tensor| tensor.bytes);
    let numbers: Vec<u8> = numbers.copied().collect();
    let format = format!("{FORMAT} {:08x}", crc32fast::hash(&numbers));
    let metadata = HashMap::from([(KEY.to_owned(), format)]);
    let mut header = serde_json::to_vec(&Metadata::new(Some(metadata), infos).unwrap()).unwrap();
    let len = (LENGTH_BYTES + header.len()).next_multiple_of(ALIGNMENT) - LENGTH_BYTES + pad;
    header.resize(len, b' ');
    [&(len as u64).to_le_bytes()[..], &header, &numbers].concat()
}

#[test]
fn what_is_written_is_read_back_for_every_variant() {
    for config in variants().into_iter().filter(decodes) {
        for precision in Precision::ALL {
            let (architecture, engine) = engine(&config, precision);
            let bytes = written(&engine);
            assert_eq!(bytes, written(&engine));
            let packed = open(&bytes, &architecture).unwrap();
            assert_eq!(packed.precision(), precision);
            let again = Engine::new(&architecture, &mut &packed);
            assert_eq!(
                parameters(again.weights(), &architecture),
                parameters(engine.weights(), &architecture),
                "{config:?}"
            );
            assert_eq!(written(&again), bytes, "{config:?}");
        }
    }
}

#[test]
fn numbers_start_at_lines_of_the_cache() {
    let (architecture, engine) = engine(&base(), Precision::Int8);
    let bytes = written(&engine);
    let (header, _) = SafeTensors::read_metadata(&bytes).unwrap();
    assert!((LENGTH_BYTES + header).is_multiple_of(ALIGNMENT));
    let places = tensors_of_file(&bytes);
    for (name, shape) in shapes(&architecture) {
        let (info, place) = &places[&name];
        if info.dtype == Dtype::I8 {
            assert!(place.start.is_multiple_of(ALIGNMENT), "{name} {shape:?}");
        }
    }
}

fn tensors_of_file(bytes: &[u8]) -> TensorIndex {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed");
    fs::write(&path, bytes).unwrap();
    checksummed_tensors::read(FORMAT, &Mapped::open(&File::open(&path).unwrap(), &path, IfLost::End).unwrap())
        .unwrap()
}

#[test]
fn files_of_other_models_are_refused() {
    let (architecture, engine) = engine(&base(), Precision::Int8);
    let bytes = written(&engine);
    let other = |config: ModelConfig| model(&config).architecture().clone();
    let deeper = other(variant("n_decoder_layers = 3"));
    let found = problem(&bytes, &deeper);
    assert!(found.contains("`decoder.layers.2.") && found.contains("is missing"), "{found}");
    let shallower = other(variant("n_decoder_layers = 1"));
    let found = problem(&bytes, &shallower);
    assert!(found.contains("are not part of the configured model"), "{found}");
    let wider = other(variant("d_ff = 64"));
    let found = problem(&bytes, &wider);
    assert!(found.contains("which does not fit [64, 12]"), "{found}");
    let cut = &bytes[..bytes.len() - 4];
    assert!(problem(cut, &architecture).contains("not a complete safetensors file"));
    let missing = QuantizedWeights::open(Path::new("no such folder"), &architecture).unwrap_err();
    assert!(missing.to_string().contains("no such file"), "{missing}");
}

fn all(engine: &Engine) -> Vec<RawTensor<'_>> {
    engine.weights().iter().flat_map(tensors_of).collect()
}

/// Headers are not covered by the checksum: each of these files is valid, but has the wrong tensors.
#[test]
fn tensors_that_do_not_fit_are_refused() {
    let (architecture, int8) = engine(&base(), Precision::Int8);
    let (_, bf16) = engine(&base(), Precision::Bf16);
    let is_matrix = |tensor: &RawTensor<'_>| tensor.dtype == Dtype::I8;
    let first = all(&int8).iter().position(is_matrix).unwrap();
    let name = all(&int8)[first].name.clone();
    assert!(open(&encoded(&all(&int8), 0), &architecture).is_ok());

    let mut tensors = all(&int8);
    tensors.retain(|tensor| tensor.name != format!("{name}.scales"));
    let found = problem(&encoded(&tensors, 0), &architecture);
    assert!(found.contains(&format!("`{name}.scales` [")), "{found}");

    let mut tensors = all(&int8);
    let sums = tensors.iter_mut().find(|tensor| tensor.name == format!("{name}.sums")).unwrap();
    sums.dtype = Dtype::F32;
    let found = problem(&encoded(&tensors, 0), &architecture);
    assert!(found.contains(&format!("`{name}.sums` [")), "{found}");

    let mut tensors = all(&int8);
    tensors.retain(|tensor| !tensor.name.starts_with(&name));
    let other = all(&bf16).into_iter().find(|tensor| tensor.name == name);
    tensors.extend(other);
    let found = problem(&encoded(&tensors, 0), &architecture);
    assert_eq!(found, "its matrices have different types");

    let mut tensors = all(&int8);
    tensors[first].shape.reverse();
    let found = problem(&encoded(&tensors, 0), &architecture);
    assert!(found.contains("which does not fit"), "{found}");

    // Scales at an odd address.
    let found = problem(&encoded(&all(&int8), 1), &architecture);
    assert!(found.contains("multiple of their size"), "{found}");
}

/// A file may hold a matrix in `f32`, or a vector among the packed matrices.
#[test]
fn parameters_of_the_other_kind_are_converted() {
    let (architecture, int8) = engine(&base(), Precision::Int8);
    let weights = model(&base()).copied();
    let mut tensors = all(&int8);
    let weight = weights.iter().find(|weight| weight.name.contains("query.weight")).unwrap();
    tensors.retain(|tensor| !tensor.name.starts_with(&weight.name));
    tensors.push(RawTensor {
        name: weight.name.clone(),
        dtype: Dtype::F32,
        shape: vec![weight.values.len()],
        bytes: bytemuck::cast_slice(&weight.values),
    });
    let packed = open(&encoded(&tensors, 0), &architecture).unwrap();
    let again = Engine::new(&architecture, &mut &packed);
    assert_eq!(parameters(again.weights(), &architecture), parameters(int8.weights(), &architecture));
}
