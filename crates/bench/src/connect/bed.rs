//! What the sessions are opened on: one server, or one for each value of a setting that servers read when they start.

use std::sync::Arc;

use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_sandbox::Flavour;

use super::args::ConnectArgs;
use super::site::{Account, Site, Way};
use super::tls::Certificate;
use super::vary::Vary;
use super::work::Work;
use crate::private::Plan;
use crate::{Error, Result};

/// The servers.
#[derive(Debug)]
pub(super) struct Bed<'a> {
    /// The first is there all the time, the others for one comparison.
    pub(super) sites: Vec<Site>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
    /// How the sessions come in where nothing else is said.
    pub(super) way: Way,
    /// How private servers are started; none beside one that runs already.
    private: Option<PrivateServers>,
    stop: &'a Arc<Stop>,
}

#[derive(Debug)]
struct PrivateServers {
    plan: Plan,
    account: Account,
    work: Work,
    seed: u64,
    /// Its files are there as long as this is.
    _certificate: Option<Certificate>,
}

impl<'a> Bed<'a> {
    /// Connects to a server that runs already, or starts a private one.
    ///
    /// # Errors
    /// If that cannot be done.
    pub(super) fn new(
        args: &ConnectArgs,
        existing: Option<&ConnectOptions>,
        stop: &'a Arc<Stop>,
    ) -> Result<Self> {
        let way = match (args.tls, args.tcp) {
            (true, _) => Way::Tls,
            (false, true) => Way::Tcp,
            (false, false) => Way::Socket,
        };
        let mut bed = Self { sites: Vec::new(), warnings: Vec::new(), way, private: None, stop };
        if let Some(options) = existing {
            let site = Site::existing(options, stop)?;
            bed.warnings.push(warning_of_others(&site));
            bed.sites.push(site);
            return Ok(bed);
        }
        bed.private = Some(PrivateServers::new(args, &mut bed.warnings)?);
        bed.start(&[])?;
        Ok(bed)
    }

    /// Starts one more private server, and says which one it is.
    ///
    /// # Errors
    /// If it does not come up, or there are no private ones.
    pub(super) fn start(&mut self, more: &[String]) -> Result<usize> {
        let Some(private) = &self.private else {
            return Err(Error::found("no server is started beside one that runs already"));
        };
        let mut site = Site::start(&private.plan, more, &private.account, self.stop)?;
        private.work.prepare(&mut site.control, private.seed)?;
        self.sites.push(site);
        Ok(self.sites.len() - 1)
    }

    /// Whose private server it is.
    pub(super) fn flavour(&self) -> Option<Flavour> {
        self.private.as_ref().map(|private| private.plan.flavour())
    }
}

impl PrivateServers {
    fn new(args: &ConnectArgs, warnings: &mut Vec<String>) -> Result<Self> {
        let mut plan = Plan::new(&args.private)?;
        warnings.append(&mut plan.warnings);
        let uses_tls = args.tls || args.vary.iter().any(|vary| matches!(vary, Vary::Tls(_)));
        let mut certificate = None;
        // MySQL's servers make themselves one.
        if uses_tls && plan.flavour() == Flavour::MariaDb && !plan.has_option("ssl-cert") {
            let made = Certificate::new()?;
            plan.add_option("ssl-cert", &made.file());
            plan.add_option("ssl-key", &made.key());
            // Without one OpenSSL looks for who signed it among the system's, file by file, at each login.
            if !plan.has_option("ssl-ca") {
                plan.add_option("ssl-ca", &made.file());
            }
            warnings.push(Certificate::WARNING.to_owned());
            certificate = Some(made);
        }
        let account = Account::new("drover_bench")?;
        Ok(Self { plan, account, work: args.work, seed: args.measure.seed, _certificate: certificate })
    }
}

fn warning_of_others(site: &Site) -> String {
    match site.process {
        Some(_) => "the server's CPU time and page faults hold whatever else it did meanwhile".to_owned(),
        None => {
            "the server's CPU time is not known: over a Unix socket it is certain which process it is, over TCP it is not".to_owned()
        }
    }
}
