//! Parts of products, and several products at once.

use super::*;

#[test]
fn columns_give_the_bits_of_the_whole_product() {
    let (n, k) = (200, 150);
    let (weight, bias) = (random(n * k, 1), random(n, 2));
    let mut buffer = LeftOperandBuf::default();
    for precision in TYPES {
        let packed = PackedWeightBuf::pack(precision, &weight, n, k);
        for rows in ROWS {
            let x = random(rows * k, 3);
            let mut all = vec![f32::NAN; rows * n];
            let (bias, relu) = (Some(&bias[..]), Activation::Relu);
            linear_packed(rows, &x, packed.view(), bias, relu, &mut all);
            let left = LeftOperand::prepare(precision, rows, k, &x, &mut buffer);
            for columns in [0..16, 16..48, 16..200, 176..200, 192..200, 0..200, 32..32] {
                let mut out = vec![f32::NAN; rows * columns.len()];
                let part = columns.clone();
                linear_packed_columns(&left, packed.view(), bias, relu, part, &mut out);
                let expected = all.chunks(n).flat_map(|row| row[columns.clone()].to_vec());
                let expected: Vec<f32> = expected.collect();
                assert!(bits(&out) == bits(&expected), "{precision:?}: {rows} rows, {columns:?}");
            }
        }
    }
}

#[test]
fn joined_layers_of_different_widths_give_the_bits_of_separate_ones() {
    let (rows, k) = (9, 40);
    let x = random(rows * k, 1);
    for precision in TYPES {
        let packed = [16, 33].map(|n| PackedWeightBuf::pack(precision, &random(n * k, 2), n, k));
        let biases = [random(16, 3), random(33, 4)];
        let maps = [0, 1].map(|i| PackedAffine { weight: packed[i].view(), bias: Some(&biases[i]) });
        let identity = Activation::Identity;
        let mut out = vec![f32::NAN; rows * 49];
        linear_packed_joined(rows, &x, &maps, identity, &mut out);
        let mut first = 0;
        for PackedAffine { weight, bias } in maps {
            let mut alone = vec![f32::NAN; rows * weight.n()];
            linear_packed(rows, &x, weight, bias, identity, &mut alone);
            for (out, alone) in out.chunks(49).zip(alone.chunks(weight.n())) {
                assert_eq!(bits(&out[first..][..weight.n()]), bits(alone));
            }
            first += weight.n();
        }
    }
}

#[test]
fn a_product_writes_only_its_own_columns() {
    let k = 600;
    for precision in TYPES {
        for (rows, n) in [(1, 33), (1, 130), (2, 130), (3, 17), (4, 70), (9, 130), (40, 15)] {
            let packed = PackedWeightBuf::pack(precision, &random(n * k, 2), n, k);
            let x = random(rows * k, 1);
            for kernel in kernels(precision) {
                let mut out = vec![7.5; rows * (n + 50)];
                let mut tile = TileMut::new(&mut out, rows, n, n + 50);
                product::with_left(kernel, rows, k, &x, |left| {
                    let epilogue = Epilogue::bias(None);
                    PackedProduct::new(*left, packed.view(), epilogue).write(&mut tile);
                });
                let beside = out.chunks(n + 50).flat_map(|row| &row[n..]);
                assert!(beside.into_iter().all(|&x| x == 7.5), "{kernel:?}: {rows} rows");
            }
        }
    }
}

#[test]
fn products_are_added_to_the_output() {
    let (rows, n, k) = (5, 40, 600);
    let (weight, x, before) = (random(n * k, 1), random(rows * k, 2), random(rows * n, 3));
    for precision in TYPES {
        let packed = PackedWeightBuf::pack(precision, &weight, n, k);
        let mut found = before.clone();
        linear_packed_add(rows, &x, packed.view(), &mut found);
        let mut expected = before.clone();
        if precision == Precision::F32 {
            let (x, weight) = (View::rows(&x, k), View::transposed(&weight, k));
            let product = Product::new(k, x, weight).added();
            product.write(Float::F32, [rows, n], &mut expected);
        } else {
            let mut product = vec![f32::NAN; rows * n];
            linear_packed(rows, &x, packed.view(), None, Activation::Identity, &mut product);
            expected.iter_mut().zip(&product).for_each(|(sum, y)| *sum += y);
        }
        assert!(bits(&found) == bits(&expected), "{precision:?}");
    }
}
