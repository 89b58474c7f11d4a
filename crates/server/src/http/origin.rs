//! Requests that a browser sends for a page of another site.
//!
//! A page can make a browser send a form, or a body without a type, to any server without asking the user,
//! and a server without keys would obey. The browser says for which site it does so. APIs that require JSON
//! need no check: for JSON, the browser asks the server first (Fetch standard, section 3.3).

use axum::extract::Request;
use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::{HeaderMap, Method};

use crate::api::Api;
use crate::problem::{Problem, ProblemKind};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request to an API that accepts forms if it may change something and comes from a page of another
/// site. LibreTranslate's API is open to all pages.
///
/// # Errors
/// A [`Problem`] with the site.
pub(crate) fn check(api: Api, request: &Request) -> Result<(), Problem> {
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    match foreign(request.headers()) {
        Some(site) if api == Api::DeepL && !is_safe => {
            let problem = format!("the request comes from a page of another site ({site})");
            Err(Problem::new(ProblemKind::Origin, problem)
                .hint("only programs and the server's own page may use this API"))
        }
        _ => Ok(()),
    }
}

/// The other site whose page sent a request with these headers. Extensions of browsers are not sites: no page
/// can send their origin.
fn foreign(headers: &HeaderMap) -> Option<String> {
    let text = |name| {
        headers.get(name).map(|value: &hyper::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase()
        })
    };
    if let Some(origin) = text(ORIGIN) {
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_page = site.is_some() || !origin.contains("://");
        return Some(origin.clone()).filter(|_| is_page && site != text(HOST).as_deref());
    }
    text(FETCH_SITE).filter(|site| ["cross-site", "same-site"].contains(&site.as_str()))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().method(method).header("host", "localhost:8080");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        for headers in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "http://localhost:8081")],
            &[("origin", "http://localhost")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")],
        ] {
            for method in ["POST", "DELETE", "PUT", "PATCH"] {
                let problem = check(Api::DeepL, &request(method, headers)).unwrap_err();
                assert_eq!(problem.kind, ProblemKind::Origin, "{method} {headers:?}");
            }
            check(Api::DeepL, &request("GET", headers)).unwrap();
            check(Api::LibreTranslate, &request("POST", headers)).unwrap();
        }
    }

    #[test]
    fn programs_own_pages_and_extensions_are_served() {
        for headers in [
            &[][..],
            &[("origin", "http://localhost:8080")],
            &[("origin", "https://LOCALHOST:8080")],
            &[("origin", "moz-extension://0f0a")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "same-origin")],
        ] {
            check(Api::DeepL, &request("POST", headers)).unwrap();
        }
    }
}
