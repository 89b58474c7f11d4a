//! Measures products in bf16 on a GPU, by the kernels of this crate and by cuBLASLt, and says whether the kernels are fast
//! enough to go on with: 60 % of cuBLASLt's speed.
//!
//! ```sh
//! cargo run --release -p attentive-cuda --features cuda --example product            # a few minutes on a GPU
//! cargo run --release -p attentive-cuda --features cuda --example product -- tiny    # the products of one model
//! ```

use std::process::ExitCode;

use attentive_base::random::Random;
use attentive_cuda::{Bf16, Buffer, CublasLt, Cuda, Error, Form, Matrix, Moment, Out, Shape, Tile};

/// A model whose products are measured.
struct Model {
    name: &'static str,
    /// Rows of its matrices: tokens of a micro-batch.
    tokens: usize,
    d_model: usize,
    d_ff: usize,
    vocabulary: usize,
}

/// Those of `attentive bench`, with batches for a GPU, and a larger one. `check` is for trying this program.
const MODELS: [Model; 5] = [
    model("check", 64, 32, 64, 100),
    model("tiny", 16_384, 128, 256, 10_000),
    model("small", 16_384, 256, 1024, 8000),
    model("base", 8192, 512, 2048, 32_000),
    model("d1024", 8192, 1024, 4096, 32_000),
];

const fn model(
    name: &'static str,
    tokens: usize,
    d_model: usize,
    d_ff: usize,
    vocabulary: usize,
) -> Model {
    Model {
        name,
        tokens,
        d_model,
        d_ff,
        vocabulary,
    }
}

/// The share of cuBLASLt's speed that the kernels must reach.
const GATE: f64 = 0.6;

/// How often each product is timed; the median counts.
const ROUNDS: usize = 7;

/// The time that a round should take, in seconds.
const ROUND: f64 = 0.02;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}\nhint: {}", error.hint());
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Error> {
    let wanted = std::env::args().nth(1);
    let models: Vec<&Model> = MODELS
        .iter()
        .filter(|model| is_wanted(model, wanted.as_deref()))
        .collect();
    if models.is_empty() {
        let names = MODELS.map(|model| model.name).join(", ");
        eprintln!("error: there is no such model; there are {names}");
        return Ok(ExitCode::from(2));
    }
    let gpu = Cuda::open(0)?;
    let device = &gpu.device;
    println!(
        "{}, compute capability {}, {} multiprocessors, {} MiB",
        device.name,
        device.capability,
        device.multiprocessors,
        device.memory >> 20
    );
    let library = CublasLt::open(&gpu)?;
    println!(
        "\n{:6} {:4} {:>7} {:>7} {:>7}  {:>9} {:>9} {:>9}  {:>6}",
        "model", "form", "m", "n", "k", "tile 128", "tile 64", "cuBLASLt", "share"
    );
    let mut shares = Vec::new();
    for model in models {
        for product in model.products() {
            let speeds = product.measure(&gpu, library.as_ref())?;
            println!("{:6} {product} {speeds}", model.name);
            shares.extend(speeds.share());
        }
    }
    println!(
        "\nSpeeds are in TFLOP/s, medians of {ROUNDS} rounds. Samples of each result were compared with f64 on the CPU."
    );
    Ok(verdict(&shares))
}

/// Whether a model was asked for; without a name, all but the one for trials.
fn is_wanted(model: &Model, wanted: Option<&str>) -> bool {
    wanted.map_or(model.name != "check", |name| name == model.name)
}

/// Says whether the gate is reached. The program ends with 0 if it is or cannot be known, and with 1 otherwise.
fn verdict(shares: &[f64]) -> ExitCode {
    if shares.is_empty() {
        println!(
            "cuBLASLt was not found (libcublasLt.so.12, with LD_LIBRARY_PATH), so whether the kernels reach {:.0} % of it is not known.",
            GATE * 100.0
        );
        return ExitCode::SUCCESS;
    }
    let logarithms: f64 = shares.iter().map(|share| share.ln()).sum();
    let mean = (logarithms / shares.len() as f64).exp();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let reached = shares.iter().filter(|share| **share >= GATE).count();
    println!(
        "Share of cuBLASLt's speed: {:.0} % in the geometric mean, {:.0} % at least; {reached} of {} products reach {:.0} %.",
        mean * 100.0,
        least * 100.0,
        shares.len(),
        GATE * 100.0
    );
    if mean >= GATE {
        println!("The gate of {:.0} % is reached.", GATE * 100.0);
        ExitCode::SUCCESS
    } else {
        println!("The gate of {:.0} % is NOT reached.", GATE * 100.0);
        ExitCode::FAILURE
    }
}

impl Model {
    /// Forward, and the gradients of the inputs and of the weights, of the wide layer and of the projection to the vocabulary.
    fn products(&self) -> Vec<Product> {
        [self.d_model, self.d_ff, self.vocabulary]
            .into_iter()
            .flat_map(|outputs| {
                let (tokens, inputs) = (self.tokens, self.d_model);
                [
                    Product::new(Form::Nt, tokens, outputs, inputs),
                    Product::new(Form::Nn, tokens, inputs, outputs),
                    Product::new(Form::Tn, outputs, inputs, tokens),
                ]
            })
            .collect()
    }
}

/// A product to measure.
struct Product {
    form: Form,
    m: usize,
    n: usize,
    k: usize,
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = match self.form {
            Form::Nt => "nt",
            Form::Nn => "nn",
            Form::Tn => "tn",
        };
        write!(f, "{form:4} {:>7} {:>7} {:>7} ", self.m, self.n, self.k)
    }
}

/// TFLOP/s.
struct Speeds {
    /// By tile.
    own: [f64; 2],
    /// The tile that the crate chooses.
    chosen: Tile,
    library: Option<f64>,
}

impl Speeds {
    fn share(&self) -> Option<f64> {
        Some(self.own[self.chosen as usize] / self.library?)
    }
}

impl std::fmt::Display for Speeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for tile in Tile::ALL {
            let mark = if tile == self.chosen { '*' } else { ' ' };
            write!(f, " {:>8.2}{mark}", self.own[tile as usize])?;
        }
        match (self.library, self.share()) {
            (Some(speed), Some(share)) => write!(f, " {speed:>9.2}  {:>4.0} %", share * 100.0),
            _ => write!(f, " {:>9}", "-"),
        }
    }
}

/// The matrices of a product: the operands on the CPU and on the GPU, and the result, in f32 for gradients of weights, otherwise
/// in bf16.
struct Matrices {
    host: [Vec<Bf16>; 2],
    operands: [Buffer<Bf16>; 2],
    shapes: [Shape; 3],
    out: Target,
}

enum Target {
    F32(Buffer<f32>),
    Bf16(Buffer<Bf16>),
}

impl Target {
    fn out(&mut self) -> Out<'_> {
        match self {
            Self::F32(buffer) => Out::F32(buffer),
            Self::Bf16(buffer) => Out::Bf16(buffer),
        }
    }

    fn download(&self, gpu: &Cuda) -> Result<Vec<f32>, Error> {
        match self {
            Self::F32(buffer) => gpu.download(buffer),
            Self::Bf16(buffer) => Ok(gpu.download(buffer)?.into_iter().map(f32::from).collect()),
        }
    }

    /// The relative error of rounding.
    fn rounding(&self) -> f64 {
        match self {
            Self::F32(_) => 0.0,
            Self::Bf16(_) => 1.0 / 256.0,
        }
    }
}

impl Product {
    fn new(form: Form, m: usize, n: usize, k: usize) -> Self {
        Self { form, m, n, k }
    }

    fn matrices(&self, gpu: &Cuda) -> Result<Matrices, Error> {
        let Self { form, m, n, k } = *self;
        let a = if form == Form::Tn { (k, m) } else { (m, k) };
        let b = if form == Form::Nt { (n, k) } else { (k, n) };
        let mut random = Random::new(1, 0);
        let host = [a, b].map(|(rows, columns)| -> Vec<Bf16> {
            let number = |_| Bf16::round((random.uniform() * 2.0 - 1.0) as f32);
            (0..rows * columns).map(number).collect()
        });
        let out = match form {
            Form::Tn => Target::F32(gpu.zeros(m * n)?),
            Form::Nt | Form::Nn => Target::Bf16(gpu.zeros(m * n)?),
        };
        Ok(Matrices {
            operands: [gpu.upload(&host[0])?, gpu.upload(&host[1])?],
            host,
            shapes: [a, b, (m, n)].map(|(rows, columns)| Shape::dense(rows, columns)),
            out,
        })
    }

    fn measure(&self, gpu: &Cuda, library: Option<&CublasLt>) -> Result<Speeds, Error> {
        let mut matrices = self.matrices(gpu)?;
        let mut ways: Vec<Box<Multiply<'_>>> = Vec::new();
        for tile in Tile::ALL {
            ways.push(Box::new(move |a, b, out, shape| {
                gpu.product_by(tile, self.form, a, b, out, shape)
            }));
        }
        if let Some(library) = library {
            ways.push(Box::new(move |a, b, out, shape| {
                library.product(gpu, self.form, a, b, out, shape)
            }));
        }
        let mut repeats = Vec::new();
        for way in &ways {
            matrices.clear(gpu)?;
            matrices.time(gpu, way, 1)?;
            self.check(gpu, &matrices)?;
            repeats.push((ROUND / matrices.time(gpu, way, 1)?).clamp(1.0, 1000.0) as usize);
        }
        // In turn, so that a GPU that slows down does so for all.
        let mut times = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for ((way, &repeats), times) in ways.iter().zip(&repeats).zip(&mut times) {
                times.push(matrices.time(gpu, way, repeats)? / repeats as f64);
            }
        }
        let operations = 2.0 * self.m as f64 * self.n as f64 * self.k as f64;
        let speed = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            operations / times[ROUNDS / 2] / 1e12
        };
        Ok(Speeds {
            own: [speed(&mut times[0]), speed(&mut times[1])],
            chosen: Tile::for_result(self.m, self.n, gpu.device.multiprocessors),
            library: times.get_mut(2).map(speed),
        })
    }

    /// Compares samples of the result with sums in f64 on the CPU.
    fn check(&self, gpu: &Cuda, matrices: &Matrices) -> Result<(), Error> {
        let Self { form, m, n, k } = *self;
        let result = matrices.out.download(gpu)?;
        let [a, b] = &matrices.host;
        let mut random = Random::new(2, 0);
        for _ in 0..1000 {
            let (row, column) = (random.below(m), random.below(n));
            let product = |i: usize| {
                let left = if form == Form::Tn {
                    a[i * m + row]
                } else {
                    a[row * k + i]
                };
                let right = if form == Form::Nt {
                    b[column * k + i]
                } else {
                    b[i * n + column]
                };
                f64::from(f32::from(left)) * f64::from(f32::from(right))
            };
            let expected: f64 = (0..k).map(product).sum();
            let found = f64::from(result[row * n + column]);
            // Sums in f32 of numbers up to 1, which a GPU rounds towards zero.
            let tolerance = 1e-6 * k as f64 + 1e-6 + expected.abs() * matrices.out.rounding();
            if (found - expected).abs() > tolerance {
                return Err(Error::Failed {
                    action: "multiply correctly",
                    reason: format!(
                        "{found} in row {row}, column {column} of {self}, where {expected} is right"
                    ),
                });
            }
        }
        Ok(())
    }
}

type Multiply<'a> =
    dyn Fn(Matrix<'_, Bf16>, Matrix<'_, Bf16>, Out<'_>, Shape) -> Result<(), Error> + 'a;

impl Matrices {
    /// Forgets the result, so that one way does not pass for another.
    fn clear(&mut self, gpu: &Cuda) -> Result<(), Error> {
        match &mut self.out {
            Target::F32(buffer) => *buffer = gpu.zeros(buffer.len())?,
            Target::Bf16(buffer) => *buffer = gpu.zeros(buffer.len())?,
        }
        Ok(())
    }

    /// The seconds that the GPU takes for this many products.
    fn time(&mut self, gpu: &Cuda, multiply: &Multiply<'_>, repeats: usize) -> Result<f64, Error> {
        let [a_shape, b_shape, shape] = self.shapes;
        let [a, b] = &self.operands;
        let start: Moment = gpu.moment()?;
        for _ in 0..repeats {
            multiply(a.matrix(a_shape), b.matrix(b_shape), self.out.out(), shape)?;
        }
        start.seconds_until(&gpu.moment()?)
    }
}
