//! An object that goes up while it is written: small ones by one request, others in parts of which some are on their way
//! while the next one is being filled.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _};
use tokio::task::JoinHandle;

use super::{AT_ONCE, Bucket, PART};

/// How long the end of an upload that is given up may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// An object that goes up. One that is dropped before its end is never seen.
pub(crate) struct BucketWriter {
    bucket: Bucket,
    name: String,
    key: Path,
    /// What is not sent yet; less than a part.
    buffer: Vec<u8>,
    /// Bytes that were.
    sent: u64,
    upload: Option<Box<dyn MultipartUpload>>,
    on_their_way: VecDeque<JoinHandle<object_store::Result<()>>>,
}

impl fmt::Debug for BucketWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bucket.url(&self.name))
    }
}

impl BucketWriter {
    pub(super) fn new(bucket: Bucket, name: String, key: Path) -> Self {
        Self { bucket, name, key, buffer: Vec::new(), sent: 0, upload: None, on_their_way: VecDeque::new() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = part_size(self.sent);
        let count = bytes.len().min(size - self.buffer.len());
        if self.buffer.is_empty() && self.upload.is_some() {
            self.buffer.reserve_exact(size);
        }
        self.buffer.extend_from_slice(&bytes[..count]);
        if self.buffer.len() == size {
            self.send()?;
        }
        Ok(count)
    }

    /// Sends the buffer as a part.
    fn send(&mut self) -> io::Result<()> {
        if self.upload.is_none() {
            self.upload = Some(self.bucket.ask(|| self.bucket.store.put_multipart(&self.key))?);
        }
        self.wait_until_fewer(AT_ONCE)?;
        let part = std::mem::take(&mut self.buffer);
        self.sent += part.len() as u64;
        if let Some(upload) = &mut self.upload {
            self.on_their_way.push_back(self.bucket.runtime.spawn(upload.put_part(part.into())));
        }
        Ok(())
    }

    fn wait_until_fewer(&mut self, parts: usize) -> io::Result<()> {
        while self.on_their_way.len() >= parts {
            let Some(first) = self.on_their_way.front_mut() else { break };
            let sent = self.bucket.join(first);
            self.on_their_way.pop_front();
            sent?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.upload.is_none() {
            let rest = std::mem::take(&mut self.buffer);
            return self.bucket.put_new(&self.key, rest.into());
        }
        if !self.buffer.is_empty() {
            self.send()?;
        }
        self.wait_until_fewer(1)?;
        self.bucket.check_claim()?;
        let Some(upload) = &mut self.upload else { return Ok(()) };
        match self.bucket.wait(upload.complete()) {
            // An end that was asked for twice, since the first answer was lost, is refused the second time.
            Err(error) if self.bucket.size(&self.name).ok() != Some(self.sent) => return Err(error),
            _ => {}
        }
        self.upload = None;
        Ok(())
    }
}

/// Of the part that comes after so many bytes. An object may have 10,000 parts and 5 TiB: so each thousand parts are twice as
/// large as those before.
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>
fn part_size(sent: u64) -> usize {
    PART << (sent / (1000 * PART as u64) + 1).ilog2()
}

impl Drop for BucketWriter {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        self.on_their_way.iter().for_each(JoinHandle::abort);
        // If this fails too, the bucket's rules for uploads without an end remove the parts.
        let _given_up =
            self.bucket.runtime.block_on(async { tokio::time::timeout(FAREWELL, upload.abort()).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_large_enough_for_the_largest_object() {
        let mut sent = 0;
        let sizes: Vec<_> = (0..10_000)
            .map(|_| {
                let size = part_size(sent);
                sent += size as u64;
                size
            })
            .collect();
        assert_eq!((sizes[0], sizes[999], sizes[1000], sizes[2000]), (8 << 20, 8 << 20, 16 << 20, 32 << 20));
        assert!(sent >= 5 << 40);
    }
}
