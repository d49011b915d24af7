"""Shows what a session has written.

    tree, metrics = parse(["tflop16/s", "time/ms"], "matmul.hatchet")
    print_tree(tree, metrics)

Proton's viewer stands on the packages hatchet and pandas; this one on nothing.  A file read is a
Tree: its nodes have .name, .metrics and .children.  For tables, hatchet reads the file too.
"""
import argparse
import json
import math
import re
import sys

from . import specs
from .hooks.launch import COMPUTE_METADATA_SCOPE_NAME, LaunchHook

_NAN = float("nan")


class Node:
    def __init__(self, name, metrics, children):
        self.name, self.metrics, self.children = name, metrics, children

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def value(self, metric):
        return self.metrics.get(metric, _NAN)


_HATCHETS = ("dataframe", "filter", "graph", "query", "show_metric_columns", "squash", "sub",
             "to_literal", "tree", "update_inclusive_columns")


class Tree:
    """A file, read."""

    def __init__(self, root, inclusive, exclusive, devices):
        self.root, self.inclusive, self.exclusive = root, inclusive, exclusive
        self.devices = devices

    def __getattr__(self, name):
        if name in _HATCHETS:
            raise NotImplementedError(
                "GraphFrame.%s: tilec's viewer has no hatchet.GraphFrame; its trees have .root, "
                "and hatchet.GraphFrame.from_literal() makes one of the file's first entry" % name)
        raise AttributeError("'Tree' object has no attribute '%s'" % name)

    def nodes(self):
        return list(self.root.walk())


# ---- reading -------------------------------------------------------------------------------------

def remove_frames(database):
    """Without what computing a launch's metadata has done, and without empty names."""
    kept = []
    for frame in database:
        frame = _without_empty(frame)
        if frame is not None:
            kept.append(frame)
    return kept


def _without_empty(frame):
    if "frame" not in frame:                     # the devices
        return frame
    children = frame.get("children", [])
    if frame["frame"]["name"] == COMPUTE_METADATA_SCOPE_NAME or not (frame["metrics"] or children):
        return None
    kept = [c for c in map(_without_empty, children) if c is not None]
    return None if children and not kept else {**frame, "children": kept}


def _node(frame):
    return Node(frame["frame"]["name"], dict(frame["metrics"]),
                [_node(c) for c in frame.get("children", [])])


def _sum_up(node, inclusive):
    """Adds "METRIC (inc)": of the node and of all below it."""
    for child in node.children:
        _sum_up(child, inclusive)
    for metric in inclusive:
        node.metrics[metric + " (inc)"] = node.metrics.get(metric, 0) + sum(
            c.metrics[metric + " (inc)"] for c in node.children)


def read(filename):
    """(tree, metrics that callers inherit, the others, devices)"""
    with open(filename, encoding="utf-8") as f:
        database = remove_frames(json.load(f))
    frames = [d for d in database if "frame" in d]
    devices = next((d for d in database if "frame" not in d), {})
    if not frames:
        raise RuntimeError("%s: nothing was measured" % filename)
    root = _node(frames[0])
    inclusive = sorted(root.metrics)
    named = {m for node in root.walk() for m in node.metrics}
    if not named:
        raise RuntimeError("%s: No metrics found in the input file" % filename)
    _sum_up(root, inclusive)
    exclusive = sorted(named - set(inclusive))
    return Tree(root, inclusive, exclusive, devices), inclusive, exclusive, devices


# ---- metrics -------------------------------------------------------------------------------------

_SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SCALES = {"": 1, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"([gt]?)(flop|byte)(8|16|32|64)?/s")
_TIME = re.compile(r"(avg_)?(cpu_)?time/(s|ms|us|ns)")


def _bare(metric):
    return metric.split("(")[0].strip().lower()


def match_available_metrics(metrics, inclusive_metrics, exclusive_metrics):
    """The columns that metrics name, units left out."""
    found = []
    for metric in metrics if isinstance(metrics, list) else [metrics]:
        for raw in inclusive_metrics + exclusive_metrics:
            if metric.lower() in (raw, _bare(raw)):
                found.append(raw + (" (inc)" if raw in inclusive_metrics else ""))
                break
    if not found:
        raise RuntimeError("Metric %s is not found. Use the --list flag to list available metrics"
                           % metrics)
    return found


def _divided(a, b):
    return a / b if b else _NAN


class _Deriver:
    """Computes the metrics that were asked for, at every node."""

    def __init__(self, tree):
        self.tree = tree

    def column(self, metric):
        return match_available_metrics(metric, self.tree.inclusive, self.tree.exclusive)[0]

    def seconds(self, metric):
        column = self.column(metric)
        unit = _SECONDS[column.split("(")[1].split(")")[0]]
        return lambda node: node.value(column) * unit

    def put(self, name, at):
        for node in self.tree.nodes():
            node.metrics[name] = at(node)
        return name

    def derive(self, metric):
        rate, time = _RATE.fullmatch(metric), _TIME.fullmatch(metric)
        if metric == "util":
            return self.put("util", self.utilisation())
        if rate and not (rate[2] == "byte" and rate[3]):
            return self.rate(metric, *rate.groups())
        if time:
            return self.time(metric, *time.groups())
        name, _, unit = metric.partition("/")
        if not unit:
            return self.column(name)
        if unit != "%":
            raise ValueError("Unsupported unit %s" % unit)
        return self.share(metric, self.column(name))

    def rate(self, metric, scale, what, width):
        column, seconds = self.column(what + "s" + (width or "")), self.seconds("time")
        return self.put(metric + " (inc)", lambda node: _divided(
            node.value(column), seconds(node) * _SCALES[scale]))

    def time(self, metric, is_mean, is_cpu, unit):
        seconds = self.seconds("cpu_time" if is_cpu else "time")
        return self.put(metric + " (inc)", lambda node: _divided(
            seconds(node) / _SECONDS[unit], node.value("count (inc)") if is_mean else 1))

    def share(self, metric, column):
        if column.endswith("(inc)"):
            total = self.tree.root.value(column)
            name = metric + " (inc)"
        else:
            total, name = sum(n.metrics.get(column, 0) for n in self.tree.nodes()), metric
        return self.put(name, lambda node: _divided(node.value(column), total) * 100)

    def utilisation(self):
        """The least time that a node's operations and bytes take, over its own."""
        column = self.column("time")
        column = column[:-len(" (inc)")] if column.endswith(" (inc)") else column

        def of(node):
            kind, number = node.metrics.get("device_type"), node.metrics.get("device_id")
            if number is None or column not in node.metrics:
                return _NAN
            device = self.tree.devices[kind][number]
            least = max(self.flops_seconds(node, kind, device),
                        self.bytes_seconds(node, kind, device))
            return _divided(least, node.metrics[column] * 1e-9)
        return of

    @staticmethod
    def flops_seconds(node, kind, device):
        return sum(node.metrics[name] / specs.max_flops(kind, device["arch"], width,
                                                        device["num_sms"], device["clock_rate"])
                   for width in LaunchHook.flops_width
                   for name in ["flops%d" % width] if node.metrics.get(name))

    @staticmethod
    def bytes_seconds(node, kind, device):
        if not node.metrics.get("bytes"):
            return 0
        most = specs.max_bps(kind, device["arch"], device["bus_width"],
                             device["memory_clock_rate"])
        if not most:
            raise NotImplementedError("util: the file does not say how wide the GPU's memory is")
        return node.metrics["bytes"] / most


# ---- choosing nodes ------------------------------------------------------------------------------

def _kept(node, wanted):
    """The node with those below it that are wanted, or lead to one that is; None: neither."""
    children = [c for c in (_kept(c, wanted) for c in node.children) if c is not None]
    return Node(node.name, node.metrics, children) if children or wanted(node) else None


def _through(node, pattern):
    """What lies on a path through a name that matches."""
    if re.match(pattern, node.name):
        return node
    children = [c for c in (_through(c, pattern) for c in node.children) if c is not None]
    return Node(node.name, node.metrics, children) if children else None


def _without(node, pattern):
    if re.match(pattern, node.name):
        return None
    children = [c for c in (_without(c, pattern) for c in node.children) if c is not None]
    return Node(node.name, node.metrics, children)


def filter_frames(tree, include=None, exclude=None, threshold=None, metric=None):
    root = tree.root
    if include:
        root = _through(root, include)
    if exclude and root is not None:
        root = _without(root, exclude)
    if threshold and root is not None:
        root = _kept(root, lambda node: node.value(metric) >= threshold)
    if root is None:
        raise RuntimeError("no frame is left")
    return Tree(root, tree.inclusive, tree.exclusive, tree.devices)


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """(tree, the names under which its nodes have the metrics)"""
    tree = read(filename)[0]
    deriver = _Deriver(tree)
    derived = [deriver.derive(metric) for metric in metrics]
    return filter_frames(tree, include, exclude, threshold, derived[0]), derived


# ---- showing -------------------------------------------------------------------------------------

_FORMS = {None: lambda name: name, "full": lambda name: name,
          "file_function_line": lambda name: name.split("/")[-1],
          "function_line": lambda name: name.split(":")[-1],
          "file_function": lambda name: "%s@%s" % (
              name.split("/")[-1].split(":")[0], name.split("@")[-1].split(":")[0])}


def _shown(value):
    return "%.3f" % value if isinstance(value, (int, float)) else str(value)


_LINES, _PLAIN_LINES = ("├─ ", "└─ ", "│  "), ("|- ", "`- ", "|  ")


def _drawn():
    """The lines that the standard output can show."""
    try:
        "".join(_LINES).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return _PLAIN_LINES
    return _LINES


def _lines(node, metrics, form, depth, drawn, lead="", mark=""):
    values = " ".join(_shown(node.value(m)) for m in metrics)
    yield "%s%s%s %s" % (lead, mark, values, form(node.name))
    if depth <= 0:
        return
    more, last, along = drawn
    below = lead + {"": "", more: along, last: "   "}[mark]
    for child in node.children:
        yield from _lines(child, metrics, form, depth - 1, drawn, below,
                          last if child is node.children[-1] else more)


def print_tree(tree, metrics, depth=100, format=None, print_sorted=False):
    """A line for each node: its metrics, in their order, and its name."""
    metrics = metrics if isinstance(metrics, (list, tuple)) else [metrics]
    print("\n".join(_lines(tree.root, metrics, _FORMS[format], depth, _drawn())))
    print()
    if print_sorted:
        print("Sorted kernels by metric " + metrics[0])
        nodes = [n for n in tree.nodes() if not math.isnan(n.value(metrics[0]))]
        for node in sorted(nodes, key=lambda n: -n.value(metrics[0]))[1:]:
            name = node.name if len(node.name) <= 100 else node.name[:100] + "..."
            print("%-105s %.4g" % (name, node.value(metrics[0])))
    if "bytes (inc)" in metrics and min(n.value("bytes (inc)") for n in tree.nodes()) < 0:
        print("Warning: Negative byte values detected, this is usually the result of a datatype "
              "overflow\n")


def show_metrics(filename):
    _, inclusive, exclusive, _ = read(filename)
    for kind, names in (("inclusive", inclusive), ("exclusive", exclusive)):
        print("Available %s metrics:" % kind)
        for name in names:
            print("- " + _bare(name))


def _parser():
    p = argparse.ArgumentParser(prog="proton-viewer", description="Shows a profile.")
    p.add_argument("-l", "--list", action="store_true", help="the metrics of the file")
    p.add_argument("-m", "--metrics", help="time/s ms us ns, avg_time/.., cpu_time/.., "
                   "[g|t]flop[8|16|32|64]/s, [g|t]byte/s, util, METRIC/%%, or a metric of the "
                   "file; several by commas")
    p.add_argument("-i", "--include", help="paths through names that match")
    p.add_argument("-e", "--exclude", help="names that match, and what is below, left out")
    p.add_argument("-t", "--threshold", type=float, help="the least of the first metric")
    p.add_argument("-d", "--depth", type=int, default=100)
    p.add_argument("-f", "--format", default="full", choices=[f for f in _FORMS if f])
    p.add_argument("--print-sorted", action="store_true")
    p.add_argument("-diff", "--diff-profile", help=argparse.SUPPRESS)
    p.add_argument("file")
    return p


def main():
    parser = _parser()
    args = parser.parse_args()
    if args.include and args.exclude:
        parser.error("include or exclude, not both")
    if args.diff_profile:
        parser.error("tilec's viewer does not compare two files (--diff-profile)")
    if args.list:
        show_metrics(args.file)
    elif args.metrics:
        tree, metrics = parse(args.metrics.split(","), args.file, args.include, args.exclude,
                              args.threshold)
        print_tree(tree, metrics, args.depth, args.format, args.print_sorted)
    else:
        parser.error("-m METRIC, or -l for their names")


if __name__ == "__main__":
    sys.exit(main())
