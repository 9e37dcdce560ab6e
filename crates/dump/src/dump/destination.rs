//! Where the rows of a range go on their way out of a server, chunk by chunk: into files, or into another server.

use super::job::Job;
use super::ranges::Range;
use crate::rows::Out;
use crate::{Error, Result};
use drover_format::manifest::Chunk;
use drover_format::row_file::{Finished, RowWriter};

/// The longest statement that MariaDB's servers and MySQL's client take by default, in bytes.
const USUAL_PACKET: u64 = 16 << 20;

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

/// The row files of a table.
pub(crate) struct Files<'a> {
    job: &'a Job<'a>,
    writer: Option<RowWriter>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Self {
        Self { job, writer: None }
    }
}

impl Out for Files<'_> {
    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| Ok(writer.write(text)?))
    }
}

impl Destination for Files<'_> {
    fn begin(&mut self, file: &str) -> Result<()> {
        self.writer = Some(self.job.begin_file(file)?);
        Ok(())
    }

    fn end(&mut self, range: &Range<'_>, chunk: Chunk) -> Result<Option<Chunk>> {
        let writer = self.writer.take().ok_or_else(|| Error::found("a file was ended twice"))?;
        let Finished { stored, invalid, longest } = writer.finish()?;
        let longest_statement = if longest > USUAL_PACKET { longest } else { 0 };
        let mut chunk =
            Chunk { stored_bytes: stored.bytes, checksum: stored.checksum, longest_statement, ..chunk };
        for (column, count) in self.job.by_column(&invalid, |_| true) {
            *chunk.invalid_text.entry(column).or_default() += count;
        }
        range.has_chunk(&chunk)?;
        Ok(Some(chunk))
    }

    fn take_away(&mut self, _range: &Range<'_>, kept: &[Chunk]) -> Result<()> {
        Ok(kept.iter().try_for_each(|chunk| self.job.place.store.remove(&chunk.file))?)
    }
}
