//! Connects whoever connects with the source, over a link.
//!
//! ```text
//!            one thread                                    another one
//! sender ──► depart: room? read a piece, pace it ──► Flight ──► arrive: wait for its time, write it ──► receiver
//! ```
//! Each connection has that twice, one for each way. What cannot enter the link is not read, and the buffers are small
//! (`socket.rs`), so that a sender soon waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::flight::{Flight, Piece};
use super::pacer::{MAX_PIECE, Pacer};
use super::settings::{LinkSettings, lock};
use super::socket;
use crate::Error;

/// After a connection that failed, so that one that always fails costs little.
const PAUSE: Duration = Duration::from_millis(10);

/// A link that threads of this process carry. Dropping it breaks all connections.
#[derive(Debug)]
pub(super) struct Forwarder {
    port: u16,
    listener: Arc<TcpListener>,
    wire: Arc<Wire>,
    acceptor: Option<JoinHandle<()>>,
}

/// Starts one that leads from a port (0: any) to the source's.
pub(super) fn listening(port: u16, source_port: u16, settings: LinkSettings) -> Result<Forwarder, Error> {
    let address = socket::address(port).to_string();
    Forwarder::start(port, source_port, settings).map_err(Error::io("listen on", Path::new(&address)))
}

impl Forwarder {
    fn start(port: u16, source_port: u16, settings: LinkSettings) -> io::Result<Self> {
        let listener = Arc::new(socket::listen(port, &settings)?);
        let port = listener.local_addr()?.port();
        let [to_source, to_replica] = [(); 2].map(|()| Pacer::new(settings));
        let wire = Arc::new(Wire { source_port, to_source, to_replica, open: Mutex::default() });
        let (accepting, accepts) = (Arc::clone(&wire), Arc::clone(&listener));
        let acceptor = thread::Builder::new().spawn(move || accepting.accept(&accepts))?;
        Ok(Self { port, listener, wire, acceptor: Some(acceptor) })
    }

    /// The port that it listens on.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Changes the link at once, for all connections.
    pub(super) fn set(&self, settings: LinkSettings) {
        self.wire.pacers().iter().for_each(|pacer| pacer.set(settings));
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.wire.pacers().iter().for_each(|pacer| pacer.close());
        // Wakes the acceptor, and nobody gets in any more, though a process that is just being started may have a copy of the listener
        // until its execve(2).
        let _does_listen = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        if let Some(acceptor) = self.acceptor.take() {
            let _it_has_no_result = acceptor.join();
        }
        // No connection is added any more.
        lock(&self.wire.open).iter().filter_map(Weak::upgrade).for_each(|connection| connection.cut());
    }
}

/// What all connections share.
#[derive(Debug)]
struct Wire {
    source_port: u16,
    to_source: Pacer,
    to_replica: Pacer,
    /// Those that have not ended, and some that have.
    open: Mutex<Vec<Weak<Connection>>>,
}

#[derive(Debug)]
struct Connection {
    replica: TcpStream,
    source: TcpStream,
}

impl Connection {
    /// Ends both sides at once, and wakes whoever waits for one.
    fn cut(&self) {
        for end in [&self.replica, &self.source] {
            let _may_be_gone = end.shutdown(Shutdown::Both);
        }
    }
}

impl Wire {
    fn pacers(&self) -> [&Pacer; 2] {
        [&self.to_source, &self.to_replica]
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for replica in listener.incoming() {
            // Over a link that is down nobody gets to the source.
            if self.to_source.send(0).is_none() {
                return;
            }
            match replica.and_then(|replica| self.connect(replica)) {
                Ok(connection) => self.open(connection),
                // Who has connected finds that it was in vain, as if there were no forwarder.
                Err(_) => sleep(PAUSE),
            }
        }
    }

    fn connect(&self, replica: TcpStream) -> io::Result<Connection> {
        replica.set_nodelay(true)?;
        let source = socket::connect(self.source_port, &self.to_replica.settings())?;
        Ok(Connection { replica, source })
    }

    fn open(self: &Arc<Self>, connection: Connection) {
        let (wire, connection) = (Arc::clone(self), Arc::new(connection));
        let mut open = lock(&self.open);
        open.retain(|connection| connection.strong_count() > 0);
        open.push(Arc::downgrade(&connection));
        drop(open);
        thread::spawn(move || wire.carry(&connection));
    }

    /// Returns when the connection has ended in both directions.
    fn carry(&self, connection: &Connection) {
        let Connection { replica, source } = connection;
        let flights = [(); 2].map(|()| Flight::default());
        let ways = [(replica, source, &self.to_source), (source, replica, &self.to_replica)];
        thread::scope(|scope| {
            for ((from, to, pacer), flight) in ways.into_iter().zip(&flights) {
                scope.spawn(move || depart(from, pacer, flight));
                scope.spawn(move || {
                    if !arrive(flight, to) {
                        flight.end();
                        connection.cut();
                    }
                });
            }
        });
    }
}

/// Takes from the sender what the link can carry, until the sender ends or it is over.
fn depart(from: &TcpStream, pacer: &Pacer, flight: &Flight) {
    let mut buffer = vec![0; MAX_PIECE];
    while flight.wait_for_room(pacer.room()) {
        let length = read(from, &mut buffer[..pacer.piece()]);
        let Some(arrival) = pacer.send(length) else { return flight.end() };
        flight.push(Piece { arrival, bytes: buffer[..length].to_vec() });
        if length == 0 {
            return;
        }
    }
}

/// A connection that broke has ended.
fn read(mut from: &TcpStream, buffer: &mut [u8]) -> usize {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.unwrap_or(0),
        }
    }
}

/// Gives the receiver what arrives. Says whether that went well to the sender's end.
fn arrive(flight: &Flight, mut to: &TcpStream) -> bool {
    while let Some(piece) = flight.pop() {
        sleep(piece.arrival.saturating_duration_since(Instant::now()));
        if piece.bytes.is_empty() {
            return to.shutdown(Shutdown::Write).is_ok();
        }
        if to.write_all(&piece.bytes).is_err() {
            return false;
        }
    }
    false
}

/// On real sockets, in real time.
#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 125_000;

    /// A connection over a link.
    struct Ends {
        forwarder: Forwarder,
        listener: TcpListener,
        replica: TcpStream,
        source: TcpStream,
    }

    fn connect(settings: LinkSettings) -> Ends {
        let listener = TcpListener::bind(socket::address(0)).unwrap();
        let forwarder = Forwarder::start(0, listener.local_addr().unwrap().port(), settings).unwrap();
        let replica = TcpStream::connect(socket::address(forwarder.port())).unwrap();
        let source = listener.accept().unwrap().0;
        Ends { forwarder, listener, replica, source }
    }

    fn of_rate(rate: u64) -> LinkSettings {
        LinkSettings::of_rate(rate)
    }

    /// How long the link takes for two seconds' bytes, as a share of two seconds; the delay does not count.
    fn share_of_time(settings: LinkSettings, mut from: &TcpStream, mut to: &TcpStream) -> f64 {
        let sent = vec![1; 2 * settings.rate as usize];
        let mut received = vec![0; sent.len()];
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| from.write_all(&sent).unwrap());
            to.read_exact(&mut received).unwrap();
        });
        (start.elapsed() - settings.delay).as_secs_f64() / 2.0
    }

    /// In both directions at the same time. The link is never faster, by more than a burst. A machine that has no time for it for
    /// longer than a burst makes it slower: several tries.
    fn assert_rate_is_kept(settings: LinkSettings) {
        let mut tried = Vec::new();
        while tried.len() < 30 {
            let Ends { forwarder: _lives, replica, source, .. } = &connect(settings);
            let shares = thread::scope(|scope| {
                let way = |from, to| scope.spawn(move || share_of_time(settings, from, to));
                [way(replica, source), way(source, replica)].map(|way| way.join().unwrap())
            });
            assert!(shares.iter().all(|share| *share > 0.98), "{shares:?} of the time");
            if shares.iter().all(|share| *share < 1.02) {
                return;
            }
            tried.push(shares);
        }
        panic!("{tried:?} of the time");
    }

    #[test]
    fn both_directions_have_the_rate_that_was_asked_for() {
        assert_rate_is_kept(of_rate(20 * MBIT));
    }

    #[test]
    fn a_delay_costs_no_rate() {
        assert_rate_is_kept(LinkSettings { delay: Duration::from_millis(100), ..of_rate(20 * MBIT) });
    }

    #[test]
    fn bytes_come_out_evenly() {
        let ends = connect(of_rate(8 * MBIT));
        let mut buffer = vec![0; MAX_PIECE];
        let (mut from, mut to) = (&ends.source, &ends.replica);
        let sent = vec![7; 600_000];
        let mut arrived = Vec::new();
        // Before the first byte is sent: what waits while this thread does not run is no burst.
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| from.write_all(&sent).unwrap());
            let mut bytes = 0;
            while bytes < sent.len() {
                bytes += to.read(&mut buffer).unwrap();
                arrived.push((start.elapsed().as_secs_f64(), bytes as f64));
            }
        });
        // At no moment is more there than a burst beyond the rate: 20,000 bytes.
        let ahead = arrived.iter().map(|(time, bytes)| bytes - time * 1_000_000.0).fold(0.0, f64::max);
        assert!(ahead < 21_000.0, "{ahead} bytes early");
        // 120 pieces enter the link. Those that come while this thread does not run are taken together.
        assert!(arrived.len() > 15, "600,000 bytes in {} pieces", arrived.len());
    }

    #[test]
    fn a_byte_takes_its_delay_in_each_direction() {
        let delay = Duration::from_millis(40);
        let ends = connect(LinkSettings { delay, ..of_rate(100 * MBIT) });
        let (mut replica, mut source) = (&ends.replica, &ends.source);
        let mut there_and_back = || {
            let (start, mut byte) = (Instant::now(), [0]);
            replica.write_all(&[1]).unwrap();
            source.read_exact(&mut byte).unwrap();
            let there = start.elapsed();
            source.write_all(&[2]).unwrap();
            replica.read_exact(&mut byte).unwrap();
            assert!(there >= delay && start.elapsed() >= 2 * delay, "{there:?}, {:?}", start.elapsed());
            start.elapsed()
        };
        // A busy machine adds to it, but not always.
        let is_exact = |took: Duration| took < 2 * delay + Duration::from_millis(10);
        assert!((0..50).any(|_| is_exact(there_and_back())), "more than 10 ms too late every time");
    }

    #[test]
    fn a_sender_waits_where_the_receiver_does() {
        let delay = Duration::from_millis(20);
        let ends = connect(LinkSettings { delay, ..of_rate(20 * MBIT) });
        let mut source = &ends.source;
        source.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut hidden = 0;
        while let Ok(bytes) = source.write(&[1; 16 << 10]) {
            hidden += bytes;
        }
        // 100 KB are on their way, during the delay and a burst; the rest lies in the sender's and the receiver's own buffers.
        assert!((100_000..1_000_000).contains(&hidden), "{hidden} bytes are in nobody's hands");
    }

    #[test]
    fn all_bytes_arrive_in_order_and_then_the_end() {
        let ends = connect(of_rate(100 * MBIT));
        let (mut replica, mut source) = (&ends.replica, &ends.source);
        let numbers: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        thread::scope(|scope| {
            let sent = &numbers;
            scope.spawn(move || {
                source.write_all(sent).unwrap();
                source.shutdown(Shutdown::Write).unwrap();
            });
            let mut received = Vec::new();
            replica.read_to_end(&mut received).unwrap();
            assert!(received == numbers);
        });
        // The other direction is still open.
        replica.write_all(b"thanks").unwrap();
        replica.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        source.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "thanks");
    }

    /// Whether nothing is there to be read, now and for a while.
    fn is_silent(mut from: &TcpStream) -> bool {
        from.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let read = from.read(&mut [0; 8]);
        from.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn a_link_that_was_down_goes_on_where_it_was() {
        let mut ends = connect(of_rate(100 * MBIT));
        ends.forwarder.set(LinkSettings { is_down: true, ..of_rate(100 * MBIT) });
        ends.replica.write_all(b"late").unwrap();
        let another = TcpStream::connect(socket::address(ends.forwarder.port())).unwrap();
        assert!(is_silent(&ends.source));
        ends.listener.set_nonblocking(true).unwrap();
        assert!(ends.listener.accept().is_err(), "nobody gets through");

        ends.forwarder.set(of_rate(100 * MBIT));
        let mut late = [0; 4];
        ends.source.read_exact(&mut late).unwrap();
        assert_eq!(&late, b"late");
        ends.listener.set_nonblocking(false).unwrap();
        ends.listener.accept().unwrap();
        drop(another);
    }

    #[test]
    fn another_rate_holds_at_once() {
        let ends = connect(of_rate(10_000));
        let (mut source, mut replica) = (&ends.source, &ends.replica);
        thread::scope(|scope| {
            scope.spawn(move || source.write_all(&[1; 100_000]).unwrap());
            assert!(replica.read(&mut [0; 100]).unwrap() > 0);
            let start = Instant::now();
            ends.forwarder.set(of_rate(100 * MBIT));
            replica.read_exact(&mut [0; 90_000]).unwrap();
            assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        });
    }

    #[test]
    fn a_side_that_is_gone_takes_the_other_along() {
        let Ends { forwarder: _forwarder, mut replica, source, .. } = connect(of_rate(100 * MBIT));
        drop(source);
        assert_eq!(replica.read(&mut [0; 8]).unwrap(), 0);
        // The first bytes make the forwarder notice.
        let start = Instant::now();
        while replica.write_all(b"anybody?").is_ok() {
            assert!(start.elapsed() < Duration::from_secs(10));
            sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn without_a_source_a_connection_ends_at_once() {
        let nobody = TcpListener::bind(socket::address(0)).unwrap().local_addr().unwrap().port();
        let forwarder = Forwarder::start(0, nobody, of_rate(MBIT)).unwrap();
        for _ in 0..2 {
            let mut replica = TcpStream::connect(socket::address(forwarder.port())).unwrap();
            replica.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            assert_eq!(replica.read(&mut [0; 8]).unwrap_or(0), 0);
        }
    }

    #[test]
    fn a_dropped_link_breaks_its_connections_and_frees_its_port() {
        for is_down in [false, true] {
            let Ends { forwarder, mut replica, mut source, .. } = connect(of_rate(MBIT));
            forwarder.set(LinkSettings { is_down, ..of_rate(MBIT) });
            let port = forwarder.port();
            drop(forwarder);
            for end in [&mut replica, &mut source] {
                end.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                assert_eq!(end.read(&mut [0; 8]).unwrap(), 0);
            }
            listening(port, 1, of_rate(MBIT)).unwrap();
        }
    }

    #[test]
    fn a_dropped_link_takes_nobody_whoever_has_a_copy_of_its_listener() {
        let forwarder = Forwarder::start(0, 1, of_rate(MBIT)).unwrap();
        let (port, _copy) = (forwarder.port(), forwarder.listener.try_clone().unwrap());
        drop(forwarder);
        let error = TcpStream::connect(socket::address(port)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        listening(port, 1, of_rate(MBIT)).unwrap();
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let holder = TcpListener::bind(socket::address(0)).unwrap();
        let port = holder.local_addr().unwrap().port();
        let error = listening(port, 1, of_rate(MBIT)).unwrap_err().to_string();
        assert!(
            error.contains(&format!("127.0.0.1:{port}")) && error.contains("Address already in use"),
            "{error}"
        );
    }
}
