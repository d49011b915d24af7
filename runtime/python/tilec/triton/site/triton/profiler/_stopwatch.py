"""Times of a device's work by events, read in batches: a launch is never waited for.

Events in use are kept in a queue.  When it is full its older half is read: the GPU works on the
younger half meanwhile."""
import collections
import sys
import threading
import warnings

import tilec

MOST_PENDING = 1024            # as many launches as a GPU is given ahead


def is_capturing():
    """Is a CUDA graph being recorded?  What goes into it runs later."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return hasattr(cuda, "is_current_stream_capturing") and cuda.is_initialized() \
        and cuda.is_current_stream_capturing()


def say_untimed():
    warnings.warn("the profiler does not time what is recorded into a CUDA graph",
                  stacklevel=tilec.users_level())


class Stopwatch:
    """Of one runtime."""

    def __init__(self, rt):
        self.rt, self.free, self.pending = rt, [], collections.deque()
        self.lock = threading.Lock()
        self.device = ("CUDA", rt.device) if rt.on == "cuda" else ("CPU", 0)

    def event(self, stream):
        try:
            made = self.free.pop()
        except IndexError:
            made = tilec.Event(self.rt)
        made.record(stream)
        return made

    def stop(self, first, stream, nodes):
        """The time since `first` was recorded goes to the nodes, in time."""
        self.pending.append((first, self.event(stream), nodes))
        if len(self.pending) >= MOST_PENDING:
            self.read(MOST_PENDING // 2)

    def read(self, count=None):
        """Reads the oldest; None: all."""
        with self.lock:
            count = len(self.pending) if count is None else min(count, len(self.pending))
            if count:
                self.pending[count - 1][1].sync()
            for _ in range(count):
                first, last, nodes = self.pending.popleft()
                last.sync()                     # another stream's may be behind
                ms = last.since(first)
                for node in nodes:
                    node.ran(ms, self.device)
                self.free += (first, last)


_watches = {}


def of(rt):
    found = _watches.get(id(rt))
    if found is None or found.rt is not rt:
        found = _watches[id(rt)] = Stopwatch(rt)
    return found


def read_all():
    for watch in list(_watches.values()):
        watch.read()
