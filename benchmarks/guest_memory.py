"""A host with two NUMA nodes, a disk below a device mapper, a disk to swap to and control groups, with a server on it."""

import contextlib
import ctypes
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from guest import FINE, LIBC, Failure, forbid_io_uring, interleave, mark_synchronized, modprobe, sh, start_udev, until

HOST = dict.fromkeys(["host.swap", "host.oom", "host.numa", "host.disk", "host.files", "host.clock"], FINE)
HOME = Path("/srv")  # where the server's directory is mounted
DATA, SWAP = "vda", "vdb"
NODES = Path("/sys/devices/system/node")
GROUPS = Path("/sys/fs/cgroup")
MEBIBYTE = 1 << 20
FULL = 0.085  # what is left of a node that is to be full, as a share of it: doctor's threshold is 0.1
POOL_AND_ROOM = {"mariadb": (512, 400), "mysql": (1024, 800)}  # MiB; MySQL takes more than 400 when nothing is in its pool
RESERVE_KB = 8192  # which the kernel keeps free: of a small guest it would keep more than what is to be left of a full node


# --- the server


class Server:
    """The one whose data was prepared, started again and again with other options."""

    def __init__(self, told):
        self.flavour, self.argv = told["flavour"], told["argv"]
        self.socket = next(word.split("=", 1)[1] for word in self.argv if word.startswith("--socket="))
        self.process = None

    def start(self, *options, before=()):
        """`before` is what the process does with itself before it is the server."""
        self.process = subprocess.Popen([*self.argv, *options], preexec_fn=lambda: [step() for step in before], cwd="/")
        if not until("the server", self.answers, 240):
            log = HOME / "error.log"
            raise Failure(f"{self.flavour} did not start: {log.read_text(errors='replace')[-3000:] if log.exists() else 'no log'}")
        self.read_all()

    def answers(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.flavour} ended with {self.process.returncode}: {(HOME / 'error.log').read_text(errors='replace')[-3000:]}")
        return subprocess.run([*self.client(), "-e", "DO 0"], capture_output=True).returncode == 0

    def client(self):
        return ["mariadb", "--no-defaults", "-S", self.socket, "-u", "root", "-N", "-B"]

    def sql(self, statement):
        done = subprocess.run([*self.client(), "-e", statement], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{statement}: {done.stderr.strip()}")
        return done.stdout.strip()

    def read_all(self):
        """Fills the buffer pool."""
        return self.sql("SELECT SUM(LENGTH(filler)) FROM hosts.rows_of_it")

    def read_program(self):
        """Has the kernel keep the program on node 1: what it keeps of files on a full node goes first, and the server would come to a halt."""
        for path in [word for word in self.argv if word.startswith("/") and Path(word).is_file()]:
            subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True, preexec_fn=lambda: bind(1))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def resident(self):
        """What it has of the memory and what of it lies in swap, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return tuple(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 for name in ("VmRSS", "VmSwap"))

    @contextlib.contextmanager
    def at_work(self):
        """A session that reads all rows again and again."""
        session = subprocess.Popen(self.client(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            session.stdin.write("SELECT SUM(LENGTH(filler)) FROM hosts.rows_of_it;\n" * 500)
            session.stdin.flush()
            yield
        finally:
            session.kill()
            session.wait()
            session.stdin.close()


# --- what is set up


def make_disks():
    """The server's directory lies on a map of the device mapper, which hands on to the first disk; the second one is to swap to."""
    for module in ["virtio_blk", "dm_mod", "ext4", "kyber-iosched"]:
        modprobe(module)
    until("two disks", lambda: all(Path(f"/dev/{name}").exists() for name in (DATA, SWAP)))
    start_udev()
    sectors = Path(f"/sys/class/block/{DATA}/size").read_text().strip()
    sh(f"dmsetup create data --table '0 {sectors} linear /dev/{DATA} 0' && mkdir -p {HOME} && mount /dev/mapper/data {HOME}")
    sh(f"mkswap /dev/{SWAP}")


def group(name, limits):
    """A control group with limits, such as memory.max."""
    (GROUPS / "cgroup.subtree_control").write_text("+memory")
    folder = GROUPS / name
    folder.mkdir(exist_ok=True)
    for limit, value in limits.items():
        (folder / limit).write_text(str(value))
    return folder


def join(folder):
    """Has this process and its children belong to a control group."""
    return lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))


def bind(node=0):
    """Has this process and its children take memory from one node only, as `numactl --membind` and NUMAPolicy=bind do."""
    SET_MEMPOLICY, MPOL_BIND = 238, 2
    if LIBC.syscall(SET_MEMPOLICY, MPOL_BIND, ctypes.byref(ctypes.c_ulong(1 << node)), 64) != 0:
        raise OSError(ctypes.get_errno(), "set_mempolicy")


def share_left(node):
    """What can be had of a node's memory, as a share."""
    fields = dict(re.findall(r"Node \d+ ([\w()]+):\s+(\d+)", (NODES / f"node{node}" / "meminfo").read_text()))
    names = ["MemFree", "Active(file)", "Inactive(file)", "SReclaimable"]
    return sum(int(fields[name]) for name in names) / int(fields["MemTotal"])


def fill(node):
    """Takes a node's memory but for a little, says so, and keeps it. Run as a process of its own."""
    bind(node)
    kept = []
    while share_left(node) > FULL:
        chunk = mmap.mmap(-1, 4 * MEBIBYTE)
        for page in range(0, len(chunk), mmap.PAGESIZE):
            chunk[page] = 1
        kept.append(chunk)
    print("full", flush=True)
    signal.pause()


def hog():
    """Takes memory until somebody ends it. Run as a process of its own."""
    kept = []
    while True:
        kept.append(bytearray(b"x" * MEBIBYTE))


def helper(name, *words, before=None, **options):
    """A function of this file as a process."""
    return subprocess.Popen([sys.executable, __file__, name, *words], preexec_fn=before, **options)


@contextlib.contextmanager
def full_node(node=0):
    process = helper("fill", str(node), stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline().strip() != "full":
            raise Failure(f"node {node} could not be filled: exit code {process.wait()}")
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def lies_on():
    """What each node has left, for the record."""
    return {f"node {node} has left": f"{share_left(node):.0%} of its memory" for node in (0, 1)}


# --- scenes


def look(notes, server, scene, expected, areas, **more):
    notes.look(scene, expected, areas=areas, options=["--socket", server.socket, "-u", "root"], **more)


def healthy(notes, server):
    """And versions, for the record."""
    server.start()
    notes.add(versions={server.flavour: server.sql("SELECT VERSION()")})
    look(notes, server, "as it should be: memory to spare on both nodes, no swap, no limits, a disk below a device mapper with the scheduler that the kernel chose",
         HOST | {"server.aio": FINE, "memory.fit": FINE, "scheduler.choice": FINE}, ["host", "memory", "server", "scheduler"], tries=2)


def scheduler(notes, server):
    """The scheduler of the disk below the map is what counts, and what is set."""
    file = Path(f"/sys/block/{DATA}/queue/scheduler")
    file.write_text("kyber")
    unusual = {"scheduler.choice": [("note", DATA, "uses the scheduler kyber, which is unusual for")]}
    look(notes, server, "kyber below the device mapper", unusual, ["scheduler"])
    mapped = os.path.basename(os.path.realpath("/dev/mapper/data"))
    refused = subprocess.run([notes.drover, "doctor", "scheduler", "set", mapped, "none", "--apply"], capture_output=True, text=True)
    commands = [f"drover doctor scheduler set {DATA} mq-deadline --apply", f"drover doctor scheduler set {DATA} --revert"]
    sh(f"{notes.drover} doctor scheduler set {DATA} mq-deadline --apply")
    look(notes, server, "the scheduler that doctor has set", {"scheduler.choice": FINE}, ["scheduler"],
         facts={"command": commands[0], "of the map itself": refused.stderr.strip(), "scheduler": file.read_text().strip()})
    sh(f"{notes.drover} doctor scheduler set {DATA} --revert")
    look(notes, server, "and put back", unusual, ["scheduler"], facts={"command": commands[1], "scheduler": file.read_text().strip()},
         also={"the map itself is refused a scheduler": refused.returncode != 0})
    file.write_text("mq-deadline")


def requests(notes, server):
    """How InnoDB asks the disk, with less and less that it may have."""
    left = Path("/proc/sys/fs/aio-max-nr")
    before = left.read_text()
    told = {"server.aio": [("note", None, "is told to do without native asynchronous I/O")]}
    none = {"server.aio": [("yellow", None, "could not have native asynchronous I/O")]}
    server.stop()
    server.start(before=[forbid_io_uring])
    # MySQL takes libaio anyway.
    without = {"mariadb": {"server.aio": [("note", None, "could not have io_uring, and uses libaio")]}, "mysql": {"server.aio": FINE}}
    look(notes, server, "io_uring forbidden by seccomp", without[server.flavour], ["server"])
    server.stop()
    left.write_text("0")
    server.start(before=[forbid_io_uring])
    look(notes, server, "io_uring forbidden, and fs.aio-max-nr used up", none, ["server"], facts={"fs.aio-max-nr": left.read_text().strip()})
    server.stop()
    left.write_text(before)
    server.start("--innodb-use-native-aio=OFF")
    look(notes, server, "innodb_use_native_aio=OFF", told, ["server"])


def numa(notes, server):
    server.stop()
    Path("/proc/sys/vm/min_free_kbytes").write_text(str(RESERVE_KB))
    sh("echo 3 > /proc/sys/vm/drop_caches")
    server.read_program()
    server.start(before=[bind])
    look(notes, server, "the server's memory on node 0, which has some left", HOST, ["host"], facts=lies_on())
    with full_node():
        look(notes, server, "the server's memory on node 0, which is full", HOST | {"host.numa": [("yellow", "node 0", "of the server's")]}, ["host"],
             facts=lies_on())
    server.stop()
    sh("echo 3 > /proc/sys/vm/drop_caches")
    server.start(before=[interleave])
    with full_node():
        look(notes, server, "node 0 is full, and the server's memory is interleaved, as is proposed", HOST, ["host"], facts=lies_on())


def swap(notes, server):
    server.stop()
    sh(f"swapon /dev/{SWAP}")
    own = group("server", {"memory.max": "max"})
    server.start(before=[join(own)])
    look(notes, server, "a disk to swap to, and memory enough", HOST, ["host"])
    resident, _ = server.resident()
    with contextlib.suppress(OSError):  # it tells so if it cannot have all
        (own / "memory.reclaim").write_text(str(resident // 2))
    out = server.resident()[1]
    look(notes, server, "parts of the server lie in swap, and are not read", HOST | {"host.swap": [("note", None, "of the server lie in swap")]}, ["host"],
         facts={"of the server in swap": f"{out / MEBIBYTE:.0f} MiB"}, tries=5)
    # Less than it works with.
    limit = int((resident - out) * 0.8)
    (own / "memory.max").write_text(str(limit))
    look(notes, server, "a control group with less memory than the server works with",
         HOST | {"host.swap": [("red", None, "memory is read back from swap")]}, ["host"],
         beside=server.at_work, tries=3, facts={"memory.max": f"{limit / MEBIBYTE:.0f} MiB"})
    (own / "memory.max").write_text("max")
    sh(f"swapoff /dev/{SWAP}")
    look(notes, server, "the limit is gone, and the swap", HOST, ["host"])


def fit(notes, server):
    """A buffer pool that may grow to more than the group has."""
    server.stop()
    pool, room = POOL_AND_ROOM[server.flavour]
    limit = room * MEBIBYTE
    own = group("small", {"memory.max": limit, "memory.swap.max": 0})
    server.start(f"--innodb-buffer-pool-size={pool}M", before=[join(own)])
    look(notes, server, f"a buffer pool of {pool} MiB in a control group of {room}",
         {"memory.fit": [("red", None, "caches are set to more than the memory that there is")],
          "memory.session": [("yellow", None, "allows more sessions than memory has room for")]}, ["memory"],
         facts={"the server has": f"{server.resident()[0] / MEBIBYTE:.0f} MiB"})
    statements = notes.mend("memory.fit", tool="sql", run=server.sql)
    until("a smaller pool", lambda: int(server.sql("SELECT @@innodb_buffer_pool_size")) < limit)
    look(notes, server, "the buffer pool that is proposed", {"memory.fit": FINE}, ["memory"], facts={"statements": statements})


@contextlib.contextmanager
def killing():
    """Processes that take more than their group has, one after the other."""
    own = group("hogs", {"memory.max": 24 * MEBIBYTE, "memory.swap.max": 0})
    processes = [subprocess.Popen(["sh", "-c", f"for n in 1 2 3 4 5 6 7 8; do {sys.executable} {__file__} hog; done"], preexec_fn=join(own),
                                  stderr=subprocess.DEVNULL)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def oom(notes, server):
    """Last, as the kernel's count never goes back."""
    killed = ("yellow", None, "the kernel has killed processes")
    look(notes, server, "a control group in which the kernel kills for memory, while doctor looks",
         HOST | {"host.oom": [("red", None, "the kernel kills processes now")]}, ["host"], beside=killing, tries=3)
    time.sleep(3)
    look(notes, server, "the kernel has killed before", HOST | {"host.oom": [killed]}, ["host"], tries=2)


def play(notes, told):
    mark_synchronized(1000)
    make_disks()
    server = Server(told)
    try:
        for scene in [healthy, scheduler, requests, numa, swap, fit, oom]:
            scene(notes, server)
    finally:
        if server.process:
            server.stop()


if __name__ == "__main__":
    {"fill": lambda: fill(int(sys.argv[2])), "hog": hog}[sys.argv[1]]()
