use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attentive_config::{EarlyStopping, Family, TokenizerKind, Units};
use attentive_decode::{Sampling, Strategy};
use attentive_device::Failure;

use super::*;
use crate::tests::{of, untrained, untrained_language_model, with};
use crate::{GenerateOptions, Prefix, TranslateOptions, TranslationConstraints};

/// Longer than any of the tests takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn news<T: Send + 'static>() -> (Reply<T>, Receiver<(usize, JobEvent<T>)>) {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let reply = move |number, event| {
        let sender = sender.lock().unwrap();
        // The receiver may be gone.
        let _ = sender.send((number, event));
    };
    (Arc::new(reply), receiver)
}

/// The results of a request of `count` jobs, in their order, and the texts that came before each.
fn collect<T>(news: &Receiver<(usize, JobEvent<T>)>, count: usize) -> Vec<(Vec<String>, T)> {
    let mut texts = vec![Vec::new(); count];
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    while results.iter().any(Option::is_none) {
        match news.recv_timeout(PATIENCE).expect("an answer") {
            (number, JobEvent::Text(text)) => {
                assert!(results[number].is_none(), "no text after the result");
                texts[number].push(text);
            }
            (number, JobEvent::Done(result)) => {
                let earlier = results[number].replace(result.unwrap());
                assert!(earlier.is_none(), "one result of each job");
            }
        }
    }
    texts.into_iter().zip(results.into_iter().flatten()).collect()
}

fn limits(workers: usize, batch: usize) -> ServiceLimits {
    ServiceLimits { workers, batch, queue: 10_000, per_client: 10_000 }
}

fn translator(limits: ServiceLimits) -> Service {
    Service::start(Arc::new(of(Family::Transformer)), limits).unwrap()
}

fn lines(first: usize, count: usize) -> Vec<String> {
    let words = ["a", "dog", "runs", "over", "the", "green", "grass", ""];
    let line = |number: usize| {
        let picked = (0..1 + number % 7).map(|place| words[(number * 5 + place * 3) % 8]);
        picked.collect::<Vec<_>>().join(" ").trim().to_owned()
    };
    (first..first + count).map(line).collect()
}

fn requests(lines: &[String]) -> Vec<Request> {
    lines.iter().cloned().map(Request::from).collect()
}

fn search(beam_width: usize, n_best: usize) -> SearchOptions {
    SearchOptions {
        strategy: Strategy::beam(beam_width, n_best, EarlyStopping::Never),
        ..(&untrained().config().decode).into()
    }
}

#[test]
fn answers_are_those_of_the_pipeline_whatever_else_is_asked() {
    let pipeline = untrained();
    let mut sampled = search(1, 1);
    sampled.strategy = Strategy::Sample { sampling: Sampling::default(), count: 2 };
    let searches = [search(1, 1), search(4, 3), sampled, search(4, 1)];
    for limits in [limits(1, 1), limits(1, 7), limits(3, 12)] {
        let service = translator(limits);
        let mut waiting = Vec::new();
        for round in 0..12 {
            let options = searches[round % searches.len()];
            let lines = lines(round * 3, 1 + round % 5);
            let (reply, news) = news();
            let client = Client(round as u64 % 3);
            let watch = round % 2 == 0;
            let sentences = service.read(&requests(&lines), &options).unwrap();
            let handle = service.translate(client, sentences, watch, reply).unwrap();
            waiting.push((options, lines, watch, handle, news));
        }
        for (options, lines, watch, _handle, news) in waiting {
            let options = TranslateOptions { search: options, batch_size: NonZeroUsize::new(4), mbr: None };
            let expected = pipeline.translate_lines(&lines, &options).unwrap();
            let found = collect(&news, lines.len());
            for ((texts, found), expected) in found.into_iter().zip(expected) {
                assert_eq!(found, expected);
                let best = &found.hypotheses[0];
                assert_eq!(texts.is_empty(), !watch || best.tokens.is_empty());
            }
        }
        let load = service.load();
        assert_eq!((load.waiting, load.running), (0, 0));
        assert!(load.rows >= load.steps && load.tgt_tokens > 0);
    }
}

#[test]
fn demands_are_met_as_by_the_pipeline() {
    let service = translator(limits(2, 6));
    let mut requests = requests(&lines(0, 5));
    requests[1].constraints = Arc::new(TranslationConstraints {
        prefix: Prefix::Text("over".into()),
        ..TranslationConstraints::default()
    });
    requests[3].constraints = Arc::new(TranslationConstraints {
        phrases: vec!["field".into()],
        ..TranslationConstraints::default()
    });
    let options = search(4, 2);
    let (reply, news) = news();
    let sentences = service.read(&requests, &options).unwrap();
    let _handle = service.translate(Client(1), sentences, false, reply).unwrap();
    let expected = TranslateOptions { search: options, batch_size: NonZeroUsize::new(2), mbr: None };
    let expected = untrained().translate_requests(1, &requests, &expected.guided());
    let found = collect(&news, 5).into_iter().map(|(_, found)| found);
    assert_eq!(found.collect::<Vec<_>>(), expected.unwrap());
}

#[test]
fn texts_are_those_of_the_pipeline() {
    for units in [Units::Lines, Units::Stream] {
        let pipeline = Arc::new(untrained_language_model(TokenizerKind::Bpe, units));
        let service = Service::start(Arc::clone(&pipeline), limits(2, 4)).unwrap();
        let mut waiting = Vec::new();
        for number in 0..10 {
            let mut options = GenerateOptions::default();
            options.sample.sampling.temperature = 1.5;
            options.sample.number = number;
            options.sample.max_new_tokens = 10 + number as usize;
            if number == 4 {
                options.stop = ["e".into()].into();
            }
            let prompt = Arc::new(pipeline.prompt("Ein Hund").unwrap());
            let (reply, news) = news();
            // Another text goes before it.
            let mut first = options.clone();
            first.sample.number += 100;
            let asked = [first, options].map(|options| Continuation { prompt: Arc::clone(&prompt), options });
            let handle = service.generate(Client(number % 2), asked.to_vec(), reply);
            waiting.push((asked, handle.unwrap(), news));
        }
        for (asked, _handle, news) in waiting {
            for (asked, (texts, found)) in asked.iter().zip(collect(&news, 2)) {
                let expected = pipeline.generate(&asked.prompt, &asked.options, &mut |_| Ok(())).unwrap();
                assert_eq!((texts.concat(), &found), (expected.text.clone(), &expected));
            }
        }
    }
}

#[test]
fn all_texts_are_accepted_or_none() {
    let pipeline = Arc::new(untrained_language_model(TokenizerKind::Bpe, Units::Lines));
    let limits = ServiceLimits { queue: 5, per_client: 5, ..limits(1, 1) };
    let service = Service::start(Arc::clone(&pipeline), limits).unwrap();
    let prompt = Arc::new(pipeline.prompt("Ein").unwrap());
    let one = Continuation { prompt: Arc::clone(&prompt), options: GenerateOptions::default() };
    let (reply, texts) = news();
    let refused = service.generate(Client(1), vec![one.clone(); 8], reply);
    assert!(matches!(refused, Err(Refused::Full { jobs: 8, .. })));
    // A remaining job would still hold the reply.
    assert!(matches!(texts.try_recv(), Err(TryRecvError::Disconnected)));
    let load = service.load();
    assert_eq!((load.waiting, load.running, load.src_tokens), (0, 0, 0));
    let (reply, texts) = news();
    let _handle = service.generate(Client(1), vec![one; 5], reply).unwrap();
    assert_eq!(collect(&texts, 5).len(), 5);
    let tokens = pipeline.tokenizers().tgt().encode("Ein").unwrap();
    assert_eq!(service.tokens(&prompt), tokens.len());
}

#[test]
fn a_dropped_handle_frees_its_rows() {
    let pipeline = Arc::new(untrained_language_model(TokenizerKind::Bpe, Units::Stream));
    let service = Service::start(Arc::clone(&pipeline), limits(1, 1)).unwrap();
    let endless = || {
        let mut options = GenerateOptions::default();
        options.sample.max_new_tokens = usize::MAX;
        let (reply, news) = news();
        let prompt = Arc::new(pipeline.prompt("Ein").unwrap());
        let asked = vec![Continuation { prompt, options }];
        let handle = service.generate(Client(1), asked, reply).unwrap();
        (handle, news)
    };
    let (first, first_news) = endless();
    let (second, second_news) = endless();
    first_news.recv_timeout(PATIENCE).expect("it runs");
    assert!(matches!(second_news.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout)));
    drop(first);
    second_news.recv_timeout(PATIENCE).expect("its turn");
    drop(second);
    let begun = Instant::now();
    while service.load().running > 0 {
        assert!(begun.elapsed() < PATIENCE, "its rows are free");
        std::thread::yield_now();
    }
}

#[test]
fn other_work_has_its_turn() {
    let service = translator(limits(1, 4));
    let (reply, news) = news();
    let translate = Chunk::new(9, |pipeline: &Pipeline| pipeline.translate(&["a dog"]));
    let _handle = service.compute(Client(1), Admission::New, vec![translate], reply);
    let found = collect(&news, 1).remove(0).1;
    assert_eq!(found, untrained().translate(&["a dog"]).unwrap());
    // A request for work that panics is answered by dropping its reply, and the worker goes on.
    let (reply, panicked) = self::news::<()>();
    let panic = Chunk::new(1, |_: &Pipeline| panic!("as the test wants"));
    let _handle = service.compute(Client(1), Admission::New, vec![panic], reply);
    assert!(matches!(panicked.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected)));
    let (reply, news) = self::news();
    let chunks = (0..5).map(|number| Chunk::new(1, move |_: &Pipeline| Ok(number)));
    let _handle = service.compute(Client(1), Admission::New, chunks.collect(), reply);
    let found = collect(&news, 5).into_iter().map(|(_, found)| found);
    assert_eq!(found.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn what_cannot_be_done_is_refused_at_once() {
    let service = Service::start(
        Arc::new(of(Family::Transformer)),
        ServiceLimits { workers: 1, batch: 1, queue: 2, per_client: 2 },
    )
    .unwrap();
    let ask = |requests: &[Request], options: &SearchOptions| {
        let sentences = service.read(requests, options)?;
        service.translate(Client(1), sentences, false, news().0)
    };
    let three = requests(&lines(1, 3));
    assert!(matches!(ask(&three, &search(1, 1)), Err(Refused::Full { jobs: 3, .. })));
    assert!(matches!(ask(&three[..1], &search(1, 2)), Err(Refused::Invalid(_))));
    let mut demanding = three[..1].to_vec();
    demanding[0].constraints = Arc::new(TranslationConstraints {
        prefix: Prefix::Text("cats ".repeat(500)),
        ..TranslationConstraints::default()
    });
    let Err(Refused::Invalid(error)) = ask(&demanding, &search(1, 1)) else {
        panic!("a prefix that is too long");
    };
    assert!(error.to_string().contains("too long"), "{error}");
    service.close();
    assert!(matches!(ask(&three[..1], &search(1, 1)), Err(Refused::Closed)));
}

#[test]
fn closing_finishes_what_was_accepted() {
    let service = translator(limits(2, 2));
    let lines = lines(0, 30);
    let (reply, news) = news();
    let sentences = service.read(&requests(&lines), &search(2, 1)).unwrap();
    let _handle = service.translate(Client(1), sentences, false, reply).unwrap();
    drop(service);
    assert_eq!(collect(&news, 30).len(), 30);
}

#[test]
fn chunks_take_turns_and_end_with_their_client() {
    let service = translator(limits(1, 4));
    let done = Arc::new(Mutex::new(Vec::new()));
    let (open, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let chunks = |client: u64, count: usize| -> Vec<Chunk<()>> {
        let chunk = |_| {
            let (done, gate) = (Arc::clone(&done), Arc::clone(&gate));
            Chunk::new(10, move |_: &Pipeline| {
                let _ = gate.lock().unwrap().recv();
                done.lock().unwrap().push(client);
                Ok(())
            })
        };
        (0..count).map(chunk).collect()
    };
    let (reply, first_news) = news();
    let long = service.compute(Client(1), Admission::New, chunks(1, 1000), reply).unwrap();
    let (reply, second_news) = news();
    let _short = service.compute(Client(2), Admission::New, chunks(2, 2), reply).unwrap();
    for _ in 0..4 {
        open.send(()).unwrap();
    }
    collect(&second_news, 2);
    let before = done.lock().unwrap().clone();
    assert_eq!(before, [1, 2, 1, 2]);
    drop(long);
    // The job in progress is finished, and no other is started.
    drop(open);
    while first_news.recv_timeout(PATIENCE).is_ok() {}
    let after = done.lock().unwrap().len();
    assert!(after <= 5, "{after} chunks");
    let begun = Instant::now();
    while service.load().running + service.load().waiting > 0 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn a_long_sentence_keeps_nobody_waiting_and_waits_for_nobody() {
    // The long sentence exceeds the positions of a lane together with any other.
    let pipeline = Arc::new(with("max_len = 400"));
    let service = Service::start(Arc::clone(&pipeline), limits(1, 2)).unwrap();
    let long = vec!["dog ".repeat(300)];
    let options = search(1, 1);
    let ask = |client: u64, lines: &[String]| {
        let (reply, news) = news();
        let sentences = service.read(&requests(lines), &options).unwrap();
        let handle = service.translate(Client(client), sentences, false, reply);
        (handle.unwrap(), news)
    };
    let asked: Vec<_> = (0..6)
        .map(|client| match client {
            2 => (long.clone(), ask(client, &long)),
            _ => (lines(3, 9), ask(client, &lines(3, 9))),
        })
        .collect();
    for (lines, (_handle, news)) in asked {
        let found = collect(&news, lines.len()).into_iter();
        let texts: Vec<String> = found.map(|(_, found)| found.into_best()).collect();
        let options = TranslateOptions { search: options, batch_size: NonZeroUsize::new(1), mbr: None };
        assert_eq!(texts, pipeline.best_translations(&lines, &options).unwrap());
    }
}

/// The failure is raised by a client's reply, in the midst of a step, as a device does it.
#[test]
fn a_device_that_fails_is_an_error_of_all_whom_it_served_and_of_nobody_else() {
    let service = translator(limits(1, 8));
    let failed_once = AtomicBool::new(false);
    let (send, events) = channel();
    let reply: Reply<Translation> = Arc::new(move |number, event| {
        let is_text = matches!(event, JobEvent::Text(_));
        send.send((number, event)).expect("a receiver");
        if is_text && !failed_once.swap(true, Ordering::Relaxed) {
            let failure = Failure { problem: "the GPU was lost".into(), hint: "start again".into() };
            failure.raise();
        }
    });
    let translate = |reply: &Reply<Translation>, seed| {
        let sentences = service.read(&requests(&lines(seed, 3)), &search(2, 1));
        service.translate(Client(1), sentences.unwrap(), true, Arc::clone(reply))
    };
    let done = || {
        let events = std::iter::repeat_with(|| events.recv_timeout(PATIENCE).expect("an event").1);
        let done = events.filter_map(|event| match event {
            JobEvent::Done(result) => Some(result),
            JobEvent::Text(_) => None,
        });
        done.take(3).collect::<Vec<_>>()
    };
    let _handle = translate(&reply, 1);
    let results = done();
    let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert!(!failed.is_empty());
    for error in failed {
        assert_eq!(error.to_string(), "the GPU was lost");
        assert_eq!(error.hint().as_deref(), Some("start again"));
    }
    let _handle = translate(&reply, 2);
    assert!(done().iter().all(Result::is_ok));
    assert_eq!(service.load().running, 0);
}

/// A model on a device has one worker, whatever the limit, and gives what the pipeline gives.
#[test]
fn a_service_on_a_device_gives_what_its_pipeline_gives() {
    let pipeline = of(Family::Transformer).on_device(&attentive_oracle::PLAIN).unwrap();
    let lines = lines(3, 12);
    let options = TranslateOptions { search: search(3, 1), batch_size: NonZeroUsize::new(4), mbr: None };
    let expected = pipeline.translate_lines(&lines, &options).unwrap();
    let service = Service::start(Arc::new(pipeline), limits(3, 8)).unwrap();
    assert_eq!(service.threads.len(), 1);
    let (reply, news) = news();
    let sentences = service.read(&requests(&lines), &options.search).unwrap();
    let _handle = service.translate(Client(1), sentences, false, reply).unwrap();
    for ((_, found), expected) in collect(&news, lines.len()).iter().zip(&expected) {
        let [found, expected] = [found, expected].map(|it: &Translation| &it.hypotheses[0]);
        assert_eq!(found.text, expected.text);
    }
}
