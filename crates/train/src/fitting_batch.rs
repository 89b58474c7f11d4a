//! `train.batch_tokens = 0`: the largest batches that fit into the RAM.

use attentive_base::error::{Error, Result};
use attentive_config::Config;
use attentive_device::HardwareMemory;
use attentive_processes::Processes;

use super::MemoryEstimate;
use super::material::Material;
use super::memory::{self, MB, Subject};
use super::report::{Event, Observer};

/// The part of the free RAM that is used, since other programs need some, too.
const USED: f64 = 0.9;

/// Finds the largest `train.batch_tokens` for which training fits into the RAM of each process, if the
/// configuration asks for it. The batches of `material` then have this size. Returns the number.
///
/// # Errors
/// [`Error::Config`] if no size fits, or if the size of the memory is not known.
pub(super) fn find(
    subject: &Subject<'_>,
    material: &mut Material,
    processes: &Processes,
    observer: &mut dyn Observer,
) -> Result<usize> {
    let config = subject.config;
    if config.train.batch_tokens > 0 {
        return Ok(config.train.batch_tokens);
    }
    let found = largest(subject, material, processes);
    let found = processes.agree("batches were fitted", found)?;
    // The smallest of all processes.
    let found = u64::MAX - processes.largest("batches were fitted", u64::MAX - found as u64);
    let found = found as usize;
    let is_whole = found == whole(material);
    material.feed.limit(found)?;
    if let Some(validation) = &mut material.validation {
        validation.divide(found, config, &material.tokenizers)?;
    }
    if is_whole {
        observer.on(&Event::Warning(&format!(
            "`train.batch_tokens` is {found}: the whole corpus, or a window of it, fits into one batch; batches \
             as large learn badly, so give a number, or a smaller `train.max_memory_mb`"
        )));
    } else {
        observer.on(&Event::Note(&format!(
            "`train.batch_tokens` is {found}, the largest that fits into the {:.0} MB that training may use",
            limit(config, processes)? / MB
        )));
    }
    Ok(found)
}

fn largest(subject: &Subject<'_>, material: &Material, processes: &Processes) -> Result<usize> {
    if subject.gpu == Some(HardwareMemory::Own) {
        return Err(unknown("a GPU does not say how much memory it has"));
    }
    let limit = limit(subject.config, processes)?;
    let feed = &material.feed;
    let with_budget = |tokens| MemoryEstimate::predict(subject, &feed.sizes_within(tokens));
    MemoryEstimate::largest(limit, feed.least_batch_tokens(), whole(material), with_budget)
}

/// The largest size that makes a difference, while batches are unlimited.
fn whole(material: &Material) -> usize {
    let sizes = material.feed.sizes().into_iter();
    let largest = sizes.map(|size| size.tgt_tokens().max(size.src_tokens().div_ceil(2))).max();
    largest.unwrap_or(0).max(material.feed.least_batch_tokens())
}

/// The number of bytes that training may use.
fn limit(config: &Config, processes: &Processes) -> Result<f64> {
    let part = if config.train.max_memory_mb > 0 { 1.0 } else { USED };
    let limit = memory::limit(config, processes.on_this_machine());
    let limit = limit.ok_or_else(|| unknown("the system does not say how much RAM is free"))?;
    Ok(part * limit)
}

fn unknown(why: &str) -> Error {
    Error::Config {
        key: "train.batch_tokens".into(),
        expected: format!("the number of tokens of a batch, since {why}"),
        found: "0".into(),
        hint: Some("give a number; on the CPU, `train.max_memory_mb` says what may be used".into()),
    }
}
