//! A vendor's name as people write it.

use std::str::FromStr;

use crate::{Error, Flavour};

impl FromStr for Flavour {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "mariadb" => Ok(Self::MariaDb),
            "mysql" => Ok(Self::MySql),
            _ => Err(Error::BadFlavour { text: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for flavour in [Flavour::MariaDb, Flavour::MySql] {
            assert_eq!(flavour.as_str().parse::<Flavour>().unwrap(), flavour);
            assert_eq!(serde_json::to_string(&flavour).unwrap(), format!("\"{flavour}\""));
        }
        assert!("oracle".parse::<Flavour>().unwrap_err().to_string().contains("oracle"));
    }
}
