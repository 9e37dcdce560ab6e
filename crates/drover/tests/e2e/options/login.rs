//! Logins that do not come to an end by themselves.

use std::net::TcpListener;

use crate::client::wait_until;
use crate::drover::{Running, drover};

/// Without a limit of time: only the signal ends it.
fn ended_by(signal: &str, command: &str) -> crate::drover::Output {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let mut running = Running::start(&mut drover(&format!(
        "{command} --no-defaults -h 127.0.0.1 -P {port} -u root --connect-timeout 0"
    )));
    let mut waits_for_a_greeting = None;
    wait_until("it connects", || {
        waits_for_a_greeting = listener.accept().ok();
        waits_for_a_greeting.is_some() || running.has_ended()
    });
    assert!(waits_for_a_greeting.is_some(), "{}", running.finish());
    running.signal(signal);
    let output = running.finish();
    drop(waits_for_a_greeting);
    output
}

#[test]
fn the_first_signal_ends_a_login() {
    for (signal, command, says) in [
        ("INT", "dump --out /nonexistent/dump", "the login at 127.0.0.1"),
        ("TERM", "queue work -D q --json-lines cat", "the login at 127.0.0.1"),
        ("TERM", "binlog ls --from-server", "stopped by a signal"),
        ("INT", "bench tpcc check -D x", "stopped by a signal"),
    ] {
        ended_by(signal, command).refused(&[says]);
    }
}

/// Commands that have nothing to bring to a good end.
#[test]
fn the_first_signal_ends_what_is_no_long_work() {
    for (signal, command) in [("INT", "doctor server"), ("TERM", "queue stat -D q")] {
        assert_eq!(ended_by(signal, command).code, Some(130), "{command}");
    }
}

#[test]
fn a_login_has_one_limit_of_time() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("queue stat --no-defaults -h 127.0.0.1 -P {port} -u root -D q --connect-timeout 1");
    let output = crate::drover::run(&mut drover(&line));
    output.refused(&["did not complete the login within 1 s", "--connect-timeout"]);
}

/// One message, not one for each check.
#[test]
fn doctor_says_once_that_the_server_cannot_be_reached() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("none.sock");
    for command in ["doctor", "doctor server", "doctor binlog"] {
        let mut command = drover(&format!("{command} --no-defaults -u root -S"));
        let output = crate::drover::run(command.arg(&socket)).refused(&["none.sock", "--no-server"]);
        assert_eq!((output.stdout.as_str(), output.stderr.matches("none.sock").count()), ("", 1), "{output}");
        assert_eq!(output.stderr.lines().count(), 2, "{output}");
    }
}
