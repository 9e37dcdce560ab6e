//! A server that sessions are opened on, the session that controls it, and its process where that is known.

use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use drover_db::options::{Address, ConnectOptions, Secret, ServerKey, SslMode};
use drover_db::{Connection, Error as DbError, Stop, Watched, er, quote, server};
use drover_sandbox::Flavour;

use super::process::Process;
use super::work::SCHEMA;
use crate::private::{Plan, Private};
use crate::{Error, Result};

/// How sessions come to a private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The Unix socket.
    Socket,
    /// TCP without encryption.
    Tcp,
    /// TCP with TLS.
    Tls,
}

/// Who logs in. It is no administrator: for those servers do less at the login (`init_connect`), or more.
#[derive(Debug, Clone)]
pub(super) struct Account {
    user: String,
    password: Secret,
}

/// A server.
#[derive(Debug)]
pub(super) struct Site {
    reach: Reach,
    /// Root's session on a private server, else one like those that are measured.
    pub(super) control: Connection,
    _watched: Watched<'static>,
    /// None where it is not certain which one it is.
    pub(super) process: Option<Process>,
    /// The part of a core that it uses while nobody is connected but `control`.
    pub(super) idle: f64,
}

#[derive(Debug)]
enum Reach {
    Existing(ConnectOptions),
    /// The server ends when this is dropped.
    Private(Box<Private>, Account),
}

impl Account {
    /// One with a password that nobody knows, who may be on the same host and try.
    pub(super) fn new(user: &str) -> Result<Self> {
        let source = Path::new("/dev/urandom");
        let mut bytes = [0_u8; 16];
        let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(Error::file(source))?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // With what a server that checks passwords asks for.
        Ok(Self { user: user.to_owned(), password: Secret::from(format!("Aa1-{digits}")) })
    }
}

impl Site {
    /// Starts a private server with this account, and with more options than planned.
    ///
    /// # Errors
    /// If it does not come up, or a stop was asked for.
    pub(super) fn start(plan: &Plan, more: &[String], account: &Account, stop: &Arc<Stop>) -> Result<Self> {
        let private = plan.start(more)?;
        // Nobody hears a signal while a server starts.
        if stop.is_requested() {
            return Err(Error::Stopped);
        }
        let process = Some(Process::of(private.pid())?);
        let (control, watched) = control(&private.root(), stop)?;
        let reach = Reach::Private(Box::new(private), account.clone());
        let mut site = Self { reach, control, _watched: watched, process, idle: 0.0 };
        // Whatever the operator's settings are.
        site.control.set("sql_mode", "''").map_err(Error::server("setting sql_mode"))?;
        site.create(account, None, plan.flavour())?;
        Ok(site)
    }

    /// A server that runs already.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub(super) fn existing(options: &ConnectOptions, stop: &Arc<Stop>) -> Result<Self> {
        let (control, watched) = control(options, stop)?;
        let process = control.peer_pid().filter(|pid| is_server(*pid)).and_then(|pid| Process::of(pid).ok());
        Ok(Self { reach: Reach::Existing(options.clone()), control, _watched: watched, process, idle: 0.0 })
    }

    /// Leaves it as it was found: a private one is gone, another one counts no client that went without a word.
    pub(super) fn end(self) {
        if let Reach::Existing(_) = self.reach {
            let _all_is_measured = self.control.quit();
        }
    }

    /// How sessions get in.
    pub(super) fn login(&self, way: Way) -> ConnectOptions {
        match &self.reach {
            Reach::Existing(options) => options.clone(),
            Reach::Private(private, account) => login(private, way, account),
        }
    }

    /// How sessions of another account get in. Servers of others are left as they are, and have none.
    pub(super) fn login_as(&self, way: Way, account: &Account) -> ConnectOptions {
        match &self.reach {
            Reach::Existing(options) => options.clone(),
            Reach::Private(private, _) => login(private, way, account),
        }
    }

    /// How sessions get in with TLS, and without it in the same way otherwise.
    ///
    /// # Errors
    /// If the server is reached by a socket, where there is no TLS.
    pub(super) fn login_with_tls(&self, tls: bool) -> Result<ConnectOptions> {
        match &self.reach {
            Reach::Private(..) => Ok(self.login(if tls { Way::Tls } else { Way::Tcp })),
            Reach::Existing(options) if matches!(options.address, Address::Socket(_)) => {
                let what = "--vary tls: there is no TLS over a Unix socket";
                Err(Error::with_hint(what, "name the server by --host 127.0.0.1"))
            }
            Reach::Existing(options) => {
                let mut options = options.clone();
                options.ssl.mode =
                    if tls { options.ssl.mode.max(SslMode::Required) } else { SslMode::Disabled };
                Ok(options)
            }
        }
    }

    /// Runs a statement, which an error tells.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        self.control.execute(sql).map(drop).map_err(Error::server(format!("running `{sql}`")))
    }

    /// The value of a global variable; none if there is no such variable.
    pub(super) fn variable(&mut self, name: &str) -> Result<Option<String>> {
        let asked = server::variable(&mut self.control, &format!("GLOBAL.{name}"));
        asked.map_err(Error::server(format!("reading {name}")))
    }

    /// Makes an account on a private server, with the server's own way to log in or with that of a plugin.
    ///
    /// # Errors
    /// If the server refuses it: such as where it has no such plugin.
    pub(super) fn create(&mut self, account: &Account, plugin: Option<&str>, flavour: Flavour) -> Result<()> {
        match self.try_create(account, plugin, flavour) {
            Err(source) if source.code() == Some(er::PLUGIN_IS_NOT_LOADED) => {
                let plugin = plugin.unwrap_or_default();
                self.load(plugin, flavour, source)?;
                let doing = format!("making an account that logs in by {plugin}");
                self.try_create(account, Some(plugin), flavour).map_err(Error::server(doing))
            }
            made => made.map_err(Error::server("making an account for the sessions")),
        }
    }

    fn try_create(
        &mut self,
        account: &Account,
        plugin: Option<&str>,
        flavour: Flavour,
    ) -> drover_db::Result<()> {
        let password = quote::string(account.password.expose());
        let how = match (plugin.map(quote::string), flavour) {
            (None, _) => format!("IDENTIFIED BY {password}"),
            (Some(plugin), Flavour::MariaDb) => format!("IDENTIFIED VIA {plugin} USING PASSWORD({password})"),
            (Some(plugin), Flavour::MySql) => format!("IDENTIFIED WITH {plugin} BY {password}"),
        };
        // By name for the socket, by address for TCP: names are not resolved.
        for host in ["localhost", "127.0.0.1"] {
            let user = format!("{}@{}", quote::string(&account.user), quote::string(host));
            self.control.execute(format!("CREATE USER {user} {how}"))?;
            self.control.execute(format!("GRANT SELECT ON {SCHEMA}.* TO {user}"))?;
        }
        Ok(())
    }

    /// Loads a plugin from the library that the vendor puts it into.
    fn load(&mut self, plugin: &str, flavour: Flavour, refused: DbError) -> Result<()> {
        let statement = match flavour {
            Flavour::MariaDb => format!("INSTALL SONAME {}", quote::string(&format!("auth_{plugin}"))),
            Flavour::MySql => {
                let library = quote::string(&format!("{plugin}.so"));
                format!("INSTALL PLUGIN {} SONAME {library}", quote::identifier(plugin))
            }
        };
        self.control.execute(statement).map(drop).map_err(|not_loaded| {
            Error::with_hint(
                format!("the server has no authentication plugin '{plugin}': {refused}; {not_loaded}"),
                "where its library lies elsewhere, say so behind --, as in `-- --plugin-dir=PATH`",
            )
        })
    }
}

fn control(options: &ConnectOptions, stop: &Arc<Stop>) -> Result<(Connection, Watched<'static>)> {
    stop.connect(options).map_err(Error::server("opening the session that controls the server"))
}

fn login(private: &Private, way: Way, account: &Account) -> ConnectOptions {
    let root = private.root();
    let mut options = ConnectOptions {
        user: account.user.clone(),
        password: Some(account.password.clone()),
        address: if way == Way::Socket { root.address.clone() } else { private.tcp() },
        ..root
    };
    options.ssl.mode = if way == Way::Tls { SslMode::Required } else { SslMode::Disabled };
    // Nobody is between this process and a server that it has started.
    options.exchange.server_key = ServerKey::FromServer;
    options
}

/// Whether a process is a server, and nothing that stands before one. A server that is run by a loader of its own is named by an
/// argument.
fn is_server(pid: u32) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).take(4).any(|argument| {
        let name = argument.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        matches!(name, b"mysqld" | b"mariadbd")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_passwords_are_the_same() {
        let [one, other] = [1, 2].map(|_| Account::new("bob").unwrap());
        assert_ne!(one.password.expose(), other.password.expose());
        assert_eq!(one.password.expose().len(), 36);
        assert!(!format!("{one:?}").contains(one.password.expose()));
    }

    #[test]
    fn this_process_is_no_server() {
        assert!(!is_server(std::process::id()));
    }
}
