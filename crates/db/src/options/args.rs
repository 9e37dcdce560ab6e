//! The server options of the command line, under the mysql client's names. This module defines and rewrites
//! arguments; what they lead to is decided in `resolve`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::value_parser;
use drover_units::read::whole_seconds;

use super::secret::Secret;
use super::settings::{MAX_TIMEOUT_SECONDS, PasswordSetting, Settings};
use super::{Protocol, SslMode};

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const HEADING: &str = "Server options";

/// Options that say which server to use, to be flattened into a command.
///
/// `-h` is the host, as in the mysql client: the command must disable clap's help flag and bring its own
/// `--help`. Pass the arguments through [`normalise_arguments`] before clap sees them.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ServerArgs {
    /// Host of the server; localhost means the Unix socket, 127.0.0.1 means TCP
    #[arg(short = 'h', long, value_name = "NAME", help_heading = HEADING)]
    pub host: Option<String>,

    /// TCP port; without a host it means TCP to localhost [default: 3306]
    #[arg(
        short = 'P',
        long,
        value_name = "NUMBER",
        value_parser = value_parser!(u16).range(1..),
        help_heading = HEADING,
    )]
    pub port: Option<u16>,

    /// User name [default: the operating system's]
    #[arg(short, long, value_name = "NAME", help_heading = HEADING)]
    pub user: Option<String>,

    /// Password; asks on the terminal if no value is given
    #[arg(
        short,
        long,
        value_name = "PASSWORD",
        num_args = 0..=1,
        require_equals = true,
        value_parser = value_parser!(Secret),
        help_heading = HEADING,
    )]
    pub password: Option<Option<Secret>>,

    /// Unix socket of the server [default: the first usual place that exists]
    #[arg(short = 'S', long, value_name = "PATH", help_heading = HEADING)]
    pub socket: Option<PathBuf>,

    /// How to reach the server, whatever the host says
    #[arg(long, value_name = "NAME", ignore_case = true, help_heading = HEADING)]
    pub protocol: Option<Protocol>,

    /// Server as mysql://USER:PASSWORD@HOST:PORT/DB; parts may be left out, other options override it
    ///
    /// In a user name or password write % as %25, @ as %40, / as %2F, ? as %3F, # as %23 and : as %3A.
    /// Parameters may follow, such as ?ssl-mode=REQUIRED or ?socket=/run/mysqld/mysqld.sock.
    #[arg(long, value_parser = value_parser!(Secret), help_heading = HEADING)]
    pub url: Option<Secret>,

    /// Read only this option file
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["defaults_extra_file", "no_defaults"],
        help_heading = HEADING,
    )]
    pub defaults_file: Option<PathBuf>,

    /// Read this option file after the global ones and before ~/.my.cnf
    #[arg(long, value_name = "FILE", conflicts_with = "no_defaults", help_heading = HEADING)]
    pub defaults_extra_file: Option<PathBuf>,

    /// Read no option files
    #[arg(long, help_heading = HEADING)]
    pub no_defaults: bool,

    /// Read also the option file groups with this suffix: client_x and so on for _x
    #[arg(long, value_name = "SUFFIX", help_heading = HEADING)]
    pub defaults_group_suffix: Option<String>,

    /// Whether to use TLS and what to verify [default: VERIFY_CA with --ssl-ca, else PREFERRED]
    #[arg(long, value_name = "MODE", ignore_case = true, help_heading = HEADING)]
    pub ssl_mode: Option<SslMode>,

    /// CA certificates to trust, in PEM format; the server's certificate must be signed by one of them
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub ssl_ca: Option<PathBuf>,

    /// Client certificate, in PEM format
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub ssl_cert: Option<PathBuf>,

    /// Private key of the client certificate, in PEM format
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub ssl_key: Option<PathBuf>,

    /// Encrypt the password with the RSA key that the server sends where there is no TLS: for trusted networks
    #[arg(long, help_heading = HEADING)]
    pub get_server_public_key: bool,

    /// Copy of the server's RSA public key, in PEM format, to encrypt the password with where there is no TLS
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub server_public_key_path: Option<PathBuf>,

    /// Send the password in clear text if the server asks for it (PAM, LDAP), over TLS or a Unix socket only
    #[arg(long, help_heading = HEADING)]
    pub enable_cleartext_plugin: bool,

    /// How long to wait for a connection; 0 waits for 12 hours [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = whole_seconds(0..=u64::from(MAX_TIMEOUT_SECONDS)),
        help_heading = HEADING,
    )]
    pub connect_timeout: Option<u64>,
}

impl ServerArgs {
    /// What the command line itself says, without the URL.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            user: self.user.clone(),
            password: self.password.clone().map(|p| p.map_or(PasswordSetting::Ask, PasswordSetting::Given)),
            host: self.host.clone(),
            port: self.port,
            socket: self.socket.clone(),
            protocol: self.protocol,
            database: None,
            ssl_mode: self.ssl_mode,
            ssl_ca: self.ssl_ca.clone(),
            ssl_cert: self.ssl_cert.clone(),
            ssl_key: self.ssl_key.clone(),
            get_server_public_key: self.get_server_public_key.then_some(true),
            server_public_key_path: self.server_public_key_path.clone(),
            enable_cleartext_plugin: self.enable_cleartext_plugin.then_some(true),
            connect_timeout: self.connect_timeout.and_then(|seconds| u32::try_from(seconds).ok()),
        }
    }
}

/// Rewrites the mysql client's password arguments so that clap reads them as the client does: `-pSECRET`
/// becomes `--password=SECRET` and `-p` becomes `--password`, which never takes the next argument as its
/// value.
///
/// `args` starts with the program's name. Nothing is rewritten after `--`. Clusters of short options with a
/// `p` in them, such as `-qp`, are not known.
pub fn normalise_arguments(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut options = true;
    let rewrite = |(index, argument): (usize, OsString)| {
        options &= argument != "--";
        if options && index > 0 { long_password(argument) } else { argument }
    };
    args.enumerate().map(rewrite).collect()
}

fn long_password(argument: OsString) -> OsString {
    let mut long = OsString::from("--password");
    match argument.as_bytes().strip_prefix(b"-p") {
        Some(b"") => long,
        Some(password) => {
            long.push("=");
            long.push(OsStr::from_bytes(password));
            long
        }
        None => argument,
    }
}

/// Shows `prompt` on the process's terminal and reads a line there without echo, whatever stdin and stdout
/// are.
///
/// # Errors
/// Fails if the process has no terminal.
pub fn ask_on_terminal(prompt: &str) -> io::Result<String> {
    rpassword::prompt_password(prompt)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    /// About the program.
    #[derive(Debug, Parser)]
    #[command(disable_help_flag = true, args_override_self = true)]
    struct Program {
        #[command(flatten)]
        server: ServerArgs,
        #[arg(long)]
        other: bool,
        databases: Vec<String>,
    }

    fn parse(arguments: &[&str]) -> Result<Program, clap::Error> {
        let arguments = ["drover"].iter().chain(arguments).map(OsString::from);
        Program::try_parse_from(normalise_arguments(arguments))
    }

    fn server(arguments: &[&str]) -> ServerArgs {
        parse(arguments).unwrap().server
    }

    #[test]
    fn the_definition_is_sound() {
        Program::command().debug_assert();
        let mut command = Program::command();
        let help = command.render_help().to_string();
        assert!(help.starts_with("About the program"), "{help}");
        assert!(help.contains("-p, --password[=<PASSWORD>]"), "{help}");
        let (own, server) = help.split_once("Server options:").unwrap();
        assert!(own.contains("--other") && server.contains("--host"), "{help}");
    }

    #[test]
    fn short_and_long_names_of_the_mysql_client() {
        let args = server(&["-hdb", "-P", "3307", "-u", "bob", "-S/s.sock", "--protocol=TCP"]);
        assert_eq!(
            (args.host.as_deref(), args.port, args.user.as_deref()),
            (Some("db"), Some(3307), Some("bob"))
        );
        assert_eq!((args.socket, args.protocol), (Some("/s.sock".into()), Some(Protocol::Tcp)));
        let args =
            server(&["--ssl-mode=verify_identity", "--ssl-ca=/ca", "--connect-timeout=3", "--no-defaults"]);
        assert_eq!((args.ssl_mode, args.ssl_ca), (Some(SslMode::VerifyIdentity), Some("/ca".into())));
        assert_eq!((args.connect_timeout, args.no_defaults), (Some(3), true));
    }

    #[test]
    fn a_bare_password_option_never_takes_the_next_argument() {
        for bare in ["-p", "--password"] {
            let program = parse(&[bare, "shop", "-ubob"]).unwrap();
            assert_eq!(program.server.password, Some(None));
            assert_eq!(
                (program.server.user.as_deref(), &*program.databases),
                (Some("bob"), &["shop".into()][..])
            );
        }
        assert_eq!(server(&[]).password, None);
    }

    #[test]
    fn password_values() {
        for (argument, expected) in [
            ("-psecret", "secret"),
            ("-p=secret", "=secret"),
            ("-p-x", "-x"),
            ("--password=secret", "secret"),
            ("--password=a=b", "a=b"),
            ("--password=", ""),
        ] {
            assert_eq!(server(&[argument]).password, Some(Some(Secret::from(expected))), "{argument}");
        }
        assert_eq!(server(&["-pa", "-p"]).password, Some(None));
    }

    #[test]
    fn only_the_password_is_rewritten_and_only_before_two_dashes() {
        let arguments = ["-pname", "-P3306", "--port=1", "-", "-p", "-pa", "--", "-pb", "-p"];
        let rewritten = normalise_arguments(arguments.iter().map(OsString::from));
        let expected = ["-pname", "-P3306", "--port=1", "-", "--password", "--password=a", "--", "-pb", "-p"];
        assert_eq!(rewritten, expected);
        let bytes = OsStr::from_bytes(b"-p\xff").to_owned();
        let rewritten = normalise_arguments(["drover".into(), bytes].into_iter());
        assert_eq!(rewritten[1].as_bytes(), b"--password=\xff");
    }

    #[test]
    fn neither_debug_nor_errors_show_a_password() {
        let args = server(&["-phunter2", "--url=mysql://u:hunter2@h"]);
        assert!(!format!("{args:?}").contains("hunter2"));
        for wrong in [
            &["-phunter2", "--port=0"][..],
            &["-phunter2", "--nonsense"],
            &["--url=mysql://u:hunter2@h", "--url"],
            &["--pasword=hunter2"],
        ] {
            assert!(!parse(wrong).unwrap_err().to_string().contains("hunter2"));
        }
    }

    #[test]
    fn option_files_that_exclude_each_other() {
        assert!(parse(&["--defaults-file=a", "--no-defaults"]).is_err());
        assert!(parse(&["--defaults-file=a", "--defaults-extra-file=b"]).is_err());
        assert!(parse(&["--defaults-extra-file=b", "--no-defaults"]).is_err());
        assert!(parse(&["--connect-timeout=43201"]).is_err());
    }
}
