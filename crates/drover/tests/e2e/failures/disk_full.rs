//! A disk that fills up under a dump: a file system of a few megabytes, mounted by the test, which root may do.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server, StartOptions};

use super::assert_unfinished;
use crate::big::{big_dump, big_source};
use crate::client::sql;
use crate::compare;
use crate::drover::{dump, restore, run};
use crate::servers::on_both;

on_both!(in_the_rows, at_the_manifest, on_the_server);

/// Gone when the value is dropped.
pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub(crate) fn mount(options: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "this test mounts a small tmpfs, and must be run by root: {said}");
        Self(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _status = Command::new("umount").arg(self.path()).status();
    }
}

fn in_the_rows(flavour: Flavour) {
    let disk = SmallDisk::mount("size=4m");
    for compress in ["none", "zstd", "gzip", "lz4"] {
        let out = disk.path().join(compress);
        let output = run(&mut dump(big_source(flavour), &format!("big --compress {compress}"), &out));
        output.refused(&["wide.0000", "No space left on device", "hint: free some space"]);
        assert_unfinished(flavour, &out);
        fs::remove_dir_all(&out).unwrap();
    }
}

/// All files fit but the last one, the manifest: tmpfs lets us say how many there may be.
fn at_the_manifest(flavour: Flavour) {
    let server = big_source(flavour);
    sql(
        server,
        "CREATE DATABASE IF NOT EXISTS disk_full; CREATE TABLE IF NOT EXISTS disk_full.t (id INT PRIMARY KEY)",
    );
    let roomy = tempfile::tempdir().unwrap();
    run(&mut dump(server, "disk_full", &roomy.path().join("dump"))).done();
    let needed = Command::new("find").arg(roomy.path().join("dump")).output().unwrap().stdout;
    let needed = needed.iter().filter(|&&byte| byte == b'\n').count();
    for missing in 1..=3 {
        // One more for the root of the file system itself.
        let disk = SmallDisk::mount(&format!("size=4m,nr_inodes={}", needed + 1 - missing));
        let out = disk.path().join("dump");
        run(&mut dump(server, "disk_full", &out))
            .refused(&["No space left on device", &out.display().to_string()]);
        assert_unfinished(flavour, &out);
    }
}

/// The server has no room for the rows; when it has, the same restore goes through.
fn on_the_server(flavour: Flavour) {
    let disk = SmallDisk::mount("size=400m");
    let options =
        ["--skip-log-bin", "--loose-innodb-log-file-size=16M", "--loose-innodb-redo-log-capacity=16M"];
    let options = StartOptions {
        root: Some(disk.path().to_owned()),
        server_options: options.map(str::to_owned).to_vec(),
        ..StartOptions::ephemeral(flavour)
    };
    let server = Server::start(&options).unwrap();
    let filler = disk.path().join("filler");
    leave_room(&filler, 8 << 20);
    run(&mut restore(&server, &big_dump(flavour), "")).refused(&["wide", "full"]);
    fs::remove_file(filler).unwrap();
    run(&mut restore(&server, &big_dump(flavour), "--drop-existing")).done();
    compare::assert_same(&compare::rows(big_source(flavour), "big"), &compare::rows(&server, "big"));
}

/// Fills the file system of `filler` up to `bytes`.
fn leave_room(filler: &Path, bytes: usize) {
    let mut file = fs::File::create(filler).unwrap();
    let zeros = vec![0; 1 << 20];
    while file.write_all(&zeros).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length - bytes as u64).unwrap();
}
