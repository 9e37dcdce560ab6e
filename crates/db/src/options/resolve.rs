//! Collects what every source says about the server and makes one set of connection options of it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::args::ServerArgs;
use super::error::{OptionError, Origin};
use super::files::{self, FileOption, Request, SourceFile};
use super::secret::Secret;
use super::settings::{Layers, PasswordSetting, Settings, Text};
use super::{ConnectOptions, Logged, OneServer, SslMode, url};

/// Where servers put their socket: Debian (twice), Red Hat and MySQL's packages for it, and MySQL's own
/// default.
const USUAL_SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Environment variables that the mysql client reads, and the options that they stand for.
const VARIABLES: [(&str, &str); 4] = [
    ("MYSQL_HOST", "host"),
    ("MYSQL_TCP_PORT", "port"),
    ("MYSQL_UNIX_PORT", "socket"),
    ("MYSQL_PWD", "password"),
];
const GROUP_SUFFIX: &str = "MYSQL_GROUP_SUFFIX";

/// The groups that clients read (`client` both vendors', the others MariaDB's; `mariadb --help` names them), and the
/// one of this program. Which vendor's server answers is not known yet, so all are read.
const CLIENT_GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];
const OWN_GROUP: &str = "drover";

/// Connection options, and what a person should know about how they came to be.
#[derive(Debug)]
pub struct Resolved {
    /// The options.
    pub options: ConnectOptions,
    /// One sentence each, such as that an option file was ignored.
    pub warnings: Vec<String>,
}

impl ServerArgs {
    /// Makes connection options of these arguments, the option files and the environment.
    ///
    /// `ask` is called, at most once and after all else was found to be right, if a password is to be typed.
    ///
    /// # Errors
    /// Fails on option files that cannot be read, on values that cannot be, on contradictions, and if `ask`
    /// fails.
    pub fn resolve(&self, ask: impl FnMut() -> io::Result<String>) -> Result<Resolved, OptionError> {
        self.resolve_in(&Surroundings::of_process(), ask)
    }

    fn resolve_in(
        &self,
        surroundings: &Surroundings,
        ask: impl FnMut() -> io::Result<String>,
    ) -> Result<Resolved, OptionError> {
        let mut warnings = Vec::new();
        let layers = Layers {
            command_line: self.settings(),
            url: self.url.as_ref().map_or_else(|| Ok(Settings::default()), |u| url::parse(u.expose()))?,
            files: self.file_settings(surroundings, &mut warnings)?,
            environment: surroundings.settings()?,
        };
        let (settings, address) = layers.combine(surroundings.default_socket())?;
        warnings.extend(warning_about_ssl(&settings));
        let user = settings.user.clone().filter(|u| !u.is_empty()).or_else(|| surroundings.user.clone());
        let options = ConnectOptions {
            user: user.ok_or(OptionError::NoUser)?,
            address,
            database: settings.database.clone().filter(|d| !d.is_empty()),
            ssl: settings.ssl(),
            exchange: settings.exchange(),
            connect_timeout: settings.timeout(),
            logged: Logged::AsUsual,
            one_server: OneServer::proved(),
            password: password(settings.password, ask)?,
        };
        Ok(Resolved { options, warnings })
    }

    fn file_settings(
        &self,
        surroundings: &Surroundings,
        warnings: &mut Vec<String>,
    ) -> Result<Settings, OptionError> {
        let request = Request {
            files: self.files(surroundings),
            groups: self.groups(surroundings)?,
            home: surroundings.home.clone(),
        };
        let found = files::read(&request)?;
        warnings.extend(found.warnings);
        let mut settings = Settings::default();
        for option in &found.options {
            warnings.extend(take(&mut settings, option)?);
        }
        Ok(settings)
    }

    /// The option files in the order in which the mysql client reads them.
    fn files(&self, surroundings: &Surroundings) -> Vec<SourceFile> {
        let required = |path: &PathBuf| SourceFile { path: path.clone(), required: true };
        let optional = |path: PathBuf| SourceFile { path, required: false };
        if self.no_defaults {
            return Vec::new();
        }
        if let Some(file) = &self.defaults_file {
            return vec![required(file)];
        }
        let mut files: Vec<_> = surroundings.global_files.iter().cloned().map(optional).collect();
        files.extend(self.defaults_extra_file.as_ref().map(required));
        files.extend(surroundings.home.as_ref().map(|home| optional(home.join(".my.cnf"))));
        files
    }

    fn groups(&self, surroundings: &Surroundings) -> Result<Vec<String>, OptionError> {
        let suffix = match &self.defaults_group_suffix {
            Some(suffix) => Some(suffix.as_str()),
            None => surroundings.variable(GROUP_SUFFIX)?,
        };
        let names = || CLIENT_GROUPS.into_iter().chain([OWN_GROUP]);
        let suffixed =
            suffix.into_iter().flat_map(|suffix| names().map(move |name| format!("{name}{suffix}")));
        Ok(names().map(str::to_owned).chain(suffixed).collect())
    }
}

/// Another server of the same kind, such as a replica, with all that was said of the one at hand but where it is, and with its
/// account unless the URL has one of its own.
///
/// # Errors
/// As [`ServerArgs::resolve`], and if a password is to be typed: nobody is asked for it.
pub fn beside(server: &ServerArgs, url: &Secret) -> Result<ConnectOptions, OptionError> {
    beside_in(&Surroundings::of_process(), server, url)
}

fn beside_in(
    surroundings: &Surroundings,
    server: &ServerArgs,
    url: &Secret,
) -> Result<ConnectOptions, OptionError> {
    let has_account = url.expose().contains('@');
    let mut other = ServerArgs { url: Some(url.clone()), ..server.clone() };
    (other.host, other.port, other.socket, other.protocol) = (None, None, None, None);
    if has_account {
        (other.user, other.password) = (None, None);
    }
    let options = other.resolve_in(surroundings, || Err(io::ErrorKind::Unsupported.into()))?.options;
    Ok(ConnectOptions { one_server: OneServer::that_may_lag(), ..options })
}

/// Takes in one option of a file; may return a warning.
///
/// The clients' groups hold options of all clients, so what is not known there is none of ours.
fn take(settings: &mut Settings, option: &FileOption) -> Result<Option<String>, OptionError> {
    let FileOption { group, name, value, origin } = option;
    let full_name = name.replace('_', "-");
    let loose_name = full_name.strip_prefix("loose-");
    let text = Text { name: loose_name.unwrap_or(&full_name), value: value.as_deref(), origin };
    let own = group.get(..OWN_GROUP.len()).is_some_and(|g| g.eq_ignore_ascii_case(OWN_GROUP));
    if settings.set(text)? || !own {
        return Ok(None);
    }
    let name = shown_name(name);
    match loose_name {
        Some(_) => Ok(Some(format!("{origin}: option '{name}' is ignored because it is not known"))),
        None => Err(OptionError::UnknownOption { origin: origin.clone(), name: name.to_owned() }),
    }
}

/// As much of a name as can be shown: in `password hunter2`, which lacks its `=`, all of it counts as the name.
fn shown_name(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    &name[..end.unwrap_or(name.len())]
}

/// A CA proves nothing where whoever sits between can say that there is no TLS.
fn warning_about_ssl(settings: &Settings) -> Option<String> {
    let ssl = settings.ssl();
    (ssl.ca.is_some() && ssl.mode < SslMode::Required)
        .then(|| format!("TLS is not required although a CA is given: ssl-mode is {}", ssl.mode))
}

fn password(
    setting: Option<PasswordSetting>,
    mut ask: impl FnMut() -> io::Result<String>,
) -> Result<Option<Secret>, OptionError> {
    let password = match setting {
        None => return Ok(None),
        Some(PasswordSetting::Given(password)) => password,
        Some(PasswordSetting::Ask) => Secret::from(ask().map_err(OptionError::Ask)?),
    };
    Ok(Some(password).filter(|p| !p.is_empty()))
}

/// What the process finds around it.
#[derive(Debug, Default)]
struct Surroundings {
    variables: Vec<(&'static str, OsString)>,
    home: Option<PathBuf>,
    global_files: Vec<PathBuf>,
    /// Where to look for a server's socket.
    sockets: Vec<PathBuf>,
    /// The name of the user that the process runs as.
    user: Option<String>,
}

impl Surroundings {
    fn of_process() -> Surroundings {
        let names = VARIABLES.iter().map(|&(name, _)| name).chain([GROUP_SUFFIX]);
        Surroundings {
            variables: names.filter_map(|name| Some((name, std::env::var_os(name)?))).collect(),
            home: std::env::var_os("HOME").filter(|h| !h.is_empty()).map(PathBuf::from),
            global_files: files::GLOBAL_FILES.map(PathBuf::from).to_vec(),
            sockets: USUAL_SOCKETS.map(PathBuf::from).to_vec(),
            user: user_of_process(),
        }
    }

    /// A variable's text; an empty one counts as absent.
    fn variable(&self, name: &'static str) -> Result<Option<&str>, OptionError> {
        match self.variables.iter().find(|(n, value)| *n == name && !value.is_empty()) {
            Some((_, value)) => {
                value.to_str().map(Some).ok_or(OptionError::NotUtf8(Origin::Environment(name)))
            }
            None => Ok(None),
        }
    }

    fn settings(&self) -> Result<Settings, OptionError> {
        let mut settings = Settings::default();
        for (variable, option) in VARIABLES {
            if let Some(value) = self.variable(variable)? {
                let origin = &Origin::Environment(variable);
                settings.set(Text { name: option, value: Some(value), origin })?;
            }
        }
        Ok(settings)
    }

    /// The first usual place that exists; if none does, the first, for the error message of the connection.
    fn default_socket(&self) -> PathBuf {
        let existing = self.sockets.iter().find(|path| path.exists());
        existing.or(self.sockets.first()).cloned().unwrap_or_default()
    }
}

/// The name of the effective user, and the environment's only where that has none: after `su` the environment
/// may still name the caller.
fn user_of_process() -> Option<String> {
    // The owner of this directory is the effective user (proc(5)).
    let by_id = fs::metadata("/proc/self").ok().and_then(|process| {
        let accounts = fs::read("/etc/passwd").ok()?;
        user_name(&String::from_utf8_lossy(&accounts), process.uid())
    });
    let by_environment = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    by_id.or_else(by_environment).filter(|name| !name.is_empty())
}

/// The name of the user with this id in the text of `/etc/passwd`.
fn user_name(accounts: &str, id: u32) -> Option<String> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, account_id) = (fields.next()?, fields.nth(1)?);
        (account_id.parse() == Ok(id)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::super::{Address, PasswordExchange, SslOptions};
    use super::*;

    /// A made-up host with a home directory, removed at the end of the test.
    struct Host(Surroundings);

    impl Host {
        fn new() -> Host {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name = format!("resolve-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let home = std::env::temp_dir().join(name);
            fs::create_dir(&home).unwrap();
            Host(Surroundings {
                global_files: vec![home.join("global.cnf")],
                sockets: vec![home.join("first.sock"), home.join("second.sock")],
                user: Some("me".into()),
                home: Some(home),
                variables: Vec::new(),
            })
        }

        fn home(&self) -> &Path {
            self.0.home.as_deref().unwrap()
        }

        fn file(self, name: &str, text: &str) -> Host {
            fs::write(self.home().join(name), text).unwrap();
            self
        }

        fn variable(mut self, name: &'static str, value: &str) -> Host {
            self.0.variables.push((name, value.into()));
            self
        }

        fn resolve(&self, args: &ServerArgs) -> Result<Resolved, OptionError> {
            args.resolve_in(&self.0, || panic!("asked for a password"))
        }

        fn options(&self, args: &ServerArgs) -> ConnectOptions {
            let resolved = self.resolve(args).unwrap();
            assert_eq!(resolved.warnings, Vec::<String>::new());
            resolved.options
        }

        fn error(&self, args: &ServerArgs) -> String {
            let error = self.resolve(args).unwrap_err().to_string();
            error.replace(self.home().to_str().unwrap(), "~")
        }
    }

    impl Drop for Host {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.home());
        }
    }

    fn args() -> ServerArgs {
        ServerArgs::default()
    }

    fn with_url(url: &str) -> ServerArgs {
        ServerArgs { url: Some(url.into()), ..args() }
    }

    fn secret(text: &str) -> Option<Secret> {
        Some(Secret::from(text))
    }

    #[test]
    fn nothing_said_means_the_default_server() {
        let host = Host::new();
        let expected = ConnectOptions {
            user: "me".into(),
            password: None,
            address: Address::Socket(host.home().join("first.sock")),
            database: None,
            ssl: SslOptions { mode: SslMode::Preferred, ca: None, cert: None, key: None },
            exchange: PasswordExchange::default(),
            connect_timeout: Duration::from_secs(10),
            logged: Logged::AsUsual,
            one_server: OneServer::default(),
        };
        assert_eq!(host.options(&args()), expected);
    }

    #[test]
    fn the_first_socket_that_exists_is_the_default() {
        let host = Host::new().file("second.sock", "");
        assert_eq!(host.options(&args()).address, Address::Socket(host.home().join("second.sock")));
    }

    #[test]
    fn environment_then_files_then_url_then_command_line() {
        let host = Host::new().variable("MYSQL_PWD", "env").variable("MYSQL_TCP_PORT", "1");
        let url = with_url("mysql://u@url.example");
        assert_eq!(host.options(&url).address.to_string(), "url.example:1");
        assert_eq!(host.options(&url).password, secret("env"));
        let host = host.file(".my.cnf", "[client]\nport=2\npassword=file\nuser=file\n");
        let options = host.options(&url);
        assert_eq!((options.user.as_str(), options.address.to_string().as_str()), ("u", "url.example:2"));
        assert_eq!(options.password, secret("file"));
        let all = ServerArgs { host: Some("arg.example".into()), password: Some(secret("arg")), ..url };
        let options = host.options(&all);
        assert_eq!(
            (options.password, options.address.to_string().as_str()),
            (secret("arg"), "arg.example:2")
        );
    }

    #[test]
    fn all_variables_of_the_client() {
        let host = Host::new()
            .variable("MYSQL_HOST", "db")
            .variable("MYSQL_TCP_PORT", "3310")
            .variable("MYSQL_UNIX_PORT", "/env.sock")
            .variable("MYSQL_PWD", "");
        let options = host.options(&args());
        assert_eq!((options.address.to_string().as_str(), options.password), ("db:3310", None));
        let local = ServerArgs { host: Some("localhost".into()), ..args() };
        assert_eq!(host.options(&local).address.to_string(), "socket /env.sock");
        let host = Host::new().variable("MYSQL_TCP_PORT", "mysql");
        assert_eq!(
            host.error(&args()),
            "environment variable MYSQL_TCP_PORT: port must be a number from 1 to 65535, not 'mysql'"
        );
    }

    #[test]
    fn files_are_read_in_the_clients_order() {
        let host = Host::new()
            .file("global.cnf", "[client]\nuser=global\ndatabase=global\nhost=global\n")
            .file("extra.cnf", "[drover]\nuser=extra\ndatabase=extra\n")
            .file(".my.cnf", "[client]\nuser=home\n");
        let extra = Some(host.home().join("extra.cnf"));
        let options = host.options(&ServerArgs { defaults_extra_file: extra.clone(), ..args() });
        assert_eq!((options.user.as_str(), options.database.as_deref()), ("home", Some("extra")));
        assert_eq!(options.address.to_string(), "global:3306");
        let options = host.options(&ServerArgs { defaults_file: extra, ..args() });
        assert_eq!((options.user.as_str(), options.database.as_deref()), ("extra", Some("extra")));
        assert_eq!(host.options(&ServerArgs { no_defaults: true, ..args() }).user, "me");
    }

    #[test]
    fn named_files_must_exist() {
        let host = Host::new();
        let none = Some(host.home().join("none.cnf"));
        let expected = "cannot read option file ~/none.cnf: No such file or directory (os error 2)";
        assert_eq!(host.error(&ServerArgs { defaults_file: none.clone(), ..args() }), expected);
        assert_eq!(host.error(&ServerArgs { defaults_extra_file: none, ..args() }), expected);
    }

    #[test]
    fn a_file_that_anyone_can_write_to_is_an_error_only_if_it_was_named() {
        let host = Host::new().file(".my.cnf", "[client]\nuser=evil\npassword=p\n");
        let path = host.home().join(".my.cnf");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
        let resolved = host.resolve(&args()).unwrap();
        assert_eq!((resolved.options.user.as_str(), resolved.options.password), ("me", None));
        assert!(resolved.warnings[0].ends_with(".my.cnf is ignored: anyone can write to it"));
        let expected = "cannot use option file ~/.my.cnf: anyone can write to it";
        assert_eq!(host.error(&ServerArgs { defaults_file: Some(path.clone()), ..args() }), expected);
        assert_eq!(host.error(&ServerArgs { defaults_extra_file: Some(path), ..args() }), expected);
    }

    /// What `mariadb --print-defaults` of 10.11 prints for these lines, but for `[mysql]` and `[drover]`.
    #[test]
    fn all_client_groups_are_read_and_the_last_line_wins_whatever_its_group() {
        let user = |text: &str| Host::new().file(".my.cnf", text).options(&args()).user;
        assert_eq!(user("[client-server]\nuser=a\n[client-mariadb]\nuser=b\n"), "b");
        assert_eq!(user("[client-mariadb]\nuser=a\n[client-server]\nuser=b\n[mysql]\nuser=c\n"), "b");
        assert_eq!(user("[drover]\nuser=a\n[client]\nuser=b\n[Client-Server]\nuser=c\n"), "c");
        assert_eq!(user("[client-server]\nuser=a\nexpire-logs-days=1\n[drover]\nuser=b\n"), "b");
    }

    /// Debian's `/etc/mysql/my.cnf` names the socket there.
    #[test]
    fn a_socket_for_clients_and_server_is_overridden_by_later_files() {
        let host = Host::new().file("global.cnf", "[client-server]\nport = 3307\nsocket = /run/s.sock\n");
        assert_eq!(host.options(&args()).address.to_string(), "socket /run/s.sock");
        let tcp = ServerArgs { host: Some("127.0.0.1".into()), ..args() };
        assert_eq!(host.options(&tcp).address.to_string(), "127.0.0.1:3307");
        let host = host.file(".my.cnf", "[client]\nsocket=/mine.sock\n");
        assert_eq!(host.options(&args()).address.to_string(), "socket /mine.sock");
    }

    #[test]
    fn group_suffixes_add_groups() {
        let text = "[client]\nuser=a\n[client_x]\nuser=b\n[drover_y]\nuser=c\nwrong\n";
        let host = Host::new().file(".my.cnf", text);
        let suffix = |s: &str| ServerArgs { defaults_group_suffix: Some(s.into()), ..args() };
        assert_eq!(host.options(&args()).user, "a");
        assert_eq!(host.options(&suffix("_x")).user, "b");
        assert_eq!(host.error(&suffix("_y")), "~/.my.cnf:7: unknown option 'wrong' in a [drover] group");
        let host = host.variable("MYSQL_GROUP_SUFFIX", "_x");
        assert_eq!(host.options(&args()).user, "b");
        assert_eq!(host.options(&suffix("_z")).user, "a");
        let host = host.file(".my.cnf", "[client-server_z]\nuser=e\n[client-mariadb]\nuser=d\n");
        assert_eq!(host.options(&suffix("_z")).user, "d");
        let host = host.file(".my.cnf", "[client-server]\nuser=d\n[client-mariadb_z]\nuser=e\n");
        assert_eq!(host.options(&suffix("_z")).user, "e");
    }

    #[test]
    fn unknown_options_matter_only_in_our_group() {
        let host = Host::new().file(".my.cnf", "[client]\nno-auto-rehash\nssl_ca=/ca\nloose_user=a\n");
        let options = host.options(&args());
        assert_eq!((options.user.as_str(), options.ssl.ca), ("a", Some("/ca".into())));
        let host = host.file(".my.cnf", "[Drover]\nuser=a\npasword=hunter2\n");
        assert_eq!(host.error(&args()), "~/.my.cnf:3: unknown option 'pasword' in a [drover] group");
        let host = host.file(".my.cnf", "[drover]\npassword hunter2\n");
        assert_eq!(host.error(&args()), "~/.my.cnf:2: unknown option 'password' in a [drover] group");
        let host = host.file(".my.cnf", "[drover]\nloose-speed=1\n");
        let warnings = host.resolve(&args()).unwrap().warnings;
        assert!(warnings[0].ends_with(".my.cnf:2: option 'loose-speed' is ignored because it is not known"));
    }

    #[test]
    fn bad_values_name_file_and_line() {
        let host = Host::new().file(".my.cnf", "[client]\n\nport=x\n");
        assert_eq!(host.error(&args()), "~/.my.cnf:3: port must be a number from 1 to 65535, not 'x'");
    }

    #[test]
    fn a_bare_password_asks_once_and_last() {
        let host = Host::new().file(".my.cnf", "[client]\npassword=file\n");
        let bare = ServerArgs { password: Some(None), ..args() };
        let mut asked = 0;
        let mut ask = || {
            asked += 1;
            Ok("typed".to_owned())
        };
        let options = bare.resolve_in(&host.0, &mut ask).unwrap().options;
        assert_eq!(options.password, secret("typed"));
        let wrong = ServerArgs { url: Some("x".into()), ..bare.clone() };
        assert!(wrong.resolve_in(&host.0, &mut ask).is_err());
        assert_eq!(asked, 1);
        let error = bare.resolve_in(&host.0, || Err(io::Error::other("no terminal"))).unwrap_err();
        assert_eq!(error.to_string(), "cannot ask for the password: no terminal");
        let host = host.file(".my.cnf", "[client]\npassword\n");
        assert_eq!(
            args().resolve_in(&host.0, || Ok("typed".into())).unwrap().options.password,
            secret("typed")
        );
    }

    #[test]
    fn an_empty_password_is_none_and_overrides() {
        let host = Host::new().file(".my.cnf", "[client]\npassword=file\n");
        assert_eq!(host.options(&ServerArgs { password: Some(secret("")), ..args() }).password, None);
        assert_eq!(host.options(&with_url("mysql://u:@h")).password, None);
        assert_eq!(host.options(&with_url("mysql://u@h")).password, secret("file"));
    }

    #[test]
    fn another_server_has_the_same_account_unless_its_url_has_one() {
        let host = Host::new();
        let server = ServerArgs {
            host: Some("a".into()),
            port: Some(3307),
            user: Some("bob".into()),
            password: Some(secret("hunter2")),
            ssl_mode: Some(SslMode::Required),
            ..args()
        };
        let at = |url: &str| beside_in(&host.0, &server, &url.into()).unwrap();
        let same = at("mysql://b");
        assert_eq!((same.address.to_string(), same.user.as_str()), ("b:3306".into(), "bob"));
        assert_eq!((same.password, same.ssl.mode), (secret("hunter2"), SslMode::Required));
        let own = at("mysql://eve@b:3308");
        assert_eq!((own.address.to_string(), own.user.as_str()), ("b:3308".into(), "eve"));
        assert_eq!((own.password, own.ssl.mode), (None, SslMode::Required));
        let asks = ServerArgs { password: Some(None), ..server.clone() };
        let error = beside_in(&host.0, &asks, &"mysql://b".into()).unwrap_err();
        assert_eq!(error.to_string(), "cannot ask for the password: unsupported");
    }

    #[test]
    fn a_ca_that_proves_nothing_is_warned_of() {
        let with_mode = |mode| ServerArgs { ssl_ca: Some("/ca".into()), ssl_mode: Some(mode), ..args() };
        assert_eq!(
            Host::new().resolve(&with_mode(SslMode::Preferred)).unwrap().warnings,
            ["TLS is not required although a CA is given: ssl-mode is PREFERRED"]
        );
        assert!(Host::new().resolve(&with_mode(SslMode::Required)).unwrap().warnings.is_empty());
    }

    #[test]
    fn users() {
        let mut host = Host::new();
        assert_eq!(host.options(&ServerArgs { user: Some(String::new()), ..args() }).user, "me");
        host.0.user = None;
        assert_eq!(host.error(&args()), "no user name: none was given and this process's user has no name");
        let accounts = "root:x:0:0:root:/root:/bin/sh\n# comment\nbob:x:1000:100::/:\n";
        assert_eq!(user_name(accounts, 1000).as_deref(), Some("bob"));
        assert_eq!(user_name(accounts, 100), None);
    }

    #[test]
    fn debug_output_hides_the_password() {
        let host = Host::new().file(".my.cnf", "[client]\npassword=hunter2\n");
        let shown = format!("{:?}", host.resolve(&args()).unwrap());
        assert!(shown.contains("***") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn this_process_has_surroundings() {
        let surroundings = Surroundings::of_process();
        assert!(surroundings.user.is_some_and(|user| !user.is_empty()));
        assert_eq!(surroundings.sockets.len(), USUAL_SOCKETS.len());
    }
}
