//! The calls of OpenAI's API that `docs/openai.md` lists do what it says.

use std::net::SocketAddr;

use serde_json::Value;

use crate::support::http::{Reply, get, post};
use crate::support::pages::page;
use crate::support::serving::{Running, config};

/// A row of the tables.
struct Call {
    /// The code of its first cell.
    code: String,
    status: u16,
    effect: String,
}

impl Call {
    /// The call of `line`, if that is a row of a table.
    fn of(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
        let [code, status, effect] = cells[..] else { return None };
        let code = code.strip_suffix('`')?.to_owned();
        Some(Self { code, status: status.parse().ok()?, effect: effect.to_owned() })
    }

    /// The answer; `table` is the path of the table, and the fields of all its calls.
    fn make(&self, address: SocketAddr, table: Option<&(String, Value)>) -> Reply {
        if let Some(path) = self.code.strip_prefix("GET ") {
            return get(address, path);
        }
        if let Some(path) = self.code.strip_prefix("POST ") {
            return post(address, path, &Value::Object(serde_json::Map::new()));
        }
        let (path, fields) = table.expect("a path and fields above the table");
        let mut body = fields.clone();
        let own: Value =
            serde_json::from_str(&self.code).unwrap_or_else(|error| panic!("{}: {error}", self.code));
        body.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        post(address, path, &body)
    }
}

/// The path and the fields in a text such as "`POST /path` with `{…}`:".
fn table_of(text: &str) -> Option<(String, Value)> {
    let (path, fields) = text.strip_prefix("`POST ")?.split_once("` with")?;
    let fields = fields.trim().strip_prefix('`')?.strip_suffix("`:")?;
    Some((path.to_owned(), serde_json::from_str(fields).unwrap()))
}

#[test]
fn calls_of_openai_do_what_the_page_says() {
    let server = Running::start(config());
    let text = page("docs/openai.md").text;
    let (mut made, mut wrong) = (0, Vec::new());
    let mut table = None;
    for paragraph in text.split("\n\n") {
        table = table_of(&paragraph.replace('\n', " ")).or(table);
        if paragraph.starts_with('#') {
            table = None;
        }
        for call in paragraph.lines().filter_map(Call::of) {
            made += 1;
            let reply = call.make(server.address, table.as_ref());
            let message = || reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
            let is_right =
                reply.status == call.status && (reply.status < 400 || message().contains(&call.effect));
            if !is_right {
                wrong.push(format!("{} {}: {} {}", call.code, call.status, reply.status, reply.body));
            }
        }
    }
    assert!(made >= 50, "only {made} calls found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
