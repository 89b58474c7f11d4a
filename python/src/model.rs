//! Models.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attentive::checkpoint::{self, LoadedWeights, MappedWeights};
use attentive::config::Float;
use attentive::error::{Error, Result};
use attentive::pipeline::Pipeline;
use attentive::text::Languages;
use pyo3::prelude::*;

use crate::choice::{self, choice_or_none};
use crate::errors::exception;
use crate::json::json;
use crate::tensor::Tensor;
use crate::threads::ThreadCount;
use crate::tokenizer::PyTokenizer;
use crate::work;

/// A loaded model. Several threads may use it at the same time.
#[pyclass(frozen, name = "Model", module = "attentive._attentive")]
pub(crate) struct PyModel {
    pub(crate) pipeline: Pipeline,
    path: PathBuf,
    pub(crate) threads: ThreadCount,
    /// True if the pipeline has the representation for whole sequences.
    is_whole: AtomicBool,
}

impl PyModel {
    /// Calls `work` with the pipeline, on the model's threads.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Pipeline) -> Result<T> + Send,
    ) -> PyResult<T> {
        work::run(py, self.threads, || work(&self.pipeline))
    }

    /// Like [`PyModel::run`], for work with whole sequences.
    pub(crate) fn run_whole<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Pipeline) -> Result<T> + Send,
    ) -> PyResult<T> {
        work::run(py, self.threads, || {
            if !self.is_whole.load(Ordering::Acquire) {
                // On these threads, the representation is made without pauses: a thread that waits for others
                // does other work, which could wait for this representation.
                self.threads.own()?.install(|| {
                    self.pipeline.model();
                });
                self.is_whole.store(true, Ordering::Release);
            }
            work(&self.pipeline)
        })
    }

    /// The path of the model, as its name.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The weights in `f32`: those of the file, or those of a quantized model.
    fn tensors(&self) -> Result<Vec<(String, Tensor)>> {
        if !checkpoint::is_quantized(&self.path) {
            let weights = Arc::new(MappedWeights::open(&self.path)?);
            let tensor = |index| {
                let (name, _) = weights.parameter(index);
                (name.to_owned(), Tensor::mapped(&weights, index))
            };
            return Ok((0..weights.len()).map(tensor).collect());
        }
        let loaded = checkpoint::load(&self.path)?;
        let LoadedWeights::Packed(packed) = loaded.weights else {
            return Err(Error::model(&self.path, "it has changed while it was read"));
        };
        let parameters = packed.parameters(&loaded.architecture).into_iter();
        Ok(parameters
            .map(|parameter| (parameter.name, Tensor::new(parameter.shape, parameter.values)))
            .collect())
    }
}

#[pymethods]
impl PyModel {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        precision: Option<&str>,
        threads: Option<usize>,
        cache_precision: Option<&str>,
        source_lang: Option<String>,
        target_lang: Option<String>,
    ) -> PyResult<Self> {
        let chosen = || {
            Ok((
                precision.map(choice::precision).transpose()?,
                choice_or_none::<Float>("cache_precision", cache_precision)?,
                ThreadCount::new(threads)?,
            ))
        };
        let (precision, cache, threads) = chosen().map_err(|error| exception(py, &error))?;
        let languages = Languages { source: source_lang, target: target_lang };
        let pipeline = work::run(py, threads, || {
            let mut pipeline = Pipeline::load_in(&path, precision)?;
            if let Some(cache) = cache {
                pipeline = pipeline.with_cache_precision(cache)?;
            }
            if languages == Languages::default() { Ok(pipeline) } else { pipeline.with_languages(&languages) }
        })?;
        Ok(Self { is_whole: AtomicBool::new(false), pipeline, path, threads })
    }

    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    #[getter]
    fn threads(&self) -> usize {
        self.threads.count()
    }

    /// What the model does: `translate`, `generate`, `fill`, `tag`, `classify` or `embed`.
    #[getter]
    fn task(&self) -> &'static str {
        self.pipeline.architecture().task().name()
    }

    /// The number of weights.
    #[getter]
    fn n_weights(&self) -> usize {
        self.pipeline.n_weights()
    }

    #[getter]
    fn batch_size(&self) -> usize {
        self.pipeline.batch_size(&(&self.pipeline.config().decode).into())
    }

    /// The number of sentences translated so far.
    #[getter]
    fn translated(&self) -> usize {
        self.pipeline.translated().load(Ordering::Relaxed)
    }

    /// The configuration as JSON.
    fn config(&self) -> String {
        json(self.pipeline.config())
    }

    #[getter]
    fn source_tokenizer(&self) -> PyTokenizer {
        PyTokenizer::new(self.pipeline.tokenizers().src())
    }

    #[getter]
    fn target_tokenizer(&self) -> PyTokenizer {
        PyTokenizer::new(self.pipeline.tokenizers().tgt())
    }

    /// The weights by their names.
    fn weights(&self, py: Python<'_>) -> PyResult<Vec<(String, Tensor)>> {
        work::run(py, self.threads, || self.tensors())
    }

    fn save(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        work::run(py, self.threads, || checkpoint::copy(&self.path, &out))
    }
}
