//! `attentive devices`: what can compute on this machine.

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_kernels::threads::Threads;
use attentive_model::engine::Precision;
use serde::Serialize;

use crate::message;
use crate::output::OutputWriter;

const EXAMPLES: &str = "\
Examples:
  attentive devices
  attentive devices --json
  attentive train my.toml --device gpu:0

A GPU of `attentive train --device` is chosen by its number. Software that stands in for a GPU is listed only if there is no GPU.";

/// List the CPU and the GPUs that can compute on this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// What can compute.
#[derive(Serialize)]
struct Devices {
    cpu: Cpu,
    /// `None` if the program was built without support for GPUs.
    gpus: Option<Vec<Gpu>>,
}

#[derive(Serialize)]
struct Cpu {
    threads: usize,
    products: Vec<Products>,
}

/// The instructions of matrix products in one precision.
#[derive(Serialize)]
struct Products {
    precision: Precision,
    instructions: &'static str,
}

#[derive(Serialize)]
struct Gpu {
    number: usize,
    name: String,
    kind: String,
    backend: String,
    driver: String,
    /// In bytes.
    largest_buffer: u64,
    /// Of a workgroup, in bytes.
    workgroup_memory: u32,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let devices = Devices { cpu: Cpu::this(), gpus: gpus() };
    let mut out = OutputWriter::stdout();
    if args.json {
        out.json(&devices)?;
        return out.flush();
    }
    out.line(format_args!("cpu    {}", devices.cpu.described()))?;
    for gpu in devices.gpus.iter().flatten() {
        out.line(format_args!("gpu:{:<2} {}", gpu.number, gpu.described()))?;
    }
    out.flush()?;
    match devices.gpus.as_deref() {
        None => message::note(
            "this program was built without support for GPUs; `cargo build --release --features gpu` builds \
             it with it",
        ),
        Some([]) => {
            message::note("no GPU was found; it needs a driver for Vulkan, Metal or DirectX 12 (docs/gpu.md)")
        }
        Some(_) => {}
    }
    Ok(())
}

impl Cpu {
    fn this() -> Self {
        let products = |precision: Precision| Products { precision, instructions: precision.instructions() };
        Self { threads: Threads::current().count(), products: Precision::ALL.map(products).into() }
    }

    fn described(&self) -> String {
        let products = self.products.iter();
        let products = products.map(|one| format!("{} with {}", one.precision, one.instructions));
        let products: Vec<String> = products.collect();
        format!("{}; products: {}", count(self.threads, "thread"), products.join(", "))
    }
}

impl Gpu {
    fn described(&self) -> String {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        let Self { name, kind, backend, driver, .. } = self;
        let driver = match driver.as_str() {
            "" => String::new(),
            driver => format!(", driver {driver}"),
        };
        format!(
            "{name}; {kind}; {backend}{driver}; buffers up to {} MiB; {} KiB of memory a workgroup",
            self.largest_buffer / MIB,
            u64::from(self.workgroup_memory) / KIB,
        )
    }
}

#[cfg(feature = "gpu")]
fn gpus() -> Option<Vec<Gpu>> {
    let gpu = |adapter: attentive_gpu::Adapter| Gpu {
        number: adapter.number,
        name: adapter.name,
        kind: adapter.kind.to_string(),
        backend: adapter.backend,
        driver: adapter.driver,
        largest_buffer: adapter.largest_buffer,
        workgroup_memory: adapter.workgroup_memory,
    };
    Some(attentive_gpu::adapters().into_iter().map(gpu).collect())
}

#[cfg(not(feature = "gpu"))]
fn gpus() -> Option<Vec<Gpu>> {
    None
}
