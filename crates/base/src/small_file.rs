//! Files that users write by hand, such as settings and keys.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Reads the small text file `path`, written by a user. Reading stops after `most` bytes, so that even an endless device is
/// safe.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Data`] if it has more than `most` bytes.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    let failed = || Error::io("read", path);
    let file = File::open(path).map_err(failed())?;
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(failed())?;
    if bytes.len() as u64 > most {
        return Err(Error::Data {
            problem: format!("`{}` is larger than {most} bytes", path.display()),
            hint: Some("is it the right file?".into()),
        });
    }
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes).map_err(|error| failed()(invalid(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_texts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            read_text(&path, 5).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"12345").as_deref(), Ok("12345"));
        assert!(
            read(b"123456")
                .unwrap_err()
                .ends_with("is larger than 5 bytes")
        );
        assert!(read(b"\xff").unwrap_err().contains("not UTF-8"));
        assert!(read_text(folder.path(), 5).is_err());
        #[cfg(unix)]
        assert!(read_text(Path::new("/dev/zero"), 5).is_err());
    }
}
