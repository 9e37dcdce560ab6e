"""Virtual machines that run this machine's own programs on another kernel: QEMU without hardware support, Debian's kernel, and the root
of this machine, read-only, under an overlay in the guest's memory.

A guest has no image of its own: an archive of busybox, a few modules and `init` is made for it, which mounts the shares and runs a command in
them. Paths are those of this machine, so what is built here runs there as it is. Whatever the guest writes is gone when it ends, but for
what it writes to its share. It is slow (each instruction is emulated), so nothing may be timed in it.
"""

import os
import shutil
import subprocess
from pathlib import Path

from harness import ROOT, BenchError

KERNEL = ROOT / ".servers" / "kernel"
QEMU = "qemu-system-x86_64"
SHARE = "/share"  # where the guest has it
# What the guest cannot mount its root without. All others it loads from that root.
MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
PACKET = 512_000  # bytes of a packet between guest and host
INIT = """#!/bin/busybox sh
export PATH=/bin
busybox mount -t proc proc /proc
busybox --install -s /bin
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
for module in {modules}; do insmod /modules/$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize={packet},cache=loose,ro root /lower
mount -t tmpfs -o size=50%,mode=755 over /over
mkdir /over/upper /over/work
mount -t overlay -o lowerdir=/lower,upperdir=/over/upper,workdir=/over/work overlay /new
mkdir -p /new{share} /new/dev
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t cgroup2 cgroup /new/sys/fs/cgroup
mount -t devpts pts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t tmpfs run /new/run
mount -t 9p -o trans=virtio,version=9p2000.L,msize={packet},cache=none share /new{share}
chroot /new {share}/begin </dev/null >/new{share}/log 2>&1
echo $? >/new{share}/code
umount /new{share}
echo o >/proc/sysrq-trigger
sleep 60
"""
BEGIN = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd {directory}
exec {command}
"""


def release():
    """The release of the kernel that is there."""
    try:
        return next(iter(sorted((KERNEL / "lib" / "modules").iterdir()))).name
    except (OSError, StopIteration) as error:
        raise BenchError("there is no kernel for a virtual machine", "scripts/setup bench") from error


def with_needed(modules):
    """Paths below the modules' directory, in the order in which they can be loaded."""
    needs = {}
    for line in (KERNEL / "lib" / "modules" / release() / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[Path(path).stem.replace("-", "_")] = [path, *others.split()]
    ordered = [path for module in modules for path in reversed(needs[module.replace("-", "_")])]
    return list(dict.fromkeys(ordered))


def archive(entries):
    """A cpio archive of the format `newc` (the kernel's initramfs buffer format) of (name, mode, content, major and minor)."""
    out = bytearray()
    for number, (name, mode, content, device) in enumerate([*entries, ("TRAILER!!!", 0, b"", (0, 0))], 1):
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return bytes(out)


def initramfs():
    """The archive that the guest starts from."""
    modules = with_needed(MODULES)
    init = INIT.format(modules=" ".join(Path(path).name for path in modules), packet=PACKET, share=SHARE)
    folder = KERNEL / "lib" / "modules" / release()
    entries = [(name, 0o040755, b"", (0, 0)) for name in ["bin", "dev", "lower", "modules", "new", "over", "proc"]]
    entries += [("dev/console", 0o020600, b"", (5, 1)), ("init", 0o100755, init.encode(), (0, 0)),
                ("bin/busybox", 0o100755, (KERNEL / "bin" / "busybox").read_bytes(), (0, 0))]
    return archive(entries + [(f"modules/{Path(path).name}", 0o100644, (folder / path).read_bytes(), (0, 0)) for path in modules])


def run(command, scratch, *, megabytes, seconds, kernel_line="", devices=()):
    """Runs a command line in a guest, until it powers itself off, and returns its exit code and what it printed.

    `scratch` is an empty directory, which the guest has as its share. A guest that takes longer than `seconds` is killed.
    """
    (scratch / "begin").write_text(BEGIN.format(directory=ROOT, command=command))
    (scratch / "begin").chmod(0o755)
    start = scratch.with_suffix(".initramfs")
    start.write_bytes(initramfs())
    console = scratch.with_suffix(".console")
    virtfs = "local,security_model=none,multidevs=remap"
    argv = [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(megabytes), "-nodefaults", "-no-user-config", "-nographic",
            "-no-reboot", "-serial", f"file:{console}", "-kernel", str(KERNEL / "boot" / f"vmlinuz-{release()}"), "-initrd", str(start),
            "-append", f"console=ttyS0 quiet panic=-1 net.ifnames=0 tsc=reliable {kernel_line}",
            "-virtfs", f"{virtfs},path=/,mount_tag=root,readonly=on", "-virtfs", f"{virtfs},path={scratch},mount_tag=share", *devices]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds)
    except OSError as error:
        raise BenchError(f"{QEMU}: {error.strerror}", "scripts/setup bench") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"the guest was not done after {seconds} s: {tail(scratch / 'log')}") from error
    finally:
        start.unlink()
    code = scratch / "code"
    if not code.exists():
        raise BenchError(f"the guest ended by itself: {done.stderr.strip()} {tail(console)} {tail(scratch / 'log')}")
    return int(code.read_text()), (scratch / "log").read_text(errors="replace")


def tail(path):
    """The end of a file, for a message."""
    return path.read_text(errors="replace")[-2000:] if path.exists() else ""


def missing():
    """What a guest needs and is not here."""
    return [name for name, is_here in [(QEMU, shutil.which(QEMU)), ("a kernel", (KERNEL / ".complete").exists())] if not is_here]
