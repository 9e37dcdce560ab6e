//! A dump in a bucket that speaks S3, by the `object_store` crate, which signs requests and tries them again. Nothing is kept
//! on the local disk: a file goes up in parts while it is being written, and comes down in parts while it is being read.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path as FilePath;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, ListResult, ObjectStore as _, ObjectStoreExt as _, PutMode, PutPayload,
    RetryConfig,
};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::limits::{LOCK, too_large};
use crate::{Error, Failure, Result, StoreArgs};

mod connector;
mod reader;
mod writer;

use connector::{REQUEST, SameHost};
pub(super) use reader::BucketReader;
pub(super) use writer::BucketWriter;

/// What a place begins with that is in an object store.
const SCHEME: &str = "s3://";
/// Bytes of a part, up or down. S3 takes parts of 5 MiB and more, 10,000 of them in an object.
const PART: usize = 8 << 20;
/// Parts of one object that are on their way at the same time, besides the one that is being filled or read.
const AT_ONCE: usize = 2;
/// The names of objects in one folder that are held in memory: files of so much text are 100 TB.
const MOST_NAMES: usize = 1_000_000;
/// The object that says whose the prefix is has no more bytes.
const MOST_CLAIM: u64 = 1024;
/// How often a request is tried again.
const RETRIES: usize = 12;
/// The same for the first request, where a wrong address is more likely than a short trouble.
const FIRST_RETRIES: usize = 2;

/// Pauses before that: each is a random part of the one before times `base`, so that they double in the middle; about a minute
/// in all.
const BACKOFF: BackoffConfig = BackoffConfig {
    init_backoff: Duration::from_millis(100),
    max_backoff: Duration::from_secs(15),
    base: 4.0,
};
/// Pauses before a request is made again whose answer broke off, in milliseconds.
const PAUSES: [u64; 6] = [100, 200, 400, 800, 1600, 3200];

/// Whether a place is in an object store.
pub(super) fn is_url(place: &FilePath) -> bool {
    place.as_os_str().as_encoded_bytes().starts_with(SCHEME.as_bytes())
}

/// `s3://BUCKET/PREFIX`.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    runtime: Arc<Runtime>,
    name: String,
    /// Without a slash at its ends; may be empty.
    prefix: String,
    /// Whether nothing more is to be waited for.
    halted: watch::Sender<bool>,
    /// What tells the run that writes here from others, once it has taken the prefix.
    claim: Arc<OnceLock<Vec<u8>>>,
}

/// Says where it is; the keys are in the rest.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url(""))
    }
}

impl Bucket {
    /// Opens a bucket with the keys and the region of the usual environment variables, and asks whether it is there.
    pub(super) fn open(place: &FilePath, args: &StoreArgs) -> Result<Self> {
        let (name, prefix) = parse(place)?;
        let access = Access::new(&name, args)?;
        // TLS is made by the same library as on the connections to servers; it is no error that it was chosen before.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|source| Error::Bucket {
            bucket: name.clone(),
            doing: "no threads for it",
            source,
        })?;
        let store = access.open(FIRST_RETRIES)?;
        let first = Self {
            store: Arc::new(store),
            runtime: Arc::new(runtime),
            name,
            prefix,
            halted: watch::Sender::new(false),
            claim: Arc::default(),
        };
        first.list("").map_err(|source| Error::File { path: first.url("").into(), source })?;
        Ok(Self { store: Arc::new(access.open(RETRIES)?), ..first })
    }

    /// The URL of an object, or of the whole for an empty name.
    pub(super) fn url(&self, name: &str) -> String {
        format!("{SCHEME}{}/{}", self.name, self.raw_key(name)).trim_end_matches('/').to_owned()
    }

    fn raw_key(&self, name: &str) -> String {
        let separator = if self.prefix.is_empty() || name.is_empty() { "" } else { "/" };
        format!("{}{separator}{name}", self.prefix)
    }

    /// The key is taken as it is: names of files have been made safe before.
    fn key(&self, name: &str) -> io::Result<Path> {
        Path::parse(self.raw_key(name)).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    /// Waits for a request that may be made again.
    fn ask<T, W>(&self, request: impl Fn() -> W) -> io::Result<T>
    where
        W: Future<Output = object_store::Result<T>>,
    {
        self.wait(insist(request))
    }

    fn wait<T>(&self, work: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
        let mut halted = self.halted.subscribe();
        self.runtime.block_on(async {
            let (mut work, mut halt) = (pin!(work), pin!(halted.wait_for(|halted| *halted)));
            poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Ready(result) => Poll::Ready(result.map_err(Failure::io)),
                Poll::Pending => halt.as_mut().poll(context).map(|_| Err(Failure::halted())),
            })
            .await
        })
    }

    /// Waits for work that goes on by itself meanwhile.
    fn join<T>(&self, work: &mut JoinHandle<object_store::Result<T>>) -> io::Result<T> {
        let joined = async { work.await.unwrap_or_else(|error| Err(error.into())) };
        self.wait(joined)
    }

    /// What ends all that is waited for, now and later.
    pub(super) fn halt(&self) -> impl Fn() + Send + 'static {
        let halted = self.halted.clone();
        move || {
            halted.send_replace(true);
        }
    }

    /// Takes the prefix: an earlier run that is still alive writes nothing there from now on.
    pub(super) fn take(&self, name: &str) -> io::Result<()> {
        let mark = format!("{:016x}\n", RandomState::new().hash_one(std::process::id())).into_bytes();
        self.put(name, &mark)?;
        self.claim.get_or_init(|| mark);
        Ok(())
    }

    /// Refuses to write where another run has taken the prefix since. Nothing on the server keeps the two apart: what is asked for right
    /// before is seen, and what comes between the answer and the object is not.
    fn check_claim(&self) -> io::Result<()> {
        let Some(mark) = self.claim.get() else { return Ok(()) };
        match self.read(LOCK, MOST_CLAIM) {
            Ok(found) if found == *mark => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Err(Failure::taken()),
        }
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.check_claim()?;
        self.put(name, bytes)
    }

    /// Writes a file that was not there before, for a store that knows such a condition: what is under way while this process stands still
    /// must not take the place of what another run has written meanwhile.
    pub(super) fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put_new(&self.key(name)?, bytes.to_vec().into())
    }

    fn put_new(&self, key: &Path, bytes: PutPayload) -> io::Result<()> {
        self.check_claim()?;
        let put = self.store.put_opts(key, bytes.clone(), PutMode::Create.into());
        if self.wait(put).is_ok() {
            return Ok(());
        }
        // It is there, or the store knows no condition, or its answer was lost: by now it is known whose the prefix is.
        self.check_claim()?;
        self.ask(|| self.store.put(key, bytes.clone())).map(drop)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (key, bytes) = (self.key(name)?, PutPayload::from(bytes.to_vec()));
        self.ask(|| self.store.put(&key, bytes.clone())).map(drop)
    }

    /// Reads an object of at most so many bytes.
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let key = self.key(name)?;
        let read = async || {
            let object = self.store.get(&key).await?;
            if object.meta.size > most {
                return Ok(None);
            }
            object.bytes().await.map(Some)
        };
        self.ask(read)?.map(Vec::from).ok_or_else(too_large)
    }

    fn size(&self, name: &str) -> io::Result<u64> {
        let key = self.key(name)?;
        self.ask(|| self.store.head(&key)).map(|object| object.size)
    }

    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        match self.size(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.map(|_| true),
        }
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        self.check_claim()?;
        let key = self.key(name)?;
        self.ask(|| self.store.delete(&key))
    }

    /// The names in a folder, without its own.
    pub(super) fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let (objects, folders) = self.look(folder)?;
        let start = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let names = objects.into_keys().chain(folders);
        Ok(names.filter_map(|name| name.get(start..).map(Into::into)).collect())
    }

    /// The sizes of all objects, by name.
    pub(super) fn sizes(&self) -> io::Result<BTreeMap<String, u64>> {
        let (mut objects, mut folders) = self.look("")?;
        while let Some(folder) = folders.pop() {
            let (more, deeper) = self.look(&folder)?;
            objects.extend(more);
            folders.extend(deeper);
        }
        Ok(objects)
    }

    /// The objects in a folder with their sizes, and the folders in it.
    fn look(&self, folder: &str) -> io::Result<(BTreeMap<String, u64>, Vec<String>)> {
        let key = self.key(folder)?;
        let found = self.ask(|| self.pages(&key))?.ok_or_else(|| {
            io::Error::other(format!("more than {MOST_NAMES} objects are listed: no dump has as many"))
        })?;
        let start = if self.prefix.is_empty() { 0 } else { self.prefix.len() + 1 };
        let name = |key: &Path| key.as_ref().get(start..).map(str::to_owned);
        let objects = found.objects.iter().filter_map(|object| Some((name(&object.location)?, object.size)));
        Ok((objects.collect(), found.common_prefixes.iter().filter_map(name).collect()))
    }

    /// What a folder holds, page by page; `None` if it does not end.
    async fn pages(&self, key: &Path) -> object_store::Result<Option<ListResult>> {
        let prefix = Some(format!("{key}/")).filter(|prefix| prefix != "/");
        let mut all =
            ListResult { common_prefixes: Vec::new(), objects: Vec::new(), extensions: Default::default() };
        let mut page_token = None;
        loop {
            let options =
                PaginatedListOptions { delimiter: Some("/".into()), page_token, ..Default::default() };
            let page = self.store.list_paginated(prefix.as_deref(), options).await?;
            all.objects.extend(page.result.objects);
            all.common_prefixes.extend(page.result.common_prefixes);
            page_token = page.page_token;
            if page_token.is_none() {
                return Ok(Some(all));
            }
            if all.objects.len() + all.common_prefixes.len() > MOST_NAMES {
                return Ok(None);
            }
        }
    }

    pub(super) fn create(&self, name: &str) -> io::Result<BucketWriter> {
        Ok(BucketWriter::new(self.clone(), name.to_owned(), self.key(name)?))
    }

    /// Reads an object, or its first `most` bytes.
    pub(super) fn reader(&self, name: &str, most: u64) -> io::Result<BucketReader> {
        Ok(BucketReader::new(self.clone(), self.key(name)?, self.size(name)?.min(most)))
    }
}

/// Makes a request again whose answer broke off: object_store does so only until an answer begins.
async fn insist<T, W>(request: impl Fn() -> W) -> object_store::Result<T>
where
    W: Future<Output = object_store::Result<T>>,
{
    for pause in PAUSES {
        match request().await {
            Err(error) if Failure::is_amid_answer(&error) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            other => return other,
        }
    }
    request().await
}

/// The bucket's name and the prefix in a URL.
fn parse(place: &FilePath) -> Result<(String, String)> {
    let wrong = Error::Url;
    let url = place.to_str().ok_or_else(|| wrong("the name of the object store is not in UTF-8"))?;
    let (name, prefix) = url[SCHEME.len()..].split_once('/').unwrap_or((&url[SCHEME.len()..], ""));
    // What is no name is not quoted: a person may have put keys there.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(wrong("no name of a bucket stands behind s3://"));
    }
    let prefix = prefix.trim_matches('/');
    Path::parse(prefix).map_err(|_| wrong("the prefix behind the bucket's name has an empty or odd part"))?;
    Ok((name.into(), prefix.into()))
}

/// What it takes to use a bucket. There is no Debug: it holds the keys.
struct Access {
    builder: AmazonS3Builder,
    name: String,
}

impl Access {
    fn new(name: &str, args: &StoreArgs) -> Result<Self> {
        let variable = |names: &[&str]| {
            names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
        };
        let (id, secret) = (variable(&["AWS_ACCESS_KEY_ID"]), variable(&["AWS_SECRET_ACCESS_KEY"]));
        let (Some(id), Some(secret)) = (id, secret) else {
            return Err(Error::Keys(name.to_owned()));
        };
        let client = ClientOptions::new();
        let mut builder = AmazonS3Builder::new()
            .with_http_connector(SameHost)
            .with_bucket_name(name)
            .with_access_key_id(id)
            .with_secret_access_key(secret)
            .with_region(
                variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| "us-east-1".into()),
            );
        if let Some(token) = variable(&["AWS_SESSION_TOKEN"]) {
            builder = builder.with_token(token);
        }
        let endpoint =
            args.s3_endpoint.clone().or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
        let mut allows_http = false;
        if let Some(endpoint) = endpoint {
            let endpoint = checked(&endpoint)?;
            allows_http = endpoint.starts_with("http://");
            builder = builder.with_endpoint(endpoint);
        }
        Ok(Self {
            builder: builder.with_client_options(client.with_allow_http(allows_http)),
            name: name.into(),
        })
    }

    fn open(&self, max_retries: usize) -> Result<AmazonS3> {
        let retry = RetryConfig { max_retries, retry_timeout: REQUEST * 2, backoff: BACKOFF };
        let store = self.builder.clone().with_retry(retry).build();
        store.map_err(|error| Error::Bucket {
            bucket: self.name.clone(),
            doing: "it cannot be used",
            source: Failure::io(error),
        })
    }
}

/// The address of an object store, without a slash at its end.
fn checked(endpoint: &str) -> Result<&str> {
    let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
    match host {
        // What is wrong is not quoted: it may be a password.
        Some(host) if !host.is_empty() && !host.contains('@') => Ok(endpoint.trim_end_matches('/')),
        _ => Err(Error::Endpoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_bucket_and_perhaps_a_prefix() {
        let parsed = |url: &str| parse(FilePath::new(url)).map_err(|error| error.to_string());
        let of = |name: &str, prefix: &str| Ok((name.to_owned(), prefix.to_owned()));
        assert_eq!(parsed("s3://b"), of("b", ""));
        assert_eq!(parsed("s3://b/"), of("b", ""));
        assert_eq!(parsed("s3://b.c-d/x/y%20/"), of("b.c-d", "x/y%20"));
        for wrong in ["s3://", "s3:///x", "s3://KEY:secret@b/x", "s3://b/x//y", "s3://b/../x"] {
            let error = parsed(wrong).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(
            is_url(FilePath::new("s3://b"))
                && !is_url(FilePath::new("s3/b"))
                && !is_url(FilePath::new("./s3://b"))
        );
    }

    #[test]
    fn an_endpoint_is_an_address_without_secrets() {
        assert_eq!(checked("http://127.0.0.1:9000/").unwrap(), "http://127.0.0.1:9000");
        for wrong in ["127.0.0.1:9000", "http://", "https://user:secret@host", "ftp://host"] {
            assert!(!checked(wrong).unwrap_err().to_string().contains("secret"), "{wrong}");
        }
    }
}
