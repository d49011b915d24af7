"""tilec from Python: over ctypes, no build, no dependencies but the standard library.

    import tilec
    elu = tilec.load("elu.tile").elu
    elu[triton.cdiv(n, 1024),](x, y, n, 1.0, BLOCK=1024, num_warps=4)     # torch tensors on a GPU
    elu[None](x, y, n)                                                    # the kernel's own grid=

    p = tilec.compile("elu.tile", signature="*fp32:16, *fp32:16, i32, fp32",
                      constexprs={"BLOCK": 1024})
    print(p.ptx, p.metadata["kernels"][0]["shared_bytes"])

Arguments: torch tensors, cupy arrays, anything with __cuda_array_interface__, __dlpack__ or
__array_interface__ (numpy, on the host executors), Pointer, TensorDescriptor, int, float, bool, None.  The device of
the arrays says where the kernel runs.  The shared library is found by library(path), the variable
TILEC_LIBRARY, beside this package, or by name.  tilec.triton is Triton's interface over it.

A launch is a function made for its kernel (_generate): it binds the arguments, writes each as a
TilecArg into a buffer taken from a list of free ones, and makes one call.  What is not a torch tensor
on a GPU, int or float goes through _Reader.  Two threads never share a buffer; the interpreter
lock is released during the call.
"""
import ast
import builtins
import ctypes as C
import functools
import glob
import inspect
import json
import operator
import os
import sys
import threading
import weakref

from . import _memory
from ._checks import *
from ._layouts import *
from ._structs import *
from ._warnings import *

__all__ = ["load", "compile", "list_kernels", "library", "Module", "Kernel", "Program", "Pointer",
           "TensorDescriptor", "Runtime", "Event", "Error", "CompileError"]


def _check_options(options):
    """Of load() and Kernel(): what goes on to every module of the file as it is."""
    own = ("struct_size", "file", "source", "source_bytes", "kernel", "defines", "num_defines",
           "include_dirs", "num_include_dirs", "num_warps", "num_stages", "tune")
    known = [name for name, _ in _Source._fields_ if name not in own]
    for name in options:
        if name not in known:
            near = meant(name, [*known, "file", "source", "include_dirs", "on"])
            launch = [n for n in ("num_warps", "num_stages") if meant(name, [n])]
            raise TypeError("unknown option '%s'%s; options are %s" % (
                name, near or {"kernel": ": a kernel is an attribute of what load(file) gives",
                       "name": ": a kernel is an attribute of what load(file) gives",
                       }.get(name, launch and ": %s= is given where a kernel is launched" % launch[0]
                             or ""),
                ", ".join(known)))


_KIND_NONE, _KIND_SCALAR, _KIND_POINTER, _KIND_TENSOR = 0, 1, 2, 4
_DTYPES = {"i1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "u8": 6, "u16": 7, "u32": 8, "u64": 9,
           "fp8e4nv": 10, "fp8e5": 11, "fp16": 12, "bf16": 13, "fp32": 14, "fp64": 15,
           "fp8e4b15": 16}
# as torch and numpy (with ml_dtypes) name them, and as the array interfaces do
_NAMES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
          "uint16": "u16", "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "fp8e4nv",
          "float8_e5m2": "fp8e5", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32",
          "float64": "fp64"}
_TYPESTR = {"b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16",
            "u4": "u32", "u8": "u64", "f2": "fp16", "f4": "fp32", "f8": "fp64"}
# (DLDataTypeCode, bits)
_DL_TYPES = {(6, 8): "i1", (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
             (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64", (2, 16): "fp16",
             (2, 32): "fp32", (2, 64): "fp64", (4, 16): "bf16", (10, 8): "fp8e4nv",
             (12, 8): "fp8e5"}
_DL_CUDA, _DL_HOST = (2, 13), (1, 3)      # kDLCUDA, kDLCUDAManaged; kDLCPU, kDLCUDAHost
_DL_READ_ONLY, _DL_COPIED = 1, 2
_STAGES = {"tokens": 1, "ast": 2, "ir": 3, "laid": 4, "lowered": 5, "llvm": 6, "ptx": 7}

_lib = None
_lock = threading.RLock()


class Error(RuntimeError):
    """A failed call: .status is the name of the code, the text says why."""

    def __init__(self, status, text):
        super().__init__("%s:%s%s" % (status, "\n" if "\n" in text else " ", text))
        self.status = status


class CompileError(Error):
    """The program has errors; the text is tilec's rendering of them, source lines and carets."""


def _error(status, text):
    return (CompileError if status == "TILEC_BAD_SOURCE" else Error)(status, text)


# name: result, parameters.  P is any handle.
_P, _PP, _S, _U32 = C.c_void_p, C.POINTER(C.c_void_p), C.c_char_p, C.c_uint32
_CALLS = {
    "tilec_version": (_S, []),
    "tilec_status_name": (_S, [C.c_int]), "tilec_status_string": (_S, [C.c_int]),
    "tilec_session_new": (C.c_int, [C.POINTER(_SessionOptions), _PP]),
    "tilec_session_free": (None, [_P]), "tilec_session_error": (_S, [_P]),
    "tilec_compile": (C.c_int, [_P, C.POINTER(_CompileOptions), _PP]),
    "tilec_program_free": (None, [_P]),
    "tilec_program_text": (_S, [_P, C.c_int, C.POINTER(_SIZE)]),
    "tilec_program_metadata": (_S, [_P, C.POINTER(_SIZE)]),
    "tilec_list_kernels": (C.c_int, [_P, C.POINTER(_CompileOptions), _PP]),
    "tilec_listing_free": (None, [_P]), "tilec_listing_count": (_U32, [_P]),
    "tilec_listing_kernel": (C.POINTER(_KernelDecl), [_P, _U32]),
    "tilec_runtime_open": (C.c_int, [C.POINTER(_RuntimeOptions), _PP]),
    "tilec_runtime_close": (None, [_P]), "tilec_runtime_error": (_SIZE, [_P, _S, _SIZE]),
    "tilec_runtime_sync": (C.c_int, [_P]), "tilec_runtime_abandon": (C.c_int, [_P]),
    "tilec_jit_attach": (C.c_int, [_P, C.POINTER(_JitOptions)]),
    "tilec_module_load": (C.c_int, [_P, _S, _SIZE, _S, _SIZE, _PP]),
    "tilec_module_from_source": (C.c_int, [_P, C.POINTER(_Source), _PP]),
    "tilec_module_free": (None, [_P]), "tilec_module_log": (_S, [_P]),
    "tilec_module_kernel": (C.c_int, [_P, _S, _PP]),
    "tilec_launch": (C.c_int, [_P, C.POINTER(_Launch), C.POINTER(_Arg), _SIZE]),
    "tilec_kernel_prepare": (C.c_int, [_P, _P, _SIZE]),
    "tilec_kernel_explain": (C.c_int, [_P, _P, _SIZE, _S, _SIZE]),
    "tilec_kernel_variants": (_U32, [_P]),
    "tilec_kernel_info": (C.POINTER(_KernelInfo), [_P, _U32]),
    "tilec_kernel_use": (C.c_int, [_P, _U32, C.POINTER(_KernelUse)]),
    "tilec_stream_sync": (C.c_int, [_P, _P]),
    "tilec_event_new": (C.c_int, [_P, _PP]), "tilec_event_free": (None, [_P]),
    "tilec_event_record": (C.c_int, [_P, _P]), "tilec_event_sync": (C.c_int, [_P]),
    "tilec_event_elapsed": (C.c_int, [_P, _P, C.POINTER(C.c_double)]),
    "tilec_kernel_tune": (C.c_int, [_P, _P, _P, _SIZE, C.POINTER(_TuneOptions), _PP]),
    "tilec_tune_info": (C.POINTER(_TuneInfo), [_P]), "tilec_tune_free": (None, [_P]),
}


def _installed():
    """The name by which the system's linker knows the library."""
    from ctypes.util import find_library    # takes its time to import
    return find_library("tilec") or "libtilec.so"


def library(path=None):
    """Loads libtilec.so; called by everything else when it has not been called."""
    global _lib
    with _lock:
        if _lib is None or path is not None:
            here = os.path.dirname(os.path.abspath(__file__))
            up = os.path.join(here, "..", "..", "..")
            places = [os.path.join(here, "libtilec.so"), os.path.join(here, "..", "libtilec.so"),
                      os.path.join(up, "..", "lib", "libtilec.so"),  # installed
                      *sorted(glob.glob(os.path.join(up, "..", "lib", "libtilec.so.*"))),
                      os.path.join(up, "build", "release", "runtime", "libtilec.so")]  # a checkout
            path = path or os.environ.get("TILEC_LIBRARY") or next(
                filter(os.path.exists, places), None) or _installed()
            try:
                lib = C.CDLL(path)
            except OSError as e:
                raise OSError("%s: the library of tilec cannot be loaded.  It is looked for where "
                              "TILEC_LIBRARY says, in %s, and by name; a checkout is built by "
                              "dsl_examples/run.sh" % (e, ", ".join(map(os.path.normpath, places)))
                              ) from None
            for name, (result, params) in _CALLS.items():
                fn = getattr(lib, name, None)
                if fn is None:
                    raise OSError("%s: it is not the library of tilec, libtilec.so, or an older one: it "
                                  "has no '%s'%s" % (path, name, "; TILEC_LIBRARY names it"
                                                     if path == os.environ.get("TILEC_LIBRARY") else ""))
                fn.restype, fn.argtypes = result, params
            # The same for what is converted already, and so faster to call.
            lib._launch = C.CFUNCTYPE(C.c_int)(("tilec_launch", lib))
            _lib = lib
        return _lib


def __getattr__(name):
    if name == "__version__":  # of the library: the only one there is
        return library().tilec_version().decode()
    instead = {"jit": "kernels are written in files, for tilec.load(file), or below @triton.jit in "
                      "programs for python -m tilec.triton",
               "kernel": "kernels are written in files, for tilec.load(file)",
               "run": "tilec.load(file).kernel[grid](..)",
               "launch": "tilec.load(file).kernel[grid](..)",
               "build": "tilec.compile(file, kernel, signature)", "open": "tilec.load(file)"}.get(name)
    raise AttributeError("module 'tilec' has no attribute '%s'%s"
                         % (name, ": " + instead if instead else ""))


class _Word(str):
    """A constexpr as -D takes it already, not a text that is one."""


def _reads_as_other(text):
    """Would -D take the text for a number or a constant?"""
    try:
        float(text)
        return True
    except ValueError:
        return text in ("True", "False", "None")


def _word(value):
    """A constexpr as -D takes it."""
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):     # tl.constexpr
        value = value.value
    if isinstance(value, _Word):
        return value
    if isinstance(value, str) and _reads_as_other(value):
        return '"%s"' % value
    if value is None or isinstance(value, (bool, int, str)):
        return str(value)
    if isinstance(value, float):
        return repr(float(value))
    if hasattr(value, "__index__") and not getattr(value, "shape", ()):
        return str(operator.index(value))
    if hasattr(value, "shape") or isinstance(value, (list, dict, set)):
        raise TypeError("%s cannot be a constexpr: one is a number, a text, a type, True or None"
                        % _a(value))
    name = str(value).rsplit(".", 1)[-1]          # torch.float16, tl.float16
    return _NAMES.get(name, name)


class _Session:
    """A compile session whose diagnostics gather in .text."""

    def __enter__(self):
        self.lib = library()
        self.text = []
        self._fn = _DIAG_FN(
            lambda _, d: self.text.append(d.contents.rendered.decode(errors="replace")))
        options = _SessionOptions(struct_size=C.sizeof(_SessionOptions), on_diag=self._fn)
        self.handle = C.c_void_p()
        self.check(self.lib.tilec_session_new(C.byref(options), C.byref(self.handle)))
        return self

    def __exit__(self, *_):
        self.lib.tilec_session_free(self.handle)

    def check(self, status):
        if status:
            why = "".join(self.text)
            if not why and self.handle:
                why = (self.lib.tilec_session_error(self.handle) or b"").decode()
            raise _error(self.lib.tilec_status_name(status).decode(),
                        why or self.lib.tilec_status_string(status).decode())


def _options(file, source, kernel, constexprs, include_dirs, **more):
    _check_where(file, None, source)
    if not isinstance(kernel, (str, type(None))):
        raise TypeError("kernel= is the name of one of the file's kernels; got %r" % (kernel,))
    o = _CompileOptions(struct_size=C.sizeof(_CompileOptions), file=_b(file), kernel=_b(kernel))
    if source is not None:
        o.source = source.encode()
        o.source_bytes = len(o.source)
    if not isinstance(constexprs, (dict, type(None))):
        raise TypeError("constexprs is a dictionary, as in {\"BLOCK\": 128}; got %r" % (constexprs,))
    defines = list((constexprs or {}).items())
    o.defines = (_Define * max(1, len(defines)))(*[(_b(k), _b(_word(v))) for k, v in defines])
    o.num_defines = len(defines)
    dirs = _folders(include_dirs)
    o.include_dirs = (C.c_char_p * max(1, len(dirs)))(*dirs)
    o.num_include_dirs = len(dirs)
    for name, value in more.items():
        if not hasattr(o, name):
            raise TypeError("'%s' is not an option of the compiler%s"
                            % (name, meant(name, [n for n, _ in o._fields_], "there are")))
        _set_field(o, name, value)
    return o


def _check_stage(stage):
    if stage not in _STAGES:
        raise ValueError("there is no stage %r; there are %s" % (stage, ", ".join(_STAGES)))


class Program:
    """A compiled specialisation: .ptx, .metadata (dict), .text(stage)."""

    def __init__(self, lib, handle, diagnostics):
        self._lib, self._handle, self.diagnostics = lib, handle, diagnostics

    def __getattr__(self, name):
        raise AttributeError("a compiled kernel has no attribute '%s': it has ptx, metadata, diagnostics "
                             "and text(stage), of %s%s" % (name, ", ".join(_STAGES), "; tilec view shows "
                             "SASS, tilec build --emit=cubin makes a cubin"
                             if name in ("sass", "cubin", "asm") else ""))

    def text(self, stage="ptx"):
        _check_stage(stage)
        t = self._lib.tilec_program_text(self._handle, _STAGES[stage], None)
        return None if t is None else t.decode()

    @property
    def ptx(self):
        return self.text("ptx")

    @property
    def metadata_json(self):
        return self._lib.tilec_program_metadata(self._handle, None).decode()

    @property
    def metadata(self):
        return json.loads(self.metadata_json)

    def __del__(self):
        if self._handle:
            self._lib.tilec_program_free(self._handle)
            self._handle = None


def compile(file=None, kernel=None, signature=None, constexprs=None, arch=None, num_warps=0,
            num_stages=0, source=None, include_dirs=(), emit="ptx", keep=(), **more):
    """Compiles one specialisation.  more: any other scalar field of TilecCompileOptions."""
    if isinstance(signature, (list, tuple)):
        signature = ", ".join(signature)
    with _Session() as s:
        for stage in (emit, *keep):
            _check_stage(stage)
        bits = sum(1 << _STAGES[k] for k in keep)
        o = _options(file, source, kernel, constexprs, include_dirs, signature=signature or None,
                     arch=arch or None, num_warps=num_warps, num_stages=num_stages,
                     stop_after=_STAGES[emit], keep_stages=bits, **more)
        handle = C.c_void_p()
        s.check(s.lib.tilec_compile(s.handle, C.byref(o), C.byref(handle)))
        return Program(s.lib, handle, "".join(s.text))


def list_kernels(file=None, source=None, include_dirs=(), kernel=None):
    """[{name, line, grid, num_warps, params: [{name, type, default, is_constexpr, is_bound, strides}],
    configs: [{text, values, num_warps, num_stages}], keys}]"""
    with _Session() as s:
        o = _options(file, source, kernel, None, include_dirs)
        handle = C.c_void_p()
        try:
            s.check(s.lib.tilec_list_kernels(s.handle, C.byref(o), C.byref(handle)))
        except Error as e:
            near = _file_like(file) if e.status == "TILEC_IO" and source is None else ""
            if near:
                raise Error(e.status, str(e).removeprefix(e.status + ": ") + near) from None
            raise

        def text(t):
            return None if t is None else t.decode()
        try:
            out = []
            for i in range(s.lib.tilec_listing_count(handle)):
                d = s.lib.tilec_listing_kernel(handle, i).contents
                params = [{"name": text(p.name), "type": text(p.type),
                           "default": text(p.default_value), "is_constexpr": p.is_constexpr,
                           "is_bound": p.is_bound,
                           "strides": [text(n) for n in p.strides[:p.num_strides]]}
                          for p in d.params[:d.num_params]]
                out.append({"name": text(d.name), "file": text(d.file), "line": d.line,
                            "doc": text(d.doc), "grid": text(d.grid), "num_warps": d.num_warps,
                            "num_stages": d.num_stages, "params": params, "configs": [],
                            "keys": []})
                if d.tuning:
                    t = d.tuning.contents
                    out[-1]["keys"] = [text(k) for k in t.keys[:t.num_keys]]
                    out[-1]["configs"] = [
                        {"text": text(c.text), "num_warps": c.num_warps,
                         "num_stages": c.num_stages,
                         "values": {text(v.name): text(v.value) for v in c.values[:c.num_values]}}
                        for c in t.configs[:t.num_configs]]
            return out
        finally:
            s.lib.tilec_listing_free(handle)


def _cache_folder():
    """The folder that `tilec run` uses too."""
    xdg, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if xdg.startswith("/"):
        return xdg + "/tilec"
    return home + "/.cache/tilec" if home.startswith("/") else None


_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


@_TEXT_FN
def _on_text(user, text):
    """A line of a kernel's device_print on a host executor, or a diagnostic."""
    text = text.decode(errors="replace")
    if text.startswith("pid ("):
        say(text)
    else:
        hear(text)


class Runtime:
    """A device (on="cuda") or a host executor ("cpu", "sim").  Runtime.get() shares them.

    cache_dir: the disk cache and the tuner's database; None = none.  synchronous: wait after every
    launch, so that a fault names its kernel.  check: look at the arguments of every launch.
    timeout_ms: no wait for the GPU lasts longer; 0: no limit."""
    _open = {}

    def __init__(self, on="cuda", device=0, synchronous=False, driver_path=None,
                 cache_dir=_cache_folder(), check=False, timeout_ms=0):
        self.lib, self.on, self.device = library(), on, device
        error = C.create_string_buffer(4096)
        if on not in _EXECUTORS:
            raise ValueError("on=%r: an executor is one of %s" % (on, ", ".join(_EXECUTORS)))
        if not hasattr(device, "__index__") or device < 0:
            raise ValueError("device=%r: the number of a GPU, from 0 on, is wanted" % (device,))
        if not isinstance(cache_dir, (str, bytes, os.PathLike, type(None))):
            raise TypeError("cache_dir= is the path of a folder, or None; got %r" % (cache_dir,))
        o = _RuntimeOptions(struct_size=C.sizeof(_RuntimeOptions), executor=_EXECUTORS[on],
                            device=device, synchronous=synchronous, driver_path=_b(driver_path),
                            check=check, timeout_ms=timeout_ms, memory=_memory.answer,
                            error=C.cast(error, C.c_char_p), error_bytes=len(error))
        self.handle = C.c_void_p()
        status = self.lib.tilec_runtime_open(C.byref(o), C.byref(self.handle))
        if status:
            raise _error(self.lib.tilec_status_name(status).decode(),
                         error.value.decode(errors="replace"))
        jit = _JitOptions(struct_size=C.sizeof(_JitOptions), on_text=_on_text, warn=True)
        if cache_dir is not None and on == "cuda":
            jit.cache_dir = _b(cache_dir)
            jit.tune_database = _b(os.path.join(cache_dir, "tune.db"))
        self.check(self.lib.tilec_jit_attach(self.handle, C.byref(jit)))

    @classmethod
    def get(cls, on="cuda", device=0):
        found = cls._open.get((on, device))
        if found is None:
            with _lock:
                found = cls._open.get((on, device)) or cls(on, device).share()
        return found

    def share(self):
        """Kernels use this one from now on."""
        with _lock:
            Runtime._open[self.on, self.device] = self
            for kernel in list(_kernels):
                kernel._handles.clear()
        return self

    def check(self, status):
        if heard:
            tell()
        if status:
            text = C.create_string_buffer(4096)
            size = self.lib.tilec_runtime_error(self.handle, text, len(text))
            if size >= len(text):
                text = C.create_string_buffer(size + 1)
                self.lib.tilec_runtime_error(self.handle, text, len(text))
            raise _error(self.lib.tilec_status_name(status).decode(),
                         text.value.decode(errors="replace"))

    def sync(self):
        self.check(self.lib.tilec_runtime_sync(self.handle))

    def abandon(self):
        """After TILEC_TIMED_OUT: gives the GPU up, so that nothing waits for it any more."""
        self.check(self.lib.tilec_runtime_abandon(self.handle))

    def load(self, ptx, metadata_json, kernel=None):
        """A kernel of ready PTX; launch it with launch()."""
        module, handle = C.c_void_p(), C.c_void_p()
        p, m = ptx.encode(), metadata_json.encode()
        self.check(self.lib.tilec_module_load(self.handle, p, len(p), m, len(m), C.byref(module)))
        self.check(self.lib.tilec_module_kernel(module, _b(kernel), C.byref(handle)))
        return handle

    def launch(self, kernel, grid, args, stream=None):
        b = _Buffer(len(args))
        _memory.forget()
        for i, a in enumerate(args):
            b.put(i, "argument %d" % i, a)
        b.words[0] = _stream(stream) if stream is not None else b.own_stream()
        b.words[1], b.words[2] = _grid_words(grid)
        self.check(self.lib._launch(kernel, b.launch, b.args, b.count))


class Event:
    """A point in a stream's work, for times: first.record(), a launch, last.record(), then
    last.since(first) in milliseconds.  On the host executors a reading of the clock."""

    _handle = None

    def __init__(self, rt):
        if not isinstance(rt, Runtime):
            raise TypeError("an Event is one of a Runtime, Event(Runtime.get(\"cuda\")); got %r" % (rt,))
        self._rt, self._handle = rt, C.c_void_p()
        rt.check(rt.lib.tilec_event_new(rt.handle, C.byref(self._handle)))

    def record(self, stream=0):
        self._rt.check(self._rt.lib.tilec_event_record(self._handle, _stream(stream)))

    def sync(self):
        """Waits until the work before the record is done."""
        self._rt.check(self._rt.lib.tilec_event_sync(self._handle))

    def since(self, first):
        ms = C.c_double()
        self._rt.check(self._rt.lib.tilec_event_elapsed(first._handle, self._handle, C.byref(ms)))
        return ms.value

    def __del__(self):
        if self._handle:
            self._rt.lib.tilec_event_free(self._handle)


_kernels = weakref.WeakSet()


def _after_fork():
    """A runtime does not survive fork(): the child opens its own."""
    Runtime._open.clear()
    for kernel in list(_kernels):
        kernel._handles.clear()


os.register_at_fork(after_in_child=_after_fork)


# ---- Arguments ----------------------------------------------------------------------------------

class Pointer:
    """A raw address, as cuMemAlloc gives it: elements of `dtype` ("fp16"), `bytes` of them readable
    from there on, on the GPU `device` (None: of the host)."""

    def __init__(self, address, dtype, bytes=0, device=0):
        if dtype not in _DTYPES:
            raise TypeError("Pointer: the elements are one of %s; got %r" % (", ".join(_DTYPES), dtype))
        if not hasattr(address, "__index__"):
            raise TypeError("Pointer: an address is a whole number; got %r" % (address,))
        self.address, self.dtype, self.bytes, self.device = address, dtype, bytes, device


class TensorDescriptor:
    """An array and the block of it that one access of a kernel takes: for parameters that are
    tensor descriptors.  Triton's own class of this name is taken as well.  Strides count elements."""

    def __init__(self, base, shape, strides, block_shape):
        for name, given in (("shape", shape), ("strides", strides), ("block_shape", block_shape)):
            if not hasattr(given, "__iter__") or isinstance(given, str):
                raise TypeError("TensorDescriptor: %s is a list of numbers, one for each dimension; "
                                "got %r" % (name, given))
        self.base, self.shape, self.strides = base, list(shape), list(strides)
        self.block_shape = list(block_shape)
        if not len(self.shape) == len(self.strides) == len(self.block_shape):
            raise ValueError("a TensorDescriptor has a size, a stride and a size of the block for each "
                             "dimension; got %d sizes, %d strides and block_shape with %d"
                             % (len(self.shape), len(self.strides), len(self.block_shape)))

    @classmethod
    def from_tensor(cls, tensor, block_shape):
        """Of a torch tensor, or of an array in C order."""
        shape = list(tensor.shape)
        if callable(getattr(tensor, "stride", None)):
            return cls(tensor, shape, tensor.stride(), block_shape)
        steps = getattr(tensor, "strides", None)
        if steps is not None:
            return cls(tensor, shape, [n // tensor.itemsize for n in steps], block_shape)
        strides = [1] * len(shape)
        for d in range(len(shape) - 1, 0, -1):
            strides[d - 1] = strides[d] * shape[d]
        return cls(tensor, shape, strides, block_shape)


_tensor_classes = {TensorDescriptor}       # of descriptors that launchers take the short way


def _is_descriptor(a):
    return hasattr(a, "block_shape") and hasattr(a, "base") and hasattr(a, "strides")


_NO_ARRAY, _HOST = -2, -1                  # devices; from 0 on a GPU
_I1, _I32, _I64, _U64, _FP32 = [_KIND_SCALAR | _DTYPES[t] << 32
                                for t in ("i1", "i32", "i64", "u64", "fp32")]
_MIN32, _MAX32, _MIN64, _MAX64 = -2**31, 2**31 - 1, -2**63, 2**63 - 1


_torch_words = {}           # torch.dtype → the first word of a TilecArg


class _NotYet:
    """Stands where torch.Tensor does, until torch is there."""


# What generated launchers see: torch.Tensor and torch's current stream of a device, once it is
# loaded.
_shared = {"Tensor": _NotYet, "raw_stream": None}


def _meet_torch():
    torch = sys.modules.get("torch")
    if torch is not None and _shared["Tensor"] is _NotYet and hasattr(torch, "Tensor"):
        raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
        _shared["raw_stream"] = raw or (lambda d: torch.cuda.current_stream(d).cuda_stream)
        _shared["Tensor"] = torch.Tensor
        _torch_words.update((getattr(torch, name), _KIND_POINTER | _DTYPES[t] << 32)
                            for name, t in _NAMES.items() if hasattr(torch, name))
        for kernel in list(_kernels):
            for name, value in _shared.items():
                kernel._space[kernel._mark + name] = value


def _extent(shape, strides, size):
    """Bytes from the first element to the end of the last one after it; strides in bytes."""
    count = size
    for i, n in enumerate(shape):
        if n == 0:
            return 0
        count = count * n if strides is None else count + max(0, (n - 1) * strides[i])
    return count


def _dtype_name(a, typestr=None):
    name = _NAMES.get(str(getattr(a, "dtype", "")).rsplit(".", 1)[-1])
    if name is None and typestr is not None and typestr[0] in "<|=":
        name = _TYPESTR.get(typestr[1:])
    if name is None:
        dtype = getattr(a, "dtype", typestr)
        raise TypeError("elements of %s cannot be kernel arguments%s" % (dtype, _instead(dtype)))
    return name


class _Reader:
    """What an argument is, read through the first protocol that it has."""
    stream = None          # of the producer, where it says so
    read_only = False
    keep = None            # alive until the launch is made
    layout = None          # of what is not in C order: shape, strides in elements, bytes of one

    def __init__(self, a, consumer_stream=None, declared=None):
        if hasattr(a, "data_ptr") and hasattr(a, "dtype"):
            self._torch(a)
        elif isinstance(a, Pointer):
            self.dtype, self.address, self.bytes = a.dtype, a.address, a.bytes
            self.device = _HOST if a.device is None else a.device
        elif getattr(a, "__cuda_array_interface__", None) is not None:
            self._cuda_array(a)
        elif getattr(a, "__array_interface__", None) is not None:
            info = a.__array_interface__
            self._array(a, info)
            self.device = _HOST
        elif hasattr(a, "__dlpack__"):
            self._dlpack(a, consumer_stream)
        else:
            raise TypeError("%s cannot be a kernel argument: arrays (numpy, torch, cupy ..), "
                            "int, float, bool and None can%s" % (_a(a), _array_instead(a, declared)))

    def _torch(self, a):
        _meet_torch()
        device = getattr(a, "device", None)
        kind = getattr(device, "type", "cuda")
        if kind == "meta":
            raise TypeError("a tensor on 'meta' has a shape and no memory, and cannot be a kernel argument: "
                            "torch.empty_like(tensor, device=\"cuda\"), or \"cpu\", has memory, and "
                            "module.to_empty(device=..) gives it to a module")
        if kind not in ("cuda", "cpu"):
            raise TypeError("arrays on '%s' cannot be kernel arguments; those on the CPU and on a GPU "
                            "can: tensor.to(\"cuda\")" % kind)
        self.dtype = _dtype_name(a)
        try:
            self.address = a.data_ptr()
        except RuntimeError as e:
            raise TypeError("a tensor of layout %s has no address: %s; tensor.to_dense() has one"
                            % (getattr(a, "layout", "unknown"), e)) from None
        if getattr(a, "is_nested", False):
            raise TypeError("a nested tensor has no one shape; torch.nested.to_padded_tensor(tensor, 0.0) "
                            "makes one that kernels can use")
        self.device = _HOST if kind == "cpu" else getattr(device, "index", None) or 0
        if hasattr(a, "is_contiguous") and not a.is_contiguous():
            self.layout = tuple(a.shape), tuple(a.stride()), a.element_size()
        self.bytes = 0
        if self.address and hasattr(a, "untyped_storage"):      # a view of nothing has no address
            storage = a.untyped_storage()
            if hasattr(storage, "nbytes"):                      # else nobody knows how many
                self.bytes = storage.nbytes() - (self.address - storage.data_ptr())
        if self.address and not self.bytes and self.device == _HOST:    # an object of a program's own
            found = _memory.holding(self.address, near=a)
            self.bytes = found.begin + found.bytes - self.address if found else 0

    def _array(self, a, info):
        strides = info.get("strides")
        if strides and min(strides) < 0:
            raise TypeError("an array with negative strides, %s bytes, is read backwards; "
                            "numpy.ascontiguousarray(array) makes a copy that kernels can use"
                            % (strides,))
        try:
            (address, read_only), typestr, shape = info["data"], info["typestr"], info["shape"]
        except KeyError as e:
            raise TypeError("the array interface of %s lacks %s" % (_a(a), e)) from None
        self.address, self.read_only = address or 0, bool(read_only)
        self.dtype = _dtype_name(a, typestr)
        size = int(typestr[2:])
        if strides is not None and 0 not in shape:
            self.layout = tuple(shape), tuple(n // size for n in strides), size
        self.bytes = _extent(shape, strides, size)
        self.address = self.address if self.bytes else 0     # without elements nothing is behind it

    def _cuda_array(self, a):
        info = a.__cuda_array_interface__
        self._array(a, info)
        self.stream = info.get("stream")
        where = getattr(a, "device", None)
        device = getattr(where, "id", where)
        if not isinstance(device, int):
            device = a.__dlpack_device__()[1] if hasattr(a, "__dlpack_device__") else 0
        self.device = device

    def _dlpack(self, a, stream):
        kind, index = a.__dlpack_device__()
        if kind not in _DL_CUDA + _DL_HOST:
            raise TypeError("arrays on DLPack device %d cannot be kernel arguments" % kind)
        self.device = int(index) if kind in _DL_CUDA else _HOST
        # 1 is the legacy default stream; 0 is not allowed there
        more = {"stream": stream or 1} if kind in _DL_CUDA else {}
        try:
            capsule = a.__dlpack__(max_version=(1, 0), **more)
        except TypeError:
            capsule = a.__dlpack__(**more)
        # Left unconsumed: the capsule's own destructor calls the deleter once it is dropped.
        self.keep = capsule
        api = C.pythonapi
        valid = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_char_p)(("PyCapsule_IsValid", api))
        get = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(("PyCapsule_GetPointer", api))
        flags = 0
        if valid(capsule, b"dltensor_versioned"):
            managed = _DlVersioned.from_address(get(capsule, b"dltensor_versioned"))
            if managed.major != 1:
                raise TypeError("DLPack version %d.%d is not read"
                                % (managed.major, managed.minor))
            flags = managed.flags
        else:
            managed = _DlManaged.from_address(get(capsule, b"dltensor"))
        if flags & _DL_COPIED:
            raise TypeError("%s shows a copy of its memory only" % _a(a))
        self.read_only = bool(flags & _DL_READ_ONLY)
        t = managed.tensor
        self.dtype = _DL_TYPES.get((t.code, t.bits))
        if self.dtype is None or t.lanes != 1:
            raise TypeError("DLPack elements of code %d, %d bits, %d lanes cannot be kernel arguments"
                            % (t.code, t.bits, t.lanes))
        size = t.bits // 8
        strides = [n * size for n in t.strides[:t.ndim]] if t.strides else None
        self.address = (t.data or 0) + t.byte_offset
        self.bytes = _extent(t.shape[:t.ndim], strides, size)


class _Buffer:
    """Room for one launch: a TilecLaunch (24 bytes), then TilecArgs (24 each) as 64-bit words."""
    __slots__ = ("words", "floats", "launch", "args", "count", "memory", "device", "first",
                 "streams", "keep", "read_only", "tensors", "layouts")

    def __init__(self, count):
        self.memory = (C.c_int64 * (3 + 3 * count))()
        raw = memoryview(self.memory).cast("B")
        self.words, self.floats = raw.cast("q"), raw.cast("d")
        at = C.addressof(self.memory)
        self.launch, self.args, self.count = C.c_void_p(at), C.c_void_p(at + 24), _SIZE(count)
        self.device, self.first, self.streams, self.keep = _NO_ARRAY, None, set(), []
        self.read_only, self.tensors, self.layouts = [], {}, []

    def put(self, i, name, a, stream=None, declared=None):
        """Any argument.  declared: the parameter's type, where one is written."""
        at, words = 3 + 3 * i, self.words
        if hasattr(a, "item") and hasattr(a, "dtype") and not hasattr(a, "__setitem__"):
            a = a.item()                       # a numpy scalar
        if a is None:
            words[at] = _KIND_NONE
        elif isinstance(a, bool):
            words[at], words[at + 1] = _I1, a
        elif isinstance(a, float):
            words[at], self.floats[at + 1] = _FP32, a
        elif isinstance(a, int):
            if not _MIN64 <= a < 2**64:
                raise OverflowError("'%s': %d does not fit 64 bits" % (name, a))
            words[at] = _I32 if _MIN32 <= a <= _MAX32 else _I64 if a <= _MAX64 else _U64
            words[at + 1] = a if a <= _MAX64 else a - 2**64
        elif _is_descriptor(a):
            self._put_descriptor(i, name, a, stream)
        else:
            try:
                r = _Reader(a, stream, declared)
            except TypeError as e:
                raise TypeError("'%s': %s" % (name, e)) from None
            if self.device == _NO_ARRAY:
                self.device, self.first = r.device, name
            elif self.device != r.device:
                raise ValueError("'%s' is on %s, '%s' on %s; the arrays of a launch are in one place%s" % (
                    self.first, _place_name(self.device), name, _place_name(r.device),
                    ": Pointer(.., device=None) is of the host" if isinstance(a, Pointer) else ""))
            words[at] = _KIND_POINTER | _DTYPES[r.dtype] << 32
            words[at + 1] = r.address if r.address <= _MAX64 else r.address - 2**64
            words[at + 2] = r.bytes
            self.keep.append((a, r.keep))
            if r.stream is not None:
                self.streams.add(r.stream)
            if r.read_only:
                self.read_only.append((i, name))
            if r.layout:
                self.layouts.append((i, r.layout))
            if hasattr(a, "_sharedmask"):
                warn_of_mask(name, a)

    def _put_descriptor(self, i, name, a, stream):
        at, words, rank = 3 + 3 * i, self.words, len(a.block_shape)
        if not 1 <= rank <= 5 or len(a.shape) != rank or len(a.strides) != rank:
            raise ValueError("'%s': shape, strides and block_shape of a tensor descriptor have 1 to 5 "
                             "entries each" % name)
        if getattr(a, "padding", "zero") != "zero":
            raise ValueError("'%s': a tensor descriptor of the host pads with zeros" % name)
        self.put(i, name, a.base, stream)                 # its words go into the tensor's own
        self.layouts = [at for at in self.layouts if at[0] != i]      # it has strides
        t = _Tensor(rank=rank, shape=tuple(a.shape), strides=tuple(a.strides),
                    block=tuple(a.block_shape))
        C.memmove(C.addressof(t), C.addressof(self.memory) + 8 * at, 24)
        words[at], words[at + 1] = _KIND_TENSOR | words[at] & -2**32, C.addressof(t)
        self.keep.append((t, None))

    def put_tensor(self, at, a, device):
        """A descriptor of a torch tensor on a GPU: where the launch goes, or None: the long way."""
        base, shape, strides, block = a.base, a.shape, a.strides, a.block_shape
        rank = len(block)
        if type(base) is not _shared["Tensor"] or getattr(a, "padding", "zero") != "zero" \
                or not 1 <= rank <= 5 or len(shape) != rank or len(strides) != rank:
            return None
        here = base.get_device()
        if here < 0 or device not in (here, _NO_ARRAY):
            return None
        if at not in self.tensors:
            t = _Tensor()
            self.tensors[at] = t, memoryview(t).cast("B").cast("q"), C.addressof(t)
        _, w, address = self.tensors[at]
        w[0], w[1], w[2], w[3] = _torch_words[base.dtype], base.data_ptr(), 0, rank
        for i in range(rank):
            w[4 + i], w[9 + i] = shape[i], strides[i]
        sizes = (*block, 0, 0, 0, 0)
        w[14], w[15] = sizes[0] | sizes[1] << 32, sizes[2] | sizes[3] << 32
        w[16] = sizes[4]
        self.words[at], self.words[at + 1] = _KIND_TENSOR | w[0] & -2**32, address
        return here

    def own_stream(self):
        """The current stream of the library that the arrays come from: torch, cupy; else what the
        arrays say, else the default one."""
        if self.device < 0:
            return 0
        arrays = [a for a, _ in self.keep]
        if any(type(a).__module__.split(".")[0] == "cupy" for a in arrays):
            return sys.modules["cupy"].cuda.get_current_stream().ptr
        if _shared["raw_stream"] and any(isinstance(a, _shared["Tensor"]) for a in arrays):
            return _shared["raw_stream"](self.device)
        return min(self.streams) if self.streams else 0


def _torch_stream(values):
    """torch's current stream where a launch with such arguments goes; None without its tensors."""
    for a in values:
        if isinstance(a, _shared["Tensor"]) and a.get_device() >= 0:
            return _shared["raw_stream"](a.get_device())
    return None


def _place_name(device):
    return "the host" if device == _HOST else "GPU %d" % device


def _stream(s):
    """A CUstream of an int, torch's or cupy's stream, or the protocol __cuda_stream__."""
    if hasattr(s, "__cuda_stream__"):
        protocol = s.__cuda_stream__
        return (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr"):
        if hasattr(s, name):
            return getattr(s, name)
    try:
        return operator.index(s)
    except TypeError:
        raise TypeError("stream= is a CUDA stream: of torch or cupy, or its address; got %r"
                        % (s,)) from None


_grids = {}      # tuple → the two words of a TilecLaunch


def _grid_of(kernel, function, meta):
    """What the grid's function gives."""
    try:
        grid = function(meta)
    except (AttributeError, KeyError, TypeError) as e:
        better = wrong_call("the grid of kernel '%s'" % kernel, function, meta, e)
        if better is None:
            raise
        raise better.with_traceback(e.__traceback__.tb_next) from None
    if grid is None:
        raise TypeError("the function that gives kernel '%s' its grid returned None; it returns a "
                        "tuple of one to three numbers" % kernel)
    return grid


def _no_grid(grid, numbers):
    """What is wrong with the numbers of a grid."""
    if not numbers:
        return "a grid is one to three numbers, and %s has none: (1,) is one program" % _short(grid)
    wrong = [n for n in numbers if not 0 <= n < OWN_GRID]
    if wrong:
        return "a grid is one to three numbers from 0 on, below %d; %d of %s is %s" % (
            2**31, wrong[0], _short(grid), "below 0" if wrong[0] < 0 else "not")
    folded = len(numbers) - 2
    first, last = numbers[:folded], numbers[folded:]
    if folded == 2:
        parts = "tl.program_id(0) // %d and tl.program_id(0) %% %d are the first two then" % (first[1], first[1])
    else:
        parts = "the first %d come of tl.program_id(0) by // and %% then" % folded
    return ("a grid is one to three numbers, and %s has %d: make one of the first %d, (%s, %s); %s, and "
            "tl.program_id(1) and tl.program_id(2) the last two"
            % (_short(grid), len(numbers), folded, " * ".join(map(str, first)), ", ".join(map(str, last)), parts))


def _grid_words(grid):
    if grid is None:
        return OWN_GRID | 1 << 32, 1
    numbers = grid if isinstance(grid, (tuple, list)) else (grid,)
    try:
        numbers = [operator.index(g) for g in numbers]
    except TypeError:
        raise TypeError("a grid is made of integers, not %s%s" % (_short(grid), _integer_instead(
            next(g for g in numbers if not hasattr(g, "__index__") or hasattr(g, "item"))))) from None
    if not 1 <= len(numbers) <= 3 or min(numbers) < 0 or max(numbers) >= OWN_GRID:
        raise ValueError(_no_grid(grid, numbers))
    x, y, z = (numbers + [1, 1])[:3]
    words = (x | y << 32) - (2**64 if y >> 31 else 0), z
    if type(grid) is tuple and all(type(g) is int for g in grid):
        if len(_grids) > 4096:
            _grids.clear()
        _grids[grid] = words
    return words


# ---- Kernels ------------------------------------------------------------------------------------

def _literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class _Default:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


_UNSET = _Default("<the kernel's>")     # of a constexpr
_NEEDED = _Default("<to be given>")     # of what follows a default and has none


def _key(value):
    """A constexpr in a key: True, 1 and 1.0 are three values."""
    if value is _UNSET:
        return value
    try:
        return type(value).__name__, _word(value)
    except TypeError:                      # _make() says it, with the parameter's name
        return type(value).__name__, id(value)


# The launcher of one kernel.  "@" becomes a prefix that none of its parameters has.  @w are the
# words of the launch, @d the device so far (_NO_ARRAY, _HOST or a GPU).  {rest}, {first} and {last}
# are Kernel._around's.
_ARGUMENT = """
                @t = @type({n})
                if @t is @Tensor:
                    @w[{at}] = @words_of[{n}.dtype]
                    @w[{at} + 1] = {n}.data_ptr(){bytes}
                    @v = {n}.get_device()
                    if @v != @d:
                        if @d != -2 or @v < 0:
                            @d = -1; break
                        @d = @v
                elif @t is @int:
                    if -0x80000000 <= {n} <= 0x7fffffff:
                        @w[{at}] = @I32
                    elif -0x8000000000000000 <= {n} <= 0x7fffffffffffffff:
                        @w[{at}] = @I64
                    else:
                        @d = -1; break
                    @w[{at} + 1] = {n}
                elif @t is @float:
                    @w[{at}] = @FP32
                    @b.floats[{at} + 1] = {n}
                elif {n} is None:
                    @w[{at}] = 0
                elif @t is @bool:
                    @w[{at}] = @I1
                    @w[{at} + 1] = {n}
                elif @t in @tensors:
                    @d = @b.put_tensor({at}, {n}, @d)
                    if @d is None:
                        @d = -1; break
                else:
                    @d = -1; break"""

_BYTES = """
                    @w[{at} + 2] = {n}.nbytes if {n}.is_contiguous() else @extent({n})"""

_LAUNCHER = """
def @launcher(@grid, /, {positional}{rest}):
    if @extra:
        @too_many(len(@extra)){first}
    try:
        @b = @free.pop()
    except @IndexError:
        @b = @new()
    try:
        @w = @b.words
        @d = -2
        try:
            for @once in (0,):{body}
        except @unfit:             # an element type without a counterpart, odd sizes
            @d = -1
        if @d < 0:                 # outside of the try: what it says is about itself
            return @slow({all})
        @h = @handles.get((@d, {key}))
        if @h is None:
            @h = @make(@d, ({consts}), {num_warps}, {num_stages})
            if @h is None:
                return @slow({all})
        @g = @grids.get(@grid) if @type(@grid) is @tuple else None
        if @g is None:
            if @is_tuned and @callable(@grid):
                return @slow({all})
            @g = @grid_words(@grid, ({launch}), ({consts}), {num_warps}, {num_stages})
        @w[1], @w[2] = @g
        @w[0] = @raw_stream(@d) if {stream} is None else @stream_of({stream})
        @status = @launch(@h, @b.launch, @b.args, @b.count)
        if @status or @heard:
            @fail(@d, @status){last}
    finally:
        @free.append(@b)

def @collect({signature}{more}):
    if @more:
        @unknown(@more)
{check}
    return ({launch}), ({consts}), {num_warps}, {num_stages}, {stream}
"""


def _signature(params, options, mark):
    """The parameters as a def has them, and the names that their defaults go by.  What comes after
    a default and has none gets NEEDED, which is looked for in the body."""
    parts, defaults, needed = [], {}, []
    for i, p in enumerate(params):
        value = _UNSET if p["is_constexpr"] else _NEEDED
        if value is _NEEDED and p["default"]:
            value = _literal(p["default"])
        if value is _NEEDED and not defaults:
            parts.append(p["name"])
            continue
        name = "%sdefault%d" % (mark, i)
        defaults[name] = value
        parts.append("%s=%s" % (p["name"], name))
        if value is _NEEDED:
            needed.append(p["name"])
    if options:
        parts.append("*")
        parts += ["%s=%s" % (o, "None" if o == "stream" else "0") for o in options]
    return ", ".join(parts), defaults, needed


def _without_rest(signature):
    """Without the parameter that takes what is unknown."""
    return signature.replace(parameters=[p for p in signature.parameters.values()
                                         if p.kind is not p.VAR_KEYWORD])


def _generate(kernel):
    """The globals of the kernel's launcher and collect: functions with its parameters.
    launcher(grid, /, …) launches, what is beyond torch tensors on a GPU and plain numbers through
    kernel._slow; collect(…) binds only."""
    params = kernel.info["params"]
    names = [p["name"] for p in params]
    mark = "_"
    while any(n.startswith(mark) for n in names):
        mark += "_"
    options = [o for o in ("num_warps", "num_stages", "stream") if o not in names]
    signature, space, needed = _signature(params, options, mark)
    launch = [p["name"] for p in params if not p["is_constexpr"]]
    consts = [p["name"] for p in params if p["is_constexpr"]]
    star = ", *, " if options else ""
    positional = signature.replace(star, ", *@extra, ", 1) if star and star in signature else \
        ", ".join(filter(None, (signature, "*@extra")))
    if signature.startswith("*, "):
        positional = "*@extra, " + signature[3:]
    values = {"positional": positional, "launch": "".join(n + ", " for n in launch),
              "consts": "".join(n + ", " for n in consts),
              "num_warps": "num_warps" if "num_warps" in options else "0",
              "num_stages": "num_stages" if "num_stages" in options else "0",
              "stream": "stream" if "stream" in options else "None"}
    whole = "@grid, (%(launch)s), (%(consts)s), %(num_warps)s, %(num_stages)s, %(stream)s" % values
    key = "".join("%s if @type(%s) is @int or %s is @UNSET else @key(%s), " % (n, n, n, n)
                  for n in consts) + "%(num_warps)s, %(num_stages)s" % values
    check = "".join("\n    if %s is @NEEDED:\n        @missing(%r)" % (n, n) for n in needed)
    body = check.replace("\n", "\n            ") or "\n                pass"
    for i, n in enumerate(launch):
        at = 3 + 3 * i
        extent = _BYTES.format(n=n, at=at) if kernel.info["configs"] else ""
        body += _ARGUMENT.format(n=n, at=at, bytes=extent)
    rest, first, last = (part.format(**values) for part in kernel._around)
    more = ", **@more"
    if not signature:
        more = more.lstrip(", ")
    text = _LAUNCHER.format(signature=signature, body=body, check=check, key=key, all=whole,
                            more=more, rest=rest, first=first, last=last, **values)
    text = text.replace("@", mark)
    own = {"free": [], "new": lambda: _Buffer(len(launch)), "handles": kernel._handles,
           "make": kernel._make, "grids": _grids, "grid_words": kernel._grid_words,
           "stream_of": _stream, "launch": library()._launch, "fail": kernel._fail, "heard": heard,
           "slow": kernel._slow, "is_tuned": bool(kernel.info["configs"]), "UNSET": _UNSET,
           "NEEDED": _NEEDED, "missing": kernel._missing, "too_many": kernel._too_many, "unknown": kernel._unknown, "key": _key,
           "extent": lambda a: _Reader(a).bytes, "I1": _I1, "I32": _I32, "I64": _I64,
           "FP32": _FP32, "words_of": _torch_words, "type": type, "int": int, "float": float,
           "bool": bool, "tuple": tuple, "callable": callable, "IndexError": IndexError,
           "unfit": (KeyError, TypeError, ValueError),
           "tensors": () if kernel.info["configs"] else _tensor_classes, **_shared,
           **kernel._around_names()}
    space.update((mark + name, value) for name, value in own.items())
    exec(builtins.compile(text, _FOLDER + "launcher of " + kernel.name, "exec"), space)
    for name in "launcher", "collect":      # Python's own errors name the kernel
        space[mark + name].__qualname__ = kernel.name
    return space, mark


class Kernel:
    """kernel[grid](*args, CONSTEXPR=.., num_warps=.., stream=..): compiled when first needed.

    grid: a number, a tuple, a function of the meta-parameters, or None for the kernel's own; or
    kernel(*args, ..) for the kernel's own.  on: "cuda", "cpu" or "sim"; None = where the arrays
    are ("cpu" on the host)."""

    _define = staticmethod(_word)          # a constexpr as TilecSource.defines has it

    # A subclass's part of the launcher: further parameters, what is done first, what is done last.
    _around = (", **@more", "\n    if @more:\n        @unknown(@more)", "")

    def _around_names(self):
        """{name behind "@" in _around: value}"""
        return {}

    def __init__(self, file=None, name=None, source=None, include_dirs=(), on=None, **options):
        _check_options(options)
        _check_where(file, on, source)
        found = list_kernels(file, source, include_dirs)
        match = [k for k in found if name is None or k["name"] == name]
        if len(match) != 1:
            names = [k["name"] for k in found]
            if name:
                list_kernels(file, source, include_dirs, name)     # says what is wrong with its `def`
            what = "there is no kernel '%s'%s" % (name, meant(name, names) or ".") if name else \
                "name one, as in Kernel(file, \"add\")."
            raise Error("TILEC_NOT_FOUND", "%s The file has the kernels: %s"
                        % (what, ", ".join(names) or "none"))
        self.info, self.name = match[0], match[0]["name"]
        self.file, self.source, self.include_dirs, self.on = file, source, include_dirs, on
        self.options = options
        self._launch = [p["name"] for p in self.info["params"] if not p["is_constexpr"]]
        self._types = [p["type"] for p in self.info["params"] if not p["is_constexpr"]]
        self._consts = [p["name"] for p in self.info["params"] if p["is_constexpr"]]
        self._handles, self._choices = {}, {}
        self._space, self._mark = _generate(self)
        self._launcher = self._space[self._mark + "launcher"]
        self._collect = self._space[self._mark + "collect"]
        self.__signature__ = _without_rest(inspect.signature(self._collect))
        _kernels.add(self)

    def __getitem__(self, grid):
        return functools.partial(self._launcher, grid)

    def __getattr__(self, name):
        if name in ("launch", "execute", "start", "invoke"):
            raise AttributeError("a kernel is launched by %s[grid](..)" % self.__dict__["name"])
        instead = {"ptx": "compile(signature, CONSTEXPR=..).ptx",
                   "asm": "compile(signature, CONSTEXPR=..).ptx",
                   "bench": "bind(grid, ..), which gives a function to time",
                   "warmup": "prepare(..)"}.get(name)
        own = [n for n in vars(type(self)) if not n.startswith("_")]
        raise AttributeError("kernel '%s' has no attribute '%s'%s" % (
            self.__dict__.get("name", "?"), name,
            "; it has " + instead if instead else meant(name, own, "it has")))

    def __call__(self, *args, **kw):
        if self.info["grid"] is None and "grid" not in self.options:
            raise TypeError("%s() has no grid of its own: %s[grid](..)" % (self.name, self.name))
        return self._launcher(None, *args, **kw)

    def run(self, grid, args, kw):
        return self._launcher(grid, *args, **kw)

    def bind(self, grid, *args, **kw):
        """A function without arguments that makes this launch, its arguments read now."""
        rt, handle, b = self._ready(grid, *self._collect(*args, **kw))
        call = rt.lib._launch

        def again():
            status = call(handle, b.launch, b.args, b.count)
            if status or heard:
                rt.check(status)
        return again

    def prepare(self, *args, **kw):
        """Compiles and loads what a launch with such arguments needs."""
        rt, handle, b = self._ready((1,), *self._collect(*args, **kw))
        rt.check(rt.lib.tilec_kernel_prepare(handle, b.args, b.count))

    def explain(self, *args, **kw):
        """Which variant such arguments would use, or why a new one would be made."""
        rt, handle, b = self._ready((1,), *self._collect(*args, **kw))
        text = C.create_string_buffer(8192)
        rt.check(rt.lib.tilec_kernel_explain(handle, b.args, b.count, text, len(text)))
        return text.value.decode(errors="replace")

    def compile(self, signature=None, **constexprs):
        """One specialisation as a Program, without a device; see tilec.compile."""
        more = {n: constexprs.pop(n) for n in ("arch", "num_warps", "num_stages")
                if n in constexprs and n not in self._consts}
        return compile(self.file, self.name, signature, constexprs, source=self.source,
                       include_dirs=self.include_dirs, **more)

    def _missing(self, name):
        raise TypeError("%s() needs '%s'" % (self.name, name))

    def _too_many(self, extra):
        """As Python says it of a function without the grid."""
        params = self.info["params"]
        most = len(params)
        fewest = sum(not p["default"] and not p["is_constexpr"] for p in params)
        raise TypeError("%s() takes %s positional arguments but %d were given" % (
            self.name, "%d" % most if fewest == most else "from %d to %d" % (fewest, most),
            most + extra))

    def _unknown(self, more):
        for name in more:
            hint = (": an executor is chosen by tilec.load(file, on=..)" if name == "on" else
                    ": the grid stands in brackets, %s[grid](..)" % self.name if name == "grid" else
                    meant(name, self.__signature__.parameters, "it takes"))
            raise TypeError("%s() got an unexpected keyword argument '%s'%s"
                            % (self.name, name, hint))

    def _fail(self, device, status):
        self._runtime(device).check(status)

    def _runtime(self, device):
        on = self.on or ("cuda" if device >= 0 else "cpu")
        if on != "cuda" and device >= 0:
            raise ValueError("kernel '%s' runs on \"%s\"; its arrays are on %s"
                             % (self.name, on, _place_name(device)))
        if on == "cuda" and device == _HOST:
            raise ValueError("kernel '%s' runs on a GPU; its arrays are on the host" % self.name)
        return Runtime.get(on, max(device, 0))

    def _make(self, device, consts, num_warps, num_stages, tune=0):
        """The handle for these constexprs, opened at their first use."""
        key = (device, *[v if type(v) is int else _key(v) for v in consts], num_warps, num_stages)
        key += (tune,) if tune else ()             # the launcher looks for those without
        with _lock:
            found = self._handles.get(key)
            if found is not None:
                return found
            rt = self._runtime(device)
            given = {n: v for n, v in zip(self._consts, consts) if v is not _UNSET}
            words = [_b("%s=%s" % (n, self._constexpr(n, v))) for n, v in given.items()]
            warps = num_warps or given.get("num_warps", 0)
            stages = num_stages or given.get("num_stages", 0)
            for name, value in ("num_warps", warps), ("num_stages", stages):
                if not hasattr(value, "__index__") or not 0 <= value <= _MOST[name]:
                    raise TypeError("%s(): %s is an integer from 1 to %d, such as 4; got %r"
                                    % (self.name, name, _MOST[name], value))
            dirs = _folders(self.include_dirs)
            source = None if self.source is None else self.source.encode()
            s = _Source(struct_size=C.sizeof(_Source), file=_b(self.file), source=source,
                        source_bytes=len(source or b""), kernel=_b(self.name),
                        defines=(C.c_char_p * max(1, len(words)))(*words), num_defines=len(words),
                        include_dirs=(C.c_char_p * max(1, len(dirs)))(*dirs),
                        num_include_dirs=len(dirs), num_warps=warps, num_stages=stages, tune=tune)
            for name, value in self.options.items():
                _set_field(s, name, value)
            module, kernel = C.c_void_p(), C.c_void_p()
            rt.check(rt.lib.tilec_module_from_source(rt.handle, C.byref(s), C.byref(module)))
            rt.check(rt.lib.tilec_module_kernel(module, None, C.byref(kernel)))
            self._handles[key] = kernel
            return kernel

    def _constexpr(self, name, value):
        try:
            return self._define(value)
        except TypeError as e:
            raise TypeError("%s(): '%s': %s" % (self.name, name, e)) from None

    def _meta(self, values, consts, num_warps, num_stages):
        meta = {p["name"]: _literal(p["default"]) for p in self.info["params"] if p["default"]}
        meta.update(zip(self._launch, values))
        meta.update((n, v) for n, v in zip(self._consts, consts) if v is not _UNSET)
        meta.setdefault("num_warps", num_warps or self.info["num_warps"] or 4)
        meta.setdefault("num_stages", num_stages or self.info["num_stages"] or 3)
        return meta

    def _grid_words(self, grid, values, consts, num_warps, num_stages):
        if callable(grid):
            grid = _grid_of(self.name, grid, self._meta(values, consts, num_warps, num_stages))
        return _grid_words(grid)

    def _ready(self, grid, values, consts, num_warps, num_stages, stream):
        """Runtime, handle and filled buffer of any launch."""
        b = _Buffer(len(values))
        _memory.forget()
        stream = None if stream is None else _stream(stream)
        consumer = _torch_stream(values) if stream is None else stream
        for i, value in enumerate(values):
            b.put(i, self._launch[i], value, consumer, self._types[i])
        device = b.device
        if device == _NO_ARRAY and self.on != "cuda":
            device = _HOST
        rt = self._runtime(device)
        b.words[0] = stream if stream is not None else b.own_stream()
        for other in b.streams - {b.words[0]}:        # the producer's work comes first
            rt.check(rt.lib.tilec_stream_sync(rt.handle, other))
        tune = 0
        if self.info["configs"] and callable(grid):
            consts, num_warps, num_stages = self._choose(rt, b, grid, values, consts, num_warps,
                                                         num_stages)
            tune = _TUNE_OFF
        handle = self._make(device, consts, num_warps, num_stages, tune)
        b.words[1], b.words[2] = self._grid_words(grid, values, consts, num_warps, num_stages)
        if b.read_only:
            self._check_read_only(rt, handle, b)
        if b.layouts:
            warn_of_layouts(self, b.layouts, values, consts)
        return rt, handle, b

    def _slow(self, grid, values, consts, num_warps, num_stages, stream):
        self._send(*self._ready(grid, values, consts, num_warps, num_stages, stream))

    def _send(self, rt, handle, b):
        rt.check(rt.lib._launch(handle, b.launch, b.args, b.count))

    def _check_read_only(self, rt, handle, b):
        """Refuses a launch that may write to memory which its owner says is only read."""
        rt.check(rt.lib.tilec_kernel_prepare(handle, b.args, b.count))
        for v in range(rt.lib.tilec_kernel_variants(handle)):
            info = rt.lib.tilec_kernel_info(handle, v).contents
            args = {a.name.decode(): a for a in info.args[:info.num_args]}
            for i, name in b.read_only:
                if not args[name].is_const:
                    raise ValueError("'%s' is read-only, and kernel '%s' writes to it: give a copy, "
                                     "numpy.array(..) of it" % (name, self.name))

    def _choose(self, rt, b, grid, values, consts, num_warps, num_stages):
        """The configuration of an autotuned kernel whose grid is a Python function: measured one
        by one, since only Python can tell the grid of each.  Nothing is kept beyond the process."""
        words = b.words
        named = dict(zip(self._launch, values))
        key = (b.device, consts, num_warps, num_stages,
               tuple(words[3 + 3 * i] for i in range(len(values))),
               tuple(named[k] for k in self.info["keys"] if k in named))
        found = self._choices.get(key)
        if found is not None:
            return found
        best, why = None, []
        for config in self.info["configs"]:
            full = tuple(_literal(config["values"][n]) if v is _UNSET and n in config["values"]
                         else v for n, v in zip(self._consts, consts))
            choice = (full, num_warps or config["num_warps"] or 4,       # Config's own defaults
                      num_stages or config["num_stages"] or 3)
            if rt.on != "cuda":                        # a host executor is not measured
                best = (0, choice)
                break
            words[1], words[2] = self._grid_words(grid, values, *choice)
            try:
                handle = self._make(b.device, *choice, tune=_TUNE_OFF)
                ms = _measure(rt, handle, b, config, choice[1], choice[2])
            except Error as e:
                why.append("%s: %s" % (config["text"], e))
                continue
            if best is None or ms < best[0]:
                best = (ms, choice)
        if best is None:
            raise Error("TILEC_NOT_FOUND", "kernel '%s': no configuration runs:\n%s"
                        % (self.name, "\n".join(why)))
        self._choices[key] = best[1]
        return best[1]


_TUNE_OFF = 3
_MOST = {"num_warps": 32, "num_stages": 64}


def _measure(rt, handle, b, config, num_warps, num_stages):
    values = [(_b(n), _b(v)) for n, v in config["values"].items()]
    one = _Config(text=_b(config["text"]), values=(_Define * max(1, len(values)))(*values),
                  num_values=len(values), num_warps=num_warps, num_stages=num_stages)
    options = _TuneOptions(struct_size=C.sizeof(_TuneOptions), configs=C.pointer(one),
                           num_configs=1, force=True)
    result = C.c_void_p()
    rt.check(rt.lib.tilec_kernel_tune(handle, b.launch, b.args, b.count, C.byref(options),
                                      C.byref(result)))
    ms = rt.lib.tilec_tune_info(result).contents.candidates[0].median_ms
    rt.lib.tilec_tune_free(result)
    return ms


class Module:
    """The kernels of a file: module.elu or module["elu"]; list(module) are their names."""

    def __init__(self, file=None, source=None, include_dirs=(), on=None, **options):
        _check_options(options)
        _check_where(file, on, source)
        self._how = dict(file=file, source=source, include_dirs=include_dirs, on=on, **options)
        self._names = [k["name"] for k in list_kernels(file, source, include_dirs)]
        self._made = {}

    def __iter__(self):
        return iter(self._names)

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError("a module has kernels and no grid: module.%s[%s](..)"
                            % (self._names[0] if self._names else "kernel", name))
        with _lock:
            if name not in self._made:
                self._made[name] = Kernel(name=name, **self._how)
            return self._made[name]

    def __call__(self, *args, **kw):
        raise TypeError("a module has kernels and is none: module.%s[grid](..)"
                        % (self._names[0] if self._names else "kernel"))

    def __getattr__(self, name):
        if not name.startswith("__") and name not in self._names:
            try:
                list_kernels(self._how["file"], self._how["source"], self._how["include_dirs"], name)
            except CompileError as e:                      # there is a `def` of that name
                raise AttributeError(str(e)) from None
        if name.startswith("__") or name not in self._names:
            error = AttributeError("no kernel '%s'%s The file has the kernels: %s" % (
                name, meant(name, self._names) or ".", ", ".join(self._names) or "none"))
            if not name.startswith("__"):              # Python is not to suggest it once more
                error.name, error.obj = name, None
            raise error
        kernel = self.__dict__[name] = self[name]      # found without this function from now on
        return kernel

    def __dir__(self):
        return self._names


def load(file=None, source=None, include_dirs=(), on=None, **options):
    """The kernels of a .tile or .py file.  options: fields of TilecSource (check=True)."""
    return Module(file, source, include_dirs, on, **options)
