//! Products, by the kernels and by cuBLASLt.

use attentive_base::random::Random;
use attentive_cuda::{Bf16, Buffer, CublasLt, Cuda, Form, Out, Shape, Tile};

use super::gpu;

/// A matrix with gaps between its rows and before its first number.
struct Operand {
    values: Vec<Bf16>,
    shape: Shape,
}

impl Operand {
    fn random(random: &mut Random, rows: usize, columns: usize, gap: usize, start: usize) -> Self {
        let shape = Shape {
            start,
            rows,
            columns,
            stride: columns + gap,
        };
        // What lies around the matrix is no number, so that a result that contains it is none either. The buffer ends with the
        // last number of the matrix.
        let mut values = vec![Bf16::round(f32::NAN); len(shape)];
        for row in 0..rows {
            for column in 0..columns {
                values[shape.start + row * shape.stride + column] = Bf16::round(uniform(random));
            }
        }
        Self { values, shape }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        let value = self.values[self.shape.start + row * self.shape.stride + column];
        f64::from(f32::from(value))
    }
}

/// The length of the shortest buffer that a matrix of this shape fits into.
fn len(shape: Shape) -> usize {
    match shape.rows {
        0 => 0,
        rows => shape.start + (rows - 1) * shape.stride + shape.columns,
    }
}

fn uniform(random: &mut Random) -> f32 {
    (random.uniform() * 2.0 - 1.0) as f32
}

/// A product to compute.
struct Case {
    form: Form,
    a: Operand,
    b: Operand,
    out: Shape,
    /// What is in the buffer of the result before.
    before: Vec<f32>,
}

/// How the matrices of a case lie in memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    gap: usize,
    start: usize,
}

const DENSE: Layout = Layout { gap: 0, start: 0 };

impl Case {
    fn random(form: Form, (m, n, k): (usize, usize, usize), layout: Layout, seed: u64) -> Self {
        let Layout { gap, start } = layout;
        let mut random = Random::new(seed, 0);
        let mut operand = |rows, columns| Operand::random(&mut random, rows, columns, gap, start);
        let (a, b) = match form {
            Form::Nt => (operand(m, k), operand(n, k)),
            Form::Nn => (operand(m, k), operand(k, n)),
            Form::Tn => (operand(k, m), operand(k, n)),
        };
        let out = Shape {
            start,
            rows: m,
            columns: n,
            stride: n + gap,
        };
        let before = (0..len(out)).map(|_| uniform(&mut random)).collect();
        Self {
            form,
            a,
            b,
            out,
            before,
        }
    }

    fn k(&self) -> usize {
        match self.form {
            Form::Nt | Form::Nn => self.a.shape.columns,
            Form::Tn => self.a.shape.rows,
        }
    }

    fn reference(&self, row: usize, column: usize) -> f64 {
        let product = |k| match self.form {
            Form::Nt => self.a.at(row, k) * self.b.at(column, k),
            Form::Nn => self.a.at(row, k) * self.b.at(k, column),
            Form::Tn => self.a.at(k, row) * self.b.at(k, column),
        };
        (0..self.k()).map(product).sum()
    }

    /// The buffer of the result after `multiply` has computed it there.
    fn run(&self, gpu: &Cuda, kind: Kind, multiply: &Multiply<'_>) -> Vec<f32> {
        let a = gpu.upload(&self.a.values).expect("memory");
        let b = gpu.upload(&self.b.values).expect("memory");
        let operands = (&a, &b);
        match kind {
            Kind::F32 | Kind::AddF32 => {
                let mut out = gpu.upload(&self.before).expect("memory");
                match kind {
                    Kind::AddF32 => multiply(self, operands, Out::AddF32(&mut out)),
                    _ => multiply(self, operands, Out::F32(&mut out)),
                }
                gpu.download(&out).expect("numbers")
            }
            Kind::Bf16 => {
                let before: Vec<Bf16> = self.before.iter().copied().map(Bf16::round).collect();
                let mut out = gpu.upload(&before).expect("memory");
                multiply(self, operands, Out::Bf16(&mut out));
                let out = gpu.download(&out).expect("numbers");
                out.into_iter().map(f32::from).collect()
            }
        }
    }

    /// Checks a result of `run`: the numbers of the matrix, and that all others are what they were.
    fn check(&self, kind: Kind, result: &[f32]) {
        // A GPU rounds sums in f32 towards zero after every few products.
        let tolerance = 1e-6 * (self.k() as f64 + 1.0);
        let mut inside = vec![false; result.len()];
        for row in 0..self.out.rows {
            for column in 0..self.out.columns {
                let place = self.out.start + row * self.out.stride + column;
                inside[place] = true;
                let product = self.reference(row, column);
                let (expected, tolerance) = match kind {
                    Kind::F32 => (product, tolerance),
                    Kind::AddF32 => (product + f64::from(self.before[place]), tolerance + 1e-6),
                    Kind::Bf16 => (product, tolerance + product.abs() / 256.0),
                };
                let found = f64::from(result[place]);
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{:?} {:?} {:?} {kind:?}: {found} at {row}, {column}, expected {expected}",
                    self.form,
                    self.a.shape,
                    self.b.shape
                );
            }
        }
        for ((&found, &before), inside) in result.iter().zip(&self.before).zip(inside) {
            let before = match kind {
                Kind::F32 | Kind::AddF32 => before,
                Kind::Bf16 => f32::from(Bf16::round(before)),
            };
            assert!(
                inside || found == before,
                "a number beside the result changed"
            );
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    F32,
    AddF32,
    Bf16,
}

const KINDS: [Kind; 3] = [Kind::F32, Kind::AddF32, Kind::Bf16];

type Multiply<'a> = dyn Fn(&Case, (&Buffer<Bf16>, &Buffer<Bf16>), Out<'_>) + 'a;

fn by_tile(gpu: &Cuda, tile: Tile) -> Box<Multiply<'_>> {
    Box::new(move |case, (a, b), out| {
        let (a, b) = (a.matrix(case.a.shape), b.matrix(case.b.shape));
        gpu.product_by(tile, case.form, a, b, out, case.out)
            .expect("a product");
    })
}

#[test]
fn products_of_all_sizes_are_those_of_the_reference() {
    let Some(gpu) = gpu() else { return };
    let sizes = [
        (1, 1, 1),
        (3, 2, 5),
        (16, 8, 16),
        (17, 9, 33),
        (64, 64, 32),
        (65, 63, 31),
        (5, 130, 64),
        (130, 5, 96),
        (128, 128, 128),
        (128, 128, 56),
        (129, 127, 40),
        (200, 72, 160),
        (40, 264, 8),
    ];
    for (seed, size) in (0..).zip(sizes) {
        for form in Form::ALL {
            for tile in Tile::ALL {
                let case = Case::random(form, size, DENSE, seed);
                for kind in KINDS {
                    case.check(kind, &case.run(&gpu, kind, &by_tile(&gpu, tile)));
                }
            }
        }
    }
}

#[test]
fn parts_of_matrices_are_read_and_written_wherever_they_begin() {
    let Some(gpu) = gpu() else { return };
    let layouts = [(8, 8), (8, 1), (1, 8), (3, 5), (2, 2), (4, 4), (7, 0)];
    for (seed, (gap, start)) in (100..).zip(layouts) {
        for form in Form::ALL {
            for tile in Tile::ALL {
                let case = Case::random(form, (70, 44, 72), Layout { gap, start }, seed);
                for kind in KINDS {
                    case.check(kind, &case.run(&gpu, kind, &by_tile(&gpu, tile)));
                }
            }
        }
    }
}

#[test]
fn without_columns_of_a_the_product_is_zero() {
    let Some(gpu) = gpu() else { return };
    for form in Form::ALL {
        let case = Case::random(form, (5, 7, 0), DENSE, 1);
        for kind in KINDS {
            case.check(kind, &case.run(&gpu, kind, &by_tile(&gpu, Tile::Small)));
        }
    }
}

#[test]
fn results_with_more_tiles_than_a_group_are_complete() {
    let Some(gpu) = gpu() else { return };
    // Nine rows of tiles, where a group has eight.
    let case = Case::random(Form::Nt, (9 * 64 - 3, 150, 8), DENSE, 2);
    case.check(
        Kind::F32,
        &case.run(&gpu, Kind::F32, &by_tile(&gpu, Tile::Small)),
    );
}

#[test]
fn a_row_has_the_same_bits_alone_and_among_others_and_with_either_tile() {
    let Some(gpu) = gpu() else { return };
    for form in [Form::Nt, Form::Nn] {
        let whole = Case::random(form, (150, 40, 88), DENSE, 3);
        let large = whole.run(&gpu, Kind::F32, &by_tile(&gpu, Tile::Large));
        let small = whole.run(&gpu, Kind::F32, &by_tile(&gpu, Tile::Small));
        assert_eq!(large, small);
        let mut alone = Case::random(form, (150, 40, 88), DENSE, 3);
        let row = 141;
        alone.a.shape.start = row * alone.a.shape.stride;
        alone.a.shape.rows = 1;
        alone.out = Shape::dense(1, 40);
        alone.before.truncate(40);
        let result = alone.run(&gpu, Kind::F32, &by_tile(&gpu, Tile::Large));
        assert_eq!(result, large[row * 40..][..40]);
    }
}

#[test]
fn cublaslt_computes_the_same_products() {
    let Some(gpu) = gpu() else { return };
    let Some(library) = CublasLt::open(&gpu).expect("cuBLASLt") else {
        eprintln!("skipped: there is no cuBLASLt");
        return;
    };
    let multiply: Box<Multiply<'_>> = Box::new(|case, (a, b), out| {
        let (a, b) = (a.matrix(case.a.shape), b.matrix(case.b.shape));
        library
            .product(&gpu, case.form, a, b, out, case.out)
            .expect("a product");
    });
    for (seed, layout) in (200..).zip([DENSE, Layout { gap: 8, start: 8 }]) {
        for form in Form::ALL {
            let case = Case::random(form, (48, 24, 64), layout, seed);
            for kind in KINDS {
                case.check(kind, &case.run(&gpu, kind, &multiply));
                // The second time, the plan is there.
                case.check(kind, &case.run(&gpu, kind, &multiply));
            }
        }
    }
}
