//! The requests that are sent, and the check of their answers.

use std::error::Error;

use serde_json::Value;

use crate::http::{Response, Target};

/// The body of each request and its answer.
pub(crate) struct Exchange {
    bodies: Vec<String>,
    expected: Option<Vec<String>>,
    /// JSON pointer to the translation.
    pointer: String,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The expected answer, or any answer if none is expected.
    Right(String),
    /// Another answer.
    Wrong { line: usize, found: String },
    /// The server is overloaded (429, 503).
    Refused,
    /// Any other status.
    Status(u16),
    /// There was no response in time.
    Unanswered,
    /// The connection broke.
    Broken(String),
}

impl Exchange {
    pub(crate) fn new(
        lines: &[String],
        expected: Option<Vec<String>>,
        body: &str,
        pointer: &str,
    ) -> Result<Self, Box<dyn Error>> {
        if let Some(expected) = &expected
            && expected.len() != lines.len()
        {
            return Err(format!("{} lines, {} answers", lines.len(), expected.len()).into());
        }
        if !body.contains("\"LINE\"") {
            return Err("the body has no place for the text, \"LINE\"".into());
        }
        let fill = |line: &String| body.replace("\"LINE\"", &Value::from(line.as_str()).to_string());
        Ok(Self { bodies: lines.iter().map(fill).collect(), expected, pointer: pointer.to_owned() })
    }

    /// The number of the line that request `number` sends.
    pub(crate) fn line(&self, number: usize) -> usize {
        number % self.bodies.len()
    }

    /// The bytes of the request for a line.
    pub(crate) fn request(&self, target: &Target, line: usize) -> Vec<u8> {
        target.request(&self.bodies[line])
    }

    /// Judges the response to a line.
    pub(crate) fn judge(&self, line: usize, response: &Response) -> Verdict {
        match response.status {
            200 => {}
            429 | 503 => return Verdict::Refused,
            status => return Verdict::Status(status),
        }
        let json: Option<Value> = serde_json::from_slice(&response.body).ok();
        let text = json.as_ref().and_then(|json| json.pointer(&self.pointer)?.as_str());
        let expected = self.expected.as_ref().map(|expected| expected[line].as_str());
        match (text, expected) {
            (Some(text), None) => Verdict::Right(text.to_owned()),
            (Some(text), Some(expected)) if text == expected => Verdict::Right(String::new()),
            _ => Verdict::Wrong { line, found: String::from_utf8_lossy(&response.body).into_owned() },
        }
    }
}
