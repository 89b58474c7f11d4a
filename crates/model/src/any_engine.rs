//! An engine on the CPU or on another device.

use std::sync::Arc;

use attentive_base::batch::{Padded, TokenId};
use attentive_decode::{Answer, Logits, NextToken, Question, Stepper};
use attentive_tape::Float;

use crate::device_engine::{self, DeviceEngine};
use crate::engine::{self, Engine, Precision};
use crate::shortlist::Shortlist;

/// An engine, wherever it computes.
#[derive(Debug)]
pub enum AnyEngine {
    Cpu(Engine),
    /// On another device.
    Device(DeviceEngine),
}

/// The state of an [`AnyEngine`].
#[derive(Debug)]
pub enum AnyState {
    Cpu(engine::RamState),
    /// On another device.
    Device(device_engine::DeviceState),
}

/// The last layer of an [`AnyEngine`].
#[derive(Debug)]
pub enum AnyLast {
    Cpu(engine::LastLayer),
    /// On another device.
    Device(device_engine::DeviceLastLayer),
}

impl AnyEngine {
    /// See [`Engine::with_shortlist`].
    ///
    /// # Panics
    /// If the shortlist is of another target vocabulary.
    pub fn with_shortlist(self, shortlist: Option<Arc<Shortlist>>) -> Self {
        match self {
            Self::Cpu(engine) => Self::Cpu(engine.with_shortlist(shortlist)),
            Self::Device(engine) => Self::Device(engine.with_shortlist(shortlist)),
        }
    }

    /// See [`Engine::with_cache`]; devices keep keys and values in `f32`.
    pub fn with_cache(self, numbers: Float) -> Self {
        match self {
            Self::Cpu(engine) => Self::Cpu(engine.with_cache(numbers)),
            Self::Device(_) => self,
        }
    }

    /// The number type in which matrices of weights are kept.
    pub fn precision(&self) -> Precision {
        match self {
            Self::Cpu(engine) => engine.precision(),
            Self::Device(engine) => match engine.numbers() {
                Float::F32 => Precision::F32,
                Float::Bf16 => Precision::Bf16,
            },
        }
    }

    /// The number type of the products, and what computes them, for logs and reports.
    pub fn numbers(&self) -> String {
        match self {
            Self::Cpu(engine) => format!("{} ({})", engine.precision(), engine.instructions()),
            Self::Device(engine) => {
                let numbers = match engine.numbers() {
                    Float::F32 => "f32",
                    Float::Bf16 => "f32 with weights in bf16",
                };
                format!("{numbers} ({})", engine.hardware())
            }
        }
    }

    /// See [`Engine::encoder_outputs`].
    pub fn encoder_outputs(&self, src: &Padded) -> Option<Vec<Vec<f32>>> {
        match self {
            Self::Cpu(engine) => engine.encoder_outputs(src),
            Self::Device(engine) => engine.encoder_outputs(src),
        }
    }

    /// The shortlist, if there is one.
    pub fn shortlist(&self) -> Option<&Arc<Shortlist>> {
        match self {
            Self::Cpu(engine) => engine.shortlist(),
            Self::Device(engine) => engine.shortlist(),
        }
    }
}

/// Calls a method of both engines with the state or the last layer of each.
macro_rules! both {
    ($engine:expr, $of:expr, $Any:ident, |$one:ident, $other:ident| $call:expr) => {
        match ($engine, $of) {
            (AnyEngine::Cpu($one), $Any::Cpu($other)) => $call,
            (AnyEngine::Device($one), $Any::Device($other)) => $call,
            _ => unreachable!("a state or a last layer of another engine"),
        }
    };
}

impl Stepper for AnyEngine {
    type State = AnyState;
    type Last = AnyLast;

    fn start(&self) -> AnyState {
        match self {
            Self::Cpu(engine) => AnyState::Cpu(engine.start()),
            Self::Device(engine) => AnyState::Device(engine.start()),
        }
    }

    fn start_watched(&self) -> Option<AnyState> {
        match self {
            Self::Cpu(engine) => engine.start_watched().map(AnyState::Cpu),
            Self::Device(engine) => engine.start_watched().map(AnyState::Device),
        }
    }

    fn admit(&self, src: &Padded, state: &mut AnyState) {
        both!(self, state, AnyState, |engine, state| engine.admit(src, state));
    }

    fn step(&self, next: &[TokenId], state: &mut AnyState) -> AnyLast {
        match (self, state) {
            (Self::Cpu(engine), AnyState::Cpu(state)) => AnyLast::Cpu(engine.step(next, state)),
            (Self::Device(engine), AnyState::Device(state)) => AnyLast::Device(engine.step(next, state)),
            _ => unreachable!("a state of another engine"),
        }
    }

    fn read(&self, tokens: &Padded, state: &mut AnyState) -> AnyLast {
        match (self, state) {
            (Self::Cpu(engine), AnyState::Cpu(state)) => AnyLast::Cpu(engine.read(tokens, state)),
            (Self::Device(engine), AnyState::Device(state)) => AnyLast::Device(engine.read(tokens, state)),
            _ => unreachable!("a state of another engine"),
        }
    }

    fn select(&self, rows: &[usize], state: &mut AnyState) {
        both!(self, state, AnyState, |engine, state| engine.select(rows, state));
    }

    fn likeliest(&self, last: AnyLast, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        both!(self, last, AnyLast, |engine, last| engine.likeliest(last, count, never))
    }

    fn most_likely(&self, last: AnyLast, never: &[TokenId]) -> Vec<Option<TokenId>> {
        both!(self, last, AnyLast, |engine, last| engine.most_likely(last, never))
    }

    fn answers(&self, last: AnyLast, questions: &[Question]) -> Vec<Answer> {
        both!(self, last, AnyLast, |engine, last| engine.answers(last, questions))
    }

    fn logits(&self, last: AnyLast) -> Logits {
        both!(self, last, AnyLast, |engine, last| engine.logits(last))
    }

    fn cross_attention(&self, state: &AnyState) -> Vec<Vec<f32>> {
        both!(self, state, AnyState, |engine, state| engine.cross_attention(state))
    }

    fn max_len(&self) -> usize {
        match self {
            Self::Cpu(engine) => engine.max_len(),
            Self::Device(engine) => engine.max_len(),
        }
    }
}
