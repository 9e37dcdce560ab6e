"""What comes of doing as MySQLTuner says, and how much of what it judges by is of its own making: for the table in docs/doctor.md."""

import json
import statistics
import subprocess
from pathlib import Path

from harness import FLAVOURS, BenchError, output_of, private_server, say

# The redo log that MariaDB 10.11 comes with, and the quarter of the 128 MiB of buffer pool that MySQLTuner would have. MariaDB changes it as it runs.
REDO_LOGS = {"96M": 96 << 20, "32M": 32 << 20}
RUN_SECONDS, CONNECTIONS, WAREHOUSES = 20, 8, 4
COUNTED = ["Connections", "Created_tmp_disk_tables", "Created_tmp_tables", "Select_full_join", "Table_open_cache_misses"]


def tpcc(args, server, *words):
    return json.loads(output_of([str(word) for word in [args.drover, "-q", "--json", "bench", "tpcc", *words, "-D", "tpcc", "-u", "root", "--no-defaults",
                                                        "-S", server.socket]]))


def measure(report, name):
    return next(one["values"][0] for one in report["measures"] if one["name"] == name)


def redo_log(args, options):
    """New-Orders a minute and their p99 with either size, turn about on one server."""
    runs = {size: [] for size in REDO_LOGS}
    with private_server(args.drover, "mariadb", options, "advice") as server:
        server.sql("CREATE DATABASE tpcc")
        tpcc(args, server, "load", "-w", WAREHOUSES)
        for turn in range(args.turns):
            # What changes as tables grow falls on both.
            for size in sorted(REDO_LOGS, reverse=turn % 2 == 0):
                server.sql(f"SET GLOBAL innodb_log_file_size = {REDO_LOGS[size]}")
                server.settle()
                report = tpcc(args, server, "run", "-c", CONNECTIONS, "--seconds", RUN_SECONDS, "--warm-up", "5s")
                runs[size].append({"nopm": measure(report, "NOPM"), "p99_ms": measure(report, "New-Order p99")})
            say("  redo log: " + ", ".join(f"{size} {of[-1]['nopm']:,.0f} NOPM" for size, of in runs.items()))
    return runs


def started_with(args, flavour, options):
    """Whether a server starts with these options, and what its log says if it does not."""
    command = [str(args.drover), "sandbox", "start", "--flavour", flavour, "--name", f"advice-{flavour}", "--", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    subprocess.run([str(args.drover), "sandbox", "stop", f"advice-{flavour}"], capture_output=True)
    said = [line.strip() for line in done.stderr.splitlines() if "[ERROR]" in line]
    return {"options": options, "started": done.returncode == 0, "said": said}


def without_innodb(args):
    """MariaDB with `skip-innodb`; without another default engine it does not start."""
    with private_server(args.drover, "mariadb", ["--skip-innodb", "--default-storage-engine=Aria"], "advice") as server:
        log = (Path(server.socket).parent / "error.log").read_text()
        try:
            server.sql("SELECT * FROM mysql.gtid_slave_pos")
            reading = "it can be read"
        except BenchError as error:
            reading = str(error)
    return {"reading mysql.gtid_slave_pos": reading, "said": [line for line in log.splitlines() if "gtid_slave_pos" in line][:1]}


def own_questions(args, flavour, options, ask):
    """What the server counts before and after each advisor, on one that nobody else has asked anything."""
    with private_server(args.drover, flavour, options, "advice") as server:
        counts = {"before": counters(server)}
        for name, advisor in ask.items():
            advisor(server)
            counts[name] = counters(server)
    return counts


def counters(server):
    names = ", ".join(f"'{name}'" for name in COUNTED)
    return {name: int(value) for name, value in server.sql(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")}


def all_of(args, options_of, ask):
    """`options_of` has a server as it comes for each flavour; `ask` the advisors, by name."""
    say("what comes of the advice")
    return {"own questions": {flavour: own_questions(args, flavour, options_of[flavour], ask) for flavour in FLAVOURS},
            "skip-innodb": without_innodb(args),
            "skip-innodb alone": started_with(args, "mariadb", ["--skip-innodb"]),
            "innodb_log_file_size on MySQL": started_with(args, "mysql", ["--innodb-log-file-size=32M"]),
            "redo log": redo_log(args, options_of["mariadb"])}


def page(found):
    lines = ["", "## What comes of the advice"]
    for flavour, counts in found["own questions"].items():
        lines += ["", f"What a fresh {flavour} server has counted:", "", "| | " + " | ".join(counts) + " |", "|---|" + "---:|" * len(counts)]
        lines += [f"| {name} | " + " | ".join(f"{of.get(name, '')}" for of in counts.values()) + " |" for name in COUNTED]
    skipped = found["skip-innodb"]
    lines += ["", "MariaDB with `skip-innodb`, reading mysql.gtid_slave_pos: " + skipped["reading mysql.gtid_slave_pos"], "", "```", *skipped["said"], "```"]
    for name in ["skip-innodb alone", "innodb_log_file_size on MySQL"]:
        one = found[name]
        lines += ["", f"{name}: {'the server starts' if one['started'] else 'the server does not start'} with {' '.join(one['options'])}", "",
                  "```", *one["said"], "```"]
    runs = found["redo log"]
    lines += ["", f"MariaDB with a buffer pool of 128 MiB, `bench tpcc` with {CONNECTIONS} connections and {WAREHOUSES} warehouses, {RUN_SECONDS} s a run:", "",
              "| redo log | NOPM, median | p99 of New-Order, ms, median | NOPM of each run |", "|---|---:|---:|---|"]
    for size, of in runs.items():
        nopm = [run["nopm"] for run in of]
        lines.append(f"| {size} | {statistics.median(nopm):,.0f} | {statistics.median(run['p99_ms'] for run in of):.1f} | "
                     f"{', '.join(f'{value:,.0f}' for value in nopm)} |")
    ratios = [small["nopm"] / large["nopm"] for small, large in zip(runs["32M"], runs["96M"], strict=True)]
    lines += ["", f"With 32M it does {statistics.median(ratios):.2f} of what it does with 96M (median of {len(ratios)} turns; "
              f"{min(ratios):.2f} to {max(ratios):.2f})."]
    return lines
