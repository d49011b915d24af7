"""What a session has measured: a tree of names, and the file that it is written to."""
import json
import numbers
import operator

# Python's numbers and text as Proton's errors call them
_KINDS = {int: "uint64_t", float: "double", str: "std::string"}


def _plain(name, value):
    """An int, a float or a str; numpy's scalars are such numbers too."""
    if isinstance(value, numbers.Integral):
        return operator.index(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, str):
        return value
    raise TypeError("metric '%s' is a %s: tilec's profiler takes int, float and str"
                    % (name, type(value).__name__))


class Node:
    """A name under its callers: metrics given by the program, times of what ran."""
    __slots__ = ("name", "children", "metrics", "exclusive", "nanoseconds", "count", "device")

    def __init__(self, name):
        self.name, self.children = name, {}
        self.metrics, self.exclusive = {}, set()
        self.nanoseconds, self.count, self.device = 0, 0, None

    def child(self, name):
        found = self.children.get(name)
        if found is None:
            found = self.children.setdefault(name, Node(name))
        return found

    def add(self, metrics):
        """Numbers are summed; a name ending in "(pty)" is replaced, one in "(exc)" is the node's
        own, no part of its callers'."""
        for name, value in metrics.items():
            value = _plain(name, value)
            is_kept = name.endswith("(pty)") or isinstance(value, str)
            short = name.replace("(exc)", "").replace("(pty)", "").strip()
            if is_kept or name.endswith("(exc)"):
                self.exclusive.add(short)
            before = self.metrics.get(short, value)
            if type(before) is not type(value):
                raise RuntimeError("Metric value type mismatch for valueId 0 (%s): current=%s, "
                                   "new=%s" % (short, _KINDS[type(before)], _KINDS[type(value)]))
            is_first = short not in self.metrics
            self.metrics[short] = value if is_first or is_kept else before + value

    def ran(self, ms, device):
        self.nanoseconds += round(ms * 1e6)
        self.count += 1
        self.device = device

    def walk(self):
        yield self
        for child in list(self.children.values()):
            yield from child.walk()

    def as_frame(self):
        metrics = dict(self.metrics)
        if self.device is not None:
            metrics.update({"time (ns)": self.nanoseconds, "count": self.count,
                            "device_id": str(self.device[1]), "device_type": self.device[0]})
        return {"frame": {"name": self.name, "type": "function"}, "metrics": metrics,
                "children": [c.as_frame() for c in self.children.values()]}


def write(root, path, describe):
    """Proton's file: the tree, its root naming what callers inherit, then the devices;
    describe((type, number)) → what the viewer has to know of one."""
    frame, inherited, devices = root.as_frame(), set(), {}
    for node in root.walk():
        inherited.update(n for n in node.metrics if n not in node.exclusive)
        if node.device is not None:
            inherited.update(("time (ns)", "count"))
            kind, number = node.device
            devices.setdefault(kind, {})[str(number)] = describe(node.device)
    for name in sorted(inherited):
        frame["metrics"].setdefault(name, 0)
    with open(path, "w", encoding="utf-8") as f:
        json.dump([frame, devices], f, indent=4)
        f.write("\n")
