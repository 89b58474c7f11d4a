use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::{Line, Lines};

fn lines(text: &'static [u8]) -> Lines<&'static [u8]> {
    Lines::new(text, Path::new("text"), 100)
}

#[test]
fn chunks_have_at_most_the_requested_lines() {
    let mut lines = lines(b"\xef\xbb\xbfa\r\nb\n\nlast");
    assert_eq!(lines.next_chunk(2).expect("read"), Some(vec!["a".into(), "b".into()]));
    assert_eq!(lines.count(), 2);
    assert_eq!(lines.next_chunk(2).expect("read"), Some(vec!["".into()]));
    assert_eq!(lines.next_chunk(2).expect("read"), Some(vec!["last".into()]));
    assert_eq!(lines.next_chunk(2).expect("read"), None);
}

#[test]
fn a_chunk_does_not_wait_for_further_lines() {
    let first: &[u8] = b"a\nb\nhalf";
    let mut lines = Lines::new(first.chain(&b" a line\n"[..]), Path::new("pipe"), 100);
    assert_eq!(lines.next_chunk(100).expect("read"), Some(vec!["a".into(), "b".into()]));
    assert_eq!(lines.next_chunk(100).expect("read"), Some(vec!["half a line".into()]));
}

#[test]
fn gzipped_files_are_read_as_text() {
    let folder = tempfile::tempdir().expect("tempdir");
    let path = folder.path().join("packed");
    let file = File::create(&path).expect("create");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(b"a\nb\n").expect("write");
    packed.finish().expect("finish");
    let chunk = Lines::open(&path, 100).expect("open").next_chunk(9);
    assert_eq!(chunk.expect("read"), Some(vec!["a".into(), "b".into()]));
}

#[test]
fn invalid_utf8_is_reported() {
    let error = lines(b"fine\nb\xffd\n").next_chunk(9).expect_err("invalid");
    assert!(error.to_string().starts_with("`text`, line 2: not valid UTF-8 after byte 1"), "{error}");
}

/// The lines of a text, with `None` for those above `limit` bytes.
fn limited(text: &[u8], limit: usize) -> Vec<Option<String>> {
    let mut lines = Lines::new(text, Path::new("text"), limit);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        found.push(match line {
            Line::Text(text) => Some(text.to_owned()),
            Line::TooLong => None,
        });
    }
    found
}

#[test]
fn lines_above_the_limit_are_skipped_and_the_others_kept() {
    let kept = |text: &str| Some(text.to_owned());
    assert_eq!(
        limited(b"\xef\xbb\xbf1234\r\n12345\n\n123456\r\n1234567890123\r\n1234", 4),
        [kept("1234"), None, kept(""), None, None, kept("1234")]
    );
    for end in ["", "\n", "\r\n"] {
        for length in 0..20 {
            let text = format!("{}{end}", "x".repeat(length));
            let expected = (length <= 8).then(|| "x".repeat(length));
            let lines = limited(text.as_bytes(), 8);
            if text.is_empty() {
                assert!(lines.is_empty())
            } else {
                assert_eq!(lines, [expected], "{length} and {end:?}")
            }
        }
    }
}

/// A gigabyte without a line break, followed by a short line, generated on the fly.
#[test]
fn a_line_is_never_buffered_beyond_the_limit() {
    let text = io::repeat(b'x').take(1 << 30).chain(&b"\nshort\n"[..]);
    let mut lines = Lines::new(text, Path::new("endless"), 1000);
    assert_eq!(lines.next_line().unwrap(), Some(Line::TooLong));
    assert!(lines.held() < 4096, "{} bytes held", lines.held());
    assert_eq!(lines.next_line().unwrap(), Some(Line::Text("short")));
    assert_eq!(lines.next_line().unwrap(), None);
}

#[test]
fn reading_text_refuses_a_line_above_the_limit() {
    let long = [b"fine\n".as_slice(), &[b'x'; 101], b"\n"].concat();
    let mut lines = Lines::new(long.as_slice(), Path::new("text"), 100);
    let error = lines.next_chunk(9).unwrap_err();
    assert_eq!(error.to_string(), "`text`, line 2: longer than 100 bytes");
}

#[test]
fn a_pipe_may_be_gzipped_too() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"a\nb\n").unwrap();
    let packed = packed.finish().unwrap();
    let mut lines = Lines::new(packed.as_slice(), Path::new("pipe"), 100);
    assert_eq!(lines.rest().unwrap(), ["a", "b"]);
    let cut = &packed[..packed.len() - 3];
    let mut lines = Lines::new(cut, Path::new("pipe"), 100);
    assert!(lines.rest().is_err());
}
