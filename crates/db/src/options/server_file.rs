//! What an option file says to a server: its own groups, read by the same rules as those of clients.

use std::path::{Path, PathBuf};

use super::OptionError;
use super::files::{self, FileOption, Request, SourceFile};

/// The options of a server, in the order in which they stand there; of several with one name the last one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFile {
    /// Names, with `-` between their words and without leading dashes, and values where there are some.
    pub options: Vec<(String, Option<String>)>,
    /// What a person should know although it is no error, one sentence each.
    pub warnings: Vec<String>,
}

impl ServerFile {
    /// Reads an option file, and what it includes. Of its groups those of these names count, such as `mysqld`.
    ///
    /// # Errors
    /// If the file cannot be read, anyone can write to it, or it is no option file.
    pub fn read(path: &Path, groups: &[String]) -> Result<Self, OptionError> {
        let found = files::read(&Request {
            files: vec![SourceFile { path: path.to_owned(), required: true }],
            groups: groups.to_vec(),
            home: std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
        })?;
        let plain = |option: FileOption| (option.name.replace('_', "-"), option.value);
        Ok(Self { options: found.options.into_iter().map(plain).collect(), warnings: found.warnings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_groups_count() {
        let path = std::env::temp_dir().join(format!("server-file-{}", std::process::id()));
        let text =
            "[client]\nport=1\n[mysqld]\nread_buffer_size = 5M # much\nskip-name-resolve\n[mariadb]\nx=1\n";
        std::fs::write(&path, text).unwrap();
        let read = ServerFile::read(&path, &["mysqld".to_owned()]);
        std::fs::remove_file(&path).unwrap();
        let options =
            [("read-buffer-size".to_owned(), Some("5M".to_owned())), ("skip-name-resolve".to_owned(), None)];
        assert_eq!(read.unwrap(), ServerFile { options: options.into(), warnings: Vec::new() });
        assert!(ServerFile::read(&path, &[]).unwrap_err().to_string().contains("server-file"));
    }
}
