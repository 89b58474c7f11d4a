//! JSON with one line for each token, merge and setting.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Values in more lists and objects than this share a line.
const DEPTH: usize = 3;

/// `document` as text. A vocabulary takes half of the bytes, and of the time of reading, that it takes if
/// every string of a merge has a line of its own.
pub(super) fn text(document: &Value) -> String {
    let mut text = Vec::new();
    let mut out = Serializer::with_formatter(&mut text, Lines::default());
    document.serialize(&mut out).expect("a value can be written to memory");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// The place of a value in a document.
#[derive(Default)]
struct Lines {
    /// The lists and objects around it.
    depth: usize,
    /// True if the innermost one is empty so far.
    is_empty: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth < DEPTH && !self.is_empty {
            self.line(out)?;
        }
        self.is_empty = false;
        out.write_all(bracket)
    }

    fn item<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        self.is_empty = false;
        if self.depth <= DEPTH { self.line(out) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b" "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merges_take_a_line_each() {
        let document = json!({
            "model": {"vocab": {"a": 0, "b": 1}, "merges": [["a", "b"], ["ab", "\n"]], "rest": []},
            "decoder": null,
        });
        let expected = "{\n \"model\": {\n  \"vocab\": \
                        {\n   \"a\": 0,\n   \"b\": 1\n  },\n  \"merges\": [\n   [\"a\",\"b\"],\n   \
                        [\"ab\",\"\\n\"]\n  ],\n  \"rest\": []\n },\n \"decoder\": null\n}\n";
        let text = text(&document);
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
