//! The limit on open files of this process; each connection is one.

use attentive_server::Limits;

/// The number of files besides connections: models, the log, sockets, and connections for monitoring beyond
/// the limit.
#[cfg(unix)]
const OTHERS: usize = 192;

/// Raises the limit to what the connections of `limits` need. If the system does not allow this, reduces the
/// number of connections.
#[cfg(unix)]
pub(super) fn make_room(limits: &mut Limits) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let wanted = limits.connections.saturating_add(OTHERS) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(maximum.map_or(wanted, |maximum| maximum.min(wanted))), maximum };
    // The next line checks the result.
    let _ = setrlimit(Resource::Nofile, raised);
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    if allowed < wanted {
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        limits.connections = allowed.saturating_sub(OTHERS).max(allowed / 4).max(1);
        tracing::warn!(
            connections = limits.connections,
            "the system allows only {allowed} open files (`ulimit -n`), so fewer connections are accepted"
        );
    }
}

/// Does nothing, since other systems have no such limit.
#[cfg(not(unix))]
pub(super) fn make_room(_limits: &mut Limits) {}
