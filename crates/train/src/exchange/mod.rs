//! An update computed by several processes.
//!
//! Each process computes the gradients of some micro-batches and updates a part of each parameter
//! ([`Partition`]). The sums of gradients are sent to the processes that update these parts; these add them
//! in the order of [`PartialSums`] and keep the optimizer's state for their parts. The new parameters are
//! sent to all processes. (Rajbhandari et al. 2020, *ZeRO*, stage 1; Li et al. 2020, *PyTorch Distributed*,
//! for sending gradients in buckets during the backward pass. In contrast to these, the order of all sums
//! does not depend on the number of processes.)

mod gradients;
mod partition;
mod wire;

use std::borrow::Cow;
use std::ops::Range;

use attentive_base::error::NotFinite;
use attentive_checkpoint::weights::NamedTensor;
use attentive_kernels::optimizer::SUM_CHUNK;
use attentive_model::model::{Model, Parameter};
use attentive_processes::Processes;
use attentive_tape::{Float, LossSums, Param};
use serde::{Deserialize, Serialize};

use self::partition::Partition;
use super::optimizer::{Optimizer, OptimizerSlot};
use super::partial_sums::{PartialSums, SumNode};

/// The communication of a process with the others during an update.
#[derive(Debug)]
pub(super) struct Exchange {
    processes: Processes,
    partition: Partition,
    format: Float,
    /// The number of micro-batches of an update, over all processes.
    n_batches: usize,
}

/// Sums of losses, as bits.
type LossNodes = Vec<SumNode<[u64; 4]>>;

/// A message about the micro-batches of a process. Numbers are sent as bits, since JSON has no NaN.
#[derive(Serialize, Deserialize)]
enum Report {
    Sums(LossNodes),
    NotFinite { step: u64, loss: u64, layer: String, lines: Vec<usize> },
}

impl Exchange {
    /// Creates an exchange among `processes`, which send gradients in `format` and share `n_batches`
    /// micro-batches of each update.
    pub(super) fn new(model: &Model, processes: Processes, format: Float, n_batches: usize) -> Self {
        let lengths: Vec<usize> = model.trained().map(Param::size).collect();
        Self { partition: Partition::new(&lengths, &processes), processes, format, n_batches }
    }

    /// The number of micro-batches of an update, over all processes.
    pub(super) fn n_batches(&self) -> usize {
        self.n_batches
    }

    /// The numbers of the micro-batches that this process computes, counted from 0.
    pub(super) fn share(&self) -> Range<usize> {
        self.processes.share(self.n_batches)
    }

    pub(super) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The part of each parameter that this process updates.
    pub(super) fn parts(&self) -> &[Range<usize>] {
        self.partition.of(self.processes.number())
    }

    /// The sums of losses over all micro-batches, given those of this process.
    ///
    /// # Errors
    /// A NaN or infinite loss in any process; all processes get the error of the first one.
    pub(super) fn losses(
        &self,
        own: Result<PartialSums<LossSums>, Box<NotFinite>>,
    ) -> Result<LossSums, Box<NotFinite>> {
        let mut all = PartialSums::default();
        if self.processes.is_alone() {
            all = own?;
        } else {
            let reports: Result<Vec<LossNodes>, _> = self.reports(own).into_iter().collect();
            let reports = reports.inspect_err(|_| self.processes.fail_together())?;
            for node in reports.iter().flatten() {
                all.add(node.with(loss_sums(node.sum)));
            }
        }
        Ok(all.total().expect("at least one micro-batch"))
    }

    /// The sums of losses of each process.
    fn reports(
        &self,
        own: Result<PartialSums<LossSums>, Box<NotFinite>>,
    ) -> Vec<Result<LossNodes, Box<NotFinite>>> {
        let report = match own {
            Ok(sums) => {
                let nodes = sums.nodes().iter();
                Report::Sums(nodes.map(|node| node.with(bits(node.sum))).collect())
            }
            Err(damage) => Report::NotFinite {
                step: damage.step,
                loss: damage.loss.to_bits(),
                layer: damage.layer,
                lines: damage.lines,
            },
        };
        let report = serde_json::to_vec(&report).expect("integers and strings");
        let reports = self.processes.gather("losses were summed", &report);
        let read = |report: Vec<u8>| {
            let report = serde_json::from_slice(&report);
            match report.expect("all processes run the same version of the program") {
                Report::Sums(nodes) => Ok(nodes),
                Report::NotFinite { step, loss, layer, lines } => Err(Box::new(NotFinite {
                    step,
                    loss: f64::from_bits(loss),
                    layer,
                    lines,
                    checkpoint: None,
                })),
            }
        };
        reports.into_iter().map(read).collect()
    }

    /// The sums of squares of each chunk of each parameter's gradient; `own` are those for the parts of this
    /// process.
    pub(super) fn squares(&self, own: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        if self.processes.is_alone() {
            return own;
        }
        let own = own.concat();
        let all = self.processes.gather("the gradient's norm was computed", bytemuck::cast_slice(&own));
        let mut squares: Vec<Vec<f64>> = vec![Vec::new(); self.parts().len()];
        for (process, bytes) in all.into_iter().enumerate() {
            let numbers: Vec<f64> = bytemuck::pod_collect_to_vec(&bytes);
            let mut numbers = numbers.into_iter();
            for (squares, part) in squares.iter_mut().zip(self.partition.of(process)) {
                squares.extend(numbers.by_ref().take(part.len().div_ceil(SUM_CHUNK)));
            }
        }
        squares
    }

    /// The first of the parameters that any process reports, by its index.
    pub(super) fn first_of(&self, parameter: Option<usize>) -> Option<usize> {
        let rank = parameter.map_or(0, |index| u64::MAX - index as u64);
        match self.processes.largest("a NaN was looked for", rank) {
            0 => None,
            rank => Some((u64::MAX - rank) as usize),
        }
    }

    /// The corpus lines of all processes.
    pub(super) fn lines(&self, lines: &[usize]) -> Vec<usize> {
        let lines: Vec<u64> = lines.iter().map(|&line| line as u64).collect();
        let said = bytemuck::cast_slice(&lines);
        let all = self.processes.gather("a NaN was looked for", said);
        let lines = all.iter().flat_map(|bytes| bytemuck::pod_collect_to_vec::<u8, u64>(bytes));
        lines.map(|line| line as usize).collect()
    }

    /// Updates `model` with the parts that the other processes have updated; `updated` are those of this
    /// process.
    pub(super) fn share_parameters(&self, model: &Model, updated: &[f32]) {
        if self.processes.is_alone() {
            return;
        }
        let mut received: Vec<Vec<f32>> = (0..self.processes.count())
            .map(|process| {
                if process == self.processes.number() {
                    Vec::new()
                } else {
                    vec![0.0; self.partition.len(process)]
                }
            })
            .collect();
        let bytes = bytemuck::cast_slice(updated);
        let mut into: Vec<(usize, &mut [u8])> = received
            .iter_mut()
            .enumerate()
            .filter(|(process, _)| *process != self.processes.number())
            .map(|(process, numbers)| (process, bytemuck::cast_slice_mut(numbers)))
            .collect();
        let out = self.processes.to_others(bytes);
        let doing = "updated parameters were exchanged";
        self.processes.exchange(doing, &out, &mut into);
        let mut rests: Vec<&[f32]> = received.iter().map(Vec::as_slice).collect();
        for (index, parameter) in model.trained().enumerate() {
            parameter.change(|values| {
                for process in self.others() {
                    let part = self.partition.of(process)[index].clone();
                    let (numbers, rest) = rests[process].split_at(part.len());
                    values[part].copy_from_slice(numbers);
                    rests[process] = rest;
                }
            });
        }
    }

    /// The optimizer's full state tensors, in the first process only; the others get none.
    pub(super) fn state<'a>(&self, optimizer: &'a Optimizer) -> Vec<NamedTensor<'a>> {
        let own = optimizer.state();
        if self.processes.is_alone() {
            return own.map(|slot| tensor(slot, slot.values.values())).collect();
        }
        let doing = "the optimizer's state was collected";
        if !self.processes.is_first() {
            for slot in own {
                let values = slot.values.values();
                let out = [(0, bytemuck::cast_slice(&values))];
                self.processes.exchange(doing, &out, &mut []);
            }
            return Vec::new();
        }
        let whole = |slot: &'a OptimizerSlot| {
            let mut values = vec![0.0; slot.shape.iter().product()];
            for process in 0..self.processes.count() {
                let part = &mut values[self.part_of(process, slot)];
                match process {
                    0 => part.copy_from_slice(&slot.values.values()),
                    _ => {
                        let into = (process, bytemuck::cast_slice_mut(part));
                        self.processes.exchange(doing, &[], &mut [into]);
                    }
                }
            }
            tensor(slot, values.into())
        };
        own.map(whole).collect()
    }

    /// Restores the result of [`Exchange::state`], which only the first process has.
    pub(super) fn restore(&self, optimizer: &mut Optimizer, state: &[Parameter]) {
        let doing = "the optimizer's state was restored";
        for (slot, whole) in optimizer.state().zip(state) {
            let parts = self.others().map(|process| {
                let part = &whole.values[self.part_of(process, slot)];
                (process, bytemuck::cast_slice(part))
            });
            self.processes.exchange(doing, &parts.collect::<Vec<_>>(), &mut []);
        }
        for (index, slot) in optimizer.state_mut().enumerate() {
            let part = self.part_of(self.processes.number(), slot);
            slot.values.edit(|values| {
                if self.processes.is_first() {
                    values.copy_from_slice(&state[index].values[part]);
                } else {
                    let into = (0, bytemuck::cast_slice_mut(values));
                    self.processes.exchange(doing, &[], &mut [into]);
                }
            });
        }
    }

    /// The part of a state tensor that `process` has.
    fn part_of(&self, process: usize, slot: &OptimizerSlot) -> Range<usize> {
        self.partition.of(process)[slot.parameter].clone()
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.processes.number();
        (0..self.processes.count()).filter(move |&process| process != own)
    }
}

/// A state tensor of the optimizer with these values.
fn tensor<'a>(slot: &'a OptimizerSlot, values: Cow<'a, [f32]>) -> NamedTensor<'a> {
    NamedTensor { name: &slot.name, shape: &slot.shape, values }
}

/// The sums over items of which each process has measured its share, added one by one in their order.
pub(super) fn all_sums(processes: &Processes, own: Vec<LossSums>) -> LossSums {
    let own: Vec<[u64; 4]> = own.into_iter().map(bits).collect();
    let all = processes.gather("losses were summed", bytemuck::cast_slice(&own));
    let mut total = LossSums::default();
    for bytes in all {
        let numbers: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        let sums = numbers.as_chunks().0.iter();
        sums.for_each(|&sums| total += loss_sums(sums));
    }
    total
}

/// Sends the parameters of the first process to all processes, which know their names and shapes.
pub(super) fn parameters_of_first(
    processes: &Processes,
    first: Option<Vec<Parameter>>,
    shapes: Vec<(String, Vec<usize>)>,
) -> Vec<Parameter> {
    let doing = "weights were sent";
    if let Some(parameters) = first {
        for parameter in &parameters {
            let bytes = bytemuck::cast_slice(&parameter.values);
            processes.exchange(doing, &processes.to_others(bytes), &mut []);
        }
        return parameters;
    }
    let receive = |(name, shape): (String, Vec<usize>)| {
        let mut values = vec![0.0f32; shape.iter().product()];
        let bytes = bytemuck::cast_slice_mut(&mut values);
        processes.exchange(doing, &[], &mut [(0, bytes)]);
        Parameter { name, shape, values }
    };
    shapes.into_iter().map(receive).collect()
}

fn bits(sums: LossSums) -> [u64; 4] {
    [sums.loss.to_bits(), sums.nll.to_bits(), sums.n_tokens as u64, sums.n_correct as u64]
}

fn loss_sums([loss, nll, n_tokens, n_correct]: [u64; 4]) -> LossSums {
    LossSums {
        loss: f64::from_bits(loss),
        nll: f64::from_bits(nll),
        n_tokens: n_tokens as usize,
        n_correct: n_correct as usize,
    }
}

#[cfg(test)]
mod tests;
