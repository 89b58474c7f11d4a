//! What layers do to each row by itself: the same as in training, but for the positions of tokens.

use attentive_architecture::ActivationKind;
use attentive_base::batch::TokenId;
use attentive_tape::{self as tape, Param, TapePositionRows, Value};

use super::decode::IncrementalBatch;
use crate::nn::{Backend, Dropout, Input, Linear, Norm, PositionEncoding, Trained};

impl Backend for IncrementalBatch<'_> {
    type Storage = Trained;
    type Value = Value;

    fn embed(
        &mut self,
        ids: &[TokenId],
        table: &Param,
        input: &Input<Trained>,
        _dropout: Option<Dropout>,
    ) -> Value {
        let embed = |positions| {
            let table = self.pass.read(table);
            tape::embedding(ids, table, input.scale, positions, None)
        };
        match &input.positions {
            PositionEncoding::None => embed(None),
            PositionEncoding::Fixed(positions) => {
                let d = table.shape()[1];
                let rows = positions.up_to(self.positions);
                let row = |&position: &usize| &rows[position * d..][..d];
                let rows: Vec<f32> = self.positions.iter().flat_map(row).copied().collect();
                embed(Some(TapePositionRows { table: rows.into(), len: ids.len() }))
            }
            PositionEncoding::Learned { table, offset } => {
                let rows: Vec<usize> = self.positions.iter().map(|p| offset + p).collect();
                let vectors = tape::select_rows(self.pass.read(table), &rows);
                tape::add(embed(None), vectors)
            }
        }
    }

    fn linear(&mut self, x: &Value, maps: &[&Linear<Trained>]) -> Value {
        self.sequences.linear(x, maps)
    }

    fn activated(
        &mut self,
        x: &Value,
        map: &Linear<Trained>,
        activation: ActivationKind,
        dropout: Option<Dropout>,
    ) -> Value {
        self.sequences.activated(x, map, activation, dropout)
    }

    fn gated(&mut self, both: Value, activation: ActivationKind, dropout: Dropout) -> Value {
        self.sequences.gated(both, activation, dropout)
    }

    fn norm(&mut self, x: &Value, norm: &Norm<Trained>) -> Value {
        self.sequences.norm(x, norm)
    }

    fn residual_norm(&mut self, x: Value, y: Value, dropout: Option<Dropout>, norm: &Norm<Trained>) -> Value {
        self.sequences.residual_norm(x, y, dropout, norm)
    }

    fn add(&mut self, x: Value, y: Value, dropout: Option<Dropout>) -> Value {
        self.sequences.add(x, y, dropout)
    }

    fn dropout(&mut self, x: Value, dropout: Dropout) -> Value {
        self.sequences.dropout(x, dropout)
    }

    fn tanh(&mut self, x: Value) -> Value {
        self.sequences.tanh(x)
    }

    fn join(&mut self, parts: Vec<Value>) -> Value {
        self.sequences.join(parts)
    }
}
