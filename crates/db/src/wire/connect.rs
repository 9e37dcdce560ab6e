//! From an address to a socket that is connected, within the time and until the end of an attempt to log in.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use super::attempt::Attempt;
use super::stream::{Breaker, Stream};
use crate::options::Address;

/// The system asks a silent server so often whether it is still there. Without that a server whose host or network is gone would be
/// waited for for ever, and a firewall would forget the connection during a long ALTER TABLE.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How many of these questions may stay without answer.
const UNANSWERED: u32 = 4;

/// Connects. Of several addresses of a host name each gets the same share of the time.
pub(super) fn connect(address: &Address, attempt: &Attempt<'_>) -> io::Result<Stream> {
    let (host, port) = match address {
        Address::Socket(path) => return by_socket(path, attempt),
        Address::Tcp { host, port } => (host, *port),
    };
    let addresses = resolve(host, port, attempt)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for (tried, address) in addresses.iter().enumerate() {
        let share = attempt.left()? / (addresses.len() - tried) as u32;
        match by_tcp(*address, share, attempt) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Looks a host name up in another thread, as the system's call has no time limit of its own and cannot be ended.
fn resolve(host: &str, port: u16, attempt: &Attempt<'_>) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let (found, answer) = mpsc::channel();
    let name = host.to_owned();
    thread::Builder::new().name("resolver".into()).spawn(move || {
        // Nobody listens any more if the attempt has ended.
        let _ = found.send((name.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    })?;
    loop {
        match answer.recv_timeout(attempt.turn()?) {
            Ok(addresses) => return addresses,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the resolver ended")),
        }
    }
}

fn by_tcp(address: SocketAddr, limit: Duration, attempt: &Attempt<'_>) -> io::Result<Stream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    attempt.ends_with(Breaker::Tcp(socket.try_clone()?.into()))?;
    socket.connect_timeout(&address.into(), limit)?;
    socket.set_tcp_nodelay(true)?;
    let questions = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
    socket.set_tcp_keepalive(&questions.with_retries(UNANSWERED))?;
    Ok(Stream::tcp(socket.into()))
}

/// Where the queue of the listener is full, connect(2) waits for as long as a write may (unix(7), SO_SNDTIMEO); it cannot be ended by
/// shutdown(2), so it waits turn by turn.
fn by_socket(path: &Path, attempt: &Attempt<'_>) -> io::Result<Stream> {
    let address = SockAddr::unix(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    loop {
        socket.set_write_timeout(Some(attempt.turn()?))?;
        match socket.connect(&address) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            connected => {
                connected?;
                let stream = Stream::unix(socket.into());
                attempt.ends_with(stream.breaker()?)?;
                return Ok(stream);
            }
        }
    }
}
