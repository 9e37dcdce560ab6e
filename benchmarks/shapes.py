"""The tables that dumps are measured on, each kind with what is special about it.

Every kind is 4 tables of one schema (`one` is a single table), made on the server itself or loaded from files that are
written here. Nothing is downloaded: the text is what the package index of this Debian says of its packages.
"""

import contextlib
import dataclasses
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import SBTEST, TABLES, BenchError, client, output_of, say

SEED = 20261122  # of everything that is drawn


@dataclasses.dataclass
class Shape:
    """A kind of tables: `rows` a table, if not told otherwise, and `least` bytes of text a row, to notice a dump without rows."""

    name: str
    what: str
    rows: int
    least: int
    fill: Callable
    tables: int = TABLES

    def names(self):
        return [f"sbtest{number + 1}" for number in range(self.tables)]

    def parts(self, rows):
        """What each of the floor's 4 connections reads: a table, or a quarter of the only one."""
        if self.tables > 1:
            return [f"{SBTEST}.{name}" for name in self.names()]
        quarter = -(-rows // TABLES)
        return [f"{SBTEST}.sbtest1 WHERE id BETWEEN {n * quarter + 1} AND {(n + 1) * quarter}" for n in range(TABLES)]


@contextlib.contextmanager
def filled(server, shape, rows, keep):
    """The tables of a kind, dropped at the end if they were made here and nobody wants them kept."""
    if is_filled(server, shape, rows):
        yield
        return
    say(f"filling {shape.tables} tables of {rows} rows: {shape.what}")
    server.sql(f"CREATE DATABASE {SBTEST} CHARACTER SET utf8mb4")
    try:
        shape.fill(server, rows)
        server.settle()
        yield
    finally:
        if not keep:
            server.sql(f"DROP DATABASE {SBTEST}")


def is_filled(server, shape, rows):
    """Whether the schema holds the expected tables; one that holds something else is not ours to touch."""
    if not server.sql(f"SHOW DATABASES LIKE '{SBTEST}'"):
        return False
    found = server.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{SBTEST}' ORDER BY 1")
    if [row[0] for row in found] == sorted(shape.names()):
        counts = server.sql(" UNION ALL ".join(f"SELECT COUNT(*) FROM {SBTEST}.{name}" for name in shape.names()))
        if all(int(row[0]) == rows for row in counts):
            return True
    raise BenchError(f"the schema {SBTEST} exists, and not with {shape.tables} tables of {rows} rows", "drop it, and run again")


# --- filling


def sysbench(server, rows):
    output_of(["sysbench", "oltp_read_only", f"--mysql-socket={server.socket}", "--mysql-user=root", f"--mysql-db={SBTEST}",
               f"--tables={TABLES}", f"--table-size={rows}", f"--threads={TABLES}", "prepare"])


def one(server, rows):
    """sysbench's table, which is copied within the server: it fills a single one with a single connection."""
    first = min(rows, 1_000_000)
    output_of(["sysbench", "oltp_read_only", f"--mysql-socket={server.socket}", "--mysql-user=root", f"--mysql-db={SBTEST}",
               "--tables=1", f"--table-size={first}", "prepare"])
    for there in range(first, rows, first):
        server.sql(f"INSERT INTO {SBTEST}.sbtest1 SELECT id + {there}, k, c, pad FROM {SBTEST}.sbtest1 "
                   f"WHERE id <= {min(first, rows - there)}")


def doubled(server, columns, values, rows):
    """Tables of which each statement doubles the rows: `values` are expressions, drawn anew for each row."""
    for number in range(1, TABLES + 1):
        table = f"{SBTEST}.sbtest{number}"
        names, expressions = ", ".join(name for name, _ in columns), ", ".join(values)
        server.sql(f"CREATE TABLE {table} (id INT PRIMARY KEY, {', '.join(' '.join(column) for column in columns)}); "
                   f"INSERT INTO {table} (id, {names}) SELECT 1, {expressions}")
        there = 1
        while there < rows:
            more = min(there, rows - there)
            server.sql(f"INSERT INTO {table} (id, {names}) SELECT id + {there}, {expressions} FROM {table} WHERE id <= {more}")
            there += more


# Types and how their values are drawn, over which the wide table's columns go round.
KINDS = [
    ("INT", "FLOOR(RAND() * 2000000000) - 1000000000"),
    ("BIGINT", "FLOOR(RAND() * 9000000000000000)"),
    ("DECIMAL(12,2)", "RAND() * 1000000"),
    ("DOUBLE", "RAND()"),
    ("DATETIME", "'2020-01-01' + INTERVAL FLOOR(RAND() * 200000000) SECOND"),
    ("VARCHAR(40)", "CONCAT('name ', FLOOR(RAND() * 100000))"),
    ("CHAR(8)", "ELT(1 + FLOOR(RAND() * 4), 'open', 'paid', 'sent', 'returned')"),
    ("TINYINT", "FLOOR(RAND() * 2)"),
    ("VARCHAR(20)", "IF(RAND() < 0.5, NULL, 'x')"),
    ("DATE", "'2020-01-01' + INTERVAL FLOOR(RAND() * 2000) DAY"),
]
WIDE = 60


def wide(server, rows):
    kinds = [KINDS[number % len(KINDS)] for number in range(WIDE)]
    columns = [(f"c{number}", kind) for number, (kind, _) in enumerate(kinds)]
    doubled(server, columns, [value for _, value in kinds], rows)


def narrow(server, rows):
    doubled(server, [("v", "INT NOT NULL")], ["FLOOR(RAND() * 1000000)"], rows)


def loaded(server, definition, lines):
    """A table for each of the 4 lists of lines, by LOAD DATA."""
    with tempfile.TemporaryDirectory(prefix="shape-") as directory:
        for number in range(1, TABLES + 1):
            path = Path(directory) / str(number)
            with open(path, "wb") as file:
                for line in lines(number):
                    file.write(line)
            server.sql(f"CREATE TABLE {SBTEST}.sbtest{number} ({definition})")
            sql = f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {SBTEST}.sbtest{number} CHARACTER SET binary"
            output_of([*client(server.socket), "--local-infile=1", "-e", sql])
            path.unlink()


def escaped(value):
    for char, with_ in ((b"\\", b"\\\\"), (b"\t", b"\\\t"), (b"\n", b"\\\n")):
        value = value.replace(char, with_)
    return value


def packages():
    """Name, section and description of every package that this Debian knows."""
    found = []
    for stanza in output_of(["apt-cache", "dumpavail"]).split("\n\n"):
        fields, name = {}, None
        for line in stanza.splitlines():
            if line.startswith(" ") and name:
                fields[name] += "\n" + line.strip()
            elif ": " in line:
                name, value = line.split(": ", 1)
                fields[name] = value
        if "Description" in fields or "Description-en" in fields:
            text = "\n".join(fields.get(key, "") for key in ("Description", "Description-en", "Depends", "Tag"))
            found.append((fields.get("Package", ""), fields.get("Section", ""), text))
    if len(found) < 10_000:
        raise BenchError("apt-cache knows hardly any packages", "apt-get update")
    return found


def text(server, rows):
    """Descriptions of packages, with numbers between, so that the same one does not come back the same."""
    known = packages()

    def lines(number):
        draw = random.Random(SEED + number)
        for row in range(1, rows + 1):
            name, section, description = draw.choice(known)
            fields = (str(row), name, section, f"{description}\n{draw.getrandbits(64):x}")
            yield b"\t".join(escaped(field.encode()) for field in fields) + b"\n"

    loaded(server, "id INT PRIMARY KEY, name VARCHAR(200), section VARCHAR(100), description MEDIUMTEXT", lines)


def blobs(server, rows):
    """Bytes without any order, as pictures are, up to 4 MiB each."""
    def lines(number):
        draw = random.Random(SEED + number)
        for row in range(1, rows + 1):
            size = 1 << draw.randint(10, 22)
            yield str(row).encode() + b"\t" + escaped(os.urandom(size)) + b"\n"

    loaded(server, "id INT PRIMARY KEY, picture LONGBLOB", lines)


SHAPES = {shape.name: shape for shape in (
    Shape("digits", "sysbench's, 190 bytes a row, of which most are digits", 1_000_000, 180, sysbench),
    Shape("text", "package descriptions", 400_000, 100, text),
    Shape("wide", f"{WIDE} columns of ten types", 150_000, 300, wide),
    Shape("narrow", "two INT columns", 4_000_000, 4, narrow),
    Shape("blobs", "random bytes, 1 kB to 4 MiB a row", 250, 1000, blobs),
    Shape("one", "a single one, sysbench's", 10_000_000, 180, one, tables=1),
)}
