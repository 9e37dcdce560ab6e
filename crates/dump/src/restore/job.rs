//! What all parts of a restore work with.

use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_format::manifest::Manifest;
use drover_store::Store;
use drover_throttle::Throttle;

use super::args::TargetArgs;
use super::rename::Renames;
use crate::definer::Definers;
use crate::progress::Progress;
use crate::translate::Translator;

/// What a person is told where rows come as statements.
pub(super) const NO_FILES: &str = "the server takes no files from its clients (local_infile is OFF): rows are sent as INSERT statements, which is \
                        slower; --enable-local-infile switches it on meanwhile, with an account that has SYSTEM_VARIABLES_ADMIN or SUPER";

/// A server on its way to hold what a manifest describes.
pub(crate) struct Restore<'a> {
    pub(crate) args: &'a TargetArgs,
    /// Whether it may go on with what an earlier run has done.
    pub(crate) resume: bool,
    /// Whether accounts and roles come too.
    pub(crate) users: bool,
    pub(crate) options: &'a ConnectOptions,
    pub(crate) store: &'a Store,
    pub(crate) manifest: &'a Manifest,
    pub(crate) renames: &'a Renames,
    pub(crate) definers: &'a Definers,
    /// Views and programs that get another definer.
    pub(crate) definers_changed: usize,
    pub(crate) translator: Option<&'a Translator>,
    pub(crate) throttle: &'a Throttle<'a>,
    pub(crate) stop: &'a Stop,
    pub(crate) progress: &'a Progress,
}
