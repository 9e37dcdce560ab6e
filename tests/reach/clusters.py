"""Replicas and clusters as sources and as targets, beside a single server of the same version."""

import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path

import features
from features import Verdict
from look import Difference, Schema
from servers import OPTIONS, ROOT, Server, known, running

TOPOLOGIES = [("mariadb-10.11", "replica"), ("mysql-9.7", "replica"), ("mariadb-10.11", "galera"), ("mysql-9.7", "group-replication")]


@contextlib.contextmanager
def cluster(drover, name, topology):
    """Its nodes; the first takes writes."""
    vendor = name.split("-")[0]
    sandbox = f"reach-{topology}-{vendor}"
    command = [drover, "--json", "sandbox", "start", "--flavour", vendor, "--version", known()[name], "--topology", topology, "--name", sandbox, "--", *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr)
    try:
        yield [Server(name, node) for node in json.loads(done.stdout)["nodes"]]
    finally:
        subprocess.run([drover, "-q", "sandbox", "stop", sandbox], capture_output=True)


def follows(first, other, schema, passed_over=()):
    """The verdict on whether another node holds what the first does, once it has come so far; `passed_over` are tables that no cluster replicates."""
    deadline = time.monotonic() + 120
    while True:
        difference = Difference(Schema(first, schema), Schema(other, schema)) if schema in features.schemas(other) else None
        wrong = difference and [table for table in difference.wrong if table not in passed_over]
        if difference is not None and not difference.missing and not wrong:
            return Verdict("yes")
        if time.monotonic() > deadline:
            what = "has no such schema" if difference is None else f"lacks {difference.missing}, and has other rows in {wrong}"
            return Verdict("FAULT", [f"another node {what}"])
        time.sleep(0.2)


def kept_apart(server, schema):
    """Tables of engines whose rows Galera does not replicate."""
    return [name for name, in server.rows(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND ENGINE <> 'InnoDB'")]


def worst(*verdicts):
    order = ["FAULT", "no", "partly", "yes"]
    word = min((verdict.word for verdict in verdicts), key=order.index)
    return Verdict(word, [reason for verdict in verdicts for reason in verdict.reasons])


def tried(drover, name, topology):
    """Each thing with its verdict."""
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nodes = stack.enter_context(cluster(drover.binary, name, topology))
        plain = stack.enter_context(running(drover.binary, name, "plain"))
        first, other = nodes[0], nodes[1]
        apart = lambda: kept_apart(first, "nasty") if topology == "galera" else []
        features.fill(first)
        there = follows(first, other, "nasty", apart())
        yield "copy from another node than the writer", worst(there, features.copied(drover, other, plain, work))
        yield "its logs on a single server", features.replayed(drover, first, plain, features.logged(first, work))
        for schema in ("nasty", "logged"):
            for server in (first, plain):
                server.rows(f"DROP DATABASE IF EXISTS {schema}")
        features.fill(plain)
        verdict = features.copied(drover, plain, first, work)
        yield "copy into it", worst(verdict, follows(first, other, "nasty", apart())) if verdict.word in ("yes", "partly") else verdict
        verdict = features.replayed(drover, plain, first, features.logged(plain, work))
        yield "logs of a single server on it", worst(verdict, follows(first, other, "logged", ["in_myisam"] if topology == "galera" else [])) if verdict.word == "yes" else verdict
        if topology == "replica":
            first.rows("CREATE USER writer@localhost; GRANT ALL ON elsewhere.* TO writer@localhost")
            yield "copy into the replica itself", into_replica(drover, plain, other, work)


def into_replica(drover, plain, replica, work):
    """It takes no writes of its own, but from an account that may pass over read_only: that is known before the first."""
    deadline = time.monotonic() + 120
    while not replica.can("SHOW GRANTS FOR writer@localhost") and time.monotonic() < deadline:
        time.sleep(0.2)
    before = features.schemas(replica)
    target = replica.url.replace("root@", "writer@")
    done = drover.run("--json", "copy", "nasty", "--into", "nasty=elsewhere", "--no-defaults", "--from", plain.url, "--to", target, "--state", work / "replica")
    if done.code == 2:
        changed = features.schemas(replica) != before
        return Verdict("FAULT" if changed else "no", [done.error])
    return Verdict("FAULT", ["it was written to"])
