//! Statements as `inserts.rs` writes them, made into lines again, in pieces that end anywhere. What is not so is seen by the
//! file's checksum; here it only may do no harm.

use drover_db::table::text;

/// Makes lines of a file's text.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Bytes before the statements: the definition of the table.
    before: u64,
    place: Place,
    /// Fields of the row at hand.
    fields: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a line.
    #[default]
    Line,
    /// In a line that is no row; in backticks, in which a newline may stand.
    Other { in_name: bool },
    /// Before a field.
    Field,
    /// In a number.
    Number,
    /// In a word, behind a value, or around one in quotes, with so many parentheses open within the row's.
    Around { parentheses: usize },
    /// In quotes.
    Quoted { parentheses: usize },
    /// Behind a quote within them, which may end them.
    Quote { parentheses: usize },
    /// Behind a row.
    Behind,
}

impl Reader {
    /// For a file in which so many bytes stand before the first statement or setting.
    pub(crate) fn new(before: u64) -> Self {
        Self { before, ..Self::default() }
    }

    /// Appends the lines that the next piece of the text makes.
    pub(crate) fn pass(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let skipped = usize::try_from(self.before).unwrap_or(usize::MAX).min(text.len());
        self.before -= skipped as u64;
        let mut text = &text[skipped..];
        while let Some((&first, rest)) = text.split_first() {
            text = match self.place {
                Place::Field => self.field(text, out),
                Place::Number | Place::Quoted { .. } => self.value(text, out),
                place => {
                    self.place = self.step(place, first, out);
                    rest
                }
            };
        }
    }

    /// One byte where no value is.
    fn step(&mut self, place: Place, byte: u8, out: &mut Vec<u8>) -> Place {
        match (place, byte) {
            (Place::Line, b'(') => {
                self.fields = 0;
                Place::Field
            }
            (Place::Line, _) => self.step(Place::Other { in_name: false }, byte, out),
            (Place::Other { in_name }, b'`') => Place::Other { in_name: !in_name },
            (Place::Other { in_name: false } | Place::Behind, b'\n') => Place::Line,
            (Place::Around { parentheses }, b'(') => Place::Around { parentheses: parentheses + 1 },
            (Place::Around { parentheses: 0 }, b')') => self.end_row(out),
            (Place::Around { parentheses }, b')') => Place::Around { parentheses: parentheses - 1 },
            (Place::Around { parentheses: 0 }, b',') => Place::Field,
            (Place::Around { parentheses }, b'\'') => {
                self.begin(out);
                Place::Quoted { parentheses }
            }
            (Place::Quote { parentheses }, b'\'') => {
                out.push(b'\'');
                Place::Quoted { parentheses }
            }
            (Place::Quote { parentheses }, _) => self.step(Place::Around { parentheses }, byte, out),
            (place, _) => place,
        }
    }

    /// Begins a field.
    fn field<'t>(&mut self, text: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
        match text[0] {
            b'0'..=b'9' | b'-' => {
                self.begin(out);
                self.place = Place::Number;
                text
            }
            b'N' => {
                self.begin(out);
                out.extend_from_slice(b"\\N");
                self.place = Place::Around { parentheses: 0 };
                &text[1..]
            }
            // DEFAULT, which is in no line; what stands around a value; or nothing at all.
            byte => {
                self.place = self.step(Place::Around { parentheses: 0 }, byte, out);
                &text[1..]
            }
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.fields > 0 {
            out.push(b'\t');
        }
        self.fields += 1;
    }

    /// Passes what is there of a value; gives the rest.
    fn value<'t>(&mut self, text: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
        let (end, behind) = match self.place {
            Place::Quoted { parentheses } => {
                (text::find_mark(text, b'\''), (1, Place::Quote { parentheses }))
            }
            _ => {
                let end = text.iter().position(|byte| matches!(byte, b',' | b')'));
                (end, (0, Place::Around { parentheses: 0 }))
            }
        };
        let Some(end) = end else {
            out.extend_from_slice(text);
            return &[];
        };
        out.extend_from_slice(&text[..end]);
        let (length, place) = behind;
        self.place = place;
        &text[end + length..]
    }

    fn end_row(&mut self, out: &mut Vec<u8>) -> Place {
        if self.fields == 0 {
            out.push(b'1'); // as a table without columns to read is dumped
        }
        out.push(b'\n');
        Place::Behind
    }
}
