//! What stands between the clients of a managed service and its server: some statements are refused though the account has the privileges
//! for them. The gate has the server itself say so, by a SIGNAL in their place, so that its answers come in their order.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A statement that is refused, and the words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    /// What the statement begins with, in capital letters.
    pub(super) begins: &'static str,
    /// What else is in it.
    pub(super) has: &'static str,
    pub(super) state: &'static str,
    pub(super) code: u16,
    pub(super) words: &'static str,
}

impl Refusal {
    fn meets(&self, statement: &str) -> bool {
        statement.trim_start().to_ascii_uppercase().starts_with(self.begins) && statement.contains(self.has)
    }

    fn signal(&self) -> String {
        let Self { state, code, words, .. } = self;
        format!("SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{words}'")
    }
}

pub(super) struct Gate {
    port: u16,
    is_over: Arc<AtomicBool>,
}

impl Gate {
    pub(super) fn new(server: u16, refusals: &'static [Refusal]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let gate = Self { port: listener.local_addr().unwrap().port(), is_over: Arc::default() };
        let is_over = Arc::clone(&gate.is_over);
        thread::spawn(move || {
            for client in listener.incoming().map(std::result::Result::unwrap) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                carry(&client, &server, refusals);
            }
        });
        gate
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _it_wakes = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn carry(client: &TcpStream, server: &TcpStream, refusals: &'static [Refusal]) {
    for stream in [client, server] {
        stream.set_nodelay(true).unwrap();
    }
    let ways = [(client, server), (server, client)];
    let [(mut asks, mut asked), (mut answers, mut answered)] =
        ways.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()));
    thread::spawn(move || {
        while let Ok(packet) = next_packet(&mut asks) {
            if asked.write_all(&as_let_through(packet, refusals)).is_err() {
                break;
            }
        }
        close(&asks, &asked);
    });
    thread::spawn(move || {
        let _either_end = std::io::copy(&mut answers, &mut answered);
        close(&answers, &answered);
    });
}

fn close(one: &TcpStream, other: &TcpStream) {
    let _it_may_be_gone = one.shutdown(Shutdown::Both);
    let _it_may_be_gone = other.shutdown(Shutdown::Both);
}

const HEADER: usize = 4;
/// The first packet of a command has the number 0; this one is followed by the text of statements.
const COM_QUERY: [u8; 2] = [0, 3];

/// A packet with its header: three bytes for the length, one for the packet's number.
fn next_packet(from: &mut TcpStream) -> Result<Vec<u8>> {
    let mut packet = vec![0; HEADER];
    from.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(HEADER + usize::try_from(length).map_err(|_| ErrorKind::InvalidData)?, 0);
    from.read_exact(&mut packet[HEADER..])?;
    Ok(packet)
}

fn as_let_through(packet: Vec<u8>, refusals: &[Refusal]) -> Vec<u8> {
    let Some((head, statement)) = packet.split_at_checked(HEADER + 1) else { return packet };
    if head[HEADER - 1..] != COM_QUERY {
        return packet;
    }
    let statement = String::from_utf8_lossy(&statement[..statement.len().min(4096)]);
    let Some(refusal) = refusals.iter().find(|refusal| refusal.meets(&statement)) else { return packet };
    let signal = refusal.signal();
    let length = u32::try_from(signal.len() + 1).unwrap().to_le_bytes();
    [&length[..3], &COM_QUERY, signal.as_bytes()].concat()
}
