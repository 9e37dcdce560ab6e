//! Sockets in which little can hide: what the link has no room for is to stay with the sender, who is to notice.
//!
//! All of it is set before a connection is made, since it decides what the other side is told in the handshake, and a connection that
//! is accepted has what its listener had.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use super::settings::LinkSettings;

/// What a buffer holds, as time at the link's rate, and its limits in bytes. The kernel doubles it, for what it needs itself, and then
/// leaves it so (socket(7)): else it would let it grow to the megabytes of `net.ipv4.tcp_rmem` and `tcp_wmem`.
const BUFFER: Duration = Duration::from_millis(1);
const MIN_BUFFER: usize = 4 << 10;
const MAX_BUFFER: usize = 64 << 10;

/// The largest segment, as on Ethernet. A sender's buffer, which is not ours to set, is made for so many segments as may be on their way
/// at once, twice (`tcp_sndbuf_expand` in net/ipv4/tcp_input.c): with the loopback's, of 64 KiB, it is 2.5 MB from the start; with
/// these, and as little in our own buffer, 0.15 MB up to 20 Mbit/s and 0.5 MB at 100 Mbit/s.
const SEGMENT: u32 = 1460;

/// Connections that may wait to be accepted, as they do while the link is down.
const BACKLOG: i32 = 128;

/// Listens on 127.0.0.1; port 0 takes a free one.
pub(super) fn listen(port: u16, settings: &LinkSettings) -> io::Result<TcpListener> {
    let socket = small(settings)?;
    // A link that was killed comes back to its port while connections of before still linger there.
    socket.set_reuse_address(true)?;
    socket.bind(&address(port).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Connects to a port on 127.0.0.1.
pub(super) fn connect(port: u16, settings: &LinkSettings) -> io::Result<TcpStream> {
    let socket = small(settings)?;
    socket.connect(&address(port).into())?;
    Ok(socket.into())
}

pub(super) fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn small(settings: &LinkSettings) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    let buffer = (settings.bytes_in(BUFFER) as usize).clamp(MIN_BUFFER, MAX_BUFFER);
    socket.set_recv_buffer_size(buffer)?;
    socket.set_send_buffer_size(buffer)?;
    socket.set_tcp_mss(SEGMENT)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}
