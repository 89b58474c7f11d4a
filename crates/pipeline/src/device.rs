//! The device on which a model decodes.

use attentive_base::error::{Error, Result};
use attentive_config::{GpuChoice, TrainDevice};
use attentive_device::{Device, Failure};
use attentive_kernels::gemm::Float;
use attentive_model::any_engine::AnyEngine;
use attentive_model::device_engine::DeviceEngine;
use attentive_model::engine::Precision;

use super::Pipeline;
use super::forms::{decodes, taken};

/// Opens a device for decoding in `precision`, if it is given; `None` for the CPU.
///
/// # Errors
/// The errors of [`gpu`]; [`Error::Usage`] for a GPU and weights in `int8`.
pub fn open(device: TrainDevice, precision: Option<Precision>) -> Result<Option<&'static dyn Device>> {
    let number = match device {
        TrainDevice::Cpu => return Ok(None),
        TrainDevice::Gpu(GpuChoice::Best) => None,
        TrainDevice::Gpu(GpuChoice::Number(number)) => Some(number),
    };
    if precision == Some(Precision::Int8) {
        return Err(Error::usage(
            "GPUs keep weights in f32 or bf16, not in int8",
            "choose `bf16` for a model that is stored in f32, leave the precision out for one that is stored \
             in int8, or choose the device `cpu`",
        ));
    }
    gpu(number).map(Some)
}

/// Opens the GPU of this number, or the best one.
///
/// # Errors
/// [`Error::Usage`] if there is none, if it cannot be used, or if the program was built without support for
/// GPUs.
#[cfg(feature = "gpu")]
pub fn gpu(number: Option<usize>) -> Result<&'static dyn Device> {
    match attentive_gpu::open(number) {
        Ok(gpu) => Ok(gpu),
        Err(error) => Err(Error::usage(error.to_string(), error.hint())),
    }
}

/// Refuses: the program was built without support for GPUs.
///
/// # Errors
/// Always.
#[cfg(not(feature = "gpu"))]
pub fn gpu(_: Option<usize>) -> Result<&'static dyn Device> {
    Err(Error::usage(
        "this program was built without support for GPUs",
        "build it with the feature `gpu`, or choose the device `cpu`",
    ))
}

/// Does `work`, during which a device may fail.
///
/// # Errors
/// Those of `work`; [`Error::Device`] for a device that fails.
pub fn caught<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    Failure::caught(work).unwrap_or_else(|failure| Err(failed(failure)))
}

/// The error of a device that failed.
pub(super) fn failed(failure: Failure) -> Error {
    let Failure { problem, hint } = failure;
    Error::Device { problem, hint }
}

impl Pipeline {
    /// Lets the model, and those of its ensemble, decode on `device`, in `f32`. Matrices of weights stay in
    /// bf16 if the pipeline has them in bf16, and are otherwise kept in `f32`: those in int8 are dequantized.
    /// `decode.cache_precision` of the [configuration](Pipeline::config) becomes `f32`. Scores, perplexities
    /// and alignments are computed there too; what [`Pipeline::model`] is used for is not.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not decode; [`Error::Device`] for a device that fails.
    pub fn on_device(mut self, device: &'static dyn Device) -> Result<Self> {
        if !self.decodes() {
            let verb = self.architecture.task().verb();
            return Err(Error::usage(
                format!("a model that {verb} computes on the CPU only"),
                "leave the device out: only models that translate or generate have a choice",
            ));
        }
        let engine = self.forms.engine.get();
        let shortlist = engine.and_then(AnyEngine::shortlist).cloned();
        let weights = self.forms.parameters(&self.architecture);
        let numbers = match engine {
            Some(AnyEngine::Cpu(engine)) if engine.precision() == Precision::Bf16 => Float::Bf16,
            Some(AnyEngine::Device(engine)) => engine.numbers(),
            _ => Float::F32,
        };
        let engine = caught(|| {
            let architecture = &self.architecture;
            Ok(DeviceEngine::with_weights(device, architecture, weights, numbers))
        })?;
        let engine = AnyEngine::Device(engine).with_shortlist(shortlist);
        self.config.decode.cache_precision = Float::F32;
        let partners = self.partners.into_iter();
        Ok(Self {
            forms: engine.into(),
            file: None,
            partners: partners.map(|partner| partner.on_device(device)).collect::<Result<_>>()?,
            ..self
        })
    }

    /// Lets a model whose weights are in the memory of `device` decode there, without copies of them; see
    /// [`Pipeline::from_parts`] and [`Pipeline::on_device`].
    ///
    /// # Panics
    /// If the model does not decode, or was not given to [`Pipeline::from_parts`].
    pub fn where_it_is(mut self, device: &'static dyn Device) -> Self {
        let model = taken(&mut self.forms.model).expect("a model of weights that exist");
        self.config.decode.cache_precision = Float::F32;
        self.forms = AnyEngine::Device(DeviceEngine::new(device, model)).into();
        self
    }

    /// True for a model that translates or continues texts, which search decodes.
    pub fn decodes(&self) -> bool {
        decodes(&self.architecture)
    }

    /// True if it decodes on another device than the CPU.
    pub fn is_on_device(&self) -> bool {
        self.device().is_some()
    }

    /// Why it, or one of its ensemble, can compute no more until it is loaded again: its device failed, or
    /// the file of its weights was overwritten. What was computed since the last time that there was no
    /// failure may then be wrong.
    pub fn failure(&self) -> Option<Failure> {
        self.members().find_map(|member| {
            let changed = member.file.as_ref().filter(|file| file.was_changed());
            let changed = changed.map(|file| Failure {
                problem: "the weights of the model were changed while they were in use".into(),
                hint: format!(
                    "`{}` was overwritten or truncated: load the model again, and replace a file that is in \
                     use by renaming another one to its name, which is safe",
                    file.path().display()
                ),
            });
            changed.or_else(|| match member.forms.engine.get()? {
                AnyEngine::Cpu(_) => None,
                AnyEngine::Device(engine) => engine.device().failure(),
            })
        })
    }

    /// Does `work`, which computes with the weights of the model.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Device`] for a device that fails, and for weights that were overwritten
    /// meanwhile.
    pub(super) fn computing<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let result = caught(work)?;
        match self.failure() {
            None => Ok(result),
            Some(failure) => Err(failed(failure)),
        }
    }

    /// The number type in which it keeps matrices of weights; `None` until they are packed.
    pub fn precision(&self) -> Option<Precision> {
        self.forms.precision()
    }

    /// The device on which it decodes, unless that is the CPU.
    pub fn device(&self) -> Option<&'static dyn Device> {
        match self.forms.engine.get()? {
            AnyEngine::Cpu(_) => None,
            AnyEngine::Device(engine) => Some(engine.device()),
        }
    }

    /// The name of [`device`](Self::device), with its driver.
    pub fn hardware(&self) -> Option<String> {
        let hardware = self.device()?.hardware();
        hardware.map(|hardware| hardware.name)
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::Family;
    use attentive_oracle::PLAIN;
    use attentive_samples::WORDS;

    use super::*;
    use crate::TranslateOptions;
    use crate::tests::{of, with};

    #[test]
    fn a_device_that_fails_is_an_error() {
        let lost = || Failure { problem: "the GPU was lost".into(), hint: "start again".into() };
        let error = caught::<()>(|| lost().raise()).unwrap_err();
        assert_eq!((error.to_string(), error.exit_code()), (lost().problem, 1));
        assert_eq!(error.hint(), Some(lost().hint));
    }

    #[test]
    fn a_device_translates_what_the_cpu_translates() {
        let lines = [WORDS.join(" "), WORDS[..3].join(" "), String::new(), WORDS[2].into()];
        for changes in ["", "family = 'seq2seq'"] {
            let [cpu, device] = [with(changes), with(changes)];
            let device = device.on_device(&PLAIN).unwrap();
            assert_eq!(device.hardware(), Some("double precision".into()));
            let options = TranslateOptions::from(&cpu.config().decode);
            let found = device.translate_lines(&lines, &options).unwrap();
            for (found, expected) in found.iter().zip(cpu.translate_lines(&lines, &options).unwrap()) {
                let [found, expected] = [&found.hypotheses[0], &expected.hypotheses[0]];
                assert_eq!(found.text, expected.text, "{changes}");
                assert!((found.score - expected.score).abs() < 1e-4, "{changes}");
            }
        }
    }

    #[test]
    fn a_device_scores_and_aligns_what_the_cpu_does() {
        let src = [WORDS.join(" "), WORDS[1].into(), WORDS[..4].join(" ")];
        let tgt = [WORDS[..2].join(" "), WORDS.join(" "), String::new()];
        for changes in ["", "family = 'seq2seq'"] {
            let [cpu, device] = [with(changes), with(changes).with(with(changes)).unwrap()];
            let device = device.on_device(&PLAIN).unwrap();
            let expected = cpu.rescore(1, &src, &tgt).unwrap();
            let found = device.rescore(1, &src, &tgt).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.tokens, expected.tokens, "{changes}");
                let found = found.token_log_probs.iter();
                for (found, expected) in found.zip(&expected.token_log_probs) {
                    assert!((found - expected).abs() < 1e-4, "{changes}: {found}, not {expected}");
                }
            }
            let pairs = || {
                let tokens = expected.iter().map(|found| &*found.tokens);
                Vec::from_iter(src.iter().zip(tokens))
            };
            let found = device.align(&pairs()).unwrap();
            assert_eq!(found, cpu.align(&pairs()).unwrap(), "{changes}");
        }
    }

    /// Those in int8 are dequantized, since devices have no such weights.
    #[test]
    fn weights_in_bf16_stay_so_on_a_device() {
        let [f32, bf16] = ["f32 (double precision)", "f32 with weights in bf16 (double precision)"];
        for (precision, kept, numbers) in [
            (Precision::F32, Precision::F32, f32),
            (Precision::Bf16, Precision::Bf16, bf16),
            (Precision::Int8, Precision::F32, f32),
        ] {
            let ensemble = with("").with(with("")).unwrap();
            let rounded = ensemble.into_precision(precision).unwrap();
            let weights = rounded.parameters();
            let moved = rounded.on_device(&PLAIN).unwrap();
            assert_eq!(moved.parameters(), weights, "{precision}");
            for member in moved.members() {
                assert_eq!(member.stepper().numbers(), numbers);
                assert_eq!(member.precision(), Some(kept));
            }
            let again = moved.on_device(&PLAIN).unwrap();
            assert_eq!(again.stepper().numbers(), numbers);
        }
    }

    #[test]
    fn the_configuration_names_the_cache_of_the_device() {
        let ensemble = with("").with(with("")).unwrap();
        let ensemble = ensemble.with_cache_precision(Float::Bf16);
        let ensemble = ensemble.unwrap().on_device(&PLAIN).unwrap();
        for member in ensemble.members() {
            let kept = member.config().decode.cache_precision;
            assert_eq!(kept, Float::F32);
        }
    }

    #[test]
    fn precisions_and_models_that_devices_lack_are_refused() {
        let gpu = "gpu".parse().unwrap();
        let error = open(gpu, Some(Precision::Int8)).unwrap_err();
        let hint = error.hint().unwrap_or_default();
        let error = error.to_string();
        assert!(error.contains("in f32 or bf16, not in int8"), "{error}");
        for remedy in ["`bf16`", "leave the precision out", "the device `cpu`"] {
            assert!(hint.contains(remedy), "{hint}");
        }
        for precision in Precision::ALL {
            assert!(open(TrainDevice::Cpu, Some(precision)).unwrap().is_none());
        }
        let on_device = || with("").on_device(&PLAIN).unwrap();
        let error = on_device().with_cache_precision(Float::Bf16);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("keep keys and values in f32"), "{error}");
        let kept = on_device().with_cache_precision(Float::F32);
        assert!(kept.unwrap().is_on_device());
        let error = on_device().into_precision(Precision::Int8);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("on a GPU cannot be rounded"), "{error}");
        let tagger = of(Family::Tagger);
        let error = tagger.on_device(&PLAIN).unwrap_err().to_string();
        assert!(error.contains("labels tokens computes on the CPU only"), "{error}");
    }

    #[test]
    #[cfg(not(feature = "gpu"))]
    fn a_program_without_gpus_says_so() {
        let error = open("gpu".parse().unwrap(), None).unwrap_err().to_string();
        assert!(error.contains("without support for GPUs"), "{error}");
    }
}
