//! The page for trying the models of a server.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::shared;

const STYLE: &str = concat!(shared::style!(), include_str!("page.css"));

/// The script without its transport, which sends requests to models.
const SCRIPT: &str = concat!(
    shared::script!(),
    include_str!("api.js"),
    include_str!("settings.js"),
    include_str!("options.js"),
    include_str!("languages.js"),
    include_str!("files.js"),
    include_str!("tokens.js"),
    include_str!("pieces.js"),
    include_str!("sheet.js"),
    include_str!("highlight.js"),
    include_str!("terms.js"),
    include_str!("translate.js"),
    include_str!("microscope.js"),
    include_str!("generate.js"),
    include_str!("fill.js"),
    include_str!("label.js"),
    include_str!("embed.js"),
    include_str!("command.js"),
    include_str!("reference.js"),
    include_str!("panel.js"),
    include_str!("start.js"),
);

/// What differs between the console of a server and that with models of its own.
pub(crate) struct Surroundings {
    /// The script with the function `transport`, which sends a request to the models.
    pub(crate) transport: &'static str,
    /// What else the policy allows as scripts.
    pub(crate) sources: &'static str,
    /// Further directives of the policy, each with a semicolon and a blank.
    pub(crate) workers: &'static str,
    /// HTML at the top of the page.
    pub(crate) note: &'static str,
    /// True if there is a server, which programs may use, too.
    pub(crate) has_server: bool,
}

const SERVER: Surroundings = Surroundings {
    transport: include_str!("transport.js"),
    sources: "",
    workers: "",
    note: "",
    has_server: true,
};

impl Surroundings {
    fn script(&self) -> String {
        format!("{}{SCRIPT}", self.transport)
    }

    /// The policy of the page: its own script and style, and requests to where it came from.
    fn policy(&self) -> String {
        let Self { sources, workers, .. } = self;
        format!(
            "default-src 'none'; base-uri 'none'; form-action 'none'; connect-src 'self'; img-src data:; \
             {workers}script-src {sources}{space}'{}'; style-src '{}'",
            hash(&self.script()),
            hash(STYLE),
            space = if sources.is_empty() { "" } else { " " },
        )
    }
}

/// The console in these surroundings.
pub(crate) fn page(surroundings: &Surroundings) -> String {
    format!(
        include_str!("page.html"),
        policy = surroundings.policy(),
        style = STYLE,
        note = surroundings.note,
        programs = if surroundings.has_server { "" } else { " hidden" },
        script = surroundings.script(),
    )
}

/// Returns an HTML page for trying the models of the server that it comes from: it translates, continues,
/// fills and labels what is typed, and shows probabilities, alternatives and attention. It sends requests
/// only to that server, below `api/`.
pub fn console() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| page(&SERVER));
    &PAGE
}

/// Returns the `Content-Security-Policy` of [`console`], which the page contains as well: it allows the
/// page's own script and style, and requests to its own server.
pub fn console_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| SERVER.policy());
    &POLICY
}

/// The hash that allows an inline `text` in a policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text between `<tag…>` and `</tag>`, each of which must occur exactly once.
    fn inside<'a>(page: &'a str, tag: &str) -> &'a str {
        let end = format!("</{tag}>");
        assert_eq!(page.matches(&end).count(), 1);
        let (_, rest) = page.split_once(&format!("<{tag}")).expect("the tag");
        let (_, rest) = rest.split_once('>').expect("its end");
        rest.split_once(&end).expect("the end tag").0
    }

    #[test]
    fn the_policy_allows_the_page_and_nothing_else() {
        let page = console();
        for tag in ["script", "style"] {
            let text = inside(page, tag);
            assert!(text.len() > 1000);
            assert!(console_policy().contains(&format!("{tag}-src '{}'", hash(text))));
        }
        assert!(page.contains(console_policy()));
        assert!(!console_policy().contains("unsafe"));
        let handlers = regex::Regex::new(r#"<[^>]* (on\w+|style)="#).expect("a pattern");
        let markup = page.replace(inside(page, "script"), "");
        assert_eq!(handlers.find(&markup).map(|found| found.as_str()), None);
    }

    #[test]
    fn the_page_asks_only_its_own_server() {
        let strange = ["http:", "https:", "src=", "@import", "url(", "WebSocket", "XMLHttp"];
        for word in strange {
            assert!(!console().contains(word), "{word}");
        }
        assert_eq!(console().matches("fetch(").count(), 1);
        let asked = regex::Regex::new(r#"(?:ask|events|send)\("([^"]*)"#).expect("a pattern");
        let paths: Vec<&str> =
            (asked.captures_iter(console())).map(|found| found.extract::<1>().1[0]).collect();
        assert!(paths.len() > 5);
        assert!((paths.iter()).all(|path| path.starts_with("api/") || *path == "openapi.json"), "{paths:?}");
    }
}
