//! The native module of the Python package `attentive`. It converts arguments and results, and runs the
//! library without the interpreter's lock; the package's Python code documents and types what users see.

mod attention;
mod choice;
mod conversion;
mod corpus;
mod errors;
mod evaluation;
mod generation;
mod glossary;
mod json;
mod labels;
mod metrics;
mod model;
mod options;
mod program;
mod tensor;
mod threads;
mod tokenizer;
mod trace;
mod training;
mod translation;
mod work;

/// Training frequently allocates and frees large buffers on several threads, which many system allocators do
/// slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module.
#[pyo3::pymodule]
mod _attentive {
    #[pymodule_export]
    use super::attention::attention;
    #[pymodule_export]
    use super::conversion::{export, import_model, quantize};
    #[pymodule_export]
    use super::evaluation::evaluate;
    #[pymodule_export]
    use super::generation::generate;
    #[pymodule_export]
    use super::glossary::PyGlossary;
    #[pymodule_export]
    use super::labels::{answers, embed};
    #[pymodule_export]
    use super::metrics::{paired, score, sentence_scores};
    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::options::schemas;
    #[pymodule_export]
    use super::program::main;
    #[pymodule_export]
    use super::tensor::Tensor;
    #[pymodule_export]
    use super::tokenizer::PyTokenizer;
    #[pymodule_export]
    use super::trace::traced;
    #[pymodule_export]
    use super::training::train;
    #[pymodule_export]
    use super::translation::{rescore, translate};
}
