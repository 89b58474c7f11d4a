//! The names by which requests may call the server.
//!
//! A web page can make a browser send requests to servers on the browser's own machine if the name of its site suddenly
//! resolves to the address 127.0.0.1 (DNS rebinding). The browser treats the answers as coming from the site, but it names the
//! site in `Host`.

use std::net::{IpAddr, SocketAddr};

use attentive_base::error::{Error, Result};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Uri, header};

use super::problem::{Kind, Problem};

/// The host name that stands for all.
const ANY: &str = "*";

/// The names by which requests may call the server.
#[derive(Debug)]
pub(super) enum Hosts {
    /// Any name is accepted.
    Any,
    /// Addresses, `localhost` and these names, in lower case, are accepted.
    Known(Vec<String>),
}

impl Hosts {
    /// The names in `allowed`. If there are none, any name, unless the server at `address`, given as `listen`, can only be
    /// reached from its own machine.
    pub(super) fn new(allowed: &[String], listen: &str, address: SocketAddr) -> Self {
        let is_local = address.ip().to_canonical().is_loopback();
        if allowed.iter().any(|name| name == ANY) || (allowed.is_empty() && !is_local) {
            return Self::Any;
        }
        let own = listen.rsplit_once(':').map(|(name, _)| name.to_owned());
        let names = allowed.iter().cloned().chain(own);
        Self::Known(names.map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Refuses a request that calls the server by a name that is not its own. A request without a name does not come from a
    /// browser.
    ///
    /// # Errors
    /// A [`Problem`] with the name.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let Self::Known(names) = self else {
            return Ok(());
        };
        let target = uri
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let header = headers.get_all(header::HOST).iter();
        let mut called = target
            .into_iter()
            .chain(header.map(|value| value.as_bytes()));
        match called.find(|called| !called.is_empty() && !is_known(names, called)) {
            None => Ok(()),
            Some(unknown) => {
                let unknown = String::from_utf8_lossy(unknown);
                let problem = format!("the host name `{unknown}` is not allowed");
                let hint = "use the server's IP address or `localhost`, or add this name to `allowed_hosts`";
                Err(Problem::new(Kind::Host, problem).hint(hint))
            }
        }
    }
}

/// Returns true if `called`, a host with or without a port, is an address or one of `names`.
fn is_known(names: &[String], called: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(called) else {
        return false;
    };
    let host = authority.host().to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_address = address.unwrap_or(host).parse::<IpAddr>().is_ok();
    let is_local = host == "localhost" || host.ends_with(".localhost");
    is_address || is_local || names.iter().any(|name| name == host)
}

/// Refuses invalid host names.
///
/// # Errors
/// [`Error::Usage`] for the first invalid name.
pub(super) fn check_names(names: &[String]) -> Result<()> {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(usable);
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

    fn allows(hosts: &Hosts, host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        hosts
            .check(&Uri::from_static("/translate"), &headers)
            .is_ok()
    }

    #[test]
    fn a_local_server_has_local_names() {
        let local = "127.0.0.1:8080".parse().unwrap();
        let hosts = Hosts::new(&[], "mybox:8080", local);
        for host in [
            "localhost",
            "localhost:9000",
            "LOCALHOST.",
            "a.localhost",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]:80",
            "192.168.0.7",
            "MyBox:8080",
        ] {
            assert!(allows(&hosts, host), "{host}");
        }
        for host in [
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com:8080",
            "notlocalhost",
            "a b",
            "localhost@example.com",
        ] {
            assert!(!allows(&hosts, host), "{host}");
        }
        let named = Hosts::new(&["Translate.example.com".into()], "127.0.0.1:1", local);
        assert!(allows(&named, "translate.example.com:443"));
        assert!(!allows(&named, "example.com"));
        assert!(allows(
            &Hosts::new(&["*".into()], "127.0.0.1:1", local),
            "a.b"
        ));
        let foreign = Uri::from_static("http://example.com/translate");
        assert!(hosts.check(&foreign, &HeaderMap::new()).is_err());
        assert!(
            hosts
                .check(&Uri::from_static("/"), &HeaderMap::new())
                .is_ok()
        );
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
