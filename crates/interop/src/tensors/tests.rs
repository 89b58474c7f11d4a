use half::{bf16, f16};

use super::*;

fn of(bytes: &[u8], open: fn(&Path) -> Result<Tensors>) -> Result<Tensors> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tensors");
    std::fs::write(&path, bytes).unwrap();
    open(&path)
}

fn refusal(bytes: &[u8], open: fn(&Path) -> Result<Tensors>) -> String {
    of(bytes, open).unwrap_err().to_string()
}

/// A `.npy` file.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let len = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), data].concat()
}

/// A ZIP archive with one entry, compressed by `method`.
fn archive(name: &str, method: u16, data: &[u8]) -> Vec<u8> {
    let (short, long) = (u16::to_le_bytes, u32::to_le_bytes);
    let size = long(data.len() as u32);
    let common = |head: &[u8]| -> Vec<u8> {
        let crc = long(crc32fast::hash(data));
        let texts = [short(name.len() as u16), short(0)].concat();
        let method = [short(0), short(method), short(0), short(0)].concat();
        [head, &method, &crc, &size, &size, &texts].concat()
    };
    let mut file = common(b"PK\x03\x04\x14\x00");
    file.extend(name.as_bytes());
    file.extend(data);
    let directory = file.len() as u32;
    file.extend(common(b"PK\x01\x02\x14\x00\x14\x00"));
    file.extend([0; 14]);
    file.extend(name.as_bytes());
    let len = file.len() as u32 - directory;
    file.extend(b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00");
    file.extend([long(len), long(directory)].concat());
    file.extend(short(0));
    file
}

const HEADER: &str = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";

#[test]
fn arrays_of_numpy_are_read() {
    let data = [1.5f32, -2.0].map(f32::to_le_bytes).concat();
    let tensors = of(&archive("a:b.npy", 0, &npy(HEADER, &data)), Tensors::npz).unwrap();
    assert_eq!(tensors.names().collect::<Vec<_>>(), ["a:b"]);
    assert_eq!(tensors.shape("a:b").unwrap(), [2, 1]);
    assert_eq!(*tensors.values("a:b").unwrap(), [1.5, -2.0]);
    let halves = HEADER.replace("f4", "f2").replace("(2, 1)", "(3,)");
    let data = [1.0f32, 0.5, -2.0].map(|x| f16::from_f32(x).to_le_bytes()).concat();
    let tensors = of(&archive("h.npy", 0, &npy(&halves, &data)), Tensors::npz).unwrap();
    assert_eq!(*tensors.values("h").unwrap(), [1.0, 0.5, -2.0]);
    let doubles = HEADER.replace("f4", "f8");
    let tensors = of(&archive("d.npy", 0, &npy(&doubles, &[0; 16])), Tensors::npz).unwrap();
    let problem = tensors.check_type("d").unwrap_err().to_string();
    assert!(problem.contains("tensor `d`: it holds `<f8`"), "{problem}");
    assert!(tensors.values("e").unwrap_err().to_string().contains("`e` is missing"));
}

#[test]
fn other_archives_are_refused() {
    let refused = |bytes: &[u8]| refusal(bytes, Tensors::npz);
    let whole = archive("a.npy", 0, &npy(HEADER, &[0; 8]));
    assert!(refused(&[]).contains("not a ZIP archive"));
    assert!(refused(&whole[..whole.len() - 1]).contains("not a ZIP archive"));
    // A second entry of the directory with the same data.
    let mut overlapping = archive("a.npy", 0, &[0; 400]);
    let end = overlapping.len() - 22;
    let directory = u32::from_le_bytes(overlapping[end + 16..][..4].try_into().unwrap());
    let entry = overlapping[directory as usize..end].to_vec();
    overlapping.splice(end..end, entry.iter().copied());
    overlapping[end + entry.len() + 10] = 2;
    assert!(refused(&overlapping).contains("its entries overlap"));
    let compressed = archive("a.npy", 8, &npy(HEADER, &[0; 8]));
    assert!(refused(&compressed).contains("entry `a.npy` is compressed"));
    let mut changed = whole.clone();
    changed[60] ^= 1;
    assert!(refused(&changed).contains("differs from its checksum"));
    let columns = HEADER.replace("False", "True");
    assert!(refused(&archive("a", 0, &npy(&columns, &[0; 8]))).contains("by columns"));
    assert!(refused(&archive("a", 0, b"text")).contains("is not a NumPy array"));
    for shape in ["(2, 2)", "(18446744073709551615, 18446744073709551615)"] {
        let large = npy(&HEADER.replace("(2, 1)", shape), &[0; 8]);
        assert!(refused(&archive("a", 0, &large)).contains("tensor `a` is damaged"));
    }
}

/// Integers 2, 4, 6, −2, multiplied by 2, in a matrix `[2, 2]`.
fn integers(name: &str, factor: f32) -> Vec<u8> {
    let numbers = [1u64, 1, name.len() as u64 + 1, 0x4101, 2, 8];
    let head = numbers.map(u64::to_le_bytes).concat();
    let shape = [2i32, 2].map(i32::to_le_bytes).concat();
    let data = [2i8, 4, 6, -2].map(|integer| integer as u8);
    let padding = 0u64.to_le_bytes();
    let parts: [&[u8]; 7] = [&head, name.as_bytes(), &[0], &shape, &padding, &data, &factor.to_le_bytes()];
    parts.concat()
}

#[test]
fn integers_are_divided_by_their_factor() {
    let values = |name: &str| {
        let tensors = of(&integers(name, 2.0), Tensors::binary).unwrap();
        tensors.check_type(name).unwrap();
        tensors.values(name).unwrap().into_owned()
    };
    assert_eq!(values("encoder_Wemb"), [1.0, 2.0, 3.0, -1.0]);
    // The matrix is stored by columns.
    assert_eq!(values("l1_Wq"), [1.0, 3.0, 2.0, -1.0]);
    let zero = of(&integers("l1_Wq", 0.0), Tensors::binary).unwrap();
    let problem = zero.check_type("l1_Wq").unwrap_err().to_string();
    assert!(problem.contains("its quantization factor is 0"), "{problem}");
}

#[test]
fn damaged_binary_files_are_refused() {
    let whole = integers("W", 1.0);
    for len in 0..whole.len() {
        let problem = refusal(&whole[..len], Tensors::binary);
        assert!(problem.contains("damaged"), "{problem}");
    }
    let with = |at: usize, number: u64| {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        refusal(&bytes, Tensors::binary)
    };
    assert!(with(0, 2).contains("(found 2)"));
    for at in [8, 16, 32, 40] {
        assert!(with(at, u64::MAX).contains("truncated"), "{at}");
    }
    assert!(with(40, 7).contains("tensor `W` is damaged"));
    let shape = 50;
    assert!(with(shape, u64::MAX).contains("negative"));
    assert!(with(shape, 0x3_0000_0003).contains("tensor `W` is damaged"));
}

/// The headers of the arrays are damaged, but the checksums of the archives are right.
#[test]
fn damaged_arrays_are_no_panic() {
    let whole = npy(HEADER, &[0; 8]);
    let mut random = attentive_base::random::Random::new(1, 0);
    for _ in 0..2000 {
        let mut damaged = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(damaged.len());
            damaged[at] = b"0129(),'-x\x00\xff"[random.below(12)];
        }
        if let Ok(tensors) = of(&archive("a.npy", 0, &damaged), Tensors::npz)
            && tensors.check_type("a").is_ok()
        {
            tensors.values("a").unwrap();
        }
    }
}

#[test]
fn copies_are_found_whatever_their_types() {
    let values = [1.0f32, 0.5, -2.0, 0.25];
    let wide = |last: f32| -> Vec<u8> {
        let numbers = [values[0], values[1], values[2], last];
        numbers.map(f32::to_le_bytes).concat()
    };
    let half = |last: f32| -> Vec<u8> {
        let numbers = [values[0], values[1], values[2], last];
        numbers.map(|x| f16::from_f32(x).to_le_bytes()).concat()
    };
    let brief = values.map(|x| bf16::from_f32(x).to_le_bytes()).concat();
    let stored = [
        ("f32", ::safetensors::Dtype::F32, wide(0.25), vec![4]),
        ("f32 otherwise", ::safetensors::Dtype::F32, wide(0.5), vec![4]),
        ("f32 as a row", ::safetensors::Dtype::F32, wide(0.25), vec![1, 4]),
        ("f16", ::safetensors::Dtype::F16, half(0.25), vec![4]),
        ("f16 otherwise", ::safetensors::Dtype::F16, half(0.5), vec![4]),
        ("bf16", ::safetensors::Dtype::BF16, brief, vec![4]),
    ];
    let views = stored.iter().map(|(name, dtype, data, shape)| {
        let view = ::safetensors::tensor::TensorView::new(*dtype, shape.clone(), data);
        (*name, view.unwrap())
    });
    let folder = tempfile::tempdir().unwrap();
    let file = ::safetensors::serialize(views, None).unwrap();
    std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
    let tensors = Tensors::safetensors(folder.path()).unwrap();
    let alike = ["f32", "f16", "bf16"];
    for one in alike {
        for other in alike {
            assert!(tensors.same(one, other).unwrap(), "{one} and {other}");
        }
        for other in ["f32 otherwise", "f16 otherwise", "f32 as a row"] {
            assert!(!tensors.same(one, other).unwrap(), "{one} and {other}");
        }
    }
    assert!(tensors.same("f32", "missing").is_err());
}
