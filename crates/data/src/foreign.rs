//! Formats of files that are recognized, but not read.

use std::error::Error as StdError;
use std::path::Path;
use std::{fmt, io};

use attentive_base::error::Error;

/// A format that another program converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    /// The first bytes of its files.
    start: &'static [u8],
    /// What a file is.
    is: &'static str,
    /// The command that converts it, with `FILE` for its name.
    command: &'static str,
}

const ALL: [Foreign; 6] = [
    Foreign { start: b"\xfd7zXZ\0", is: "is compressed with xz", command: "xz --decompress --keep FILE" },
    Foreign { start: b"BZh", is: "is compressed with bzip2", command: "bzip2 --decompress --keep FILE" },
    Foreign { start: b"PK\x03\x04", is: "is a ZIP archive", command: "unzip FILE" },
    Foreign {
        start: b"PAR1\x15",
        is: "is a Parquet file",
        command: "python3 -c 'import pandas; pandas.read_parquet(\"FILE\").to_json(\"FILE.jsonl\", \
                  orient=\"records\", lines=True, force_ascii=False)'",
    },
    Foreign {
        start: b"\xff\xfe",
        is: "is text in UTF-16",
        command: "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8",
    },
    Foreign {
        start: b"\xfe\xff",
        is: "is text in UTF-16",
        command: "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8",
    },
];

impl Foreign {
    /// The format of content that begins with `start`, if it is one of these.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        // A text may begin with the first letters of bzip2.
        let is_bzip2 = start.get(4..10) == Some(b"1AY&SY");
        ALL.into_iter().find(|one| start.starts_with(one.start)).filter(|one| one.start != b"BZh" || is_bzip2)
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.is)
    }
}

impl StdError for Foreign {}

impl From<Foreign> for io::Error {
    fn from(foreign: Foreign) -> Self {
        Self::new(io::ErrorKind::InvalidData, foreign)
    }
}

/// The error of reading the file at `path`. One that is of another format names the command that converts it.
pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let foreign = error.get_ref().and_then(|inner| inner.downcast_ref::<Foreign>());
        let Some(foreign) = foreign else { return Error::io("read", path)(error) };
        let name = path.display().to_string();
        Error::Data {
            problem: format!("`{name}` {}", foreign.is),
            hint: Some(format!("convert it first: `{}`", foreign.command.replace("FILE", &name))),
        }
    }
}
