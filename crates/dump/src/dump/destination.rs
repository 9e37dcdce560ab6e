//! Where the rows of a range go on their way out of a server, chunk by chunk: into files, or into another server.

use super::ranges::Range;
use super::reader::Place;
use crate::format::files::FileWriter;
use crate::format::manifest::Chunk;
use crate::rows::Out;
use crate::{Error, Result};

/// Takes the chunks of a range, one after another.
pub(crate) trait Destination: Out {
    /// Begins a chunk, which nothing else has the name of.
    fn begin(&mut self, file: &str) -> Result<()>;

    /// Ends the chunk, of which this much is known, and notes it in the journal. Gives all that is known of it; `None` if
    /// it was not taken, so that its rows must come again: those of the chunk, or, of a table without a key, those of the
    /// whole range, of which nothing is left then.
    fn end(&mut self, range: &Range<'_>, chunk: Chunk) -> Result<Option<Chunk>>;

    /// Takes away what an earlier run left of a range.
    fn take_away(&mut self, range: &Range<'_>, kept: &[Chunk]) -> Result<()>;
}

/// The row files of a dump.
pub(crate) struct Files<'a> {
    place: &'a Place,
    writer: Option<FileWriter>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(place: &'a Place) -> Self {
        Self { place, writer: None }
    }
}

impl Out for Files<'_> {
    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(text))
    }
}

impl Destination for Files<'_> {
    fn begin(&mut self, file: &str) -> Result<()> {
        self.writer = Some(FileWriter::create(&self.place.store, file, self.place.compressor)?);
        Ok(())
    }

    fn end(&mut self, range: &Range<'_>, chunk: Chunk) -> Result<Option<Chunk>> {
        let writer = self.writer.take().ok_or_else(|| Error::found("a file was ended twice"))?;
        let stored = writer.finish()?;
        let chunk = Chunk { stored_bytes: stored.bytes, checksum: stored.checksum, ..chunk };
        range.has_chunk(&chunk)?;
        Ok(Some(chunk))
    }

    fn take_away(&mut self, _range: &Range<'_>, kept: &[Chunk]) -> Result<()> {
        kept.iter().try_for_each(|chunk| self.place.store.remove(&chunk.file))
    }
}
