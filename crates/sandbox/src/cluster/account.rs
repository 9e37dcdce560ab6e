//! The account that the nodes of a topology log in to one another with.

use std::path::Path;

use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;

/// Its name. It may come from this host only, and may do no more than replicate.
pub(crate) const USER: &str = "drover_node";

/// Bytes of chance in a password. MySQL takes none of more than 32 characters for a replica's.
const PASSWORD_BYTES: usize = 16;

/// A random password, in hexadecimal digits. It is sent over the nodes' sockets and kept in their data directories, nowhere else.
pub(crate) struct Password(String);

impl Password {
    /// A new one.
    pub(crate) fn random() -> Result<Self, Error> {
        random_hex(PASSWORD_BYTES).map(Self)
    }

    /// The statements that make the account.
    pub(crate) fn create(&self, privileges: &str) -> [String; 2] {
        [
            format!("CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{}'", self.0),
            format!("GRANT {privileges} ON *.* TO {USER}@'127.0.0.1'"),
        ]
    }

    /// Only to be put into a statement.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

/// A random UUID (version 4).
pub(crate) fn random_uuid() -> Result<String, Error> {
    let hex = random_hex(15)?;
    let (a, rest) = hex.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(3);
    let (d, e) = rest.split_at(3);
    Ok(format!("{a}-{b}-4{c}-8{d}-{e}"))
}

/// So many random bytes, two digits each.
pub(crate) fn random_hex(bytes: usize) -> Result<String, Error> {
    let mut buffer = vec![0; bytes];
    let no_chance = |_| std::io::Error::other("the system gives no random numbers");
    SystemRandom::new()
        .fill(&mut buffer)
        .map_err(no_chance)
        .map_err(Error::io("read", Path::new("/dev/urandom")))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_the_servers_form() {
        let uuid = random_uuid().unwrap();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert_ne!(uuid, random_uuid().unwrap());
    }

    #[test]
    fn a_password_is_not_printed() {
        let password = Password::random().unwrap();
        assert_eq!(password.expose().len(), 32);
        assert_eq!(format!("{password:?}"), "Password");
    }
}
