//! Names of schemas that mean something to the server itself.

/// Schemas that belong to the server.
pub const SYSTEM: [&str; 5] = ["information_schema", "mysql", "performance_schema", "sys", "ndbinfo"];

/// What a server takes for the beginning of a name of a file or directory, as it is on the disk.
const AS_ON_DISK: &str = "#mysql50#";

/// The name of the file or directory that a server takes it for.
pub fn on_disk(name: &str) -> Option<&str> {
    let (begin, rest) = name.split_at_checked(AS_ON_DISK.len())?;
    begin.eq_ignore_ascii_case(AS_ON_DISK).then_some(rest)
}

/// Whether a server takes it for the name of a file or directory.
pub fn is_odd(name: &str) -> bool {
    on_disk(name).is_some()
}

/// Whether it is one of the server's own, also by the name of its directory.
pub fn is_system(schema: &str) -> bool {
    let schema = on_disk(schema).unwrap_or(schema);
    SYSTEM.iter().any(|system| system.eq_ignore_ascii_case(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own() {
        assert!(["mysql", "SYS", "#mysql50#mysql", "#MySQL50#sys"].into_iter().all(is_system));
        assert!(!["shop", "#mysql50#shop", "#mysql50", ""].into_iter().any(is_system));
    }
}
