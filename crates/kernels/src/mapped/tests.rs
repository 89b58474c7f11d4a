use std::io::Write;
use std::process::Command;
use std::time::Duration;

use super::*;

const LEN: usize = 64 << 10;

/// A file of `LEN` bytes, all 7.
fn file(folder: &Path) -> PathBuf {
    let path = folder.join("file");
    fs::write(&path, vec![7; LEN]).expect("write");
    path
}

fn map(path: &Path, if_lost: IfLost) -> Mapped {
    Mapped::open(&File::open(path).expect("open"), path, if_lost).expect("map")
}

fn folder() -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("attentive-mapped-{}-{number}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    folder
}

/// Overwrites `path` in place, so that its time changes.
fn overwrite(path: &Path, content: &[u8]) {
    let before = fs::metadata(path).and_then(|it| it.modified()).expect("a time");
    let mut file = fs::OpenOptions::new().write(true).open(path).expect("open");
    file.write_all(content).expect("write");
    file.set_modified(before + Duration::from_secs(1)).expect("a time");
}

#[test]
fn lost_pages_are_zeros_and_known() {
    let folder = folder();
    let path = file(&folder);
    let [whole, part] = [map(&path, IfLost::Zeros), {
        let opened = File::open(&path).expect("open");
        Mapped::part(&opened, &path, 5..LEN as u64, IfLost::Zeros).expect("map")
    }];
    for mapped in [&whole, &part] {
        assert_eq!(mapped.check(|_| false), Ok(()));
    }
    File::options().write(true).open(&path).and_then(|file| file.set_len(1)).expect("truncate");
    assert_eq!(whole[LEN - 1], 0);
    assert_eq!(part[LEN - 6], 0);
    for mapped in [whole, part] {
        assert_eq!(mapped.check(|_| true), Err(Changed));
        assert_eq!(mapped.check(|_| true), Err(Changed));
    }
    // Another file in the place of one that was lost.
    let whole = map(&file(&folder), IfLost::Zeros);
    assert_eq!((whole[LEN - 1], whole.check(|_| false)), (7, Ok(())));
    fs::remove_dir_all(folder).expect("remove");
}

#[test]
fn overwritten_files_are_compared_and_replaced_ones_are_not() {
    let folder = folder();
    let path = file(&folder);
    let mapped = map(&path, IfLost::Zeros);
    overwrite(&path, &[7]);
    assert_eq!(mapped.check(|bytes| bytes.iter().all(|&byte| byte == 7)), Ok(()));
    assert_eq!(mapped.check(|_| false), Ok(()), "it was compared before");
    overwrite(&path, &[8]);
    assert_eq!(mapped.check(|bytes| bytes[0] == 7), Err(Changed));
    assert_eq!(mapped.check(|_| true), Err(Changed), "once changed, always changed");
    let mapped = map(&path, IfLost::Zeros);
    let other = folder.join("other");
    fs::write(&other, "short").expect("write");
    fs::rename(&other, &path).expect("rename");
    assert_eq!((mapped.check(|_| false), mapped[0], mapped[LEN - 1]), (Ok(()), 8, 7));
    fs::remove_file(&path).expect("remove");
    assert_eq!(mapped.check(|_| false), Ok(()));
    fs::remove_dir_all(folder).expect("remove");
}

/// Environment variable with the file that a test process loses.
const LOST: &str = "ATTENTIVE_TEST_LOST_FILE";

/// Does nothing unless started by the test below.
#[test]
fn a_process_that_loses_a_file() {
    let Some(path) = std::env::var_os(LOST) else {
        return;
    };
    let mapped = map(Path::new(&path), IfLost::End);
    File::options().write(true).open(&path).and_then(|file| file.set_len(0)).expect("truncate");
    std::process::exit(100 + i32::from(mapped[0]));
}

#[test]
fn a_process_ends_with_a_message_that_names_the_file() {
    let folder = folder();
    let path = file(&folder);
    let (_, module) = module_path!().split_once("::").expect("a module");
    let test = format!("{module}::a_process_that_loses_a_file");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    let output = child.args(["--exact", &test, "--test-threads=1"]).env(LOST, &path).output().expect("start");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("`{}` was truncated", path.display())), "{told}");
    fs::remove_dir_all(folder).expect("remove");
}
