//! What a column's text is, for what does not write all columns alike.

/// What a column's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A number.
    Number,
    /// Letters, digits and signs of ASCII: a date, a time, an address.
    Word,
    /// Text in UTF-8, unless it is invalid.
    Utf8,
    /// The same with characters of up to three bytes only.
    Utf8mb3,
    /// Text in another character set.
    OtherText,
    /// Any bytes.
    Bytes,
    /// A geometry as the servers store it: four bytes of SRID, and WKB.
    Geometry,
}

impl ValueKind {
    /// Of a column with such a type, in lower case, and character set in the catalogue.
    pub fn of(data_type: &str, character_set: Option<&str>) -> Self {
        match (data_type, character_set) {
            ("tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float" | "double", _) => {
                Self::Number
            }
            ("date" | "datetime" | "timestamp" | "time" | "year" | "uuid" | "inet4" | "inet6", _) => {
                Self::Word
            }
            ("json", None) | (_, Some("utf8mb4")) => Self::Utf8,
            (_, Some("utf8mb3" | "utf8")) => Self::Utf8mb3,
            (_, Some(_)) => Self::OtherText,
            _ if is_geometry(data_type) => Self::Geometry,
            _ => Self::Bytes,
        }
    }
}

/// Whether it is one of the types of geometries.
fn is_geometry(data_type: &str) -> bool {
    const GEOMETRIES: [&str; 9] = [
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    ];
    GEOMETRIES.contains(&data_type)
}
