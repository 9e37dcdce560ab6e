//! Waits until a server takes clients.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Error;
use crate::log::{ErrorLog, SHOWN_LINES};
use crate::process::{ProcessState, ServerProcess};

const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
/// The socket accepts before the server greets: it may still be loading its grant tables.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);
/// A handshake packet is a 3-byte length, a sequence number and then the protocol's version, which has been 10 since
/// MySQL 3.21 (`Protocol::HandshakeV10`). An error packet has 0xff there.
const HEADER: usize = 4;
const PROTOCOL_10: u8 = 0x0a;

/// Returns when the server at `socket` has greeted; at once with an error if it ends, or after 60 s.
pub(crate) fn wait(process: &ServerProcess, socket: &Path, port: u16, log: &ErrorLog) -> Result<(), Error> {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        if process.state() == ProcessState::Gone {
            return Err(early_exit(port, log));
        }
        if greets(socket) {
            return Ok(());
        }
        sleep(POLL);
    }
    let log_tail = log.tail(SHOWN_LINES);
    Err(Error::NotReady { seconds: TIMEOUT.as_secs(), log: log.path(), log_tail })
}

fn greets(socket: &Path) -> bool {
    let mut greeting = [0; HEADER + 1];
    let read = UnixStream::connect(socket).and_then(|mut stream| {
        stream.set_read_timeout(Some(GREETING_TIMEOUT))?;
        stream.read_exact(&mut greeting)
    });
    read.is_ok() && greeting[HEADER] == PROTOCOL_10
}

/// Both vendors say `Can't start server: Bind on TCP/IP port` (`Address already in use`), in sql/conn_handler/
/// socket_connection.cc and in sql/mysqld.cc.
fn early_exit(port: u16, log: &ErrorLog) -> Error {
    let log_tail = log.tail(SHOWN_LINES);
    let log_path = log.path();
    if log_tail.contains("Bind on TCP/IP port") {
        return Error::PortTaken { port, log: log_path, log_tail };
    }
    Error::ExitedEarly { log: log_path, log_tail }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_a_protocol_10_greeting_counts() {
        let dir = tempfile::tempdir().unwrap();
        for (index, (packet, expected)) in [
            (&b"\x4a\0\0\0\x0a9.7.4"[..], true),
            (&b"\x10\0\0\0\xff\x10\x04Too many"[..], false),
            (&b""[..], false),
        ]
        .into_iter()
        .enumerate()
        {
            let socket = dir.path().join(index.to_string());
            let listener = UnixListener::bind(&socket).unwrap();
            let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(packet).unwrap());
            assert_eq!(greets(&socket), expected);
            server.join().unwrap();
        }
        assert!(!greets(&dir.path().join("none")));
    }
}
