//! The door of the web server: how many connections there may be, and how long one may keep its place without using it. Whoever sends a
//! request a byte at a time, or listens and reads nothing, would have it for ever.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// What a server sends ahead of a reader. The kernel's own would hide for minutes that nobody reads a page that is live.
const SEND_BUFFER: u32 = 64 << 10;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// So many may be open; others wait to be accepted.
    pub(crate) connections: usize,
    /// From the first byte of a request to the first one of its answer; and from the beginning to a first request.
    pub(crate) request: Duration,
    /// So long a reader may take nothing of what is sent to it.
    pub(crate) unread: Duration,
    /// Between two requests.
    pub(crate) idle: Duration,
}

impl Limits {
    pub(crate) const DEFAULT: Self = Self {
        connections: 512,
        request: Duration::from_secs(10),
        unread: Duration::from_secs(10),
        idle: Duration::from_secs(60),
    };
}

/// Lets connections in.
pub(crate) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
    limits: Limits,
}

impl Door {
    /// Listens there. To be called within a runtime.
    pub(crate) fn open(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        Ok(Self { listener, places: Arc::new(Semaphore::new(limits.connections)), limits })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl axum::serve::Listener for Door {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        /// Descriptors may be used up.
        const PAUSE: Duration = Duration::from_millis(100);
        loop {
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                return std::future::pending().await; // never: nobody closes the semaphore
            };
            match self.listener.accept().await {
                Ok((stream, address)) => return (Guest::new(stream, place, self.limits), address),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address()
    }
}

/// A connection that was let in.
pub(crate) struct Guest {
    stream: TcpStream,
    limits: Limits,
    /// Since when a request is under way that was not answered.
    asked: Option<Instant>,
    /// Since when nothing of an answer is taken.
    unread: Option<Instant>,
    /// When something was sent or received last.
    moved: Instant,
    alarm: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Guest {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit, limits: Limits) -> Self {
        let now = Instant::now();
        let alarm = Box::pin(sleep_until(now + limits.request));
        Self { stream, limits, asked: Some(now), unread: None, moved: now, alarm, _place: place }
    }

    /// Whether it has to leave; if not, the task is woken when it has.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let Limits { request, unread, idle, .. } = self.limits;
        let ends = [self.asked.map(|at| at + request), self.unread.map(|at| at + unread)];
        let end = ends.into_iter().flatten().fold(self.moved + idle, Instant::min);
        if self.alarm.deadline() != end {
            self.alarm.as_mut().reset(end);
        }
        self.alarm.as_mut().poll(context).is_ready()
    }

    fn late<T>() -> Poll<io::Result<T>> {
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() && buffer.filled().len() > before {
            self.moved = Instant::now();
            self.asked = self.asked.or(Some(self.moved));
        }
        if read.is_pending() && self.is_late(context) {
            return Self::late();
        }
        read
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        let now = Instant::now();
        self.asked = None;
        if written.is_ready() {
            (self.moved, self.unread) = (now, None);
            return written;
        }
        self.unread = self.unread.or(Some(now));
        if self.is_late(context) { Self::late() } else { written }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(ready!(Pin::new(&mut self.stream).poll_shutdown(context)))
    }
}

/// On real sockets, in real time: each waits for what is to come, however long that takes.
#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream as Client;

    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use futures_util::stream;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    struct Site {
        address: SocketAddr,
        places: Arc<Semaphore>,
        _runtime: tokio::runtime::Runtime,
    }

    impl Site {
        fn open(limits: Limits) -> Self {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            let door =
                runtime.block_on(async { Door::open("127.0.0.1:0".parse().unwrap(), limits) }).unwrap();
            let (address, places) = (door.address().unwrap(), Arc::clone(&door.places));
            let endless = || async {
                let pieces = stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096])));
                Body::from_stream(pieces)
            };
            let router = Router::new().route("/", get(|| async { "hello" })).route("/endless", get(endless));
            runtime.spawn(axum::serve(door, router).into_future());
            Self { address, places, _runtime: runtime }
        }

        fn connect(&self, text: &str) -> Client {
            let mut client = Client::connect(self.address).unwrap();
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            client.write_all(text.as_bytes()).unwrap();
            client
        }
    }

    fn brief() -> Limits {
        let long = Duration::from_secs(3600);
        Limits { connections: 2, request: long, unread: long, idle: long }
    }

    fn ends(mut client: Client) -> String {
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_request_that_never_ends_is_ended() {
        let site = Site::open(Limits { request: Duration::from_millis(300), ..brief() });
        for part in ["", "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
            assert_eq!(ends(site.connect(part)), "");
        }
        let whole = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert!(ends(site.connect(whole)).ends_with("hello"));
    }

    #[test]
    fn who_is_idle_makes_room() {
        let site = Site::open(Limits { idle: Duration::from_millis(300), ..brief() });
        let whole = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let stay: Vec<_> = (0..5).map(|_| site.connect(whole)).collect();
        for client in stay {
            assert!(ends(client).ends_with("hello"), "the last ones wait until the first ones have gone");
        }
    }

    #[test]
    fn who_reads_nothing_makes_room() {
        let site = Site::open(Limits { unread: Duration::from_millis(300), ..brief() });
        let deaf: Vec<_> = (0..2).map(|_| site.connect("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")).collect();
        let whole = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert!(ends(site.connect(whole)).ends_with("hello"));
        let until = Instant::now() + PATIENCE;
        while site.places.available_permits() < 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(site.places.available_permits() >= 1);
        drop(deaf);
    }
}
