"""runtime/python/tilec over the mock compiler and the fake driver: struct layouts and flow.
check_python.py FOLDER_OF_TILEC_PY LIBRARY FAKE_DRIVER"""
import array
import ctypes
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import tilec

lib = tilec.library(sys.argv[2])
lib.tilec_mock_setup()
lib.tilec_mock_defines.restype = ctypes.c_char_p

# the mirrors of the structs that carry options, field by field
lib.tilec_mock_layout.restype = ctypes.c_char_p
mirrors = {"TilecCompileOptions": tilec._CompileOptions, "TilecSource": tilec._Source}
layout = {name: {} for name in mirrors}
for line in lib.tilec_mock_layout().decode().splitlines():
    struct, field, offset, size = line.split()
    layout[struct][field] = int(offset), int(size)
for struct, fields in layout.items():
    mirror = mirrors[struct]
    mine = {n: (getattr(mirror, n).offset, getattr(mirror, n).size) for n, _ in mirror._fields_}
    assert mine == fields, (struct, set(mine.items()) ^ set(fields.items()))
try:
    tilec.compile("x.tile", no_such_option=True)
    raise AssertionError("an unknown option was accepted")
except TypeError as e:
    assert "no_such_option" in str(e), e

(k,) = tilec.list_kernels("x.tile")
assert k["name"] == "k" and k["line"] == 3 and k["num_warps"] == 4 and k["grid"] == "(1,)", k
assert [p["name"] for p in k["params"]] == ["x", "n", "alpha", "BLOCK"], k
assert k["params"][2]["default"] == "1.0" and k["params"][3]["is_constexpr"], k
try:
    tilec.list_kernels("missing.tile")
    raise AssertionError("a missing file was listed")
except tilec.Error as e:
    assert e.status == "TILEC_IO" and "mock: cannot read" in str(e), e

p = tilec.compile("x.tile", kernel="k", signature="*fp32:16,i32,fp32,", constexprs={"BLOCK": 64})
assert ".entry k" in p.ptx and lib.tilec_mock_defines() == b"BLOCK=64;", lib.tilec_mock_defines()


class Array:
    """A float32 array as numpy shows itself."""

    def __init__(self, values):
        self.data = array.array("f", values)
        self.__array_interface__ = {"data": (self.data.buffer_info()[0], False), "typestr": "<f4",
                                    "shape": (len(self.data),), "version": 3}


x = Array([1, 2, 3])
kernel = tilec.Kernel("x.tile")
kernel[(2,)](x, 3, 0.5, BLOCK=256, num_warps=8)
assert list(x.data) == [2, 3, 4], x.data
assert lib.tilec_mock_defines() == b"BLOCK=256;"
kernel[lambda meta: (meta["BLOCK"] // 64,)](x, n=3)
assert list(x.data) == [4, 5, 6], x.data
for bad in (lambda: kernel[(1,)](x), lambda: kernel[(1,)](x, 3, 0.5, nope=1),
            lambda: kernel[(1,)](x, 3, alpha=1.0, x=x), lambda: kernel[(1,)](object(), 3)):
    try:
        bad()
        raise AssertionError("a wrong call was accepted")
    except TypeError:
        pass
asked = []
for bad in ValueError, TypeError, KeyError:        # what a slow way says is said once, by itself
    def no_grid(meta):
        asked.append(bad)
        raise bad("no grid")
    try:
        kernel[no_grid](x, 3)
        raise AssertionError("a grid that fails was accepted")
    except bad as e:
        assert e.__context__ is None or e.__suppress_context__ or bad is KeyError, e.__context__
assert asked == [ValueError, TypeError, KeyError], asked
for slip, said in ({"num_warp": 8}, "'num_warp'; did you mean 'num_warps'?"), \
        ({"BLOCKS": 8}, "'BLOCKS'; did you mean 'BLOCK'?"), ({"zzz": 8}, "'zzz'; it takes x, n, alpha, BLOCK, num_warps, num_stages, stream"):
    for call in kernel[(1,)], kernel.explain:
        try:
            call(x, 3, **slip)
            raise AssertionError("an unknown keyword was accepted")
        except TypeError as e:
            assert str(e) == "k() got an unexpected keyword argument " + said, e
try:
    kernel[(1,)](x, 4)
    raise AssertionError("an array that is too short was accepted")
except tilec.Error as e:
    assert e.status == "TILEC_BAD_ARGUMENT", e

ctypes.CDLL(sys.argv[3]).fake_reset()
rt = tilec.Runtime("cuda", driver_path=sys.argv[3])
try:
    tilec.Runtime("cuda", driver_path="/nonexistent.so")
    raise AssertionError("opened without a driver")
except tilec.Error as e:
    assert e.status == "TILEC_NO_DRIVER" and "/nonexistent" in str(e), e
record = """{"format": 1, "arch": "sm_90a", "ptx_version": 80, "kernels": [{"name": "k", "entry": "k",
"num_warps": 4, "threads": 128, "shared_bytes": 0, "cluster": [1, 1, 1], "hidden": [],
"args": [{"name": "n", "type": "i32"}]}]}"""
ready = rt.load("// .entry k ", record)
rt.launch(ready, (4, 2), [7])
try:
    rt.launch(ready, 4, [0.5])
    raise AssertionError("a float was taken for an integer")
except tilec.Error as e:
    assert "'n' is i32; got fp32 0.5" in str(e), e
rt.sync()
for on in rt, tilec.Runtime("cpu"):
    first, last = tilec.Event(on), tilec.Event(on)
    first.record()
    last.record()
    last.sync()
    assert last.since(first) == 1.5 if on is rt else 0 <= last.since(first) < 1000
try:
    last.since(tilec.Event(on))
    raise AssertionError("the time since nothing was told")
except tilec.Error as e:
    assert e.status == "TILEC_BAD_ARGUMENT", e
print("python: ok")
