//! The sum of all processes' gradients, which are sent while the backward pass is still running.

use std::borrow::Cow;
use std::ops::AddAssign;

use attentive_kernels::elementwise;
use attentive_processes::Message;
use attentive_tape::Buffer;

use super::{Exchange, wire};
use crate::learner::GradientList;
use crate::partial_sums::{PartialSums, SumNode, nodes_of};

const DOING: &str = "gradients were summed";

/// Numbers that are summed one by one.
struct Numbers(Vec<f32>);

impl AddAssign for Numbers {
    fn add_assign(&mut self, other: Self) {
        elementwise::add(&mut self.0, &other.0);
    }
}

impl Exchange {
    /// The sum of the gradients of all micro-batches, for the part of each parameter that this process
    /// updates.
    ///
    /// `earlier` are the sums over the micro-batches of this process except the last one. `backward` computes
    /// the gradients of the last one, and calls the given function with the index and the gradient of a
    /// parameter when it is complete; it need not do so for all.
    pub(crate) fn sum(
        &self,
        mut earlier: PartialSums<GradientList>,
        backward: impl FnOnce(&mut dyn FnMut(usize, &Buffer)) -> GradientList,
    ) -> Vec<Buffer> {
        let last = self.share().end as u64 - 1;
        if self.processes.is_alone() {
            earlier.push(last, backward(&mut |_, _| ()));
            let GradientList(all) = earlier.total().expect("at least one micro-batch");
            return all;
        }
        let messages: Vec<Message<'_>> =
            self.partition.buckets().iter().flat_map(|_| self.others().map(Message::later)).collect();
        let mut outgoing = Outgoing::new(self, &earlier, last, &messages);
        let mut incoming = Incoming::new(self);
        self.processes.exchange_during(DOING, &messages, &mut incoming.buffers(), |progress| {
            let GradientList(all) = backward(&mut |parameter, gradient| {
                outgoing.complete(parameter, gradient);
                progress();
            });
            for (parameter, gradient) in all.into_iter().enumerate() {
                if outgoing.own[parameter].is_none() {
                    outgoing.complete(parameter, &gradient);
                    progress();
                }
            }
        });
        let own = outgoing.own;
        drop(earlier);
        let own = own.into_iter().map(|nodes| nodes.expect("all are complete"));
        own.enumerate().map(|(parameter, own)| incoming.total(parameter, own)).collect()
    }

    /// The place of `parameter` in the message of its bucket about the part of process `part`, which contains
    /// the sums `nodes` of the sending process: the number of the bucket, and bytes.
    fn place(&self, parameter: usize, part: usize, nodes: usize) -> Place {
        let bucket = self.partition.bucket_of(parameter);
        let before = self.partition.buckets()[bucket].start..parameter;
        let size = wire::size(self.format);
        Place {
            bucket,
            start: self.partition.len_within(part, before) * nodes * size,
            length: self.partition.of(part)[parameter].len() * size,
        }
    }

    /// The bytes of the message of each bucket about the part of process `part`.
    fn lengths(&self, part: usize, nodes: usize) -> impl Iterator<Item = usize> {
        let buckets = self.partition.buckets().iter();
        buckets.map(move |bucket| {
            self.partition.len_within(part, bucket.clone()) * nodes * wire::size(self.format)
        })
    }

    /// The sums of `process` after all of its micro-batches.
    fn nodes(&self, process: usize) -> Vec<SumNode<()>> {
        let share = self.processes.share_of(process, self.n_batches);
        nodes_of(share.start as u64..share.end as u64)
    }
}

/// The place of a parameter in a message, which contains the sums of one node after the other.
struct Place {
    bucket: usize,
    start: usize,
    /// The number of bytes of each sum.
    length: usize,
}

impl Place {
    fn of(&self, node: usize) -> std::ops::Range<usize> {
        let start = self.start + node * self.length;
        start..start + self.length
    }
}

/// The gradients of this process.
struct Outgoing<'a> {
    exchange: &'a Exchange,
    earlier: &'a PartialSums<GradientList>,
    last: u64,
    /// For each bucket, the messages to the other processes.
    messages: &'a [Message<'a>],
    buckets: Vec<Bucket>,
    /// For each parameter, the sums for the part that this process updates; `None` until its gradient is
    /// complete.
    own: Vec<Option<Vec<SumNode<Numbers>>>>,
}

/// The gradients that are sent together.
struct Bucket {
    /// The number of parameters that are not complete yet.
    missing: usize,
    /// The message for each other process.
    written: Vec<Vec<u8>>,
}

impl<'a> Outgoing<'a> {
    fn new(
        exchange: &'a Exchange,
        earlier: &'a PartialSums<GradientList>,
        last: u64,
        messages: &'a [Message<'a>],
    ) -> Self {
        let nodes = exchange.nodes(exchange.processes.number()).len();
        let buckets = exchange.partition.buckets().iter();
        let mut buckets: Vec<Bucket> =
            buckets.map(|bucket| Bucket { missing: bucket.len(), written: Vec::new() }).collect();
        for process in exchange.others() {
            for (bucket, length) in buckets.iter_mut().zip(exchange.lengths(process, nodes)) {
                bucket.written.push(vec![0; length]);
            }
        }
        Self {
            own: exchange.parts().iter().map(|_| None).collect(),
            exchange,
            earlier,
            last,
            messages,
            buckets,
        }
    }

    /// Takes the gradient of the last micro-batch.
    fn complete(&mut self, parameter: usize, gradient: &Buffer) {
        let (exchange, others) = (self.exchange, self.exchange.processes.count() - 1);
        let gradient = WholeGradient::read(self.earlier, parameter, gradient);
        let own = self.sums(parameter, exchange.processes.number(), &gradient);
        let bucket = exchange.partition.bucket_of(parameter);
        for (message, process) in exchange.others().enumerate() {
            let place = exchange.place(parameter, process, own.len());
            let sums = self.sums(parameter, process, &gradient);
            let written = &mut self.buckets[bucket].written[message];
            for (node, sum) in sums.into_iter().enumerate() {
                let Numbers(numbers) = sum.sum;
                wire::write(exchange.format, &numbers, &mut written[place.of(node)]);
            }
        }
        self.own[parameter] = Some(own);
        let Bucket { missing, written } = &mut self.buckets[bucket];
        *missing -= 1;
        if *missing == 0 {
            let messages = &self.messages[bucket * others..][..others];
            for (message, bytes) in messages.iter().zip(written.drain(..)) {
                message.fill(bytes);
            }
        }
    }

    /// The sums over the micro-batches of this process for the part of `parameter` that `process` updates.
    fn sums(&self, parameter: usize, process: usize, gradient: &WholeGradient<'_>) -> Vec<SumNode<Numbers>> {
        let part = &self.exchange.partition.of(process)[parameter];
        let of = |values: &[f32]| Numbers(values[part.clone()].to_vec());
        let mut sums = PartialSums::default();
        for node in &gradient.earlier {
            sums.add(node.with(of(&node.sum)));
        }
        sums.push(self.last, of(&gradient.last));
        sums.into_nodes().collect()
    }
}

/// The gradient of one parameter, read once for all processes: on a GPU, reading copies all of it and waits.
struct WholeGradient<'a> {
    /// The sums over earlier micro-batches.
    earlier: Vec<SumNode<Cow<'a, [f32]>>>,
    /// That of the last micro-batch.
    last: Cow<'a, [f32]>,
}

impl<'a> WholeGradient<'a> {
    fn read(earlier: &'a PartialSums<GradientList>, parameter: usize, last: &'a Buffer) -> Self {
        let of = |node: &'a SumNode<GradientList>| {
            let GradientList(gradients) = &node.sum;
            node.with(gradients[parameter].values())
        };
        Self { earlier: earlier.nodes().iter().map(of).collect(), last: last.values() }
    }
}

/// The gradients of the other processes, for the part that this process updates.
struct Incoming<'a> {
    exchange: &'a Exchange,
    /// The senders, in the order of the processes.
    senders: Vec<Sender>,
}

/// The messages from one process.
struct Sender {
    nodes: Vec<SumNode<()>>,
    /// One message for each bucket; none from this process itself.
    messages: Vec<Vec<u8>>,
}

impl<'a> Incoming<'a> {
    fn new(exchange: &'a Exchange) -> Self {
        let own = exchange.processes.number();
        let senders = (0..exchange.processes.count()).map(|process| {
            let nodes = exchange.nodes(process);
            let messages = if process == own {
                Vec::new()
            } else {
                exchange.lengths(own, nodes.len()).map(|length| vec![0; length]).collect()
            };
            Sender { nodes, messages }
        });
        Self { senders: senders.collect(), exchange }
    }

    /// The buffers into which messages are received.
    fn buffers(&mut self) -> Vec<(usize, &mut [u8])> {
        let senders = self.senders.iter_mut().enumerate();
        senders
            .flat_map(|(process, sender)| {
                let messages = sender.messages.iter_mut();
                messages.map(move |message| (process, message.as_mut_slice()))
            })
            .collect()
    }

    /// The sum over all processes for the part of `parameter`; `own` are the sums of this one.
    fn total(&self, parameter: usize, own: Vec<SumNode<Numbers>>) -> Buffer {
        let exchange = self.exchange;
        let number = exchange.processes.number();
        let (mut own, mut total) = (own.into_iter(), PartialSums::default());
        for (process, Sender { nodes, messages }) in self.senders.iter().enumerate() {
            if process == number {
                own.by_ref().for_each(|node| total.add(node));
                continue;
            }
            let place = exchange.place(parameter, number, nodes.len());
            for (index, node) in nodes.iter().enumerate() {
                let bytes = &messages[place.bucket][place.of(index)];
                total.add(node.with(Numbers(wire::read(exchange.format, bytes))));
            }
        }
        let Numbers(total) = total.total().expect("at least one micro-batch");
        total.into()
    }
}
