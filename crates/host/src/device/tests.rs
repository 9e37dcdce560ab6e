//! Devices of this host, and of trees of files.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::Tree;

/// A host that is put together from devices, as sysfs shows them.
pub(crate) struct Host {
    dir: TempDir,
}

impl Host {
    /// One without devices.
    pub(crate) fn new() -> Self {
        let host = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["proc", "sys/class/block", "sys/dev/block", "srv/data"] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        host
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// A device with a number below `folder` of /sys/devices, which offers these schedulers.
    pub(crate) fn device(&self, folder: &str, name: &str, number: &str, offer: &str) {
        let place = format!("sys/devices/{folder}{name}");
        self.write(&format!("{place}/size"), "2048\n");
        if !offer.is_empty() {
            self.write(&format!("{place}/queue/scheduler"), offer);
        }
        symlink(format!("../../devices/{folder}{name}"), self.path(&format!("sys/class/block/{name}")))
            .unwrap();
        symlink(format!("../../devices/{folder}{name}"), self.path(&format!("sys/dev/block/{number}")))
            .unwrap();
    }

    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str) {
        self.device(&format!("{disk}/"), name, number, "");
        self.write(&format!("sys/devices/{disk}/{name}/partition"), "1\n");
    }

    /// `upper` is made of `lower`, as the kernel links them to each other.
    pub(crate) fn made_of(&self, upper: &str, lower: &str) {
        for (folder, name) in [(format!("{upper}/slaves"), lower), (format!("{lower}/holders"), upper)] {
            self.write(&format!("sys/class/block/{folder}/{name}/size"), "2048");
        }
    }

    /// Mounts a device at /srv.
    pub(crate) fn mount(&self, number: &str) {
        self.write("proc/mountinfo", &format!("36 35 {number} / /srv rw - ext4 /dev/root rw"));
    }

    /// The names of devices whose schedulers decide over what lies in /srv/data, where this device is mounted.
    fn scheduled(&self, number: &str) -> Vec<String> {
        self.mount(number);
        let tree = Tree::at(self.dir.path()).unwrap();
        let devices = Devices::of(&tree, Path::new("/proc/mountinfo"));
        let storage = devices.storage(Path::new("/srv/data")).unwrap();
        devices.scheduled(&storage).into_iter().map(|device| device.name).collect()
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&Devices<'_>) -> T) -> T {
        let tree = Tree::at(self.dir.path()).unwrap();
        look(&Devices::of(&tree, Path::new("/proc/mountinfo")))
    }
}

#[test]
fn a_volume_on_a_raid_of_partitions() {
    let host = Host::new();
    for (disk, number) in [("sda", "8:0"), ("sdb", "8:16")] {
        host.device("", disk, number, "none [mq-deadline] bfq");
        let partition = format!("{disk}1");
        host.partition(disk, &partition, &number.replace(":0", ":1").replace(":16", ":17"));
    }
    host.device("", "md0", "9:0", "none");
    host.device("", "dm-0", "253:0", "");
    ["sda1", "sdb1"].iter().for_each(|lower| host.made_of("md0", lower));
    host.made_of("dm-0", "md0");
    assert_eq!(host.scheduled("253:0"), ["sda", "sdb"]);
    host.with(|devices| {
        assert_eq!(devices.upper("sda"), ["md0", "dm-0"]);
        assert_eq!(devices.upper("sda1"), ["md0", "dm-0"]);
        assert_eq!(devices.whole_disk("sdb1").as_deref(), Some("sdb"));
        assert_eq!(devices.device("sdb1").unwrap().scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(devices.mounts_on("sdb"), [Path::new("/srv")]);
        assert!(devices.mounts_on("sdc").is_empty());
    });
    // A swap device on the same set.
    host.write("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-0 partition 1 0 -2");
    host.with(|devices| assert_eq!(devices.swaps_on("sda"), ["dm-0"]));
}

#[test]
fn several_paths_to_one_disk() {
    let paths = [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")];
    let host = Host::new();
    for (path, number) in paths {
        host.device("", path, number, "none [mq-deadline]");
    }
    host.device("", "dm-3", "253:3", "");
    host.device("", "dm-4", "253:4", "none");
    paths.iter().for_each(|(path, _)| host.made_of("dm-3", path));
    // A volume on the map; the map hands requests on as they are.
    host.made_of("dm-4", "dm-3");
    assert_eq!(host.scheduled("253:4"), ["sda", "sdb", "sdc"]);
    // Where the map orders requests itself, what its paths would do does not matter.
    host.write("sys/devices/dm-3/queue/scheduler", "[none] mq-deadline");
    assert_eq!(host.scheduled("253:4"), ["dm-3"]);
    host.with(|devices| assert_eq!(devices.upper("sdb"), ["dm-3", "dm-4"]));
}

#[test]
fn mounts() {
    let line = "36 35 98:0 /a /mnt\\0402 rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue";
    let mount = Mount::parse(line).unwrap();
    assert_eq!(mount.point, Path::new("/mnt 2"));
    assert_eq!(
        (mount.number.as_str(), mount.kind.as_str(), mount.source.as_str()),
        ("98:0", "ext4", "/dev/sda1")
    );
    assert_eq!(mount.options, "rw,noatime rw,errors=continue");
    assert_eq!(Mount::parse("no mount"), None);
}

#[test]
fn schedulers_in_use_and_offered() {
    let (in_use, offered) = schedulers("none [mq-deadline] kyber bfq");
    assert_eq!(in_use.as_deref(), Some("mq-deadline"));
    assert_eq!(offered, ["none", "mq-deadline", "kyber", "bfq"]);
    assert_eq!(schedulers("none").0.as_deref(), Some("none"));
    assert_eq!(schedulers(""), (None, Vec::new()));
}

#[test]
fn this_directory_lies_somewhere() {
    let here = std::env::current_dir().unwrap();
    let storage = Storage::of(&here).unwrap();
    assert!(!storage.file_system.is_empty() && storage.path.is_absolute());
    assert!(Storage::of(Path::new("/no/such/path")).is_err());
}
