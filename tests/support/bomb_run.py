"""Runs the inputs of bombs.py and bombs_files.py: each command must end in time, below the memory
limit, with a result or an error that says what is wrong.  In time is said of idle cores: neither
its processor time nor the time that it is without a processor may be over the limit."""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
import threading
import time

MEMORY = 1 << 30
MOST_TEXT = 20000  # bytes of messages


class Command:
    """A command line, what it reads, and what is asked of it."""

    def __init__(self, words, data=b"", seconds=6.0, place=None, codes=(0, 1, 2, 3, 4), talks=False):
        self.words = words
        self.data = data
        self.seconds = seconds
        self.place = place  # text that an error must have, such as "file:"
        self.codes = codes
        self.talks = talks  # its output is for a client and no message

    def run(self):
        begin = time.time()
        p = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        killer = threading.Timer(3 * self.seconds, p.kill)
        killer.start()
        writer = threading.Thread(target=self.feed, args=(p.stdin,))
        writer.start()
        out = p.stdout.read()
        killer.cancel()
        writer.join()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        self.took = time.time() - begin
        self.processor = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        self.out = out.decode(errors="replace")
        return p.returncode

    def feed(self, pipe):
        try:
            pipe.write(self.data)
            pipe.close()
        except BrokenPipeError:
            pass

    def faults(self, code):
        if max(self.processor, self.took - self.processor) > self.seconds:
            yield "too long"
        if self.memory > MEMORY:
            yield "too much memory"
        if code not in self.codes:
            yield f"ended with {code}"
        if code and not self.talks and (self.place or "") not in self.out:
            yield "no place"
        if code and not self.talks and not self.out.strip():
            yield "no reason"
        if not self.talks and len(self.out) > MOST_TEXT:
            yield f"{len(self.out)} bytes of messages"


def main(bombs, commands):
    """`SCRIPT TILEC [NAME..]`; commands(tilec, folder, name) makes the input and the commands, which
    run one after the other.  As many inputs at once as there are cores."""
    names = [name for name in bombs if not sys.argv[2:] or name in sys.argv[2:]]
    failed = worst = most = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(name):
            return [(command, command.run()) for command in commands(sys.argv[1], folder, name)]

        for name, ran in zip(names, pool.map(run, names)):
            for command, code in ran:
                faults = list(command.faults(code))
                failed += bool(faults)
                worst, most = max(worst, command.took), max(most, command.memory)
                first = "" if command.talks else command.out.split("\n")[0][-100:]
                print(f"{'FAIL' if faults else 'ok  '} {name:20} {command.took:5.1f} s "
                      f"{command.memory >> 20:5} MiB  {code} {', '.join(faults)} {first}", flush=True)
    print(f"{len(names)} bombs, {failed} failed; longest {worst:.1f} s, most {most >> 20} MiB")
    sys.exit(failed != 0)
