//! Matrix products.

use std::borrow::Cow;
use std::fmt::Write;

use attentive_device::Buffer;
use attentive_kernels::gemm::{Activation, Float};

use crate::bf16;
use crate::memory::numbers_of;
use crate::pipelines::GpuKernel;
use crate::queue::Binding::{Read, ReadIf, Weights, Write as Written};
use crate::queue::Recording;
use crate::word::words;

/// A matrix in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuMatrix<'a> {
    buffer: &'a Buffer,
    /// The first element.
    first: usize,
    /// The distances of neighboring rows and of neighboring columns.
    strides: [usize; 2],
}

impl<'a> GpuMatrix<'a> {
    /// A matrix of rows of this width.
    pub(crate) fn rows(buffer: &'a Buffer, width: usize) -> Self {
        Self { buffer, first: 0, strides: [width, 1] }
    }

    /// Without the columns before `first`.
    pub(crate) fn skip_columns(self, first: usize) -> Self {
        Self { first: self.first + first * self.strides[1], ..self }
    }

    /// Without the rows before `first`.
    pub(crate) fn skip_rows(self, first: usize) -> Self {
        Self { first: self.first + first * self.strides[0], ..self }
    }

    /// The transposed matrix.
    pub(crate) fn t(self) -> Self {
        let [row, column] = self.strides;
        Self { strides: [column, row], ..self }
    }
}

/// `left` `[m, k]` · `right` `[k, n]`, of which the right one may be stored in bf16
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuProduct<'a> {
    pub(crate) shape: [usize; 3],
    pub(crate) left: GpuMatrix<'a>,
    pub(crate) right: GpuMatrix<'a>,
    pub(crate) bias: Option<&'a Buffer>,
    pub(crate) activation: Activation,
    /// Added to what is there.
    pub(crate) accumulates: bool,
    pub(crate) precision: Float,
}

/// The sizes of tiles: invocations in both directions, and quadruples of sums of each in both directions.
#[derive(Clone, Copy, Debug)]
struct Tile {
    x: usize,
    y: usize,
    columns: usize,
    rows: usize,
}

/// The tiles, from the largest.
const TILES: [Tile; 3] = [Tile::new(16, 2), Tile::new(16, 1), Tile::new(8, 1)];
/// Fewer workgroups leave most of a GPU without work.
const ENOUGH: [usize; 2] = [128, 64];

impl Tile {
    const fn new(threads: usize, quads: usize) -> Self {
        Self { x: threads, y: threads, columns: quads, rows: quads }
    }

    /// The workgroups for a result `[m, n]`.
    fn groups(self, m: usize, n: usize) -> [usize; 2] {
        [n.div_ceil(4 * self.x * self.columns), m.div_ceil(4 * self.y * self.rows)]
    }
}

impl<'a> GpuProduct<'a> {
    /// The product of `[m, k]` and `[k, n]` for the shape `[m, n, k]`.
    pub(crate) fn new(
        shape: [usize; 3],
        left: GpuMatrix<'a>,
        right: GpuMatrix<'a>,
        precision: Float,
    ) -> Self {
        Self {
            shape,
            left,
            right,
            bias: None,
            activation: Activation::Identity,
            accumulates: false,
            precision,
        }
    }

    pub(crate) fn with_bias(self, bias: Option<&'a Buffer>) -> Self {
        Self { bias, ..self }
    }

    pub(crate) fn added(self) -> Self {
        self.added_if(true)
    }

    pub(crate) fn added_if(self, accumulates: bool) -> Self {
        Self { accumulates, ..self }
    }

    /// Writes the product to the rows of a matrix that is not transposed.
    pub(crate) fn write(self, recording: &mut Recording<'_>, out: GpuMatrix<'_>) {
        let [m, n, _] = self.shape;
        let tiles = |tile: &Tile| tile.groups(m, n).into_iter().product::<usize>();
        let size = (0..ENOUGH.len()).find(|&size| tiles(&TILES[size]) >= ENOUGH[size]);
        self.write_in_tiles(recording, out, size.unwrap_or(ENOUGH.len()));
    }

    /// Writes it in tiles of a size, which does not change the result.
    fn write_in_tiles(self, recording: &mut Recording<'_>, out: GpuMatrix<'_>, size: usize) {
        let Self { shape: [m, n, k], left, right, bias, .. } = self;
        if m == 0 || n == 0 {
            return;
        }
        let kernel = GpuKernel {
            entry: "product",
            source,
            variant: variant(size, numbers_of(right.buffer), self.precision),
        };
        let parameters = words![
            m,
            n,
            k,
            self.accumulates,
            bias.is_some(),
            self.activation == Activation::Relu,
            left.first,
            left.strides[0],
            left.strides[1],
            right.first,
            right.strides[0],
            right.strides[1],
            out.first,
            out.strides[0],
        ];
        let bindings = [Read(left.buffer), Weights(right.buffer), ReadIf(bias), Written(out.buffer)];
        let [x, y] = TILES[size].groups(m, n).map(|groups| groups as u32);
        recording.run(kernel, &bindings, &parameters, [x, y]);
    }
}

/// The variant of the kernel with tiles of one size, for right operands that are `stored` in a type, and sums
/// of products of operands in a precision.
fn variant(size: usize, stored: Float, precision: Float) -> usize {
    let [stored, precision] = [stored, precision].map(|float| usize::from(float == Float::Bf16));
    4 * size + 2 * stored + precision
}

/// The kernel of a [`variant`].
fn source(variant: usize) -> Cow<'static, str> {
    let Tile { x, y, columns, rows } = TILES[variant / 4];
    let stored = match variant / 2 % 2 {
        0 => Float::F32,
        _ => Float::Bf16,
    };
    let right = bf16::reader("right_number", 1, stored);
    let operand = match variant % 2 {
        0 => "fn operand(x: f32) -> f32 { return x; }",
        _ => include_str!("../wgsl/bf16.wgsl"),
    };
    let (mut sums, mut step, mut store) = (String::new(), String::new(), String::new());
    for i in 0..rows {
        _ = writeln!(step, "let left{i} = left_tile[l * LEFT + {i}u * TY + y];");
    }
    for j in 0..columns {
        _ = writeln!(step, "let right{j} = right_tile[l * RIGHT + {j}u * TX + x];");
    }
    for (i, r, j) in (0..rows * 4 * columns).map(|n| (n / (4 * columns), n / columns % 4, n % columns)) {
        let sum = format!("sum_{i}_{r}_{j}");
        _ = writeln!(sums, "var {sum} = vec4<f32>();");
        _ = writeln!(step, "{sum} = fma(vec4<f32>(left{i}[{r}]), right{j}, {sum});");
        let (row, column) =
            (format!("row + 4u * ({i}u * TY + y) + {r}u"), format!("column + 4u * ({j}u * TX + x)"));
        _ = writeln!(store, "store({row}, {column}, {sum});");
    }
    let sizes = format!("const TX = {x}u; const TY = {y}u; const QN = {columns}u; const QM = {rows}u;\n");
    let body = include_str!("../wgsl/product.wgsl");
    let body = (body.replace("SUMS", &sums).replace("STEP", &step)).replace("STORE", &store);
    format!("{sizes}{right}{operand}\n{body}").into()
}
