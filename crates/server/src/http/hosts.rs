//! The names by which requests may call the server.
//!
//! A web page can make a browser send requests to servers on the browser's own machine if the name of its
//! site suddenly resolves to the address 127.0.0.1 (DNS rebinding). The browser treats the answers as coming
//! from the site, but it names the site in `Host`.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use attentive_base::error::{Error, Result};
use axum::extract::Request;
use hyper::{Version, header};

use crate::problem::{Problem, ProblemKind};

/// The host name that stands for all.
const ANY: &str = "*";

/// The names by which requests may call the server.
#[derive(Debug)]
pub(crate) enum Hosts {
    /// Any name is accepted.
    Any,
    /// Addresses, `localhost` and these names, in lower case, are accepted.
    Known(Vec<String>),
}

impl Hosts {
    /// The names in `allowed`. If there are none, any name, unless the server at `address`, given as
    /// `listen`, can only be reached from its own machine.
    pub(crate) fn new(allowed: &[String], listen: &str, address: SocketAddr) -> Self {
        let is_local = address.ip().to_canonical().is_loopback();
        if allowed.iter().any(|name| name == ANY) || (allowed.is_empty() && !is_local) {
            return Self::Any;
        }
        let names = allowed.iter().cloned().chain(host_of(listen));
        Self::Known(names.map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Refuses a request that does not say, or says twice, by which name it calls the server (RFC 9112,
    /// section 3.2), and one that calls it by a name that is not its own.
    ///
    /// # Errors
    /// A [`Problem`] with the name.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Problem> {
        let malformed = |problem: &str| Err(Problem::new(ProblemKind::Malformed, problem));
        let mut headers = request.headers().get_all(header::HOST).iter();
        let header = match (headers.next(), headers.next()) {
            (Some(header), None) => Some(header.as_bytes()),
            (Some(_), Some(_)) => return malformed("the request has more than one `Host`"),
            (None, _) if request.version() < Version::HTTP_11 => None,
            (None, _) => return malformed("the request has no `Host`"),
        };
        let target = request.uri().authority().map(|name| name.as_str().as_bytes());
        for called in target.into_iter().chain(header) {
            let Some(host) = str::from_utf8(called).ok().and_then(host_of) else {
                let called = String::from_utf8_lossy(called);
                return malformed(&format!("`{called}` is not a host name"));
            };
            if let Self::Known(names) = self
                && !is_known(names, &host)
            {
                let problem = format!("the host name `{host}` is not allowed");
                let hint = "use the server's IP address or `localhost`, or add this name to `allowed_hosts`";
                return Err(Problem::new(ProblemKind::Host, problem).hint(hint));
            }
        }
        Ok(())
    }
}

/// The host of `called`, a name or an address with or without a port, in lower case; an address of IPv6 has
/// no brackets. `None` for anything else.
pub(crate) fn host_of(called: &str) -> Option<String> {
    let (host, port) = match called.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, port)
        }
        None => {
            let end = called.find(':').unwrap_or(called.len());
            let (name, port) = called.split_at(end);
            let name = name.strip_suffix('.').unwrap_or(name);
            (Some(name).filter(|name| is_name(name))?, port)
        }
    };
    let port = match port {
        "" => Some(""),
        port => port.strip_prefix(':'),
    };
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port = |port: &&str| port.is_empty() || is_number(port) && port.parse::<u16>().is_ok();
    port.filter(is_port).map(|_| host.to_ascii_lowercase())
}

/// Returns true if `host` is an address or one of `names`.
fn is_known(names: &[String], host: &str) -> bool {
    let is_address = host.parse::<IpAddr>().is_ok();
    let is_local = host == "localhost" || host.ends_with(".localhost");
    is_address || is_local || names.iter().any(|name| name == host)
}

/// True for the characters of names of hosts, of which there is at least one.
fn is_name(name: &str) -> bool {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.bytes().all(usable)
}

/// Refuses invalid host names.
///
/// # Errors
/// [`Error::Usage`] for the first invalid name.
pub(crate) fn check_names(names: &[String]) -> Result<()> {
    match names.iter().find(|name| *name != ANY && !is_name(name)) {
        None => Ok(()),
        Some(name) => Err(Error::usage(
            format!("`{name}` is not the name of a host"),
            "write it without scheme and port, as in `translate.example.com`; `*` allows all names",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request to `path` with these values of `Host`.
    fn request(path: &str, hosts: &[&str]) -> Request {
        let mut request = Request::new(axum::body::Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        for host in hosts {
            request.headers_mut().append(header::HOST, host.parse().unwrap());
        }
        request
    }

    fn allows(hosts: &Hosts, host: &str) -> bool {
        hosts.check(&request("/translate", &[host])).is_ok()
    }

    #[test]
    fn a_local_server_has_local_names() {
        let local = "127.0.0.1:8080".parse().unwrap();
        let hosts = Hosts::new(&[], "mybox:8080", local);
        for host in [
            "localhost",
            "localhost:",
            "localhost:9000",
            "LOCALHOST.",
            "a.localhost",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]",
            "[::1]:80",
            "192.168.0.7",
            "MyBox:8080",
        ] {
            assert!(allows(&hosts, host), "{host}");
        }
        for host in ["example.com", "localhost.example.com", "127.0.0.1.example.com:8080", "notlocalhost"] {
            let problem = hosts.check(&request("/", &[host])).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Host, "{host}");
        }
        let named = Hosts::new(&["Translate.example.com".into()], "127.0.0.1:1", local);
        assert!(allows(&named, "translate.example.com:443"));
        assert!(!allows(&named, "example.com"));
        assert!(allows(&Hosts::new(&["*".into()], "127.0.0.1:1", local), "a.b"));
        let foreign = request("http://example.com/translate", &["localhost"]);
        assert!(hosts.check(&foreign).is_err());
    }

    #[test]
    fn a_request_says_once_whom_it_calls() {
        let public = "0.0.0.0:8080".parse().unwrap();
        let hosts = Hosts::new(&[], "0.0.0.0:8080", public);
        for wrong in [
            "",
            "a b",
            "localhost@example.com",
            "localhost:99999",
            "localhost:+80",
            "localhost:80:80",
            "localhost:80a",
            "[::1].evil.example",
            "[::1]80",
            "[::1",
            "[localhost]",
            "::1",
            "a/b",
            "a?b",
            ":80",
        ] {
            let problem = hosts.check(&request("/", &[wrong])).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Malformed, "{wrong}");
        }
        assert!(hosts.check(&request("/", &[])).is_err());
        assert!(hosts.check(&request("/", &["a", "a"])).is_err());
        let mut old = request("/", &[]);
        *old.version_mut() = Version::HTTP_10;
        hosts.check(&old).unwrap();
    }

    #[test]
    fn a_public_server_has_any_name_unless_told_otherwise() {
        let public = "0.0.0.0:8080".parse().unwrap();
        assert!(allows(&Hosts::new(&[], "0.0.0.0:8080", public), "a.b"));
        let named = Hosts::new(&["a.b".into()], "0.0.0.0:8080", public);
        assert!(allows(&named, "a.b") && !allows(&named, "c.d"));
    }

    #[test]
    fn names_are_names() {
        check_names(&["*".into(), "a.b-c".into(), "my_box".into()]).unwrap();
        for name in ["", "http://a", "a:80", "a/b", "ä.de", "*.a.de"] {
            assert!(check_names(&[name.to_owned()]).is_err(), "{name}");
        }
    }
}
