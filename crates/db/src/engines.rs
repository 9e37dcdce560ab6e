//! What storage engines mean to who reads their tables.

/// Engines whose tables show rows that are kept in other tables or servers, as the catalogue names them.
const ROWS_ELSEWHERE: [&str; 9] =
    ["MRG_MYISAM", "FEDERATED", "CONNECT", "SPIDER", "OQGRAPH", "VP", "S3", "SPHINX", "CASSANDRA"];

/// Whether an engine's tables show rows that are kept in other tables or servers.
pub fn has_rows_elsewhere(engine: &str) -> bool {
    ROWS_ELSEWHERE.iter().any(|other| engine.eq_ignore_ascii_case(other))
}
