use attentive_architecture::Body;
use attentive_base::batch::{Batch, Padded, Src};
use attentive_device::on;
use attentive_model::model::Model;
use attentive_model::nn::Blueprint;
use attentive_oracle::PLAIN;
use attentive_tape::Buffer;

use super::*;
use crate::{Learner, NoUpdateObserver};

/// Training that needs 60 MB plus 10 kB per token, on a corpus of 3000 tokens.
fn with_budget(tokens: usize) -> MemoryEstimate {
    MemoryEstimate {
        model: 10.0 * MB,
        activations: 1e4 * tokens.min(3000) as f64,
        data: 5.0 * MB,
        rest: 45.0 * MB,
        on_gpu: 0.0,
    }
}

/// The key and message of the expected error.
fn refused(budget: usize, megabytes: f64) -> (String, String) {
    let result = with_budget(budget).check(budget, megabytes * MB, 20, with_budget);
    match result {
        Err(Error::Config { key, expected, found, .. }) => (key, format!("{expected}; {found}")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_largest_budget_that_fits_is_reported() {
    // A budget above the corpus's size makes no difference.
    for budget in [2001, 3000, 1_000_000] {
        let (key, message) = refused(budget, 80.0);
        assert_eq!(key, "train.batch_tokens");
        assert!(message.starts_with("at most 2000, "), "{budget}: {message}");
    }
    for budget in [20, 2000] {
        let fits = with_budget(budget).check(budget, 80.0 * MB, 20, with_budget);
        assert!(fits.is_ok(), "{budget}: {fits:?}");
    }
    let (_, message) = refused(1_000_000, 60.2);
    assert!(message.starts_with("at most 20, "), "{message}");
}

#[test]
fn without_a_fitting_budget_another_cause_is_reported() {
    let (key, message) = refused(1000, 60.1);
    assert_eq!(key, "data.max_len");
    assert!(message.contains("one of 20 tokens, which needs about 60 MB"));
    let (key, message) = refused(1000, 59.9);
    assert_eq!(key, "model");
    assert!(message.contains("60 MB for weights"), "{message}");
}

fn subject<'a>(config: &'a Config, architecture: &'a Architecture, frozen: &'a Frozen) -> Subject<'a> {
    Subject { config, architecture, frozen, data: 0, resident: 0, threads: 1, processes: 1, gpu: None }
}

#[test]
fn what_a_gpu_holds_is_not_in_ram() {
    let config = Config::default();
    let architecture = config.model.architecture(1000, 1000);
    let frozen = Frozen::default();
    let size = BatchSize { rows: 4, src_len: 10, tgt_len: 12 };
    let predict = |gpu| {
        let subject = Subject { gpu, ..subject(&config, &architecture, &frozen) };
        MemoryEstimate::predict(&subject, &[size])
    };
    let unread = FLOAT * unread::floats(&subject(&config, &architecture, &frozen), &[size]);
    let (cpu, own) = (predict(None), predict(Some(HardwareMemory::Own)));
    let shared = predict(Some(HardwareMemory::Shared));
    let weights = FLOAT * Blueprint::new(&architecture).n_weights() as f64;
    // Weights, gradients and two moments; a copy of the weights for translations, and of all but gradients
    // for checkpoints.
    assert_eq!((cpu.model, cpu.on_gpu), (5.0 * weights, 0.0));
    assert_eq!((own.model, own.activations), (4.0 * weights, 0.0));
    let scratch = FLOAT * (48 * (1000 + config.model.d_model)) as f64;
    let buffers = 4.0 * weights + cpu.activations + unread + scratch;
    assert_eq!(own.on_gpu, ROUNDING * buffers);
    assert_eq!((shared.model, shared.on_gpu), (12.0 * weights, 0.0));
    assert_eq!(shared.activations, ROUNDING * (cpu.activations + unread + scratch));
    assert!(cpu.activations > 0.0);
}

#[test]
fn results_that_are_not_read_yet_are_predicted() {
    let mut config = Config::default();
    config.train.micro_batches_per_update = 2;
    let architecture = config.model.architecture(30, 20);
    let frozen = Frozen::default();
    let size = BatchSize { rows: 3, src_len: 2, tgt_len: 4 };
    let waiting = on(&PLAIN, || {
        let ids = |len| Padded::new(&vec![vec![5; len]; size.rows], 0);
        let body = Body::EncoderDecoder(Src::Tokens(ids(size.src_len)), ids(size.tgt_len));
        let batch = Batch { tgt_out: ids(size.tgt_len), ..Batch::of(body) };
        let model = Model::new(&architecture, config.model.init, config.seed);
        let mut learner = Learner::new(model, &config);
        let started = learner.start(1, 0.01, &[batch.clone(), batch], &mut NoUpdateObserver);
        let started = started.unwrap();
        started.buffers().into_iter().map(Buffer::len).sum::<usize>() as f64
    });
    for (log_every, updates) in [(0, 1.0), (1, 1.0), (10, 10.0), (1000, 100.0)] {
        config.train.log_every = log_every;
        let subject = subject(&config, &architecture, &frozen);
        assert_eq!(unread::floats(&subject, &[size]), updates * waiting);
        // The host waits for each update that processes share.
        let subject = Subject { processes: 2, ..subject };
        assert_eq!(unread::floats(&subject, &[size]), waiting);
    }
}
