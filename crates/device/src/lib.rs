//! What computes, and where its numbers are.
//!
//! A [`Device`] has all operations of the tape, forward and backward, of the optimizer and of decoding. Their
//! operands are [`Buffer`]s, and only the device knows where the numbers of a buffer are. [`Cpu`] calls
//! Attentive's kernels; a [rehearsal](rehearse) only counts memory.
//!
//! A thread computes on its [`current`] device, which is the CPU unless [`on`] says otherwise.

mod buffer;
pub mod cached;
mod cpu;
mod current;
mod device;
mod failure;
mod hardware;
mod losses;
mod op;
mod operands;
mod platform;
mod pool;
mod rehearsal;
pub mod verdict;

pub use buffer::Buffer;
pub use cached::{CachedAttentionCall, CachedScores, LargestLogits, LikeliestCall, RowPairs, SeenBlocks};
pub use cpu::Cpu;
pub use current::{current, on};
pub use device::Device;
pub use failure::Failure;
pub use hardware::{Hardware, HardwareMemory};
pub use losses::{Losses, RowLosses};
pub use op::Op;
pub use operands::*;
pub use pool::{pooled, release};
pub use rehearsal::{MemoryUsage, rehearse};
pub use verdict::{VERDICT, VerdictCall};
