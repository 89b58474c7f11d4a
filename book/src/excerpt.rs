//! Excerpts of the source of the program.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Lines of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The lines, with the indentation of the first one removed from all.
    pub(crate) text: String,
    /// The numbers of the first and the last line, counted from 1.
    pub(crate) lines: [usize; 2],
}

/// The item called `item` in the file at `path`: `fn name`, `struct Name`, or a part of an `impl`, a `mod` or
/// a `trait`, `Name::fn name`. Its documentation is part of it. ` / TEXT` behind it selects the part of the item
/// that begins with a line that has this text.
pub(crate) fn read(path: &Path, item: &str) -> Result<Excerpt> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines: Vec<&str> = text.lines().collect();
    let (item, part) = item.split_once(" / ").map_or((item, None), |(item, part)| (item, Some(part)));
    let found = find(&lines, item).with_context(|| format!("`{item}` is not in {}", path.display()))?;
    match part {
        None => Ok(found),
        Some(part) => {
            found.part(part).with_context(|| format!("`{part}` is not in `{item}` in {}", path.display()))
        }
    }
}

impl Excerpt {
    /// The part that begins with the only line that has `text`.
    fn part(&self, text: &str) -> Result<Self> {
        let lines: Vec<&str> = self.text.lines().collect();
        let found: Vec<usize> = (0..lines.len()).filter(|&place| lines[place].contains(text)).collect();
        let [start] = found[..] else { bail!("it is there {} times", found.len()) };
        let end = if lines[start].ends_with([';', ',']) { start } else { end(&lines, start)? };
        let indentation = indentation(lines[start]);
        let of = |line: &&str| line.get(indentation..).unwrap_or_default().to_owned() + "\n";
        let first = self.lines[0];
        Ok(Self { text: lines[start..=end].iter().map(of).collect(), lines: [first + start, first + end] })
    }
}

fn find(lines: &[&str], item: &str) -> Result<Excerpt> {
    let Some((scope, item)) = item.split_once("::") else {
        return excerpt(lines, 0..lines.len(), item);
    };
    let is_scope = |line: &str| {
        let words = ["impl", "pub trait", "pub(crate) trait", "trait", "mod"];
        words.iter().any(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '<'])))
            && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == scope)
    };
    let mut from = 0;
    while let Some(start) = (from..lines.len()).find(|&place| is_scope(lines[place])) {
        let end = end(lines, start)?;
        if let Ok(found) = excerpt(lines, start + 1..end, item) {
            return Ok(found);
        }
        from = end + 1;
    }
    bail!("there is no `{scope}` with it")
}

fn excerpt(lines: &[&str], range: std::ops::Range<usize>, item: &str) -> Result<Excerpt> {
    let begins = |line: &str| {
        let line = line.trim_start();
        let visible = ["pub(crate) ", "pub(super) ", "pub "].iter().find_map(|word| line.strip_prefix(word));
        let line = visible.unwrap_or(line);
        let line = line.strip_prefix("const ").filter(|rest| rest.starts_with("fn ")).unwrap_or(line);
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        line.strip_prefix(item)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let found: Vec<usize> = range.clone().filter(|&place| begins(lines[place])).collect();
    let [place] = found[..] else {
        bail!("it is there {} times", found.len());
    };
    let is_above = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    let start =
        (range.start..place).rev().take_while(|&above| is_above(lines[above])).last().unwrap_or(place);
    let end = end(lines, place)?;
    let indentation = indentation(lines[place]);
    let of = |line: &&str| line.get(indentation..).unwrap_or_default().to_owned() + "\n";
    Ok(Excerpt { text: lines[start..=end].iter().map(of).collect(), lines: [start + 1, end + 1] })
}

/// The last line of the item that begins in line `start`, as `rustfmt` lays it out.
fn end(lines: &[&str], start: usize) -> Result<usize> {
    let indentation = indentation(lines[start]);
    let is_end = |place: &usize| {
        let line = lines[*place];
        // `) -> Result<()> {` and `} else {` go on.
        let closes = line.trim().starts_with(['}', ')']) && !line.ends_with('{');
        self::indentation(line) == indentation && (closes || *place == start && line.ends_with(['}', ';']))
    };
    (start..lines.len()).find(is_end).context("it has no end")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// A.
#[derive(Debug)]
pub struct A(u8);

impl A {
    /// One.
    pub(crate) fn one(&self) -> u8 {
        if true {
            1
        } else {
            2
        }
    }
}

impl B for A {
    fn two() {}
}

fn one_more() {}

fn long(
    a: u8,
) -> u8 {
    a
}
";

    fn found(item: &str) -> Option<(String, [usize; 2])> {
        let lines: Vec<&str> = SOURCE.lines().collect();
        find(&lines, item).ok().map(|excerpt| (excerpt.text, excerpt.lines))
    }

    #[test]
    fn items_are_found_with_their_documentation() {
        assert_eq!(
            found("struct A").unwrap(),
            ("/// A.\n#[derive(Debug)]\npub struct A(u8);\n".into(), [1, 3])
        );
        let (text, lines) = found("A::fn one").unwrap();
        assert!(
            text.starts_with("/// One.\npub(crate) fn one(&self) -> u8 {\n    if true")
                && text.ends_with("}\n}\n")
        );
        assert_eq!(lines, [6, 13]);
        assert_eq!(found("A::fn two").unwrap().1, [17, 17]);
        assert_eq!(found("fn one_more").unwrap().0, "fn one_more() {}\n");
        assert_eq!(found("fn long").unwrap().1, [22, 26]);
        assert_eq!(found("fn three"), None);
        assert_eq!(found("C::fn one"), None);
    }
}
