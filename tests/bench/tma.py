"""Copies by tensor maps (tma = on) beside copies by threads (off), on one GPU, in one process.

Each case is a kernel of dsl_examples in one configuration, compiled both ways, checked against
torch's result and measured in interleaved rounds of triton.testing.do_bench (L2 flushed); the
figures are medians over the rounds.  "copies": boxes, or threads where no tensor map was made.

    tma.py [--rounds N] [--only WORD] [--json FILE]
"""
import argparse
import json
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "runtime", "python")]

import torch                                   # noqa: E402
from triton.testing import do_bench            # noqa: E402

import tilec                                   # noqa: E402

EXAMPLES = os.path.join(ROOT, "dsl_examples")
OFF, ON = 2, 1


def cdiv(a, b):
    return -(-a // b)


def kernels(file, name):
    return {way: tilec.Kernel(os.path.join(EXAMPLES, file), name, on="cuda", tma=way)
            for way in (OFF, ON)}


def launch(kernel, grid, args, meta):
    consts = {p["name"] for p in kernel.info["params"] if p["is_constexpr"]}
    names = [p["name"] for p in kernel.info["params"] if p["name"] not in consts]
    return kernel.bind(grid, **dict(zip(names, args)), **meta)


def num_variants(kernel):
    library = tilec.library()
    return sum(library.tilec_kernel_variants(handle) for handle in kernel._handles.values())


class Table:
    def __init__(self, options):
        self.options, self.rows, self.wrong = options, [], 0

    def case(self, name, pair, grid, args, meta, out, want, tolerance, flops):
        if self.options.only not in name:
            return
        calls, error, copies = {}, {}, {}
        for way, kernel in pair.items():
            before = num_variants(kernel)
            out.zero_()
            calls[way] = launch(kernel, grid, args, meta)
            calls[way]()
            torch.cuda.synchronize()
            difference = (out.float() - want.float()).norm() / want.float().norm()
            error[way] = difference.item()
            refused = num_variants(kernel) - before > 1
            copies[way] = "boxes" if way == ON and not refused else "threads"
            self.wrong += not error[way] <= tolerance
        times = {way: [] for way in pair}
        for _ in range(self.options.rounds):
            for way in pair:
                times[way].append(do_bench(calls[way], warmup=20, rep=100))
        ms = {way: statistics.median(t) for way, t in times.items()}
        rate = {way: flops / t / 1e9 for way, t in ms.items()}
        self.rows.append({"case": name, "meta": {k: str(v) for k, v in meta.items()},
                          "off": ms[OFF], "on": ms[ON], "error": error, "copies": copies[ON]})
        print("%-44s off %8.4f ms %7.1f  on %8.4f ms %7.1f TFLOP/s  on/off %.3f  %s  error %.1e %.1e"
              % (name, ms[OFF], rate[OFF], ms[ON], rate[ON], rate[ON] / rate[OFF], copies[ON],
                 error[OFF], error[ON]), flush=True)


def matmul(table):
    pair = kernels("matmul.tile", "matmul")
    for s in (4096, 8192, 2048):
        x, y = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(2))
        out, want = torch.empty_like(x), x @ y
        for form, right in (("", y), (" of a transpose", y.t().contiguous().t())):
            for m, n, k, warps, stages in ((128, 256, 64, 8, 4), (128, 256, 64, 8, 3),
                                           (128, 128, 64, 8, 4)):
                args = (x, right, out, s, s, s, *x.stride(), *right.stride(), *out.stride())
                meta = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": warps,
                        "num_stages": stages}
                table.case("matmul %d%s %dx%dx%d %d stages" % (s, form, m, n, k, stages), pair,
                           (cdiv(s, m) * cdiv(s, n),), args, meta, out, want, 1e-3, 2 * s ** 3)


def bytes_matmul(table):
    """fp8 and int8, whose K lies together."""
    pair, s = kernels("matmul.tile", "matmul"), 4096
    x, y = (torch.randn(s, s, device="cuda") for _ in range(2))
    f8 = [t.to(torch.float8_e4m3fn) for t in (x, y)]
    i8 = [torch.randint(-128, 128, (s, s), device="cuda", dtype=torch.int8) for _ in range(2)]
    for name, (a, b), dtype, tolerance in (("fp8", f8, torch.bfloat16, 2e-2),
                                           ("int8", i8, torch.int32, 0)):
        want = a.half() @ b.half().t() if name == "fp8" else torch._int_mm(a, b.t())
        out, right = torch.empty(s, s, device="cuda", dtype=dtype), b.t()
        args = (a, right, out, s, s, s, *a.stride(), *right.stride(), *out.stride())
        meta = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 128, "num_warps": 8, "num_stages": 4}
        table.case("matmul %s %d" % (name, s), pair, (cdiv(s, 128) * cdiv(s, 256),), args, meta,
                   out, want, tolerance, 2 * s ** 3)


def cut_matmul(table):
    """A part of larger arrays: sizes that are no multiples of anything, rows that are."""
    pair, s, n = kernels("matmul.tile", "matmul"), 4096, 4001
    x, y, out = (torch.randn(s, s, device="cuda", dtype=torch.float16)[:n, :n] for _ in range(3))
    want = x @ y
    args = (x, y, out, n, n, n, *x.stride(), *y.stride(), *out.stride())
    meta = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}
    table.case("matmul %d of %d" % (n, s), pair, (cdiv(n, 128) * cdiv(n, 256),), args, meta, out,
               want, 1e-3, 2 * n ** 3)


def odd_matmul(table):
    """A last block of rows, columns and K that is not full."""
    pair = kernels("matmul.tile", "matmul")
    m, n, k = 1000, 1016, 1048
    x = torch.randn(m, k, device="cuda", dtype=torch.float16)
    y = torch.randn(k, n, device="cuda", dtype=torch.float16)
    out, want = torch.empty(m, n, device="cuda", dtype=torch.float16), x @ y
    args = (x, y, out, m, n, k, *x.stride(), *y.stride(), *out.stride())
    meta = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 4}
    table.case("matmul %dx%dx%d" % (m, n, k), pair, (cdiv(m, 128) * cdiv(n, 128),), args, meta, out,
               want, 1e-3, 2 * m * n * k)


def attention(table):
    for file, name, form in (("attention.tile", "attn_fwd", ""),
                             ("attention_block_pointers.tile", "attn_fwd_bp", " bp")):
        pair = kernels(file, name)
        for d, z, h, n in ((128, 4, 16, 4096), (256, 2, 16, 4096), (128, 1, 16, 16384),
                           (64, 1, 32, 16384)):
            if form and (n > 4096 or d > 128):
                continue
            keys = 128 if d <= 128 else 64
            q, k, v = (torch.randn(z, h, n, d, device="cuda", dtype=torch.float16)
                       for _ in range(3))
            out, lse = torch.empty_like(q), torch.empty(z * h, n, device="cuda")
            scale = 1 / math.sqrt(d)
            for causal in (False, True):
                want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                        scale=scale)
                meta = {"D": d, "CAUSAL": causal, "BLOCK_M": 128, "BLOCK_N": keys, "num_warps": 8,
                        "num_stages": 2}
                work = 4 * z * h * n * n * d * (0.5 if causal else 1)
                table.case("attention%s D%d N%d%s" % (form, d, n, " causal" * causal), pair,
                           (cdiv(n, 128), z * h), (q, k, v, out, lse, z * h, n, scale), meta, out,
                           want, 2e-3, work)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", default="")
    p.add_argument("--json", default=os.path.join(os.environ.get("OUT", "."), "tma.json"))
    options = p.parse_args()
    torch.manual_seed(0)
    table = Table(options)
    print("%s, torch %s" % (torch.cuda.get_device_name(), torch.__version__))
    for group in (odd_matmul, cut_matmul, bytes_matmul, matmul, attention):
        try:
            group(table)
        except Exception as e:                # the other groups still run
            table.wrong += 1
            print("%s: %s: %s" % (group.__name__, type(e).__name__, str(e)[:800]), flush=True)
    with open(options.json, "w", encoding="utf-8") as f:
        json.dump({"device": torch.cuda.get_device_name(), "rows": table.rows}, f, indent=1)
    print("%d rows, %d wrong" % (len(table.rows), table.wrong))
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
