"""A host with bonds of the kernel's own driver, and a switch: pairs of virtual interfaces whose other ends lie in another network namespace."""

import contextlib
import socket
import subprocess
import threading
import time
from pathlib import Path

from guest import FINE, KERNEL, SERVERS, SILENT, Failure, mark_synchronized, modprobe, sh, start_udev, until

NET = Path("/sys/class/net")
AREAS = ["bonding"]
HEALTHY = {"bonding.mode": FINE, "bonding.module_options": SILENT, "bonding.watch": FINE, "bonding.links": FINE, "bonding.single": FINE,
           "bonding.partner": FINE, "bonding.mtu": FINE, "bonding.delays": FINE, "bonding.speed": FINE}
NETWORKD = Path("/etc/systemd/network")
PLANNED = {"bond0": ("802.3ad", "eth0 eth1"), "bond1": ("active-backup", "eth2 eth3")}
GIBIBYTE = 1 << 30
DAEMONS = []  # network managers that were started


# --- what is set up


def lay_cables(count=8):
    """eth0 to eth7 here, and the other ends in the switch, as port0 to port7."""
    modprobe("veth")
    sh("ip netns add switch && ip -n switch link set lo up")
    for number in range(count):
        sh(f"ip link add eth{number} type veth peer name port{number} netns switch && ip -n switch link set port{number} up")


def lacp_group(name, ports):
    """Ports of the switch that speak LACP and belong together: it is the same driver's."""
    sh(f"ip -n switch link add {name} type bond mode 802.3ad miimon 100 lacp_rate fast")
    for port in ports:
        sh(f"ip -n switch link set port{port} down && ip -n switch link set port{port} master {name}")
    sh(f"ip -n switch link set {name} up")


def bond(name, slaves, options):
    """By hand."""
    sh(f"ip link add {name} type bond {options}")
    enslave(name, slaves)


def enslave(name, slaves):
    for slave in slaves:
        sh(f"ip link set {slave} down && ip link set {slave} master {name}")
    sh(f"ip link set {name} up")


def clear():
    """No bond, no file of one, and nobody who would make it again."""
    while DAEMONS:
        daemon = DAEMONS.pop()
        daemon.terminate()
        daemon.wait()
    for path in [NETWORKD, Path("/run/systemd/network"), Path("/etc/netplan"), Path("/etc/NetworkManager/system-connections")]:
        sh(f"rm -rf {path} && mkdir -p {path}")
    for name in (NET / "bonding_masters").read_text().split():
        sh(f"ip link delete {name}")
    for number in range(8):
        sh(f"ip link set eth{number} down && ip addr flush dev eth{number}")


def as_kernel_has_it(names=("bond0", "bond1")):
    """Mode and interfaces of bonds, as they are read back."""
    def of(name, option):
        return (NET / name / "bonding" / option).read_text().strip() if (NET / name).exists() else "not there"
    return {name: (of(name, "mode").split()[0], " ".join(sorted(of(name, "slaves").split()))) for name in names}


def told(names=("bond0", "bond1")):
    """The same, for the record."""
    return {f"{name} as the kernel has it": f"{mode}: {slaves}" for name, (mode, slaves) in as_kernel_has_it(names).items()}


def is_up(name):
    """Whether a bond has all of its links."""
    slaves = (NET / name / "bonding" / "slaves").read_text().split()
    return all((NET / slave / "operstate").read_text().strip() == "up" and
               (NET / slave / "bonding_slave" / "mii_status").read_text().strip() == "up" for slave in slaves)


def has_partner(name):
    """Whether all links of an 802.3ad bond are in one group with a switch."""
    folder = NET / name
    slaves = (folder / "bonding" / "slaves").read_text().split()
    groups = {(NET / slave / "bonding_slave" / "ad_aggregator_id").read_text().strip() for slave in slaves}
    return len(groups) == 1 and (folder / "bonding" / "ad_partner_mac").read_text().strip() != "00:00:00:00:00:00"


# --- scenes


def kernel_and_clock(notes):
    """What a host's kernel is told, and its clock."""
    files = Path("/proc/sys/fs/file-max")
    before = files.read_text()
    many = [open("/dev/null") for _ in range(900)]  # noqa: SIM115 (the kernel counts by whole batches)
    used = int(Path("/proc/sys/fs/file-nr").read_text().split()[0])
    files.write_text(str(int(used / 0.88)))
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    good = source.read_text().strip()
    source.write_text("acpi_pm")
    notes.look("clock of acpi_pm that nobody synchronizes; elevator=deadline; fs.file-max near what is open",
               {"host.clock": [("note", "time", "STA_UNSYNC"), ("note", "source", "acpi_pm")], "host.files": [("yellow", None, "")],
                "scheduler.elevator": [("yellow", None, "elevator=deadline")]}, areas=["host", "scheduler"])
    files.write_text(before)
    for one in many:
        one.close()
    commands = notes.mend("host.clock", "source")
    mark_synchronized(1000)
    notes.look("the same, with what is proposed for the clock source, a synchronized clock, and the old fs.file-max",
               {"host.clock": FINE, "host.files": FINE, "scheduler.elevator": [("yellow", None, "elevator=deadline")]}, areas=["host", "scheduler"],
               facts={"clock source before": good, "commands": commands, "clock source after": source.read_text().strip()})
    mark_synchronized(900_000)
    notes.look("a clock whose synchronization is old", {"host.clock": [("note", "time", "maxerror")],
               "scheduler.elevator": [("yellow", None, "elevator=deadline")]}, areas=["host", "scheduler"])


def options_of_module(notes):
    """The mistake that is oldest: options of the module are taken for those of one bond. systemd's own file says max_bonds=0, and of two
    files the one whose name comes last counts."""
    ours = Path("/etc/modprobe.d/bonding.conf")
    ours.write_text("options bonding mode=4 miimon=100 max_bonds=4\n")
    NETWORKD.mkdir(parents=True, exist_ok=True)
    (NETWORKD / "bond1.netdev").write_text("[NetDev]\nName=bond1\nKind=bond\n\n[Bond]\nMode=active-backup\nMIIMonitorSec=100ms\n")
    modprobe("bonding")
    made = (NET / "bonding_masters").read_text().split()
    for name in ["bond0", "bond1"]:
        sh(f"ip link add {name} type bond")
    two_bonds(notes, "options bonding mode=4 max_bonds=4, which systemd's max_bonds=0 comes after; bond1 is to have mode 1; a switch without LACP",
              "the module makes no bond when it is loaded, and gives its options to those made later", [],
              {"bonds that the module made": " ".join(made) or "none"})
    sh(f"ip link delete bond0; ip link delete bond1; {KERNEL}/bin/rmmod bonding")
    ours.rename("/etc/modprobe.d/zz-bonding.conf")
    modprobe("bonding")
    made = (NET / "bonding_masters").read_text().split()
    two_bonds(notes, "the same in a file that comes after systemd's", "the module makes 4 bonds when it is loaded, bond0 to bond3", ["bond2", "bond3"],
              {"bonds that the module made": " ".join(made) or "none", "proc": Path("/proc/net/bonding/bond0").read_text()})
    for name in made:
        sh(f"ip link delete {name}")
    sh(f"{KERNEL}/bin/rmmod bonding; rm /etc/modprobe.d/zz-bonding.conf")
    modprobe("bonding")


def two_bonds(notes, scene, words, idle, facts):
    enslave("bond0", ["eth0", "eth1"])
    enslave("bond1", ["eth2", "eth3"])
    until("links are up", lambda: is_up("bond0") and is_up("bond1"))
    time.sleep(3)  # until it is known that nobody answers
    notes.look(scene,
               {"bonding.module_options": [("red", None, words)], "bonding.mode": [("red", "bond1", "mode 802.3ad instead of active-backup")],
                "bonding.single": [("note", name, "no file asks for it") for name in idle] or SILENT,
                "bonding.partner": [("yellow", name, "does not speak LACP") for name in ["bond0", "bond1"]],
                "bonding.watch": FINE, "bonding.links": FINE, "bonding.mtu": FINE, "bonding.speed": FINE}, areas=AREAS,
               facts=told(["bond0", "bond1", *idle]) | facts)


def plan(notes, tool, more=""):
    """What doctor plans, onto this host."""
    sh(f"rm -rf /run/plan && {notes.drover} -q doctor bonding plan eth0,eth1:4 eth2,eth3:1 --for {tool} --address bond0=192.0.2.1/24 "
       f"--address bond1=198.51.100.1/24 --dir /run/plan {more} && cp -r /run/plan/. /")


def is_as_planned():
    return as_kernel_has_it() == PLANNED and is_up("bond0") and is_up("bond1") and has_partner("bond0")


def planned(notes, scene, start):
    """Starts a network manager on what was planned for it, and has doctor look at what came of it."""
    start()
    as_planned = until(f"{scene}: the bonds", is_as_planned, 60)
    notes.look(scene, HEALTHY, areas=AREAS, facts=told(), also={"the kernel has the bonds as planned": as_planned})


def start_networkd():
    sh("mkdir -p /run/systemd/netif && chown systemd-network: /run/systemd/netif")
    log = open("/run/networkd.log", "a")  # noqa: SIM115 (the daemon's)
    DAEMONS.append(subprocess.Popen(["/lib/systemd/systemd-networkd"], stdout=log, stderr=log, env={"SYSTEMD_LOG_TARGET": "console"}))


def with_networkd(notes):
    clear()
    plan(notes, "networkd")
    planned(notes, "the plan for networkd, carried out by systemd-networkd", start_networkd)


def tool(path):
    """A command line of the unpacked network tools."""
    libraries = [*(SERVERS / "network" / "usr" / "lib").glob("*-linux-gnu"), *(KERNEL / "usr" / "lib").glob("*-linux-gnu")]
    return f"env LD_LIBRARY_PATH={':'.join(map(str, libraries))} {SERVERS / 'network' / path}"


def with_netplan(notes):
    clear()
    plan(notes, "netplan")
    sh(f"chmod 600 /etc/netplan/*; {tool('usr/libexec/netplan/generate')}")
    planned(notes, "the plan for netplan, made files of networkd by netplan's generator, carried out by systemd-networkd", start_networkd)


def with_networkmanager(notes):
    clear()
    plan(notes, "networkmanager")
    plugins = next((SERVERS / "network" / "usr" / "lib").glob("*-linux-gnu/NetworkManager"))
    # Its own file for D-Bus comes with much else.
    Path("/etc/dbus-1/system.d/nm.conf").write_text('<busconfig><policy user="root"><allow own="org.freedesktop.NetworkManager"/>'
                                                    '<allow send_destination="org.freedesktop.NetworkManager"/></policy></busconfig>')
    sh(f"mkdir -p /usr/lib/x86_64-linux-gnu/NetworkManager /run/dbus /var/lib/NetworkManager /etc/NetworkManager/conf.d && "
       f"mount --bind {plugins} /usr/lib/x86_64-linux-gnu/NetworkManager && dbus-daemon --system --fork --nopidfile")
    Path("/etc/NetworkManager/NetworkManager.conf").write_text("[main]\nplugins=keyfile\nno-auto-default=*\n[logging]\nlevel=INFO\n")
    command = f"exec {tool('usr/sbin/NetworkManager')} --debug > /run/nm.log 2>&1"
    planned(notes, "the plan for NetworkManager, carried out by NetworkManager", lambda: DAEMONS.append(subprocess.Popen(["sh", "-c", command])))
    if as_kernel_has_it() != PLANNED:
        print(Path("/run/nm.log").read_text()[-6000:], flush=True)


@contextlib.contextmanager
def flapping(port):
    """A port of the switch that comes and goes until the block ends."""
    ended = threading.Event()

    def flap():
        while not ended.is_set():
            sh(f"ip -n switch link set {port} down")
            time.sleep(0.4)
            sh(f"ip -n switch link set {port} up")
            time.sleep(0.4)

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def faults(notes):
    """One after the other, on the bonds that networkd has made of the plan."""
    sh("ip -n switch link set port0 down")
    until("eth0 is down", lambda: not is_up("bond0"))
    lost = [("red", "bond0", "one link is left"), ("note", "bond0", "eth0 has lost its link 1 times")]
    notes.look("a port of the switch is down", {"bonding.links": lost, "bonding.mode": FINE, "bonding.watch": FINE, "bonding.partner": FINE}, areas=AREAS)
    sh("ip -n switch link set port0 up")
    until("bond0 is up", lambda: is_up("bond0") and has_partner("bond0"))
    notes.look("the port is up again", HEALTHY | {"bonding.links": [("note", "bond0", "eth0 has lost its link 1 times")]}, areas=AREAS)
    flaps = {"bonding.links": [("red", "bond1", "eth3 loses its link again and again"), ("note", "bond0", "eth0 has lost its link 1 times")]}
    with flapping("port3"):
        time.sleep(0.5)
        report, _ = notes.doctor(AREAS, ["--no-server", "--interval", "4"])
        links = next(check for check in report["checks"] if check["rule"] == "bonding.links")
    until("bond1 is up", lambda: is_up("bond1"))
    # While it flaps it may be down when doctor looks, too: what matters is that the flapping is told.
    found = any(finding["weight"] == "red" and "eth3 loses its link again" in finding["what"] for finding in links["findings"])
    notes.add(scene="a port that comes and goes while doctor looks", expected=flaps, said={"bonding.links": {**links}}, facts={}, seconds=4,
              missed=[] if found else ["bonding.links does not tell that eth3 comes and goes"])
    known = {"bonding.links": [("note", "bond0", "eth0 has lost"), ("note", "bond1", "eth3 has lost")]}

    (NET / "bond1/bonding/miimon").write_text("0")
    notes.look("miimon 0", {"bonding.watch": [("red", "bond1", "does not notice when a link is lost")],
               "bonding.mode": [("yellow", "bond1", "miimon 0 instead of 100")]} | known, areas=AREAS)
    commands = notes.mend("bonding.watch", "bond1")
    notes.look("what is proposed for miimon 0", HEALTHY | known, areas=AREAS, facts={"commands": commands})

    sh("ip link set eth1 mtu 9000")
    notes.look("an interface with another MTU", {"bonding.mtu": [("yellow", "bond0", "eth1 has an MTU of 9000 bytes in a bond of 1500")]} | known, areas=AREAS)
    commands = notes.mend("bonding.mtu")
    notes.look("what is proposed for the MTU", HEALTHY | known, areas=AREAS, facts={"commands": commands})

    sh("ip link set eth3 nomaster")
    notes.look("a bond that has lost an interface", {"bonding.single": [("yellow", "bond1", "one interface only")],
               "bonding.links": [("note", "bond0", "eth0 has lost")]}, areas=AREAS)
    enslave("bond1", ["eth3"])

    # bond0's interfaces go to two groups of the switch.
    sh("ip -n switch link set port1 nomaster")
    lacp_group("lag1", [1])
    until("two groups", lambda: not has_partner("bond0"))
    time.sleep(5)
    notes.look("links of one bond in two LACP groups of the switch", {"bonding.partner": [("yellow", "bond0", "1 of 2 links carry nothing")],
               "bonding.links": [("note", "bond0", ""), ("note", "bond0", "")]}, areas=AREAS, facts={"proc": Path("/proc/net/bonding/bond0").read_text()})
    sh("ip -n switch link delete lag1; ip -n switch link set port1 down; ip -n switch link set port1 master lag0")


def other_modes(notes):
    """Bonds of other modes, made by networkd from files of a person's own."""
    clear()
    common = "[NetDev]\nName={}\nKind=bond\n\n[Bond]\nMode={}\nMIIMonitorSec=100ms\n"
    files = {"bond2": (common.format("bond2", "balance-rr") + "UpDelaySec=250ms\nDownDelaySec=50ms\n", ["eth4", "eth5"]),
             "bond3": (common.format("bond3", "balance-xor") + "TransmitHashPolicy=layer2\n", ["eth6", "eth7"])}
    for name, (text, slaves) in files.items():
        (NETWORKD / f"{name}.netdev").write_text(text)
        (NETWORKD / f"{name}.network").write_text(f"[Match]\nName={name}\n\n[Network]\nAddress={'192.0.2' if name == 'bond2' else '203.0.113'}.1/24\n")
        for slave in slaves:
            (NETWORKD / f"{name}-{slave}.network").write_text(f"[Match]\nName={slave}\n\n[Network]\nBond={name}\n")
    for name, ports in {"br2": [4, 5], "br3": [6, 7]}.items():
        sh(f"ip -n switch link add {name} type bond mode balance-xor miimon 100")  # ports that are one link, without LACP
        for port in ports:
            sh(f"ip -n switch link set port{port} down && ip -n switch link set port{port} master {name}")
        sh(f"ip -n switch link set {name} up")
    sh("ip -n switch addr add 203.0.113.2/24 dev br3")
    start_networkd()
    wanted = {"bond2": ("balance-rr", "eth4 eth5"), "bond3": ("balance-xor", "eth6 eth7")}
    until("bond2 and bond3", lambda: as_kernel_has_it(wanted) == wanted and is_up("bond2") and is_up("bond3"), 60)
    until("an address", lambda: "203.0.113.1" in sh("ip addr show dev bond3"))
    send("203.0.113.2", 1, GIBIBYTE * 11 // 10)
    odd = {"bonding.round_robin": [("note", "bond2", "balance-rr")],
           "bonding.delays": [("note", "bond2", "updelay is 200 ms, not 250"), ("yellow", "bond2", "downdelay is 0 ms, not 50")]}
    notes.look("updelay 250 and downdelay 50 with miimon 100; balance-rr; 1.1 GiB over balance-xor with layer2, to one peer",
               HEALTHY | odd | {"bonding.partner": SILENT, "bonding.hash": [("yellow", "bond3", "xmit_hash_policy: layer2")]}, areas=AREAS,
               facts=told(wanted) | {f"bond2's {option} as the kernel has it": (NET / "bond2/bonding" / option).read_text().strip()
                                     for option in ["updelay", "downdelay"]})
    commands = notes.mend("bonding.hash")
    before = sent(("eth6", "eth7"))
    send("203.0.113.2", 8, 2 * GIBIBYTE)
    after = sent(("eth6", "eth7"))
    growth = [later - earlier for earlier, later in zip(before, after, strict=True)]
    notes.look("what is proposed for the hash, and 2 GiB over eight connections; the file still says layer2",
               HEALTHY | odd | {"bonding.partner": SILENT, "bonding.mode": [("yellow", "bond3", "xmit_hash_policy layer3+4 instead of layer2")],
                                "bonding.hash": FINE}, areas=AREAS,
               facts={"commands": commands, "share of eth6 since then": f"{growth[0] / sum(growth):.0%}"})


def sent(names):
    return [int((NET / name / "statistics/tx_bytes").read_text()) for name in names]


def send(address, connections, total):
    """So many bytes to a receiver in the switch, over connections from ports in a row."""
    receiver = ("import socket,threading\ns=socket.create_server(('%s',5001))\nprint(1,flush=True)\nb=bytearray(1<<20)\n"
                "def take(c):\n while c.recv_into(b): pass\n c.close()\n"
                "ts=[threading.Thread(target=take,args=(s.accept()[0],)) for _ in range(%d)]\n[t.start() for t in ts]\n[t.join() for t in ts]")
    peer = subprocess.Popen(["ip", "netns", "exec", "switch", "python3", "-c", receiver % (address, connections)], stdout=subprocess.PIPE)
    try:
        peer.stdout.readline()
        part = bytes(1 << 20)
        links = [socket.create_connection((address, 5001), 30, ("203.0.113.1", 40_000 + 16 * connections + number)) for number in range(connections)]
        for number in range(total >> 20):
            links[number % connections].sendall(part)
        for link in links:
            link.close()
        peer.wait(60)
    finally:
        peer.kill()


def unlike_links(notes):
    """Two cards of QEMU's, of different speed, one of them half duplex."""
    clear()
    modprobe("virtio_net")
    until("two cards", lambda: len(cards()) == 2)
    slow, fast = cards()
    bond("bond4", [slow, fast], "mode balance-xor miimon 100")
    until("bond4 is up", lambda: is_up("bond4"))
    notes.look("cards of different speed, one of them half duplex",
               {"bonding.speed": [("yellow", "bond4", "half duplex"), ("yellow", "bond4", "what it puts on the slower link goes at 100 Mbit/s")], "bonding.links": FINE},
               areas=AREAS, facts={name: (NET / name / "speed").read_text().strip() for name in (slow, fast)})
    sh("ip link delete bond4")


def cards():
    """QEMU's, the slower one first."""
    names = [path.parent.parent.parent.name for path in NET.glob("*/device/driver/module") if path.resolve().name == "virtio_net"]
    return sorted(names)


def versions():
    """Of who carries out the plans."""
    return {"networkd": sh("networkctl --version").splitlines()[0], "NetworkManager": sh(f"{tool('usr/sbin/NetworkManager')} --version")}


def play(notes):
    notes.add(versions=versions())
    kernel_and_clock(notes)
    start_udev()
    lay_cables()
    options_of_module(notes)
    lacp_group("lag0", [0, 1])
    with_networkd(notes)
    faults(notes)
    with_netplan(notes)
    try:
        with_networkmanager(notes)
    except Failure as failure:
        notes.add(scene="the plan for NetworkManager, carried out by NetworkManager", could_not=str(failure))
    other_modes(notes)
    unlike_links(notes)
