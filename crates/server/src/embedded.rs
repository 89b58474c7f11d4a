//! A server without a network and without threads.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::rc::Rc;

use attentive_base::error::{Error, Result};
use axum::Router;
use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::Request;
use tokio::runtime::{self, Runtime};
use tokio::task::{AbortHandle, LocalSet, yield_now};
use tower_service::Service;

use crate::config::ServeConfig;
use crate::router::router;
use crate::state::app::App;
use crate::state::phase::Stage;
use crate::work::threading::{Threading, Workers};

/// A server whose requests come from the same program, such as a web page that has its models: it answers as
/// [`Server`](crate::Server) does, but works only while [`EmbeddedServer::step`] is called.
pub struct EmbeddedServer {
    router: Router,
    runtime: Runtime,
    tasks: LocalSet,
    workers: Workers,
    requests: HashMap<u64, AbortHandle>,
    events: Rc<RefCell<VecDeque<EmbeddedEvent>>>,
}

/// A part of the response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedEvent {
    /// The number with which the request was sent.
    pub request: u64,
    /// The part.
    pub part: ResponsePart,
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponsePart {
    /// The status and the headers, which come first.
    Head(u16, Vec<(String, String)>),
    /// Some of the body.
    Body(Bytes),
    /// The end.
    End,
    /// The end of a response that is not complete.
    Failed,
}

impl EmbeddedServer {
    /// Loads the models of `config`. Its addresses and threads mean nothing here.
    ///
    /// # Errors
    /// [`Error::Usage`] for an invalid configuration; those of the first model that cannot be loaded.
    pub fn new(config: ServeConfig) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(Error::io("start", "the server"))?;
        let workers = Workers::default();
        let app = App::new(config, ([127, 0, 0, 1], 0).into(), Threading::Driver(workers.clone()))?;
        app.load_models()?;
        app.phase.go_on(Stage::Serving);
        Ok(Self {
            router: router(&app),

            runtime,
            tasks: LocalSet::new(),
            workers,
            requests: HashMap::new(),
            events: Rc::default(),
        })
    }

    /// Sends a request, whose events have this `number`; no other request in progress may have it.
    pub fn send(&mut self, number: u64, request: Request<Body>) {
        let (mut router, events) = (self.router.clone(), Rc::clone(&self.events));
        let task = self.tasks.spawn_local(async move {
            let mut ending = Ending { number, events: Rc::clone(&events), part: ResponsePart::Failed };
            let tell = |part| events.borrow_mut().push_back(EmbeddedEvent { request: number, part });
            let Ok(response) = router.call(request).await;
            let (head, mut body) = response.into_parts();
            let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
                Some((name.to_string(), value.to_str().ok()?.to_owned()))
            };
            tell(ResponsePart::Head(head.status.as_u16(), head.headers.iter().filter_map(header).collect()));
            while let Some(frame) = body.frame().await {
                let Ok(frame) = frame else {
                    return;
                };
                if let Ok(data) = frame.into_data() {
                    tell(ResponsePart::Body(data));
                }
            }
            ending.part = ResponsePart::End;
        });
        self.requests.insert(number, task.abort_handle());
    }

    /// Cancels a request: it has no more events.
    pub fn cancel(&mut self, number: u64) {
        if let Some(task) = self.requests.remove(&number) {
            task.abort();
            // The jobs of the request end with its task.
            let _context = self.runtime.enter();
            self.tasks.block_on(&self.runtime, yield_now());
        }
        self.events.borrow_mut().retain(|event| event.request != number);
    }

    /// Returns true if no request is in progress, so that there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Does a part of the work, such as a step of decoding for all sentences, and returns what is known since
    /// the last call. Explanations, vectors and the reading of a request are one part each.
    pub fn step(&mut self) -> Vec<EmbeddedEvent> {
        let _context = self.runtime.enter();
        self.tasks.block_on(&self.runtime, yield_now());
        self.workers.step();
        self.tasks.block_on(&self.runtime, yield_now());
        let events: Vec<_> = mem::take(&mut *self.events.borrow_mut()).into();
        for event in &events {
            if matches!(event.part, ResponsePart::End | ResponsePart::Failed) {
                self.requests.remove(&event.request);
            }
        }
        events
    }
}

/// Tells the end of a response when it is dropped, even if its task panics.
struct Ending {
    number: u64,
    events: Rc<RefCell<VecDeque<EmbeddedEvent>>>,
    part: ResponsePart,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let part = mem::replace(&mut self.part, ResponsePart::Failed);
        self.events.borrow_mut().push_back(EmbeddedEvent { request: self.number, part });
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use attentive_pipeline::{Pipeline, TranslateOptions};
    use hyper::header::{CONTENT_TYPE, HOST};
    use serde_json::{Value, json};

    use super::*;
    use crate::config::ServedModel;

    fn model() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/runs/transformer-post/run")
    }

    fn server() -> EmbeddedServer {
        EmbeddedServer::new(ServeConfig::new(vec![ServedModel::new("en-de", model())])).unwrap()
    }

    fn request(path: &str, body: &Value) -> Request<Body> {
        let request = Request::post(path).header(HOST, "localhost").header(CONTENT_TYPE, "application/json");
        request.body(Body::from(body.to_string())).unwrap()
    }

    /// The status and the body of the response to each request, once all are answered.
    fn answers(server: &mut EmbeddedServer, count: usize) -> Vec<(u16, String)> {
        let mut found = vec![(0, Vec::new()); count];
        while !server.is_idle() {
            for EmbeddedEvent { request, part } in server.step() {
                let (status, body) = &mut found[request as usize];
                match part {
                    ResponsePart::Head(head, _) => *status = head,
                    ResponsePart::Body(bytes) => body.extend_from_slice(&bytes),
                    ResponsePart::End => (),
                    ResponsePart::Failed => panic!("request {request} failed"),
                }
            }
        }
        found.into_iter().map(|(status, body)| (status, String::from_utf8(body).unwrap())).collect()
    }

    #[test]
    fn answers_are_those_of_the_pipeline() {
        let mut server = server();
        let lines = ["1 2 3 4 5", "9 8 7"].map(str::to_owned);
        let text = lines.join("\n");
        server.send(0, Request::get("/api/models").header(HOST, "localhost").body(Body::empty()).unwrap());
        server.send(1, request("/api/translate", &json!({"text": lines, "beam_width": 3})));
        server.send(2, request("/api/translate", &json!({"text": text, "stream": true})));
        server.send(3, request("/api/translate_file", &json!({"name": "a.html", "text": "<p>1 2</p>"})));
        server.send(4, request("/api/translate", &json!({"txt": "x"})));
        server.send(5, request("/v1/chat/completions", &json!({})));
        let [models, translated, streamed, file, wrong, _] = answers(&mut server, 6).try_into().unwrap();
        assert!(models.1.contains("\"en-de\""), "{models:?}");
        let translated: Value = serde_json::from_str(&translated.1).unwrap();
        let pipeline = Pipeline::load(model()).unwrap();
        let mut options = TranslateOptions::from(&pipeline.config().decode);
        options.search.strategy =
            attentive_decode::Strategy::beam(3, 1, pipeline.config().decode.early_stopping);
        let expected = pipeline.translate_lines(&lines, &options).unwrap();
        for (result, expected) in translated["results"].as_array().unwrap().iter().zip(expected) {
            assert_eq!(result["translations"][0]["text"], expected.hypotheses[0].text.as_str());
        }
        assert!(streamed.1.contains("event: result") && streamed.1.ends_with("event: done\ndata: {}\n\n"));
        assert!(file.0 == 200 && file.1.contains("<p>"), "{file:?}");
        assert!(wrong.0 == 422 && wrong.1.contains("missing field `text`"), "{wrong:?}");
    }

    #[test]
    fn what_is_canceled_has_no_more_events() {
        let mut server = server();
        let long = vec!["1 2 3 4 5 6"; 300];
        server.send(0, request("/api/translate", &json!({"text": long, "stream": true})));
        for _ in 0..5 {
            server.step();
        }
        server.cancel(0);
        assert!(server.is_idle());
        // A worker whose only jobs are canceled waits for nothing.
        for _ in 0..3 {
            assert!(server.step().is_empty());
        }
        server.send(1, request("/api/translate", &json!({"text": "1 2"})));
        let found = answers(&mut server, 2);
        assert_eq!((found[0].clone(), found[1].0), ((0, String::new()), 200));
        assert!(server.step().is_empty());
    }

    #[test]
    fn a_missing_model_is_an_error() {
        let config = ServeConfig::new(vec![ServedModel::new("en-de", "nowhere")]);
        assert!(EmbeddedServer::new(config).err().unwrap().to_string().contains("nowhere"));
    }
}
