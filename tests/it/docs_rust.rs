//! The Rust in documents is compiled as doctests.

use std::fs;

use crate::support::pages::{Mistakes, all, root};

#[test]
fn rust_in_documents_is_compiled() {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut mistakes = Mistakes::default();
    for page in all() {
        let is_included = library.contains(&format!("include_str!(\"../{}\")", page.name));
        for block in &page.blocks {
            let is_rust = block.language.starts_with("rust");
            if is_rust && !is_included {
                let advice = "include the page in the module `documents` of src/lib.rs";
                mistakes.add(&page.name, block.line, format!("Rust that no test compiles: {advice}"));
            }
            if is_included && block.language.is_empty() {
                let advice = "write a language after the fence, `text` for an output";
                mistakes.add(&page.name, block.line, format!("rustdoc takes this block for Rust: {advice}"));
            }
        }
    }
    mistakes.none();
}
