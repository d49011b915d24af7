"""A pytest plugin: cases of Triton's own unit tests, run through tilec.triton.

    PYTHONPATH=runtime/python:tests/support python -m tilec.triton -m pytest -p triton_sample \\
        --import-mode=importlib --cases 12 --seed 1 --outcomes out.jsonl --device cpu DIR/language

DIR is python/test/unit of Triton 3.6 (its conftest.py lies one folder up).  Its tests need scipy and
expecttest beside pytest and numpy, and PYTHONPATH also runtime/python/tilec/triton/site and DIR/language:
without these, files are not collected and `test_print` fails.  --device cpu is the CPU
executor, cuda a GPU.  Of each test function --cases cases are taken, chosen by --seed, each within
--case-seconds; --part 2/12 runs the second of twelve parts.  Outcomes go to a file as they come: a
run that ended early goes on where it was, and after a fault of the GPU it must (exit status 75).
They are counted by file at the end, of several parts by `python triton_sample.py FILE.jsonl..`.
What looks at Triton's own assembly (its IR, or the wording of its PTX, after all values were right),
or needs a GPU that is not there, is not judged; where both refuse a program in other words, the
case is "text".  Programs that tests start find tilec's triton through PYTHONPATH."""
import collections
import json
import os
import random
import re
import signal
import sys

try:
    import pytest
except ImportError:                      # counting needs none
    pytest = None

NOT_JUDGED = ("skipped", "xfail", "assembly", "gpu")


def pytest_addoption(parser):
    parser.addoption("--cases", type=int, default=12)
    parser.addoption("--seed", default="1")
    parser.addoption("--outcomes", default="outcomes.jsonl")
    parser.addoption("--case-seconds", type=int, default=60)
    parser.addoption("--part", default="1/1")


def hook(**how):
    return pytest.hookimpl(**how) if pytest else lambda f: f


class Outcomes:
    def __init__(self, config):
        self.path, self.seconds = config.getoption("--outcomes"), config.getoption("--case-seconds")
        self.count, self.seed = config.getoption("--cases"), config.getoption("--seed")
        self.part, self.parts = map(int, config.getoption("--part").split("/"))
        self.done = read([self.path] if os.path.exists(self.path) else [])
        self.on_gpu = config.getoption("--device") == "cuda"
        self.is_lost = False
        self.file = open(self.path, "a")

    def put(self, **record):
        self.done[record["id"]] = record
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()

    def pytest_collection_modifyitems(self, items):
        groups = collections.OrderedDict()
        for item in items:
            groups.setdefault(item.nodeid.split("[")[0], []).append(item)
        wanted = [i for name, group in groups.items() for i in self.some(name, group)]
        items[:] = [i for i in wanted[self.part - 1::self.parts] if i.nodeid not in self.done]

    def some(self, name, group):
        if len(group) <= self.count:
            return group
        chosen = random.Random(self.seed + name.split("/")[-1]).sample(range(len(group)),
                                                                       self.count)
        return [group[i] for i in sorted(chosen)]

    @hook(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.put(id=item.nodeid, outcome="crash")          # unless something else follows
        yield
        if self.is_lost or self.on_gpu and not gpu_answers():
            pytest.exit("the GPU is lost to this process: run again", returncode=75)

    @hook(hookwrapper=True)
    def pytest_runtest_call(self, item):
        def late(*_):
            raise TimeoutError("over %d seconds" % self.seconds)
        sys.modules["triton"].knobs.refresh_knobs()        # what the case before has set
        signal.signal(signal.SIGALRM, late)
        signal.alarm(self.seconds)
        yield
        signal.alarm(0)

    @hook(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.when == "call" or report.outcome != "passed":
            text = "" if call.excinfo is None else "%s: %s" % (
                call.excinfo.type.__name__, call.excinfo.value)
            outcome = "xfail" if hasattr(report, "wasxfail") else report.outcome
            if re.search("TILEC_DEVICE_LOST|illegal memory access|CUDA error", text):
                outcome, self.is_lost = "crash", True
            self.put(id=item.nodeid, outcome=classified(outcome, text), text=text[:4000],
                     seconds=round(call.duration, 2))

    def pytest_terminal_summary(self, terminalreporter):
        for line in summary(self.done):
            terminalreporter.write_line(line)


def gpu_answers():
    """False after a fault, an expected one too: the process cannot use the GPU any more."""
    import torch
    try:
        torch.cuda.synchronize()
        return True
    except RuntimeError:
        return False


def read(paths):
    """{case: its last record}"""
    done = {}
    for path in paths:
        with open(path) as f:
            done.update((r["id"], r) for r in map(json.loads, f))
    return done


def summary(done):
    files, judged, passed = collections.defaultdict(collections.Counter), 0, 0
    for r in done.values():
        files[r["id"].split("::")[0]][r["outcome"]] += 1
    for name, counts in sorted(files.items()):
        mine = sum(n for outcome, n in counts.items() if outcome not in NOT_JUDGED)
        judged, passed = judged + mine, passed + counts["passed"]
        yield "%-44s judged %4d  passed %4d  %s" % (name, mine, counts["passed"], dict(counts))
    yield "judged %d, passed %d: %.1f %%" % (judged, passed, 100 * passed / max(judged, 1))


def classified(outcome, text):
    if outcome != "failed":
        return outcome
    if "tilec has no such stage" in text or "llvm." in text.split("\n")[0] \
            or "Generated by LLVM NVPTX" in text:
        return "assembly"
    if re.search("no NVIDIA driver|not compiled with CUDA|exchangeDevice|re-initialize CUDA", text):
        return "gpu"
    if re.match("AssertionError|TypeError: argument of type 'NoneType'", text) \
            and ("error[E" in text or "error message" in text):
        return "text"
    return outcome


def pytest_configure(config):
    config.pluginmanager.register(Outcomes(config))


if __name__ == "__main__":
    print("\n".join(summary(read(sys.argv[1:]))))
