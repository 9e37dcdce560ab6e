//! Passwords: wrong ones, and where right ones must not be seen.

use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::big::big_source;
use crate::client::sql;
use crate::drover::{Running, drover, run};
use crate::files::{files_in, has_rows};
use crate::servers::on_both;

on_both!(wrong_password, nobody_there, password_is_never_shown);

const PASSWORD: &str = "Hush4rPassw0rd";
const WRONG: &str = "N0tThatOne";

/// An account with a password that may read everything.
fn account(server: &Server, name: &str) {
    for host in ["localhost", "127.0.0.1"] {
        sql(
            server,
            format!(
                "CREATE USER IF NOT EXISTS {name}@'{host}' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO {name}@'{host}'"
            ),
        );
    }
}

/// The ways to reach the server, as drover's options.
fn ways(server: &Server) -> [String; 2] {
    [format!("-S {}", server.socket().display()), format!("-h 127.0.0.1 -P {}", server.port())]
}

fn dump_big(out: &Path, options: &str) -> Command {
    let mut command = drover(&format!("dump big --threads 1 --lock-timeout 60 {options}"));
    command.arg("--out").arg(out);
    command
}

fn wrong_password(flavour: Flavour) {
    let (server, dir) = (big_source(flavour), tempfile::tempdir().unwrap());
    account(server, "login");
    for way in ways(server) {
        for password in
            [format!("--password={WRONG}"), format!("-p{WRONG}"), "--password=".into(), String::new()]
        {
            let out = dir.path().join("wrong");
            let output = run(&mut dump_big(&out, &format!("--no-defaults -u login {way} {password}")));
            let output = output.refused(&["refused the login of 'login'", "--password"]);
            assert!(!output.stderr.contains(WRONG), "{output}");
            assert!(!out.exists(), "a directory was made");
        }
    }
    let url = format!("--url mysql://login:{WRONG}@127.0.0.1:{}", server.port());
    let output = run(&mut dump_big(&dir.path().join("url"), &format!("--no-defaults {url}")));
    assert!(!output.refused(&["refused the login of 'login'"]).stderr.contains(WRONG));
}

fn nobody_there(flavour: Flavour) {
    let (server, dir) = (big_source(flavour), tempfile::tempdir().unwrap());
    let out = dir.path().join("out");
    let socket = dir.path().join("no.sock");
    let no_socket = format!("--no-defaults -u root -S {}", socket.display());
    run(&mut dump_big(&out, &no_socket)).refused(&["cannot connect", "no.sock"]);
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    assert_ne!(unused, server.port());
    let no_port = format!("--no-defaults -u root -h 127.0.0.1 -P {unused}");
    run(&mut dump_big(&out, &no_port)).refused(&["cannot connect", &format!("127.0.0.1:{unused}")]);
}

fn password_is_never_shown(flavour: Flavour) {
    let (server, dir) = (big_source(flavour), tempfile::tempdir().unwrap());
    account(server, "hushed");
    let [socket, tcp] = ways(server);
    let ways = [
        format!("--no-defaults -u hushed {socket} --password={PASSWORD}"),
        format!("--no-defaults -u hushed {tcp} -p{PASSWORD}"),
        format!("--no-defaults --url mysql://hushed:{PASSWORD}@127.0.0.1:{}", server.port()),
    ];
    for (number, way) in ways.iter().enumerate() {
        let out = dir.path().join(number.to_string());
        let mut dump = Running::start(&mut dump_big(&out, &format!("-v {way}")));
        dump.freeze_when("the first rows are written", || has_rows(&out));
        let arguments = fs::read(format!("/proc/{}/cmdline", dump.pid())).unwrap();
        assert!(!holds_password(&arguments), "{}", String::from_utf8_lossy(&arguments));
        dump.signal("CONT");
        let output = dump.finish().done();
        assert!(!holds_password(output.stdout.as_bytes()) && !holds_password(output.stderr.as_bytes()));
        let scripts = files_in(&out).into_iter().filter(|file| !file.to_string_lossy().contains(".tsv"));
        scripts.for_each(|file| assert!(!holds_password(&fs::read(&file).unwrap()), "{}", file.display()));
    }
}

fn holds_password(text: &[u8]) -> bool {
    text.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes())
}
