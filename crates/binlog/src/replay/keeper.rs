//! What servers keep of definitions, by their versions.

use drover_db::Vendor;

use crate::log::Format;

use super::events::Target;

/// A server, as far as it matters to what it keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeper {
    pub(super) vendor: Vendor,
    pub(super) version: (u32, u32, u32),
}

impl Keeper {
    pub(super) fn of_logs(format: &Format) -> Self {
        let vendor = if format.is_mariadb() { Vendor::MariaDb } else { Vendor::MySql };
        Self { vendor, version: format.numbers() }
    }

    pub(super) fn of_target(target: &Target) -> Self {
        Self { vendor: target.vendor, version: target.numbers() }
    }

    fn is_at_least(self, mysql: (u32, u32, u32), mariadb: (u32, u32, u32)) -> bool {
        match self.vendor {
            Vendor::MySql => self.version >= mysql,
            Vendor::MariaDb => self.version >= mariadb,
        }
    }

    pub(super) fn keeps_checks(self) -> bool {
        self.is_at_least((8, 0, 16), (10, 2, 1))
    }

    /// Whether it makes a foreign key of what a column's own definition references. Source: the manuals' "Foreign Key Constraints" of MySQL 9.0 and
    /// MariaDB 10.5.
    pub(super) fn keeps_references(self) -> bool {
        self.is_at_least((9, 0, 0), (10, 5, 0))
    }

    pub(super) fn keeps_descending_keys(self) -> bool {
        self.is_at_least((8, 0, 1), (10, 8, 0))
    }

    /// Whether it runs what stands in a comment that is opened so: `/*!80023`. MariaDB passes over those of MySQL from 5.7 on.
    pub(super) fn runs(self, opening: &[u8]) -> bool {
        let is_of_mariadb = opening.starts_with(b"/*M!");
        let digits = &opening[if is_of_mariadb { 4 } else { 3 }..];
        let number: u32 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let (major, minor, patch) = self.version;
        let is_later = number > major * 10_000 + minor * 100 + patch;
        match self.vendor {
            Vendor::MySql => !is_of_mariadb && !is_later,
            Vendor::MariaDb => !is_later && (is_of_mariadb || !(50_700..100_000).contains(&number)),
        }
    }
}
