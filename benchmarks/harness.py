"""What every benchmark here needs: private servers, timed runs, facts about the machine, and results without private names.

Python's standard library only. SQL goes through the plain `mariadb` client, so that no driver has to be installed.
"""

import contextlib
import dataclasses
import datetime
import json
import os
import platform
import random
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SBTEST = "sbtest"  # the schema of the sysbench tables
TABLES = 4
# What only one vendor's servers let their clients do by default: all are measured doing the same.
ALLOWED = ["--local-infile=1", "--max-allowed-packet=64M"]
MYSQL_DIR = ROOT / ".servers" / "mysql-9.7"
FLAVOURS = ["mariadb", "mysql"]
MORE = {"mariadb-11": ROOT / ".servers" / "more" / "mariadb-11.8"}  # servers that are taken by their path only
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


def client(socket):
    """The plain client, as root."""
    return ["mariadb", "--no-defaults", "-S", socket, "-u", "root"]


@dataclasses.dataclass
class Server:
    """A server to measure; `options` are those it was started with, None if it was not started here."""

    socket: str
    options: list[str] | None

    def sql(self, statement):
        """Runs SQL and returns the rows as lists of strings."""
        return [line.split("\t") for line in output_of([*client(self.socket), "-N", "-B", "-e", statement]).splitlines()]

    @property
    def version(self):
        return self.sql("SELECT VERSION()")[0][0]

    @property
    def flavour(self):
        return "mariadb" if "mariadb" in self.version.lower() else "mysql"

    def settle(self):
        """Waits until the server has flushed what was written before, or flushes no more: while it does, all else is slow."""
        if self.options is None:
            self.wait_for_flush()
            return
        capacity, largest = self.sql("SELECT @@innodb_io_capacity, @@innodb_io_capacity_max")[0]
        self.flush_by("0", "20000", "40000")
        self.wait_for_flush()
        # What is measured next is to write as the server writes by itself.
        self.flush_by("DEFAULT", capacity, largest)

    def flush_by(self, percent, capacity, largest):
        """Sets how many dirty pages are too many, and how many a second are flushed then; the lower limit has to stay below the upper one."""
        limits = [f"innodb_io_capacity_max = {largest}", f"innodb_io_capacity = {capacity}"]
        if percent != "0":
            limits.reverse()
        pages = [f"innodb_max_dirty_pages_pct_lwm = {percent}", f"innodb_max_dirty_pages_pct = {percent}"]
        self.sql("SET " + ", ".join(f"GLOBAL {name}" for name in limits + pages))

    def wait_for_flush(self):
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
def private_server(drover, flavour, options, role="bench"):
    """A fresh server from `drover sandbox`, stopped at the end."""
    name = f"{role}-{flavour}-{os.getpid()}"
    say(f"starting a private {flavour} server")
    which = ["--server", str(MORE[flavour])] if flavour in MORE else ["--flavour", flavour]
    command = [drover, "--json", "sandbox", "start", *which, "--name", name, "--", *ALLOWED, *options]
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
    figures: dict = dataclasses.field(default_factory=dict)  # what else is to be kept of it


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


# --- rounds


def failure(run):
    return f"exit code {run.code}: {run.stderr or 'no message'}"


def measure(programs, base, rounds, warm_up, run_once):
    """Warm-up, then the rounds, each in random order; returns the runs of each program, and why one was left out.

    `warm_up` gives what is wrong with a program, or None; `run_once` its Run and the bytes it wrote. `base` is the name of the
    program that all others are divided by.
    """
    runs = {program.name: [] for program in programs}
    errors = {}

    def leave_out(program, problem):
        if program.name == base:
            raise BenchError(f"{base}, the base of all ratios, cannot be measured: {problem}")
        errors[program.name] = problem
        say(f"  {program.name} fails: {problem}")

    for program in programs:
        if problem := warm_up(program):
            leave_out(program, problem)
    for number in range(1, rounds + 1):
        this = {}
        left = [program for program in programs if program.name not in errors]
        for program in random.sample(left, len(left)):
            run, size = run_once(program)
            if run.code != 0:
                leave_out(program, f"round {number}: {failure(run)}")
                continue
            this[program.name] = {"seconds": round(run.seconds, 4), "cpu_seconds": round(run.cpu_seconds, 3),
                                  "peak_mb": round(run.peak_mb, 1), "output_bytes": size, **run.figures}
        for name, figures in this.items():
            figures["ratio"] = round(figures["seconds"] / this[base]["seconds"], 3)
            runs[name].append(figures)
        say(f"  round {number}: " + ", ".join(f"{name} {figures['seconds']:.2f} s" for name, figures in this.items()))
    return runs, errors


def summary(name, rounds, error):
    """What the table shows of one program, and every round behind it."""
    if error:
        return {"program": name, "error": error}
    seconds = [run["seconds"] for run in rounds]
    return {
        "program": name,
        "seconds": {"median": round(statistics.median(seconds), 3), "min": min(seconds), "max": max(seconds)},
        "ratio": round(statistics.median(run["ratio"] for run in rounds), 2),
        "cpu_seconds": round(statistics.median(run["cpu_seconds"] for run in rounds), 2),
        "output_bytes": rounds[-1]["output_bytes"],
        "peak_mb": max(run["peak_mb"] for run in rounds),
        "tail": statistics.median(run["tail"] for run in rounds) if "tail" in rounds[0] else None,
        "rounds": rounds,
    }


def markdown_head(base):
    return [f"| program | median s | min s | max s | × {base} | CPU s | output MB | peak MB |", "|---|--:|--:|--:|--:|--:|--:|--:|"]


def markdown_row(program):
    """A program's line in the table whose head is `markdown_head`."""
    if "error" in program:
        return f"| {program['program']} | fails: {' '.join(program['error'].split()).replace('|', '/')} |" + " |" * 6
    seconds = program["seconds"]
    size = f"{program['output_bytes'] / 1e6:.0f}" if program["output_bytes"] else "–"
    return (f"| {program['program']} | {seconds['median']:.2f} | {seconds['min']:.2f} | {seconds['max']:.2f} | "
            f"{program['ratio']:.2f} | {program['cpu_seconds']:.2f} | {size} | {program['peak_mb']:.0f} |")


def keep(result, page, directory):
    """Writes the page and the raw figures, named after the day and the benchmark."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{result['date']}-{result['benchmark']}"
    path.with_suffix(".json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    path.with_suffix(".md").write_text(page)


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def main(work):
    """Runs a benchmark as a command: 0 or 1 as it says, 2 if it could not be run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it also stops the servers and removes the dumps
    try:
        sys.exit(work())
    except BenchError as error:
        print(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


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
