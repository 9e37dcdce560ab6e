//! The byte stream under a connection: a Unix socket, TCP, or TLS over TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    pub(super) fn unix(stream: UnixStream) -> Self {
        Self::Plain(Socket { transport: Transport::Unix(stream), deadline: None })
    }

    pub(super) fn tcp(stream: TcpStream) -> Self {
        Self::Plain(Socket { transport: Transport::Tcp(stream), deadline: None })
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref(),
        }
    }

    /// Limits how long a read may wait; `None` waits for ever.
    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket().set_read_timeout(timeout)
    }

    /// Has all reads and writes end then, or no longer.
    pub(super) fn set_deadline(&mut self, deadline: Option<Deadline>) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.deadline = deadline,
            Self::Tls(stream) => stream.get_mut().deadline = deadline,
        }
        self.socket().set_read_timeout(None)?;
        self.socket().set_write_timeout(None)
    }

    /// A second handle that can break the connection from another thread.
    pub(super) fn breaker(&self) -> io::Result<Breaker> {
        match &self.socket().transport {
            Transport::Unix(stream) => stream.try_clone().map(Breaker::Unix),
            Transport::Tcp(stream) => stream.try_clone().map(Breaker::Tcp),
        }
    }

    /// The process that listens at the other end of a Unix socket, if it can be seen from here.
    pub(super) fn peer_pid(&self) -> Option<u32> {
        match &self.socket().transport {
            Transport::Unix(stream) => peer_pid(stream),
            Transport::Tcp(_) => None,
        }
    }

    pub(super) fn is_ipc(&self) -> bool {
        matches!(self.socket().transport, Transport::Unix(_))
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buf),
            Self::Tls(stream) => stream.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(buf),
            Self::Tls(stream) => stream.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A moment at which something must be done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// How much time is left, never nothing.
    ///
    /// # Errors
    /// If none is.
    pub(super) fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(too_late()) } else { Ok(left) }
    }
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the server did not answer in time")
}

/// A socket. As long as it has a deadline each call waits until then at most: a server that sends a byte a second does not get more
/// time by it.
pub(super) struct Socket {
    transport: Transport,
    deadline: Option<Deadline>,
}

enum Transport {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.transport {
            Transport::Unix(stream) => stream.set_read_timeout(timeout),
            Transport::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.transport {
            Transport::Unix(stream) => stream.set_write_timeout(timeout),
            Transport::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.set_read_timeout(Some(deadline.left()?))?;
        }
        let read = match &mut self.transport {
            Transport::Unix(stream) => stream.read(buf),
            Transport::Tcp(stream) => stream.read(buf),
        };
        read.map_err(in_words)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.set_write_timeout(Some(deadline.left()?))?;
        }
        let written = match &mut self.transport {
            Transport::Unix(stream) => stream.write(buf),
            Transport::Tcp(stream) => stream.write(buf),
        };
        written.map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // nothing is held back
    }
}

/// The sockets are blocking ones: that they would block means that they have waited as long as they may.
fn in_words(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { too_late() } else { error }
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
