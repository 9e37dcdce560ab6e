//! One socket before two servers.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use drover_sandbox::Server;

/// It ends with the test's process: its threads wait for connections that nobody makes.
pub(crate) struct Dealer {
    socket: PathBuf,
}

impl Dealer {
    /// `deal` says which server gets the connection of each number.
    pub(super) fn new(
        servers: [&Server; 2],
        socket: &Path,
        deal: impl Fn(usize) -> usize + Send + 'static,
    ) -> Self {
        Self::listen(servers, socket, move |number, _| deal(number))
    }

    /// The first server gets the connections up to that of this number; then the one of number 1 is lost, and the second gets all others.
    pub(super) fn losing_the_lock(servers: [&Server; 2], socket: &Path, at: usize) -> Self {
        Self::listen(servers, socket, move |number, clients| {
            if number == at {
                let _is_gone = clients[1].shutdown(Shutdown::Both);
            }
            usize::from(number >= at)
        })
    }

    fn listen(
        servers: [&Server; 2],
        socket: &Path,
        deal: impl Fn(usize, &[UnixStream]) -> usize + Send + 'static,
    ) -> Self {
        let sockets = servers.map(|server| server.socket().to_owned());
        let listener = UnixListener::bind(socket).unwrap();
        thread::spawn(move || {
            let mut clients = Vec::new();
            for (number, client) in listener.incoming().enumerate() {
                let Ok(client) = client else { return };
                let Ok(server) = UnixStream::connect(&sockets[deal(number, &clients)]) else { return };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || carry(from, to));
                }
                clients.push(client);
            }
        });
        Self { socket: socket.to_owned() }
    }

    /// Each connection leads to both: SELECTs to the second, all else to the first.
    pub(super) fn splitting(servers: [&Server; 2], socket: &Path) -> Self {
        let sockets = Arc::new(servers.map(|server| server.socket().to_owned()));
        let listener = UnixListener::bind(socket).unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), sockets) = (client, Arc::clone(&sockets)) else { return };
                thread::spawn(move || split(client, &sockets));
            }
        });
        Self { socket: socket.to_owned() }
    }

    /// One server, to which each statement comes as `change` makes it.
    pub(crate) fn changing(
        server: &Server,
        socket: &Path,
        change: impl Fn(&[u8]) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let (server, change) = (server.socket().to_owned(), Arc::new(change));
        let listener = UnixListener::bind(socket).unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&server)) else { return };
                let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || carry(from, to));
                let change = Arc::clone(&change);
                thread::spawn(move || change_statements(client, server, &*change));
            }
        });
        Self { socket: socket.to_owned() }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

fn carry(mut from: UnixStream, mut to: UnixStream) {
    let _either_end_may_go = io::copy(&mut from, &mut to);
    let _it_may_be_gone = to.shutdown(Shutdown::Both);
}

const COM_QUERY: u8 = 3;

fn change_statements(
    mut client: UnixStream,
    mut server: UnixStream,
    change: &impl Fn(&[u8]) -> Option<&'static str>,
) -> io::Result<()> {
    loop {
        let mut command = packet(&mut client)?;
        if command.get(4) == Some(&COM_QUERY)
            && let Some(other) = change(&command[5..])
        {
            command.splice(5.., other.bytes());
            let length = u8::try_from(command.len() - 4).unwrap();
            command[..3].copy_from_slice(&[length, 0, 0]);
        }
        server.write_all(&command)?;
    }
}

fn split(mut client: UnixStream, sockets: &[PathBuf; 2]) -> io::Result<()> {
    let mut servers = [UnixStream::connect(&sockets[0])?, UnixStream::connect(&sockets[1])?];
    // Both greet, one is heard; root has no password, so that both take the same answer.
    let mut greeting = packet(&mut servers[0])?;
    packet(&mut servers[1])?;
    client.write_all(&greeting)?;
    let login = packet(&mut client)?;
    for server in &mut servers {
        server.write_all(&login)?;
        greeting = packet(server)?;
        // MySQL may first say that it knows the account from before.
        while greeting.get(4) == Some(&1) {
            greeting = packet(server)?;
        }
    }
    client.write_all(&greeting)?;
    let readers: Vec<_> = servers.iter().map(|server| server.try_clone()).collect::<io::Result<_>>()?;
    for reader in readers {
        let client = client.try_clone()?;
        thread::spawn(move || carry(reader, client));
    }
    loop {
        let command = packet(&mut client)?;
        let is_select = command[4] == COM_QUERY && command[5..].starts_with(b"SELECT");
        servers[usize::from(is_select)].write_all(&command)?;
    }
}

/// With its header.
fn packet(from: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    from.read_exact(&mut packet)?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) as usize;
    packet.resize(4 + length, 0);
    from.read_exact(&mut packet[4..])?;
    Ok(packet)
}
