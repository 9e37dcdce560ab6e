"""What runs inside of the virtual machines of `benchmarks/hosts`: a host is set up, drover doctor looks at it, and what it said is noted.

Python's standard library only, and whatever this machine has: its root is the guest's.
"""

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

SERVERS = Path(__file__).resolve().parent.parent / ".servers"
KERNEL = SERVERS / "kernel"
SILENT, FINE = "silent", "fine"  # no finding; and all of it was seen


class Failure(Exception):
    """The host could not be set up."""


def sh(script, check=True):
    """Runs a script and returns what it prints."""
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise Failure(f"{script.splitlines()[0]}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


def until(what, is_so, seconds=30):
    """Waits for a condition; whether it came about."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            print(f"{what}: not after {seconds} s", flush=True)
            return False
        time.sleep(0.2)
    return True


def modprobe(line):
    sh(f"{KERNEL}/bin/modprobe {line}")


def prepare():
    """What every guest needs before anything is looked at."""
    sh(f"mkdir -p /lib/modules /etc/modprobe.d && mount --bind {KERNEL}/lib/modules /lib/modules && ip link set lo up")
    if not (KERNEL / "bin" / "modprobe").exists():
        raise Failure("there is no modprobe: scripts/setup bench")


def start_udev():
    """Devices are named and marked as ready by udev, as on any host; networkd and NetworkManager wait for that."""
    sh(f"cp {KERNEL}/bin/udevadm /bin/ && cp -r {KERNEL}/lib/udev/. /lib/udev/ && mkdir -p /run/udev && ln -sf /bin/udevadm /lib/systemd/systemd-udevd"
       " && /lib/systemd/systemd-udevd --daemon && udevadm trigger --action=add && udevadm settle --timeout=30")


class Notes:
    """What was looked at, a line of JSON each."""

    def __init__(self, drover, path):
        self.drover = drover
        self.file = open(path, "a")  # noqa: SIM115 (kept open until the guest ends)
        self.last = {}

    def add(self, **note):
        self.file.write(json.dumps(note) + "\n")
        self.file.flush()
        print(time.strftime("%X"), note.get("scene", note), *note.get("missed", []), sep="\n  ", flush=True)

    def doctor(self, areas, options):
        argv = [self.drover, "-q", "--json", "doctor", *areas, "--ignore-file", "/run/ignored.json", *options]
        began = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise Failure(f"drover doctor: exit code {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout), time.monotonic() - began

    def look(self, scene, expected, *, areas, options=("--no-server",), facts=None, beside=contextlib.nullcontext, tries=1, also=None):
        """Has doctor look, and notes what it says of the rules in `expected` and whatever it found of others.

        `expected` has for each rule `SILENT`, `FINE`, or its findings as (weight, subject, words that are in it). `beside` is a context
        in which it looks; several tries are for what needs a moment to calm down. `also` tells of other things whether they are so.
        """
        for left in reversed(range(tries)):
            with beside():
                report, seconds = self.doctor(areas, options)
            self.last = {check["rule"]: check for check in report["checks"]}
            if not left or not missed(expected, self.last):
                break
        said = {rule: brief(check) for rule, check in self.last.items() if rule in expected or check["findings"]}
        wrong = missed(expected, self.last) + [f"not so: {what}" for what, is_so in (also or {}).items() if not is_so]
        self.add(scene=scene, expected=expected, said=said, facts=facts or {}, seconds=round(seconds, 1), missed=wrong)

    def mend(self, rule, subject=None, tool="shell", run=sh):
        """Does what the last report proposes for a finding, as a person would who trusts it; gives the commands, or the statements."""
        findings = [finding for finding in self.last[rule]["findings"] if subject in (None, finding["subject"])]
        commands = [remedy["run"] for finding in findings for remedy in finding["remedies"] if remedy["with"] == tool]
        if not commands:
            raise Failure(f"{rule} proposes nothing for {tool}")
        for command in commands:
            run(command)
        return commands


def brief(check):
    """What is kept of a check."""
    names = ["weight", "grade", "subject", "what", "seen", "effect"]
    return {"state": check["state"], "findings": [{name: finding[name] for name in names} for finding in check["findings"]],
            "fine": check["fine"], "unknown": check["unknown"]}


def missed(expected, checks):
    """What is not as expected, in words."""
    wrong = []
    for rule, wanted in expected.items():
        findings = checks[rule]["findings"]
        if wanted in (SILENT, FINE):
            wrong += [f"{rule} is {finding['weight']} and there is nothing: {finding['subject']} {finding['what']}" for finding in findings]
            if wanted == FINE and not findings and checks[rule]["state"] != "fine":
                wrong.append(f"{rule} is {checks[rule]['state']}, not fine: {'; '.join(checks[rule]['unknown'])}")
            continue
        left = list(findings)
        for weight, subject, words in wanted:
            fits = [finding for finding in left if finding["weight"] == weight and finding["subject"] == subject and words in json.dumps(finding)]
            left = [finding for finding in left if finding not in fits[:1]]
            if not fits:
                wrong.append(f"{rule} has not found ({weight}, {subject}): {words}")
        wrong += [f"{rule} is {finding['weight']} and that was not planted: {finding['subject']} {finding['what']}" for finding in left]
    for rule, check in checks.items():
        wrong += [f"{rule} is {finding['weight']} and was not planted: {finding['subject']} {finding['what']}"
                  for finding in check["findings"] if rule not in expected and finding["weight"] != "note"]
    return wrong


# --- the system's calls that no program makes for a script

LIBC = ctypes.CDLL(None, use_errno=True)


class Timex(ctypes.Structure):
    """struct timex of adjtimex(2), as far as it is set here."""

    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
                ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("rest", ctypes.c_char * 160)]


def mark_synchronized(max_error_us):
    """Tells the kernel that its clock is held to the time, as chronyd does."""
    ADJ_MAXERROR, ADJ_ESTERROR, ADJ_STATUS, STA_PLL = 0x4, 0x8, 0x10, 0x1
    state = Timex(modes=ADJ_MAXERROR | ADJ_ESTERROR | ADJ_STATUS, maxerror=max_error_us, esterror=max_error_us, status=STA_PLL)
    if LIBC.adjtimex(ctypes.byref(state)) < 0:
        raise Failure("adjtimex: " + os.strerror(ctypes.get_errno()))


def interleave():
    """Has this process and its children take memory from both nodes by turns, as NUMAPolicy=interleave does."""
    SET_MEMPOLICY, MPOL_INTERLEAVE = 238, 3
    if LIBC.syscall(SET_MEMPOLICY, MPOL_INTERLEAVE, ctypes.byref(ctypes.c_ulong(0b11)), 3) != 0:
        raise OSError(ctypes.get_errno(), "set_mempolicy")


def forbid_io_uring():
    """Has the kernel refuse io_uring_setup(2) to this process and its children, as the profiles of containers do."""
    PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER, IO_URING_SETUP, EPERM = 22, 38, 2, 425, 1

    class Instruction(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]

    # Load the call's number; if it is that one, fail with EPERM; else allow.
    lines = [(0x20, 0, 0, 0), (0x15, 0, 1, IO_URING_SETUP), (0x06, 0, 0, 0x00050000 | EPERM), (0x06, 0, 0, 0x7FFF0000)]
    program = Program(len(lines), (Instruction * len(lines))(*(Instruction(*line) for line in lines)))
    zero = ctypes.c_ulong(0)
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) or LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "seccomp")


def main():
    """`guest.py SCENES DROVER SHARE`"""
    scenes, drover, share = sys.argv[1:]
    notes = Notes(drover, Path(share) / "notes")
    prepare()
    if scenes == "bonds":
        import guest_bonds
        guest_bonds.play(notes)
    else:
        import guest_memory
        guest_memory.play(notes, json.loads((Path(share) / "server").read_text()))


if __name__ == "__main__":
    sys.modules["guest"] = sys.modules["__main__"]  # the scenes import it by its name
    main()
