"""tilec beside Triton and torch on one GPU, in one process.

The kernels are dsl_examples/*.tile for tilec, the same text (tile_to_triton.py) for Triton, and
torch's own operators (cuBLAS, SDPA with cuDNN and FlashAttention).  Protocol: random normal data;
per case every configuration of both compilers is first tried shortly, then the three best of each
and the libraries are measured in interleaved rounds; the figure is the median over rounds of
triton.testing.do_bench (CUDA events, L2 flushed), of the best configuration.  Cases of a few
microseconds get five times the rounds and the figure is the least of them: there one do_bench median
in two reads half a microsecond more than the other, whatever is measured.
tilec's result is compared with torch's before it is timed; a wrong one is reported.

    bench.py [--quick] [--only copy,add,elu,softmax,layer_norm,matmul,cut,sizes,attention] [--json FILE]
             [--no-triton] [--seconds N] [--tutorials DIR]
"""
import argparse
import json
import math
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "runtime", "python"), HERE]

import torch                                   # noqa: E402
import triton                                  # noqa: E402
from triton.testing import do_bench            # noqa: E402

import tile_to_triton                          # noqa: E402
import tilec                                   # noqa: E402
import tutorials                               # noqa: E402

EXAMPLES = os.path.join(ROOT, "dsl_examples")
KEPT = 3           # configurations of each compiler that are measured in the rounds
SHORT_MS = 0.02
_ROW = "%-34s %-9s %10.4f ms %9.1f %-7s %5.2fx  %s"


def parse_options():
    p = argparse.ArgumentParser()
    p.add_argument("--quick", action="store_true", help="few sizes, one round")
    p.add_argument("--only", default="", help="comma-separated groups")
    p.add_argument("--json", default=os.path.join(os.environ.get("OUT", "."), "bench.json"))
    p.add_argument("--no-triton", action="store_true")
    p.add_argument("--seconds", type=float, default=420, help="start no new case after this time")
    p.add_argument("--tutorials", help="folder of Triton's tutorials, to be measured as well")
    return p.parse_args()


class Tile:
    """A kernel of a .tile file, or of a Python file with Triton's form of it: with_tilec(grid, args,
    meta) and with_triton(...) give functions to time."""

    def __init__(self, file, name, python=None):
        path = os.path.join(EXAMPLES, file)
        self.kernel = tilec.Kernel(path, name, on="cuda")
        self.names = [p["name"] for p in self.kernel.info["params"]]
        self.constexprs = {p["name"] for p in self.kernel.info["params"] if p["is_constexpr"]}
        self.python = python or getattr(tile_to_triton.load(path), name)

    def with_tilec(self, grid, args, meta):
        """Arguments are read once, so that Python costs little more per call than from C."""
        launched = [n for n in self.names if n not in self.constexprs]
        return self.kernel.bind(tuple(grid), **dict(zip(launched, args)), **meta)

    def with_triton(self, grid, args, meta):
        kernel, grid = self.python, tuple(grid)
        return lambda: kernel[grid](*args, **meta)


class Bench:
    def __init__(self, options):
        self.options, self.rows, self.wrong, self.start = options, [], 0, time.time()
        self.rounds, self.rep = (1, 30) if options.quick else (3, 60)

    def wants(self, group):
        late = time.time() - self.start > self.options.seconds
        if late:
            print("%s: left out, %d s are over" % (group, self.options.seconds))
        return not late and (not self.options.only or group in self.options.only.split(","))

    def tune(self, make, configs):
        """The configurations that run, fastest first: [(ms, text, function)], and what failed."""
        found, failures = [], []
        for grid, meta in configs:
            try:
                run = make(grid, meta)
                run()
                torch.cuda.synchronize()
                ms = do_bench(run, warmup=5, rep=15, return_mode="median")
            except Exception as e:            # a configuration that does not fit the machine
                failures.append("%s: %s" % (_text(meta), str(e).strip().split("\n")[0][:160]))
                continue
            found.append((ms, _text(meta), run))
        return sorted(found, key=lambda f: f[0]), failures

    def check(self, name, found, out, reference, tolerance):
        """Every configuration that will be timed gives the right result."""
        for _, text, run in found:
            out.fill_(float("nan") if out.is_floating_point() else -1)
            run()
            error = _relative(out, reference)
            if not error <= tolerance:
                self.wrong += 1
                print("%-34s tilec     WRONG: relative L2 %.2e (%s)" % (name, error, text))

    def case(self, name, tile, args, configs, out, reference, tolerance, others, work, unit,
             triton_configs=None):
        """others: name -> function.  work / ms gives `unit`."""
        entries, tried = {}, {}
        found, failures = self.tune(lambda g, m: tile.with_tilec(g, args, m), configs)
        for f in failures:
            print("   tilec %s" % f)
        self.check(name, found[:KEPT], out, reference, tolerance)
        self.wrong += not found
        tried["tilec"] = found
        if not self.options.no_triton:
            tried["triton"], failures = self.tune(lambda g, m: tile.with_triton(g, args, m),
                                                  triton_configs or configs)
            for f in failures[:1]:
                print("   triton %s" % f)
        for impl, found in tried.items():
            for _, text, run in found[:KEPT]:
                entries[impl, text] = run
        for other, run in others.items():
            try:
                run()
                torch.cuda.synchronize()
                entries[other, ""] = run
            except Exception as e:
                print("   %s: %s" % (other, str(e).split("\n")[0][:120]))
        times = {k: [] for k in entries}
        short = any(found and found[0][0] < SHORT_MS for found in tried.values())
        for _ in range(self.rounds * (5 if short else 1)):
            for k, run in entries.items():
                times[k].append(do_bench(run, warmup=10, rep=self.rep, return_mode="median"))
        best = {}
        for (impl, text), rounds in times.items():
            ms = min(rounds) if short else statistics.median(rounds)
            if impl not in best or ms < best[impl][0]:
                best[impl] = (ms, text, rounds)
        base = best["tilec"][0] if "tilec" in best else float("nan")
        for impl, (ms, text, rounds) in best.items():
            self.rows.append({"case": name, "impl": impl, "ms": ms, "rounds": rounds, "unit": unit,
                              "rate": work / ms, "config": text, "tilec_is_faster_by": ms / base,
                              "tried": [(t, m) for m, t, _ in tried.get(impl, ())]})
            print(_ROW % (name, impl, ms, work / ms, unit, ms / base, text), flush=True)


def _text(meta):
    return " ".join("%s=%s" % (k.replace("BLOCK_", "").replace("num_", ""), v)
                    for k, v in meta.items() if k not in ("D", "CAUSAL"))


def _relative(out, reference):
    a, b = out.double().flatten(), reference.double().flatten()
    if not torch.isfinite(a).all():
        return float("inf")
    return float((a - b).norm() / b.norm())


def copy(b):
    """The ceiling of memory-bound kernels: torch's copy of 4 GiB."""
    x = torch.randn(1 << 30, device="cuda")
    y = torch.empty_like(x)
    times = [do_bench(lambda: y.copy_(x), warmup=10, rep=b.rep, return_mode="median")
             for _ in range(b.rounds)]
    ms = statistics.median(times)
    rate = 2 * x.numel() * x.element_size() / ms / 1e6
    b.rows.append({"case": "copy of 4 GiB", "impl": "torch", "ms": ms, "rounds": times,
                   "unit": "GB/s", "rate": rate, "config": ""})
    print(_ROW % ("copy of 4 GiB", "torch", ms, rate, "GB/s", float("nan"), ""), flush=True)


def pointwise(b):
    add, elu = Tile("vector_add.tile", "vector_add"), Tile("elu.tile", "elu")
    for log_n in (16, 20, 24, 28) if not b.options.quick else (20, 28):
        n = 1 << log_n
        x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
        o = torch.empty_like(x)
        configs = [((triton.cdiv(n, block),), {"BLOCK": block, "num_warps": warps})
                   for block, warps in ((256, 2), (512, 4), (1024, 4), (1024, 8), (2048, 4),
                                        (4096, 8))]
        if b.wants("add"):
            b.case("add fp32 n=2^%d" % log_n, add, (x, y, o, n), configs, o, x + y, 1e-7,
                   {"torch": lambda: torch.add(x, y, out=o)}, 12 * n / 1e6, "GB/s")
        if b.wants("elu"):
            b.case("elu fp32 n=2^%d" % log_n, elu, (x, o, n, 1.0), configs, o,
                   torch.nn.functional.elu(x), 1e-6,
                   {"torch": lambda: torch.nn.functional.elu(x)}, 8 * n / 1e6, "GB/s")
        del x, y, o


def rows(b):
    softmax, norm = Tile("softmax.tile", "softmax"), Tile("layer_norm.tile", "layer_norm")
    shapes = ((4096, 1024), (8192, 4096), (8192, 16384)) if not b.options.quick else ((8192, 4096),)
    for m, n in shapes:
        for dtype in (torch.float32, torch.float16):
            x = torch.randn(m, n, device="cuda", dtype=dtype)
            o = torch.empty_like(x)
            block, label = triton.next_power_of_2(n), "%dx%d %s" % (m, n, str(dtype)[6:])
            configs = [((m,), {"BLOCK": block, "num_warps": w}) for w in (2, 4, 8, 16)
                       if 1 <= block // (32 * w) <= 128]
            bytes_ = 2 * x.element_size() * m * n
            tolerance = 1e-6 if dtype == torch.float32 else 6e-4
            if b.wants("softmax"):
                b.case("softmax " + label, softmax, (x, o, m, n), configs, o,
                       torch.softmax(x.double(), 1), tolerance,
                       {"torch": lambda: torch.softmax(x, 1)}, bytes_ / 1e6, "GB/s")
            if b.wants("layer_norm"):
                w, c = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))
                mean, rstd = (torch.empty(m, device="cuda") for _ in range(2))
                exact = torch.nn.functional.layer_norm(x.double(), (n,), w.double(), c.double())
                b.case("layer_norm " + label, norm, (x, w, c, o, mean, rstd, m, n, 1e-5), configs,
                       o, exact, tolerance,
                       {"torch": lambda: torch.nn.functional.layer_norm(x, (n,), w, c)},
                       bytes_ / 1e6, "GB/s")
            del x, o


# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages.  Tiles of 64 rows for matrices with fewer large tiles
# than the GPU has multiprocessors: there each block waits for memory, and what counts is how much
# it has asked for.
SMALL = ((64, 64, 32, 4, 4), (64, 32, 64, 4, 6), (64, 32, 128, 4, 4), (64, 64, 64, 4, 3),
         (64, 64, 64, 4, 4), (64, 64, 64, 4, 6), (64, 64, 128, 4, 3), (64, 128, 64, 4, 3),
         (64, 128, 64, 4, 4), (64, 128, 64, 4, 6), (128, 64, 64, 4, 4), (128, 64, 64, 8, 4))
LARGE = ((128, 64, 32, 4, 4), (128, 128, 32, 4, 4), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3),
         (128, 128, 64, 4, 4), (128, 128, 64, 8, 5), (128, 256, 64, 8, 3), (128, 256, 64, 8, 4))


# The same, and 64 columns more: tiles of 192.
WIDE = ((128, 128, 64, 8, 3), (128, 128, 64, 8, 4))


def products(b, name, x, y, o, shapes, reference, tolerance, others, more=0):
    """o = x @ y by matmul.tile, in the given tiles; or by matmul_wide.tile in tiles with `more` columns."""
    (m, k), n = x.shape, y.shape[1]
    tile = Tile("matmul_wide.tile", "matmul_wide") if more else Tile("matmul.tile", "matmul")
    configs = [((triton.cdiv(m, bm) * triton.cdiv(n, bn + more),),
                {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "num_warps": w, "num_stages": stages,
                 **({"MORE_N": more} if more else {})}) for bm, bn, bk, w, stages in shapes]
    args = (x, y, o, m, n, k, *x.stride(), *y.stride(), *o.stride())
    b.case(name, tile, args, configs, o, reference, tolerance, others, 2 * m * n * k / 1e9, "TFLOP/s")


def split_products(b, name, x, y, o, shapes, reference, others):
    """The same by matmul_split.tile: programs share a tile, as many as the shapes end with."""
    tile, (m, k), n = Tile("matmul_split.tile", "matmul_split"), x.shape, y.shape[1]
    parts = torch.empty(max(t[5] for t in shapes) * m * n, device="cuda")
    arrived = torch.zeros(m * n, device="cuda", dtype=torch.int32)
    configs = [((triton.cdiv(m, bm) * triton.cdiv(n, bn), split),
                {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "num_warps": w, "num_stages": stages,
                 "SPLIT": split}) for bm, bn, bk, w, stages, split in shapes]
    b.case(name, tile, (x, y, o, parts, arrived, m, n, k), configs, o, reference, 6e-4, others,
           2 * m * n * k / 1e9, "TFLOP/s")


def matmul(b):
    if not b.wants("matmul"):
        return
    for s in (512, 1024, 2048, 4096, 8192) if not b.options.quick else (1024, 4096):
        x, y = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(2))
        o = torch.empty_like(x)
        shapes = [t for t in (SMALL if s < 2048 else ()) + LARGE if t[0] * t[1] <= s * s // 64]
        others = {"cublas": lambda: torch.matmul(x, y, out=o)}
        products(b, "matmul fp16 %d" % s, x, y, o, shapes, x @ y, 6e-4, others)
        if s < 2048:
            shapes = [t + (split,) for t in ((64, 64, 64, 4, 4), (64, 128, 64, 4, 4),
                                             (128, 128, 64, 4, 4)) for split in (2, 4)]
            split_products(b, "matmul fp16 %d, K split" % s, x, y, o, shapes, x @ y, others)


def sizes(b):
    """Squares that tiles of powers of two leave a last round of few tiles in; 3000: rows that begin anywhere in
    a line of the cache."""
    if not b.wants("sizes"):
        return
    for s in (1536, 2560, 3000, 3072):
        x, y = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(2))
        o = torch.empty_like(x)
        others = {"cublas": lambda: torch.matmul(x, y, out=o)}
        products(b, "matmul fp16 %d" % s, x, y, o, LARGE, x @ y, 6e-4, others)
        products(b, "matmul fp16 %d, 192 columns" % s, x, y, o, WIDE, x @ y, 6e-4, others, more=64)


def skinny(b):
    """Few rows: a stream of weights."""
    if not b.wants("skinny"):
        return
    n = k = 8192
    y = torch.randn(k, n, device="cuda", dtype=torch.float16)
    for m in (16, 64):
        x = torch.randn(m, k, device="cuda", dtype=torch.float16)
        o = torch.empty(m, n, device="cuda", dtype=torch.float16)
        shapes = [(m, bn, bk, 4, stages) for bn in (32, 64, 128) for bk in (64, 128, 256)
                  for stages in (3, 4, 6) if (m + bn) * bk * 2 * stages <= 200 * 1024]
        name = "matmul fp16 %dx%dx%d" % (m, n, k)
        others = {"cublas": lambda: torch.matmul(x, y, out=o)}
        products(b, name, x, y, o, shapes, x @ y, 6e-4, others)
        shapes = [(m, 64, 128, 4, 4, 2), (m, 128, 64, 4, 4, 2), (m, 128, 128, 4, 3, 4)]
        split_products(b, name + ", K split", x, y, o, shapes, x @ y, others)


def cut(b):
    """Rows that end anywhere in a vector of 16 bytes, though they begin at multiples of it."""
    if not b.wants("cut"):
        return
    n = (1 << 26) + 1
    x, y = (torch.randn(n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    o = torch.empty_like(x)
    configs = [((triton.cdiv(n, block),), {"BLOCK": block, "num_warps": warps})
               for block, warps in ((512, 4), (1024, 4), (2048, 4), (2048, 8), (4096, 8))]
    b.case("add bf16 n=2^26+1", Tile("vector_add.tile", "vector_add"), (x, y, o, n), configs, o,
           x + y, 4e-3, {"torch": lambda: torch.add(x, y, out=o)}, 6 * n / 1e6, "GB/s")
    s = 4096
    for m, n, k in ((s, s, s - 3), (s, s - 3, s)):
        x, y, o = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(3))
        x, y, o = x[:m, :k], y[:k, :n], o[:m, :n]
        products(b, "matmul fp16 %dx%dx%d" % (m, n, k), x, y, o, LARGE, x @ y, 6e-4,
                 {"cublas": lambda x=x, y=y, o=o: torch.matmul(x, y, out=o)})


def dtypes(b):
    """Operands of 8 bits, whose K lies together, and fp32 as tf32 in both orders of B."""
    if not b.wants("dtypes"):
        return
    torch.backends.cuda.matmul.allow_tf32 = True
    bytes_ = ((128, 128, 64, 4, 4), (128, 128, 128, 4, 3), (128, 128, 128, 8, 3),
              (128, 256, 64, 8, 4), (128, 256, 128, 8, 3), (128, 256, 128, 8, 4))
    words = ((128, 128, 32, 4, 3), (128, 128, 32, 4, 4), (128, 128, 32, 8, 4),
             (128, 256, 32, 8, 3), (128, 256, 32, 8, 4), (256, 128, 32, 8, 3), (256, 128, 32, 8, 4))
    for s in (4096,) if b.options.quick else (4096, 8192):
        x, y = (torch.randn(s, s, device="cuda") for _ in range(2))
        one = torch.ones((), device="cuda")
        f8 = [t.to(torch.float8_e4m3fn) for t in (x, y)]
        o = torch.empty(s, s, device="cuda", dtype=torch.bfloat16)
        products(b, "matmul fp8 %d" % s, f8[0], f8[1].t(), o, bytes_,
                 (f8[0].half() @ f8[1].half().t()).float(), 1e-2,
                 {"cublas": lambda: torch._scaled_mm(f8[0], f8[1].t(), one, one,
                                                     use_fast_accum=True, out_dtype=o.dtype)})
        i8 = [torch.randint(-128, 128, (s, s), device="cuda", dtype=torch.int8) for _ in range(2)]
        o = torch.empty(s, s, device="cuda", dtype=torch.int32)
        products(b, "matmul int8 %d" % s, i8[0], i8[1].t(), o, bytes_,
                 torch._int_mm(i8[0], i8[1].t()), 0,
                 {"cublas": lambda: torch._int_mm(i8[0], i8[1].t())})
        o = torch.empty_like(x)
        exact = (x.double() @ y.double()).float()
        for name, right in (("", y), (" of a transpose", y.t().contiguous().t())):
            products(b, "matmul tf32 %d%s" % (s, name), x, right, o, words, exact, 1.5e-3,
                     {"cublas": lambda: torch.matmul(x, right, out=o)})
    torch.backends.cuda.matmul.allow_tf32 = False


def sdpa(q, k, v, causal, scale, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def run():
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                    scale=scale)
    return run


def attention(b):
    if not b.wants("attention"):
        return
    tiles = {"": Tile("attention.tile", "attn_fwd"),
             " bp": Tile("attention_block_pointers.tile", "attn_fwd_bp"),
             " loop": Tile("attention_persistent.tile", "attn_fwd_persistent")}
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    cases = [(64, 1, 32, 16384), (64, 16, 32, 1024), (128, 4, 16, 4096), (128, 1, 16, 16384)]
    if b.options.quick:
        cases = [(64, 16, 32, 1024), (128, 4, 16, 4096)]
    ours = ((64, 128, 4, 2), (128, 64, 8, 2), (64, 64, 4, 2), (128, 128, 8, 2), (128, 32, 4, 2))
    theirs = ((128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 3), (64, 64, 4, 3), (128, 32, 4, 4),
              (64, 128, 4, 2), (64, 128, 4, 3), (128, 128, 8, 2))
    for d, z, h, n in cases:
        q, k, v = (torch.randn(z, h, n, d, device="cuda", dtype=torch.float16) for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(z * h, n, device="cuda")
        scale = 1 / math.sqrt(d)
        for causal in (False, True):
            def configs(shapes, form):
                return [((min(programs, triton.cdiv(n, bm) * z * h),) if form == " loop" else
                         (triton.cdiv(n, bm), z * h),
                         {"D": d, "CAUSAL": causal, "BLOCK_M": bm, "BLOCK_N": bn, "num_warps": w,
                          "num_stages": stages}) for bm, bn, w, stages in shapes]
            others = {"cudnn": sdpa(q, k, v, causal, scale, "CUDNN_ATTENTION"),
                      "flash2": sdpa(q, k, v, causal, scale, "FLASH_ATTENTION")}
            reference = others["flash2"]()
            work = 4 * z * h * n * n * d * (0.5 if causal else 1) / 1e9
            for form, tile in tiles.items():
                if form and (b.options.quick or (form == " bp" and n > 4096)):
                    continue
                name = "attention%s D%d Z%d H%d N%d%s" % (form, d, z, h, n, " causal" * causal)
                args = (q, k, v, o, lse, z * h, n, scale) + (programs,) * (form == " loop")
                b.case(name, tile, args, configs(ours, form), o, reference, 1e-3,
                       {} if form == " bp" else others, work, "TFLOP/s", configs(theirs, form))
        del q, k, v, o, lse


def main():
    options = parse_options()
    torch.manual_seed(0)
    b = Bench(options)
    print("%s, torch %s, Triton %s" % (torch.cuda.get_device_name(), torch.__version__,
                                       triton.__version__))
    print("%-34s %-9s %13s %9s %-7s %6s  %s" % ("case", "", "median", "rate", "", "ratio",
                                                "configuration"))
    groups = {copy: {"copy"}, pointwise: {"add", "elu"}, rows: {"softmax", "layer_norm"},
              matmul: {"matmul"}, cut: {"cut"}, sizes: {"sizes"}, skinny: {"skinny"}, dtypes: {"dtypes"},
              attention: {"attention"}}
    if options.tutorials:
        groups[lambda b: tutorials.run(b, Tile, sdpa)] = {"tutorials"}
    wanted = set(filter(None, options.only.split(",")))
    for group, names in groups.items():
        if wanted and not wanted & names:
            continue
        try:
            group(b)
        except Exception as e:                # the other groups still run
            b.wrong += 1
            print("%s: %s: %s" % ("/".join(names), type(e).__name__, str(e)[:800]), flush=True)
    with open(options.json, "w", encoding="utf-8") as f:
        json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                   "triton": triton.__version__, "wrong": b.wrong, "rows": b.rows}, f, indent=1)
    print("%d rows in %s, %.0f s, %d wrong or missing" % (len(b.rows), options.json,
                                                          time.time() - b.start, b.wrong))
    return 1 if b.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
