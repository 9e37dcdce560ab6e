"""What drover does on one server, and from one to another. Each gives a Verdict; what was lost, or changed by what was refused, in silence is a fault."""

import json
import shutil
import subprocess
from pathlib import Path

from look import Difference, Schema

HERE = Path(__file__).resolve().parent


class Verdict:
    """`yes`, `partly` (something was lost, and said), `no` (refused, nothing changed) or `FAULT`, with the reasons."""

    def __init__(self, word, reasons=()):
        self.word, self.reasons = word, list(dict.fromkeys(reasons))

    def __str__(self):
        return self.word + "".join(f"\n    {reason}" for reason in self.reasons)


class Ended:
    """What came of a command."""

    def __init__(self, command, done):
        self.command, self.code, self.out, self.err = command, done.returncode, done.stdout, done.stderr

    @property
    def error(self):
        """Its first line of error, without the word."""
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        return lines[0].removeprefix("error: ") if lines else f"exit {self.code}: {self.err.strip()[-300:]}"

    @property
    def json(self):
        return json.loads(self.out)


class Drover:
    def __init__(self, binary):
        self.binary = str(binary)

    def run(self, *words, stdin=None, timeout=900):
        command = [self.binary, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", input=stdin, timeout=timeout)
        return Ended(command, done)

    def on(self, server, *words):
        return self.run(*words, "--no-defaults", "-S", server.socket, "-u", "root")


def schemas(server):
    own = ("information_schema", "performance_schema", "mysql", "sys", "test")
    return [name for name, in server.rows("SHOW DATABASES") if name not in own]


def fill(server):
    """The nasty schema, as much of it as this version takes."""
    return server.feed((HERE / "nasty.sql").read_bytes())


def unless_fault(ended, faults):
    """The verdict on a command that is to do all, where nothing else is amiss."""
    if faults:
        return Verdict("FAULT", faults)
    return Verdict("yes") if ended.code == 0 else Verdict("no", [ended.error])


def losses(report):
    """What a report says was refused, lost or came out otherwise."""
    report = report.get("restore", report)
    said = [f"{item['object']}: {item['reason']}" for item in report.get("refused", [])]
    said += [f"{item['object']}: {item['from']}: {item['reason']}" for item in report.get("rewrites", []) if item["loses"]]
    return said + [f"{item['object']}: {item['what']}" for item in (report.get("verify") or {}).get("differences", [])]


def brought(ended, source, target, schema="nasty"):
    """The verdict on what was brought over."""
    if ended.code == 2:
        changed = schemas(target)
        return Verdict("FAULT" if changed else "no", [ended.error] + ([f"and has left {changed}"] if changed else []))
    difference = Difference(Schema(source, schema), Schema(target, schema))
    said = ended.out + ended.err
    faults = [f"{what} is missing, and nothing says so" for what in difference.missing if what.split(" ", 1)[1].split(".")[0] not in said]
    faults += [f"the rows of {table} are others, and nothing says so" for table in difference.wrong if table not in said]
    if ended.code == 0 and difference:
        faults += [f"exit code 0, and {what} is missing" for what in difference.missing]
        faults += [f"exit code 0, and the rows of {table} are others" for table in difference.wrong]
    if faults:
        return Verdict("FAULT", faults)
    if ended.code == 0:
        return Verdict("yes")
    return Verdict("partly", losses(ended.json) or [ended.error])


def copied(drover, source, target, work):
    state = work / "state"

    def copy(*more):
        shutil.rmtree(state, ignore_errors=True)
        return drover.run("--json", "copy", "nasty", "--no-defaults", "--from", source.url, "--to", target.url, "--state", state, *more)

    return unless_refused(copy, source, target)


def restored(drover, source, target, work):
    """By a dump of its own."""
    dump = work / f"dump-to-{target.name}"
    dumped = drover.on(source, "dump", "nasty", "--out", dump)
    if dumped.code:
        return Verdict("no", [dumped.error])
    return unless_refused(lambda *more: drover.on(target, "--json", "restore", dump, *more), source, target)


def unless_refused(bring, source, target):
    """First as it is; what is refused then must have changed nothing, and is left out in a second run."""
    first = bring()
    verdict = brought(first, source, target)
    if first.code != 2 or verdict.word == "FAULT":
        return verdict
    verdict = brought(bring("--skip-refused"), source, target)
    if verdict.word == "yes":
        verdict.word = "partly"
    return Verdict(verdict.word, [*verdict.reasons, *([first.error] if verdict.word == "no" else [])])


def logged(server, work):
    """Has it write a log of its own, and gives its copy."""
    server.rows("FLUSH LOGS")
    log = server.rows("SHOW BINARY LOGS")[-1][0]
    server.feed((HERE / "log.sql").read_bytes())
    server.rows("FLUSH LOGS")
    return Path(shutil.copy(server.datadir / log, work / log))


def replayed(drover, source, target, log):
    """What a dry run says cannot be applied is not tried: it has changed nothing."""
    target.rows("DROP DATABASE IF EXISTS logged")
    trial = drover.on(target, "binlog", "replay", "--dry-run", log)
    if trial.code:
        changed = "logged" in schemas(target)
        said = [line.removeprefix("cannot be applied: ") for line in trial.out.splitlines() if line.startswith("cannot be applied: ")]
        return Verdict("FAULT" if changed else "no", said or [trial.error])
    real = drover.on(target, "binlog", "replay", log)
    if real.code:
        return Verdict("FAULT", [real.error, "and a dry run says that all can be applied"])
    difference = Difference(Schema(source, "logged"), Schema(target, "logged"))
    faults = [f"{what} is missing" for what in difference.missing] + [f"the rows of {table} are others" for table in difference.wrong]
    return Verdict("FAULT", faults) if faults else Verdict("yes")


def own(drover, source, twin, log, work):
    """Each feature on one server; `twin` is another one of its version."""
    users = ["--users"]
    dump = drover.on(source, "dump", "nasty", *users, "--out", work / "dump")
    if dump.code:
        yield "accounts", Verdict("no", [dump.error])
        users = []
        shutil.rmtree(work / "dump", ignore_errors=True)
        dump = drover.on(source, "dump", "nasty", "--out", work / "dump")
    yield "dump", unless_fault(dump, [])
    if dump.code == 0:
        restored = drover.on(twin, "--json", "restore", work / "dump", *users)
        yield "restore", brought(restored, source, twin)
        yield "verify", unless_fault(drover.on(twin, "verify", work / "dump", *users), [])
    if users:
        yield "accounts", accounts(source, twin)
    for what in ("ls", "stat", "sql", "cost"):
        yield f"binlog {what}", unless_fault(drover.run("binlog", what, log), [])
    yield "binlog ls --from-server", unless_fault(drover.on(source, "binlog", "ls", "--from-server", log.name), [])
    yield "binlog extract", unless_fault(drover.run("binlog", "extract", "--out", work / "files", log), [])
    yield "binlog replay", replayed(drover, source, twin, log)
    yield "binlog sql, by the client", by_client(drover, source, twin, log)
    yield "chunk", chunk(drover, source)
    yield from work_off(drover, twin)
    yield from tpcc(drover, twin)
    yield "doctor", doctor(drover, source)


def accounts(source, twin):
    def grants(server):
        return [server.rows(f"SHOW GRANTS FOR {who}") if server.can(f"SHOW GRANTS FOR {who}") else None for who in ("keeper@localhost", "guest@'10.%'")]
    same = grants(source) == grants(twin)
    return Verdict("yes") if same else Verdict("FAULT", [f"{grants(source)} became {grants(twin)}"])


def by_client(drover, source, twin, log):
    twin.rows("DROP DATABASE IF EXISTS logged")
    text = drover.run("binlog", "sql", "--columns-of", source.url, log)
    if text.code:
        return Verdict("no", [text.error])
    said = [line.removeprefix("warning: ") for line in text.err.splitlines() if line.startswith("warning: ")]
    # A table that was altered later has other columns now than the log is of: what it was is known nowhere, and that is said.
    is_unnamed = any("which no server takes" in line for line in said)
    refused = [line for line in twin.feed(text.out.encode()) if not (is_unnamed and "near '?" in line)]
    if refused:
        return Verdict("FAULT", refused)
    difference = Difference(Schema(source, "logged"), Schema(twin, "logged"))
    # Triggers do again what they did, as docs/binlog.md says.
    wrong = [table for table in difference.wrong if table != "in_myisam"]
    faults = [f"{what} is missing" for what in difference.missing]
    faults += [f"the rows of {table} are others, and nothing says so" for table in wrong if not any(f".{table}" in line for line in said)]
    if faults:
        return Verdict("FAULT", faults)
    return Verdict("partly", said) if wrong else Verdict("yes")


def chunk(drover, source):
    source.rows("DROP DATABASE IF EXISTS chunked; CREATE DATABASE chunked; USE chunked; CREATE TABLE t (id INT PRIMARY KEY, v INT); "
                "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
    try:
        done = drover.on(source, "chunk", "-D", "chunked", "UPDATE t SET v = v + 1 WHERE id > 1")
        if done.code:
            return Verdict("no", [done.error])
        right = source.value("SELECT GROUP_CONCAT(v ORDER BY id) FROM chunked.t") == "0,1,1,1"
        return Verdict("yes") if right else Verdict("FAULT", ["other rows were changed"])
    finally:
        source.rows("DROP DATABASE chunked")


def work_off(drover, server):
    made = drover.on(server, "queue", "init", "-D", "jobs")
    if made.code:
        left = "jobs" in schemas(server) and server.rows("SHOW TABLES FROM jobs")
        yield "queue", Verdict("FAULT" if left else "no", [made.error, *(["and tables are left"] if left else [])])
        return
    drover.on(server, "queue", "push", "-D", "jobs", "--kind", "1", *range(1, 101))
    done = drover.on(server, "--json", "queue", "work", "-D", "jobs", "--until-empty", "--json-lines", "cat")
    if done.code:
        yield "queue", Verdict("no", [done.error])
    else:
        count = done.json["done"]
        yield "queue", Verdict("yes") if count == 100 else Verdict("FAULT", [f"{count} of 100 tasks were done"])


def tpcc(drover, server):
    for words in (["load", "-w", "1"], ["run", "-c", "2", "--seconds", "1"], ["check"]):
        done = drover.on(server, "bench", "tpcc", *words, "-D", "tpcc")
        if done.code:
            yield "bench tpcc", Verdict("no", [f"{words[0]}: {done.error}"])
            return
    yield "bench tpcc", Verdict("yes")


def doctor(drover, server):
    done = drover.on(server, "--json", "doctor")
    if done.code == 2:
        return Verdict("no", [done.error])
    unknown = [check for check in done.json.get("checks", []) if check.get("status") == "unknown" and str(check.get("check", "")).startswith(("server", "binlog"))]
    if unknown:
        return Verdict("partly", [f"{check['check']}: {check.get('reason') or check.get('why') or check.get('seen')}" for check in unknown])
    return Verdict("yes")
