//! A binary log from a stranger is applied, in a dry run: what is sent to a server is made of it, forwards and to undo it. The server
//! that is asked about its tables is the smallest that will do: of the input's first byte, the bits say who makes it and what it
//! has. Checksums are not compared, or nothing would come far.
#![no_main]

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use drover_binlog::{Destination, ReplayArgs, replay};
use drover_db::Stop;
use drover_db::options::Address;
use drover_fuzz::{COLUMN, DONE, END, LOGIN, options, reply};
use drover_report::Progress;
use libfuzzer_sys::fuzz_target;

#[derive(Parser)]
#[command(disable_help_flag = true)] // -h is the server's host
struct Cli {
    #[command(flatten)]
    args: ReplayArgs,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&traits, bytes)) = bytes.split_first() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let log = dir.path().join("log");
    std::fs::write(&log, bytes).expect("a file");
    let log = log.to_str().expect("a path of ASCII");
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    let ways: [&[&str]; 3] = [&[], &["--table=*.?*"], &["--flashback"]];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Statements are tried in a session of their own.
        let server = scope.spawn(|| {
            while let Ok((stream, _)) = listener.accept() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                scope.spawn(move || answer(stream, traits));
            }
        });
        let destination =
            Destination { options: options(Address::Socket(path.clone())), stop: Arc::new(Stop::default()) };
        for way in ways {
            let words = [&["drover", "--dry-run", "--no-checksums", log], way].concat();
            let _ = replay(&Cli::parse_from(words).args, None, None, &destination, &Progress::default());
        }
        is_over.store(true, Ordering::Relaxed);
        let _ = UnixStream::connect(&path);
        let _ = server.join();
    });
});

/// Answers what is asked, until the client is gone.
fn answer(mut stream: UnixStream, traits: u8) -> std::io::Result<()> {
    let has = |bit: u8| traits & 1 << bit != 0;
    let version: &[u8] = if has(0) { b"\x0f11.8.0-MariaDB-1\x00" } else { b"\x059.7.0\x00" };
    let engine: &[u8] = if has(1) { b"\x02NO" } else { b"\x03YES" };
    stream.write_all(LOGIN)?;
    packet(&mut stream)?; // the login
    loop {
        let asked = packet(&mut stream)?;
        let says = |words: &str| asked.windows(words.len()).any(|part| part == words.as_bytes());
        let row = match () {
            () if says("VERSION()") => Some(version),
            () if says("max_allowed_packet") => Some(&b"\x06262144"[..]),
            () if says("ENGINES") && !has(2) => Some(engine),
            () if says("local_infile") => Some(&b"\x011"[..]),
            () => None,
        };
        let mut sent = Vec::new();
        match row {
            Some(row) if says("VERSION()") => reply(&mut sent, [&[2], COLUMN, COLUMN, END, row, END]),
            Some(row) => reply(&mut sent, [&[1], COLUMN, END, row, END]),
            None => reply(&mut sent, [DONE]),
        }
        stream.write_all(&sent)?;
    }
}

/// The next packet of the client.
fn packet(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let [a, b, c, _] = head;
    let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}
