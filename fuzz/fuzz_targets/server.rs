//! A server that sends anything at all: login, a statement, its rows, the answers to a batch.
#![no_main]

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;

use drover_db::Connection;
use drover_db::options::Address;
use drover_db::wire::{Answer, Batch, BulkRows, RawRow, Value, next_field};
use drover_fuzz::options;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        talk(Address::Socket(path));
        // The scope waits for the closure only; what the thread still holds would look like a leak.
        let _ = server.join();
    });
});

fn talk(address: Address) {
    let Ok(mut connection) = Connection::log_in(&options(address)) else { return };
    let _ = connection.execute("DO 1");
    let _ = connection.query("SELECT 1");
    let _ = connection.begin_load("LOAD DATA");
    let _ = connection.send(b"1\n");
    let _ = connection.end_load();
    if let Ok(statement) = connection.prepare("INSERT") {
        let mut rows = BulkRows::default();
        rows.null();
        rows.end_row();
        let _ = connection.execute_bulk(&statement, &mut rows);
        let _ = connection.close(statement);
    }
    stream(&mut connection);
    batch(&mut connection);
}

fn stream(connection: &mut Connection) {
    let Ok(mut rows) = connection.stream("SELECT 2") else { return };
    while let Ok(Some(row)) = rows.next_row() {
        match row {
            RawRow::Whole(mut payload) => while next_field(&mut payload).is_some() {},
            RawRow::Large(mut row) => while row.next_field().is_ok() {},
        }
    }
}

fn batch(connection: &mut Connection) {
    let Ok(statement) = connection.prepare_query("SELECT ?") else { return };
    let mut batch = Batch::default();
    batch.query("BEGIN");
    let _ = batch.execute(&statement, &[Value::Int(1)]);
    let _ = connection.send_batch(&mut batch);
    let mut answer = Answer::default();
    for _ in 0..2 {
        let _ = connection.next_answer(&mut answer);
        for row in 0..=answer.rows() {
            (0..3).for_each(|column| drop(format!("{:?}", answer.value(row, column))));
        }
    }
}
