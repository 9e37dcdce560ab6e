"""What every benchmark here needs: private servers, timed runs, facts about the machine, and results without private names.

Python's standard library only. SQL goes through the plain `mariadb` client, so that no driver has to be installed.
"""

import contextlib
import dataclasses
import json
import os
import platform
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MYSQL_DIR = ROOT / ".servers" / "mysql-9.7"
RUN_TIMEOUT_SECONDS = 900
SAMPLE_SECONDS = 0.02
SETTLE_SECONDS = 5  # without a page flushed


class BenchError(Exception):
    """The benchmark cannot go on; the message says what failed, the hint what to do."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.hint = hint


def say(text):
    """Progress, to stderr: stdout is for the result."""
    print(text, file=sys.stderr, flush=True)


def output_of(argv):
    """What a command prints, stripped; a failure raises with what it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True)
    except OSError as error:
        raise BenchError(f"{Path(argv[0]).name}: {error.strerror}", "scripts/setup bench installs what is missing") from error
    if done.returncode != 0:
        raise BenchError(f"{Path(argv[0]).name}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


# --- servers


@dataclasses.dataclass
class Server:
    """A server to measure; `options` are those it was started with, None if it was not started here."""

    socket: str
    options: list[str] | None

    def sql(self, statement):
        """Runs SQL and returns the rows as lists of strings."""
        client = ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N", "-B", "-e", statement]
        return [line.split("\t") for line in output_of(client).splitlines()]

    @property
    def version(self):
        return self.sql("SELECT VERSION()")[0][0]

    @property
    def flavour(self):
        return "mariadb" if "mariadb" in self.version.lower() else "mysql"

    def settle(self):
        """Waits until the server has flushed what the fill wrote, or flushes no more: while it does, reads are slow."""
        if self.options is not None:
            self.sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, GLOBAL innodb_max_dirty_pages_pct = 0")
        least, least_since = None, time.monotonic()
        while time.monotonic() - least_since < SETTLE_SECONDS:
            dirty = int(self.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")[0][1])
            if dirty < 100:
                break
            if least is None or dirty < least:
                least, least_since = dirty, time.monotonic()
            time.sleep(0.5)
        os.sync()


@contextlib.contextmanager
def private_server(drover, flavour, options):
    """A fresh server from `drover sandbox`, stopped at the end."""
    name = f"bench-{flavour}-{os.getpid()}"
    say(f"starting a private {flavour} server")
    command = [drover, "--json", "sandbox", "start", "--flavour", flavour, "--name", name, "--", *options]
    started = json.loads(output_of(command))
    try:
        yield Server(started["socket"], options)
    finally:
        subprocess.run([drover, "sandbox", "stop", name], stdout=subprocess.DEVNULL)


# --- timed runs


@dataclasses.dataclass
class Run:
    """One finished process. Times in seconds; `peak_mb` is its largest resident set in units of 10^6 bytes."""

    code: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    stdout: str
    stderr: str


def timed(argv, stdout_file=None):
    """Runs a command and measures wall time, CPU time (wait4's rusage) and peak memory (see `watch`)."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(stdout_file, "wb") if stdout_file else tempfile.TemporaryFile())
        err = stack.enter_context(tempfile.TemporaryFile())
        start = time.monotonic()
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)  # returns after the exec
        except OSError as error:
            return Run(127, 0.0, 0.0, 0.0, "", f"{Path(argv[0]).name}: {error.strerror}")
        try:
            peak = watch(child.pid, start + RUN_TIMEOUT_SECONDS)
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        seconds = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        if not stdout_file:
            out.seek(0)
        return Run(
            code=child.returncode,
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_mb=peak / 1e6,
            stdout="" if stdout_file else out.read().decode(errors="replace"),
            stderr=err.read().decode(errors="replace").strip(),
        )


def watch(pid, deadline):
    """Waits until the process ends, kills it at the deadline, and returns its peak memory in bytes.

    The peak is what the kernel keeps for the program since its exec (VmHWM), read every 20 ms: growth in the last 20 ms is
    missed. The one in wait4's rusage counts from the fork and so is never below this script's own, about 20 MB.
    """
    peak = 0
    ended = os.pidfd_open(pid)
    try:
        while True:
            peak = max(peak, high_water_mark(pid))
            if select.select([ended], [], [], SAMPLE_SECONDS)[0]:
                return peak
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
    finally:
        os.close(ended)


def high_water_mark(pid):
    """The peak resident set of a process so far in bytes; 0 once it has ended and only waits to be reaped."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def tree_bytes(path):
    """The bytes of all files below a directory."""
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


# --- facts for the record


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine():
    """CPU, cores, memory and kernel; never the host's name. A kernel's local suffix can name a site, so it goes too."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9, 1),
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
    }


def commit():
    """The commit measured, with `-dirty` when tracked files differ from it."""
    try:
        name = output_of(["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"])
        changed = output_of(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"])
    except BenchError:
        return "unknown"
    return name + ("-dirty" if changed else "")


def version_of(argv):
    """The first line of `--version`, without the path by which the program was called."""
    try:
        line = output_of([*argv, "--version"]).splitlines()[0]
    except (BenchError, IndexError):
        return "unknown"
    return re.sub(r"\S*/", "", line)


def mysql_tool(name):
    """The command for a MySQL client program: from .servers with its own loader, else from PATH."""
    program = MYSQL_DIR / "usr" / "bin" / name
    if not program.exists():
        return [name]
    lib = MYSQL_DIR / "usr" / "lib"
    libraries = f"{lib}/x86_64-linux-gnu:{lib}/mysql/private"
    return [f"{lib}/x86_64-linux-gnu/ld-linux-x86-64.so.2", "--library-path", libraries, str(program)]


def without_paths(text, named):
    """Text for the record: each path in `named` becomes its name, and any other absolute path keeps its last part."""
    for path, name in sorted(named.items(), key=lambda entry: -len(str(entry[0]))):
        text = text.replace(str(path), name)
    return re.sub(r"(?<![\w.])/(?:[\w.@+-]+/)+", "", text)
