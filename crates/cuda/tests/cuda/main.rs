//! Every kernel against a plain reference, on a GPU or an emulated one (`scripts/cuda/emulate`). Without either, the tests are
//! skipped, unless `ATTENTIVE_CUDA_TESTS` is `required`.

use attentive_cuda::{Cuda, Error};

mod attention;
mod cuda;
mod products;

/// The GPU of the tests, unless there is none and none is required.
fn gpu() -> Option<Cuda> {
    match Cuda::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error @ (Error::NoDriver | Error::NoDevice)) => {
            let required = std::env::var("ATTENTIVE_CUDA_TESTS").is_ok_and(|it| it == "required");
            assert!(!required, "{error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
