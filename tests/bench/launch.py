"""What a launch costs from Python: tilec beside Triton, in one process on one GPU.

An empty kernel with 3 and with 20 arguments (half of them tensors), in interleaved rounds: bare
cuLaunchKernel from C's side is what tests/gpu/launch_time.c measures; here `driver` is the same call
of a bound launch (arguments packed before), `tilec` kernel[grid](...) and `triton` the same.
Medians over rounds of the time per launch; the difference to the bare call printed by launch_time
is what the targets speak of: --bare US gives it, then the targets are held (4 us and 8 us).

    launch.py [--launches N] [--bare US] [--json FILE]
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "runtime", "python")]

import torch                                   # noqa: E402

import tilec                                   # noqa: E402

try:
    import triton                              # noqa: F401
except ImportError:
    triton = None

ROUNDS = 101
TARGETS = {3: 4.0, 20: 8.0}


def names_of(count):
    return ["p%d" % i for i in range(count - count // 2)], ["n%d" % i for i in range(count // 2)]


def tilec_kernel(count):
    pointers, numbers = names_of(count)
    params = ", ".join(["%s: *fp32" % p for p in pointers] + ["%s: i32" % n for n in numbers])
    return tilec.load(source="@kernel\ndef empty(%s):\n    pass\n" % params).empty


def triton_kernel(count, folder):
    """Triton reads a kernel's source from its file."""
    path = os.path.join(folder, "empty%d.py" % count)
    with open(path, "w") as f:
        f.write("import triton\n@triton.jit\ndef empty(%s):\n    pass\n"
                % ", ".join(sum(names_of(count), [])))
    space = {"__name__": "empty%d" % count, "__file__": path}
    import importlib.util
    spec = importlib.util.spec_from_file_location(space["__name__"], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[space["__name__"]] = module
    spec.loader.exec_module(module)
    return module.empty


def per_launch(call, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    us = (time.perf_counter() - start) / count * 1e6
    torch.cuda.synchronize()
    return us


def calls_for(count, folder):
    pointers, numbers = names_of(count)
    x = [torch.zeros(64, device="cuda") for _ in pointers]
    n = [16 + 16 * i for i in range(len(numbers))]
    ours, grid = tilec_kernel(count), (1,)
    calls = {"bound": ours.bind(grid, *x, *n)}
    if count == 3:
        a, b, c = x[0], x[1], n[0]
        calls["tilec"] = lambda: ours[grid](a, b, c)
    else:
        calls["tilec"] = lambda: ours[grid](*x, *n)
    if triton is not None:
        theirs = triton_kernel(count, folder)
        if count == 3:
            calls["triton"] = lambda: theirs[grid](a, b, c)
        else:
            calls["triton"] = lambda: theirs[grid](*x, *n)
    return calls


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--launches", type=int, default=100000, help="of each kind")
    p.add_argument("--bare", type=float, help="microseconds of a bare launch on this machine")
    p.add_argument("--json")
    options = p.parse_args()
    each, rows, late = max(1, options.launches // ROUNDS), [], 0
    print("Python %s, torch %s, %s" % (sys.version.split()[0], torch.__version__,
                                      "triton " + triton.__version__ if triton else "no triton"))
    with tempfile.TemporaryDirectory() as folder:
        for count in TARGETS:
            calls = calls_for(count, folder)
            for call in calls.values():
                per_launch(call, 200)
            times = {k: [] for k in calls}
            for _ in range(ROUNDS):
                for kind, call in calls.items():
                    times[kind].append(per_launch(call, each))
            us = {k: statistics.median(t) for k, t in times.items()}
            row = {"arguments": count, "bare": options.bare, **us}
            text = "   ".join("%s %6.2f us" % item for item in us.items())
            if options.bare is not None:
                extra = us["tilec"] - options.bare
                late += extra > TARGETS[count]
                text += "   tilec beyond bare %+.2f us, wanted %.1f" % (extra, TARGETS[count])
            print("%2d arguments: %s" % (count, text), flush=True)
            rows.append(row)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
