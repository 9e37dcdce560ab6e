//! An object that comes down while it is read: the next parts are asked for before they are needed.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Cursor, Read as _};
use std::sync::Arc;

use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use tokio::task::JoinHandle;

use super::{AT_ONCE, Bucket, PART, insist};

/// An object that comes down.
pub(crate) struct BucketReader {
    bucket: Bucket,
    key: Path,
    size: u64,
    /// Bytes that were asked for.
    asked: u64,
    on_their_way: VecDeque<JoinHandle<object_store::Result<Vec<u8>>>>,
    part: Cursor<Vec<u8>>,
}

impl fmt::Debug for BucketReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.key, self.size)
    }
}

impl BucketReader {
    pub(super) fn new(bucket: Bucket, key: Path, size: u64) -> Self {
        Self { bucket, key, size, asked: 0, on_their_way: VecDeque::new(), part: Cursor::default() }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.part.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.part = Cursor::default();
            self.ask();
            let Some(mut next) = self.on_their_way.pop_front() else { return Ok(0) };
            self.part = Cursor::new(self.bucket.join(&mut next)?);
        }
    }

    fn ask(&mut self) {
        while self.on_their_way.len() < AT_ONCE && self.asked < self.size {
            let range = self.asked..self.size.min(self.asked + PART as u64);
            self.asked = range.end;
            let (store, key) = (Arc::clone(&self.bucket.store), self.key.clone());
            let part = async move { insist(|| store.get_range(&key, range.clone())).await.map(Vec::from) };
            self.on_their_way.push_back(self.bucket.runtime.spawn(part));
        }
    }
}

impl Drop for BucketReader {
    fn drop(&mut self) {
        self.on_their_way.iter().for_each(JoinHandle::abort);
    }
}
