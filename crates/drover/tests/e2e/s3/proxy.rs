//! A way to a server on which connections break.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes that pass before a connection is cut, both ways together: of three, one breaks at its first request, one amid a part.
const BYTES: [u64; 3] = [u64::MAX, 300_000, 1000];

pub(super) struct Proxy {
    pub(super) endpoint: String,
    /// Connections that were cut.
    pub(super) cuts: Arc<AtomicUsize>,
}

impl Proxy {
    pub(super) fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let cuts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&cuts);
        std::thread::spawn(move || {
            for (number, near) in listener.incoming().flatten().enumerate() {
                let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let left = Arc::new(AtomicU64::new(BYTES[number % BYTES.len()]));
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (left, counter) = (Arc::clone(&left), Arc::clone(&counter));
                    std::thread::spawn(move || pass(from, to, &left, &counter));
                }
            }
        });
        Self { endpoint, cuts }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicU64, cuts: &AtomicUsize) {
    let mut buffer = [0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let before = left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(count as u64)));
        if before.unwrap() <= count as u64 {
            cuts.fetch_add(1, Ordering::SeqCst);
            break;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Either side may be gone already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
