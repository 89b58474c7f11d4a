//! Formulas in TeX as plain text, as far as the book uses it.

use std::iter::Peekable;
use std::str::Chars;

/// Commands that stand for a character.
const SYMBOLS: [(&str, &str); 53] = [
    ("Delta", "Δ"),
    ("Pi", "Π"),
    ("Rightarrow", "⇒"),
    ("Sigma", "Σ"),
    ("alpha", "α"),
    ("approx", "≈"),
    ("beta", "β"),
    ("cdot", "·"),
    ("cdots", "⋯"),
    ("circ", "∘"),
    ("delta", "δ"),
    ("dots", "…"),
    ("ell", "ℓ"),
    ("epsilon", "ε"),
    ("varepsilon", "ε"),
    ("eta", "η"),
    ("gamma", "γ"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("in", "∈"),
    ("infty", "∞"),
    ("kappa", "κ"),
    ("lVert", "‖"),
    ("lambda", "λ"),
    ("langle", "⟨"),
    ("ldots", "…"),
    ("le", "≤"),
    ("leftarrow", "←"),
    ("leq", "≤"),
    ("lfloor", "⌊"),
    ("mapsto", "↦"),
    ("mid", "|"),
    ("mu", "μ"),
    ("nabla", "∇"),
    ("ne", "≠"),
    ("neq", "≠"),
    ("odot", "⊙"),
    ("omega", "ω"),
    ("oplus", "⊕"),
    ("partial", "∂"),
    ("pi", "π"),
    ("pm", "±"),
    ("prod", "∏"),
    ("rVert", "‖"),
    ("rangle", "⟩"),
    ("rfloor", "⌋"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("sum", "∑"),
    ("theta", "θ"),
    ("times", "×"),
    ("to", "→"),
    ("top", "ᵀ"),
];

/// Characters that have a lower or an upper form.
const LOWERED: [&str; 2] = ["0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"];
const RAISED: [&str; 2] = ["0123456789+-=()niᵀT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵀ"];

/// Returns the formula as plain text.
pub(super) fn plain(tex: &str) -> String {
    let mut rest = tex.chars().peekable();
    let text = sequence(&mut rest, None);
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What follows up to `end`.
fn sequence(rest: &mut Peekable<Chars<'_>>, end: Option<char>) -> String {
    let mut out = String::new();
    while let Some(c) = rest.next() {
        match c {
            c if Some(c) == end => break,
            '\\' => out.push_str(&command(rest)),
            '{' => out.push_str(&sequence(rest, Some('}'))),
            '_' => out.push_str(&shifted(&argument(rest), LOWERED, '_')),
            '^' => out.push_str(&shifted(&argument(rest), RAISED, '^')),
            '&' | '~' | '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A group in braces, a command or a character.
fn argument(rest: &mut Peekable<Chars<'_>>) -> String {
    while rest.next_if_eq(&' ').is_some() {}
    match rest.next() {
        Some('{') => sequence(rest, Some('}')),
        Some('\\') => command(rest),
        Some(c) => c.to_string(),
        None => String::new(),
    }
}

/// What a backslash begins.
fn command(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut name = String::new();
    while let Some(c) = rest.next_if(char::is_ascii_alphabetic) {
        name.push(c);
    }
    match &*name {
        "" => match rest.next() {
            Some('\\') => "\n".into(),
            Some(',' | ';' | ':' | ' ') => " ".into(),
            Some('!') | None => String::new(),
            Some('|') => "‖".into(),
            Some(c) => c.into(),
        },
        "frac" | "tfrac" | "dfrac" => format!("{}/{}", grouped(argument(rest)), grouped(argument(rest))),
        "sqrt" => format!("√{}", grouped(argument(rest))),
        "hat" | "bar" | "tilde" | "overline" | "vec" | "overrightarrow" | "overleftarrow" => {
            let mark = match &*name {
                "hat" => '\u{302}',
                "tilde" => '\u{303}',
                "vec" | "overrightarrow" => '\u{20d7}',
                "overleftarrow" => '\u{20d6}',
                _ => '\u{304}',
            };
            // Over its last character: a mark over several is not plain text.
            argument(rest) + &String::from(mark)
        }
        "text" | "mathrm" | "operatorname" | "mathbf" | "mathit" | "mathbb" | "mathcal" | "boldsymbol" => {
            argument(rest)
        }
        "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "displaystyle" | "limits" => String::new(),
        "quad" | "qquad" => "  ".into(),
        "begin" | "end" => {
            argument(rest);
            String::new()
        }
        name => match SYMBOLS.iter().find(|(symbol, _)| *symbol == name) {
            Some((_, text)) => (*text).into(),
            // The name of a function, such as tanh.
            None if rest.peek().is_some_and(|next| next.is_alphanumeric() || *next == '\\') => {
                format!("{name} ")
            }
            None => name.into(),
        },
    }
}

/// In parentheses, unless it is a single name or number.
fn grouped(text: String) -> String {
    if text.chars().all(|c| c.is_alphanumeric() || c == '.') { text } else { format!("({text})") }
}

/// In lower or upper characters, if there are all of them.
fn shifted(text: &str, [from, to]: [&str; 2], mark: char) -> String {
    let shift = |c: char| from.chars().position(|own| own == c).and_then(|place| to.chars().nth(place));
    let text = text.trim();
    let dense: String = text.chars().filter(|c| *c != ' ').collect();
    match dense.chars().map(shift).collect() {
        Some(shifted) => shifted,
        None if text == "′" || text == "*" => text.into(),
        None => format!("{mark}{}", grouped(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_legible_without_tex() {
        for (tex, expected) in [
            (r"h_t = \tanh(W x_t + U h_{t-1} + b), \qquad h_0 = 0", "hₜ = tanh(W xₜ + U hₜ₋₁ + b), h₀ = 0"),
            (r"\frac{Q K^\top}{\sqrt{d_k}}", "(Q Kᵀ)/(√dₖ)"),
            (r"L = - \sum_{y} p_T(y \mid x) \, \log p_S(y)", "L = - ∑_y p_T(y | x) log p_S(y)"),
            (r"\hat y \in \mathbb{R}^{n}", "y\u{302} ∈ Rⁿ"),
            (r"\delta_{t-1} = U^\top \left( (1 - h_t \odot h_t) \right)", "δₜ₋₁ = Uᵀ ( (1 - hₜ ⊙ hₜ) )"),
            (r"e^{S_{ij}} / \operatorname{max}", "e^Sᵢⱼ / max"),
            (r"a \\ b", "a\nb"),
        ] {
            assert_eq!(plain(tex), expected, "{tex}");
        }
    }
}
