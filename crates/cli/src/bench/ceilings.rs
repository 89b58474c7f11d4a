//! What this machine can do.

use attentive_kernels::ceiling::{self, On};
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use serde::Serialize;

use super::{billions, row, threads};

/// Bytes read in a loop, which the threads share: few enough for each one's L2 cache, and too many for any cache.
const L2: usize = 1 << 18;
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

impl Ceilings {
    pub(super) fn measure() -> Self {
        let both = |measure: &dyn Fn(On) -> f64| [On::One, On::All].map(measure);
        let products = |precision: Precision| Products {
            precision,
            instructions: precision.instructions(),
            operations: both(&|on| ceiling::operations(precision, on)),
        };
        Self {
            threads: Threads::current().count(),
            products: Precision::ALL.map(products).into(),
            l2: both(&|on| ceiling::read(L2 * on.count(), on)),
            ram: both(&|on| ceiling::read(RAM, on)),
            copy: both(&ceiling::copy),
        }
    }

    /// Operations a second of all threads together.
    pub(super) fn operations(&self, precision: Precision) -> f64 {
        self.products[precision as usize].operations[1]
    }

    pub(super) fn title(&self) -> String {
        format!("Ceilings, 1 thread and {}", threads())
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let line = |name: &str, [one, all]: [f64; 2], unit: &str| {
            row([name, &billions(one), &billions(all), unit])
        };
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
