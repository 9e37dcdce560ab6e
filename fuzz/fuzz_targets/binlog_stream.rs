//! A server that sends anything at all in place of its binary logs. Of the input each two bytes say how long the next packet is;
//! their highest bit says whether what follows is an event or stands in place of one.
#![no_main]

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use drover_binlog::server::{FromServerArgs, Origin};
use drover_binlog::{FileArgs, LogArgs};
use drover_db::Stop;
use drover_db::options::Address;
use drover_fuzz::{COLUMN, DONE, END, LOGIN, options, reply};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut sent = LOGIN.to_vec();
    reply(&mut sent, [DONE]); // what each session is set to
    reply(&mut sent, [&[2], COLUMN, COLUMN, END, b"\x059.7.0\x00", END]);
    reply(&mut sent, [&[2], COLUMN, COLUMN, END, b"\x08b.000001\x041000", b"\x08b.000002\x041000", END]);
    (0..3).for_each(|_| reply(&mut sent, [DONE]));
    reply(&mut sent, packets(bytes).iter().map(Vec::as_slice));

    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = stream.write_all(&sent);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        read(Address::Socket(path), bytes.len().is_multiple_of(2));
        // The scope waits for the closure only; what the thread still holds would look like a leak.
        let _ = server.join();
    });
});

fn packets(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = u16::from_le_bytes(*length);
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(length & 0x7fff)));
        let head: &[u8] = if length & 0x8000 == 0 { &[0] } else { &[] };
        packets.push([head, payload].concat());
        bytes = rest;
    }
    packets
}

fn read(address: Address, no_checksums: bool) {
    let from = FromServerArgs { from_server: true, ..FromServerArgs::default() };
    let args = LogArgs { files: FileArgs { no_checksums, ..FileArgs::default() }, from };
    let origin = Origin { options: options(address), stop: Arc::new(Stop::default()) };
    let Ok(mut chain) = args.open(Some(&origin), None) else { return };
    while let Ok(true) = chain.step() {
        let _ = chain.item();
    }
}
