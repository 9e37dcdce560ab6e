//! The byte stream under a connection: a Unix socket, TCP, or TLS over TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::options::Address;

pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects; each address that a host name resolves to is tried for `timeout`.
    pub(super) fn connect(address: &Address, timeout: Duration) -> io::Result<Self> {
        match address {
            Address::Socket(path) => UnixStream::connect(path).map(Self::Unix),
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            keep_alive(&stream)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Limits how long a read may wait; `None` waits for ever.
    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Tls(stream) => stream.get_ref().set_read_timeout(timeout),
        }
    }

    /// A second handle that can break the connection from another thread.
    pub(super) fn breaker(&self) -> io::Result<Breaker> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Breaker::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Breaker::Tcp),
            Self::Tls(stream) => stream.get_ref().try_clone().map(Breaker::Tcp),
        }
    }

    /// The process that listens at the other end of a Unix socket, if it can be seen from here.
    pub(super) fn peer_pid(&self) -> Option<u32> {
        match self {
            Self::Unix(stream) => peer_pid(stream),
            Self::Tcp(_) | Self::Tls(_) => None,
        }
    }

    pub(super) fn is_ipc(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buf),
            Self::Tcp(stream) => stream.read(buf),
            Self::Tls(stream) => stream.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(buf),
            Self::Tcp(stream) => stream.write(buf),
            Self::Tls(stream) => stream.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.flush(),
            Self::Tcp(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// Has the system ask a silent server every 30 s whether it is still there. Without that a server whose host or network
/// is gone would be waited for for ever, and a firewall would forget the connection during a long ALTER TABLE.
#[allow(unsafe_code)]
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    // Idle seconds before the first question, seconds between questions, and how many may stay without answer.
    #[cfg(target_os = "linux")]
    const OPTIONS: [(libc::c_int, libc::c_int, libc::c_int); 4] = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 30),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 30),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
    ];
    #[cfg(not(target_os = "linux"))]
    const OPTIONS: [(libc::c_int, libc::c_int, libc::c_int); 1] = [(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)];
    for (level, name, value) in OPTIONS {
        // SAFETY: setsockopt(2) reads one int, of the size that is given; the descriptor is open as long as `stream`.
        let result = unsafe {
            let size = size_of_val(&value) as libc::socklen_t;
            libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const value).cast(), size)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Who called listen(2) on the other end, by SO_PEERCRED (unix(7)); 0 stands for a process of another PID namespace.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn peer_pid(stream: &UnixStream) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: getsockopt(2) writes one ucred, of the size that is given; the descriptor is open as long as `stream`.
    let result = unsafe {
        let option = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, option, &raw mut size)
    };
    u32::try_from(peer.pid).ok().filter(|pid| result == 0 && *pid > 0)
}

#[cfg(not(target_os = "linux"))]
fn peer_pid(_stream: &UnixStream) -> Option<u32> {
    None
}

/// Breaks a connection from another thread, so that a read or write that waits on it ends with an error at once.
#[derive(Debug)]
pub enum Breaker {
    /// Of a Unix socket.
    Unix(UnixStream),
    /// Of a TCP connection, with or without TLS.
    Tcp(TcpStream),
}

impl Breaker {
    /// Breaks it. That it is broken already is no error.
    pub fn break_connection(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}
