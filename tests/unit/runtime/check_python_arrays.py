"""runtime/python/tilec over the compiler: every kind of array and argument on the CPU executor
and, with a stand-in driver and a stand-in torch, on the GPU; what a launch costs.
check_python_arrays.py FOLDER_OF_TILEC_PY LIBRARY FAKE_DRIVER [--time]"""
import array
import ctypes as C
import os
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1], os.path.dirname(os.path.abspath(__file__))]
import fake_torch
import tilec

try:
    import numpy
except ImportError:
    numpy = None

tilec.library(sys.argv[2])
DRIVER = sys.argv[3]
SCALE = """
@kernel(grid=(cdiv(n, BLOCK),))
def scale(x: *fp32, y: *fp32, n: i32, a: fp32 = 2.0, BLOCK: constexpr = 16):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    store(y + i, a * load(x + i, i < n), i < n)

@kernel
def pair(x, y, n, flag, w=None, KIND: constexpr = "sum"):
    i = arange(0, 16)
    v = load(x + i, i < n).to(fp32)
    if w is not None:
        v += load(w + i, i < n).to(fp32)
    if KIND == "sum":
        v = v + 1
    if flag:
        v = -v
    store(y + i, v, i < n)

@autotune(configs=[Config({"BLOCK": 8}), Config({"BLOCK": 32}, num_warps=8)], key=["n"])
@kernel
def tuned(x: *fp32, y: *fp32, n: i32, BLOCK: constexpr):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    store(y + i, load(x + i, i < n) + 1, i < n)

@kernel
def names(w, d, b, t, g: i32, h, __t: constexpr = 1):
    store(w, load(d) + load(b) + g + h + t + __t)
"""

TRITON = """
import torch
import triton
import triton.language as tl

@triton.jit
def says_nothing(x: tl.tensor, y: torch.Tensor, o: "tl.tensor", u: some.Name, c: tl.const,
                 q: "*fp32", n: int, s: float, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i) + tl.load(c + i) + tl.load(q + i) + s, mask=i < n)

@triton.jit
def stores(c: tl.const):
    tl.store(c, 1.0)
"""


def raises(kind, words, call):
    try:
        call()
    except kind as e:
        assert words in str(e), "%r does not say %r" % (str(e), words)
        return e
    raise AssertionError("accepted; wanted %s: %s" % (kind.__name__, words))


class Host:
    """An array as numpy shows itself."""

    def __init__(self, values, code="f", typestr="<f4", read_only=False):
        self.data = array.array(code, values)
        self.__array_interface__ = {"data": (self.data.buffer_info()[0], read_only),
                                    "typestr": typestr, "shape": (len(self.data),), "version": 3}


class Dlpack:
    """A producer of DLPack capsules, versioned or old, that counts the calls of its deleter."""
    DELETER = C.CFUNCTYPE(None, C.c_void_p)

    def __init__(self, values, versioned=True, flags=0, device=(1, 0), dtype=(2, 32, 1), major=1,
                 step=1, code="f"):
        self.data, self.device, self.versioned = array.array(code, values), device, versioned
        self.deleted, self.streams, keep = 0, [], []
        kind = tilec._DlVersioned if versioned else tilec._DlManaged
        self.shape, self.strides = (C.c_int64 * 1)(len(values) // step), (C.c_int64 * 1)(step)
        m = self.managed = kind()
        if versioned:
            m.major, m.minor, m.flags = major, 0, flags
        self.deleter = self.DELETER(lambda _: setattr(self, "deleted", self.deleted + 1))
        m.deleter = C.cast(self.deleter, C.c_void_p)
        t = m.tensor
        t.data, t.byte_offset = self.data.buffer_info()[0] - 8, 8
        t.device_type, t.device_id = device
        t.ndim, t.shape, t.strides = 1, self.shape, self.strides
        t.code, t.bits, t.lanes = dtype

        def destroy(capsule):       # what a producer's capsule does when nobody consumed it
            at = C.pythonapi.PyCapsule_GetPointer(C.c_void_p(capsule), self.name)
            assert at == C.addressof(m)
            self.deleter(at)
        C.pythonapi.PyCapsule_GetPointer.restype = C.c_void_p
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.destroy = C.CFUNCTYPE(None, C.c_void_p)(destroy)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, **more):
        if more and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        new = C.pythonapi.PyCapsule_New
        new.restype, new.argtypes = C.py_object, [C.c_void_p, C.c_char_p, C.c_void_p]
        return new(C.addressof(self.managed), self.name, C.cast(self.destroy, C.c_void_p))


def host_arrays(m):
    x, y = Host(range(40)), Host([0] * 40)
    m.scale(x, y, 40)
    assert list(y.data) == [2 * i for i in range(40)], y.data
    m.scale[3](x, y, a=3.0, n=40)
    assert list(y.data) == [3 * i for i in range(40)]
    m.scale[lambda meta: (-(-meta["n"] // meta["BLOCK"]), 1)](x, y, 40, 4, BLOCK=8, num_warps=2)
    assert list(y.data) == [4 * i for i in range(40)]
    raises(TypeError, "has no grid of its own", lambda: m.pair(x, y, 4, True))
    m.pair[1](x, y, 4, True, KIND="none")
    assert list(y.data[:5]) == [0, -1, -2, -3, 16]
    m.pair[(1,)](x, y, 4, flag=False, w=x)
    assert list(y.data[:4]) == [1, 3, 5, 7]
    assert list(tilec.load(source=SCALE)) == ["scale", "pair", "tuned", "names"]
    raises(AttributeError, "scale, pair, tuned, names", lambda: m.nothing)
    one = [Host([v]) for v in (0, 5, 7)]
    m.names[1](*one, 1.0, 2, 3)
    assert one[0].data[0] == 5 + 7 + 1 + 2 + 3 + 1, one[0].data
    raises(TypeError, "'x': elements of", lambda: m.scale(Host([1], "f", ">f4"), y, 1))
    raises(TypeError, "'y': a str cannot be a kernel argument", lambda: m.scale(x, "y", 1))
    raises(TypeError, "'y' is a text: numpy.zeros(64, numpy.float32) makes", lambda: m.scale(x, "y", 1))
    raises(TypeError, "numpy.load('y.npy') reads the file", lambda: m.scale(x, "y.npy", 1))
    raises(TypeError, "numpy.array(values, numpy.float32) makes", lambda: m.scale(x, [1.0, 2.0], 1))
    raises(TypeError, "numpy.array(values, numpy.int32) makes", lambda: m.pair[1](x, [1, 2], 4, True))
    raises(TypeError, "a number stands without quotes: 8", lambda: m.scale(x, "8", 1))
    raises(OverflowError, "'n': ", lambda: m.pair[1](x, y, 2**64, True))
    raises(TypeError, "pair() missing 1 required", lambda: m.pair[1](x, y, 4))
    raises(TypeError, "pair() got an unexpected", lambda: m.pair[1](x, y, 4, True, no_such=1))
    raises(TypeError, "made of integers", lambda: m.scale[1.5](x, y, 1))
    raises(ValueError, "one to three numbers", lambda: m.scale[1, 2, 3, 4](x, y, 1))
    raises(ValueError, "one to three numbers", lambda: m.scale[-1](x, y, 1))
    raises(ValueError, "'y' is read-only, and kernel 'scale' writes to it",
           lambda: m.scale(x, Host([0] * 40, read_only=True), 40))
    m.scale(Host(range(40), read_only=True), y, 40)
    e = raises(tilec.CompileError, "error[E", lambda: m.scale(x, y, 40, BLOCK="text"))
    assert e.status == "TILEC_BAD_SOURCE" and "^~~" in str(e)
    raises(tilec.Error, "TILEC_FAULT", lambda: m.scale(x, Host([0] * 8), 40))
    assert "'n': was divisible by 8, now divisible by 16" in m.scale.explain(x, y, 48), m.scale.explain(x, y, 48)
    m.scale.prepare(x, y, 48)
    assert "would be used" in m.scale.explain(x, y, 48)
    assert ".entry scale" in m.scale.compile("*fp32,*fp32,i32", BLOCK=64).ptx
    again = m.scale.bind(3, x, y, 40, 5.0)
    again()
    assert y.data[2] == 10
    dtypes = tilec.load(source="@kernel\ndef k(y: *fp32, D: constexpr, N: constexpr = None):\n"
                               "    store(y, (1.0 + 1.0 / 4096).to(D).to(fp32))\n").k
    for name, wanted in (("torch.float16", 1.0), ("triton.float32", 1 + 1 / 4096)):
        dtypes[1](y, D=type("dtype", (), {"__str__": lambda self, name=name: name})())
        assert y.data[0] == wanted, (name, y.data[0])
    with tempfile.TemporaryDirectory() as folder:      # Triton's own files
        path = os.path.join(folder, "k.py")
        with open(path, "w") as f:
            f.write("import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                    "def double(x_ptr, n, BLOCK: tl.constexpr):\n    i = tl.arange(0, BLOCK)\n"
                    "    v = tl.load(x_ptr + i, mask=i < n)\n"
                    "    tl.store(x_ptr + i, 2 * v, mask=i < n)\n")
        z = Host(range(8))
        tilec.load(path).double[(1,)](z, 8, BLOCK=8)
        assert list(z.data) == [2 * i for i in range(8)]
    # True, 1 and 1.0 are three constants, and big numbers are themselves
    wide = tilec.load(source="@kernel\ndef k(y: *i64, v, C: constexpr):\n"
                             "    store(y, v + (100 if C is True else 0) + C)\n").k
    out = Host([0], "q", "<i8")
    for v in (1, 2**31, -2**63, 2**62):
        wide[1](out, v, C=0)
        assert out.data[0] == v, (out.data[0], v)
    wide[1](out, 0, C=1)
    assert out.data[0] == 1
    wide[1](out, 0, C=True)
    assert out.data[0] == 101, out.data[0]


def dlpack(m):
    x = Host(range(16))
    for versioned in (True, False):
        y = Dlpack([0.0] * 16, versioned)
        m.scale(x, y, 16)
        assert list(y.data) == [2 * i for i in range(16)] and y.deleted == 1, (y.data, y.deleted)
    raises(ValueError, "'y' is read-only", lambda: m.scale(x, Dlpack([0.0] * 16, flags=1), 16))
    raises(TypeError, "a copy of its memory", lambda: m.scale(x, Dlpack([0.0], flags=2), 1))
    raises(TypeError, "version 2.0", lambda: m.scale(x, Dlpack([0.0], major=2), 1))
    raises(TypeError, "DLPack device 8", lambda: m.scale(x, Dlpack([0.0], device=(8, 0)), 1))
    raises(TypeError, "2 lanes", lambda: m.scale(x, Dlpack([0.0], dtype=(2, 32, 2)), 1))
    raises(TypeError, "code 5", lambda: m.scale(x, Dlpack([0.0], dtype=(5, 64, 1)), 1))
    raises(ValueError, "'x' is on the host, 'y' on GPU 1",
           lambda: m.scale(x, Dlpack([0.0], device=(2, 1)), 1))
    y = Host([0] * 16)
    for dtype, code, bits in (((4, 16, 1), "H", 0x3fc0), ((2, 16, 1), "H", 0x3e00),
                              ((10, 8, 1), "B", 0x3c), ((12, 8, 1), "B", 0x3e)):
        m.pair[1](Dlpack([bits] * 16, dtype=dtype, code=code), y, 16, False, KIND="no")
        assert y.data[3] == 1.5, (dtype, y.data[3])
    # every second element: 31 floats are reachable, not 16
    m.pair[1](Dlpack(range(32), step=2), y, 16, False)
    raises(tilec.Error, "TILEC_FAULT", lambda: m.scale(Dlpack(range(8)), y, 9))


def threads(m):
    failed = []

    def work(k):
        try:
            x, y = Host(range(k, k + 32)), Host([0] * 32)
            for i in range(100):
                m.scale(x, y, 32, float(i), BLOCK=16 << (i + k) % 3)
                assert list(y.data) == [v * i for v in range(k, k + 32)], (k, i)
        except BaseException as e:
            failed.append(e)
    all_ = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()
    assert not failed, failed[0]


def empty_views():
    """torch's views of no elements: no address, in a storage that has one."""
    class Empty(Host):
        dtype, device = "torch.float32", types.SimpleNamespace(type="cpu", index=None)

        def data_ptr(self):
            return 0

        def untyped_storage(self):
            return fake_torch.Storage(self.data.buffer_info()[0], 4 * len(self.data))
    last = tilec.load(source="@kernel\ndef last(x, y: *fp32, n: i32):\n"
                             "    store(y, load(x + n - 1) if n > 0 else 7.0)\n").last
    x, y = Empty([0] * 4), Host([0])
    last[1](x, y, 0)
    assert y.data[0] == 7
    raises(tilec.Error, "NULL, or an array without elements", lambda: last[1](x, y, 1))


def numpy_arrays(m):
    x = numpy.arange(40, dtype=numpy.float32)
    y = numpy.empty_like(x)
    m.scale(x, y, numpy.int32(40), numpy.float32(0.5))
    assert (y == x / 2).all()
    x.flags.writeable = False
    m.scale(x, y, 40)
    raises(ValueError, "'y' is read-only", lambda: m.scale(y, x, 40))
    m.pair[1](numpy.arange(16, dtype=numpy.float16), y, 1, True)
    raises(TypeError, "is read backwards", lambda: m.pair[1](x[::-1], y, 1, True))
    raises(tilec.Error, "TILEC_FAULT", lambda: m.pair[1](x[:8].astype("f8"), y, 9, True))

    class OnlyDlpack:                                  # numpy's own capsules
        def __init__(self, a):
            self.__dlpack__, self.__dlpack_device__ = a.__dlpack__, a.__dlpack_device__
    y[:] = 0
    m.scale(OnlyDlpack(numpy.arange(40, dtype="f4")[8:]), OnlyDlpack(y[4:]), 32)
    assert (y[4:36] == 2 * numpy.arange(8, 40)).all() and not y[:4].any() and not y[36:].any()
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0":
        raises(ValueError, "'y' is read-only", lambda: m.scale(y, OnlyDlpack(x), 32))
    raises(TypeError, "complex", lambda: m.pair[1](x.astype(complex), y, 4, True))


def forked(m):
    pid = os.fork()
    if pid == 0:
        y = Host([0] * 16)
        m.scale(Host(range(16)), y, 16)
        os._exit(0 if y.data[2] == 4 else 1)
    assert os.waitpid(pid, 0)[1] == 0


class Fake:
    """The stand-in driver, and what it saw last."""

    class Launch(C.Structure):                # FakeLaunch of fakecuda.h
        _fields_ = [("function", C.c_char * 64), ("grid", C.c_uint * 3), ("block", C.c_uint * 3),
                    ("shared", C.c_uint), ("stream", C.c_uint64), ("cluster", C.c_uint * 3),
                    ("cooperative", C.c_int), ("programmatic", C.c_int),
                    ("params", C.c_uint64 * 64)]

    def __init__(self):
        self.lib = C.CDLL(DRIVER)
        self.lib.fake_reset()
        self.lib.fake_expect_params(3)
        self.lib.fake_last_launch.restype = C.POINTER(self.Launch)

    @property
    def last(self):
        return self.lib.fake_last_launch().contents


class Cuda:
    """An array with __cuda_array_interface__."""

    def __init__(self, n, stream=None, device=0):
        self.data = array.array("f", [0] * n)
        self.__cuda_array_interface__ = {"data": (self.data.buffer_info()[0], False),
                                         "typestr": "<f4", "shape": (n,), "version": 3,
                                         "stream": stream}
        self.device = types.SimpleNamespace(id=device)


def on_gpu(m):
    fake = Fake()
    tilec.Runtime("cuda", driver_path=DRIVER, cache_dir=None).share()
    torch = fake_torch.install(stream=0x77)
    x, y = torch.zeros(64), torch.zeros(64)
    for call in range(3):                      # the first goes the slow way
        m.scale[5, 6](x, y, 33 + 16 * call)
        assert list(fake.last.grid) == [5, 6, 1]
        assert fake.last.stream == 0x77
        assert fake.last.params[0] == x.address and fake.last.params[1] == y.address
        assert fake.last.params[2] & 0xffffffff == 33 + 16 * call
    torch.stream = 0x78
    m.scale(x, y, 33)
    assert fake.last.stream == 0x78 and fake.last.grid[0] == 3
    m.scale[1](x, y, 33, stream=0x99)
    assert fake.last.stream == 0x99
    m.scale[1](x, y, 33, stream=types.SimpleNamespace(cuda_stream=0x9a))
    assert fake.last.stream == 0x9a
    m.scale[lambda meta: meta["BLOCK"]](x, y, 33)
    assert fake.last.grid[0] == 16
    class TypedPointer:                        # all that Triton asks of an array, and no size
        dtype = torch.float32
        data_ptr = lambda self: x.address + 4
        untyped_storage = lambda self: self
    m.scale[1](TypedPointer(), y, 33)
    assert fake.last.params[0] == x.address + 4 and fake.last.params[1] == y.address
    m.pair[1](x, fake_torch.Parameter(y.data, torch.float32, "cuda"), True, None, x)
    raises(ValueError, "'x' is on GPU 0, 'y' on the host",
           lambda: m.scale[1](x, torch.zeros(8, "cpu"), 8))
    raises(ValueError, "'x' is on GPU 0, 'y' on GPU 1",
           lambda: m.scale[1](x, torch.zeros(8, "cuda", 1), 8))
    raises(TypeError, "complex64", lambda: m.scale[1](
        x, fake_torch.Tensor(y.data, torch.complex64, "cuda", 0), 8))
    raises(ValueError, "arrays are on GPU 0",
           lambda: tilec.load(source=SCALE, on="cpu").scale[1](x, y, 8))
    host = torch.zeros(16, "cpu")
    m.scale(torch.zeros(16, "cpu"), host, 16)             # torch's tensors on the CPU executor
    m.scale[1](Cuda(8), Cuda(8, 0x55), 8)
    assert fake.last.stream == 0x55
    descriptors_on_gpu(fake, torch)
    z = Dlpack([0.0] * 8, device=(2, 0))
    m.scale[1](Cuda(8), z, 8, stream=0x44)
    assert fake.last.stream == 0x44 and z.streams == [0x44] and z.deleted == 1
    for args in ((z, x), (x, z)):              # the producer hears of the stream that is used
        m.scale[1](*args, 8)
        assert fake.last.stream == 0x78 and z.streams[-1] == 0x78
    m.scale[1](z, z, 8)
    assert fake.last.stream == 0 and z.streams[-1] == 1
    m.scale[1](tilec.Pointer(0x1000, "fp32"), tilec.Pointer(0x2000, "fp32"), 8)
    assert fake.last.params[0] == 0x1000
    # autotuned: in the library, or here when only Python knows the grid of each configuration
    m.tuned[4](x, y, 32)
    for n in (64, 48, 64):
        grids, known = [], len(m.tuned._choices)

        def grid(meta):
            grids.append((-(-n // meta["BLOCK"]), meta["num_warps"]))
            return grids[-1][:1]
        m.tuned[grid](x, y, n)
        assert fake.last.grid[0] == grids[-1][0] and grids[-1] in ((n // 8, 4), (-(-n // 32), 8))
        assert fake.last.block[0] == 32        # neither has tiles of more elements
        assert len(grids) == (3 if len(m.tuned._choices) != known else 1), grids
    assert len(m.tuned._choices) == 2
    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(
        get_current_stream=lambda: types.SimpleNamespace(ptr=0x66))
    sys.modules["cupy"] = cupy
    array_of_cupy = type("ndarray", (Cuda,), {"__module__": "cupy"})
    m.scale[1](array_of_cupy(8, 0x66), array_of_cupy(8, 0x66), 8)
    assert fake.last.stream == 0x66
    del sys.modules["cupy"]
    m.scale[1](x, Cuda(8, 0x55), 8)                    # torch's stream; the other was waited for
    assert fake.last.stream == 0x78
    again = m.scale.bind(1, x, y, 9)
    again()
    assert fake.last.params[2] & 0xffffffff == 9
    with tempfile.TemporaryDirectory() as folder:      # a runtime of one's own, with a disk cache
        rt = tilec.Runtime("cuda", driver_path=DRIVER, cache_dir=folder + "/c",
                           synchronous=True).share()
        assert tilec.Runtime.get("cuda", 0) is rt
        m.scale[2](x, y, 9)
        assert fake.last.grid[0] == 2
        assert any(name.endswith(".tilec") for name in os.listdir(folder + "/c"))
        rt.sync()
    tilec.Runtime("cuda", driver_path=DRIVER, cache_dir=None, check=True).share()
    raises(tilec.Error, "parameter 'x' is *fp32", lambda: m.scale[2](x, y, 9))
    tilec.Runtime("cuda", driver_path=DRIVER, cache_dir=None).share()
    return torch


def annotations():
    """What Triton ignores in an annotation does not bind an argument; tl.const is not stored to."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "kernels.py")
        with open(file, "w") as f:
            f.write(TRITON)
        m = tilec.load(file)
        types = {p["name"]: p["type"] for p in m.says_nothing.info["params"]}
        assert types == {"x": None, "y": None, "o": None, "u": None, "c": None, "q": "*fp32",
                         "n": "i32", "s": "fp32", "BLOCK": None}, types
        x, c, q, out = Host([1, 2, 3, 4]), Host([10] * 4), Host([100] * 4), Host([0] * 4)
        for y in (x, 7):                           # an integer for a torch.Tensor too
            m.says_nothing[1](x, y, out, 3.5, c, q, 4, 0.5, BLOCK=4)
            assert list(out.data) == [111.5, 112.5, 113.5, 114.5], out.data
        raises(tilec.Error, "ptr<const fp32>", lambda: m.stores[1](c))


def descriptors():
    """A host array of 7 rows of 20, each 24 apart, in blocks; Triton's class has the same fields."""
    twice = tilec.load(source="@kernel\ndef twice(x, y, n):\n"
                              "    at = [program_id(0) * 4, program_id(1) * 16]\n"
                              "    y.store(at, x.load(at) * 2 + n)\n").twice
    values = [100 * (i // 24) + i % 24 for i in range(7 * 24)]
    x, y = Host(values), Host([-1] * 7 * 24)
    of = lambda a, **more: types.SimpleNamespace(
        **{**dict(base=a, shape=[7, 20], strides=[24, 1], block_shape=[4, 16]), **more})
    own = tilec.TensorDescriptor(x, [7, 20], [24, 1], [4, 16])
    twice[2, 2](own, of(y), 3)
    assert list(y.data) == [2 * v + 3 if i % 24 < 20 else -1 for i, v in enumerate(values)]
    raises(tilec.Error, "the last stride of a tensor must be 1", lambda: twice[2, 2](
        own, of(y, strides=[24, 2]), 3))
    raises(ValueError, "'y': shape, strides and block_shape", lambda: twice[2, 2](
        own, of(y, shape=[7]), 3))
    raises(ValueError, "'y': a tensor descriptor of the host pads with zeros",
           lambda: twice[2, 2](own, of(y, padding="nan"), 3))
    raises(ValueError, "'y' is read-only, and kernel 'twice' writes to it",
           lambda: twice[2, 2](own, of(Host(values, read_only=True)), 3))
    if numpy is not None:
        a, b = numpy.arange(96, dtype="f4").reshape(6, 16), numpy.zeros((6, 16), "f4")
        block = [4, 16]
        twice[2, 1](tilec.TensorDescriptor.from_tensor(a, block),
                    tilec.TensorDescriptor.from_tensor(b, block), 1)
        assert (b == 2 * a + 1).all()


def descriptors_on_gpu(fake, torch):
    """Of torch tensors they go the short way; the launch hears of each change of their fields."""
    twice = tilec.load(source="@kernel\ndef twice(x, y, n):\n"
                              "    y.store([0, 0], x.load([0, 0]) * 2 + n)\n").twice
    x, y = torch.zeros(512), torch.zeros(512)
    of = lambda a, block=4: tilec.TensorDescriptor(a, [32, 16], (16, 1), [block, 16])
    long_way = []
    twice._space[twice._mark + "slow"] = lambda *a: long_way.append(a)
    fake.lib.fake_expect_params(9)
    for a, rows, block in ((x, 32, 4), (y, 20, 8), (x, 7, 4)):
        d = of(a, block)
        d.shape[0] = rows
        twice[1](d, of(y, block), 3)
        assert not long_way and fake.last.params[0] == a.address, long_way
        assert fake.last.params[1] & 0xffffffff == rows and fake.last.params[3] == 16
        assert fake.last.params[4] == y.address
    odd = tilec.TensorDescriptor(x, [32, 16], [16.5, 1], [4, 16])
    padded = of(x)
    padded.padding = "nan"
    for d in (of(torch.zeros(512, "cpu")), of(torch.zeros(512, "cuda", 1)), odd, padded, of(Cuda(512))):
        twice[1](of(x), d, 3)
    assert len(long_way) == 5, long_way
    fake.lib.fake_expect_params(3)


def waits_end():
    """In a process of its own, on whose GPU no kernel ends."""
    code = """
import sys
import tilec
tilec.library(sys.argv[1])
rt = tilec.Runtime("cuda", driver_path=sys.argv[2], cache_dir=None, timeout_ms=200)
for wanted, give_up in (("TILEC_TIMED_OUT", False), ("TILEC_DEVICE_LOST", True)):
    if give_up:
        rt.abandon()
    try:
        rt.sync()
        raise SystemExit("it ended")
    except tilec.Error as e:
        assert e.status == wanted, e
"""
    subprocess.run([sys.executable, "-B", "-c", code, sys.argv[2], DRIVER], check=True, timeout=60,
                   env={**os.environ, "FAKE_HANGS": "1", "PYTHONPATH": sys.argv[1]})


def warnings_name_the_users_line():
    """Whichever way leads to a compilation."""
    text = ("@kernel(grid=(1,))\ndef k(x: *fp32, N: constexpr):\n    i = arange(0, 16)\n"
            "    store(x + i, where(i - N, 1.0, 2.0))\n")
    k, x = tilec.load(source=text).k, Host([0] * 16)
    ways = [lambda: k(x, N=1),
            lambda: k[(1,)](x, 2),
            lambda: k.prepare(x, 3),
            lambda: k.bind(None, x, 4)()]
    for way in ways:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            way()
        assert len(said) == 1 and "W0250" in str(said[0].message), said
        line = way.__code__.co_firstlineno
        assert (said[0].filename, said[0].lineno) == (__file__, line), (said[0], line)


def launch_cost(m, torch):
    """Medians in microseconds.  The bounds are generous: the machine may be busy."""
    x = [torch.zeros(64) for _ in range(10)]
    text = "@kernel\ndef wide(%s):\n    store(p1, load(p0))\n" % ", ".join(
        ["p%d: *fp32" % i for i in range(10)] + ["s%d: i32" % i for i in range(10)])
    wide = tilec.load(source=text).wide
    numbers = list(range(16, 26))
    calls = {3: lambda: m.scale[(4,)](x[0], x[1], 64), 20: lambda: wide[(4,)](*x, *numbers)}
    for count, bound in ((3, 20.0), (20, 60.0)):
        call, rounds = calls[count], []
        for _ in range(9):
            start = time.perf_counter()
            for _ in range(2000):
                call()
            rounds.append((time.perf_counter() - start) / 2000 * 1e6)
        rounds.sort()
        print("launch with %d arguments: %.2f us, fastest round %.2f" % (count, rounds[4],
                                                                         rounds[0]))
        assert rounds[0] < bound, (count, rounds)


module = tilec.load(source=SCALE)
host_arrays(module)
dlpack(module)
threads(module)
forked(module)
annotations()
descriptors()
empty_views()
waits_end()
warnings_name_the_users_line()
if numpy is None:
    print("numpy is not here: its arrays are left out")
else:
    numpy_arrays(module)
launch_cost(module, on_gpu(module))
print("python arrays: ok")
