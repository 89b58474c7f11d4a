//! What only training uses, compared with the oracle; the operations of the tape are compared in its own
//! tests.

use attentive_kernels::gemm::{Activation, Float, bf16};
use attentive_kernels::optimizer::{AdamStep, SUM_CHUNK, SgdStep};

use attentive_device::*;
use attentive_oracle::{PLAIN, Plain};

/// Numbers between −1 and 1.
fn numbers(seed: usize, count: usize) -> Vec<f32> {
    let number = |i: usize| ((seed * 1000 + i) as f32 * 0.7).sin();
    (0..count).map(number).collect()
}

/// Asserts that the numbers that `work` returns are the same on both devices, up to rounding.
fn agree(work: impl Fn(&dyn Device) -> Vec<f32>) {
    let [cpu, plain] = [&Cpu as &'static dyn Device, &PLAIN].map(|device| on(device, || work(device)));
    assert_eq!(cpu.len(), plain.len());
    for (index, (cpu, plain)) in cpu.into_iter().zip(plain).enumerate() {
        let tolerance = 1e-4 * plain.abs().max(1.0);
        assert!((cpu - plain).abs() <= tolerance, "{index}: {cpu} and {plain}");
    }
}

/// Three steps for the elements from 2 on.
fn steps(mut state: Vec<Buffer>, step: impl Fn(u64, BufferSliceMut<'_>, &mut [Buffer], &Buffer)) -> Vec<f32> {
    let mut param = Buffer::from(numbers(1, 9));
    for number in 1..=3 {
        let part = BufferSliceMut { buffer: &mut param, range: 2..9 };
        let gradient = numbers(10 + number as usize, 7).into();
        step(number, part, &mut state, &gradient);
    }
    assert_eq!(param.values()[..2], numbers(1, 2));
    let state = state.into_iter().flat_map(Buffer::into_vec);
    param.into_vec().into_iter().chain(state).collect()
}

#[test]
fn optimizers() {
    let slot = |seed| Buffer::from(numbers(seed, 7));
    let step = AdamStep {
        learning_rate: 0.01,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.1,
        l2: 0.05,
        grad_scale: 0.5,
        step: 1,
    };
    agree(|device| {
        steps(vec![slot(2), Buffer::zeros(7)], |number, part, state, gradient| {
            let [mean, square] = state else { panic!("two moments") };
            let step = AdamStep { step: number, ..step };
            device.optimize(OptimizerStep::Adam(step), part, vec![mean, square], gradient, None);
        })
    });
    let step = SgdStep { learning_rate: 0.1, momentum: 0.9, l2: 0.01, grad_scale: 2.0 };
    for has_velocity in [true, false] {
        agree(|device| {
            let state = has_velocity.then(|| slot(3)).into_iter().collect();
            steps(state, |_, part, state, gradient| {
                let step = if has_velocity { step } else { SgdStep { momentum: 0.0, ..step } };
                device.optimize(OptimizerStep::Sgd(step), part, state.iter_mut().collect(), gradient, None);
            })
        });
    }
}

#[test]
fn norms_of_gradients_and_damage() {
    let len = 2 * SUM_CHUNK + 5;
    agree(|device| {
        let sums = device.sums_of_squares(&numbers(1, len).into());
        assert_eq!(sums.len(), 3);
        sums.into_iter().map(|sum| sum as f32).collect()
    });
    agree(|device| {
        let mut damaged = Buffer::from(numbers(2, len));
        assert_eq!(device.first_non_finite(&damaged), None);
        damaged.edit(|values| values[len - 2] = f32::NAN);
        assert_eq!(device.first_non_finite(&damaged), Some(len - 2));
        vec![]
    });
}

#[test]
fn weights_are_rounded_to_bf16() {
    agree(|device| {
        let weight = device.upload_bf16(numbers(1, 15));
        let found = device.download(&weight).into_owned();
        assert_eq!(found, numbers(1, 15).iter().map(|&x| bf16::round(x)).collect::<Vec<_>>());
        let (x, mut out) = (Buffer::from(numbers(2, 6)), Buffer::zeros(10));
        let map = Affine { weight: &weight, bias: None };
        let call = LinearCall {
            rows: 2,
            d_in: 3,
            d_out: 5,
            activation: Activation::Identity,
            dropout: None,
            precision: Float::F32,
        };
        device.linear(call, &x, &[map], &mut out);
        out.into_vec()
    });
}

#[test]
fn dropout_is_the_same_everywhere() {
    let dropout = DropoutCall { rate: 0.3, seed: 5, micro_batch: 3, site: 2 };
    agree(|device| {
        let mut x = Buffer::from(numbers(1, 300));
        device.dropout(dropout, &mut x);
        let factor = vec![-2.5].into();
        device.scale_by(&mut x, &factor);
        x.into_vec()
    });
}

#[test]
#[should_panic(expected = "Cpu cannot compute with a buffer in no memory: it is only rehearsed")]
fn an_imagined_buffer_is_not_computed_with() {
    current().fill(&mut Buffer::imagined(3), 1.0);
}

#[test]
fn the_device_of_a_thread_changes_back() {
    let name = || format!("{:?}", current());
    let inside = on(&PLAIN, || {
        let caught = std::panic::catch_unwind(|| on(&Cpu, || panic!("whatever")));
        assert!(caught.is_err());
        name()
    });
    assert_eq!([inside, name()], ["Plain", "Cpu"]);
}

#[test]
#[should_panic(expected = "Plain cannot compute with a buffer in memory of the host")]
fn buffers_of_two_devices_are_not_mixed() {
    let host = Buffer::from(vec![1.0]);
    on(&PLAIN, || current().add(&mut Buffer::zeros(1), &host));
}

#[test]
fn numbers_are_the_same_on_each_device() {
    for device in [&Cpu as &'static dyn Device, &PLAIN] {
        on(device, || {
            let mut buffer = Buffer::from(vec![1.5, -2.0]);
            buffer.edit(|values| values[0] = 0.25);
            assert_eq!(*buffer.clone().values(), [0.25, -2.0]);
            assert_eq!(buffer.into_vec(), [0.25, -2.0]);
        });
    }
}

fn lost() -> Failure {
    Failure { problem: "the GPU was lost".into(), hint: "continue from the last checkpoint".into() }
}

#[test]
fn a_failure_ends_the_work_in_which_it_is_caught() {
    let before = format!("{:?}", current());
    assert_eq!(Failure::caught(|| 1), Ok(1));
    let work = || on(&PLAIN, || lost().raise());
    assert_eq!(Failure::caught(work), Err::<(), _>(lost()));
    assert_eq!(format!("{:?}", current()), before);
}

#[test]
fn a_device_is_lost_alone() {
    static LOST: Plain = Plain::new();
    LOST.lose(lost());
    let work = |device| Failure::caught(|| on(device, || Buffer::zeros(1).len()));
    assert_eq!((work(&LOST), LOST.failure()), (Err(lost()), Some(lost())));
    assert_eq!((work(&PLAIN), PLAIN.failure()), (Ok(1), None));
}

#[test]
#[should_panic(expected = "a mistake")]
fn other_panics_go_on() {
    let _ = Failure::caught(|| panic!("a mistake"));
}
