//! The numbers of the servers' errors, by the names that the servers' sources give them (without `ER_`). Up to 1880 they mean the same on both
//! vendors; above that each has its own. Sources: MySQL's "Server Error Message Reference", MariaDB's "MariaDB Error Codes", TiDB's "Error
//! Codes".

#![allow(missing_docs)] // the servers' own names

pub const CANT_CREATE_TABLE: u16 = 1005;
pub const DB_CREATE_EXISTS: u16 = 1007;
pub const DB_DROP_EXISTS: u16 = 1008;
/// A row has changed since it was read (MariaDB's `innodb_snapshot_isolation`).
pub const CHECKREAD: u16 = 1020;
pub const DISK_FULL: u16 = 1021;
pub const ILLEGAL_HA: u16 = 1031;
pub const KEY_NOT_FOUND: u16 = 1032;
pub const OUTOFMEMORY: u16 = 1037;
pub const CON_COUNT_ERROR: u16 = 1040;
pub const OUT_OF_RESOURCES: u16 = 1041;
pub const DBACCESS_DENIED: u16 = 1044;
pub const ACCESS_DENIED: u16 = 1045;
pub const NO_DB: u16 = 1046;
pub const BAD_NULL_ERROR: u16 = 1048;
pub const BAD_DB: u16 = 1049;
pub const TABLE_EXISTS: u16 = 1050;
pub const BAD_TABLE: u16 = 1051;
pub const SERVER_SHUTDOWN: u16 = 1053;
pub const BAD_FIELD: u16 = 1054;
pub const DUP_FIELDNAME: u16 = 1060;
pub const DUP_KEYNAME: u16 = 1061;
pub const DUP_ENTRY: u16 = 1062;
pub const PARSE_ERROR: u16 = 1064;
pub const MULTIPLE_PRI_KEY: u16 = 1068;
pub const KEY_COLUMN_DOES_NOT_EXIST: u16 = 1072;
pub const CANT_DROP_FIELD_OR_KEY: u16 = 1091;
pub const NO_SUCH_THREAD: u16 = 1094;
/// Also what TiDB says of whatever has no number.
pub const UNKNOWN_ERROR: u16 = 1105;
pub const UNKNOWN_TABLE: u16 = 1109;
pub const RECORD_FILE_FULL: u16 = 1114;
pub const UNKNOWN_CHARACTER_SET: u16 = 1115;
pub const UDF_EXISTS: u16 = 1125;
pub const FUNCTION_NOT_DEFINED: u16 = 1128;
pub const NONEXISTING_GRANT: u16 = 1141;
pub const TABLEACCESS_DENIED: u16 = 1142;
pub const COLUMNACCESS_DENIED: u16 = 1143;
pub const NO_SUCH_TABLE: u16 = 1146;
pub const NOT_ALLOWED_COMMAND: u16 = 1148;
pub const NET_PACKET_TOO_LARGE: u16 = 1153;
pub const KEY_DOES_NOT_EXIST: u16 = 1176;
pub const ERROR_DURING_COMMIT: u16 = 1180;
pub const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
pub const WARNING_NOT_COMPLETE_ROLLBACK: u16 = 1196;
pub const TOO_MANY_USER_CONNECTIONS: u16 = 1203;
/// Also what Galera says when the wait for what the cluster has committed is over.
pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// Also how a cluster refuses what was changed on another node meanwhile.
pub const LOCK_DEADLOCK: u16 = 1213;
pub const USER_LIMIT_REACHED: u16 = 1226;
pub const SPECIFIC_ACCESS_DENIED: u16 = 1227;
pub const WRONG_VALUE_FOR_VAR: u16 = 1231;
pub const NOT_SUPPORTED_YET: u16 = 1235;
/// Read only, as far as it can be set at all.
pub const INCORRECT_GLOBAL_LOCAL_VAR: u16 = 1238;
pub const SUBQUERY_NO_1_ROW: u16 = 1242;
pub const COLLATION_CHARSET_MISMATCH: u16 = 1253;
pub const WARN_NULL_TO_NOTNULL: u16 = 1263;
pub const WARN_DATA_OUT_OF_RANGE: u16 = 1264;
/// Also what MariaDB says of an ENUM's error value.
pub const WARN_DATA_TRUNCATED: u16 = 1265;
pub const UNKNOWN_COLLATION: u16 = 1273;
pub const UNKNOWN_STORAGE_ENGINE: u16 = 1286;
pub const WARN_DEPRECATED_SYNTAX: u16 = 1287;
pub const OPTION_PREVENTS_STATEMENT: u16 = 1290;
pub const UNKNOWN_TIME_ZONE: u16 = 1298;
pub const INVALID_CHARACTER_STRING: u16 = 1300;
pub const TRUNCATED_WRONG_VALUE: u16 = 1292;
pub const SP_ALREADY_EXISTS: u16 = 1304;
/// No such function of the server's own either: MySQL 8.0 went without ENCODE and others, 9.6 without MD5 and SHA1.
pub const SP_DOES_NOT_EXIST: u16 = 1305;
pub const QUERY_INTERRUPTED: u16 = 1317;
pub const VIEW_INVALID: u16 = 1356;
pub const TRG_ALREADY_EXISTS: u16 = 1359;
pub const TRG_DOES_NOT_EXIST: u16 = 1360;
pub const NO_DEFAULT_FOR_FIELD: u16 = 1364;
pub const DIVISION_BY_ZERO: u16 = 1365;
pub const TRUNCATED_WRONG_VALUE_FOR_FIELD: u16 = 1366;
pub const PROCACCESS_DENIED: u16 = 1370;
pub const NO_BINARY_LOGGING: u16 = 1381;
/// An account is there already.
pub const CANNOT_USER: u16 = 1396;
pub const XAER_NOTA: u16 = 1397;
pub const DATA_TOO_LONG: u16 = 1406;
pub const WRONG_VALUE_FOR_TYPE: u16 = 1411;
pub const TABLE_DEF_CHANGED: u16 = 1412;
pub const CANT_CREATE_GEOMETRY_OBJECT: u16 = 1416;
pub const BINLOG_UNSAFE_ROUTINE: u16 = 1418;
/// Functions and triggers are for accounts with SUPER where there is a binary log.
pub const BINLOG_CREATE_ROUTINE_NEED_SUPER: u16 = 1419;
pub const XAER_DUPID: u16 = 1440;
pub const DATETIME_FUNCTION_OVERFLOW: u16 = 1441;
pub const NO_SUCH_USER: u16 = 1449;
pub const MAX_PREPARED_STMT_COUNT_REACHED: u16 = 1461;
pub const ILLEGAL_HA_CREATE_OPTION: u16 = 1478;
/// Also what a server says that has no DEFAULT partition of a LIST.
pub const PARTITION_REQUIRES_VALUES: u16 = 1479;
pub const DROP_PARTITION_NON_EXISTENT: u16 = 1507;
pub const SAME_NAME_PARTITION: u16 = 1517;
pub const PLUGIN_IS_NOT_LOADED: u16 = 1524;
pub const EVENT_ALREADY_EXISTS: u16 = 1537;
pub const EVENT_DOES_NOT_EXIST: u16 = 1539;
/// A statement is logged as such that may not do the same everywhere; it says nothing of the rows.
pub const BINLOG_UNSAFE_STATEMENT: u16 = 1592;
/// InnoDB refuses changes at READ COMMITTED that are to be logged as statements.
pub const BINLOG_STMT_MODE_AND_ROW_ENGINE: u16 = 1665;
pub const WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT: u16 = 1681;
pub const DATA_OUT_OF_RANGE: u16 = 1690;
/// How MariaDB refuses an account that is bound to a user of the system.
pub const ACCESS_DENIED_NO_PASSWORD: u16 = 1698;
pub const UNKNOWN_PARTITION: u16 = 1735;
pub const PARTITION_CLAUSE_ON_NONPARTITIONED: u16 = 1747;

pub const CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: u16 = 1792;
pub const DUP_CONSTRAINT_NAME: u16 = 1826;
pub const READ_ONLY_MODE: u16 = 1836;

// MariaDB's own.
pub const WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN: u16 = 1906;
pub const CONNECTION_KILLED: u16 = 1927;
pub const NO_SUCH_TABLE_IN_ENGINE: u16 = 1932;
pub const STATEMENT_TIMEOUT: u16 = 1969;
pub const CANNOT_CONVERT_CHARACTER: u16 = 1977;
pub const UNKNOWN_SEQUENCES: u16 = 4091;
pub const VERS_NOT_SUPPORTED: u16 = 4137;
pub const UNKNOWN_DATA_TYPE: u16 = 4161;
pub const LOAD_INFILE_CAPABILITY_DISABLED: u16 = 4166;

// MySQL's own.
pub const QUERY_TIMEOUT: u16 = 3024;
pub const BEFORE_DML_VALIDATION_ERROR: u16 = 3098;
pub const SQL_MODE_MERGED: u16 = 3135;
pub const INVALID_JSON_TEXT_IN_PARAM: u16 = 3141;
/// A row is locked, and NOWAIT was asked for.
pub const LOCK_NOWAIT: u16 = 3572;
pub const DEPRECATED_UTF8_ALIAS: u16 = 3719;
pub const DEPRECATED_NATIONAL: u16 = 3720;
pub const DEPRECATED_UTF8MB3_COLLATION: u16 = 3778;
/// The member recovers, or was expelled.
pub const GRP_TRX_CONSISTENCY_NOT_ALLOWED: u16 = 3796;
/// The wait for the transactions of the group ended without them.
pub const GRP_TRX_CONSISTENCY_BEFORE: u16 = 3797;
pub const CANNOT_CONVERT_STRING: u16 = 3854;
pub const UNSUPPORTED_SQL_MODE: u16 = 3867;
pub const CLIENT_LOCAL_FILES_DISABLED: u16 = 3948;

// TiDB's own.
pub const TIDB_TRANSACTION_RETRY: u16 = 8002;
pub const TIDB_TRANSACTION_RETRIED_OUT: u16 = 8022;
pub const TIDB_SCHEMA_CHANGED: u16 = 8028;
pub const TIDB_PD_TIMEOUT: u16 = 9001;
pub const TIDB_REGION_UNAVAILABLE: u16 = 9005;
pub const TIDB_WRITE_CONFLICT: u16 = 9007;
