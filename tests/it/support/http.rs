//! A small HTTP client that does exactly what it is told, even if that is wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No test waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(300);

/// Time for an answer that may not come.
const MOMENT: Duration = Duration::from_millis(500);

/// A connection that is kept alive.
pub(crate) struct Connection(BufReader<TcpStream>);

/// A response, whose body has been read, or has not.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of a response that must have `status`.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends `bytes`; false if the server has closed the connection.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// Sends a request.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> bool {
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        self.send(head + body)
    }

    /// The head of the next response; `None` if there is none.
    pub(crate) fn head(&mut self) -> Option<Reply> {
        let status = self.line()?;
        let status = status.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Some(Reply { status, headers, body: String::new() })
    }

    /// The next response; `None` if there is none.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        let mut reply = self.head()?;
        let length = reply.header("content-length").map(|value| value.parse().unwrap());
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.0.read_exact(&mut body).ok()?;
            }
            None => {
                while let Some(chunk) = self.chunk() {
                    body.extend(chunk);
                }
            }
        }
        reply.body = String::from_utf8(body).unwrap();
        Some(reply)
    }

    /// The next chunk of a chunked body; `None` at its end, or if the connection breaks off.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line()?, 16).ok()?;
        let mut chunk = vec![0; length];
        self.0.read_exact(&mut chunk).ok()?;
        self.line()?;
        (length > 0).then_some(chunk)
    }

    /// Sends `bytes`, says that nothing follows, and returns all that comes back.
    pub(crate) fn last_words(mut self, bytes: &[u8]) -> String {
        let mut answer = Vec::new();
        // The server may have closed the connection in the middle.
        if self.send(bytes) && self.0.get_ref().shutdown(Shutdown::Write).is_ok() {
            let _ = self.0.read_to_end(&mut answer);
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Whether the next response has `status`, and does not take longer than a moment.
    pub(crate) fn is_refused(&mut self, status: u16) -> bool {
        let stream = self.0.get_ref();
        stream.set_read_timeout(Some(MOMENT)).unwrap();
        self.reply().is_some_and(|reply| reply.status == status)
    }

    /// Whether the server has closed the connection, or does so without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.0.read(&mut [0]).map_or(true, |read| read == 0)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// The response to a request on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    let mut connection = Connection::open(address);
    assert!(connection.ask("GET", path, "", ""));
    connection.reply().unwrap()
}

/// The response to JSON on a connection of its own.
pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Reply {
    post_with(address, path, "", &body.to_string())
}

/// The response to a body with further headers, each of which ends with a line break.
pub(crate) fn post_with(address: SocketAddr, path: &str, headers: &str, body: &str) -> Reply {
    let kind = if headers.to_ascii_lowercase().contains("content-type") {
        String::new()
    } else {
        "Content-Type: application/json\r\n".to_owned()
    };
    let mut connection = Connection::open(address);
    connection.ask("POST", path, &(kind + headers), body);
    connection.reply().unwrap()
}

/// The response to a form.
pub(crate) fn post_form(address: SocketAddr, path: &str, form: &str) -> Reply {
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    post_with(address, path, kind, form)
}

/// The events of a stream: the name, which may be empty, and the data.
pub(crate) fn events(body: &str) -> Vec<(String, String)> {
    let blocks = body.split("\n\n").filter(|block| !block.is_empty());
    let field = |block: &str, name: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix(name));
        lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
    };
    let events = blocks.map(|block| (field(block, "event:"), field(block, "data:")));
    events.filter(|(_, data)| !data.is_empty()).collect()
}
