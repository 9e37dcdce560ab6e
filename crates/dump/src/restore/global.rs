//! The global settings that a restore may change, if a person asks for it.

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, server};

use crate::error::Doing;
use crate::session;
use crate::{Error, Result};

/// local_infile, as it must be for LOAD DATA LOCAL; put back when dropped if it was changed here.
pub(crate) struct LocalInfile {
    /// Kept for the one statement that puts it back.
    changed: Option<Connection>,
    is_on: bool,
}

impl LocalInfile {
    /// Lets the server take files from its clients, if `enable` and it does not.
    ///
    /// # Errors
    /// If it takes none and is not to.
    pub(crate) fn ensure(options: &ConnectOptions, enable: bool) -> Result<Self> {
        let local_infile = Self::wish(options, enable)?;
        if local_infile.is_on {
            return Ok(local_infile);
        }
        Err(Error::with_hint(
            "the server takes no files from its clients: its global setting local_infile is OFF",
            "--enable-local-infile switches it on for the time of the restore, if the account may; or SET GLOBAL \
             local_infile = ON yourself",
        ))
    }

    /// Whether the server takes files.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Looks whether the server takes files from its clients, and lets it if `enable`.
    ///
    /// # Errors
    /// If the account may not switch it on.
    pub(crate) fn wish(options: &ConnectOptions, enable: bool) -> Result<Self> {
        let mut connection = session::open(options, Use::Restore)?;
        let value =
            server::variable(&mut connection, "GLOBAL.local_infile").doing(|| "reading local_infile")?;
        if value.as_deref() != Some("0") {
            return Ok(Self { changed: None, is_on: true });
        }
        if !enable {
            return Ok(Self { changed: None, is_on: false });
        }
        connection.execute("SET GLOBAL local_infile = ON").doing(|| "switching local_infile on")?;
        Ok(Self { changed: Some(connection), is_on: true })
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

/// InnoDB's redo log, which MySQL can do without since 8.0.21: whatever happens to the server then, its data is lost.
pub(crate) struct RedoLog {
    options: ConnectOptions,
    /// Whether it is to be switched on again.
    is_off: bool,
}

impl RedoLog {
    /// Changes nothing yet.
    ///
    /// # Errors
    /// If it is to be disabled and this server cannot do without it.
    pub(crate) fn new(options: &ConnectOptions, disable: bool) -> Result<Self> {
        if disable && is_enabled(&mut session::open(options, Use::Restore)?)?.is_none() {
            return Err(Error::with_hint(
                "this server cannot switch its redo log off: MySQL can from 8.0.21 on, MariaDB cannot",
                "do without --disable-redo",
            ));
        }
        Ok(Self { options: options.clone(), is_off: false })
    }

    /// Switches it off. It may be off already: an earlier run did that, and did not live to switch it on again.
    pub(crate) fn disable(&mut self) -> Result<()> {
        let mut connection = session::open(&self.options, Use::Restore)?;
        if is_enabled(&mut connection)? == Some(true) {
            connection
                .execute("ALTER INSTANCE DISABLE INNODB REDO_LOG")
                .doing(|| "switching the redo log off")?;
        }
        self.is_off = true;
        Ok(())
    }

    /// Switches it on again, if it was switched off here: from then on the server survives its death.
    pub(crate) fn enable(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_off) {
            return Ok(());
        }
        let mut connection = session::open(&self.options, Use::Restore)?;
        connection.execute("ALTER INSTANCE ENABLE INNODB REDO_LOG").doing(|| "switching the redo log on")?;
        Ok(())
    }
}

impl Drop for RedoLog {
    fn drop(&mut self) {
        // After an error, which is the one to report.
        let _ = self.enable();
    }
}

/// Whether the redo log is written; `None` if the server cannot do without.
fn is_enabled(connection: &mut Connection) -> Result<Option<bool>> {
    let rows = connection
        .query("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'")
        .doing(|| "asking for Innodb_redo_log_enabled")?;
    Ok(rows.first().map(|row| row.string(1) == "ON"))
}

/// What a person must know of the server's redo log, if it is off and nobody here switches it on.
pub(crate) fn redo_log_warning(connection: &mut Connection) -> Result<Option<String>> {
    let is_off = is_enabled(connection)? == Some(false);
    Ok(is_off.then(|| {
        "the server's redo log is off: if it dies, all that it holds is lost; ALTER INSTANCE ENABLE INNODB REDO_LOG \
         switches it on"
            .into()
    }))
}
