//! The roles of HTML elements in translation, by their names in lower case.

use crate::tags::Tag;

/// True if `$name` is one of these names.
macro_rules! is_one_of {
    ($name:ident: $($known:literal)*) => { matches!($name, $($known)|*) };
}

/// True for elements without content, which have no end tag.
pub(crate) fn is_void(name: &str) -> bool {
    is_one_of! { name:
        "area" "base" "basefont" "bgsound" "br" "col" "embed" "frame" "hr" "img" "input" "keygen"
        "link" "meta" "param" "source" "track" "wbr"
    }
}

/// True for elements that separate one text from the next. All others, including unknown ones, are part of a
/// sentence.
pub(super) fn is_block(name: &str) -> bool {
    is_one_of! { name:
        "address" "article" "aside" "blockquote" "body" "button" "caption" "center" "col" "colgroup"
        "dd" "details" "dialog" "dir" "div" "dl" "dt" "fieldset" "figcaption" "figure" "footer"
        "form" "frame" "frameset" "h1" "h2" "h3" "h4" "h5" "h6" "head" "header" "hgroup" "hr" "html"
        "legend" "li" "listing" "main" "menu" "nav" "ol" "optgroup" "option" "p" "plaintext" "pre"
        "search" "section" "select" "summary" "table" "tbody" "td" "template" "textarea" "tfoot"
        "th" "thead" "title" "tr" "ul" "xmp"
    }
}

/// True for elements, in any case, whose tags in plain text end a text, or a line of it. Some are also words
/// in placeholders, such as `<dir>`, unless they have both tags (`is_pair`).
pub(crate) fn ends_text(name: &str, is_pair: bool) -> bool {
    let name = name.to_ascii_lowercase();
    let is_word = !matches!(&*name, "br" | "div" | "hr" | "li" | "p" | "td" | "th" | "tr" | "ul" | "ol");
    (is_block(&name) || name == "br") && (is_pair || !is_word)
}

/// True for markup, not text, which begins a block of HTML in Markdown, at the beginning of a line.
pub(crate) fn begins_block(markup: &str) -> bool {
    let declares = markup.starts_with("<!") || markup.starts_with("<?");
    let is_hidden =
        |name: &str| is_raw(name) || !is_visible(name) && !matches!(name, "br" | "rp" | "rt" | "wbr");
    declares || Tag::read(markup).is_some_and(|tag| is_hidden(&tag.name.to_ascii_lowercase()))
}

/// True for an element, in any case, that is kept if it has no letters: the number of a footnote, an
/// exponent. Others, such as the number in a chemical formula, are read with the letters around them.
pub(crate) fn is_note(name: &str) -> bool {
    name.eq_ignore_ascii_case("sup")
}

/// True for elements whose content is not text in a human language, or is not displayed.
pub(super) fn is_opaque(name: &str) -> bool {
    is_raw(name)
        || is_one_of! { name:
            "applet" "audio" "canvas" "code" "kbd" "listing" "map" "math" "noframes" "object" "pre"
            "rp" "rt" "samp" "svg" "tt" "var" "video"
        }
}

/// True for opaque elements whose content the tokenizer does not read as HTML. Only their own end tag ends
/// them.
pub(super) fn is_raw(name: &str) -> bool {
    is_one_of! { name:
        "iframe" "noembed" "noscript" "plaintext" "script" "style" "textarea" "xmp"
    }
}

/// True if a void or protected element takes space in its line, so that blanks around it matter.
pub(super) fn is_visible(name: &str) -> bool {
    !is_one_of! { name:
        "base" "basefont" "bgsound" "br" "link" "map" "meta" "noembed" "noframes" "noscript" "param"
        "rp" "rt" "script" "source" "style" "track" "wbr"
    }
}
