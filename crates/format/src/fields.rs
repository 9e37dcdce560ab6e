//! Rows' lines taken apart as they pass, in pieces that end anywhere, for files that hold the rows in another form.

use drover_db::table::text;

/// What a file's form makes of rows. Values come as the lines have them, with their escapes.
pub(super) trait Form {
    /// Bytes of a value that mean something to the form, besides those that end a field or a line.
    const MARKS: [u8; 2];

    /// A row begins; what is known of the text from there on is not empty.
    fn begin_row(&mut self, text: &[u8], out: &mut Vec<u8>);
    fn null(&mut self, column: usize, out: &mut Vec<u8>);
    /// A value begins; what is known of the text from there on is not empty.
    fn begin_value(&mut self, column: usize, text: &[u8], out: &mut Vec<u8>);
    /// Bytes of a value without marks; `cut` if the next ones are not known yet.
    fn piece(&mut self, column: usize, bytes: &[u8], cut: bool, out: &mut Vec<u8>);
    fn mark(&mut self, column: usize, mark: u8, out: &mut Vec<u8>);
    fn end_value(&mut self, column: usize, out: &mut Vec<u8>);
    /// What stands between two fields.
    fn between(&mut self, out: &mut Vec<u8>);
    fn end_row(&mut self, out: &mut Vec<u8>);
}

/// How far the lines were taken apart.
#[derive(Debug, Default)]
pub(super) struct Fields {
    column: usize,
    place: Place,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a line.
    #[default]
    Line,
    /// Before a field.
    Field,
    /// Behind the backslash that a field begins with.
    Backslash,
    /// In a value.
    Value,
    /// Behind a NULL.
    Null,
}

impl Fields {
    /// Passes the next piece of the lines to `form`.
    pub(super) fn pass<F: Form>(&mut self, form: &mut F, mut text: &[u8], out: &mut Vec<u8>) {
        while let Some((&first, rest)) = text.split_first() {
            match self.place {
                Place::Line => {
                    (self.column, self.place) = (0, Place::Field);
                    form.begin_row(text, out);
                }
                Place::Field if first == b'\\' => (self.place, text) = (Place::Backslash, rest),
                Place::Field => {
                    self.place = Place::Value;
                    form.begin_value(self.column, text, out);
                }
                Place::Backslash if first == b'N' => {
                    (self.place, text) = (Place::Null, rest);
                    form.null(self.column, out);
                }
                Place::Backslash => {
                    self.place = Place::Value;
                    form.begin_value(self.column, b"\\", out);
                    match F::MARKS.contains(&b'\\') {
                        true => form.mark(self.column, b'\\', out),
                        false => form.piece(self.column, b"\\", false, out),
                    }
                }
                Place::Value | Place::Null => text = self.value(form, text, out),
            }
        }
    }

    /// Passes what is there of a value and what ends it; gives the rest.
    #[inline]
    fn value<'t, F: Form>(&mut self, form: &mut F, text: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
        let Some(at) = text::find_end(text, F::MARKS) else {
            form.piece(self.column, text, true, out);
            return &[];
        };
        if at > 0 {
            form.piece(self.column, &text[..at], false, out);
        }
        let byte = text[at];
        if !matches!(byte, b'\t' | b'\n') {
            form.mark(self.column, byte, out);
            return &text[at + 1..];
        }
        if self.place == Place::Value {
            form.end_value(self.column, out);
        }
        if byte == b'\t' {
            (self.column, self.place) = (self.column + 1, Place::Field);
            form.between(out);
        } else {
            self.place = Place::Line;
            form.end_row(out);
        }
        &text[at + 1..]
    }
}
