//! The types of events, by the numbers in their headers. Sources: MySQL `libs/mysql/binlog/event/binlog_event.h`, MariaDB
//! `sql/log_event.h`.

use std::fmt;

/// The type of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u8);

macro_rules! kinds {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        #[allow(missing_docs)] // the names say it
        impl Kind {
            $(pub const $constant: Self = Self($number);)*

            /// What the vendors' own programs call it, if it is known.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }

            /// All that are known, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

kinds! {
    START_V3 = 1, "Start_v3";
    QUERY = 2, "Query";
    STOP = 3, "Stop";
    ROTATE = 4, "Rotate";
    INTVAR = 5, "Intvar";
    LOAD = 6, "Load";
    SLAVE = 7, "Slave";
    CREATE_FILE = 8, "Create_file";
    APPEND_BLOCK = 9, "Append_block";
    EXEC_LOAD = 10, "Exec_load";
    DELETE_FILE = 11, "Delete_file";
    NEW_LOAD = 12, "New_load";
    RAND = 13, "RAND";
    USER_VAR = 14, "User_var";
    FORMAT_DESCRIPTION = 15, "Format_desc";
    XID = 16, "Xid";
    BEGIN_LOAD_QUERY = 17, "Begin_load_query";
    EXECUTE_LOAD_QUERY = 18, "Execute_load_query";
    TABLE_MAP = 19, "Table_map";
    PRE_GA_WRITE_ROWS = 20, "Write_rows_pre_ga";
    PRE_GA_UPDATE_ROWS = 21, "Update_rows_pre_ga";
    PRE_GA_DELETE_ROWS = 22, "Delete_rows_pre_ga";
    WRITE_ROWS_V1 = 23, "Write_rows_v1";
    UPDATE_ROWS_V1 = 24, "Update_rows_v1";
    DELETE_ROWS_V1 = 25, "Delete_rows_v1";
    INCIDENT = 26, "Incident";
    HEARTBEAT = 27, "Heartbeat";
    IGNORABLE = 28, "Ignorable";
    ROWS_QUERY = 29, "Rows_query";
    WRITE_ROWS = 30, "Write_rows";
    UPDATE_ROWS = 31, "Update_rows";
    DELETE_ROWS = 32, "Delete_rows";
    GTID = 33, "Gtid";
    ANONYMOUS_GTID = 34, "Anonymous_Gtid";
    PREVIOUS_GTIDS = 35, "Previous_gtids";
    TRANSACTION_CONTEXT = 36, "Transaction_context";
    VIEW_CHANGE = 37, "View_change";
    XA_PREPARE = 38, "XA_prepare";
    PARTIAL_UPDATE_ROWS = 39, "Update_rows_partial";
    TRANSACTION_PAYLOAD = 40, "Transaction_payload";
    HEARTBEAT_V2 = 41, "Heartbeat_v2";
    GTID_TAGGED = 42, "Gtid_tagged";
    LARGE_TRANSACTION_HEADER = 43, "Large_transaction_header";
    MARIADB_ANNOTATE_ROWS = 160, "Annotate_rows";
    MARIADB_BINLOG_CHECKPOINT = 161, "Binlog_checkpoint";
    MARIADB_GTID = 162, "Gtid";
    MARIADB_GTID_LIST = 163, "Gtid_list";
    MARIADB_START_ENCRYPTION = 164, "Start_encryption";
    MARIADB_QUERY_COMPRESSED = 165, "Query_compressed";
    MARIADB_WRITE_ROWS_COMPRESSED_V1 = 166, "Write_rows_compressed_v1";
    MARIADB_UPDATE_ROWS_COMPRESSED_V1 = 167, "Update_rows_compressed_v1";
    MARIADB_DELETE_ROWS_COMPRESSED_V1 = 168, "Delete_rows_compressed_v1";
    MARIADB_WRITE_ROWS_COMPRESSED = 169, "Write_rows_compressed";
    MARIADB_UPDATE_ROWS_COMPRESSED = 170, "Update_rows_compressed";
    MARIADB_DELETE_ROWS_COMPRESSED = 171, "Delete_rows_compressed";
    MARIADB_PARTIAL_ROW_DATA = 172, "Partial_row_data";
}

impl Kind {
    /// What it is when it is not compressed; `None` for one that never is. Source: MariaDB `sql/log_event.h`.
    pub fn uncompressed(self) -> Option<Self> {
        Some(match self {
            Self::MARIADB_QUERY_COMPRESSED => Self::QUERY,
            Self::MARIADB_WRITE_ROWS_COMPRESSED_V1 => Self::WRITE_ROWS_V1,
            Self::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => Self::UPDATE_ROWS_V1,
            Self::MARIADB_DELETE_ROWS_COMPRESSED_V1 => Self::DELETE_ROWS_V1,
            Self::MARIADB_WRITE_ROWS_COMPRESSED => Self::WRITE_ROWS,
            Self::MARIADB_UPDATE_ROWS_COMPRESSED => Self::UPDATE_ROWS,
            Self::MARIADB_DELETE_ROWS_COMPRESSED => Self::DELETE_ROWS,
            _ => return None,
        })
    }

    /// What it does to rows, if it is an event of rows.
    pub fn row_change(self) -> Option<RowChange> {
        Some(match self {
            Self::PRE_GA_WRITE_ROWS | Self::WRITE_ROWS_V1 | Self::WRITE_ROWS => RowChange::Insert,
            Self::PRE_GA_UPDATE_ROWS
            | Self::UPDATE_ROWS_V1
            | Self::UPDATE_ROWS
            | Self::PARTIAL_UPDATE_ROWS => RowChange::Update,
            Self::PRE_GA_DELETE_ROWS | Self::DELETE_ROWS_V1 | Self::DELETE_ROWS => RowChange::Delete,
            other => return other.uncompressed()?.row_change(),
        })
    }
}

/// What an event does to the rows in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowChange {
    /// They come in.
    Insert,
    /// They are changed: it holds each row as it was and as it is.
    Update,
    /// They go.
    Delete,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Unknown_{}", self.0),
        }
    }
}
