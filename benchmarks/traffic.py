"""Live inserts on a source and the lag of its replica, measured beside whatever else is done to them.

Each session is the plain `mariadb` client over pipes, one statement at a time; an answer costs it some 0.1 ms. All of it is on one
host and so on one clock. Python's standard library only.
"""

import itertools
import os
import subprocess
import threading
import time

from harness import BenchError, client

SCHEMA = "bench"
INSERTS_PER_SECOND = 50
BEAT_SECONDS = 0.1
LOOK_SECONDS = 0.07  # no divisor of the beat's, so that looks do not fall on the same moment of each beat
TABLES = [
    f"CREATE TABLE {SCHEMA}.live (id BIGINT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, amount DECIMAL(12,2) NOT NULL, note VARCHAR(100) NOT NULL)",
    f"CREATE TABLE {SCHEMA}.heartbeat (id INT PRIMARY KEY, number INT NOT NULL)",
]


class Session:
    """A session that stays open. Only one thread may use it."""

    def __init__(self, socket):
        self.process = subprocess.Popen([*client(socket), "-N", "-B", "--unbuffered"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def ask(self, statements):
        """Runs statements that give one row of one column, and returns it."""
        try:
            self.process.stdin.write(statements + ";\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise BenchError(f"{statements}: {self.process.stderr.read().strip() or 'the client ended'}")
        return answer.strip()

    def close(self):
        self.process.communicate()


class Traffic:
    """Runs from `with` to its end. Times are of the monotonic clock, in seconds.

    An insert's latency counts from when it was to begin (an open loop): inserts that had to wait for a slow one are as late as they are.

    The lag is how long ago the newest heartbeat that the replica shows was committed on the source. Since one comes every 100 ms, it is
    between 0 and 100 ms more than what the replica is behind by, never less. On both servers the heartbeat must be at 0 before.
    """

    def __init__(self, source, replica):
        self.sockets = source.socket, replica.socket
        self.inserts = []  # when it was to begin, how long it took from there
        self.lags = []  # when the replica was looked at, its lag
        self.committed = [time.monotonic()]  # of each heartbeat
        self.failure = None
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.guarded, args=(work,), daemon=True) for work in [self.insert, self.beat, self.look]]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def check(self):
        """Raises what has ended one of the threads."""
        if self.failure:
            raise self.failure

    def guarded(self, work):
        try:
            # Clients would have a machine of their own: here they, and the processes that they start, never wait for a processor.
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            work()
        except Exception as error:
            self.failure = error

    def ticks(self, seconds):
        """The moments at which something is to be done, each when it has come; late ones at once."""
        begun = time.monotonic()
        for number in itertools.count():
            at = begun + number * seconds
            if self.ended.wait(max(at - time.monotonic(), 0)):
                return
            yield at

    def insert(self):
        session = Session(self.sockets[0])
        for number, at in enumerate(self.ticks(1 / INSERTS_PER_SECOND)):
            session.ask(f"INSERT INTO {SCHEMA}.live (customer, amount, note) VALUES ({number % 10007}, {number % 500}.25, "
                        f"'order {number}: leave it with the neighbours, please'); SELECT 1")
            self.inserts.append((at, time.monotonic() - at))
        session.close()

    def beat(self):
        session = Session(self.sockets[0])
        for number, _ in enumerate(self.ticks(BEAT_SECONDS), 1):
            session.ask(f"UPDATE {SCHEMA}.heartbeat SET number = {number}; SELECT 1")
            self.committed.append(time.monotonic())
        session.close()

    def look(self):
        session = Session(self.sockets[1])
        for _ in self.ticks(LOOK_SECONDS):
            number = int(session.ask(f"SELECT number FROM {SCHEMA}.heartbeat"))
            now = time.monotonic()
            # The replica can show one before the source has answered.
            committed = self.committed[number] if number < len(self.committed) else now
            self.lags.append((now, now - committed))
        session.close()

    # --- what was seen from one moment to another

    def latencies(self, windows):
        """Of the inserts that were to begin within these."""
        return [took for at, took in self.inserts if any(start <= at <= end for start, end in windows)]

    def lags_by_second(self, start, end):
        """The greatest lag seen in each second from the start; None where the replica gave no answer."""
        seconds = [None] * (int(end - start) + 1)
        for at, lag in self.lags:
            if start <= at <= end:
                second = int(at - start)
                seconds[second] = max(lag, seconds[second] or 0)
        return seconds
