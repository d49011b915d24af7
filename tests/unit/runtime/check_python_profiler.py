"""tilec.triton's profiler and cuBLAS: sessions, scopes, file and viewer on the CPU executor; many
launches with a stand-in driver; products with a stand-in library.
check_python_profiler.py FOLDER_OF_TILEC LIBRARY FAKE_DRIVER FAKE_CUBLAS.  77: no numpy here."""
import contextlib
import ctypes as C
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1], os.path.dirname(os.path.abspath(__file__))]
os.environ["TILEC_LIBRARY"] = sys.argv[2]
if importlib.util.find_spec("numpy") is None:
    print("no numpy: skipped")
    sys.exit(77)
import numpy
import tilec.triton

triton = tilec.triton.install()
import triton.language as tl
import triton.profiler as proton
from triton.profiler import _stopwatch, viewer

DRIVER, CUBLAS = sys.argv[3:5]


def raises(kind, words, call):
    try:
        call()
    except kind as e:
        assert words in str(e), "%r does not say %r" % (str(e), words)
        return
    raise AssertionError("accepted; wanted %s: %s" % (kind.__name__, words))


said = []


def metadata(grid, kernel, args):
    said.append((grid, kernel.name, kernel.num_warps, type(args["x"]).__name__, args["BLOCK"]))
    return {"name": "%s [n=%d]" % (kernel.name, args["n"]), "flops32": 2.0 * args["n"],
            "bytes": 8 * args["n"], "unknown": 1}


@triton.jit(launch_metadata=metadata)
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, i < n), i < n)


def launch(n=64):
    x, out = numpy.ones(n, numpy.float32), numpy.zeros(n, numpy.float32)
    scale[(triton.cdiv(n, 32),)](x, out, n, BLOCK=32)
    assert (out == 2).all()


def frames(name):
    """The tree of a file as {name: frame} dictionaries within each other, and its devices."""
    with open(name + ".hatchet") as f:
        root, devices = json.load(f)

    def named(frame):
        assert frame["frame"]["type"] == "function"
        return {"metrics": frame["metrics"], **{c["frame"]["name"]: named(c)
                                                for c in frame["children"]}}
    assert root["frame"]["name"] == "ROOT"
    return named(root), devices


# ---- sessions and scopes ----

@proton.scope("decorated", {"calls": 1})
def decorated(depth):
    launch()
    if depth:
        decorated(depth - 1)


def check_scopes():
    launch()                                       # before: of no session
    session = proton.start("a", hook="triton")
    assert session == proton.start("a") and proton.context.depth(session) == 0
    for _ in range(3):
        with proton.scope("outer", {"work": 2, "part (exc)": 5, "size (pty)": 7}):
            launch()
            launch(96)
            assert proton.context.depth(session) == 1
    decorated(1)
    with proton.cpu_timed_scope("timed"), proton.state("state"):
        launch()
    with proton.state("of a scope"), proton.scope("in a state", {"there": 1}):
        pass
    number = proton.enter_scope("by hand")
    raises(ValueError, "Scope name mismatch: other != by hand", lambda: proton.exit_scope("other"))
    launch()
    assert proton.exit_scope(metrics={"late": 1.5}) == number
    proton.deactivate(session)
    assert not triton.knobs.runtime.launch_enter_hook, "launches are slow without a session"
    with proton.scope("inactive"):
        launch()
    proton.activate()
    launch()
    proton.finalize(session)
    root, devices = frames("a")
    metrics = root["outer"]["scale [n=64]"]["metrics"]
    assert metrics["count"] == 3 and metrics["flops32"] == 384.0 and metrics["bytes"] == 1536
    assert metrics["time (ns)"] > 0 and metrics["device_type"] == "CPU" and "unknown" not in metrics
    assert metrics["device_id"] == "0" and devices["CPU"]["0"]["arch"] == "host"
    assert root["outer"]["scale [n=96]"]["metrics"]["flops32"] == 576.0
    assert root["outer"]["metrics"] == {"work": 6, "part": 15, "size": 7}
    inner = root["decorated"]["decorated"]
    assert root["decorated"]["metrics"] == inner["metrics"] == {"calls": 1}
    assert inner["scale [n=64]"]["metrics"]["count"] == 1
    assert root["timed"]["metrics"]["cpu_time (ns)"] > root["timed"]["state"]["scale [n=64]"][
        "metrics"]["time (ns)"] > 0
    assert root["in a state"]["of a scope"]["metrics"] == {"there": 1}
    assert root["by hand"]["metrics"] == {"late": 1.5}
    assert root["scale [n=64]"]["metrics"]["count"] == 1 and "inactive" not in root
    assert root["metrics"] == {"bytes": 0, "calls": 0, "count": 0, "flops32": 0, "late": 0,
                               "there": 0, "time (ns)": 0, "work": 0}
    assert set(said) == {((n,), "scale", 1, "ndarray", 32) for n in (2, 3)}, set(said)


def check_sessions():
    """Two at once; one without the kernel's own words; a decorator."""
    said.clear()
    first, second = proton.start("b"), proton.start("c")
    launch()
    proton.deactivate(first)
    launch()
    proton.finalize()
    assert not said and frames("b")[0]["scale"]["metrics"]["count"] == 1
    assert frames("c")[0]["scale"]["metrics"]["count"] == 2
    raises(RuntimeError, "Session has not been initialized: %d" % second,
           lambda: proton.activate(second))
    proton.profile(launch, name="d")()
    proton.finalize()
    assert frames("d")[0]["scale"]["metrics"]["count"] == 1
    with proton.scope("nothing is profiled"):
        assert proton.enter_scope("nor here") is None and proton.exit_scope() is None
    with triton.knobs.proton.scope():
        triton.knobs.proton.disable = True
        assert proton.start("off") is None


def check_refusals():
    for name, value in (("context", "python"), ("data", "trace"), ("backend", "cupti"),
                        ("mode", "pcsampling"), ("backend", "instrumentation")):
        raises(NotImplementedError, "%s='%s'" % (name, value),
               lambda: proton.start("x", **{name: value}))
    raises(ValueError, "hook='launch'", lambda: proton.start("x", hook="launch"))
    raises(NotImplementedError, "'chrome_trace'",
           lambda: proton.finalize(output_format="chrome_trace"))
    raises(ImportError, "libtriton.ir",
           lambda: __import__("triton._C.libtriton", fromlist=["ir"]).ir)
    proton.start("x")
    with proton.scope("s", {"n": numpy.int64(1), "f": numpy.float32(0.5)}):
        pass
    raises(RuntimeError, "mismatch for valueId 0 (n): current=uint64_t, new=double",
           lambda: proton.enter_scope("s", metrics={"n": 2.5}))
    with contextlib.ExitStack() as stack:
        raises(TypeError, "metric 'm' is a list",
               lambda: stack.enter_context(proton.scope("s", {"m": []})))
    assert proton.context.depth(list(proton._record.sessions)[-1]) == 0
    proton.finalize()


# ---- the viewer ----

def check_viewer():
    metrics = {"time (ns)": 2000, "count": 4, "device_id": "0", "device_type": "CUDA"}
    leaf = {"frame": {"name": "mm", "type": "function"}, "children": [],
            "metrics": {**metrics, "flops16": 1e9, "bytes": 4000}}
    other = {"frame": {"name": "copy", "type": "function"}, "children": [],
             "metrics": {**metrics, "time (ns)": 6000, "bytes": 8000}}
    scope = {"frame": {"name": "a/b.py:7@f", "type": "function"}, "metrics": {},
             "children": [leaf, {"frame": {"name": "empty", "type": "function"}, "metrics": {},
                                 "children": []}]}
    meta = {"frame": {"name": "__proton_launch_metadata", "type": "function"}, "metrics": {},
            "children": [other]}
    root = {"frame": {"name": "ROOT", "type": "function"}, "children": [scope, other, meta],
            "metrics": {"time (ns)": 0, "count": 0, "flops16": 0, "bytes": 0}}
    device = {"arch": "90", "num_sms": 132, "clock_rate": 1980000, "bus_width": 6144,
              "memory_clock_rate": 3201000}
    with open("v.hatchet", "w") as f:
        json.dump([root, {"CUDA": {"0": device}}], f)
    tree, names = viewer.parse(["tflop16/s", "time/us", "avg_time/us", "gbyte/s", "time/%"],
                               "v.hatchet")
    assert names == ["tflop16/s (inc)", "time/us (inc)", "avg_time/us (inc)", "gbyte/s (inc)",
                     "time/% (inc)"]
    assert shown(tree, names, format="file_function") == [
        "125.000 8.000 1.000 1.500 100.000 ROOT@ROOT",
        "├─ 500.000 2.000 0.500 2.000 25.000 b.py@f",
        "│  └─ 500.000 2.000 0.500 2.000 25.000 mm@mm",
        "└─ 0.000 6.000 1.500 1.333 75.000 copy@copy"], shown(tree, names, format="file_function")
    _, inclusive, exclusive, devices = viewer.read("v.hatchet")
    assert inclusive == ["bytes", "count", "flops16", "time (ns)"]
    assert devices["CUDA"]["0"] == device and exclusive == ["device_id", "device_type"]
    for how, last in (({"include": "mm"}, "mm"), ({"exclude": "a/.*"}, "copy"),
                      ({"threshold": 3}, "copy")):
        lines = shown(*viewer.parse(["time/us"], "v.hatchet", **how))
        assert lines[-1].endswith(last) and ("copy" if last == "mm" else "mm") not in str(lines)
    tree, names = viewer.parse(["util"], "v.hatchet")
    most = 132 / 114 * 1980000 / 1755e3 * 1513e12 / 2
    assert abs(tree.root.children[0].children[0].value("util") - 1e9 / most / 2e-6) < 1e-9
    raises(NotImplementedError, "hatchet.GraphFrame", lambda: tree.dataframe)
    raises(RuntimeError, "Metric nope is not found", lambda: viewer.parse(["nope"], "v.hatchet"))
    raises(ValueError, "Unsupported unit x", lambda: viewer.parse(["time/x"], "v.hatchet"))


def shown(tree, names, **how):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        viewer.print_tree(tree, names, **how)
    return text.getvalue().rstrip().split("\n")


PROGRAM = """
import sys, triton.profiler as proton
assert proton.start("not this one") is None
with proton.scope("of " + sys.argv[1], {"m": 3}):
    pass
"""


def check_commands():
    with open("program.py", "w") as f:
        f.write(PROGRAM)
    run = [sys.executable, "-B", "-m", "tilec.triton", "-m"]
    env = {**os.environ, "PYTHONPATH": sys.argv[1]}
    subprocess.run([*run, "triton.profiler.proton", "-n", "cli", "program.py", "word"], check=True,
                   env=env)
    for encoding, mark in ("utf-8", "└─"), ("ascii", "`-"):
        out = subprocess.run([*run, "triton.profiler.viewer", "-m", "m", "cli.hatchet"],
                             check=True, stdout=subprocess.PIPE,
                             env={**env, "PYTHONIOENCODING": encoding}).stdout
        assert out.decode() == "3.000 ROOT\n%s 3.000 of word\n\n" % mark, out


# ---- on a GPU that does nothing: every time is 1.5 ms ----

class Gpu(type(triton.runtime.driver.active)):
    is_gpu = True

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0x77

    def get_device_capability(self, device=None):
        return 9, 0

    def __init__(self):
        self.utils = types.SimpleNamespace(get_device_properties=lambda device: {
            "mem_bus_width": 1, "sm_clock_rate": 2, "mem_clock_rate": 3, "multiprocessor_count": 4})


def counted_events(made=[]):
    class Event(tilec.Event):
        def __init__(self, rt):
            made.append(1)
            super().__init__(rt)
    tilec.Event = Event
    return made


def check_gpu():
    C.CDLL(DRIVER).fake_reset()
    tilec.Runtime("cuda", driver_path=DRIVER, cache_dir=None).share()
    triton.runtime.driver.set_active(Gpu())
    _stopwatch.MOST_PENDING, made = 256, counted_events()
    proton.start("gpu", hook="triton")
    x = tilec.Pointer(0x7000, "fp32", 4096)
    for _ in range(10000):
        scale[(2,)](x, x, 64, BLOCK=32)
    assert len(made) <= 2 * _stopwatch.MOST_PENDING, len(made)
    with proton.scope("torch", {"flops16": 6.0}):
        with proton.scope("inner"):
            pass
    with proton.scope("both"):
        scale[(2,)](x, x, 64, BLOCK=32)
    proton.finalize()
    root, devices = frames("gpu")
    metrics = root["scale [n=64]"]["metrics"]
    assert metrics["count"] == 10000 and metrics["time (ns)"] == 10000 * 1500000
    assert metrics["device_type"] == "CUDA" and devices["CUDA"]["0"]["arch"] == "90"
    assert root["torch"]["inner"]["<stream time>"]["metrics"]["time (ns)"] == 1500000
    assert "<stream time>" not in root["torch"] and list(root["both"]) == ["metrics", "scale [n=64]"]


# ---- cuBLAS ----

class Matrix:
    """As much of a torch tensor as CublasLt looks at."""

    def __init__(self, address, shape, dtype="torch.float16"):
        self.address, self.shape, self.dtype = address, shape, dtype

    def data_ptr(self):
        return self.address

    def is_contiguous(self):
        return self.address != 0xbad

    def numel(self):
        return self.shape[0]

    def element_size(self):
        return 1


def check_cublas():
    from triton._C.libtriton import nvidia
    # A CUDA that is installed here is not asked, nor NVIDIA's packages beside numpy.
    nvidia.cublas._LOADED = ()
    sys.path[:] = [p for p in sys.path if not os.path.isdir(os.path.join(p, "nvidia"))]
    raises(RuntimeError, "no libcublasLt.so here", lambda: nvidia.cublas.CublasLt(Matrix(1, (8,))))
    os.makedirs("site/nvidia/cublas/lib")
    path = os.path.abspath("site/nvidia/cublas/lib/libcublasLt.so.12")
    shutil.copy(CUBLAS, path)
    sys.path.append("site")
    fake = C.CDLL(path)
    fake.fake_cublas_log.restype = C.c_char_p
    lt = nvidia.cublas.CublasLt(Matrix(0x5000, (1 << 20,)))
    a, b, c = Matrix(0xa, (32, 16)), Matrix(0xb, (64, 16)), Matrix(0xc, (32, 64))
    lt.matmul(a, b, c)
    assert fake.fake_cublas_log() == b"""preference 1048576
operations 1 0 compute 68 scale 0 fast 0
A 0xb: type 2, 16 x 64, step 16
B 0xa: type 2, 16 x 32, step 16
C (nil): type 2, 64 x 32, step 64
D 0xc: type 2, 64 x 32, step 64
1 * A^T B + 0 * C by algorithm 7, work space 0x5000 1048576, stream 0x77
alive 6
""", fake.fake_cublas_log().decode()
    lt.matmul(b, a, Matrix(0xc, (64, 32)))
    log = fake.fake_cublas_log()
    assert b"A 0xa: type 2, 16 x 32" in log and b"64 x 32" not in log and b"alive 11" in log, log
    lt.matmul(a, b, c)
    assert b"alive 11" in fake.fake_cublas_log()           # shapes are prepared once
    eight = [Matrix(m.address, m.shape, "torch.float8_e4m3fn") for m in (a, b, c)]
    lt.gemm(eight[0], eight[1], c, eight[2], 0.5, 2.0)
    log = fake.fake_cublas_log()
    assert b"fast 1" in log and b"C 0xc: type 2," in log and b"D 0xc: type 28," in log, log
    assert b"0.5 * A^T B + 2 * C" in log, log
    for words, matrices in (("A has 16 columns, B 8", (a, Matrix(1, (64, 8)), c)),
                            ("C is (32, 64); (32, 32) is wanted", (a, a, c)),
                            ("A has 1 dimensions", (Matrix(1, (4,)), b, c)),
                            ("B is not contiguous", (a, Matrix(0xbad, (64, 16)), c)),
                            ("C is torch.int8", (a, b, Matrix(1, (32, 64), "torch.int8"))),
                            ("one type is wanted", (a, b, Matrix(1, (32, 64), "torch.float32")))):
        raises(RuntimeError, words, lambda: lt.matmul(*matrices))
    fake.fake_cublas_fail(15)
    raises(RuntimeError, "cuBLAS Error: 15 from cublasLtMatmul", lambda: lt.matmul(a, b, c))
    del lt
    assert fake.fake_cublas_log() == b"alive 0\n"


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in (check_scopes, check_sessions, check_refusals, check_viewer, check_commands,
                  check_gpu, check_cublas):
        check()
        print("%s: ok" % check.__name__)
    os.chdir("/")
