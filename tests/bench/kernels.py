"""Every kernel of dsl_examples/ beside the same text compiled by Triton, and the best library function.

The example programs describe the launches of their timed cases (--time 1 --describe FILE), one file
each; this script makes them on one GPU: by tilec, by Triton (tile_to_triton.py) where it takes the
text, and by what torch has for it.  Each figure is the median of samples between CUDA events, each
enqueued while the GPU waits, L2 emptied.  What Triton's launch makes of the arrays is compared with
what tilec's made of the same.

    kernels.py DESCRIPTION.. [--json FILE] [--seconds N] [--only KERNEL,..]
    kernels.py --write docs/kernels.md FILE     puts the figures of a --json FILE into the page
"""
import argparse
import json
import os
import re
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "runtime", "python"), HERE]
BEGIN, END = "<!-- times: begin -->", "<!-- times: end -->"
DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "i32": "int32", "i8": "int8",
          "u8": "uint8", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}
TOLERANCE = 2e-2
REPEAT_MS = 40          # of samples of one figure
CACHE_BYTES = 256 << 20  # more than the L2 of any GPU so far
ENQUEUE_CYCLES = 400000  # 0.2 ms: what the slowest launch takes the host, and some


def parse_options():
    p = argparse.ArgumentParser()
    p.add_argument("files", nargs="+")
    p.add_argument("--json")
    p.add_argument("--write", metavar="PAGE")
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=float, default=300, help="start no new launch after this time")
    p.add_argument("--tiles", default=os.path.join(ROOT, "dsl_examples"))
    return p.parse_args()


# ---- descriptions ----
def read_cases(files):
    """(case, its launches) of all files."""
    cases = []
    for path in files:
        with open(path, encoding="utf-8") as f:
            for line in f:
                entry = json.loads(line)
                if "row" in entry:
                    cases.append((entry, []))
                else:
                    cases[-1][1].append(entry)
    return cases


def names_of(case):
    """The case's own names: "T=bf16 N=4096" gives T and N."""
    names = dict(word.split("=", 1) for word in case["case"].split())
    return {n: _number(v) for n, v in names.items()}


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"True": True, "False": False, "None": None}.get(text, text)


def make_tensors(case):
    import torch
    tensors = {}
    for a in case["arrays"]:
        dtype, n = getattr(torch, DTYPES[a["dtype"]]), a["elems"]
        if "values" in a:
            t = torch.tensor(a["values"], device="cuda", dtype=torch.float64).to(dtype)
        elif a["below"] > 0:
            t = torch.randint(0, int(a["below"]), (n,), device="cuda").to(dtype)
        elif a["kind"] in ("out", "scratch", "zeroed") or not dtype.is_floating_point:
            t = torch.zeros(n, device="cuda", dtype=dtype)
        elif a["kind"] == "given":
            t = (0.01 + 0.3 * torch.rand(n, device="cuda")).to(dtype)
        else:
            t = (torch.randn(n, device="cuda") * a["spread"]).to(dtype)
        tensors[a["name"]] = t
    return tensors


# ---- launches ----
class Launch:
    """A launch of one case: its kernel's parameters by name, the grid, functions that make it."""

    def __init__(self, options, launch, tensors):
        import tilec
        import triton
        path = os.path.join(options.tiles, launch["file"])
        info = next(k for k in tilec.list_kernels(path) if k["name"] == launch["kernel"])
        self.path, self.name = path, launch["kernel"]
        values = [self.value(a, tensors) for a in launch["args"]]
        params = [p["name"] for p in info["params"] if not p["is_constexpr"]]
        self.args = dict(zip(params, values))
        for p in info["params"]:  # those left out have a default
            if not p["is_constexpr"] and p["name"] not in self.args:
                self.args[p["name"]] = _number(p["default"])
        self.defines = {n: _number(v) for n, v in
                        (d.split("=", 1) for d in launch["defines"])}
        self.warps = launch["warps"]
        known = {p["name"]: _number(p["default"]) for p in info["params"]
                 if p["is_constexpr"] and p["default"] is not None}
        known.update(self.args, **self.defines)
        for name, function in self.heuristics():
            if known.get(name) is None:
                known[name] = getattr(self.module(), function)(known)
        grid = eval(info["grid"], {"cdiv": triton.cdiv, "min": min, "max": max}, known)
        self.grid = grid if isinstance(grid, tuple) else (grid,)
        self.constants = {p["name"] for p in info["params"] if p["is_constexpr"]}
        self.known = known

    @staticmethod
    def value(arg, tensors):
        if isinstance(arg, dict):
            return tensors[arg["array"]] if "array" in arg else arg["real"]
        return arg

    def module(self):
        import tile_to_triton
        return tile_to_triton.load(self.path)

    def decorators(self):
        with open(self.path, encoding="utf-8") as f:
            text = f.read()
        before = text[:text.index("def %s(" % self.name)]
        return before[before.rindex("\n\n\n"):]

    def heuristics(self):
        """(parameter, name of the function that gives its value)"""
        return re.findall(r'"(\w+)": (\w+)', self.decorators())

    def launch_options(self):
        """What the decorators say, which Triton's spelling has at the launch: warps, stages and
        what the functions of @heuristics make of the arguments."""
        found = dict(re.findall(r"(num_warps|num_stages)=(\d+)", self.decorators()))
        options = {n: int(v) for n, v in found.items()}
        options.update((name, self.known[name]) for name, _ in self.heuristics())
        if self.warps:
            options["num_warps"] = self.warps
        return options

    def by_tilec(self):
        import tilec
        more = {"num_warps": self.warps} if self.warps else {}
        return tilec.Kernel(self.path, self.name, on="cuda").bind(self.grid, **self.args,
                                                                  **self.defines, **more)

    def by_triton(self):
        kernel = getattr(self.module(), self.name)
        options = {n: v for n, v in self.known.items() if n in self.constants}
        options.update(self.launch_options())
        return lambda: kernel[self.grid](**self.args, **options)


# ---- libraries: what torch has for a kernel, from the case's names and its arrays ----
def _rows(t, n, x="x"):
    return t[x].view(n["R"], n["C"])


def _sdpa(n, q, k, v, causal):
    """The faster of cuDNN and FlashAttention, as (name, function)."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from triton.testing import do_bench
    group = q.shape[0] // k.shape[0]
    k, v = (t.repeat_interleave(group, dim=0) for t in (k, v))
    found = []
    for backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION"):
        def run(backend=backend):
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return torch.nn.functional.scaled_dot_product_attention(
                    q[None], k[None], v[None], is_causal=causal, scale=n["scale"])
        try:
            found.append((do_bench(run, warmup=5, rep=20), backend[:5].lower().strip("_"), run))
        except RuntimeError:
            pass
    return min(found, key=lambda f: f[0])[1:]


def _attention(n, t, launch):
    if launch.known.get("WINDOW") or launch.known.get("SOFTCAP") or launch.args.get("drop"):
        return None
    d, length = launch.known["D"], launch.args["n"]
    q, k, v = (t[name].view(-1, length, d) for name in "qkv")
    return _sdpa(n, q, k, v, launch.known["CAUSAL"])


def _paged_prefill(n, t, launch):
    q = t["q"].view(n["N"], n["H"], n["D"]).transpose(0, 1).contiguous()
    k, v = (t[name].view(n["H"] // n["G"], n["N"], n["D"]) for name in "kv")
    name, run = _sdpa(n, q, k, v, True)
    return name + ", not paged", run


def libraries():
    """kernel -> function of (names, tensors, launch) -> (library, function), or None."""
    import torch
    import torch.nn.functional as F

    def one(make, name="torch"):
        return lambda n, t, launch: (name, make(n, t))

    def conv(n, t):
        x = t["x"].view(n["N"], n["H"], n["W"], n["C"]).permute(0, 3, 1, 2)
        f = t["f"].view(3, 3, n["C"], n["K"]).permute(3, 2, 0, 1)
        f = f.contiguous(memory_format=torch.channels_last)
        return lambda: F.conv2d(x, f, padding=1)

    def matmul(n, t):
        a, b, c = t["a"].view(n["M"], n["K"]), t["b"].view(n["K"], n["N"]), t["c"]
        return lambda: torch.matmul(a, b, out=c.view(n["M"], n["N"]))

    def batched(n, t):
        a, b = t["a"].view(n["B"], n["M"], n["K"]), t["b"].view(n["B"], n["K"], n["N"])
        return lambda: torch.bmm(a, b)

    def fused(n, t):
        a, b = t["a"].view(n["M"], n["K"]), t["b"].view(n["K"], n["N"])
        residual = t["residual"].view(n["M"], n["N"])
        return lambda: F.gelu(torch.addmm(t["bias"], a, b), approximate="tanh") + residual

    def matvec(n, t):
        w, x = t["w"].view(-1, n["C"]), t["x"]
        if n.get("NORM", "norm") is None:
            return lambda: torch.mv(w, x)
        return lambda: torch.mv(w, F.rms_norm(x, (n["C"],), eps=1e-5).to(w.dtype) * t["norm"])

    def matvec_swiglu(n, t):
        w, x, r = t["w"].view(-1, n["C"]), t["x"], n["R"]

        def run():
            y = torch.mv(w, F.rms_norm(x, (n["C"],), eps=1e-5).to(w.dtype) * t["norm"])
            return F.silu(y[:r]) * y[r:]
        return run

    def layer_norm_bwd(n, t):
        x, dy, mean, rstd = _rows(t, n), _rows(t, n, "dy"), t["mean"].view(-1, 1), t["rstd"].view(-1, 1)
        return lambda: torch.ops.aten.native_layer_norm_backward(
            dy, x, (n["C"],), mean, rstd, t["w"], t["b"], (True, True, True))

    def group_norm(n, t):
        x = t["x"].view(n["N"], n["G"] * n["C"], n["S"])
        return lambda: F.group_norm(x, n["G"], t["w"], t["b"], n["eps"])

    def cross_entropy(n, t):
        labels = t["labels"].long()
        return lambda: F.cross_entropy(_rows(t, n), labels, label_smoothing=n["smoothing"],
                                       reduction="none")

    def column_sums(n, t):
        x = t["parts"].view(n["P"], n["C"])
        return lambda: x.sum(0)

    def embedding_bwd(n, t):
        index, dy = t["index"].long(), t["dy"].view(n["N"], n["C"])
        return lambda: torch.ops.aten.embedding_dense_backward(dy, index, n["V"], -1, False)

    return {
        "vector_add": one(lambda n, t: lambda: torch.add(t["x"], t["y"], out=t["out"])),
        "elu": one(lambda n, t: lambda: F.elu(t["x"])),
        "swiglu": one(lambda n, t: lambda: F.silu(t["gate"]) * t["up"], "torch, 2 kernels"),
        "softmax": one(lambda n, t: lambda: torch.softmax(_rows(t, n), 1)),
        "rms_norm": one(lambda n, t: lambda: F.rms_norm(_rows(t, n), (n["C"],), t["w"], n["eps"])),
        "layer_norm": one(lambda n, t: lambda: F.layer_norm(_rows(t, n), (n["C"],), t["w"], t["b"],
                                                            n["eps"])),
        "layer_norm_bwd": one(layer_norm_bwd, "torch, with the sums"),
        "group_norm": one(group_norm),
        "column_sums": one(column_sums),
        "cross_entropy": one(cross_entropy),
        "embedding": one(lambda n, t: lambda: F.embedding(t["index"], t["table"].view(-1, n["C"]))),
        "embedding_bwd": one(embedding_bwd),
        "top_k": one(lambda n, t: lambda: torch.topk(_rows(t, n), n["K"], dim=1)),
        "count_values": one(lambda n, t: lambda: torch.bincount(t["x"], minlength=n["BINS"])),
        "best_of_block": one(lambda n, t: lambda: torch.argmax(t["logits"])),
        "matmul": one(matmul, "cuBLAS"),
        "matmul_persistent": one(matmul, "cuBLAS"),
        "matmul_batched": one(batched, "cuBLAS"),
        "matmul_fused": one(fused, "torch, 3 kernels"),
        "conv2d": one(conv, "cuDNN"),
        "matvec": one(matvec, "torch"),
        "matvec_swiglu": one(matvec_swiglu, "torch"),
        "attn_fwd": _attention,
        "attn_fwd_persistent": _attention,
        "attn_forward": _attention,
        "paged_prefill": _paged_prefill,
    }


# ---- measuring ----
def measure(run):
    """Microseconds, the median.  The GPU idles while a sample is enqueued: a launch that takes the
    host longer than emptying the cache takes the GPU would be counted as the kernel's time."""
    import torch
    from triton.testing import do_bench
    cache = torch.empty(CACHE_BYTES // 4, dtype=torch.int32, device="cuda")
    about = do_bench(run, warmup=10, rep=5, return_mode="median")
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)]
              for _ in range(min(max(int(REPEAT_MS / about), 5), 400))]
    for start, end in events:
        torch.cuda._sleep(ENQUEUE_CYCLES)
        cache.zero_()
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return 1e3 * statistics.median(start.elapsed_time(end) for start, end in events)


def states(launch):
    """Copies of the arrays: what a launch finds, for another that starts from the same."""
    import torch
    return [(t, t.clone()) for t in launch.args.values() if torch.is_tensor(t)]


def restore(arrays):
    for t, copy in arrays:
        t.copy_(copy)


def outputs(launch):
    import torch
    return [t.double() for t in launch.args.values()
            if torch.is_tensor(t) and t.is_floating_point()]


def same(one, other):
    import torch
    for a, b in zip(one, other):
        finite = torch.isfinite(a) & torch.isfinite(b)
        if (a - b)[finite].norm() > TOLERANCE * a[finite].norm() + 1e-6:
            return False
    return True


def triton_time(launch, row, found, wanted):
    """None where Triton does not take the text, or makes something else than `wanted` of what
    tilec's launch found."""
    import torch
    try:
        run = launch.by_triton()
        restore(found)
        run()
        torch.cuda.synchronize()
        if not same(wanted, outputs(launch)):
            print("   triton: another result")
            row["triton_note"] = "another result"
            return None
        return measure(run)
    except Exception as e:  # a builtin of another name, no memory
        row["triton_note"] = str(e).strip().split("\n")[-1][:160]
        print("   triton: %s" % row["triton_note"])
        return None


def library_time(make, names, tensors, launch, row):
    try:
        found = make(names, tensors, launch) if make else None
        if not found:
            return None
        row["library"] = found[0]
        return measure(found[1])
    except Exception as e:
        print("   library: %s" % str(e).strip().split("\n")[0][:160])
        return None


def measure_case(options, case, launches, library, rows):
    names, tensors = names_of(case), make_tensors(case)
    seen = set()
    for described in launches:
        key = json.dumps({k: described[k] for k in ("kernel", "defines", "warps")})
        launch = Launch(options, described, tensors)
        run, found = launch.by_tilec(), states(launch)
        run()
        if key in seen or (options.only and launch.name not in options.only.split(",")):
            continue
        seen.add(key)
        wanted, left = outputs(launch), states(launch)
        row = {"kernel": launch.name, "case": case["case"].strip(), "us": measure(run)}
        row["triton_us"] = triton_time(launch, row, found, wanted)
        restore(left)
        row["library_us"] = library_time(library.get(launch.name), names, tensors, launch, row)
        rows.append(row)
        print(line(row), flush=True)


def line(row):
    def us(value):
        return "–" if value is None else "%.1f" % value
    library = us(row["library_us"])
    if row["library_us"] is not None:
        library += " (%s)" % row["library"]
    return "| `%s` | %s | %s | %s | %s |" % (row["kernel"], row["case"], us(row["us"]),
                                            us(row["triton_us"]), library)


def write_page(page, path):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    lines = ["%s, torch %s, Triton %s; µs." % (data["device"], data["torch"], data["triton"]), "",
             "| kernel | case | tilec | Triton, same text | library |", "|---|---|---|---|---|"]
    lines += [line(row) for row in data["rows"]]
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(page, "w", encoding="utf-8") as f:
        f.write(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[end:])


def main():
    options = parse_options()
    if options.write:
        write_page(options.write, options.files[0])
        return
    import torch
    import triton
    start, rows, library = time.time(), [], libraries()
    for case, launches in read_cases(options.files):
        if case["row"].startswith("tuned_") or time.time() - start > options.seconds:
            continue
        print("%s %s" % (case["row"], case["case"]), flush=True)
        try:
            measure_case(options, case, launches, library, rows)
        except Exception as e:
            print("   %s" % str(e).strip().split("\n")[0][:200], flush=True)
        torch.cuda.empty_cache()
        if options.json:
            with open(options.json, "w") as f:
                json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                           "triton": triton.__version__, "rows": rows}, f)


if __name__ == "__main__":
    main()
