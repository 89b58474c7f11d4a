//! The part of YAML that Marian writes: one mapping of scalars and of lists of scalars. JSON can be read,
//! too.
//!
//! Vocabularies contain characters that full YAML parsers refuse, such as control characters, so only line
//! feeds end lines.

use serde_json::{Map, Number, Value};

/// Parses the mapping in `text`, or describes what is wrong with it.
pub(super) fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.split('\n')) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let read = reader.read(line);
        read.map_err(|problem| format!("line {number} {problem}"))?;
    }
    Ok(reader.read_so_far)
}

#[derive(Default)]
struct Reader {
    read_so_far: Map<String, Value>,
    /// The key whose value is on the following lines.
    open: Option<String>,
}

impl Reader {
    fn read(&mut self, line: &str) -> Result<(), String> {
        let content = line.trim_matches([' ', '\t']);
        let is_nothing = content.is_empty() || content.starts_with('#');
        if is_nothing || ["---", "..."].contains(&line) {
            return Ok(());
        }
        let item = content.strip_prefix("- ").or((content == "-").then_some(""));
        match (item, line.starts_with([' ', '\t'])) {
            (Some(item), _) => self.add_item(scalar(item.trim())?),
            (None, true) => self.set_open(value(content)?),
            (None, false) => self.add_key(content),
        }
    }

    fn add_key(&mut self, content: &str) -> Result<(), String> {
        let (key, rest) = key(content)?;
        let rest = without_comment(rest);
        let value = match rest {
            "" => Value::Null,
            _ => value(rest)?,
        };
        self.open = rest.is_empty().then(|| key.clone());
        match self.read_so_far.insert(key.clone(), value) {
            None => Ok(()),
            Some(_) => Err(format!("repeats the key `{key}`")),
        }
    }

    fn add_item(&mut self, item: Value) -> Result<(), String> {
        let open = self.value_of_open();
        let list = open.ok_or("has an item that belongs to no key")?;
        match list {
            Value::Null => *list = Value::Array(vec![item]),
            Value::Array(items) => items.push(item),
            _ => return Err("has an item behind a value".into()),
        }
        Ok(())
    }

    fn set_open(&mut self, value: Value) -> Result<(), String> {
        match self.value_of_open() {
            Some(open @ Value::Null) => *open = value,
            _ => return Err("is indented, but continues nothing".into()),
        }
        Ok(())
    }

    fn value_of_open(&mut self) -> Option<&mut Value> {
        self.read_so_far.get_mut(self.open.as_ref()?)
    }
}

/// Returns the key at the beginning of a line, and the text after its colon.
fn key(line: &str) -> Result<(String, &str), String> {
    let (key, rest) = match line.as_bytes() {
        [b'"', ..] => double_quoted(line)?,
        [b'\'', ..] => single_quoted(line)?,
        _ => {
            let colons = line.match_indices(':').map(|(at, _)| at);
            let ends = |at: &usize| line[at + 1..].is_empty() || line[at + 1..].starts_with(' ');
            let at = { colons }.find(ends).ok_or("has no colon and a blank after a key")?;
            (line[..at].trim_end().to_owned(), &line[at..])
        }
    };
    let rest = rest.trim_start().strip_prefix(':');
    Ok((key, rest.ok_or("has no colon after a key")?.trim()))
}

/// A scalar or `[a, b]`.
fn value(text: &str) -> Result<Value, String> {
    let text = without_comment(text);
    let Some(items) = text.strip_prefix('[') else {
        return scalar(text);
    };
    let items = items.strip_suffix(']').ok_or("has a list without an end")?;
    let items = items.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty()).map(scalar);
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

fn scalar(text: &str) -> Result<Value, String> {
    let (quoted, rest) = match text.as_bytes() {
        [b'"', ..] => double_quoted(text)?,
        [b'\'', ..] => single_quoted(text)?,
        [b'&' | b'*' | b'!' | b'|' | b'>' | b'{' | b'[', ..] => {
            return Err(format!("has the value `{text}`, which is not supported"));
        }
        _ if text.contains(": ") => return Err("has a mapping as a value".into()),
        _ => return Ok(plain(without_comment(text))),
    };
    match without_comment(rest.trim()) {
        "" => Ok(Value::String(quoted)),
        _ => Err("has something after a quoted text".into()),
    }
}

fn plain(text: &str) -> Value {
    let number = || {
        let whole = text.parse::<i64>().ok().map(Number::from);
        whole.or_else(|| Number::from_f64(text.parse().ok()?))
    };
    match text {
        "" | "~" | "null" => Value::Null,
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        _ => number().map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// Returns `text` up to a comment. A quoted text is left as it is.
fn without_comment(text: &str) -> &str {
    match text.as_bytes() {
        [b'#', ..] => "",
        [b'"' | b'\'', ..] => text,
        _ => text.split_once(" #").map_or(text, |(before, _)| before.trim_end()),
    }
}

/// Returns the text in the quotes at the beginning of `text`, and the text after them.
fn single_quoted(text: &str) -> Result<(String, &str), String> {
    let mut found = String::new();
    let mut rest = &text[1..];
    loop {
        let (part, after) = rest.split_once('\'').ok_or("has a quoted text without an end")?;
        found.push_str(part);
        match after.strip_prefix('\'') {
            None => return Ok((found, after)),
            Some(after) => {
                found.push('\'');
                rest = after;
            }
        }
    }
}

/// Returns the text in the quotes at the beginning of `text`, and the text after them.
fn double_quoted(text: &str) -> Result<(String, &str), String> {
    let mut found = String::new();
    let mut chars = text[1..].chars();
    loop {
        match chars.next().ok_or("has a quoted text without an end")? {
            '"' => return Ok((found, chars.as_str())),
            '\\' => found.push(escaped(&mut chars)?),
            other => found.push(other),
        }
    }
}

/// The character that the escape sequence before `chars` stands for.
fn escaped(chars: &mut std::str::Chars<'_>) -> Result<char, String> {
    let letter = chars.next().ok_or("ends in an escape sequence")?;
    let digits = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return named_escape(letter),
    };
    let code = chars.as_str().get(..digits);
    let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
    let found = code.and_then(char::from_u32).ok_or("has a wrong escape sequence")?;
    chars.nth(digits - 1);
    Ok(found)
}

fn named_escape(letter: char) -> Result<char, String> {
    Ok(match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => letter,
        other => return Err(format!("has the unknown escape sequence `\\{other}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Value {
        Value::Object(mapping(text).unwrap())
    }

    #[test]
    fn descriptions_are_read() {
        let text = "# a comment\ntype: transformer\nheads: 8 # of each layer\nratio: 0.5\ntied: true\nempty: \
                    \"\"\n\
            sizes:\n  - 32\n  - 64\nnone:\n  []\nflat: [a, 2]\nlist:\n- x\n- 'y'\nlast: \n";
        let expected = json!({
            "type": "transformer", "heads": 8, "ratio": 0.5, "tied": true, "empty": "", "sizes": [32, 64], "none": [],
            "flat": ["a", 2], "list": ["x", "y"], "last": null,
        });
        assert_eq!(read(text), expected);
        assert_eq!(read("{\"a\": 1}"), json!({"a": 1}));
        assert_eq!(read("---\na: 1\r\n"), json!({"a": 1}));
    }

    #[test]
    fn keys_are_any_tokens() {
        let text = "</s>: 0\n<unk>: 1\n▁a:b: 2\n\"\\\"\": 3\n'it''s': 4\n\"-\": 5\n\"\\x85\\u2028\\t\": \
                    6\n-x: 7\n\"a\": 8\n\
            \u{1}: 9\n\":\": 10\ntrue: 11\n12: 12\n";
        let expected = json!({
            "</s>": 0, "<unk>": 1, "▁a:b": 2, "\"": 3, "it's": 4, "-": 5, "\u{85}\u{2028}\t": 6, "-x": 7, "a": 8,
            "\u{1}": 9, ":": 10, "true": 11, "12": 12,
        });
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let problem = |text: &str| mapping(text).unwrap_err();
        assert_eq!(problem("a: 1\na: 2"), "line 2 repeats the key `a`");
        assert!(problem("no key").contains("line 1 has no colon"));
        assert!(problem("- 1").contains("belongs to no key"));
        assert!(problem("a: 1\n  - 2").contains("belongs to no key"));
        assert!(problem("a:\n  b: 1").contains("a mapping as a value"));
        assert!(problem("a:\n  b\n  c").contains("continues nothing"));
        assert!(problem("a: &x 1").contains("not supported"));
        assert!(problem("a: |").contains("not supported"));
        assert!(problem("\"a: 1").contains("without an end"));
        assert!(problem("\"\\q\": 1").contains("unknown escape"));
        assert!(problem("\"\\u12\": 1").contains("wrong escape"));
        assert!(problem("a: [1").contains("without an end"));
        assert!(problem("a: \"b\" c").contains("after a quoted text"));
    }
}
