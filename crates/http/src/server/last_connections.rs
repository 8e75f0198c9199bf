//! How a listener is closed without the loss of a connection.
//!
//! **What.** When a listening socket is closed, the system resets the connections in its accept queue, and
//! those whose handshake is under way. Their clients are connected, and may have sent a request. So the
//! socket first drops the packets that would begin a handshake (a packet filter, socket(7)), and stays
//! open until those that had begun are accepted.
//!
//! **What it buys.** Each client that is connected when the service is stopped gets its answer. With the
//! queue accepted and no filter, some of those who connect at that moment would be reset.
//!
//! **What it costs.** Who connects while the socket is still open is refused a second later than at once,
//! when the client's system tries again. Only Linux has such filters: elsewhere the connections of that
//! moment may be reset. The filter stays with the socket, so it is not used on one that other processes
//! have too.

use std::time::Duration;

use tokio::net::TcpListener;

/// How long a handshake may take that has begun: on one network it takes less. Who connects meanwhile
/// waits, so this is short.
pub(super) const HANDSHAKE: Duration = Duration::from_millis(5);

/// Lets no further handshake with `listener` begin.
#[cfg(target_os = "linux")]
pub(super) fn refuse_handshakes(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};

    /// Where the flags are in the header of a TCP packet (RFC 9293, section 3.1).
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    // Instructions of the classic packet filter: <linux/bpf_common.h>.
    let load_byte = |at| SockFilter::new(0x30, 0, 0, at);
    let and = |bits| SockFilter::new(0x54, 0, 0, bits);
    let skip_unless_equal = |value| SockFilter::new(0x15, 0, 1, value);
    let accept_bytes = |count| SockFilter::new(0x06, 0, 0, count);
    let program = [
        load_byte(FLAGS),
        and(SYN | ACK),
        skip_unless_equal(SYN),
        accept_bytes(0),
        accept_bytes(u32::MAX),
    ];
    if let Err(error) = SockRef::from(listener).attach_filter(&program) {
        tracing::warn!(%error, "connections that are made at this moment may be reset");
    }
}

/// Lets no further handshake with `listener` begin, where the system can do so.
#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_handshakes(_: &TcpListener) {}
