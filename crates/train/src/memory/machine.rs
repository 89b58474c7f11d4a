//! RAM of the machine, and of this process.

use attentive_config::Config;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, get_current_pid};

use super::MB;

/// The maximum number of bytes that this process may use: `train.max_memory_mb` if set, otherwise an equal
/// share, for each of `processes`, of the free RAM of the machine or container, plus the RAM that the process
/// already uses. `None` where the system does not report it.
pub(crate) fn limit(config: &Config, processes: usize) -> Option<f64> {
    if config.train.max_memory_mb > 0 {
        return Some(config.train.max_memory_mb as f64 * MB);
    }
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let container =
        system.cgroup_limits().map(|limits| Container { size: limits.total_memory, resident: limits.rss });
    let available = system.available_memory();
    let own = resident();
    let room = room(available, container, own, processes);
    (room > 0).then_some(room as f64)
}

/// Memory of a container, in bytes.
#[derive(Clone, Copy)]
struct Container {
    size: u64,
    /// RAM used by all its processes, without reclaimable file caches.
    resident: u64,
}

/// The RAM available to each of `processes`: its share of the free RAM, and its `own` use.
fn room(available: u64, container: Option<Container>, own: u64, processes: usize) -> u64 {
    let left = container.map(|Container { size, resident }| size.saturating_sub(resident));
    let free = available.min(left.unwrap_or(u64::MAX));
    (free / processes as u64).saturating_add(own)
}

/// RAM used by this process, in bytes; 0 where the system does not report it.
pub(crate) fn resident() -> u64 {
    let memory = || {
        let (mut system, process) = (System::new().ok()?, get_current_pid().ok()?);
        let wanted = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[process]), false, wanted);
        Some(system.process(process)?.memory())
    };
    memory().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use attentive_base::platform::peak_ram;

    use super::*;

    #[test]
    fn file_caches_and_own_memory_count_as_available() {
        let container = |resident| {
            let size = 1000;
            Some(Container { size, resident })
        };
        assert_eq!(room(5000, None, 70, 1), 5070);
        assert_eq!(room(5000, container(300), 70, 1), 770);
        assert_eq!(room(200, container(300), 70, 1), 270);
        assert_eq!(room(5000, container(1300), 70, 1), 70);
        assert_eq!(room(5000, container(300), 70, 2), 420);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_peak_covers_what_is_resident() {
        let now = resident();
        let most = peak_ram(None).unwrap();
        assert!(0 < now && now <= most, "{now} bytes now, {most} at most");
    }
}
