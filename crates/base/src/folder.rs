//! Folders of files.

use std::path::Path;

/// The folder of the file `path`: `.` for a name alone.
///
/// ```
/// use std::path::Path;
///
/// use attentive_base::folder_of;
///
/// assert_eq!(folder_of(Path::new("a/b")), Path::new("a"));
/// assert_eq!(folder_of(Path::new("/b")), Path::new("/"));
/// assert_eq!(folder_of(Path::new("b")), Path::new("."));
/// ```
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
