//! Where files of a host are read: the host itself, a copy of it in a directory, or what was remembered of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads files of a host. All paths are those on the host, from its root.
pub trait Files {
    /// The text of a file, without white space around it; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// If it is not there, or cannot be read.
    fn text(&self, path: &Path) -> io::Result<String>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// If it is not there, or cannot be read.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Where a path leads when all symbolic links are followed.
    ///
    /// # Errors
    /// If it is not there, or a directory on the way cannot be searched.
    fn real(&self, path: &Path) -> io::Result<PathBuf>;

    /// A file's text, if there is any.
    fn line(&self, path: &Path) -> Option<String> {
        self.text(path).ok().filter(|text| !text.is_empty())
    }
}

/// This host.
#[derive(Debug, Clone, Copy)]
pub struct Here;

impl Files for Here {
    fn text(&self, path: &Path) -> io::Result<String> {
        let bytes = fs::read(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }
}

/// A copy of a host in a directory, which stands for its root.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The copy in this directory.
    ///
    /// # Errors
    /// If the directory is not there.
    pub fn at(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl Files for Tree {
    fn text(&self, path: &Path) -> io::Result<String> {
        Here.text(&self.place(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Here.list(&self.place(path))
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.place(path).canonicalize()?;
        // A link of a copied host that is absolute leads out of the copy: what it says is the path on the host.
        Ok(Path::new("/").join(real.strip_prefix(&self.root).unwrap_or(&real)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_host() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sys/devices/a");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("size"), "17\n").unwrap();
        std::os::unix::fs::symlink("devices/a", dir.path().join("sys/link")).unwrap();
        let tree = Tree::at(dir.path()).unwrap();
        assert_eq!(tree.text(Path::new("/sys/link/size")).unwrap(), "17");
        assert_eq!(tree.list(Path::new("/sys")).unwrap(), ["devices", "link"]);
        assert_eq!(tree.real(Path::new("/sys/link")).unwrap(), Path::new("/sys/devices/a"));
        assert_eq!(tree.text(Path::new("/no")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
