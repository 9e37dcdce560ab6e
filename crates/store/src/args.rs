//! The options that say where an object store is.

/// Where the object store is
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StoreArgs {
    /// The address of an object store that is not Amazon's, https://HOST:PORT [env: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL", help_heading = "Object store")]
    pub s3_endpoint: Option<String>,
}
