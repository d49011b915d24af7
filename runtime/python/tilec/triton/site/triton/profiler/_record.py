"""Sessions: what is entered, left and launched while one is active is added to its tree."""
import itertools
import threading

import tilec

from .. import knobs
from ..runtime import launch
from ..runtime.driver import driver
from . import _stopwatch, _tree
from .hooks.launch import COMPUTE_METADATA_SCOPE_NAME, LaunchHook

STREAM_TIME = "<stream time>"        # of a scope in which tilec launched nothing


class _PerThread(threading.local):
    """Of a thread: its state, the launch that it is making, the scopes entered by name."""
    state, launching, named = None, (), ()


class _Stack(threading.local):
    """The scopes that a thread has entered, in one session."""

    def __init__(self, root):
        self.nodes = [root]


thread = _PerThread()
ids = itertools.count()


class Session:
    def __init__(self, number, path, uses_hook):
        self.number, self.path, self.uses_hook = number, path, uses_hook
        self.root = _tree.Node("ROOT")
        self.stack = _Stack(self.root)
        self.is_active = True

    def here(self):
        """Where the thread is."""
        top = self.stack.nodes[-1]
        return top if thread.state is None else top.child(thread.state)


sessions = {}
_numbers = itertools.count()


def start(path, uses_hook):
    for session in sessions.values():
        if session.path == path:
            activate(session.number)
            return session.number
    number = next(_numbers)
    sessions[number] = Session(number, path, uses_hook)
    _listen()
    return number


def _chosen(number):
    if number is None:
        return list(sessions.values())
    if number not in sessions:
        raise RuntimeError("Session has not been initialized: %s" % number)
    return [sessions[number]]


def activate(number):
    for session in _chosen(number):
        session.is_active = True
    _listen()


def deactivate(number):
    for session in _chosen(number):
        session.is_active = False
    _listen()


def finalize(number):
    _stopwatch.read_all()
    for session in _chosen(number):
        del sessions[session.number]
        _tree.write(session.root, session.path, _describe)
    _listen()


def _active():
    return [s for s in sessions.values() if s.is_active]


def _listen():
    """Launches are listened to only while a session is active: otherwise they cost nothing."""
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if _active():
        enter.add(_before_launch)
        leave.add(_after_launch)
        launch.timed = _timed
    else:
        enter.remove(_before_launch)
        leave.remove(_after_launch)
        launch.timed = None


# ---- launches ------------------------------------------------------------------------------------

def _before_launch(metadata):
    active = _active()
    said, metrics = metadata.data, {}
    if any(s.uses_hook for s in active):
        before, thread.state = thread.state, COMPUTE_METADATA_SCOPE_NAME
        try:
            said = metadata.get()
        finally:
            thread.state = before
        metrics = {n: said[n] for n in LaunchHook.metrics if n in said}
    kernel = getattr(metadata.data["function"], "name", said["name"])
    nodes = []
    for session in active:
        node = session.here().child(said["name"] if session.uses_hook else kernel)
        if session.uses_hook:
            node.add(metrics)
        nodes.append(node)
    thread.launching = nodes


def _after_launch(metadata):
    thread.launching = ()


def _timed(rt, stream, go):
    """Makes a launch with an event before and after it."""
    nodes = thread.launching
    _mark_launched()
    if not nodes or rt.on == "cuda" and _stopwatch.is_capturing():
        if nodes:
            _stopwatch.say_untimed()
        return go()
    watch = _stopwatch.of(rt)
    first = watch.event(stream)
    go()
    watch.stop(first, stream, nodes)


# ---- scopes --------------------------------------------------------------------------------------

class Entered:
    """A scope that a thread is in, and what has to be undone."""

    def __init__(self, name, metrics):
        self.id, self.name = next(ids), name
        self.state = thread.state
        self.places = [(s.stack, s.stack.nodes[-1].child(name)) for s in _active()]
        self.add(metrics)                      # what is wrong with them leaves nothing entered
        for stack, node in self.places:
            stack.nodes.append(node)
        self.has_launched, self.outer = False, thread.named[-1] if thread.named else None
        thread.named = (*thread.named, self)
        self.watch = self.first = None
        if self.places and driver.on_gpu and not _stopwatch.is_capturing():
            self.stream = driver.active.get_current_stream()
            rt = tilec.Runtime.get("cuda", driver.active.get_current_device())
            self.watch = _stopwatch.of(rt)
            self.first = self.watch.event(self.stream)

    def add(self, metrics):
        """In a state, to the state's node."""
        for _, node in self.places if metrics else ():
            (node if self.state is None else node.child(self.state)).add(metrics)

    def leave(self):
        thread.named = tuple(e for e in thread.named if e is not self)
        if self.outer is not None:
            self.outer.has_launched = True     # what it holds is timed by its parts
        for stack, node in self.places:
            if node in stack.nodes[1:]:
                while stack.nodes.pop() is not node:
                    pass
        if self.first is None:
            return
        if self.has_launched or _stopwatch.is_capturing():
            self.watch.free.append(self.first)
        else:
            self.watch.stop(self.first, self.stream,
                            [node.child(STREAM_TIME) for _, node in self.places])
        self.first = None


def _mark_launched():
    for entered in thread.named:
        entered.has_launched = True


def depth(number):
    """Scopes that the thread is in."""
    return len(_chosen(number)[0].stack.nodes) - 1


# ---- devices -------------------------------------------------------------------------------------

def _describe(device):
    kind, number = device
    p = driver.active.utils.get_device_properties(number)
    arch = "host"
    if kind == "CUDA":
        major, minor = driver.active.get_device_capability(number)
        arch = str(major * 10 + minor)
    return {"arch": arch, "bus_width": p["mem_bus_width"], "clock_rate": p["sm_clock_rate"],
            "memory_clock_rate": p["mem_clock_rate"], "num_sms": p["multiprocessor_count"]}
