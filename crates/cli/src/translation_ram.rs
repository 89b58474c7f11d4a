//! The RAM that this program takes for a translation, in a process of its own.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_base::platform::peak_ram;

/// Time between two looks at the process. It has its peak long before its end.
const BETWEEN: Duration = Duration::from_millis(2);

/// The peak use of RAM, in bytes, of a process that translates `lines` on one thread with `models`, an ensemble
/// if there are several; `None` where the system does not tell.
///
/// # Errors
/// [`Error::Io`] if the process cannot be started; [`Error::Data`] if it fails.
pub(crate) fn translation_ram(models: &[PathBuf], lines: &[String]) -> Result<Option<u64>> {
    if peak_ram(None).is_none() {
        return Ok(None);
    }
    let program = env::current_exe().map_err(Error::io("find", "the program"))?;
    let (first, others) = models.split_first().expect("a system has a model");
    let mut arguments: Vec<OsString> = vec!["translate".into(), first.into(), "--threads".into(), "1".into()];
    arguments.extend(others.iter().flat_map(|model| ["--with".into(), model.clone().into_os_string()]));
    let mut process = Command::new(&program);
    process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = process.spawn().map_err(Error::io("start", &program))?;
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut input = child.stdin.take().expect("it is piped");
    // It may end before it has read all, and says why by its exit code.
    let writer = thread::spawn(move || drop(input.write_all(text.as_bytes())));
    let mut peak = None;
    let status = loop {
        peak = peak_ram(Some(child.id())).or(peak);
        if let Some(status) = child.try_wait().map_err(Error::io("wait for", &program))? {
            break status;
        }
        thread::sleep(BETWEEN);
    };
    writer.join().expect("it does not panic");
    if !status.success() {
        let problem = format!("the translation whose RAM is measured failed ({status})");
        let hint = Some(format!("translate with `{}`, and see what it says", first.display()));
        return Err(Error::Data { problem, hint });
    }
    Ok(peak)
}
