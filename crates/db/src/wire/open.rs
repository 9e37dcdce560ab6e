//! How a connection is made: connected, logged in and set up within one time limit.

use std::io;
use std::thread;

use super::attempt::Attempt;
use super::connect;
use super::connection::{Connection, State};
use super::handshake::{self, Session};
use crate::options::ConnectOptions;
use crate::{Error, Result, Stop};

impl Connection {
    /// Connects, logs in, and sets what a global setting must not decide: limits of rows, transactions, safe updates. Where the options
    /// say so, proves that it is the server of the connections before. All of it together takes no longer than the options allow: as long it
    /// waits for a server that [is full](Error::is_full), too. Where it is the first connection to a node of a cluster, it then waits until the
    /// node has applied all that was committed on others.
    ///
    /// # Errors
    /// If the server is not there, refuses the login, or TLS cannot be had as asked; if it is another server; if it is behind its cluster and stays so;
    /// and if [`super::interrupt_logins`] ends it.
    pub fn open(options: &ConnectOptions) -> Result<Self> {
        open(options, None, Full::Wait, Made::Ready)
    }

    /// The same, without waiting for a server that is full.
    ///
    /// # Errors
    /// As of [`Connection::open`].
    pub fn open_if_any(options: &ConnectOptions) -> Result<Self> {
        open(options, None, Full::Refuse, Made::Ready)
    }

    /// The same as [`Connection::open`], which `stop` ends too.
    ///
    /// # Errors
    /// As of [`Connection::open`].
    pub(crate) fn open_until(options: &ConnectOptions, stop: &Stop) -> Result<Self> {
        open(options, Some(stop), Full::Wait, Made::Ready)
    }

    /// Connects and logs in; the session is as the server makes it.
    ///
    /// # Errors
    /// As of [`Connection::open`].
    pub fn log_in(options: &ConnectOptions) -> Result<Self> {
        open(options, None, Full::Wait, Made::LoggedIn)
    }
}

fn set_up(connection: &mut Connection, options: &ConnectOptions) -> Result<()> {
    connection.set_defaults()?;
    options.one_server.check(connection, options)
}

/// How a session is when it is given out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Ready,
    /// As the server makes it.
    LoggedIn,
}

/// What to do where the server gives out no more connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    Wait,
    Refuse,
}

fn open(options: &ConnectOptions, stop: Option<&Stop>, full: Full, how: Made) -> Result<Connection> {
    let attempt = Attempt::begin(options.connect_timeout, stop);
    let mut was_full = None;
    let made = loop {
        let made = log_in(options, &attempt).and_then(|mut connection| {
            if how == Made::Ready {
                set_up(&mut connection, options)?;
            }
            Ok(connection)
        });
        match made {
            Err(error) if full == Full::Wait && error.is_full() => match attempt.turn() {
                Ok(turn) => {
                    was_full = Some(error);
                    thread::sleep(turn);
                }
                Err(_) => break Err(error),
            },
            made => break made,
        }
    };
    let to = || options.address.to_string();
    let is_late = attempt.deadline().left().is_err();
    let mut connection = match made {
        _ if attempt.is_ended() => return Err(Error::Interrupted { to: to() }),
        Err(error) if is_late => return Err(was_full.unwrap_or_else(|| late(error, options))),
        made => made?,
    };
    let is_free = connection.packets.stream_mut().set_deadline(None);
    is_free.map_err(|source| connection.lost(source))?;
    if how == Made::LoggedIn {
        return Ok(connection);
    }
    match options.one_server.catch_up(&mut connection, options) {
        Err(_) if attempt.is_ended() => Err(Error::Interrupted { to: to() }),
        other => other.map(|()| connection),
    }
}

/// What an error is when the time is over.
fn late(error: Error, options: &ConnectOptions) -> Error {
    match error {
        Error::Lost { .. } | Error::Tls { .. } | Error::TlsTooOld { .. } => {
            Error::TooSlow { to: options.address.to_string(), limit: options.connect_timeout }
        }
        error => error,
    }
}

fn log_in(options: &ConnectOptions, attempt: &Attempt<'_>) -> Result<Connection> {
    let to = options.address.to_string();
    let connected = connect::connect(&options.address, attempt).and_then(|mut stream| {
        stream.set_deadline(Some(attempt.deadline()))?;
        Ok(stream)
    });
    let stream = connected.map_err(|source: io::Error| Error::Connect { to: to.clone(), source })?;
    let Session { packets, id, takes_bulk } = handshake::log_in(stream, options)?;
    Ok(Connection {
        packets,
        to,
        id,
        takes_bulk,
        in_transaction: false,
        is_tidb: None,
        state: State::Ready,
        scratch: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use mysql_common::constants::CapabilityFlags;
    use socket2::{Domain, SockAddr, Socket, Type};

    use super::super::handshake::tests::{NONCE, OK, greeting_of, listen, native, options_for};
    use super::super::packet::Packets;
    use super::super::stream::{Breaker, Stream};
    use super::*;
    use crate::options::{Address, SslMode};

    /// What a test waits for a login that must not take it.
    const SHORT: Duration = Duration::from_millis(300);
    /// Longer than any test runs.
    const LONG: Duration = Duration::from_secs(3600);

    fn options(address: Address, connect_timeout: Duration) -> ConnectOptions {
        ConnectOptions { address, connect_timeout, ..options_for(1, SslMode::Preferred) }
    }

    fn local(port: u16) -> Address {
        Address::Tcp { host: "127.0.0.1".into(), port }
    }

    /// A listener whose queue is full, so that whoever connects waits; it is full as long as the second is there.
    fn full(domain: Domain, address: &SockAddr) -> (Socket, Vec<Socket>) {
        let listener = Socket::new(domain, Type::STREAM, None).unwrap();
        listener.bind(address).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        loop {
            let client = Socket::new(domain, Type::STREAM, None).unwrap();
            client.set_nonblocking(true).unwrap();
            let is_full = match client.connect(&address) {
                Ok(()) => false,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
                // TCP: a place in the queue is one after it was answered.
                Err(_) => !becomes_writable(&client),
            };
            waiting.push(client);
            if is_full {
                return (listener, waiting);
            }
        }
    }

    fn becomes_writable(client: &Socket) -> bool {
        let tries = 0..20;
        tries.into_iter().any(|_| {
            thread::sleep(Duration::from_millis(5));
            client.peer_addr().is_ok()
        })
    }

    fn full_tcp() -> (u16, (Socket, Vec<Socket>)) {
        let any: std::net::SocketAddr = ([127, 0, 0, 1], 0).into();
        let held = full(Domain::IPV4, &any.into());
        let port = held.0.local_addr().unwrap().as_socket().unwrap().port();
        (port, held)
    }

    fn full_socket(name: &str) -> (PathBuf, (Socket, Vec<Socket>)) {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let held = full(Domain::UNIX, &SockAddr::unix(&path).unwrap());
        (path, held)
    }

    /// Plays a server with `serve` for a login that gets `time`.
    fn opened(time: Duration, serve: impl FnOnce(TcpStream) + Send) -> Result<Connection> {
        let (listener, port) = listen();
        thread::scope(|scope| {
            scope.spawn(move || serve(listener.accept().unwrap().0));
            Connection::open(&options(local(port), time))
        })
    }

    fn assert_too_slow(result: Result<Connection>) {
        match result {
            Err(error @ Error::TooSlow { .. }) => {
                assert!(error.hint().unwrap().contains("--connect-timeout"));
            }
            // A machine that is very busy comes no further in that time.
            Err(Error::Connect { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {}
            other => panic!("{other:?}"),
        }
    }

    fn until_closed(mut stream: TcpStream) {
        let _all = stream.read_to_end(&mut Vec::new());
    }

    #[test]
    fn a_server_that_says_nothing_is_given_up() {
        assert_too_slow(opened(SHORT, until_closed));
    }

    #[test]
    fn a_byte_now_and_then_gives_no_more_time() {
        assert_too_slow(opened(SHORT, |mut stream| {
            // A greeting of 32 KiB.
            let mut bytes = [0, 0x80, 0, 0].into_iter().chain(std::iter::repeat(b'x'));
            while stream.write_all(&[bytes.next().unwrap()]).is_ok() {
                thread::sleep(SHORT / 10);
            }
        }));
    }

    #[test]
    fn a_tls_handshake_has_no_time_of_its_own() {
        assert_too_slow(opened(SHORT, |stream| {
            let mut packets = Packets::new(Stream::tcp(stream.try_clone().unwrap()));
            packets.write(&greeting_of("mysql_native_password", CapabilityFlags::CLIENT_SSL)).unwrap();
            until_closed(stream);
        }));
    }

    #[test]
    fn nor_has_what_is_set_after_the_login() {
        assert_too_slow(opened(SHORT, |stream| {
            let mut packets = Packets::new(Stream::tcp(stream.try_clone().unwrap()));
            packets.write(&native()).unwrap();
            packets.read(&mut Vec::new()).unwrap();
            packets.write(OK).unwrap();
            until_closed(stream);
        }));
    }

    #[test]
    fn a_server_that_asks_for_ever_is_not_answered_for_ever() {
        let switch = [b"\xfemysql_native_password\0", &NONCE[..], b"\0"].concat();
        let more = [b"\x01", &NONCE[..]].concat();
        for asks in [switch, more] {
            let result = opened(LONG, |stream| {
                let mut packets = Packets::new(Stream::tcp(stream));
                packets.write(&native()).unwrap();
                while packets.read(&mut Vec::new()).is_ok() && packets.write(&asks).is_ok() {}
            });
            assert!(matches!(result, Err(Error::Protocol { .. })), "{result:?}");
        }
    }

    #[test]
    fn connecting_has_no_time_of_its_own() {
        let (port, _held) = full_tcp();
        let (path, _held_too) = full_socket("full");
        for address in [local(port), Address::Socket(path.clone())] {
            let result = Connection::open(&options(address, SHORT));
            assert!(matches!(result, Err(Error::Connect { .. })), "{result:?}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_session_that_is_logged_in_has_no_deadline() {
        let (listener, port) = listen();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut packets = Packets::new(Stream::tcp(listener.accept().unwrap().0));
                packets.write(&native()).unwrap();
                for _ in ["the login", "the settings", "a statement"] {
                    packets.read(&mut Vec::new()).unwrap();
                    packets.write(OK).unwrap();
                    packets.new_command();
                }
            });
            let mut connection = Connection::open(&options(local(port), LONG)).unwrap();
            connection.execute("DO 1").unwrap();
            let Breaker::Tcp(socket) = connection.breaker().unwrap() else { panic!("not TCP") };
            assert_eq!((socket.read_timeout().unwrap(), socket.write_timeout().unwrap()), (None, None));
        });
    }

    /// It may wait in any of these places.
    #[test]
    fn a_stop_ends_a_login_wherever_it_is() {
        let (silent, silent_port) = listen();
        let (port, _held) = full_tcp();
        let (path, _held_too) = full_socket("stopped");
        for address in [local(silent_port), local(port), Address::Socket(path.clone())] {
            let stop = Arc::<Stop>::default();
            let options = options(address, LONG);
            thread::scope(|scope| {
                let waits = scope.spawn(|| stop.connect(&options).map(|(connection, _)| connection));
                while stop.watched() == 0 {
                    thread::yield_now();
                }
                stop.request();
                let result = waits.join().unwrap();
                assert!(matches!(result, Err(Error::Interrupted { .. })), "{result:?}");
            });
            // What is begun after it ends too.
            assert!(matches!(stop.connect(&options), Err(Error::Interrupted { .. })));
        }
        drop::<TcpListener>(silent);
        std::fs::remove_file(path).unwrap();
    }
}
