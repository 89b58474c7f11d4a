//! Copied columns give the same bits as the whole weight.

use super::*;

#[test]
fn a_product_with_some_columns_has_the_bits_of_the_whole() {
    for precision in TYPES {
        for (n, k) in SHAPES {
            let weight = PackedWeightBuf::pack(precision, &rows_of_many_sizes(n, k, 3), n, k);
            let whole = weight.view();
            // Some columns twice, in an order of their own.
            let chosen: Vec<usize> = (0..n + n / 2).map(|i| (i * 7 + i / 3) % n.max(1)).collect();
            let mut some = PackedColumns::new(precision, k);
            chosen.iter().for_each(|&column| some.push(whole, column));
            assert_eq!((some.view().n(), some.view().k()), (chosen.len(), k));
            for rows in [0, 1, 5, 33] {
                let x = rows_of_many_sizes(rows, k, 4);
                for kernel in kernels(precision) {
                    let on = |weight| product_on(kernel, rows, &x, weight, None, Activation::Identity);
                    let (all, found) = (on(whole), on(some.view()));
                    let of_row = |row| chosen.iter().map(move |column| row * n + column);
                    let expected: Vec<f32> = (0..rows).flat_map(of_row).map(|i| all[i]).collect();
                    assert_eq!(same_bits(&found), same_bits(&expected), "{kernel:?} [{n}, {k}]");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "column 5 of 5")]
fn a_column_must_exist() {
    let weight = PackedWeightBuf::pack(Precision::F32, &[0.0; 10], 5, 2);
    PackedColumns::new(Precision::F32, 2).push(weight.view(), 5);
}
