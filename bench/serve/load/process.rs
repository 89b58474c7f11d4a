//! Memory and CPU time of the server while it is under load.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);
/// Ticks of /proc/PID/stat per second, the same on all architectures of Linux.
const TICKS: f64 = 100.0;

/// Samples a process once a second.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Watched>,
}

/// The measurements of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// The resident memory in bytes at each second.
    pub(crate) resident: Vec<u64>,
    /// The CPU seconds of all threads of the process in this time.
    pub(crate) cpu: f64,
}

impl Watch {
    pub(crate) fn start(pid: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let watch = move || {
            let (started, cpu) = (Instant::now(), cpu(pid).unwrap_or(0.0));
            let mut watched = Watched::default();
            for sample in 1.. {
                watched.resident.extend(resident(pid));
                while started.elapsed() < PERIOD * sample && !stopped.load(Ordering::Relaxed) {
                    thread::sleep(PERIOD / 20);
                }
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
            }
            watched.resident.extend(resident(pid));
            watched.cpu = self::cpu(pid).unwrap_or(cpu) - cpu;
            watched
        };
        Self { stop, thread: thread::spawn(watch) }
    }

    pub(crate) fn stop(self) -> Watched {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The resident memory of a process in bytes; `None` where the system does not report it.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// CPU seconds of a process.
pub(crate) fn cpu(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may contain spaces. User and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(") ")?;
    let times = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().ok());
    Some(times.sum::<Option<f64>>()? / TICKS)
}
