//! The part that the scripts and styles of all pages share: tokens, and a view of attention.

/// The style, as a literal.
macro_rules! style {
    () => {
        concat!(include_str!("../shared/theme.css"), include_str!("../shared/attention.css"),)
    };
}

/// The script, as a literal; a page's own script follows.
macro_rules! script {
    () => {
        concat!(
            include_str!("../shared/dom.js"),
            include_str!("../shared/colors.js"),
            include_str!("../shared/token.js"),
            include_str!("../shared/parts.js"),
            include_str!("../shared/sentence.js"),
            include_str!("../shared/map.js"),
            include_str!("../shared/heads.js"),
            include_str!("../shared/attention.js"),
            include_str!("../shared/plain.js"),
        )
    };
}

pub(super) use {script, style};
