//! Dumps in an object store: the same as in a directory, on a real server process that speaks S3, also when it breaks
//! connections, and when the dump is killed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, wait_until};
use crate::compare;
use crate::drover::{Output, Running, dump, restore, run, verify};
use crate::files::table;
use crate::servers::{on_both, source, start, target};

mod moto;
mod proxy;
mod rogue;

pub(crate) use moto::make_certificate;
use moto::{Bucket, Moto, moto};
use proxy::Proxy;

on_both!(
    there_and_back,
    as_sql,
    in_parts_with_bounded_memory,
    damaged_objects,
    wrong_access,
    killed_and_resumed,
    taken_by_another,
    stopped,
    connections_cut,
    over_tls,
    redirected,
    endless_lists,
    objects_that_are_too_large,
);

/// With keys that the shared server takes; it takes any.
fn on<'c>(endpoint: &str, command: &'c mut Command) -> &'c mut Command {
    with_keys(endpoint, command, "AKIDOFTHETEST", "a-secret-of-the-test")
}

fn with_keys<'c>(endpoint: &str, command: &'c mut Command, id: &str, secret: &str) -> &'c mut Command {
    command
        .env("AWS_ACCESS_KEY_ID", id)
        .env("AWS_SECRET_ACCESS_KEY", secret)
        .args(["--s3-endpoint", endpoint])
}

fn dumped(server: &Server, line: &str, place: &Path) -> Output {
    run(on(&moto().endpoint(), &mut dump(server, line, place)))
}

fn restored(server: &Server, place: &Path, options: &str) -> Output {
    run(on(&moto().endpoint(), &mut restore(server, place, options)))
}

fn verified(server: &Server, place: &Path, options: &str) -> Output {
    run(on(&moto().endpoint(), &mut verify(server, place, options)))
}

fn drop_schema(servers: [&Server; 2], schema: &str) {
    servers.into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
}

/// Tables with odd names and of some 4 MB of text, a view and a trigger.
fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema}; SET NAMES utf8mb4;
         CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(200));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n, SHA2(n, 512) FROM s;
         INSERT INTO keyed SELECT id + 1000, v FROM keyed; INSERT INTO keyed SELECT id + 2000, v FROM keyed;
         INSERT INTO keyed SELECT id + 4000, v FROM keyed; INSERT INTO keyed SELECT id + 8000, v FROM keyed;
         CREATE TABLE keyless (v VARCHAR(200)); INSERT INTO keyless SELECT v FROM keyed;
         CREATE TABLE `ä.b/c%d e~#?` (id INT PRIMARY KEY); INSERT INTO `ä.b/c%d e~#?` VALUES (1), (2);
         CREATE TABLE nothing (id INT PRIMARY KEY);
         CREATE VIEW view AS SELECT id FROM keyed;
         CREATE TRIGGER `on it` BEFORE INSERT ON keyless FOR EACH ROW SET NEW.v = UPPER(NEW.v);
         ANALYZE TABLE keyed"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn there_and_back(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "s3_there");
    make(server, schema);
    let bucket = moto().bucket("there-and-back", flavour);
    let place = bucket.url("dumps/of today");
    let output = dumped(server, &format!("{schema} --chunk-size 256k"), &place).done();
    assert!(output.stdout.contains(&place.display().to_string()), "{output}");
    let keys = bucket.keys("");
    assert!(keys.contains(&format!("dumps/of today/{schema}/ä%2Eb%2Fc%25d%20e%7E%23%3F.sql")), "{keys:?}");
    assert!(!keys.iter().any(|key| key.contains("journal")), "{keys:?}");
    let expected = compare::everything(server, schema);

    verified(server, &place, "").done();
    restored(target, &place, "--check --into s3_there=s3_tried").done();
    restored(target, &place, "").done();
    compare::assert_same(&expected, &compare::everything(target, schema));
    dumped(server, schema, &place).refused(&["is whole", &place.display().to_string()]);

    // A copy in a directory is the same dump, and so is a copy of that in a bucket.
    let dir = tempfile::tempdir().unwrap();
    bucket.copy_to("dumps/of today", dir.path());
    run(&mut restore(target, dir.path(), "--drop-existing")).done();
    compare::assert_same(&expected, &compare::everything(target, schema));
    sql(target, format!("DELETE FROM {schema}.keyed WHERE id = 5"));
    verified(target, &place, "").found(&["keyed"]);
    drop_schema([server, target], schema);
}

/// The most memory that a command held, in MB, and what came of it.
fn measured(command: &mut Command) -> (u64, Output) {
    let (mut running, mut most) = (Running::start(command), 0);
    while !running.has_ended() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) / 1000);
        std::thread::sleep(Duration::from_millis(5));
    }
    (most, running.finish())
}

/// One file of 120 MB, in 15 parts: never are more than a few of them in memory.
/// A table that is one object, with its definition before the rows.
fn as_sql(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "s3_sql");
    make(server, schema);
    let bucket = moto().bucket("as-sql", flavour);
    let place = bucket.url("dump");
    dumped(server, &format!("{schema} --format sql"), &place).done();
    restored(target, &place, "").done();
    verified(target, &place, "").done();
    compare::assert_same(&compare::everything(server, schema), &compare::everything(target, schema));
    drop_schema([server, target], schema);
}

fn in_parts_with_bounded_memory(flavour: Flavour) {
    const MOST: u64 = 80;
    let (server, target, schema) = (source(flavour), target(flavour), "s3_parts");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT);
             INSERT INTO large WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 240)
               SELECT n, REPEAT(CONCAT(n, ' something. '), 500000 / (LENGTH(n) + 12)) FROM s"
        ),
    );
    let bucket = moto().bucket("in-parts", flavour);
    let place = bucket.url("p");
    let line = format!("{schema} --threads 1 --chunk-size 1G --compress none");
    let (most, output) = measured(on(&moto().endpoint(), &mut dump(server, &line, &place)));
    output.done();
    assert!(most < MOST, "the dump held {most} MB");
    let file = table(&bucket.manifest("p"), schema, "large")["files"][0].clone();
    assert!(file["stored_bytes"].as_u64().unwrap() > 110_000_000, "{file}");
    assert!(bucket.parts(&format!("p/{}", file["file"].as_str().unwrap())) >= 14);
    assert_eq!(bucket.open_uploads(), 0);
    let (most, output) = measured(on(&moto().endpoint(), &mut restore(target, &place, "--threads 1")));
    output.done();
    assert!(most < MOST, "the restore held {most} MB");
    compare::assert_same(&compare::rows(server, schema), &compare::rows(target, schema));
    drop_schema([server, target], schema);
}

fn damaged_objects(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "s3_damaged");
    make(server, schema);
    let bucket = moto().bucket("damaged", flavour);
    let place = bucket.url("d");
    for compress in ["none", "zstd", "gzip", "lz4"] {
        bucket.keys("").iter().for_each(|key| bucket.remove(key));
        dumped(server, &format!("{schema} --compress {compress}"), &place).done();
        let key = bucket.keys("d/").into_iter().find(|key| key.contains("/keyed.00001.tsv")).unwrap();
        let url = format!("s3://{}/{key}", bucket.name);
        let whole = bucket.read(&key);
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 4;
        bucket.write(&key, &flipped);
        restored(target, &place, "--drop-existing").refused(&[&url, "damaged"]);
        verified(server, &place, "").found(&["keyed.00001.tsv", "damaged"]);
        bucket.write(&key, &whole[..whole.len() - 1]);
        restored(target, &place, "--drop-existing").refused(&[&url, "it was cut or changed"]);
        bucket.remove(&key);
        restored(target, &place, "--drop-existing").refused(&[&url]);
        bucket.write(&key, &whole);
        restored(target, &place, "--drop-existing").done();
    }
    let script = format!("d/{schema}/keyed.sql");
    bucket.write(&script, &bucket.read(&script).to_ascii_lowercase());
    verified(target, &place, "").refused(&[&script, "the script was changed"]);
    bucket.remove("d/manifest.json");
    verified(target, &place, "").refused(&["never finished", &place.display().to_string()]);
    drop_schema([server, target], schema);
}

/// A server that looks at keys, and the keys of somebody who may do anything with S3.
fn strict() -> (Moto, String, String) {
    let moto = Moto::start("http", &[]);
    let made = moto.python(
        "import boto3, json, urllib.request\n\
         iam = boto3.client('iam', endpoint_url='{}')\n\
         iam.create_user(UserName='dumper')\n\
         policy = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': 's3:*', 'Resource': '*'}]}\n\
         iam.put_user_policy(UserName='dumper', PolicyName='p', PolicyDocument=json.dumps(policy))\n\
         key = iam.create_access_key(UserName='dumper')['AccessKey']\n\
         boto3.client('s3', endpoint_url='{}').create_bucket(Bucket='strict')\n\
         urllib.request.urlopen(urllib.request.Request('{}/moto-api/reset-auth', data=b'0', method='POST', \
           headers={'Content-Type': 'text/plain'}))\n\
         print(key['AccessKeyId'], key['SecretAccessKey'])",
    );
    let (id, secret) = made.split_once(' ').unwrap();
    (moto, id.to_owned(), secret.to_owned())
}

fn wrong_access(flavour: Flavour) {
    let (server, schema) = (source(flavour), "s3_wrong");
    sql(server, format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY)"));
    let (strict, id, secret) = strict();
    let place = PathBuf::from("s3://strict/a/dump");
    let dump_with = |id: &str, secret: &str| {
        let output = run(with_keys(&strict.endpoint(), &mut dump(server, schema, &place), id, secret));
        assert!(!format!("{}{}", output.stdout, output.stderr).contains(secret), "{output}");
        output
    };
    for output in [dump_with("AKIDNOBODY", "not-a-secret"), dump_with(&id, "another-secret")] {
        let error = output.refused(&["s3://strict/a/dump: ", "hint: AWS_ACCESS_KEY_ID"]).error();
        assert!(error.lines().count() == 2 && error.len() < 500, "{error}");
    }
    dump_with(&id, &secret).done();

    let without =
        run(dump(server, schema, &place).env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY"));
    without.refused(&["s3://strict", "no keys", "hint: set AWS_ACCESS_KEY_ID"]);
    let nowhere = dumped(server, schema, Path::new("s3://no-such-bucket/x"));
    nowhere.refused(&["s3://no-such-bucket/x: NoSuchBucket", "hint: the bucket must be there"]);
    let nobody = run(on("http://127.0.0.1:1", &mut dump(server, schema, &place)));
    nobody.refused(&["s3://strict/a/dump: ", "onnection refused", "hint: --s3-endpoint"]);
    dumped(server, schema, Path::new("s3://KEY:hidden@bucket/x")).refused(&["no name of a bucket"]);
    sql(server, format!("DROP DATABASE {schema}"));
}

/// A dump that is killed when some files are whole, on a server of its own whose rows change afterwards.
fn interrupted(flavour: Flavour, bucket: &Bucket<'_>, options: &str) -> Server {
    let server = start(flavour, &[]);
    make(&server, "resumed");
    let line = format!("resumed --threads 2 --chunk-size 64k --compress none --max-rate 2M {options}");
    let mut dumping = Running::start(on(&moto().endpoint(), &mut dump(&server, &line, &bucket.url("d"))));
    // A segment may be gone again before it is read.
    let read = |key: &String| String::from_utf8(bucket.read_if_there(key).unwrap_or_default()).unwrap();
    let journal = || bucket.keys("d/journal.").iter().map(read).collect::<String>();
    dumping.freeze_when("some files are whole", || journal().matches("resumed/keyed.").count() > 5);
    dumping.signal("KILL");
    dumping.finish();
    sql(&server, "USE resumed; UPDATE keyed SET v = 'new' WHERE id < 10; DELETE FROM keyless LIMIT 10");
    server
}

fn killed_and_resumed(flavour: Flavour) {
    let line = "resumed --chunk-size 64k --compress none";
    for (name, options) in [("killed", ""), ("killed-consistent", "--consistent-resume")] {
        let bucket = moto().bucket(name, flavour);
        let (server, place) = (interrupted(flavour, &bucket, options), bucket.url("d"));
        assert!(!bucket.has_manifest("d"));
        verified(&server, &place, "").refused(&["never finished", "--resume"]);
        dumped(&server, line, &place).refused(&["unfinished dump in this prefix", "--resume"]);
        let output = dumped(&server, &format!("{line} --resume"), &place).done();
        assert!(!bucket.keys("d/").iter().any(|key| key.contains("journal")), "{:?}", bucket.keys("d/"));
        let kept = table(&bucket.manifest("d"), "resumed", "keyed")["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["earlier"] == 0)
            .count();
        let target = target(flavour);
        if options.is_empty() {
            assert!(output.stderr.contains("resumed with a new snapshot"), "{output}");
            assert!(kept > 2, "only {kept} files were kept");
            restored(target, &place, "--into resumed=s3_resumed").done();
            sql(target, "DROP DATABASE s3_resumed");
        } else {
            restored(target, &place, "").done();
            compare::assert_same(
                &compare::everything(&server, "resumed"),
                &compare::everything(target, "resumed"),
            );
            sql(target, "DROP DATABASE resumed");
        }
    }
}

/// A person at Ctrl-C: no part of an object is left behind.
/// One that stood still while another resumed it: it overwrites nothing of the other's. Its rows are few, so that the server is done with its
/// statement, which would hold up the lock of the other's snapshot.
fn taken_by_another(flavour: Flavour) {
    let (server, schema) = (source(flavour), "s3_taken");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200));
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
               SELECT n, SHA2(n, 256) FROM s"
        ),
    );
    let bucket = moto().bucket("taken", flavour);
    let place = bucket.url("d");
    let line = format!("{schema} --chunk-size 4k --compress none");
    let slowly = format!("{line} --max-rate 10k");
    let mut first = Running::start(on(&moto().endpoint(), &mut dump(server, &slowly, &place)));
    first.freeze_when("some files are there", || bucket.keys(&format!("d/{schema}/t.0")).len() > 3);
    // The second one's are other rows.
    sql(server, format!("UPDATE {schema}.t SET v = REVERSE(v)"));
    dumped(server, &format!("{line} --resume"), &place).done();
    let objects = bucket.keys("");
    assert!(!objects.iter().any(|key| key.contains("journal") || key.contains("lock")), "{objects:?}");
    first.signal("CONT");
    first.finish().refused(&["another run has taken this prefix", "hint: let one run at a time write"]);
    // Files that the first one had completed are of before.
    sql(server, format!("DROP DATABASE {schema}"));
    restored(server, &place, "").done();
    verified(server, &place, "").done();
    sql(server, format!("DROP DATABASE {schema}"));
}

fn stopped(flavour: Flavour) {
    let server = crate::big::big_source(flavour);
    let bucket = moto().bucket("stopped", flavour);
    let place = bucket.url("d");
    let line = "big --threads 1 --compress none --max-rate 10M";
    let dumping = Running::start(on(&moto().endpoint(), &mut dump(server, line, &place)));
    wait_until("an upload in parts was begun", || bucket.open_uploads() > 0);
    dumping.signal("INT");
    dumping.finish().refused(&["stopped by a signal", "--resume resumes it"]);
    assert_eq!(bucket.open_uploads(), 0);
    assert!(!bucket.has_manifest("d"));
}

fn connections_cut(flavour: Flavour) {
    let server = crate::big::big_source(flavour);
    let bucket = moto().bucket("cut", flavour);
    let place = bucket.url("d");
    let proxy = Proxy::start(moto().port);
    let cuts = || proxy.cuts.load(Ordering::SeqCst);
    run(on(&proxy.endpoint, &mut dump(server, "big --threads 1 --compress none --chunk-size 9M", &place)))
        .done();
    let before = cuts();
    assert!(before > 5, "only {before} connections were cut");
    let target = target(flavour);
    run(on(&proxy.endpoint, &mut restore(target, &place, "--into big=s3_cut"))).done();
    assert!(cuts() > before + 5, "only {} connections were cut", cuts() - before);
    compare::assert_same(&compare::rows(server, "big"), &compare::rows(target, "s3_cut"));
    sql(target, "DROP DATABASE s3_cut");
}

fn over_tls(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "s3_tls", tempfile::tempdir().unwrap());
    sql(server, format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t AS SELECT 1 AS id"));
    make_certificate(dir.path());
    let file = |name: &str| dir.path().join(name);
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let moto = Moto::start("https", &["-c".as_ref(), certificate.as_ref(), "-k".as_ref(), key.as_ref()]);
    let make_bucket =
        "import boto3; boto3.client('s3', endpoint_url='{}', verify=False).create_bucket(Bucket='tls')";
    moto.python(make_bucket);
    let place = Path::new("s3://tls");
    let stranger = run(on(&moto.endpoint(), &mut dump(server, schema, place)));
    stranger.refused(&["s3://tls: ", "certificate", "hint: the authority"]);
    let (mut dump, mut verify) = (dump(server, schema, place), verify(server, place, ""));
    for command in [&mut dump, &mut verify] {
        run(on(&moto.endpoint(), command.env("SSL_CERT_FILE", file("ca.pem")))).done();
    }
    sql(server, format!("DROP DATABASE {schema}"));
}

/// The session's token is for the object store that was named, and for no host that it redirects to.
fn redirected(flavour: Flavour) {
    let server = target(flavour);
    let elsewhere = rogue::Listener::start();
    let address = elsewhere.address.clone();
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("http://{address}/b/x");
        let endpoint = rogue::endpoint(move |_| {
            format!(
                "HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        });
        let mut command = restore(server, Path::new("s3://b/x"), "");
        let output = run(on(&endpoint, &mut command).env("AWS_SESSION_TOKEN", "the-token"));
        output.refused(&["s3://b/x", "hint: no other host"]);
    }
    assert_eq!(elsewhere.heard(), 0, "another host was asked");
}

/// An object store whose list of objects has no end.
fn endless_lists(flavour: Flavour) {
    let server = target(flavour);
    let endpoint = rogue::endpoint(|number| {
        let object = |key: usize| {
            format!(
                "<Contents><Key>x/{number}/{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>1</Size>\
                 <StorageClass>STANDARD</StorageClass></Contents>"
            )
        };
        let objects: String = (0..5000).map(object).collect();
        let body = format!(
            "<ListBucketResult><Name>b</Name><Prefix>x/</Prefix><KeyCount>5000</KeyCount><MaxKeys>5000</MaxKeys><IsTruncated>true</IsTruncated>\
             <NextContinuationToken>{number}</NextContinuationToken>{objects}</ListBucketResult>"
        );
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    });
    run(on(&endpoint, &mut restore(server, Path::new("s3://b/x"), "")))
        .refused(&["s3://b/x", "objects are listed"]);
}

/// A manifest that would fill the memory.
fn objects_that_are_too_large(flavour: Flavour) {
    let server = target(flavour);
    let endpoint = rogue::endpoint(|number| {
        match number {
        0 => {
            let body = "<ListBucketResult><Name>b</Name><Prefix>x/</Prefix><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys>\
                        <IsTruncated>false</IsTruncated></ListBucketResult>";
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        }
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: e\r\n\
              Connection: close\r\n\r\n{"
            .into(),
    }
    });
    let output = run(on(&endpoint, &mut restore(server, Path::new("s3://b/x"), "")));
    output.refused(&["s3://b/x/manifest.json", "larger than 512 MiB"]);
}
