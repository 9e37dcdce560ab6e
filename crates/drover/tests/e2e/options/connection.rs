//! Ways to say which server: option files and URLs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::sql;
use crate::drover::{drover, run};
use crate::files::manifest_path;
use crate::servers::{on_both, source};

on_both!(option_files, a_named_file_that_anyone_can_write_to, urls, password_from_a_terminal);

/// A URL where something else was asked for, and one that is misspelt, is named without its password.
#[test]
fn passwords_of_urls_are_not_repeated() {
    const URL: &str = "mysql://u:hunter2@127.0.0.1:1/x";
    let dir = tempfile::tempdir().unwrap();
    let misspelt = [
        "mysql:/u:hunter2@h",
        "mysql://h/db?password=hunter2",
        "mysql://h/db?a=b&pwd=hunter2",
        "jdbc:mysql://h:1/db?user=u&password=hunter2",
    ];
    for line in [
        "restore URL",
        "verify URL",
        "binlog stat URL",
        "copy --from URL --to URL x",
        "dump x --out y --url URL",
    ] {
        for url in misspelt {
            let output = run(drover(&line.replace("URL", url)).current_dir(dir.path()));
            let told = format!("{}{}", output.stdout, output.stderr);
            assert!(told.contains("error: ") && !told.contains("hunter2"), "{output}");
        }
    }
    for line in [
        "restore URL",
        "verify URL --no-server",
        "--json verify URL",
        "dump x --threads URL --out y",
        "dump x --out s3://u:hunter2@x/y",
        "binlog stat URL",
        "binlog sql URL",
        "binlog replay URL --dry-run",
        "binlog replay --from URL",
        "bench compare URL URL",
        "chunk x --replica URL",
        "queue stat --shards URL",
        "doctor --root URL --no-server",
        "URL",
        "copy --from URL --to URL x",
        "copy --from mysql://u:hun/ter2@h --to mysql://h x",
    ] {
        let output = run(drover(&line.replace("URL", URL)).current_dir(dir.path()).env("AWS_REGION", "x"));
        assert_eq!(output.code, Some(2), "{output}");
        let told = format!("{}{}", output.stdout, output.stderr);
        assert!(told.contains("error: ") && !told.contains("hunter2") && !told.contains("ter2"), "{output}");
    }
    run(&mut drover(&format!("restore {URL}"))).refused(&["is a URL: it is not shown"]);
}

const PASSWORD: &str = "in a 'file' # only";

fn account(server: &Server) {
    sql(
        server,
        "CREATE DATABASE IF NOT EXISTS connection; CREATE TABLE IF NOT EXISTS connection.t (id INT PRIMARY KEY)",
    );
    for host in ["localhost", "127.0.0.1"] {
        let password = PASSWORD.replace('\'', "''");
        sql(
            server,
            format!(
                "CREATE USER IF NOT EXISTS filed@'{host}' IDENTIFIED BY '{password}'; GRANT ALL ON *.* TO filed@'{host}'"
            ),
        );
    }
}

fn dump_connection(options: &str, out: &Path) -> Command {
    let mut command = drover(&format!("dump connection --threads 1 --lock-timeout 60 {options}"));
    command.arg("--out").arg(out);
    command
}

fn option_files(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    account(server);
    let path = |name: &str| dir.path().join(name);
    let credentials = format!("[client]\nuser = filed\npassword = \"{PASSWORD}\"\n");
    let place = format!("socket={}\n", server.socket().display());
    fs::write(path("all.cnf"), format!("{credentials}{place}")).unwrap();
    fs::write(path("group.cnf"), format!("{credentials}socket=/nowhere\n[drover]\n{place}")).unwrap();
    fs::write(
        path("suffix.cnf"),
        format!(
            "[client]\nsocket=/nowhere\n[client_other]\nuser=filed\npassword='{}'\n{place}",
            PASSWORD.replace('\'', "\\'")
        ),
    )
    .unwrap();
    // As on Debian, where the socket stands in a group of the server and its clients.
    let shared = format!("[client-server]\n{place}[client-mariadb]\n{}", &credentials["[client]\n".len()..]);
    fs::write(path("shared.cnf"), shared).unwrap();
    fs::write(path("tcp.cnf"), format!("{credentials}host=127.0.0.1\nport={}\n", server.port())).unwrap();
    let file = |name: &str| path(name).display().to_string();
    for (number, options) in [
        format!("--defaults-file={}", file("all.cnf")),
        format!("--defaults-file {}", file("group.cnf")),
        format!("--defaults-file={}", file("shared.cnf")),
        format!("--defaults-file={} --defaults-group-suffix=_other", file("suffix.cnf")),
        format!("--defaults-extra-file={} -S {}", file("tcp.cnf"), server.socket().display()),
        format!("--defaults-file={}", file("tcp.cnf")),
    ]
    .iter()
    .enumerate()
    {
        let out = path(&number.to_string());
        run(&mut dump_connection(options, &out)).done();
        assert!(manifest_path(&out).exists());
    }
    fs::rename(path("all.cnf"), path(".my.cnf")).unwrap();
    run(dump_connection("", &path("home")).env("HOME", dir.path())).done();
    run(&mut dump_connection("--defaults-file=/nowhere.cnf", &path("x"))).refused(&["/nowhere.cnf"]);
    // The command line wins over the file.
    let wrong = format!("--defaults-file={} --password=wrong", file("tcp.cnf"));
    run(&mut dump_connection(&wrong, &path("x"))).refused(&["refused the login of 'filed'"]);
}

/// Its password would not be used: that the login fails would be the only thing to be seen of it.
fn a_named_file_that_anyone_can_write_to(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    account(server);
    let file = dir.path().join("open.cnf");
    fs::write(&file, format!("[client]\nuser = filed\npassword = \"{PASSWORD}\"\n")).unwrap();
    let out = dir.path().join("out");
    let dump = |option: &str| {
        let options = format!("{option}={} -S {}", file.display(), server.socket().display());
        run(&mut dump_connection(&options, &out))
    };
    for option in ["--defaults-file", "--defaults-extra-file"] {
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let output = dump(option).refused(&[&format!("{}: anyone can write to it", file.display())]);
        assert!(output.stderr.contains(&format!("hint: chmod o-w {}", file.display())), "{output}");
        assert!(!out.exists());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        dump(option).done();
        fs::remove_dir_all(&out).unwrap();
    }
}

fn urls(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    account(server);
    let password = "in%20a%20'file'%20%23%20only";
    let (port, socket) = (server.port(), server.socket().display().to_string());
    for (number, url) in [
        format!("mysql://filed:{password}@127.0.0.1:{port}"),
        format!("mysql://filed:{password}@127.0.0.1:{port}/connection"),
        format!("mysql://filed:{password}@localhost?socket={socket}"),
    ]
    .iter()
    .enumerate()
    {
        run(&mut dump_connection(
            &format!("--no-defaults --url {url}"),
            &dir.path().join(number.to_string()),
        ))
        .done();
    }
    let overridden = format!(
        "--no-defaults --url mysql://nobody:x@127.0.0.1:1 -u root -S {socket} --protocol=SOCKET --password="
    );
    run(&mut dump_connection(&overridden, &dir.path().join("overridden"))).done();
    run(&mut dump_connection("--no-defaults --url http://x", &dir.path().join("x")))
        .refused(&["URL", "mysql://"]);
}

/// A bare -p asks on the terminal; a test has none.
fn password_from_a_terminal(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    account(server);
    let options = format!("--no-defaults -u filed -S {} -p", server.socket().display());
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(env!("CARGO_BIN_EXE_drover"));
    command.args(dump_connection(&options, &dir.path().join("x")).get_args());
    run(&mut command).refused(&["password"]);
}
