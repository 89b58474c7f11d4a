//! An update computed by several processes.
//!
//! Each process computes the gradients of some micro-batches and updates a part of each parameter ([`Partition`]). The
//! sums of gradients are sent to those who update these parts, who add them in the order of [`PartialSums`] and keep the
//! optimizer's state for them; the new parameters are sent to all. (Rajbhandari et al. 2020, *ZeRO*, stage 1; the order
//! of all sums is ours, and does not depend on the number of processes.)

mod partition;
mod wire;

use std::borrow::Cow;
use std::ops::{AddAssign, Range};

use attentive_kernels::elementwise;
use attentive_kernels::optimizer::SUM_CHUNK;
use serde::{Deserialize, Serialize};

use self::partition::Partition;
use self::wire::Wire;
use super::Optimizer;
use super::learner::Gathered;
use super::sum::{Node, PartialSums};
use crate::config::ExchangeFormat;
use crate::device::Device;
use crate::error::NotFinite;
use crate::model::{Model, Parameter, map_parameters, shapes};
use crate::ops::{self, LossSums};
use crate::processes::Processes;

/// What processes do together during an update.
#[derive(Debug)]
pub(super) struct Exchange {
    processes: Processes,
    partition: Partition,
    format: ExchangeFormat,
}

/// The sums over all micro-batches of an update.
#[derive(Debug)]
pub(super) struct Reduced {
    /// Losses and token counts.
    pub(super) sums: LossSums,
    /// For each parameter in the model's order, the gradient of the part that this process updates.
    pub(super) gradients: Vec<Vec<f32>>,
}

impl Reduced {
    /// The number of target tokens, at least 1.
    pub(super) fn n_tokens(&self) -> f64 {
        self.sums.n_tokens.max(1) as f64
    }
}

/// Numbers that are summed one by one.
struct Numbers(Vec<f32>);

impl AddAssign for Numbers {
    fn add_assign(&mut self, other: Self) {
        elementwise::add(&mut self.0, &other.0);
    }
}

/// Sums of losses, as bits.
type LossNodes = Vec<Node<[u64; 4]>>;

/// What a process tells the others about its micro-batches. Numbers as bits, as JSON has no NaN.
#[derive(Serialize, Deserialize)]
enum Report {
    Sums(LossNodes),
    NotFinite {
        step: u64,
        loss: u64,
        layer: String,
        lines: Vec<usize>,
    },
}

impl Exchange {
    /// Among `processes`, which send gradients in `format`.
    pub(super) fn new(model: &Model, processes: Processes, format: ExchangeFormat) -> Self {
        let lengths: Vec<usize> = shapes(model)
            .into_iter()
            .map(|(_, shape)| shape.iter().product())
            .collect();
        Self {
            partition: Partition::new(&lengths, &processes),
            processes,
            format,
        }
    }

    pub(super) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The part of each parameter that this process updates.
    pub(super) fn parts(&self) -> &[Range<usize>] {
        self.partition.of(self.processes.number())
    }

    /// The sums over all micro-batches, given those over the micro-batches of this process.
    ///
    /// # Errors
    /// A NaN or infinite loss in any process: that of the first one, for all.
    pub(super) fn reduce(
        &self,
        computed: Result<PartialSums<Gathered>, Box<NotFinite>>,
    ) -> Result<Reduced, Box<NotFinite>> {
        if self.processes.is_alone() {
            let total = computed?.total().expect("at least one micro-batch");
            return Ok(Reduced {
                sums: total.sums,
                gradients: total.gradients.into_iter().map(|all| all.values).collect(),
            });
        }
        let reports = self.reports(&computed).into_iter();
        let reports: Result<Vec<_>, _> = reports.collect();
        let reports = reports.inspect_err(|_| self.processes.fail_together())?;
        let mut sums = PartialSums::default();
        for node in reports.iter().flatten() {
            sums.add(node.with(loss_sums(node.sum)));
        }
        Ok(Reduced {
            sums: sums.total().expect("at least one micro-batch"),
            gradients: self.gradients(computed?, &reports),
        })
    }

    /// The sums of losses of each process.
    fn reports(
        &self,
        computed: &Result<PartialSums<Gathered>, Box<NotFinite>>,
    ) -> Vec<Result<LossNodes, Box<NotFinite>>> {
        let report = match computed {
            Ok(partial) => {
                let nodes = partial.nodes().iter();
                Report::Sums(nodes.map(|node| node.with(bits(node.sum.sums))).collect())
            }
            Err(damage) => Report::NotFinite {
                step: damage.step,
                loss: damage.loss.to_bits(),
                layer: damage.layer.clone(),
                lines: damage.lines.clone(),
            },
        };
        let report = serde_json::to_vec(&report).expect("integers and strings");
        let reports = self.processes.gather("losses were summed", &report);
        let read = |report: Vec<u8>| {
            let report = serde_json::from_slice(&report);
            match report.expect("all processes run the same version of the program") {
                Report::Sums(nodes) => Ok(nodes),
                Report::NotFinite {
                    step,
                    loss,
                    layer,
                    lines,
                } => Err(Box::new(NotFinite {
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

    /// The sum of all gradients for the parts that this process updates. `nodes` are the sums of each process.
    fn gradients(&self, partial: PartialSums<Gathered>, nodes: &[LossNodes]) -> Vec<Vec<f32>> {
        let own = self.processes.number();
        let length = self.partition.len(own);
        let out: Vec<(usize, Wire)> = self
            .others()
            .map(|process| (process, self.sent(&partial, process)))
            .collect();
        let mine: Vec<Node<Numbers>> = partial
            .nodes()
            .iter()
            .map(|node| node.with(Numbers(self.part_of(&node.sum, own).concat())))
            .collect();
        partial.recycle();
        let mut into: Vec<(usize, Wire)> = self
            .others()
            .map(|process| {
                let n = length * nodes[process].len();
                (process, Wire::zeros(self.format, n))
            })
            .collect();
        self.exchange("gradients were summed", &out, &mut into);
        drop(out);
        let (mut mine, mut total) = (mine.into_iter(), PartialSums::default());
        let mut received = into.iter();
        for (process, nodes) in nodes.iter().enumerate() {
            if process == own {
                mine.by_ref().for_each(|node| total.add(node));
                continue;
            }
            let (_, wire) = received.next().expect("a message from each other process");
            for (place, node) in nodes.iter().enumerate() {
                let numbers = wire.numbers(place * length, length);
                total.add(node.with(Numbers(numbers)));
            }
        }
        let Numbers(total) = total.total().expect("at least one micro-batch");
        self.by_parameter(&total)
    }

    /// What `process` is sent of the gradients.
    fn sent(&self, partial: &PartialSums<Gathered>, process: usize) -> Wire {
        let nodes = partial.nodes();
        let n = self.partition.len(process) * nodes.len();
        let mut wire = Wire::with_capacity(self.format, n);
        for node in nodes {
            for part in self.part_of(&node.sum, process) {
                wire.extend(part);
            }
        }
        wire
    }

    /// The gradient of the part of each parameter that `process` updates.
    fn part_of<'a>(&self, gathered: &'a Gathered, process: usize) -> Vec<&'a [f32]> {
        let gradients = gathered.gradients.iter();
        let parts = gradients.zip(self.partition.of(process));
        parts
            .map(|(gradient, part)| &gradient.values[part.clone()])
            .collect()
    }

    /// `numbers`, divided by the parameters that they belong to.
    fn by_parameter(&self, numbers: &[f32]) -> Vec<Vec<f32>> {
        let mut rest = numbers;
        let of = |part: &Range<usize>| {
            let (own, others) = rest.split_at(part.len());
            rest = others;
            own.to_vec()
        };
        self.parts().iter().map(of).collect()
    }

    /// The sums of squares of each chunk of each parameter's gradient, from those for the parts of this process.
    pub(super) fn squares(&self, own: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        if self.processes.is_alone() {
            return own;
        }
        let own = own.concat();
        let all = self.processes.gather(
            "the gradient's norm was computed",
            bytemuck::cast_slice(&own),
        );
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

    /// The first of the parameters that the processes name, by their indices.
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
        let lines = all
            .iter()
            .flat_map(|bytes| bytemuck::pod_collect_to_vec::<u8, u64>(bytes));
        lines.map(|line| line as usize).collect()
    }

    /// `model` with the parts that the other processes have updated; `updated` are those of this process.
    pub(super) fn share(&self, model: Model, updated: &[f32], device: &Device) -> Model {
        if self.processes.is_alone() {
            return model;
        }
        let mut received: Vec<Vec<f32>> = (0..self.processes.count())
            .map(|process| match process == self.processes.number() {
                true => Vec::new(),
                false => vec![0.0; self.partition.len(process)],
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
        let mut index = 0;
        map_parameters(model, device, |_, _, mut values| {
            for process in self.others() {
                let part = self.partition.of(process)[index].clone();
                let (numbers, rest) = rests[process].split_at(part.len());
                values[part].copy_from_slice(numbers);
                rests[process] = rest;
            }
            index += 1;
            values
        })
    }

    /// The optimizer's whole state tensors, in the first process alone; the others get none.
    pub(super) fn state<'a>(&self, optimizer: &'a Optimizer) -> Vec<Cow<'a, Parameter>> {
        let own = optimizer.state();
        if self.processes.is_alone() {
            return own.map(Cow::Borrowed).collect();
        }
        let doing = "the optimizer's state was collected";
        if !self.processes.is_first() {
            for slot in own {
                let out = [(0, bytemuck::cast_slice(&slot.values))];
                self.processes.exchange(doing, &out, &mut []);
            }
            return Vec::new();
        }
        let own: Vec<&Parameter> = own.collect();
        let n_slots = own.len() / self.parts().len();
        let whole = |(index, slot): (usize, &Parameter)| {
            let mut values = vec![0.0; slot.shape.iter().product()];
            for process in 0..self.processes.count() {
                let part = &mut values[self.part_of_slot(process, index, n_slots)];
                match process {
                    0 => part.copy_from_slice(&slot.values),
                    _ => {
                        let into = (process, bytemuck::cast_slice_mut(part));
                        self.processes.exchange(doing, &[], &mut [into]);
                    }
                }
            }
            Cow::Owned(Parameter {
                values,
                ..Parameter::clone(slot)
            })
        };
        own.into_iter().enumerate().map(whole).collect()
    }

    /// Restores the result of [`Exchange::state`], which the first process has.
    pub(super) fn restore(&self, optimizer: &mut Optimizer, state: &[Parameter]) {
        let doing = "the optimizer's state was restored";
        let n_slots = state.len() / self.parts().len();
        for (index, whole) in state.iter().enumerate() {
            let parts = self.others().map(|process| {
                let part = &whole.values[self.part_of_slot(process, index, n_slots)];
                (process, bytemuck::cast_slice(part))
            });
            self.processes
                .exchange(doing, &parts.collect::<Vec<_>>(), &mut []);
        }
        for (index, slot) in optimizer.state_mut().enumerate() {
            if self.processes.is_first() {
                let part = self.part_of_slot(0, index, n_slots);
                slot.values.copy_from_slice(&state[index].values[part]);
            } else {
                let into = (0, bytemuck::cast_slice_mut(&mut slot.values));
                self.processes.exchange(doing, &[], &mut [into]);
            }
        }
    }

    /// The part of a state tensor that `process` has, with `n_slots` tensors for each parameter.
    fn part_of_slot(&self, process: usize, index: usize, n_slots: usize) -> Range<usize> {
        self.partition.of(process)[index / n_slots].clone()
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.processes.number();
        (0..self.processes.count()).filter(move |&process| process != own)
    }

    fn exchange(&self, doing: &str, out: &[(usize, Wire)], into: &mut [(usize, Wire)]) {
        let out: Vec<(usize, &[u8])> = out
            .iter()
            .map(|(process, wire)| (*process, wire.bytes()))
            .collect();
        let mut into: Vec<(usize, &mut [u8])> = into
            .iter_mut()
            .map(|(process, wire)| (*process, wire.bytes_mut()))
            .collect();
        self.processes.exchange(doing, &out, &mut into);
    }
}

impl PartialSums<Gathered> {
    /// Gives the memory of the gradients back.
    fn recycle(self) {
        let gradients = self.into_nodes().flat_map(|node| node.sum.gradients);
        gradients.for_each(|gradient| ops::recycle(gradient.values));
    }
}

/// The sum over all things of which each process has measured its share, added one by one in their order.
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

/// The parameters that the first process has, in all processes, which know their names and shapes.
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
        Parameter {
            name,
            shape,
            values,
        }
    };
    shapes.into_iter().map(receive).collect()
}

fn bits(sums: LossSums) -> [u64; 4] {
    [
        sums.loss.to_bits(),
        sums.nll.to_bits(),
        sums.n_tokens as u64,
        sums.n_correct as u64,
    ]
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
