"""docs/servers.md, from what was found."""

import re

HEAD = """# Servers

Does drover work with yours? Every cell was tried by `make reach`, which writes this page: each server is filled with a schema of all that its
version can hold ([nasty.sql](../tests/reach/nasty.sql)), and what comes out is compared by another program, not by drover.

- **yes**: all is there, byte for byte.
- **partly**: something cannot be kept there, and drover says what. What is refused is known before the first row, and `--skip-refused` leaves it
  out; what is lost is in the report, and the exit code is 1.
- **no**: refused, for the reason given, and nothing was changed. Of logs, a dry run says so.

Numbers lead to the reasons, in the servers' words, below.

Versions between these (MySQL 8.4, MariaDB 10.3, 10.4, 10.6) were not tried: drover asks a server what it can and does not go by its number.
TiDB has [a page of its own](tidb.md), as have [Amazon RDS](amazon-rds.md), [Aurora](amazon-aurora.md), [Google Cloud SQL](google-cloud-sql.md)
and [Azure](azure.md).
"""


def faults(found):
    own = [f"{name}: {feature}: {verdict}" for name, features in found["own"].items() for feature, verdict in features.items() if verdict.word == "FAULT"]
    pairs = [f"{source} to {target}: {what}: {verdict}" for what in ("copy", "replay") for (source, target), verdict in found[what].items() if verdict.word == "FAULT"]
    of_clusters = [f"{name} {topology}: {what}: {verdict}" for (name, topology), tried in found["clusters"].items() for what, verdict in tried.items() if verdict.word == "FAULT"]
    return own + pairs + of_clusters


class Notes:
    """The reasons, each with a number."""

    def __init__(self):
        self.numbers = {}

    def number(self, reason):
        """Where in a log it was says nothing about a server."""
        reason = re.sub(r"binlog\.\d+: at \d+: | \(all up to [^)]*\)", "", " ".join(reason.split()))
        return self.numbers.setdefault(reason, len(self.numbers) + 1)

    def cell(self, verdict):
        if verdict is None:
            return ""
        numbers = ", ".join(map(str, sorted({self.number(reason) for reason in verdict.reasons})))
        return f"{verdict.word} [{numbers}]" if numbers else verdict.word

    def text(self):
        return "\n".join(f"{number}. {reason}" for reason, number in self.numbers.items())


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def title(name):
    vendor, version = name.split("-")
    return f"{'MySQL' if vendor == 'mysql' else 'MariaDB'} {version}"


def pairs(found, what, notes):
    sources = list(found["own"])
    targets = list(dict.fromkeys(target for _, target in found[what]))
    rows = [[title(source), *(notes.cell(found[what].get((source, target))) for target in targets)] for source in sources]
    return table(["from \\ to", *map(title, targets)], rows)


def clusters(found, notes):
    things = list(dict.fromkeys(what for tried in found["clusters"].values() for what in tried))
    heads = [f"{title(name)}, {topology.replace('-', ' ')}" for name, topology in found["clusters"]]
    return table(["", *heads], [[what, *(notes.cell(tried.get(what)) for tried in found["clusters"].values())] for what in things])


def text(found):
    notes, names = Notes(), list(found["own"])
    features = list(dict.fromkeys(feature for own in found["own"].values() for feature in own))
    versions = table(["", *map(title, names)], [["tried", *(found["versions"][name] for name in names)]] +
                     [[feature, *(notes.cell(found["own"][name].get(feature)) for name in names)] for feature in features])
    parts = [HEAD, "## On one server\n", versions, "## `copy` (and `dump`, then `restore`) from one to another\n", pairs(found, "copy", notes),
             "## `binlog replay` of one's logs on another\n", pairs(found, "replay", notes), "## Replicas and clusters\n", clusters(found, notes), "## Reasons\n", notes.text() + "\n"]
    return "\n".join(parts)
