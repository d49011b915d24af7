#!/usr/bin/env python3
"""Small matrix products as an engine runs them: launches of one CUDA graph, beside Triton and cuBLAS.

Twenty launches are recorded for each configuration of each compiler and for cuBLAS; the graphs are
replayed in random order, round after round, and the median of a launch counts.  tilec's results
are compared with a product in double precision first.  A line for each size, then its entries.

    graphs.py [--sizes 512,1024,2048] [--rounds 15] [--seed 0]
"""
import argparse
import os
import random
import statistics
import sys

import torch
import triton

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "runtime", "python"), HERE]
import tilec            # noqa: E402
import tile_to_triton   # noqa: E402

LAUNCHES = 20
FILE = os.path.join(ROOT, "dsl_examples", "matmul.tile")
# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages
SHAPES = {512: ((64, 32, 64, 4, 4), (64, 32, 64, 4, 6), (64, 32, 128, 4, 3), (64, 32, 128, 4, 4),
                (64, 64, 64, 4, 4), (64, 64, 128, 4, 3)),
          1024: ((64, 128, 64, 4, 6), (64, 64, 64, 4, 4), (64, 64, 128, 4, 3)),
          2048: ((128, 128, 64, 4, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4),
                 (128, 256, 64, 8, 3))}


def recorded(stream, run):
    """Replays LAUNCHES of them."""
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(LAUNCHES):
            run()
    return graph.replay


def medians(entries, rounds, rng):
    """Microseconds of one launch of each."""
    times = {name: [] for name in entries}
    for _ in range(rounds):
        for name in rng.sample(list(entries), len(entries)):
            entries[name]()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(10):
                entries[name]()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1e3 / (10 * LAUNCHES))
    return {name: statistics.median(t) for name, t in times.items()}


def size(n, kernel, theirs, options, stream):
    """How often a result was wrong."""
    x, y = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    o = torch.empty_like(x)
    exact = x.double() @ y.double()
    args = (x, y, o, n, n, n, *x.stride(), *y.stride(), *o.stride())
    names = [p["name"] for p in kernel.info["params"] if not p["is_constexpr"]]
    entries, wrong = {"cublas": recorded(stream, lambda: torch.matmul(x, y, out=o))}, 0
    for shape in SHAPES[n]:
        meta = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"), shape))
        grid = (triton.cdiv(n, shape[0]) * triton.cdiv(n, shape[1]),)
        ours = kernel.bind(grid, **dict(zip(names, args)), **meta, stream=stream.cuda_stream)
        o.fill_(float("nan"))
        torch.cuda.synchronize()
        ours()
        torch.cuda.synchronize()
        error = float((o.double() - exact).norm() / exact.norm())
        if not error < 1e-3:
            wrong += 1
            print("WRONG: %d %s: relative error %.2e" % (n, shape, error))
        entries["tilec %s" % (shape,)] = recorded(stream, ours)
        entries["triton %s" % (shape,)] = recorded(
            stream, lambda grid=grid, meta=meta: theirs[grid](*args, **meta))
    found = medians(entries, options.rounds, random.Random(options.seed))
    best = {who: min(us for name, us in found.items() if name.startswith(who))
            for who in ("tilec", "triton", "cublas")}
    print("matmul fp16 %d: %.2f us, Triton %.3f, cuBLAS %.3f of tilec's time"
          % (n, best["tilec"], best["triton"] / best["tilec"], best["cublas"] / best["tilec"]))
    for name in sorted(found, key=found.get):
        print("   %-30s %.2f us" % (name, found[name]))
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sizes", default="512,1024,2048")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--seed", type=int, default=0)
    options = p.parse_args()
    torch.manual_seed(options.seed)
    print("%s, torch %s, Triton %s" % (torch.cuda.get_device_name(), torch.__version__,
                                       triton.__version__))
    kernel, stream = tilec.Kernel(FILE, "matmul", on="cuda"), torch.cuda.Stream()
    theirs = tile_to_triton.load(FILE).matmul
    wrong = sum(size(int(n), kernel, theirs, options, stream) for n in options.sizes.split(","))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
