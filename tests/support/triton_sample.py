"""A pytest plugin: cases of Triton's own unit tests, run through tilec.triton.

    PYTHONPATH=runtime/python:tests/support python -m tilec.triton -m pytest -p triton_sample \\
        --import-mode=importlib --cases 12 --seed 1 --outcomes out.jsonl --device cpu DIR/language

DIR is python/test/unit of Triton 3.6 (with its conftest.py one folder up).  --device cpu is the CPU
executor, cuda a GPU.  Of each test function --cases cases are taken, chosen by --seed; each may take
--case-seconds.  Outcomes go to a file as they come: a run that ended early goes on where it was.
At the end they are counted by file.  What looks at Triton's own assembly, or needs a GPU that is
not there, is not judged; where both refuse a program in other words, the case is "text"."""
import collections
import json
import os
import random
import re
import signal

import pytest

NOT_JUDGED = ("skipped", "xfail", "assembly", "gpu")


def pytest_addoption(parser):
    parser.addoption("--cases", type=int, default=12)
    parser.addoption("--seed", default="1")
    parser.addoption("--outcomes", default="outcomes.jsonl")
    parser.addoption("--case-seconds", type=int, default=60)


class Outcomes:
    def __init__(self, config):
        self.path, self.seconds = config.getoption("--outcomes"), config.getoption("--case-seconds")
        self.count, self.seed = config.getoption("--cases"), config.getoption("--seed")
        self.done = {}
        if os.path.exists(self.path):
            with open(self.path) as f:
                self.done = {r["id"]: r for r in map(json.loads, f)}
        self.file = open(self.path, "a")

    def put(self, **record):
        self.done[record["id"]] = record
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()

    def pytest_collection_modifyitems(self, items):
        groups = collections.OrderedDict()
        for item in items:
            groups.setdefault(item.nodeid.split("[")[0], []).append(item)
        items[:] = [i for name, group in groups.items() for i in self.some(name, group)
                    if i.nodeid not in self.done]

    def some(self, name, group):
        if len(group) <= self.count:
            return group
        chosen = random.Random(self.seed + name.split("/")[-1]).sample(range(len(group)),
                                                                       self.count)
        return [group[i] for i in sorted(chosen)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.put(id=item.nodeid, outcome="crash")          # unless something else follows
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        def late(*_):
            raise TimeoutError("over %d seconds" % self.seconds)
        signal.signal(signal.SIGALRM, late)
        signal.alarm(self.seconds)
        yield
        signal.alarm(0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.when == "call" or report.outcome != "passed":
            text = "" if call.excinfo is None else "%s: %s" % (
                call.excinfo.type.__name__, call.excinfo.value)
            outcome = "xfail" if hasattr(report, "wasxfail") else report.outcome
            self.put(id=item.nodeid, outcome=classified(outcome, text), text=text[:4000],
                     seconds=round(call.duration, 2))

    def pytest_terminal_summary(self, terminalreporter):
        files = collections.defaultdict(collections.Counter)
        for r in self.done.values():
            files[r["id"].split("::")[0]][r["outcome"]] += 1
        judged = passed = 0
        for name, counts in sorted(files.items()):
            mine = sum(n for outcome, n in counts.items() if outcome not in NOT_JUDGED)
            judged, passed = judged + mine, passed + counts["passed"]
            terminalreporter.write_line("%-44s judged %4d  passed %4d  %s"
                                        % (name, mine, counts["passed"], dict(counts)))
        terminalreporter.write_line("judged %d, passed %d: %.1f %%"
                                    % (judged, passed, 100 * passed / max(judged, 1)))


def classified(outcome, text):
    if outcome != "failed":
        return outcome
    if "tilec has no such stage" in text or "llvm." in text.split("\n")[0]:
        return "assembly"
    if re.search("no NVIDIA driver|not compiled with CUDA|exchangeDevice", text):
        return "gpu"
    if re.match("AssertionError|TypeError: argument of type 'NoneType'", text) \
            and ("error[E" in text or "error message" in text):
        return "text"
    return outcome


def pytest_configure(config):
    config.pluginmanager.register(Outcomes(config))
