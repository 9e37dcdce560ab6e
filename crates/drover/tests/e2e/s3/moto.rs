//! moto's server: the part of Amazon's S3 that drover needs, as a process of its own. What a test expects of a bucket is asked
//! for here by plain HTTP: moto wants a signature, but not that it is right.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;
use serde_json::Value;

/// Where scripts/setup puts it.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers/moto/bin");

const SIGNATURE: &str =
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A server that ends when this process does: then its standard input is closed.
pub(super) struct Moto {
    pub(super) port: u16,
    scheme: &'static str,
    _ends_with_us: Child,
}

/// The server that the tests share, each with buckets of its own.
pub(super) fn moto() -> &'static Moto {
    static SERVER: OnceLock<Moto> = OnceLock::new();
    SERVER.get_or_init(|| Moto::start("http", &[]))
}

impl Moto {
    /// One that is reached by `scheme`, with more arguments.
    pub(super) fn start(scheme: &'static str, arguments: &[&OsStr]) -> Self {
        let program = Path::new(PROGRAMS).join("moto_server");
        assert!(program.exists(), "no {}: scripts/setup installs it", program.display());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = r#""$0" -H 127.0.0.1 -p "$@" & read -r _; kill $!"#;
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(&program).arg(port.to_string()).args(arguments);
        let child = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moto = Self { port, scheme, _ends_with_us: child };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "{} does not listen", program.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        moto
    }

    pub(super) fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// A new bucket.
    pub(super) fn bucket(&self, name: &str, flavour: Flavour) -> Bucket<'_> {
        let bucket = Bucket { moto: self, name: format!("{name}-{}", flavour.title().to_lowercase()) };
        assert_eq!(self.request("PUT", &format!("/{}", bucket.name), b"").0, 200);
        bucket
    }

    /// A request: the status and what came.
    pub(super) fn request(&self, method: &str, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nAuthorization: {SIGNATURE}\r\nContent-Type: \
             application/octet-stream\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let status = String::from_utf8_lossy(&answer[9..12]).parse().unwrap();
        (status, answer.split_off(end + 4))
    }

    /// Runs a program in Python with boto3, Amazon's own library; `{}` stands for the server's address.
    pub(super) fn python(&self, program: &str) -> String {
        python(&program.replace("{}", &self.endpoint()))
    }
}

/// Runs a program in moto's Python.
fn python(program: &str) -> String {
    let mut python = Command::new(Path::new(PROGRAMS).join("python3"));
    python.arg("-c").arg(program);
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, "of-the-test"));
    let output = python.envs(keys).env("AWS_DEFAULT_REGION", "us-east-1").output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// An authority (`ca.pem`), and a key and a certificate of it for 127.0.0.1 (`key.pem`, `cert.pem`), in `dir`.
pub(crate) fn make_certificate(dir: &Path) {
    let program = r#"
import datetime, ipaddress, pathlib
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization as s
from cryptography.hazmat.primitives.asymmetric import ec
dir, day, now = pathlib.Path('{}'), datetime.timedelta(days=1), datetime.datetime.now(datetime.timezone.utc)
name = lambda text: x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
def certificate(subject, key, is_ca):
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))])
    builder = x509.CertificateBuilder(name('authority'), name(subject), key.public_key(), 1 + is_ca, now - day, now + day)
    builder = builder.add_extension(x509.BasicConstraints(is_ca, None), True).add_extension(names, False)
    return builder.sign(authority, hashes.SHA256()).public_bytes(s.Encoding.PEM)
authority, own = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
(dir / 'ca.pem').write_bytes(certificate('authority', authority, True))
(dir / 'cert.pem').write_bytes(certificate('moto', own, False))
(dir / 'key.pem').write_bytes(own.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
"#;
    python(&program.replace("{}", &dir.display().to_string()));
}

/// A bucket.
pub(super) struct Bucket<'a> {
    moto: &'a Moto,
    pub(super) name: String,
}

impl Bucket<'_> {
    /// The URL of a dump in it.
    pub(super) fn url(&self, prefix: &str) -> PathBuf {
        format!("s3://{}/{prefix}", self.name).into()
    }

    /// All keys that begin so.
    pub(super) fn keys(&self, prefix: &str) -> Vec<String> {
        let path = format!("/{}?list-type=2&max-keys=1000000&prefix={}", self.name, escaped(prefix));
        between(&self.moto.request("GET", &path, b"").1, "Key")
    }

    pub(super) fn read(&self, key: &str) -> Vec<u8> {
        self.read_if_there(key).unwrap_or_else(|| panic!("no {key} in {}", self.name))
    }

    pub(super) fn read_if_there(&self, key: &str) -> Option<Vec<u8>> {
        let (status, body) = self.moto.request("GET", &self.path(key), b"");
        // moto answers 500 to somebody who reads an object while it is replaced.
        (status == 200).then_some(body)
    }

    pub(super) fn write(&self, key: &str, body: &[u8]) {
        assert_eq!(self.moto.request("PUT", &self.path(key), body).0, 200, "{key}");
    }

    pub(super) fn remove(&self, key: &str) {
        assert_eq!(self.moto.request("DELETE", &self.path(key), b"").0, 204, "{key}");
    }

    fn path(&self, key: &str) -> String {
        format!("/{}/{}", self.name, escaped(key))
    }

    pub(super) fn manifest(&self, prefix: &str) -> Value {
        serde_json::from_slice(&self.read(&format!("{prefix}/manifest.json"))).unwrap()
    }

    pub(super) fn has_manifest(&self, prefix: &str) -> bool {
        self.keys(prefix).contains(&format!("{prefix}/manifest.json"))
    }

    /// Uploads in parts that were begun and neither ended nor given up.
    pub(super) fn open_uploads(&self) -> usize {
        between(&self.moto.request("GET", &format!("/{}?uploads", self.name), b"").1, "UploadId").len()
    }

    /// Of how many parts an object was made: its tag ends with that.
    pub(super) fn parts(&self, key: &str) -> usize {
        let path = format!("/{}?list-type=2&prefix={}", self.name, escaped(key));
        let tags = between(&self.moto.request("GET", &path, b"").1, "ETag");
        let number = tags
            .first()
            .and_then(|tag| tag.trim_end_matches(['"', ';']).trim_end_matches("&quot").rsplit_once('-'));
        number.map_or(1, |(_, number)| number.parse().unwrap())
    }

    /// Copies a dump into a directory.
    pub(super) fn copy_to(&self, prefix: &str, dir: &Path) {
        for key in self.keys(prefix) {
            let path = dir.join(key.strip_prefix(prefix).unwrap().trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, self.read(&key)).unwrap();
        }
    }
}

fn escaped(key: &str) -> String {
    let escaped = key.bytes().map(|byte| match byte {
        b'/' | b'.' | b'_' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    escaped.collect()
}

/// The texts of all elements of a name.
fn between(xml: &[u8], element: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(xml);
    let start = format!("<{element}>");
    text.split(&start).skip(1).map(|part| part.split("</").next().unwrap_or_default().to_owned()).collect()
}
