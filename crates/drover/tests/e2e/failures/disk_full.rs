//! A disk that fills up under a dump: a file system of a few megabytes, mounted by the test, which root may do.

use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::Flavour;

use super::assert_unfinished;
use crate::big::big_source;
use crate::client::sql;
use crate::drover::{dump, run};
use crate::servers::on_both;

on_both!(in_the_rows, at_the_manifest);

struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(options: &str) -> Self {
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

    fn path(&self) -> &Path {
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
        output.refused(&["wide.00001.tsv", "No space left on device", "hint: free some space"]);
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
