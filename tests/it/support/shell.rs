//! Reading lines for a shell, as documents have them.

use super::markdown::Block;

/// Commands that start the command that follows, after arguments of their own.
const LAUNCHERS: [&str; 12] =
    ["do", "then", "else", "if", "while", "!", "time", "nice", "sudo", "mpirun", "srun", "apptainer"];

/// A line, with those that continue it.
#[derive(Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// The lines of a block for a shell: all of `sh`, those after `$ ` of `console`, and none of other blocks.
pub(crate) fn lines(block: &Block) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut rest = block.text.lines().zip(block.line..);
    while let Some((first, number)) = rest.next() {
        let begun = match block.language.as_str() {
            "sh" | "bash" => Some(first),
            "console" => first.strip_prefix("$ "),
            _ => None,
        };
        let Some(mut text) = begun.map(str::to_owned) else {
            continue;
        };
        while is_unfinished(&text) {
            let Some((more, _)) = rest.next() else { break };
            text += "\n";
            text += more;
        }
        if !commands(&text).is_empty() {
            lines.push(Line { number, text });
        }
    }
    lines
}

/// Whether the shell would ask for another line.
fn is_unfinished(text: &str) -> bool {
    if let Some(end) = here_document(text) {
        return text.lines().skip(1).all(|line| line != end);
    }
    let mut scanner = Scanner::new(text);
    while scanner.next().is_some() {}
    scanner.is_open
}

/// The word that ends the here-document which the first line of `text` begins.
fn here_document(text: &str) -> Option<&str> {
    let (_, word) = text.lines().next()?.split_once("<<")?;
    let word = word.split_whitespace().next()?;
    Some(word.trim_matches(['\'', '"']))
}

/// The words of each simple command, without redirections and comments.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let text = match here_document(text) {
        Some(_) => text.lines().next().unwrap_or_default(),
        None => text,
    };
    let mut commands = vec![Vec::new()];
    let mut is_redirected = false;
    for token in Scanner::new(text) {
        match token {
            Token::End => commands.push(Vec::new()),
            Token::Redirection { .. } => is_redirected = true,
            Token::Word(_) if is_redirected => is_redirected = false,
            Token::Word(word) => commands.last_mut().unwrap().push(word),
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// The files to which standard output goes.
pub(crate) fn files_written(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut tokens = Scanner::new(text);
    while let Some(token) = tokens.next() {
        if let Token::Redirection { is_output: true } = token
            && let Some(Token::Word(file)) = tokens.next()
        {
            files.push(file);
        }
    }
    files
}

/// The arguments of each call of `attentive` in `text`.
pub(crate) fn calls(text: &str) -> Vec<Vec<String>> {
    commands(text).into_iter().filter_map(arguments).collect()
}

/// The arguments of `attentive`, if it is the command or what a launcher starts.
fn arguments(words: Vec<String>) -> Option<Vec<String>> {
    let is_program = |word: &String| word.rsplit('/').next() == Some("attentive");
    let is_setting = |word: &String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|one| one.is_ascii_uppercase() || one == '_')
    };
    let first = words.iter().position(|word| !is_setting(word))?;
    let at =
        if LAUNCHERS.contains(&words[first].as_str()) { words.iter().position(is_program)? } else { first };
    is_program(&words[at]).then(|| words[at + 1..].to_vec())
}

/// `text` without the comment at its end, and without a final `&`.
pub(crate) fn without_comment(text: &str) -> &str {
    let mut scanner = Scanner::new(text);
    while scanner.next().is_some() {}
    let code = &text[..scanner.comment.unwrap_or(text.len())];
    code.trim_end().trim_end_matches('&').trim_end()
}

enum Token {
    Word(String),
    /// An operator after which a file follows.
    Redirection {
        is_output: bool,
    },
    /// What ends a simple command.
    End,
}

/// Reads words and operators.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether it ended within quotes, or after a backslash.
    is_open: bool,
    /// Where a comment begins that nothing follows.
    comment: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, is_open: false, comment: None }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let one = self.peek()?;
        self.at += one.len_utf8();
        Some(one)
    }

    /// The content of quotes, of which the first has been read.
    fn quoted(&mut self, quote: char, word: &mut String) {
        loop {
            match self.take() {
                Some(one) if one == quote => return,
                Some('\\') if quote == '"' => word.extend(self.take()),
                Some(one) => word.push(one),
                None => {
                    self.is_open = true;
                    return;
                }
            }
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(one) = self.peek() {
            if one.is_whitespace() || ";|&()<>".contains(one) {
                break;
            }
            self.at += one.len_utf8();
            match one {
                '\'' | '"' => self.quoted(one, &mut word),
                '\\' => match self.take() {
                    Some('\n') => {}
                    Some(one) => word.push(one),
                    None => self.is_open = true,
                },
                one => word.push(one),
            }
        }
        word
    }
}

impl Iterator for Scanner<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let rest = &self.text[self.at..];
            match rest.chars().next()? {
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                '\\' if rest == "\\" => {
                    self.is_open = true;
                    return None;
                }
                '\n' | ';' | '|' | '&' | '(' | ')' => {
                    self.at += 1;
                    return Some(Token::End);
                }
                '<' | '>' => {
                    let length = rest.find(|one| !"<>&|".contains(one)).unwrap_or(rest.len());
                    self.at += length;
                    let is_output = rest.starts_with('>');
                    return Some(Token::Redirection { is_output });
                }
                '#' => {
                    let end = rest.find('\n');
                    self.comment = end.is_none().then_some(self.at);
                    self.at += end.unwrap_or(rest.len());
                }
                one if one.is_whitespace() => self.at += one.len_utf8(),
                // `2>` redirects, too.
                one if one.is_ascii_digit() && rest[1..].starts_with(['<', '>']) => self.at += 1,
                _ => return Some(Token::Word(self.word())),
            }
        }
    }
}

#[test]
fn lines_are_put_together_as_a_shell_does() {
    let block = |language: &str, text: &str| Block { line: 7, language: language.into(), text: text.into() };
    let found = |language: &str, text: &str| -> Vec<(usize, String)> {
        let lines = lines(&block(language, text)).into_iter();
        lines.map(|line| (line.number, line.text)).collect()
    };
    let line = |number: usize, text: &str| (number, text.to_owned());
    let text = "# it's a comment\na 'b\nc'  # isn't it\n\nd \\\n  e\ncat > f <<'END'\ng'\nEND\nh\n";
    let expected = [
        line(8, "a 'b\nc'  # isn't it"),
        line(11, "d \\\n  e"),
        line(13, "cat > f <<'END'\ng'\nEND"),
        line(16, "h"),
    ];
    assert_eq!(found("sh", text), expected);
    assert_eq!(found("console", "$ a '{\n}'\nb\n$ c\n"), [line(7, "a '{\n}'"), line(10, "c")]);
    assert_eq!(found("toml", "a = 1\n"), []);
}

#[test]
fn calls_of_the_program_are_found_with_their_arguments() {
    let text = "A=1 attentive a --b='c d' \\\n  < e 2> f | jq . && for x in y; do attentive g; done; mpirun \
                -n 2 attentive h > i # attentive j";
    let expected = [vec!["a", "--b=c d"], vec!["g"], vec!["h"]];
    assert_eq!(calls(text), expected);
    assert_eq!(calls("docker run attentive a; pkill attentive"), Vec::<Vec<String>>::new());
    assert_eq!(without_comment("attentive serve 'a # b' & # c"), "attentive serve 'a # b'");
}
