//! Keys and identities of clients.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_pipeline::service::Client;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::problem::{Problem, ProblemKind};

/// The maximum size of a file of keys, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 16 << 20;

/// The SHA-256 of every key. The keys themselves are discarded as soon as they are read.
#[derive(Clone, Default)]
pub(crate) struct ApiKeys(Vec<[u8; 32]>);

impl ApiKeys {
    /// Reads a file with a key on each line; blank lines and lines that begin with `#` are comments.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] for a file that is too large or has no keys; [`Error::Line`] for a key
    /// that no client can send in a header.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = regular_file::read_text(path, MAX_KEY_FILE_BYTES)?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let key = line.trim();
            if key.is_empty() || key.starts_with('#') {
                continue;
            }
            if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                let problem = "a key has letters, digits and punctuation of ASCII only, since clients send \
                               it in a header";
                return Err(Error::line(path, number + 1, problem));
            }
            keys.push(Sha256::digest(key).into());
        }
        if keys.is_empty() {
            return Err(Error::data(
                format!("`{}` contains no keys", path.display()),
                "write one key per line",
            ));
        }
        Ok(Self(keys))
    }

    /// The clients with these keys.
    pub(crate) fn clients(&self) -> HashSet<Client> {
        self.0.iter().map(client_of).collect()
    }

    /// Returns the client with `key`. Every key is compared, in constant time.
    ///
    /// # Errors
    /// A [`Problem`] if `key` is missing or unknown.
    pub(crate) fn client(&self, key: Option<&str>) -> Result<Client, Problem> {
        let Some(key) = key else {
            return Err(Problem::new(ProblemKind::NoKey, "this server needs an API key"));
        };
        let digest: [u8; 32] = Sha256::digest(key).into();
        let same = |known: &[u8; 32]| known.ct_eq(&digest);
        let known = self.0.iter().map(same).fold(Choice::from(0), |any, one| any | one);
        if !bool::from(known) {
            return Err(Problem::new(ProblemKind::WrongKey, "this API key is unknown"));
        }
        Ok(client_of(&digest))
    }
}

/// The client whose key has this SHA-256.
fn client_of(digest: &[u8; 32]) -> Client {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    Client(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
}

/// The key in the header `Authorization`, after `Bearer` or `DeepL-Auth-Key`.
pub(crate) fn key_of(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let known = ["bearer", "deepl-auth-key"];
    let is_known = known.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    is_known.then(|| key.trim())
}

/// Distinguishes clients without keys by their address; those that share an IPv6 network of 64 bits count as
/// one.
#[derive(Debug, Default)]
pub(crate) struct Peers(RandomState);

impl Peers {
    pub(crate) fn client(&self, address: IpAddr) -> Client {
        Client(match address.to_canonical() {
            IpAddr::V4(address) => self.0.hash_one(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                self.0.hash_one([a, b, c, d])
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn keys(text: &str) -> Result<ApiKeys> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, text).unwrap();
        ApiKeys::read(&path)
    }

    #[test]
    fn known_keys_are_clients() {
        let keys = keys("# two keys\nfirst\n\n  second \n").unwrap();
        let first = keys.client(Some("first")).unwrap();
        assert_ne!(first, keys.client(Some("second")).unwrap());
        assert_eq!(first, keys.client(Some("first")).unwrap());
        for (key, kind) in [
            (None, ProblemKind::NoKey),
            (Some(""), ProblemKind::WrongKey),
            (Some("firs"), ProblemKind::WrongKey),
            (Some("# two keys"), ProblemKind::WrongKey),
        ] {
            assert_eq!(keys.client(key).unwrap_err().kind, kind, "{key:?}");
        }
    }

    #[test]
    fn a_file_without_keys_is_refused() {
        assert!(keys("\n# none\n").is_err());
    }

    #[test]
    fn keys_that_no_header_can_carry_are_refused() {
        for text in ["plain\n# schlüssel\nschlüssel\n", "plain\n\na\tb"] {
            let Err(error) = keys(text) else {
                panic!("{text:?} was accepted");
            };
            assert!(error.to_string().contains("line 3"), "{error}");
        }
        let keys = keys("\u{FEFF}first key\r\n").unwrap();
        assert!(keys.client(Some("first key")).is_ok());
    }

    #[test]
    fn keys_are_found_behind_known_schemes() {
        let found = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            key_of(&headers).map(str::to_owned)
        };
        assert_eq!(found("Bearer k").as_deref(), Some("k"));
        assert_eq!(found("DeepL-Auth-Key k").as_deref(), Some("k"));
        assert_eq!(found("bearer  k").as_deref(), Some("k"));
        assert_eq!(found("Basic k"), None);
        assert_eq!(found("k"), None);
    }

    #[test]
    fn a_network_is_one_client() {
        let peers = Peers::default();
        let client = |address: &str| peers.client(address.parse().unwrap());
        assert_eq!(client("127.0.0.1"), client("::ffff:127.0.0.1"));
        assert_ne!(client("127.0.0.1"), client("127.0.0.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::2"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    }
}
