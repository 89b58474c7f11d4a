//! Tests of number types.

use attentive_kernels::gemm::Float;
use attentive_kernels::packed::Precision;
use serde_json::to_value;

use crate::{ExchangePrecision, TrainPrecision};

#[test]
fn number_types_have_their_usual_names() {
    for one in [ExchangePrecision::F32, ExchangePrecision::Bf16] {
        assert_eq!(
            to_value(one).unwrap(),
            Precision::from(Float::from(one)).name()
        );
    }
    for one in [TrainPrecision::F32, TrainPrecision::Bf16] {
        assert_eq!(
            to_value(one).unwrap(),
            Precision::from(one.resolve()).name()
        );
    }
    assert_eq!(TrainPrecision::Auto.resolve(), Float::fastest());
}
