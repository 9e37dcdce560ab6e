//! Object stores that answer what they like.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The address of a server that gives each request, counted from 0, an answer and ends the connection.
pub(super) fn endpoint(answer: impl Fn(usize) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            read_head(&mut stream);
            // The client may have heard enough.
            let _ = stream.write_all(answer(number).as_bytes());
        }
    });
    endpoint
}

/// A host that only counts who comes.
pub(super) struct Listener {
    pub(super) address: String,
    connections: Arc<AtomicUsize>,
}

impl Listener {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        std::thread::spawn(move || {
            for _stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, connections }
    }

    pub(super) fn heard(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn read_head(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        head.push(byte[0]);
    }
}
