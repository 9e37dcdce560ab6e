//! The end of a session, as servers want it, and who is at the other end.

use std::io;

use super::connection::Connection;
use super::packet::ERROR;
use super::reply::server_error;
use crate::Result;

const COM_QUIT: u8 = 0x01;

impl Connection {
    /// Ends the session as the server wants it, so that it counts no aborted client, and waits until the server has closed the
    /// connection: by then it has all but done what it does for a session. A connection that is merely dropped is closed too, but
    /// nobody knows when the server sees that.
    ///
    /// # Errors
    /// If the connection is lost already, or the server says something instead.
    pub fn quit(mut self) -> Result<()> {
        self.send_command(COM_QUIT, &[])?;
        let mut said = std::mem::take(&mut self.scratch);
        match self.packets.read(&mut said) {
            Ok(()) if said.first() == Some(&ERROR) => Err(server_error(&said).into()),
            Ok(()) => Err(self.protocol("an answer to COM_QUIT, which has none")),
            Err(source) if source.kind() == io::ErrorKind::InvalidData => Err(self.lost(source)),
            Err(_closed_as_it_should_be) => Ok(()),
        }
    }

    /// Says that the session ends, if it can still be said, and does not wait for the server.
    pub(super) fn say_goodbye(&mut self) {
        let _the_server_may_be_gone = self.send_command(COM_QUIT, &[]);
    }

    /// The process that listens at the other end of a Unix socket, as the kernel knows it; none for TCP, and none for a process
    /// that cannot be seen from here.
    pub fn peer_pid(&self) -> Option<u32> {
        self.packets.stream().peer_pid()
    }

    /// Whether it is a Unix socket, so that the server runs on this host.
    pub fn is_by_socket(&self) -> bool {
        self.packets.stream().is_ipc()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Error;
    use crate::wire::connection::tests::{answered_with, connection_over};
    use crate::wire::packet::Packets;
    use crate::wire::stream::Stream;

    #[test]
    fn a_session_is_ended_by_a_word_and_its_end_is_waited_for() {
        const END_TAKES: Duration = Duration::from_millis(20);
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut server, mut packet) = (Packets::new(Stream::unix(far)), Vec::new());
            server.read(&mut packet).unwrap();
            std::thread::sleep(END_TAKES);
            packet
        });
        let begun = Instant::now();
        connection_over(near).quit().unwrap();
        assert!(begun.elapsed() >= END_TAKES);
        assert_eq!(server.join().unwrap(), [COM_QUIT]);
    }

    #[test]
    fn what_a_server_says_instead_is_heard() {
        let killed = answered_with(&[b"\xff\xbf\x0f#HY000The client was disconnected"]).quit().unwrap_err();
        assert_eq!(killed.code(), Some(4031));
        let odd = answered_with(&[&[0, 0, 0, 2, 0, 0, 0]]).quit().unwrap_err();
        assert!(matches!(odd, Error::Protocol { .. }), "{odd}");
    }

    #[test]
    fn a_statement_that_was_not_read_to_its_end_comes_first() {
        let mut connection = answered_with(&[]);
        connection.ask("SELECT 1").unwrap();
        assert!(matches!(connection.quit(), Err(Error::Protocol { .. })));
    }

    #[test]
    fn the_process_at_the_other_end_is_known() {
        let (near, _far) = UnixStream::pair().unwrap();
        let connection = connection_over(near);
        assert_eq!(connection.peer_pid(), Some(std::process::id()));
        assert!(connection.is_by_socket());
    }
}
