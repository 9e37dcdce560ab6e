//! The one global setting that a restore may change, if a person asks for it.

use drover_db::options::ConnectOptions;
use drover_db::{Connection, server};

use crate::error::Doing;
use crate::session::{self, Purpose};
use crate::{Error, Result};

/// local_infile, as it must be for LOAD DATA LOCAL; put back when dropped if it was changed here.
pub(crate) struct LocalInfile {
    /// Kept for the one statement that puts it back.
    changed: Option<Connection>,
}

impl LocalInfile {
    /// Looks whether the server takes files from its clients, and lets it if `enable`.
    pub(crate) fn ensure(options: &ConnectOptions, enable: bool) -> Result<Self> {
        let mut connection = session::open(options, Purpose::Restore)?;
        let value =
            server::variable(&mut connection, "GLOBAL.local_infile").doing(|| "reading local_infile")?;
        if value.as_deref() != Some("0") {
            return Ok(Self { changed: None });
        }
        if !enable {
            return Err(Error::with_hint(
                "the server takes no files from its clients: its global setting local_infile is OFF",
                "--enable-local-infile switches it on for the time of the restore, if the account may; or SET GLOBAL \
                 local_infile = ON yourself",
            ));
        }
        connection.execute("SET GLOBAL local_infile = ON").doing(|| "switching local_infile on")?;
        Ok(Self { changed: Some(connection) })
    }
}

impl Drop for LocalInfile {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.changed {
            // If this connection is lost the server is gone too, and starts with its own setting.
            let _ = connection.execute("SET GLOBAL local_infile = OFF");
        }
    }
}
