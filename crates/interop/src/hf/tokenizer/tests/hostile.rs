//! Tests of texts that are as long as a request may be and consist of one kind of character.

use std::thread;

use super::*;

/// The stack of the threads that read requests, and the size of their bodies.
const STACK: usize = 2 << 20;
const SIZE: usize = 2 << 20;

#[test]
fn normalizers_and_regular_expressions_read_text_of_one_kind() {
    for name in ["bert", "gpt2", "llama3", "llama", "t5", "nllb", "m2m_100", "marian"] {
        let folder = folder(name);
        let read = move || {
            let languages = match name {
                "nllb" => languages("eng_Latn", "fra_Latn"),
                "m2m_100" => languages("en", "fr"),
                _ => Languages::default(),
            };
            let opened = opened(folder.path(), &languages).unwrap();
            for part in
                ["a", " ", "1", "-", "a ", "\u{301}", "漢", "ﷺ", "'s", "\n", "👩\u{200d}", "<s>", "A\u{327}"]
            {
                let text = part.repeat(SIZE / 16 / part.len());
                let ids = opened.tokenizers.src().encode(&text).unwrap();
                let _ = opened.tokenizers.tgt().decode(&ids);
            }
        };
        let thread = thread::Builder::new().stack_size(STACK);
        thread.spawn(read).unwrap().join().unwrap();
    }
}
