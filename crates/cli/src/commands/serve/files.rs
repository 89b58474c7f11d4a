//! The limit on open files of this process; each connection is one.

use attentive_base::platform;
use attentive_server::Limits;

/// The number of files besides connections: models, the log, sockets, and connections for monitoring beyond
/// the limit.
const OTHERS: usize = 192;

/// Raises the limit to what the connections of `limits` need. If the system does not allow this, reduces the
/// number of connections.
pub(super) fn make_room(limits: &mut Limits) {
    let wanted = limits.connections.saturating_add(OTHERS) as u64;
    let Some(allowed) = platform::allow_open_files(wanted).filter(|allowed| *allowed < wanted) else {
        return;
    };
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
    limits.connections = allowed.saturating_sub(OTHERS).max(allowed / 4).max(1);
    tracing::warn!(
        connections = limits.connections,
        "the system allows only {allowed} open files (`ulimit -n`), so fewer connections are accepted"
    );
}
