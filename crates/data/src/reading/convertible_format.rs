//! Formats of files that are recognized, but not read.

use std::error::Error as StdError;
use std::path::Path;
use std::{fmt, io};

use attentive_base::error::Error;

/// A format that another program converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConvertibleFormat {
    /// The first bytes of its files.
    start: &'static [u8],
    /// What a file is.
    is: &'static str,
    /// The command that converts it, with `IN` and `OUT` for names.
    command: &'static str,
    /// The extension of its files, which the converted file lacks, or that of another format.
    extension: &'static str,
    becomes: &'static str,
}

const UTF_16: ConvertibleFormat = ConvertibleFormat {
    start: b"\xff\xfe",
    is: "is text in UTF-16",
    command: "iconv -f UTF-16 -t UTF-8 IN > OUT",
    extension: "",
    becomes: "",
};

const ALL: [ConvertibleFormat; 7] = [
    ConvertibleFormat {
        start: b"\xfd7zXZ\0",
        is: "is compressed with xz",
        command: "xz -dc < IN > OUT",
        extension: ".xz",
        becomes: "",
    },
    ConvertibleFormat {
        start: b"BZh",
        is: "is compressed with bzip2",
        command: "bzip2 -dc < IN > OUT",
        extension: ".bz2",
        becomes: "",
    },
    ConvertibleFormat {
        start: b"PK\x03\x04",
        is: "is a ZIP archive or an office document",
        command: "unzip IN",
        extension: "",
        becomes: "",
    },
    ConvertibleFormat {
        start: b"PAR1\x15",
        is: "is a Parquet file",
        command: "python3 -c 'import pandas, sys; pandas.read_parquet(sys.argv[1]).to_json(sys.argv[2], \
                  orient=\"records\", lines=True, force_ascii=False)' IN OUT",
        extension: ".parquet",
        becomes: ".jsonl",
    },
    ConvertibleFormat {
        start: b"\xff\xfe\0\0",
        is: "is text in UTF-32",
        command: "iconv -f UTF-32 -t UTF-8 IN > OUT",
        ..UTF_16
    },
    UTF_16,
    ConvertibleFormat { start: b"\xfe\xff", ..UTF_16 },
];

impl ConvertibleFormat {
    /// The format of content that begins with `start`, if it is one of these.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        // A text may begin with the first letters of bzip2.
        let is_bzip2 = start.get(4..10) == Some(b"1AY&SY");
        ALL.into_iter().find(|one| start.starts_with(one.start)).filter(|one| one.start != b"BZh" || is_bzip2)
    }
}

impl fmt::Display for ConvertibleFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.is)
    }
}

impl StdError for ConvertibleFormat {}

impl From<ConvertibleFormat> for io::Error {
    fn from(foreign: ConvertibleFormat) -> Self {
        Self::new(io::ErrorKind::InvalidData, foreign)
    }
}

/// The error of reading the file at `path`. One that is of another format names the command that converts it.
pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let foreign = error.get_ref().and_then(|inner| inner.downcast_ref::<ConvertibleFormat>());
        let Some(foreign) = foreign else { return Error::io("read", path)(error) };
        // What has no name, such as standard input, goes through the command.
        let bare = foreign.command.split(" < IN").next().and_then(|command| command.split(" IN").next());
        let command = match bare {
            Some(bare) if !path.exists() => bare.to_owned(),
            _ => foreign.command_for(&path.display().to_string()),
        };
        Error::data(format!("`{}` {}", path.display(), foreign.is), format!("convert it first: `{command}`"))
    }
}

impl ConvertibleFormat {
    /// The command for the file `name`.
    fn command_for(&self, name: &str) -> String {
        let quoted = |name: &str| {
            let is_plain = |c: char| c.is_alphanumeric() || "/._-+,".contains(c);
            if name.chars().all(is_plain) {
                name.to_owned()
            } else {
                format!("'{}'", name.replace('\'', "'\\''"))
            }
        };
        let (stem, rest) = match name.rsplit_once('.') {
            _ if self.extension.is_empty() => name.rsplit_once('.').unwrap_or((name, "txt")),
            Some((stem, _)) if name.ends_with(self.extension) => (stem, ""),
            _ => (name, "txt"),
        };
        let converted = match (self.becomes, rest) {
            ("", "") => stem.to_owned(),
            ("", rest) => format!("{stem}.utf8.{rest}"),
            (becomes, _) => format!("{stem}{becomes}"),
        };
        self.command.replace("IN", "\0").replace("OUT", &quoted(&converted)).replace('\0', &quoted(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_files_as_a_shell_reads_them() {
        let of = |start: &[u8], name: &str| ConvertibleFormat::of(start).unwrap().command_for(name);
        assert_eq!(of(b"\xfd7zXZ\0", "a/b.en.xz"), "xz -dc < a/b.en.xz > a/b.en");
        assert_eq!(of(b"\xfd7zXZ\0", "b"), "xz -dc < b > b.utf8.txt");
        assert_eq!(
            of(b"\xff\xfea\0", "it's x.srt"),
            "iconv -f UTF-16 -t UTF-8 'it'\\''s x.srt' > 'it'\\''s x.utf8.srt'"
        );
        assert!(of(b"PAR1\x15", "a.parquet").ends_with(" a.parquet a.jsonl"));
        assert_eq!(ConvertibleFormat::of(b"\xff\xfe\0\0").unwrap().is, "is text in UTF-32");
    }
}
