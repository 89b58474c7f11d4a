//! The documents of the repository.

use std::fs;
use std::path::Path;

use super::markdown::{Code, Page};

/// Documents outside `docs/`; those that exist are checked.
const AT_THE_TOP: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Pages that may name keys, flags and commands as they were.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/glossary.md"];

/// Pages that compare with other programs. Of their code within lines, that in columns with one of these
/// heads is checked.
const COMPARING: [&str; 1] = ["docs/coming-from.md"];
const OURS: [&str; 2] = ["here", "Attentive"];

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The page `name`.
pub(crate) fn page(name: &str) -> Page {
    let text = fs::read_to_string(root().join(name));
    let text = text.unwrap_or_else(|error| panic!("`{name}`: {error}"));
    Page::parse(name, &text)
}

/// All documents.
pub(crate) fn all() -> Vec<Page> {
    let pattern = root().join("docs/**/*.md");
    let found = glob::glob(pattern.to_str().unwrap()).unwrap();
    let inside = found.map(|path| {
        let path = path.unwrap();
        path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
    });
    let outside = AT_THE_TOP.map(str::to_owned).into_iter();
    let names = outside.filter(|name| root().join(name).exists()).chain(inside);
    let pages: Vec<Page> = names.map(|name| page(&name)).collect();
    assert!(pages.len() > 10, "only {} documents found", pages.len());
    pages
}

/// All documents that describe the present program.
pub(crate) fn present() -> Vec<Page> {
    let mut pages = all();
    pages.retain(|page| !HISTORY.contains(&page.name.as_str()));
    pages
}

/// Whether `code` is about this program, and not about another one that the page compares with it.
pub(crate) fn is_ours(page: &Page, code: &Code) -> bool {
    let head = code.column.as_deref();
    let is_in_our_column = head.is_some_and(|head| OURS.contains(&head));
    is_in_our_column || !COMPARING.contains(&page.name.as_str())
}

/// The comments of the recipes in `configs/` as pages.
pub(crate) fn recipes() -> Vec<Page> {
    let pattern = root().join("configs/*.toml");
    let found = glob::glob(pattern.to_str().unwrap()).unwrap();
    let comments = |line: &str| match line.split_once('#') {
        Some((_, comment)) => comment.trim().to_owned() + "\n",
        None => "\n".to_owned(),
    };
    let recipes = found.map(|path| {
        let path = path.unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        Page::parse(name, &text.lines().map(comments).collect::<String>())
    });
    let recipes: Vec<Page> = recipes.collect();
    assert!(recipes.len() > 5, "only {} recipes found", recipes.len());
    recipes
}

/// Mistakes in documents, all of which are reported at once.
#[derive(Default)]
pub(crate) struct Mistakes(Vec<String>);

impl Mistakes {
    /// A mistake on a line of a page.
    pub(crate) fn add(&mut self, page: &str, line: usize, what: impl AsRef<str>) {
        self.add_at(&format!("{page}:{line}"), what);
    }

    /// A mistake in a place without lines.
    pub(crate) fn add_at(&mut self, place: &str, what: impl AsRef<str>) {
        self.0.push(format!("{place}: {}", what.as_ref()));
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Fails if there are any.
    #[track_caller]
    pub(crate) fn none(self) {
        let count = self.0.len();
        assert!(count == 0, "{count} mistakes:\n{}", self.0.join("\n"));
    }
}

#[test]
fn other_programs_have_columns_of_their_own() {
    let text = "`a`\n\n| Marian | here |\n|---|---|\n| `b` | `c` |\n";
    let ours = |name: &str| -> Vec<bool> {
        let page = Page::parse(name, text);
        page.codes.iter().map(|code| is_ours(&page, code)).collect()
    };
    assert_eq!(ours(COMPARING[0]), [false, false, true]);
    assert_eq!(ours("README.md"), [true, true, true]);
}
