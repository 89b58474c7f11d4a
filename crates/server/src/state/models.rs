//! The models that are served.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, SystemTime};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{self as checkpoint, files};
use attentive_config::{Task, TrainDevice};
use attentive_decode::SearchOptions;
use attentive_device::{Device, Failure};
use attentive_model::engine::Precision;
use attentive_pipeline::service::{self, Load, Sentences, Service};
use attentive_pipeline::{Pipeline, Request, device};
use attentive_text::Languages;

use crate::config::{ServeConfig, ServedModel};
use crate::language::{Language, TranslationDirection};
use crate::limits::Limits;
use crate::problem::{Problem, ProblemKind};
use crate::state::stamp::Stamp;
use crate::work::threading::Threading;

pub(crate) struct ModelInstance {
    config: ServedModel,
    service: Arc<Service>,
    source: Source,
    /// The time at which the model was loaded.
    loaded: SystemTime,
    /// The totals of earlier services with this name, so that counters never decrease.
    before: Load,
}

/// The source of a service: the files and options from which it was loaded.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    /// The model directory, with links resolved.
    dir: PathBuf,
    precision: Option<Precision>,
    device: TrainDevice,
    /// The state of the files when they were read; `None` if they could not be listed.
    stamp: Option<Arc<Stamp>>,
}

impl Source {
    fn of(served: &ServedModel, config: &ServeConfig) -> Self {
        let dir = fs::canonicalize(&served.dir).unwrap_or_else(|_| served.dir.clone());
        Self {
            stamp: Stamp::of(&dir).ok().map(Arc::new),
            dir,
            precision: served.precision.or(config.precision),
            device: config.device,
        }
    }

    /// Returns true if a service of `other` is equivalent to one of this source.
    fn is_same(&self, other: &Self) -> bool {
        self == other && self.stamp.is_some()
    }
}

impl ModelInstance {
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn loaded(&self) -> SystemTime {
        self.loaded
    }

    /// The languages between which it translates, if it does and they are known.
    pub(crate) fn direction(&self) -> Option<&TranslationDirection> {
        self.config.direction.as_ref().filter(|_| self.task() == Task::Translate)
    }

    /// Returns true if its service translates between the languages of `served`: a model of one pair always
    /// does, as far as anyone knows.
    fn translates_as(&self, served: &ServedModel) -> bool {
        !self.pipeline().is_multilingual() || self.config.direction == served.direction
    }

    /// Returns true if a service in other languages can share the weights.
    fn can_share(&self) -> bool {
        self.pipeline().is_multilingual() && !self.pipeline().is_on_device()
    }

    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    pub(crate) fn pipeline(&self) -> &Pipeline {
        self.service.pipeline()
    }

    pub(crate) fn task(&self) -> Task {
        self.pipeline().config().model.family.task()
    }

    /// Reads sentences to translate. The time grows with their length.
    ///
    /// # Errors
    /// A [`Problem`] if the model cannot meet their constraints, and for too many tokens.
    pub(crate) fn read(
        &self,
        requests: &[Request],
        options: &SearchOptions,
        limits: &Limits,
    ) -> Result<Sentences, Problem> {
        let sentences = self.service.read(requests, options);
        let sentences = sentences.map_err(|error| Problem::invalid(&error))?;
        check_tokens(sentences.tokens(), limits)?;
        Ok(sentences)
    }

    /// The current load of the model, and the totals under this name.
    pub(crate) fn load(&self) -> Load {
        let (now, before) = (self.service.load(), self.before);
        Load {
            steps: now.steps + before.steps,
            rows: now.rows + before.rows,
            src_tokens: now.src_tokens + before.src_tokens,
            tgt_tokens: now.tgt_tokens + before.tgt_tokens,
            ..now
        }
    }
}

/// Refuses a request whose texts have `found` tokens, if these are too many.
///
/// # Errors
/// A [`Problem`] with the maximum.
pub(crate) fn check_tokens(found: usize, limits: &Limits) -> Result<(), Problem> {
    let most = limits.tokens;
    if found > most {
        let problem = format!("the texts have {found} tokens; a request may have at most {most}");
        return Err(Problem::new(ProblemKind::TooLarge, problem));
    }
    Ok(())
}

/// The models that are served, in the order of the configuration; none before they are loaded.
#[derive(Default)]
pub(crate) struct Models(RwLock<Arc<Vec<Arc<ModelInstance>>>>);

impl Models {
    /// The current models.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<ModelInstance>>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why models cannot answer any more until they are loaded again, or the server is started again: their
    /// weights were overwritten, or their GPU was lost.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.all().iter().find_map(|model| model.pipeline().failure())
    }

    /// The model called `name`, or without a name the only one that `fits`; `what` describes its task.
    ///
    /// # Errors
    /// A [`Problem`] if there is none, or more than one.
    pub(crate) fn choose(
        &self,
        name: Option<&str>,
        what: &str,
        fits: impl Fn(&ModelInstance) -> bool,
    ) -> Result<Arc<ModelInstance>, Problem> {
        let all = self.all();
        let fitting: Vec<_> = all.iter().filter(|model| fits(model)).collect();
        let listed = || {
            let names = fitting.iter().map(|model| format!("`{}`", model.name()));
            names.collect::<Vec<_>>().join(", ")
        };
        let Some(name) = name else {
            return match fitting[..] {
                [only] => Ok(Arc::clone(only)),
                [] => Err(Problem::new(ProblemKind::NoModel, format!("no model of this server can {what}"))),
                _ => {
                    let problem = format!("several models can {what}: name one of {}", listed());
                    Err(Problem::field("model", problem))
                }
            };
        };
        let Some(found) = all.iter().find(|model| model.name() == name) else {
            let problem = Problem::new(ProblemKind::NoModel, format!("there is no model `{name}`"));
            return Err(if fitting.is_empty() {
                problem
            } else {
                problem.hint(format!("models that can {what}: {}", listed()))
            });
        };
        if !fits(found) {
            let problem = format!("the model `{name}` cannot {what}");
            return Err(Problem::field("model", problem));
        }
        Ok(Arc::clone(found))
    }

    /// The languages from which models translate, into `target` if it is given.
    pub(crate) fn sources(&self, target: Option<&Language>) -> Vec<Language> {
        let all = self.all();
        let directions = all.iter().filter_map(|model| model.direction());
        let into = directions.filter(|one| target.is_none_or(|target| one.target.base() == target.base()));
        let mut sources: Vec<Language> = into.map(|direction| direction.source.clone()).collect();
        sources.dedup();
        sources
    }

    /// The model for `direction`; the first one if there are several.
    pub(crate) fn translating(&self, source: &Language, target: &Language) -> Option<Arc<ModelInstance>> {
        let all = self.all();
        let same = |one: &Language, other: &Language| one == other || one.base() == other.base();
        let exact = |d: &TranslationDirection| d.source == *source && d.target == *target;
        let near = |d: &TranslationDirection| same(&d.source, source) && same(&d.target, target);
        let find = |fits: &dyn Fn(&TranslationDirection) -> bool| {
            let found = all.iter().find(|model| model.direction().is_some_and(fits));
            found.cloned()
        };
        find(&exact).or_else(|| find(&near))
    }

    /// Loads all models of `config` and serves them in place of the previous ones, which are to be
    /// [retired](Replaced::retire). Models whose files have not changed are kept.
    ///
    /// # Errors
    /// The error of the first model that cannot be loaded; then nothing has changed.
    pub(crate) fn load(&self, config: &ServeConfig, threading: &Threading) -> Result<Replaced> {
        let before = self.all();
        let mut models: Vec<Arc<ModelInstance>> = Vec::with_capacity(config.models.len());
        for served in &config.models {
            let source = Source::of(served, config);
            // Several names of one model share its service.
            let known = models.iter().chain(&*before);
            let known =
                known.into_iter().find(|known| known.source.is_same(&source) && known.translates_as(served));
            // Another direction of a model of several languages shares its weights.
            let same = models.iter().find(|known| known.source.is_same(&source) && known.can_share());
            let service = match (known, same) {
                (Some(known), _) => Arc::clone(&known.service),
                (None, Some(same)) => Arc::new(start_beside(served, same.pipeline(), config, threading)?),
                (None, None) => Arc::new(start(served, source.precision, config, threading)?),
            };
            let old = before.iter().find(|old| old.name() == served.name);
            let stays = old.filter(|old| Arc::ptr_eq(&old.service, &service));
            models.push(Arc::new(ModelInstance {
                config: served.clone(),
                loaded: stays.map_or_else(SystemTime::now, |old| old.loaded),
                before: match (stays, old) {
                    (Some(same), _) => same.before,
                    (None, old) => old.map(|old| old.load()).unwrap_or_default(),
                },
                service,
                source,
            }));
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(models);
        Ok(Replaced(before))
    }
}

/// Lets a model of many languages translate between those with which it is served, whatever its files say.
///
/// # Errors
/// [`Error::Usage`] for a language that the model does not have.
fn with_served_languages(served: &ServedModel, pipeline: Pipeline) -> Result<Pipeline> {
    match languages_of(served, &pipeline)? {
        languages if languages == Languages::default() => Ok(pipeline),
        languages => pipeline.with_languages(&languages).map_err(|error| name_model(served, error)),
    }
}

/// The languages of `served`, as the model knows them.
fn languages_of(served: &ServedModel, pipeline: &Pipeline) -> Result<Languages> {
    let Some(TranslationDirection { source, target }) = &served.direction else {
        return Ok(Languages::default());
    };
    let found = pipeline.languages_between([source.code(), target.code()]);
    found.map_err(|error| name_model(served, error))
}

/// `error` with the name and the languages of the served model.
fn name_model(served: &ServedModel, error: Error) -> Error {
    match &served.direction {
        Some(TranslationDirection { source, target }) => {
            error.about(format_args!("the model `{}`, which is served as {source} to {target}", served.name))
        }
        None => error,
    }
}

/// Starts a service that translates between other languages than `pipeline`, with the same weights.
fn start_beside(
    served: &ServedModel,
    pipeline: &Pipeline,
    config: &ServeConfig,
    threading: &Threading,
) -> Result<Service> {
    let languages = languages_of(served, pipeline)?;
    let pipeline = pipeline.in_languages(&languages).map_err(|error| name_model(served, error))?;
    tracing::info!(model = served.name, dir = %served.dir.display(), "shares the weights of another direction");
    serve(pipeline, config, threading)
}

fn start(
    served: &ServedModel,
    precision: Option<Precision>,
    config: &ServeConfig,
    threading: &Threading,
) -> Result<Service> {
    let device = device::open(config.device, precision)?;
    let (pipeline, provenance) = Pipeline::load_with_provenance(&served.dir, precision)?;
    let pipeline = with_served_languages(served, pipeline)?;
    let decodes = pipeline.decodes();
    let pipeline = match device {
        Some(device) if decodes => pipeline.on_device(device)?,
        Some(_) => {
            tracing::warn!(model = served.name, "the model does not decode, so it computes on the CPU");
            pipeline
        }
        None => pipeline,
    };
    // Quantized weights have their own checksum.
    let is_checked = provenance.sha256_of(files::WEIGHTS).is_some() || checkpoint::is_quantized(&served.dir);
    if let Some(warning) = (pipeline.device()).and_then(Device::hardware).and_then(|it| it.warning()) {
        tracing::warn!(model = served.name, "{warning}");
    }
    let hardware = pipeline.hardware();
    let device = hardware.as_deref().unwrap_or("cpu");
    tracing::info!(model = served.name, dir = %served.dir.display(), device, "loaded");
    if !is_checked {
        tracing::warn!(
            model = served.name,
            "`provenance.json` has no checksum of the weights, so damage to them would go unnoticed"
        );
    }
    serve(pipeline, config, threading)
}

fn serve(pipeline: Pipeline, config: &ServeConfig, threading: &Threading) -> Result<Service> {
    let limits = service::ServiceLimits {
        workers: config.threads,
        batch: config.limits.batch,
        queue: config.limits.queue,
        per_client: config.limits.share_of_queue(),
    };
    let pipeline = Arc::new(pipeline);
    match threading {
        Threading::Own => Service::start(pipeline, limits),
        Threading::Driver(workers) => {
            let (service, worker) = Service::driven(pipeline, limits)?;
            workers.add(worker);
            Ok(service)
        }
    }
}

/// Replaced models, which finish their accepted requests.
#[must_use = "the last request would stop their threads"]
pub(crate) struct Replaced(Arc<Vec<Arc<ModelInstance>>>);

impl Replaced {
    /// Blocks until the last request of the models is done, and drops them.
    pub(crate) fn retire(self) {
        const PAUSE: Duration = Duration::from_millis(20);
        let Self(models) = self;
        while Arc::strong_count(&models) > 1 || models.iter().any(|model| Arc::strong_count(model) > 1) {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use attentive_config::Family;
    use attentive_oracle::Plain;
    use attentive_pipeline::Translation;
    use attentive_pipeline::service::{Client, JobEvent};
    use attentive_samples::{Sample, WORDS};

    use super::*;

    #[test]
    fn the_loss_of_a_device_is_known() {
        static DEVICE: Plain = Plain::new();
        let sample = Sample::of(Family::Transformer);
        let pipeline = Pipeline::from_parts(sample.config, sample.tokenizers, sample.model);
        let options = SearchOptions::from(&pipeline.config().decode);
        let pipeline = pipeline.on_device(&DEVICE).unwrap();
        let limits = service::ServiceLimits { workers: 1, batch: 4, queue: 4, per_client: 4 };
        let served = ServedModel::new("en-de", "runs/en-de");
        let model = ModelInstance {
            source: Source {
                dir: served.dir.clone(),
                precision: None,
                device: TrainDevice::Cpu,
                stamp: None,
            },
            config: served,
            service: Arc::new(Service::start(Arc::new(pipeline), limits).unwrap()),
            loaded: SystemTime::now(),
            before: Load::default(),
        };
        let models = Models(RwLock::new(Arc::new(vec![Arc::new(model)])));
        let answered = || {
            let all = models.all();
            let service = all[0].service();
            let sentences = service.read(&[Request::from(WORDS[0].to_owned())], &options).unwrap();
            let (sender, receiver) = mpsc::channel();
            let reply = Arc::new(move |_: usize, event: JobEvent<Translation>| {
                if let JobEvent::Done(result) = event {
                    sender.send(result.map(drop)).unwrap();
                }
            });
            let handle = service.translate(Client(1), sentences, false, reply);
            let _handle = handle.unwrap();
            receiver.recv().unwrap()
        };
        answered().unwrap();
        assert_eq!(models.failure(), None);
        let lost = Failure { problem: "the GPU was lost".into(), hint: "start again".into() };
        DEVICE.lose(lost.clone());
        assert_eq!(answered().unwrap_err().to_string(), lost.problem);
        assert_eq!(models.failure(), Some(lost));
    }
}
