"""The servers of the matrix: known to scripts/servers, started by drover sandbox, and looked at with MariaDB's client, which talks to them all."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Logs of rows, so that each version's own row events are read; and time enough for a busy machine. All else is as the vendor ships it.
OPTIONS = ["--binlog-format=ROW", "--event-scheduler=OFF"]


class Refused(Exception):
    """What a server says of a statement."""


def known():
    """Names and versions, such as mysql-5.5: 5.5.34, in the order of the table."""
    listed = subprocess.run([ROOT / "scripts/servers", "--list"], check=True, capture_output=True, text=True).stdout
    lines = [line.lstrip("*").split() for line in listed.splitlines()]
    return {line[0]: line[1] for line in lines}


def fetch(names):
    subprocess.run([ROOT / "scripts/servers", *names], check=True)


class Server:
    """One that runs."""

    def __init__(self, name, started):
        self.name, self.socket = name, started["socket"]
        self.datadir = Path(started["datadir"])

    @property
    def is_mysql(self):
        return self.name.startswith("mysql")

    @property
    def title(self):
        vendor, version = self.name.split("-")
        return f"{'MySQL' if vendor == 'mysql' else 'MariaDB'} {version}"

    @property
    def url(self):
        return f"mysql://root@/?socket={self.socket}"

    def client(self, *more):
        return ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "--batch", "--raw", "--skip-column-names",
                "--default-character-set=utf8", "--comments", *more]

    def feed(self, script):
        """Each statement by itself: the words for those that are refused."""
        done = subprocess.run(self.client("--force"), input=script, capture_output=True)
        return [line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("ERROR")]

    def rows(self, sql):
        done = subprocess.run(self.client(), input=sql.encode(), capture_output=True)
        if done.returncode:
            raise Refused(done.stderr.decode(errors="replace").strip())
        return [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]

    def value(self, sql):
        return self.rows(sql)[0][0]

    def can(self, sql):
        try:
            self.rows(sql)
        except Refused:
            return False
        return True


@contextlib.contextmanager
def running(drover, name, role):
    """A fresh server, removed at the end."""
    vendor, version = name.split("-")[0], known()[name]
    sandbox = f"reach-{name.replace('.', '-')}-{role}-{os.getpid()}"
    command = [drover, "--json", "sandbox", "start", "--flavour", vendor, "--version", version, "--name", sandbox, "--", *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr)
    try:
        yield Server(name, json.loads(done.stdout))
    finally:
        subprocess.run([drover, "-q", "sandbox", "stop", sandbox], capture_output=True)
