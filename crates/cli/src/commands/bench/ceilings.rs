//! What this machine can do.

use attentive_kernels::ceiling::{self, MeasurementThreads};
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use serde::Serialize;

use super::{billions, row, threads};

/// Bytes that each thread reads in a loop: few enough for its L2 cache.
const L2: usize = 1 << 18;
/// Bytes that all threads together read in a loop: too many for any cache.
const RAM: usize = 1 << 29;

/// The ceilings of this machine on one thread and on all.
#[derive(Serialize)]
#[serde(tag = "kind", rename = "ceilings")]
pub(super) struct Ceilings {
    threads: usize,
    products: Vec<Products>,
    /// Bytes a second.
    l2: [f64; 2],
    ram: [f64; 2],
    copy: [f64; 2],
}

/// Operations a second, two for each multiply-add.
#[derive(Serialize)]
struct Products {
    precision: Precision,
    instructions: &'static str,
    operations: [f64; 2],
}

impl Products {
    fn new(precision: Precision) -> Self {
        Self { precision, instructions: precision.instructions(), operations: [0.0; 2] }
    }
}

/// Raises the rates on one thread and on all to those that `measure` finds, if these are higher.
fn raise(rates: &mut [f64; 2], measure: impl Fn(MeasurementThreads) -> f64) {
    for (rate, on) in rates.iter_mut().zip([MeasurementThreads::One, MeasurementThreads::All]) {
        *rate = rate.max(measure(on));
    }
}

/// Passes over all measurements, of which the highest rates count: other work on the machine may disturb one
/// of them.
const PASSES: usize = 3;

impl Ceilings {
    pub(super) fn measure() -> Self {
        let mut found = Self {
            threads: Threads::current().count(),
            products: Precision::ALL.map(Products::new).into(),
            l2: [0.0; 2],
            ram: [0.0; 2],
            copy: [0.0; 2],
        };
        for _ in 0..PASSES {
            for products in &mut found.products {
                let precision = products.precision;
                raise(&mut products.operations, |on| ceiling::operations(precision, on));
            }
            raise(&mut found.l2, |on| ceiling::read(L2 * on.count(), on));
            raise(&mut found.ram, |on| ceiling::read(RAM, on));
            raise(&mut found.copy, ceiling::copy);
        }
        found
    }

    /// Operations a second of all threads together.
    pub(super) fn operations(&self, precision: Precision) -> f64 {
        self.products[precision as usize].operations[1]
    }

    pub(super) fn title(&self) -> String {
        match self.threads {
            1 => "Ceilings, 1 thread".into(),
            _ => format!("Ceilings, 1 thread and {}", threads()),
        }
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let line =
            |name: &str, [one, all]: [f64; 2], unit: &str| row([name, &billions(one), &billions(all), unit]);
        let products = self.products.iter().map(|found| {
            let name = format!("{} in registers ({})", found.precision, found.instructions);
            let unit = match found.precision {
                Precision::Int8 => "Gop/s",
                Precision::F32 | Precision::Bf16 => "GFLOP/s",
            };
            line(&name, found.operations, unit)
        });
        let bytes = [
            line("reading from the L2 cache", self.l2, "GB/s"),
            line("reading from RAM", self.ram, "GB/s"),
            line("copying in RAM, both directions", self.copy, "GB/s"),
        ];
        products.chain(bytes).collect()
    }
}
