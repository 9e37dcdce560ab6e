//! What the tools say of themselves in comments.

/// How the first line of a dump begins that ends with [`MYSQLDUMP_END`]. mysqldump-php writes its parts in the same order as mysqldump.
const HEADS: [&str; 3] = ["-- MySQL dump ", "-- MariaDB dump ", "-- mysqldump-php "];
/// How the last line of a whole dump begins.
pub(crate) const MYSQLDUMP_END: &str = "-- Dump completed";
pub(crate) const MYSQLPUMP_END: &str = "-- Dump end time";

/// What the comments of a dump say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// That mysqldump, mariadb-dump or mysqldump-php wrote it.
    pub(crate) is_dump: bool,
    /// That mysqlpump did.
    pub(crate) is_pump: bool,
    /// The only schema that was dumped.
    pub(crate) database: Option<String>,
    /// The version of the server that was dumped.
    pub(crate) server: Option<String>,
    /// That it was written to its end.
    pub(crate) is_completed: bool,
    /// How many dumps begin here: files of several are put together with `cat`.
    pub(crate) heads: usize,
    /// The line where a dump begins before the end of the one before it.
    pub(crate) cut_before: Option<u64>,
}

impl Notes {
    pub(super) fn read(&mut self, line: &[u8], number: u64) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if HEADS.iter().any(|head| text.starts_with(head)) {
            if self.is_dump && !self.is_completed {
                self.cut_before.get_or_insert(number);
            }
            (self.is_dump, self.is_completed) = (true, false);
            (self.database, self.server) = (None, None);
            self.heads += 1;
        } else if text.starts_with("-- Dump created by MySQL pump utility") {
            (self.is_pump, self.is_completed) = (true, false);
        } else if text.starts_with(MYSQLDUMP_END) || text.starts_with(MYSQLPUMP_END) {
            self.is_completed = true;
        } else if let Some(version) = text.strip_prefix("-- Server version") {
            self.server = Some(version.trim().to_owned());
        } else if let Some((_, name)) =
            text.strip_prefix("-- Host: ").and_then(|t| t.split_once("Database: "))
        {
            self.database = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }
}
