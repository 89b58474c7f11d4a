//! The part of HTTP/1.1 that a client of one server needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The server and path of the requests.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    address: SocketAddr,
    host: String,
    path: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("the URL must begin with `http://`")?;
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) => (host, format!("/{path}")),
            None => (rest, "/".to_owned()),
        };
        let unknown = || format!("`{host}` is not an address and a port");
        let mut addresses = host.to_socket_addrs().map_err(|error| format!("{}: {error}", unknown()))?;
        Ok(Self { address: addresses.next().ok_or_else(unknown)?, host: host.to_owned(), path })
    }
}

impl Target {
    /// The bytes of a request with this JSON body.
    pub(crate) fn request(&self, body: &str) -> Vec<u8> {
        let Self { host, path, .. } = self;
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: \
             {length}\r\n\r\n"
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection that is opened when it is first needed, and again after an error.
#[derive(Debug)]
pub(crate) struct Connection {
    target: Target,
    stream: Option<BufReader<TcpStream>>,
}

impl Connection {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, stream: None }
    }

    /// Sends `request` and waits for the response until `deadline`.
    pub(crate) fn exchange(&mut self, request: &[u8], deadline: Instant) -> io::Result<Response> {
        let mut stream = match self.stream.take() {
            // The server may have closed an idle connection.
            Some(stream) if is_open(&stream) => stream,
            _ => self.open(deadline)?,
        };
        let limit = Some(left(deadline)?);
        stream.get_ref().set_write_timeout(limit)?;
        stream.get_mut().write_all(request)?;
        let (response, is_kept) = read(&mut stream, deadline)?;
        self.stream = is_kept.then_some(stream);
        Ok(response)
    }

    fn open(&self, deadline: Instant) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.target.address, left(deadline)?)?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }
}

fn is_open(stream: &BufReader<TcpStream>) -> bool {
    let socket = stream.get_ref();
    let mut byte = [0];
    let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut byte));
    let would_wait = peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    would_wait && socket.set_nonblocking(false).is_ok()
}

/// The time left until `deadline`.
fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Reads a response. Also returns true if the connection can be used again.
fn read(stream: &mut BufReader<TcpStream>, deadline: Instant) -> io::Result<(Response, bool)> {
    let status_line = line(stream, deadline)?;
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| broken("no status"))?;
    let (mut length, mut is_chunked, mut is_kept) = (None, false, true);
    loop {
        let line = line(stream, deadline)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok(),
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => is_kept = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let size = usize::from_str_radix(line(stream, deadline)?.trim(), 16);
            let size = size.map_err(|_| broken("no size of a chunk"))?;
            bytes(stream, size, deadline, &mut body)?;
            line(stream, deadline)?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length = length.ok_or_else(|| broken("no length"))?;
        bytes(stream, length, deadline, &mut body)?;
    }
    Ok((Response { status, body }, is_kept))
}

/// Reads a line, and returns it without its end.
fn line(stream: &mut BufReader<TcpStream>, deadline: Instant) -> io::Result<String> {
    stream.get_ref().set_read_timeout(Some(left(deadline)?))?;
    let mut text = String::new();
    match stream.read_line(&mut text)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(text.trim_end().to_owned()),
    }
}

fn bytes(
    stream: &mut BufReader<TcpStream>,
    count: usize,
    deadline: Instant,
    to: &mut Vec<u8>,
) -> io::Result<()> {
    stream.get_ref().set_read_timeout(Some(left(deadline)?))?;
    let start = to.len();
    to.resize(start + count, 0);
    stream.read_exact(&mut to[start..])
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the response has {what}"))
}
