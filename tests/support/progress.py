"""How far a long check is, on stderr: on a terminal one line that changes every second, elsewhere a
line every half minute, so that a log shows that it goes on.  A thread of its own writes, since one
step may take minutes."""
import sys
import threading
import time

LIVE_S, LOG_S = 1, 30


class Progress:
    """with Progress(total, "cases") as p: for ..: p.step(failed=bool)"""

    def __init__(self, total, what, out=None, every_s=None):
        self.total, self.what, self.done, self.failed = total, what, 0, 0
        self.out = out or sys.stderr
        self.is_live = self.out.isatty()
        self.every_s = every_s or (LIVE_S if self.is_live else LOG_S)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._show, daemon=True)

    def step(self, failed=False):
        self.done += 1
        self.failed += bool(failed)

    def _show(self):
        while not self.ended.wait(self.every_s):
            text = "%d of %d %s, %d failed, %.0f s" % (self.done, self.total, self.what, self.failed,
                                                       time.monotonic() - self.begun)
            self.out.write("\r%s\033[K" % text if self.is_live else text + "\n")
            self.out.flush()

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        if self.is_live:
            self.out.write("\r\033[K")
            self.out.flush()
