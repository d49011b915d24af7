"""Measuring: do_bench, perf_report."""
import functools
import math
import os
import statistics
import sys

from . import _absent
from . import language as tl
from . import runtime
from .compiler import CompiledKernel

_MODES = {"min": min, "max": max, "mean": statistics.mean, "median": statistics.median,
          "all": lambda times: times}


def _quantile(times, q):
    if not 0 <= q <= 1:
        raise ValueError("Quantiles must be in the range [0, 1]")
    at = q * (len(times) - 1)
    low, high = math.floor(at), math.ceil(at)
    return times[low] + (at - low) * (times[high] - times[low])


def _summarize_statistics(times, quantiles, return_mode):
    if quantiles is None:
        return _MODES[return_mode](times)
    ordered = sorted(times)
    found = [_quantile(ordered, q) for q in quantiles]
    return found[0] if len(found) == 1 else found


def _check(fn, return_mode, warmup, rep):
    what = "a launch that is made already: lambda: kernel[grid](..)" \
        if isinstance(fn, CompiledKernel) else "%r" % (fn,)
    assert callable(fn), "what is measured is a function without parameters, not " + what
    for name, value in (("warmup", warmup), ("rep", rep)):
        assert isinstance(value, (int, float)) and value >= 0, \
            "%s is a time in milliseconds, not %r" % (name, value)
    assert return_mode in _MODES, "return_mode is one of %s, not %r" % (", ".join(_MODES), return_mode)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of fn(), the L2 cache emptied before each run; on the host by its clock."""
    _check(fn, return_mode, warmup, rep)
    device = runtime.driver.active.get_device_interface()
    cache = runtime.driver.active.get_empty_cache_for_benchmark()

    def timed(count):
        events = [(device.Event(enable_timing=True), device.Event(enable_timing=True))
                  for _ in range(count)]
        for start, end in events:
            for x in grad_to_none or ():
                x.grad = None
            runtime.driver.active.clear_cache(cache)
            start.record()
            fn()
            end.record()
        device.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    def whole(count):                             # with what empties the cache: it takes time, too
        start, end = (device.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            runtime.driver.active.clear_cache(cache)
            fn()
        end.record()
        device.synchronize()
        return start.elapsed_time(end)

    fn()
    device.synchronize()
    first = timed(1)[0]
    if first >= warmup + rep:                     # once was long enough to tell
        return _summarize_statistics([first], quantiles, return_mode)
    estimate = max(whole(5) / 5, 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    return _summarize_statistics(timed(max(1, int(rep / estimate))), quantiles, return_mode)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of fn() among many in one CUDA graph."""
    _check(fn, return_mode, 0, rep)
    import torch
    if not runtime.driver.on_gpu:
        raise RuntimeError("do_bench_cudagraph needs a GPU; do_bench measures on the host")
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for x in grad_to_none or ():
            x.detach_()
            x.requires_grad_(True)
            x.grad = None

        def timed(run):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            return start.elapsed_time(end)

        estimate = timed(lambda: [fn() for _ in range(5)]) / 5
        count = max(1, int(rep / estimate)) if estimate else 1000
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                for x in grad_to_none or ():
                    x.grad = None
                fn()
        torch.cuda.synchronize()
        return _summarize_statistics([timed(graph.replay) / count for _ in range(10)], quantiles, return_mode)


def _host_array(x):
    import numpy
    if hasattr(x, "detach"):
        x = x.detach()
        x = x.float() if str(x.dtype) == "torch.bfloat16" else x
        return x.cpu().numpy()
    return numpy.asarray(x)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Absolute difference at most atol (1e-2) plus rtol (0) times |y|, everywhere."""
    import numpy
    tolerances = []
    for given, default in ((atol, 1e-2), (rtol, 0.0)):
        given = default if given is None else given
        tolerances.append(given(getattr(x, "dtype", None)) if callable(given) else given)
    x, y = _host_array(x), _host_array(y)
    numpy.testing.assert_allclose(x, y, atol=tolerances[0], rtol=tolerances[1], equal_nan=True,
                                  err_msg=err_msg)


# ---- reports -------------------------------------------------------------------------------------

class Benchmark:
    """What perf_report measures: a line for each of line_vals over x_vals."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args,
                 xlabel="", ylabel="", x_log=False, y_log=False, styles=None):
        self.x_names, self.x_vals, self.line_arg = x_names, x_vals, line_arg
        self.line_vals, self.line_names, self.plot_name = line_vals, line_names, plot_name
        self.args, self.xlabel, self.ylabel = args, xlabel, ylabel
        self.x_log, self.y_log, self.styles = x_log, y_log, styles


def _module(name):
    try:
        return __import__(name)
    except ImportError:
        return None


class _Table:
    """The measurements, as rows; shown without any other package."""

    def __init__(self, bench):
        self.bench = bench
        self.columns = list(bench.x_names) + [
            "%s%s (%s)" % (line, part, bench.ylabel)
            for part in ("", "-min", "-max") for line in bench.line_names]
        self.rows = []

    def add(self, x, results):
        parts = list(zip(*[r if isinstance(r, (tuple, list)) else (r, None, None)
                           for r in results]))
        self.rows.append(list(x) + [v for part in parts for v in part])

    def shown(self, diff):
        """Columns and rows as printed: means alone, with their difference."""
        count = len(self.bench.x_names) + len(self.bench.line_names)
        columns, rows = self.columns[:count], [r[:count] for r in self.rows]
        if diff and len(self.bench.line_names) == 2:
            columns = columns + ["Diff"]
            rows = [r + [r[-1] - r[-2]] for r in rows]
        return columns, rows

    def text(self, columns, rows):
        cells = [[""] + [str(c) for c in columns]]
        cells += [[str(i)] + ["%f" % v if isinstance(v, float) else str(v) for v in r]
                  for i, r in enumerate(rows)]
        widths = [max(len(r[i]) for r in cells) for i in range(len(cells[0]))]
        return "\n".join("  ".join(c.rjust(w) for c, w in zip(r, widths)) for r in cells)

    def csv(self, columns, rows, precision):
        form = "%%.%df" % precision
        lines = [",".join(map(str, columns))]
        lines += [",".join(form % v if isinstance(v, float) else str(v) for v in r) for r in rows]
        return "\n".join(lines) + "\n"

    def frame(self, columns, rows):
        """A pandas table where pandas is there, else (columns, rows)."""
        pandas = _module("pandas")
        return pandas.DataFrame(rows, columns=columns) if pandas else (columns, rows)

    def draw(self, plt):
        bench, first = self.bench, len(self.bench.x_names)
        lines = len(bench.line_names)
        axes = plt.figure().add_subplot()
        xs = [r[0] for r in self.rows]
        for i, name in enumerate(bench.line_names):
            style = bench.styles[i] if bench.styles else (None, None)
            mean, low, high = ([r[first + i + k * lines] for r in self.rows] for k in range(3))
            axes.plot(xs, mean, label=name, color=style[0], ls=style[1] or "-")
            if low and all(v is not None for v in low + high):
                axes.fill_between(xs, low, high, alpha=0.15, color=style[0])
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")


class Mark:
    """A benchmarked function: .run() measures and reports."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _measure(self, bench, **kw):
        table = _Table(bench)
        for x in bench.x_vals:
            xs = x if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(xs) != len(bench.x_names):
                raise ValueError("Expected %d values, got %s" % (len(bench.x_names), xs))
            named = dict(zip(bench.x_names, xs))
            table.add(xs, [self.fn(**named, **{bench.line_arg: v}, **bench.args, **kw)
                           for v in bench.line_vals])
        return table

    def _report(self, bench, show_plots, print_data, save_path, diff_col, precision, **kw):
        table = self._measure(bench, **kw)
        plt = None
        if bench.plot_name and (show_plots or save_path) and _module("matplotlib"):
            import matplotlib.pyplot as plt
            table.draw(plt)
        if show_plots and plt:
            plt.show()
        columns, rows = table.shown(diff_col)
        if save_path:
            os.makedirs(save_path, exist_ok=True)
            if plt:
                plt.savefig(os.path.join(save_path, bench.plot_name + ".png"))
            with open(os.path.join(save_path, bench.plot_name + ".csv"), "w") as f:
                f.write(table.csv(columns, rows, precision))
        if plt:
            plt.close()
        if print_data:
            print(bench.plot_name + ":")
            print(table.text(columns, rows))
            sys.stdout.flush()
        return table.frame(columns, rows)

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False,
            diff_col=False, save_precision=6, **kw):
        several = isinstance(self.benchmarks, (list, tuple))
        made = [self._report(b, show_plots, print_data, save_path, diff_col, save_precision, **kw)
                for b in (self.benchmarks if several else [self.benchmarks])]
        if save_path:
            with open(os.path.join(save_path, "results.html"), "w") as f:
                f.write("<html><body>\n%s</body></html>\n" % "".join(
                    '<image src="%s.png"/>\n' % b.plot_name
                    for b in (self.benchmarks if several else [self.benchmarks])))
        return (made if several else made[0]) if return_df else None


def perf_report(benchmarks):
    """Marks a function for benchmarking: its .run() measures what the Benchmarks say."""
    return lambda fn: Mark(fn, benchmarks)


def get_dram_gbps(device=None):
    """Peak bandwidth of the GPU's memory, in GB/s."""
    p = runtime.driver.active.utils.get_device_properties(device)
    return p["mem_clock_rate"] * p["mem_bus_width"] * 2 / 1e6 / 8


def nvsmi(attrs):
    """What nvidia-smi says of GPU 0: a number for each of the attributes."""
    import subprocess                       # takes its time to import
    out = subprocess.check_output(["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(attrs),
                                   "--format=csv,noheader,nounits"], text=True)
    return [int(word) for word in out.split(",")]


# Operations of a multiprocessor's quarter in a cycle, as Triton counts them.
_TENSOR_OPS = {"float32": 256, "int32": 256, "float16": 512, "bfloat16": 512, "int16": 512,
               "int8": 1024, "fp8e4nv": 1024, "fp8e4b15": 1024, "fp8e5": 1024}
_SIMD_OPS = {"float32": 32, "float16": 64, "bfloat16": 64}
_OLD_TENSOR_OPS, _OLD_SIMD_OPS = {"float16": 256}, {"float32": 32, "float16": 64}  # before sm_80


def _tflops(dtype, clock_rate, device, new, old):
    device = runtime.driver.active.get_current_device() if device is None else device
    major, _ = runtime.driver.active.get_device_capability(device)
    count = runtime.driver.active.utils.get_device_properties(device)["multiprocessor_count"]
    ops = (new if major >= 8 else old).get(str(dtype).replace("torch.", ""))
    if ops is None:
        raise RuntimeError("dtype not supported")
    return 4 * count * clock_rate * ops * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """The most that tensor cores do; clock_rate in kHz."""
    return _tflops(dtype, clock_rate, device, _TENSOR_OPS, _OLD_TENSOR_OPS)


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """The most without tensor cores; clock_rate in kHz."""
    return _tflops(dtype, clock_rate, device, _SIMD_OPS, _OLD_SIMD_OPS)


_absent.declare(globals())
__getattr__ = _absent.attribute_of(globals())
