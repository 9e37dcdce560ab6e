//! Which allocators there are, and which one a process has.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// An allocator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Allocator {
    /// What it is called.
    pub name: String,
    /// The library that it is in; none where that is not known.
    pub library: Option<PathBuf>,
}

/// Those that one finds in distributions: name, and what the names of their libraries begin with.
const KNOWN: [(&str, &[&str]); 3] = [
    ("jemalloc", &["libjemalloc.so"]),
    ("tcmalloc", &["libtcmalloc_minimal.so", "libtcmalloc.so"]),
    ("mimalloc", &["libmimalloc.so"]),
];

/// The C library's, below the names of its files since 2.34 and before.
const GLIBC: [&str; 2] = ["libc.so.6", "libc-2."];

impl Allocator {
    /// The one that a library is of.
    pub(super) fn of(library: Option<&str>) -> Self {
        let Some(library) = library else { return Self { name: "unknown".to_owned(), library: None } };
        let known = known(Path::new(library)).map(str::to_owned);
        let name = known.unwrap_or_else(|| file_name(Path::new(library)).to_owned());
        Self { name, library: Some(library.into()) }
    }

    /// Whether it is glibc's own.
    pub(super) fn is_glibc(&self) -> bool {
        self.name == "glibc"
    }
}

/// Whether a library is the C library itself.
pub(super) fn is_glibc(library: &str) -> bool {
    known(Path::new(library)) == Some("glibc")
}

/// Those that could be loaded in place of the C library's, and the names of those that could not be found.
pub(super) fn installed() -> (Vec<Allocator>, Vec<&'static str>) {
    let directories = directories();
    let found = |beginnings: &[&str]| {
        let in_directory = |beginning: &str| directories.iter().find_map(|dir| library_in(dir, beginning));
        beginnings.iter().find_map(|beginning| in_directory(beginning))
    };
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for (name, beginnings) in KNOWN {
        match found(beginnings) {
            Some(library) => there.push(Allocator { name: name.to_owned(), library: Some(library) }),
            None => missing.push(name),
        }
    }
    (there, missing)
}

/// Where distributions and people put libraries.
fn directories() -> Vec<PathBuf> {
    let debians = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let others = ["/usr/lib64", "/usr/lib", "/usr/local/lib64", "/usr/local/lib"];
    [debians.as_str()].into_iter().chain(others).map(PathBuf::from).collect()
}

/// The library in a directory whose name begins so: the one with the shortest name, which is a link to what is in use.
fn library_in(directory: &Path, beginning: &str) -> Option<PathBuf> {
    let files = std::fs::read_dir(directory).ok()?.flatten().map(|file| file.path());
    let libraries = files.filter(|path| file_name(path).starts_with(beginning) && path.exists());
    libraries.min_by_key(|path| (path.as_os_str().len(), path.clone()))
}

/// The allocator of a process, by its /proc/PID/maps: what was loaded in place of the C library's, or else that.
pub(super) fn in_maps(maps: &str) -> Option<Allocator> {
    // address perms offset device inode path (proc(5))
    let paths = || maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let named = |is_glibcs: bool| {
        paths().find_map(|path| {
            let name = known(Path::new(path))?;
            ((name == "glibc") == is_glibcs)
                .then(|| Allocator { name: name.to_owned(), library: Some(path.into()) })
        })
    };
    named(false).or_else(|| named(true))
}

fn known(library: &Path) -> Option<&'static str> {
    let file = file_name(library);
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| file.starts_with(beginning));
    let other = KNOWN.into_iter().find(|(_, beginnings)| begins(beginnings)).map(|(name, _)| name);
    other.or_else(|| begins(&GLIBC).then_some("glibc"))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries() {
        let name = |library: &str| Allocator::of(Some(library)).name;
        assert_eq!(name("/lib/x86_64-linux-gnu/libc.so.6"), "glibc");
        assert_eq!(name("/lib64/libc-2.28.so"), "glibc");
        assert_eq!(name("/usr/lib/libjemalloc.so.2"), "jemalloc");
        assert_eq!(name("/usr/lib/libtcmalloc_minimal.so.4"), "tcmalloc");
        assert_eq!(name("/opt/libmine.so"), "libmine.so");
        assert_eq!(Allocator::of(None).name, "unknown");
        assert!(!is_glibc("/usr/lib/libtcmalloc_minimal_debug.so"));
    }

    #[test]
    fn what_was_loaded_first_is_in_use() {
        let glibc = "7f0000000000-7f0000001000 r--p 00000000 08:01 42    /usr/lib/libc.so.6\n";
        let other = "7f0000002000-7f0000003000 r-xp 00000000 08:01 43    /usr/lib/libjemalloc.so.2\n";
        let anonymous = "7f0000004000-7f0000005000 rw-p 00000000 00:00 0 \n";
        assert_eq!(in_maps(&format!("{anonymous}{glibc}")).unwrap().name, "glibc");
        assert_eq!(in_maps(&format!("{glibc}{other}")).unwrap().name, "jemalloc");
        assert_eq!(in_maps(anonymous), None);
    }

    #[test]
    fn a_library_is_found_by_what_its_name_begins_with() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(library_in(dir.path(), "libmimalloc.so"), None);
        for name in ["libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc-secure.so"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(library_in(dir.path(), "libmimalloc.so"), Some(dir.path().join("libmimalloc.so.2")));
        assert_eq!(library_in(Path::new("/no/such/directory"), "lib"), None);
    }
}
