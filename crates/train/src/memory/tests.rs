use super::*;

/// Training that needs 60 MB plus 10 kB per token, on a corpus of 3000 tokens.
fn with_budget(tokens: usize) -> Memory {
    Memory {
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
        Err(Error::Config {
            key,
            expected,
            found,
            ..
        }) => (key, format!("{expected}; {found}")),
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

#[test]
fn what_a_gpu_holds_is_not_in_ram() {
    let config = Config::default();
    let architecture = config.model.architecture(1000, 1000);
    let predict = |gpu| {
        let subject = Subject {
            config: &config,
            architecture: &architecture,
            frozen: &Frozen::default(),
            data: 0,
            resident: 0,
            threads: 1,
            processes: 1,
            gpu,
        };
        let size = BatchSize {
            rows: 4,
            src_len: 10,
            tgt_len: 12,
        };
        Memory::predict(&subject, &[size])
    };
    let (cpu, own) = (predict(None), predict(Some(HardwareMemory::Own)));
    let shared = predict(Some(HardwareMemory::Shared));
    let weights = FLOAT * architecture.n_weights() as f64;
    // Weights, gradients and two moments; a copy of the weights for translations, and of all but gradients for checkpoints.
    assert_eq!((cpu.model, cpu.on_gpu), (5.0 * weights, 0.0));
    assert_eq!((own.model, own.activations), (4.0 * weights, 0.0));
    assert_eq!(own.on_gpu, ROUNDING * (4.0 * weights + cpu.activations));
    assert_eq!((shared.model, shared.on_gpu), (12.0 * weights, 0.0));
    assert_eq!(shared.activations, ROUNDING * cpu.activations);
    assert!(cpu.activations > 0.0);
}
