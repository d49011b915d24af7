"""What limits each kernel: hardware counters of tilec's kernels, read by Nsight Compute.

    limits.py [--csv FILE] [--tutorials DIR]        runs itself under ncu and prints one line a kernel

Needs a GPU whose counters may be read, ncu, torch.  Clocks are left alone (--clock-control none), so
percentages mean more than times.
"""
import csv
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

STALLS = ("long_scoreboard", "short_scoreboard", "barrier", "wait", "math_pipe_throttle",
          "mio_throttle", "lg_throttle", "no_instruction", "not_selected", "membar", "dispatch_stall")
METRICS = {
    "us": "gpu__time_duration.sum",
    "dram %": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor %": "",
    "issue %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps %": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "shared %": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "bank conflicts": "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "registers": "launch__registers_per_thread",
    "local": "smsp__inst_executed_op_local_ld.sum",
}
# Cycles in which the tensor cores work, by the first of these names that the GPU has.
TENSOR = ("sm__pipe_tensor_op_gmma_cycles_active", "sm__pipe_tensor_cycles_active",
          "sm__pipe_tensor_op_hmma_cycles_active", "sm__inst_executed_pipe_tensor")
for _stall in STALLS:
    METRICS[_stall] = "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio" % _stall


def cases():
    """(name, function): each launches one kernel, in the configuration that bench.py found best."""
    import torch
    import bench
    add, elu = bench.Tile("vector_add.tile", "vector_add"), bench.Tile("elu.tile", "elu")
    softmax, norm = bench.Tile("softmax.tile", "softmax"), bench.Tile("layer_norm.tile", "layer_norm")
    n = 1 << 28
    x, y = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")
    yield "add fp32 2^27", add.with_tilec((n // 2 // 512,), (x, x[n // 2:], y, n // 2),
                                          {"BLOCK": 512, "num_warps": 4})
    yield "ELU fp32 2^28", elu.with_tilec((n // 512,), (x, y, n, 1.0),
                                          {"BLOCK": 512, "num_warps": 4})
    for m, n, warps in ((8192, 4096, 4), (8192, 16384, 8)):
        w, c = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
        mean, rstd = torch.empty(m, device="cuda"), torch.empty(m, device="cuda")
        meta = {"BLOCK": n, "num_warps": warps}
        yield "softmax fp32 %dx%d" % (m, n), softmax.with_tilec((m,), (x, y, m, n), meta)
        yield ("layer norm fp32 %dx%d" % (m, n),
               norm.with_tilec((m,), (x, w, c, y, mean, rstd, m, n, 1e-5), meta))
    del x, y
    matmul = bench.Tile("matmul.tile", "matmul")
    s = 4096
    a, b, o = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(3))
    for bm, bn, bk, warps, stages in ((128, 128, 64, 4, 4), (128, 256, 64, 8, 3)):
        meta = {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "num_warps": warps,
                "num_stages": stages}
        yield ("matmul fp16 %d %dx%dx%d" % (s, bm, bn, bk),
               matmul.with_tilec((s // bm * (s // bn),), (a, b, o, s, s, s, s, 1, s, 1, s, 1), meta))
    attention = bench.Tile("attention.tile", "attn_fwd")
    for z, h, n, d, causal, bm, bn, warps in ((16, 32, 1024, 64, False, 128, 64, 8), (16, 32, 1024, 64, True, 128, 64, 8),
                                              (1, 32, 16384, 64, False, 128, 128, 8),
                                              (4, 16, 4096, 128, False, 128, 128, 8),
                                              (4, 16, 4096, 128, True, 128, 128, 8)):
        q, k, v, o = (torch.randn(z, h, n, d, device="cuda", dtype=torch.float16) for _ in range(4))
        lse = torch.empty(z * h, n, device="cuda")
        meta = {"D": d, "CAUSAL": causal, "BLOCK_M": bm, "BLOCK_N": bn, "num_warps": warps, "num_stages": 2}
        yield ("attention D%d N%d%s" % (d, n, " causal" * causal),
               attention.with_tilec((n // bm, z * h), (q, k, v, o, lse, z * h, n, 1 / math.sqrt(d)), meta))
    yield from backward(bench, torch)


def backward(bench, torch):
    """Tutorial 06's, where --tutorials names the folder: gradients of nonsense, which take as long."""
    found = tutorials_folder() and bench.tutorials.kernels(tutorials_folder(), "06")
    if not found:
        return
    tile = bench.Tile(found[0], "_attn_bwd", found[1]._attn_bwd)
    for d, z, h, n, warps, stages in ((64, 1, 16, 8192, 4, 3), (128, 4, 16, 4096, 4, 5), (128, 4, 16, 4096, 8, 2)):
        q, k, v, do, dq, dk, dv = (torch.randn(z, h, n, d, device="cuda", dtype=torch.float16) * 0.1 for _ in range(7))
        lse, delta = (torch.zeros(z, h, n, device="cuda") for _ in range(2))
        meta = {"BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32, "BLK_SLICE_FACTOR": 2,
                "HEAD_DIM": d, "num_warps": warps, "num_stages": stages,
                **({"CAUSAL": True} if "CAUSAL" in tile.constexprs else {})}
        yield ("tutorial 06 backward D%d N%d causal, %d warps" % (d, n, warps),
               tile.with_tilec((n // 128, 1, z * h), (q, k, v, 1 / math.sqrt(d), do, dq, dk, dv, lse, delta,
                                                      *q.stride(), h, n), meta))


def tutorials_folder():
    return sys.argv[sys.argv.index("--tutorials") + 1] if "--tutorials" in sys.argv else None


def child():
    """Each kernel once to warm up, then once for the counters; ncu is told to count every second."""
    import torch
    for name, run in cases():
        run()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push(name)
        run()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


def tensor_metric():
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False)
    known = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    name = next((n for n in TENSOR if n in known), TENSOR[-1])
    return name + ".avg.pct_of_peak_sustained_active"


def counters(target):
    METRICS["tensor %"] = tensor_metric()
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--nvtx",
               "--print-nvtx-rename", "kernel", "--nvtx-include", "regex:.*/",
               "--metrics", ",".join(METRICS.values()), sys.executable, os.path.abspath(__file__),
               "--child"] + (["--tutorials", tutorials_folder()] if tutorials_folder() else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    with open(target, "w", encoding="utf-8") as f:
        f.write(done.stdout)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit("ncu gave no table:\n%s\n%s" % (done.stdout[-2000:], done.stderr[-2000:]))
    return [row for row in csv.DictReader(lines[start:]) if row["ID"]]


def number(row, metric):
    try:
        value = float(row.get(metric, "nan").replace(",", ""))
    except ValueError:
        return float("nan")
    return value / 1000 if metric == METRICS["us"] else value


def main():
    if "--child" in sys.argv:
        return child()
    target = sys.argv[sys.argv.index("--csv") + 1] if "--csv" in sys.argv else os.devnull
    plain = [name for name in METRICS if name not in STALLS]
    print("| kernel | %s | waits (warps an issued instruction) |" % " | ".join(plain))
    print("|---" * (len(plain) + 2) + "|")
    for row in counters(target):
        stalls = sorted(((number(row, METRICS[s]), s) for s in STALLS), reverse=True)
        print("| %s | %s | %s |" % (
            row.get("Kernel Name", "?").split("/")[0],
            " | ".join("%.4g" % number(row, METRICS[name]) for name in plain),
            ", ".join("%s %.2f" % (s.replace("_", " "), v) for v, s in stalls[:4])))
    return None


if __name__ == "__main__":
    main()
