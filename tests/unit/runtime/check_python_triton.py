"""tilec.triton over the compiler: programs for Triton, on the CPU executor, with numpy arrays.
check_python_triton.py FOLDER_OF_TILEC LIBRARY.  77: no numpy here."""
import ast
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import typing
import warnings

sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1]]
os.environ["TILEC_LIBRARY"] = sys.argv[2]
try:
    import numpy
except ImportError:
    print("no numpy: skipped")
    sys.exit(77)
import tilec.triton

triton = tilec.triton.install()
import triton.language as tl
import triton.language as other_name_of_tl
from triton.language import load as fetch
from triton.language.extra import libdevice
from triton.language.extra.cuda import gdc, utils

FACTOR = tl.constexpr(3)
PLAIN = 3
TABLE = tl.constexpr((5, 7))


def raises(kind, words, call):
    try:
        call()
    except kind as e:
        assert words in str(e), "%r does not say %r" % (str(e), words)
        return e
    raise AssertionError("accepted; wanted %s: %s" % (kind.__name__, words))


def floats(n):
    return numpy.arange(n, dtype=numpy.float32)


# ---- what a kernel's text is put together from ----

@triton.jit
def scaled(x):
    return x * FACTOR


also_scaled = scaled


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def names(x, out, n, BLOCK: tl.constexpr = 16 * FACTOR.value // 3, HOW: "tl.constexpr" = None):
    i = other_name_of_tl.arange(0, BLOCK)
    v = also_scaled(fetch(x + i, i < n)) + TABLE[1]
    if HOW is not None:
        v = HOW(v)
    tl.store(out + i, libdevice.sqrt(tl.math.abs(v)), i < n)


def maker(k, combine):
    FACTOR = tl.constexpr(k)          # not the module's

    @triton.jit
    def made(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, combine(scaled(tl.load(x + i)), FACTOR))
    return made


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def minus(a, b):
    return a - b


class Holder:
    @triton.jit
    def kernel(x, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i) + 1)

    def run(self, x):
        self.kernel[(1,)](x, BLOCK=x.size)


@triton.jit
def uses_plain(x):
    tl.store(x, PLAIN)


ANNOTATED: tl.constexpr = 3


@triton.jit
def uses_annotated(x):
    tl.store(x, ANNOTATED)


@triton.jit
def of_tuple(pair, out, n):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(pair[0] + i) * pair[1][0] + pair[1][1] + n)


@triton.jit
def of_descriptor(d, out, M: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, 8)
    tl.store(out + i[:, None] * 8 + j[None, :], d.load([M, 0]))


int_of = triton.constexpr_function(tl.core.get_int_dtype)


def plain_number(v):
    return v.value if isinstance(v, tl.constexpr) else v


@tl.constexpr
def unsigned(bits):
    return tl.core.get_int_dtype(plain_number(bits), False)


@triton.jit
def bits(x, out, n):
    i = tl.arange(0, 16)
    v = tl.load(x + i, i < n)
    word: tl.constexpr = int_of(bitwidth=v.dtype.primitive_bitwidth, signed=True)
    same = v.to(unsigned(v.dtype.primitive_bitwidth), bitcast=True).to(word)
    tl.store(out + i, v.to(word, bitcast=True) & same, i < n)


def check_text():
    x, out = floats(16), numpy.zeros(16, numpy.float32)
    names[(1,)](x, out, 16)
    assert numpy.allclose(out, numpy.sqrt(x * 3 + 7))
    names[(1,)](x, out, 16, HOW=scaled)
    assert numpy.allclose(out, numpy.sqrt(3 * (x * 3 + 7)))
    for k, combine, want in ((2, plus, x * 3 + 2), (5, plus, x * 3 + 5), (5, minus, x * 3 - 5)):
        maker(k, combine)[(1,)](x, out, BLOCK=16)
        assert numpy.array_equal(out, want)
    word = numpy.zeros(16, numpy.int32)
    bits[(1,)](x, word, 16)             # a name of the language under constexpr_function
    assert numpy.array_equal(word, x.view(numpy.int32))
    y = floats(16)
    Holder().run(y)
    assert numpy.array_equal(y, x + 1)
    assert scaled.__globals__ is globals() and scaled.__name__ == "scaled"
    e = raises(triton.CompilationError, "PLAIN", lambda: uses_plain[(1,)](y))
    assert "not made by tl.constexpr" in str(e), e
    assert "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1" in str(e), e
    e = raises(triton.CompilationError, "ANNOTATED", lambda: uses_annotated[(1,)](y))
    assert "and not an annotation" in str(e), e
    of_tuple[(1,)]((x, (2, 3.5)), out, 1)
    assert numpy.allclose(out[:8], x[:8] * 2 + 4.5)
    table = floats(64).reshape(8, 8)
    tile = numpy.zeros((4, 8), numpy.float32)
    of_descriptor[(1,)](Descriptor(table, [4, 8]), tile, M=4)
    assert numpy.array_equal(tile, table[4:])


class Descriptor:
    """A descriptor of another maker, known by its fields."""

    def __init__(self, a, block_shape):
        self.base, self.shape, self.block_shape = a, a.shape, block_shape
        self.strides, self.padding = [s // a.itemsize for s in a.strides], "zero"


def check_files():
    """Helpers of other files; errors name the line of the file that has it."""
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w") as f:
                f.write(textwrap.dedent(text))
        write("helper.py", """
            import triton
            import triton.language as tl

            ONE = tl.constexpr(1)

            @triton.jit
            def one_more(x):
                return x + ONE

            @triton.jit
            def wrong(x):
                return x + tl.no_such_thing(x)
            """)
        write("program.py", """
            import sys
            import numpy
            import triton, triton.language as tl
            import helper
            from helper import one_more as more, wrong
            assert triton.__tilec__ and sys.argv[1:] == ["a", "b"]
            assert sys.path[0] in triton.__file__

            @triton.jit
            def kernel(x, WRONG: tl.constexpr):
                if WRONG:
                    tl.store(x, wrong(0))
                tl.store(x, more(helper.one_more(tl.load(x))))

            @triton.jit
            def outside(x):
                tl.store(x + 100, 1)

            x = numpy.zeros(1, numpy.int32)
            kernel[(1,)](x, WRONG=False)
            assert x[0] == 2
            for call in (lambda: kernel[(1,)](x, WRONG=True), lambda: outside[(1,)](x)):
                try:
                    call()
                except Exception as e:
                    print(type(e).__name__, e)
            """)
        run = subprocess.run([sys.executable, "-m", "tilec.triton", "program.py", "a", "b"],
                             cwd=folder, text=True, capture_output=True,
                             env={**os.environ, "PYTHONPATH": sys.argv[1]})
        assert run.returncode == 0, run.stderr
        assert "CompilationError" in run.stdout, run.stdout
        assert os.path.join(folder, "helper.py") + ":13:" in run.stdout, run.stdout
        assert "RuntimeError" in run.stdout and "outside buffer 'x'" in run.stdout, run.stdout
        assert "program.py:18:" in run.stdout, run.stdout


def check_modules():
    """Files that import each other, and functions that lie in classes of a module."""
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for name, text in (("first_file", """
                import enum
                import triton, triton.language as tl
                import second_file

                class Way(enum.IntEnum):
                    DOWN = 1
                    UP = 2

                class Steps:
                    SIZE = tl.constexpr(3)

                    @staticmethod
                    @triton.jit
                    def up(x):
                        return x + second_file.Sizes.Inner.ONE

                class Other:
                    @staticmethod
                    @triton.jit
                    def up(x):
                        return x + 100

                @triton.jit
                def back(x):
                    return x * 2

                @triton.jit
                def kernel(x, WAY: tl.constexpr):
                    v = second_file.there(tl.load(x))
                    if WAY == second_file.first_file.Way.UP:
                        v = second_file.first_file.Steps.up(v)
                    tl.store(x, v + second_file.first_file.Steps.SIZE)

                @triton.jit
                def misspelt(x):
                    tl.store(x, second_file.thre(tl.load(x)))
                """), ("second_file", """
                import triton, triton.language as tl
                import first_file

                class Sizes:
                    class Inner:
                        ONE = 1

                @triton.jit
                def there(x):
                    return first_file.back(x) + first_file.Other.up(x)
                """)):
            with open(os.path.join(folder, name + ".py"), "w") as f:
                f.write(textwrap.dedent(text))
        first = __import__("first_file")
        x = numpy.array([10], numpy.int32)
        for way, more in ((first.Way.UP, 1), (first.Way.DOWN, 0), (2, 1)):
            x[0] = 10
            first.kernel[(1,)](x, way)
            assert x[0] == 20 + 110 + more + 3, (way, x)
        raises(triton.CompilationError, "module 'second_file' has no name 'thre'; did you mean 'there'",
               lambda: first.misspelt[(1,)](x))
        sys.path.remove(folder)


def check_two_threads():
    """The first launches of a kernel with a helper in another file, at once: both write the file."""
    made, outs = maker(2, plus), [numpy.zeros(16, numpy.float32) for _ in range(2)]
    both, replace = threading.Barrier(2, timeout=30), os.replace

    def replace_together(part, whole):
        both.wait()
        replace(part, whole)
    os.replace = replace_together
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda out: made[(1,)](floats(16), out, BLOCK=16), outs))
    finally:
        os.replace = replace
    assert all(numpy.array_equal(out, floats(16) * 3 + 2) for out in outs)
    parse, inside, most = ast.parse, [], []

    def parse_slowly(text):                 # CPython 3.11 fails where two threads are in it
        inside.append(text)
        most.append(len(inside))
        time.sleep(0.05)
        inside.pop()
        return parse(text)
    ast.parse = parse_slowly
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda k: triton.jit(k).parse(), (plus.fn, minus.fn)))
    finally:
        ast.parse = parse
    assert most == [1, 1], most


# ---- launches ----

def check_launches():
    x, y, out = floats(100), floats(100), numpy.zeros(100, numpy.float32)
    seen = []
    kernel = add[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, 100, BLOCK=32)
    assert numpy.array_equal(out, 2 * x)
    assert ".entry add" in kernel.asm["ptx"] and kernel.metadata.num_warps == 1  # of 32 elements
    assert kernel.metadata.target.backend == "cuda" and kernel.n_regs > 0
    raises(KeyError, "ttgir", lambda: kernel.asm["ttgir"])
    raises(KeyError, "nonsense", lambda: add[(4,)](x, y, out, 100, BLOCK=32, nonsense=1))
    raises(TypeError, "BLOCK", lambda: add[(4,)](x, y, out, 100))
    raises(RuntimeError, "Cannot call", lambda: add(x, y, out, 100))
    raises(ValueError, "triton.jit", lambda: tl.load(x))
    mock = triton.runtime.jit.MockTensor(tl.float32)
    warmed = [add.warmup(mock, mock, mock, n, BLOCK=64, grid=(1,)) for n in (100, 100, 112)]
    assert warmed[0] is warmed[1] and warmed[2].key != warmed[0].key
    assert len(add.device_caches.found) == 1         # what was met twice
    odd = [add.warmup(mock, mock, mock, n, BLOCK=64, grid=(1,)) for n in (101, 104)]
    assert odd[0] is odd[1] is warmed[0]             # one case to Triton, three to a launch
    counts = [len(add.device_caches[0][0])]
    for n in (36, 40, 99):                           # divisible by 4, by 8, by neither
        add[(4,)](x, y, out, n, BLOCK=32)
        assert numpy.array_equal(out[:n], 2 * x[:n])
        counts.append(len(add.device_caches[0][0]))
    assert len(set(counts)) == 1, counts
    again = add.warmup(x, y, out, 100, BLOCK=64, grid=(1,), num_warps=8)
    assert again.metadata.num_warps == 2             # of 64 elements
    out[:] = 0
    again[(2, 1, 1)](x, y, out, 100, 64)
    assert numpy.array_equal(out, 2 * x)
    add.add_pre_run_hook(lambda *args, **kw: seen.append(kw["BLOCK"]))
    add[(4,)](x, y, out, 100, BLOCK=32)
    add.pre_run_hooks.clear()
    assert seen == [32]
    triton.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(data.get()["name"]))
    add[(4,)](x, y, out, 100, BLOCK=32)
    triton.knobs.runtime.launch_enter_hook.calls.clear()
    assert seen == [32, "add"]
    check_hook_in_place_of_the_chain(lambda: add[(4,)](x, y, out, 100, BLOCK=32))


def check_hook_in_place_of_the_chain(launch):
    """Programs also assign what is called, or None; launches on a GPU look at one list."""
    from triton.runtime.launch import _ENTER
    settings, seen = triton.knobs.runtime, []
    chain, hook = settings.launch_enter_hook, lambda data: seen.append(data.get()["name"])
    chain.add(lambda data: seen.append("chain"))
    settings.launch_enter_hook = hook
    launch()
    assert settings.launch_enter_hook is hook and _ENTER == [hook]
    with settings.scope():
        settings.launch_enter_hook = None
        launch()
        assert not _ENTER
    assert _ENTER == [hook] and seen == ["add"]
    settings.launch_enter_hook = chain
    launch()
    assert seen == ["add", "chain"]
    chain.calls.clear()
    assert not _ENTER


class Pair(typing.NamedTuple):
    fn: tl.constexpr
    data: tuple


@triton.jit
def of_named(pair, out):
    i = tl.arange(0, 8)
    tl.store(out + i, pair.fn(tl.load(pair.data[0] + i), pair.data[1]))


LIMIT = tl.constexpr(4)


@triton.jit
def limited(out, i: tl.int64):
    tl.static_assert(i.dtype == tl.int64)
    tl.store(out, LIMIT + i)


@triton.jit
def of_word(out, KIND: tl.constexpr):
    tl.static_assert(KIND == "e5m2" or KIND == "a 'b")
    tl.store(out, 2)


@triton.jit
def wrong_range():
    # places are counted from the def
    x = tl.arange(2, 7)


@triton.jit
def powers(x):
    i = tl.arange(0, 8)
    tl.store(x + i, tl.exp2(tl.load(x + i)))


@triton.jit
def calls_limited(out):
    limited(out, 1)


@triton.constexpr_function
def even(n):
    return n == 0 or odd(n - 1)


@triton.constexpr_function
def odd(n):
    return n != 0 and even(n - 1)


@triton.constexpr_function
def uncertain():
    return os.path.basename("a")


@tl.constexpr
def wider(dtype: tl.dtype) -> tl.dtype:
    return tl.float32 if dtype.is_int() else dtype


@triton.jit
def widened(x, out):
    i = tl.arange(0, 8)
    to: tl.constexpr = wider(x.type.element_ty)
    tl.store(out + i, tl.load(x + i).to(to) / 2)


@triton.jit
def is_even(out, N: tl.constexpr):
    tl.store(out, 1.0 if even(N) else 0.0)


def check_keys(out):
    """Keys follow the texts of what is called; a text that comes back is not compiled again."""
    before, kernel, text = even.cache_key, is_even.cache_key, odd.src
    is_even[(1,)](out, 3)
    assert out[0] == 0
    programs = list(is_even._launcher.programs.values())
    widened[(1,)](numpy.arange(8, dtype=numpy.int16), out)
    assert out[7] == 3.5
    odd._unsafe_update_src(text.replace("n != 0", "n == 2"))
    is_even[(1,)](out, 3)
    assert out[0] == 0 and even.cache_key != before and is_even.cache_key != kernel
    odd._unsafe_update_src(text.replace("n != 0 and", "n != 0 or"))
    is_even[(1,)](out, 3)
    assert out[0] == 1
    odd._unsafe_update_src(text)
    is_even[(1,)](out, 3)
    assert out[0] == 0 and list(is_even._launcher.programs.values()) == programs
    assert even.cache_key == before
    raises(RuntimeError, "Unsupported function referenced", lambda: uncertain.cache_key)


def check_overrides(x):
    """What would replace a stage of Triton's is never passed over in silence."""
    raises(NotImplementedError, "ir_override='a.ttir'",
           lambda: powers[(1,)](x, ir_override="a.ttir"))
    config = triton.Config({}, ir_override="b.ptx")
    tuned = triton.autotune(configs=[config], key=[])(powers)
    raises(NotImplementedError, "ir_override='b.ptx'", lambda: tuned[(1,)](x))
    triton.knobs.compilation.override = triton.knobs.compilation.dump_ir = True
    os.environ["MLIR_ENABLE_DUMP"] = "1"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        powers.warmup(x, grid=(1,), num_warps=2)
    triton.knobs.compilation.reset()
    del os.environ["MLIR_ENABLE_DUMP"]
    names = [str(w.message).split(" is set: tilec has none of Triton's stages ")[0] for w in said]
    assert names == ["TRITON_KERNEL_OVERRIDE", "TRITON_KERNEL_DUMP", "MLIR_ENABLE_DUMP"], names


def check_variants():
    """Hooks around compiling, what is kept, what must not change."""
    global LIMIT
    x, out = floats(8), numpy.zeros(8, numpy.float32)
    of_named[(1,)](Pair(plus, (x, 2)), out)
    assert numpy.array_equal(out, x + 2)
    of_named[(1,)](Pair(minus, (x, 5)), out)
    assert numpy.array_equal(out, x - 5)
    seen = []
    triton.knobs.runtime.jit_cache_hook = lambda **kw: seen.append(kw)
    try:
        first = limited.warmup(out, 16, grid=(1,))
        assert limited.warmup(out, 32, grid=(1,)) is first and len(seen) == 1
        limited.warmup(out, 3, grid=(1,), num_warps=8)
        limited.warmup(out, 1, grid=(1,), num_warps=8)     # the same code, by another key
    finally:
        triton.knobs.runtime.reset()
    assert [kw["compile"]["num_warps"] for kw in seen] == [4, 8, 8]
    again = limited.warmup(out, 3, grid=(1,), num_warps=8)  # a class for each is never freed
    assert type(again.specialization) is type(first.specialization)
    assert seen[0]["fn"].name == "limited" and seen[0]["is_manual_warmup"]
    of_word[(1,)](out, KIND="e5m2")                    # no type, though -D would take it for one
    of_word[(1,)](out, KIND="a 'b")
    assert out[0] == 2
    assert ".entry of_word" in of_word.warmup(out, KIND="e5m2", grid=(1,)).asm["ptx"]
    assert len(limited.device_caches[0][0]) == 3
    stored = seen[0]["compile"]["specialization_data"]
    assert limited.preload(stored).hash == first.hash
    raises(RuntimeError, "is for", lambda: of_named.preload(stored))
    limited[(1,)](out, 1)
    assert out[0] == 5
    for keeps in (True, False, True):                  # results below 2^-126
        made = powers.warmup(x, grid=(1,), enable_reflect_ftz=not keeps)
        assert ("ex2.approx.ftz.f32" in made.asm["ptx"]) is not keeps
        assert made.metadata.enable_fp_fusion
    check_overrides(x)
    LIMIT = tl.constexpr(9)
    for _ in range(2):
        raises(RuntimeError, "LIMIT has changed", lambda: limited[(1,)](out, 1))
    raises(RuntimeError, "value constexpr[9] when compiling calls_limited, but inner kernel limited "
           "has conflicting value constexpr[4]", lambda: calls_limited[(1,)](out))
    check_keys(out)
    with concurrent.futures.ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        pending = Holder.kernel.warmup(x, BLOCK=4, grid=(1,))
    assert ".entry kernel" in pending.result().asm["ptx"]
    raises(triton.CompilationError, "a dict",
           lambda: names[(1,)](x, out, 8, HOW={}))
    e = raises(triton.CompilationError, "error[E0316]",
               lambda: wrong_range.warmup(grid=(1,)))
    assert "at 3:8:" in str(e) and str(e.__cause__) == "arange's range must be a power of 2", e
    raises(AssertionError, "power of 2", lambda: uses_plain[(1,)](x, num_warps=3))
    raises(KeyError, "num_warp was specified but unrecognised; did you mean 'num_warps'?",
           lambda: Holder.kernel[(1,)](x, BLOCK=4, num_warp=2))


class Array:
    """A numpy array with what autotune asks of tensors."""

    def __init__(self, data):
        self.data, self.dtype = data, data.dtype
        self.__array_interface__ = data.__array_interface__

    def zero_(self):
        self.data[:] = 0

    def clone(self):
        return Array(self.data.copy())

    def copy_(self, other):
        self.data[:] = other.data


measured = []


def measure(call, quantiles):
    call()
    measured.append(1)
    return [float(len(measured) != 2)] * 3         # the second is the fastest


@triton.autotune([triton.Config({"BLOCK": b}) for b in (8, 16, 32)], key=["n"],
                 reset_to_zero=["total"], do_bench=measure)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, total, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.atomic_add(total, tl.sum(tl.load(x + i)))
    else:
        tl.atomic_add(total, tl.sum(tl.load(x + i, i < n, 0.0)))


@triton.autotune([triton.Config({"BLOCK": b}) for b in (8, 16, 32)], key=["n"])
@triton.jit
def tuned_by_driver(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + BLOCK, i < n)


class Bench:
    """A driver of a program's own, with no more than Triton asks of one."""

    took = []                                      # each is faster than the one before

    def get_current_target(self):
        return triton.runtime.driver.default.get_current_target()

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_benchmarker(self):
        return lambda call, quantiles: (call(), self.took.append(-len(self.took)), self.took[-1:] * 3)[2]


def check_own_driver():
    x = numpy.zeros(64, numpy.float32)
    triton.runtime.driver.set_active(Bench())
    try:
        tuned_by_driver[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, 64)
    finally:
        triton.runtime.driver.reset_active()
    assert len(Bench.took) == 3 and tuned_by_driver.best_config.kwargs == {"BLOCK": 32}


def set_block(args):
    args["d"].block_shape = [args["ROWS"], 8]


@triton.autotune([triton.Config({"ROWS": r}, pre_hook=set_block) for r in (1, 2, 4)], key=["n"],
                 do_bench=lambda call, quantiles: (call(), [1.0 / blocks[-1]] * 3)[1])
@triton.jit
def by_blocks(d, out, n, ROWS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, 8)
    for row in range(0, n, ROWS):
        tl.store(out + (row + i[:, None]) * 8 + j[None, :], d.load([row, 0]) + ROWS)


blocks = []


def check_tuned_descriptor():
    """A configuration's pre_hook changes the block of a host descriptor."""
    x, out = floats(64).reshape(8, 8), numpy.zeros(64, numpy.float32)
    d = tilec.TensorDescriptor.from_tensor(x, [1, 1])

    def grid(meta):
        assert d.block_shape == [meta["ROWS"], 8]
        blocks.append(meta["ROWS"])
        return (1,)
    for _ in range(2):
        by_blocks[grid](d, out, 8)
        assert (out == x.ravel() + 4).all() and by_blocks.best_config.kwargs == {"ROWS": 4}
    assert blocks == [1, 2, 4, 4, 4], blocks


@triton.autotune([triton.Config({"BLOCK": b}) for b in (8, 16)], key=["n"], reset_to_zero=["total"])
@triton.jit
def not_measured(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + i, i < n, 0.0)))


def check_tuning():
    check_tuned_descriptor()
    check_own_driver()
    some = Array(numpy.full(1, 5, numpy.float32))
    not_measured[(1,)](floats(8), some, 8)                  # Triton leaves zeros behind its measuring
    assert some.data[0] == 28, some.data
    x, total = floats(64), Array(numpy.zeros(1, numpy.float32))
    for n in (64, 60, 64):
        total.zero_()
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, total, n)
        assert total.data[0] == x[:n].sum(), (n, total.data)
        measured[:] = measured[:3]
    assert tuned.best_config.kwargs == {"BLOCK": 16} and len(tuned.cache) == 2


# ---- the host's part of the language ----

def bench_runs():
    """Runs of a function that takes no time beside the emptying of a cache, which takes 2 ms."""
    driver, runs = triton.runtime.driver.active, []
    driver.clear_cache = lambda cache: time.sleep(0.002)
    try:
        triton.testing.do_bench(lambda: runs.append(0), warmup=10, rep=40)
    finally:
        del driver.clear_cache
    return len(runs)


def check_host():
    assert triton.cdiv(10, 4) == 3 and triton.next_power_of_2(9) == 16
    assert (tl.constexpr(4) + 1).value == 5 and bool(tl.constexpr(2) == 2)
    assert tl.float16.primitive_bitwidth == 16 and tl.float16.is_floating()
    assert tl.int8.get_int_min_value() == -128 and tl.uint16.get_int_max_value() == 65535
    assert tl.pointer_type(tl.float32) == tl.str_to_ty("*fp32") and tl.bfloat16 != tl.float16
    assert tl.int8.is_int8() and not tl.uint8.is_int8() and tl.float8e5.is_fp8e5()
    block = tl.block_type(tl.float16, [2, 4])
    assert block.nbytes == 16 and block.with_element_ty(tl.int8) == tl.block_type(tl.int8, [2, 4])
    assert not hasattr(tl, "no_such_thing") and hasattr(tl, "dot_scaled")
    assert triton.testing.do_bench(lambda: None, quantiles=[0.5]) >= 0
    assert bench_runs() < 60
    report = triton.testing.perf_report(triton.testing.Benchmark(
        ["n"], [1, 2], "line", ["a", "b"], ["A", "B"], "plot", {}, ylabel="ms"))
    with tempfile.TemporaryDirectory() as folder:
        report(lambda n, line: n * 2.0 + (line == "b")).run(save_path=folder)
        with open(os.path.join(folder, "plot.csv")) as f:
            assert f.read() == "n,A (ms),B (ms)\n1,2.000000,3.000000\n2,4.000000,5.000000\n"
    check_absent()
    check_torch_compile()


def check_torch_compile():
    """torch takes an Exception for "writes to nothing": what it asks for is refused by more."""
    refusal = triton._C.libtriton.TorchCompileUnsupported
    asks = {"__name__": "torch._higher_order_ops.triton_kernel_wrap", "triton": triton}
    assert not issubclass(refusal, Exception)
    raises(refusal, "torch.library.custom_op",
           lambda: exec("triton._C.libtriton.ir.context()", asks))
    assert os.environ["TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION"] == "1"
    check_has_triton()


FILES_OF_TORCH = {
    "torch/__init__.py": "", "torch/utils/__init__.py": "", "torch/_inductor/__init__.py": "",
    "torch/_inductor/config.py": "import os\ntriton_disable_device_detection = \\\n"
                                 "    os.environ['TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION'] == '1'\n",
    "torch/utils/_triton.py": "import functools\n@functools.cache\ndef has_triton():\n"
                              "    from torch._inductor.config import triton_disable_device_detection\n"
                              "    return not triton_disable_device_detection\n",
    "torch/_inductor/asks.py": "from torch.utils._triton import has_triton\nanswer = has_triton()\n",
    "torch/_dynamo/__init__.py": "",
    "torch/_dynamo/config.py": "suppress_errors = False\n",
    "torch/_dynamo/trace_rules.py": "left_out = []\nadd = left_out.append\n",
    "program.py": "import torch._dynamo.config, torch._dynamo.trace_rules\n"
                  "assert torch._dynamo.config.suppress_errors\n"
                  "assert torch._dynamo.trace_rules.left_out == ['tilec', 'triton']\n"
                  "import importlib.metadata\nimport torch._inductor.asks\n"
                  "from torch.utils._triton import has_triton\nimport triton\n"
                  "assert not torch._inductor.asks.answer and has_triton() and has_triton()\n"
                  "assert torch._inductor.config.triton_disable_device_detection\n"
                  "found = importlib.metadata.metadata('triton')\n"
                  "assert found['Version'] == triton.__version__ and 'tilec' in found['Summary']\n"}


def check_has_triton():
    """torch hears that there is no Triton, programs that ask torch hear that there is one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES_OF_TORCH.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        ran = subprocess.run([sys.executable, "-m", "tilec.triton", os.path.join(folder, "program.py")],
                             capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": sys.argv[1]})
        assert ran.returncode == 0, ran.stderr


ENDS_IN_AN_ERROR = """import array
import triton
import triton.language as tl

class Host:
    def __init__(self, items):
        self.items = array.array("f", items)
        self.__array_interface__ = {"data": (self.items.buffer_info()[0], False), "typestr": "<f4",
                                    "shape": (len(items),), "version": 3}

@triton.jit
def k(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), missing)

def launch(grid):
    k[grid](Host([1.0] * 16), B=16)

try:
    launch((1,))
except triton.CompilationError as e:
    assert "unknown name 'missing'" in str(e), e
launch(%s)
"""


def check_own_lines():
    """An error that ends a program shows the program's lines of the traceback, and says what it says once."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")

        def said(grid, **environment):
            with open(path, "w") as f:
                f.write(ENDS_IN_AN_ERROR % grid)
            ran = subprocess.run([sys.executable, "-m", "tilec.triton", path], capture_output=True,
                                 text=True, env={**os.environ, "PYTHONPATH": sys.argv[1], **environment})
            assert ran.returncode == 1, ran.stderr
            frames = [line for line in ran.stderr.splitlines() if line.startswith('  File "')]
            return ran.stderr, [f for f in frames if path not in f], len(frames)

        text, others, count = said("(1,)")
        assert not others and count == 2 and "unknown name 'missing'" in text, text
        assert "direct cause" not in text, text
        text, others, count = said("lambda meta: (meta['C'],)")     # the lambda's line as well
        assert not others and count == 3 and "'C'" in text, text
        text, others, _ = said("(1,)", TILEC_FULL_TRACEBACK="1")
        assert others, text


@triton.jit
def waits(x):
    gdc.gdc_wait()
    tl.store(x, utils.smid())


def check_absent():
    """What tilec lacks is refused by name when it is used; every name of the tables is reached."""
    absent = triton._absent
    for module in absent.MODULES:
        raises(ImportError, module + ": tilec has none: ",
               lambda: __import__(module, fromlist=["x"]))
    for module, (why, names) in absent.NAMES.items():
        found = __import__(module, fromlist=["x"])
        for name in names.split():
            raises(NotImplementedError, "%s.%s: tilec has none: %s" % (module, name, why),
                   getattr(found, name))
    from triton.backends.driver import GPUDriver
    raises(NotImplementedError, "triton.backends.driver.GPUDriver",
           lambda: type(GPUDriver)("Own", (GPUDriver,), {}))
    for group, name in (("runtime", "add_stages_inspection_hook"), ("nvidia", "ptxas_blackwell"),
                        ("compilation", "instrumentation_mode"), ("cache", "manager_class"),
                        ("compilation", "dump_ir_extract_di_local_variables"),
                        ("proton", "cupti_lib_dir"), ("proton", "enable_nvtx"), ("build", "impl"),
                        ("cache", "dump_dir"), ("nvidia", "ptxas_options")):
        setattr(getattr(triton.knobs, group), name, None)
        raises(NotImplementedError, "tilec does not follow %s='x': " % name,
               lambda: setattr(getattr(triton.knobs, group), name, "x"))
    raises(ImportError, "triton.runtime.build",
           lambda: __import__("triton.runtime", fromlist=["build"]))
    ptx = waits.warmup(floats(1), grid=(1,)).asm["ptx"]
    assert "griddepcontrol.wait" in ptx and "%smid" in ptx
    from triton.runtime.cache import FileCacheManager
    assert FileCacheManager("k").key == "k"
    driver = triton.runtime.driver.active
    units = 4 * driver.utils.get_device_properties(0)["multiprocessor_count"]
    assert triton.testing.get_max_tensorcore_tflops(tl.int8, 1e6) == units * 1.024
    assert triton.testing.get_max_simd_tflops("torch.float32", 1e6) == units * 0.032
    raises(RuntimeError, "dtype not supported",
           lambda: triton.testing.get_max_simd_tflops(tl.int8, 1))


# ---- settings ----

def check_listener():
    """knobs.compilation.listener hears of each variant, with files that it can read."""
    knobs, heard, x = triton.knobs, [], floats(4)
    with tempfile.TemporaryDirectory() as folder, knobs.cache.scope():
        knobs.cache.dir = folder
        add[(1,)](x, x, x, 4, BLOCK=256)                # nobody listens
        knobs.compilation.listener = lambda **kw: heard.append(kw)
        add[(1,)](x, x, x, 4, BLOCK=256, num_warps=2)
        add[(1,)](x, x, x, 4, BLOCK=256, num_warps=2)
        assert len(heard) == 1 and not heard[0]["cache_hit"]
        said, times = heard[0], heard[0]["times"]
        assert isinstance(times, knobs.CompileTimes) and times.ir_initialization > 0
        assert times.total_lowering > 0 < times.store_results
        assert times.total == times.ir_initialization + times.total_lowering + times.store_results
        assert said["src"].fn is add and said["metadata"]["num_warps"] == 2
        assert said["src"].signature["BLOCK"] == "constexpr"
        with open(said["metadata_group"]["add.ptx"]) as f:
            assert ".entry add" in f.read()
        add.device_caches.clear()
        add[(1,)](x, x, x, 4, BLOCK=256, num_warps=2)
        assert heard[1]["cache_hit"] and heard[1]["times"].total_lowering == 0
        assert heard[1]["metadata_group"] == said["metadata_group"]
        with knobs.compilation.scope():
            knobs.compilation.listener = None
            add[(1,)](x, x, x, 4, BLOCK=256, num_warps=1)
        add[(1,)](x, x, x, 4, BLOCK=256, num_warps=8)
        assert len(heard) == 3 and heard[2]["metadata"]["num_warps"] == 8
        knobs.compilation.listener = None
        add[(1,)](x, x, x, 4, BLOCK=256, num_warps=16)
        assert len(heard) == 3


def check_settings():
    knobs = triton.knobs
    with knobs.runtime.scope():
        knobs.runtime.override_arch = "sm90"
        assert os.environ["TRITON_OVERRIDE_ARCH"] == "sm90"
        knobs.runtime.override_arch = knobs.env
        os.environ["TRITON_OVERRIDE_ARCH"] = "sm80"
        assert knobs.runtime.override_arch == "sm80"
    assert knobs.toenv(True) == ("1",) and knobs.toenv(None) == (None,) and not knobs.toenv([])
    assert knobs.build.backend_dirs == set() and knobs.redis.port == 6379
    with tempfile.TemporaryDirectory() as folder, knobs.nvidia.scope():
        tool = os.path.join(folder, "nvdisasm")
        with open(tool, "w") as f:
            f.write("#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.1'\n")
        os.chmod(tool, 0o755)
        knobs.nvidia.nvdisasm = tool
        assert knobs.nvidia.nvdisasm == knobs.NvidiaTool(tool, "12.9")
        assert knobs.nvidia.knobs["nvdisasm"].version == "12.9"


# ---- what libraries ask and make ----

@triton.jit
def applied(out, f: tl.constexpr):
    value = 2.0
    tl.store(out, f(value))


def check_libraries():
    """Kernels of a text that a program puts together, under other names; what host code asks."""
    from triton.backends import backends
    from triton.language import standard, target_info
    assert [b.driver.is_active() for b in backends.values()] == [True]
    assert standard._log2(tl.constexpr(64)) == 6 and not standard._is_power_of_two(12)
    assert target_info.is_cuda() == (target_info.current_target().backend == "cuda")
    assert not target_info.is_hip() and target_info.cuda_capability_geq(9) in (True, False)
    scope = applied.get_capture_scope()
    assert scope["tl"] is tl and also_scaled.type == tl.core.constexpr_type(also_scaled)

    def template():
        pass
    made = types.FunctionType(template.__code__, {**scope, "scaled": scaled})
    source = "def special(out):\n    f: tl.constexpr = scaled\n    value = 2.0\n    tl.store(out, f(value))\n"
    space = dict(scope)
    exec(source, space)
    made.__signature__ = __import__("inspect").signature(space["special"])
    made.__name__ = "special"
    kernel = triton.JITFunction(made, repr=applied.repr)
    kernel._unsafe_update_src(source)
    kernel.raw_src, kernel.starting_line_number = list(applied.raw_src), applied.starting_line_number
    out = numpy.zeros(1, numpy.float32)
    for name in "special", "another":
        kernel.__name__ = kernel.fn.__name__ = name
        out[0] = 0
        kernel[(1,)](out)
        assert out[0] == 6 and kernel.def_line == applied.starting_line_number
        kernel._unsafe_update_src(source.replace("2.0", "2"))


# ---- memory beside the arguments ----

@triton.jit
def backwards(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x - i, i < n), i < n)


@triton.jit
def gathered(addresses, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(addresses + row).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, B)
    tl.store(out + row * n + i, tl.load(x + i, i < n), i < n)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


class Middle:
    """An object of a program's own that says where its memory begins, not how much there is."""

    def __init__(self, array, at):
        self.array, self.at, self.dtype = array, at, array.dtype
        self.device = types.SimpleNamespace(type="cpu")

    def data_ptr(self):
        return self.array.ctypes.data + 4 * self.at


def check_memory():
    x, out = floats(10), floats(10)
    backwards[(1,)](x[9:], out, 10, B=16)
    assert (out == x[::-1]).all(), out
    backwards[(1,)](Middle(x, 7), out, 8, B=16)
    assert (out[:8] == x[7::-1]).all(), out
    raises(RuntimeError, "index -9", lambda: backwards[(1,)](x[8:], out, 10, B=16))
    rows = [numpy.full(8, i, numpy.float32) for i in range(100)]
    many = numpy.zeros((100, 8), numpy.float32)
    addresses = numpy.array([r.ctypes.data for r in rows])
    gathered[(100,)](addresses, many, 8, B=8)
    assert (many.T == numpy.arange(100)).all() and all((r == i + 1).all() for i, r in enumerate(rows))
    rows[3].flags.writeable = False
    raises(RuntimeError, "belongs to no buffer", lambda: gathered[(4,)](addresses, many, 8, B=8))
    raises(RuntimeError, "belongs to no buffer",
           lambda: gathered[(1,)](numpy.array([64]), many, 8, B=8))


# ---- Gluon ----

def check_gluon():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("in_gluon", """
            from triton.experimental import gluon
            import triton.experimental.gluon.language as gl
            from triton.experimental.gluon.language.nvidia.hopper import tma, mbarrier
            from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
            LAYOUT = gl.BlockedLayout([1], [32], [4], [0])

            @gluon.jit
            def low(x, layout: gl.constexpr):
                gl.store(x + gl.arange(0, 128, layout=layout), 1.0)

            @gluon.jit(noinline=True)
            def other(x):
                gl.store(x, 1.0)
            """), ("both", """
            import in_gluon, triton, triton.language as tl

            @triton.jit
            def high(x):
                tl.store(x, 1.0)
            """), ("without", """
            try:
                import in_gluon as kernels
            except ImportError:
                kernels = None
            """)):
            with open(os.path.join(folder, name + ".py"), "w") as f:
                f.write(textwrap.dedent(text))
        sys.path.insert(0, folder)
        assert __import__("without").kernels is None
        both, x = __import__("both"), numpy.zeros(1, numpy.float32)
        both.high[(1,)](x)
        low = both.in_gluon.low
        assert x[0] == 1 and low.is_gluon() and low.arg_names == ["x", "layout"]
        for call in (lambda: low[(1,)](x, layout=both.in_gluon.LAYOUT), lambda: both.in_gluon.other[(1,)](x),
                     lambda: low.warmup(x, None, grid=(1,))):
            raises(NotImplementedError, "is written in Gluon", call)
        gl = both.in_gluon.gl
        assert gl.float16 is tl.float16 and gl.constexpr is tl.constexpr
        sys.path.remove(folder)


# ---- what is said ----

@triton.jit
def warned(x, N: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.where(i - N, 1.0, 2.0))


def check_warnings():
    x = floats(16)
    ways = [(lambda: warned[(1,)](x, 1), "should be boolean"),
            (lambda: warned[(1,)](x, 1, maxnreg=64), "does not follow maxnreg=64"),
            (lambda: warned.run(x, 2, grid=(1,), warmup=False), "should be boolean"),
            (lambda: warned.warmup(x, 3, grid=(1,)), "should be boolean")]
    for way, words in ways:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            way()
        assert [words in str(w.message) for w in said] == [True], (words, said)
        line = way.__code__.co_firstlineno if "follow" in words else warned.def_line + 2
        assert (said[0].filename, said[0].lineno) == (__file__, line), str(said[0])


@triton.jit
def summed_up(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sum(tl.load(x + i, i < n, other=0.0), axis=0)
    tl.store(total, tl.load(total) + s)


@triton.jit
def part_left_out(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y, tl.sum(tl.load(x + i, i < n), axis=0))


@triton.jit
def softmax_of_zeros(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, e / tl.sum(e, axis=0), i < n)


@triton.jit
def greets(x):
    tl.device_print("hello ", tl.load(x))


def codes_of(call):
    """What tilec warns of in it: (code, line behind the kernel's `def`)."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    assert all(w.category is tilec.Warning and w.filename == __file__ for w in said), list(map(str, said))
    return [(str(w.message)[:5], w.lineno) for w in said]


def check_slips():
    """What `tilec run` warns of, at the line of the kernel, once for a variant."""
    x, y = floats(100), floats(128)
    at = softmax_of_zeros.def_line
    assert codes_of(lambda: softmax_of_zeros[(1,)](x, y, 100, BLOCK=128)) == [("W0237", at + 4)]
    assert codes_of(lambda: softmax_of_zeros[(1,)](x, y, 100, BLOCK=128)) == []
    at = part_left_out.def_line
    assert codes_of(lambda: part_left_out[(1,)](x, y, 100, BLOCK=128)) == [("W0605", at + 2)]
    # one program does no wrong; many do, and the text shows it
    at = summed_up.def_line
    assert codes_of(lambda: summed_up[(1,)](x, y, 100, BLOCK=128)) == []
    said = codes_of(lambda: summed_up[(2,)](x, y, 100, BLOCK=128))
    assert set(said) == {("W0239", at + 3), ("W0604", at + 3)}, said
    assert codes_of(lambda: summed_up[(2,)](x, y, 100, BLOCK=128)) == []
    assert codes_of(lambda: greets[(2,)](x)) == []          # each program is heard
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "W0237")
        raises(tilec.Warning, "W0237", lambda: softmax_of_zeros[(1,)](x, y, 100, BLOCK=256))


def check_words():
    words_for = __import__("triton.compiler.triton_words", fromlist=["words_for"]).words_for
    unused = "a b.py:3:5: error[E0349]: the result of 'f' is not used\n    3 |     f(x)\n"
    unknown = "a.py:4:1: error[E0200]: unknown name 'y'\n    4 | y\n      = help: write z\n"
    quoted = "a.py:2:1: warning[W0252]: static_print: error[E0200]: unknown name 'x'\n"
    for text, words in (
            (unknown, "y is not defined"),
            ("error[E0311]: an axis is wanted; got 7\n", "invalid axis 7"),
            (unused + "      = help: keep it\n" + unknown, "The result of f is not being used. "
                                                           "keep it"),
            (unused + unknown, None),          # the help is the other error's
            ("a.py:3:1: error[E0311]: no axis\n" + "a.py:4:1: error[E0314]: got 3\n", None),
            (quoted + "a.py:9:1: error[E0200]: unknown name 'z'\n", "z is not defined"),
            (quoted + "    2 | 'error[E0200]: unknown name'\n", None)):
        assert words_for(text) == words, (text, words_for(text))


for check in (check_text, check_files, check_modules, check_two_threads, check_launches, check_variants,
              check_tuning, check_host, check_libraries, check_memory, check_gluon, check_listener, check_settings, check_warnings, check_slips,
              check_own_lines, check_words):
    check()
    print("%s: ok" % check.__name__)
