//! The endpoints in documents are those of the server.

use std::collections::BTreeMap;

use crate::support::http::get;
use crate::support::markdown::Page;
use crate::support::pages::{Mistakes, page, present};
use crate::support::serving::{Running, config};
use crate::support::shell::{commands, lines};

/// The page on the server.
const PAGE: &str = "docs/serving.md";

/// Beginnings of paths that are files, not endpoints.
const FILES: [&str; 7] = ["/bin", "/etc", "/models", "/scratch", "/srv", "/tmp", "/usr"];

/// The methods of each path, in lower case.
type Endpoints = BTreeMap<String, Vec<String>>;

/// What the server says that it can be asked.
fn endpoints() -> Endpoints {
    let server = Running::start(config());
    let described = get(server.address, "/openapi.json").expect(200);
    let paths = described["paths"].as_object().unwrap().iter();
    let methods = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect();
    let mut endpoints: Endpoints = paths.map(|(path, value)| (nameless(path), methods(value))).collect();
    for path in ["/", "/openapi.json", "/spec"] {
        assert_eq!(get(server.address, path).status, 200, "{path}");
        endpoints.entry(path.to_owned()).or_insert_with(|| vec!["get".to_owned()]);
    }
    endpoints
}

/// `path` without the names of its parameters, so that `/v1/models/{id}` and `/v1/models/{model}` are the
/// same.
fn nameless(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// What is wrong with `path` and its method, if anything.
fn mistake(endpoints: &Endpoints, method: Option<&str>, path: &str) -> Option<String> {
    let path = &nameless(path.split(['?', '#']).next().unwrap_or_default());
    let paths = || endpoints.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    // `/api/...` and `/v1` stand for all that begin so.
    let group = path.trim_end_matches(['.', '…']).trim_end_matches('/');
    if method.is_none()
        && !group.is_empty()
        && endpoints.keys().any(|known| known.starts_with(&format!("{group}/")))
    {
        return None;
    }
    let Some(methods) = endpoints.get(path) else {
        return Some(format!("there is no endpoint `{path}`; there are {}", paths()));
    };
    let method = method.unwrap_or("get").to_ascii_lowercase();
    let is_known = methods.contains(&method);
    (!is_known).then(|| format!("`{path}` takes {}, not {method}", methods.join(", ")))
}

/// Method and path of an endpoint in `code`, such as `POST /translate`.
fn endpoint(code: &str) -> Option<(Option<&str>, &str)> {
    if code.starts_with('/') && !code.contains(' ') && !FILES.iter().any(|file| code.starts_with(file)) {
        return Some((None, code));
    }
    let (method, path) = code.split_once(' ')?;
    let is_method = ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method);
    (is_method && path.starts_with('/')).then_some((Some(method), path))
}

/// Method and path that a call of `curl` asks for, if it asks a server on this machine.
fn asked(words: &[String]) -> Option<(&str, String)> {
    if words.first()? != "curl" {
        return None;
    }
    let url = words.iter().find_map(|word| {
        let rest = word.trim_start_matches("http://");
        let rest = rest.strip_prefix("localhost:").or_else(|| rest.strip_prefix("127.0.0.1:"))?;
        Some(rest.trim_start_matches(|digit: char| digit.is_ascii_digit()))
    })?;
    let chosen = words.iter().position(|word| word == "-X").and_then(|at| words.get(at + 1));
    let has_body = words
        .iter()
        .any(|word| ["-d", "--data", "--data-urlencode", "--json", "-F"].contains(&word.as_str()));
    let method = chosen.map_or(if has_body { "post" } else { "get" }, String::as_str);
    Some((method, if url.is_empty() { "/".to_owned() } else { url.to_owned() }))
}

fn check(endpoints: &Endpoints, page: &Page, mistakes: &mut Mistakes) {
    for line in page.blocks.iter().flat_map(lines) {
        for words in commands(&line.text) {
            let wrong = asked(&words).and_then(|(method, path)| mistake(endpoints, Some(method), &path));
            if let Some(wrong) = wrong {
                mistakes.add(&page.name, line.number, wrong);
            }
        }
    }
    for code in page.codes.iter().filter(|_| page.name == PAGE) {
        let Some((method, path)) = endpoint(&code.text) else {
            continue;
        };
        // A path alone may be of any method.
        let any = endpoints.get(&nameless(path)).and_then(|methods| methods.first()).map(String::as_str);
        if let Some(wrong) = mistake(endpoints, method.or(any), path) {
            mistakes.add(&page.name, code.line, wrong);
        }
    }
}

#[test]
fn endpoints_in_documents_exist_and_all_are_documented() {
    let endpoints = endpoints();
    let mut mistakes = Mistakes::default();
    for page in present() {
        check(&endpoints, &page, &mut mistakes);
    }
    let serving = page(PAGE);
    for path in endpoints.keys() {
        let mut named = serving.codes.iter().filter_map(|code| endpoint(&code.text));
        // The address alone is the server's page.
        if path != "/" && !named.any(|(_, named)| nameless(named) == *path) {
            mistakes.add_at(PAGE, format!("`{path}` is not described: add it to a table of endpoints"));
        }
    }
    mistakes.none();
}

#[test]
fn wrong_endpoints_are_noticed() {
    let endpoints = endpoints();
    let count = |text: &str| {
        let page = Page::parse(PAGE, text);
        let mut mistakes = Mistakes::default();
        check(&endpoints, &page, &mut mistakes);
        mistakes.count()
    };
    assert_eq!(count("`POST /translat`, `GET /translate`, `/reedyz`, `/v4/...`"), 4);
    assert_eq!(
        count("```sh\ncurl -s localhost:8080/translatte -d q=x\ncurl localhost:8080/translate\n```\n"),
        2
    );
    let right = "`POST /translate`, `/readyz`, `/api/...`, `/v1`, `/etc/x`\n\n```sh\ncurl -s \
                 localhost:8080/translate -d q=x\n```\n";
    assert_eq!(count(right), 0);
}
