//! A reader of HTML that lets the tokenizer pause.

use std::error::Error;
use std::fmt;

use html5gum::{Readable, Reader, StringReader};

/// The tokenizer calls itself recursively for every attribute value in double quotes until a tag ends: 5000
/// of them exhaust the stack of a thread. However, it can continue after an error of its reader, and then
/// begins at the top of the stack. So this reader fails from time to time inside such values, before it reads
/// anything, and nothing is lost.
#[derive(Debug)]
pub(super) struct Pausing<'a> {
    html: StringReader<'a>,
    /// Number of reads in quoted values since the last pause.
    deep: usize,
}

/// A pause, after which the tokenizer is to continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause;

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pause")
    }
}

impl Error for Pause {}

impl<'a> Pausing<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { html: html.to_reader(), deep: 0 }
    }
}

impl Reader for Pausing<'_> {
    type Error = Pause;

    fn read_byte(&mut self) -> Result<Option<u8>, Pause> {
        let Ok(byte) = self.html.read_byte();
        Ok(byte)
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Pause> {
        let Ok(is_next) = self.html.try_read_string(text, case_sensitive);
        Ok(is_next)
    }

    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Pause> {
        /// Number of reads in quoted values between two pauses; some of them are of the same value.
        const MAX_NESTING: usize = 32;
        /// Characters that the tokenizer searches for in a value in double quotes, and nowhere else.
        const IN_QUOTES: &[u8] = b"\"&";
        if needle.starts_with(IN_QUOTES) {
            if self.deep == MAX_NESTING {
                self.deep = 0;
                return Err(Pause);
            }
            self.deep += 1;
        }
        let Ok(read) = self.html.read_until(needle, buffer);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5gum::{DefaultEmitter, Token, Tokenizer};

    #[test]
    fn pauses_change_no_token() {
        // Without the pauses, much stack is needed.
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread.spawn(compare).unwrap().join().unwrap();
    }

    fn compare() {
        let many = |attribute: &str, count: usize| {
            let attributes: String =
                (0..count).map(|number| attribute.replace('N', &number.to_string())).collect();
            format!("x<a {attributes}>b</a><i {attributes}")
        };
        for html in [
            many("aN=\"x>y\" ", 300),
            many("aN=\"&amp;N\"", 200),
            many("aN=\"\"/", 200),
            many("aN=\"1\r\n2\" bN='3' cN=4 dN ", 70),
            many("aN=\"ü&notin;\" ", 129),
        ] {
            let emitter = DefaultEmitter::<usize>::new_with_span;
            let expected: Vec<Token<usize>> =
                Tokenizer::new_with_emitter(&*html, emitter()).map(|Ok(token)| token).collect();
            let paused = Tokenizer::new_with_emitter(Pausing::new(&html), emitter());
            let (mut pauses, mut found) = (0, Vec::new());
            for token in paused {
                match token {
                    Ok(token) => found.push(token),
                    Err(Pause) => pauses += 1,
                }
            }
            assert_eq!(found, expected);
            assert!(pauses > 2, "{pauses} pauses");
        }
    }
}
