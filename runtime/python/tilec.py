"""tilec from Python: one file over ctypes, no build, no dependencies.

    import tilec
    elu = tilec.Kernel("elu.tile", "elu")
    elu[(triton.cdiv(n, 1024),)](x, y, n, 1.0, BLOCK=1024, num_warps=4)     # torch tensors on a GPU

    p = tilec.compile("elu.tile", signature="*fp32:16, *fp32:16, i32, fp32", constexprs={"BLOCK": 1024})
    print(p.ptx, p.metadata["kernels"][0]["shared_bytes"])

Arguments: torch tensors (or anything with data_ptr() and dtype), objects with
__cuda_array_interface__ or __array_interface__ (numpy, for on="cpu" and on="sim"), int, float, bool,
None.  The library is found by load(path), the variable TILEC_LIBRARY, beside this file, or by name.
"""
import ctypes as C
import json
import os
import threading

__all__ = ["load", "compile", "list_kernels", "Kernel", "Program", "Runtime", "Error"]

_SIZE = C.c_size_t
_STRLEN = _SIZE(-1).value
OWN_GRID = 0xFFFFFFFF

# Mirrors of the structs in tilec/*.h, in their order.  struct_size tells the library which version.


class _Arg(C.Structure):
    class _As(C.Union):
        _fields_ = [("i", C.c_int64), ("u", C.c_uint64), ("f", C.c_double), ("ptr", C.c_void_p)]
    _fields_ = [("kind", C.c_int), ("dtype", C.c_int), ("v", _As), ("bytes", C.c_uint64)]


class _Diag(C.Structure):
    _fields_ = [("severity", C.c_int), ("code", C.c_char_p), ("file", C.c_char_p),
                ("line", C.c_uint32), ("column", C.c_uint32), ("end_line", C.c_uint32),
                ("end_column", C.c_uint32), ("text", C.c_char_p), ("help", C.c_char_p),
                ("rendered", C.c_char_p)]


_DIAG_FN = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(_Diag))
_TEXT_FN = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p)


class _SessionOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("alloc", C.c_void_p), ("release", C.c_void_p),
                ("alloc_user", C.c_void_p), ("memory_limit_bytes", _SIZE), ("on_diag", _DIAG_FN),
                ("user", C.c_void_p), ("max_errors", C.c_uint32), ("color", C.c_bool)]


class _Define(C.Structure):
    _fields_ = [("name", C.c_char_p), ("value", C.c_char_p)]


class _CompileOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("file", C.c_char_p), ("source", C.c_char_p),
                ("source_bytes", _SIZE), ("kernel", C.c_char_p), ("signature", C.c_char_p),
                ("defines", C.POINTER(_Define)), ("num_defines", _SIZE),
                ("include_dirs", C.POINTER(C.c_char_p)), ("num_include_dirs", _SIZE),
                ("arch", C.c_char_p), ("ptx_version", C.c_uint32), ("num_warps", C.c_uint32),
                ("num_stages", C.c_uint32), ("opt", C.c_int), ("fp_mode", C.c_int),
                ("debug_info", C.c_bool), ("check", C.c_bool), ("plain_abi", C.c_bool),
                ("warnings_are_errors", C.c_bool), ("stop_after", C.c_int),
                ("keep_stages", C.c_uint32), ("remarks", C.c_char_p), ("cancel", C.c_void_p),
                ("timeout_ms", C.c_uint32)]


class _Param(C.Structure):
    _fields_ = [("name", C.c_char_p), ("type", C.c_char_p), ("default_value", C.c_char_p),
                ("is_constexpr", C.c_bool), ("no_specialize", C.c_bool),
                ("value_matters", C.c_bool), ("no_align", C.c_bool)]


class _KernelDecl(C.Structure):
    _fields_ = [("name", C.c_char_p), ("file", C.c_char_p), ("line", C.c_uint32),
                ("doc", C.c_char_p), ("grid", C.c_char_p), ("num_warps", C.c_uint32),
                ("num_stages", C.c_uint32), ("params", C.POINTER(_Param)),
                ("num_params", C.c_uint32)]


class _RuntimeOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("executor", C.c_int), ("device", C.c_int32),
                ("context", C.c_void_p), ("use_current", C.c_bool), ("driver_path", C.c_char_p),
                ("synchronous", C.c_bool), ("num_threads", C.c_uint32), ("error", C.c_char_p),
                ("error_bytes", _SIZE)]


class _Source(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("file", C.c_char_p), ("source", C.c_char_p),
                ("source_bytes", _SIZE), ("kernel", C.c_char_p), ("defines", C.POINTER(C.c_char_p)),
                ("num_defines", _SIZE), ("include_dirs", C.POINTER(C.c_char_p)),
                ("num_include_dirs", _SIZE), ("num_warps", C.c_uint32), ("num_stages", C.c_uint32),
                ("debug_info", C.c_bool), ("check", C.c_bool), ("arch", C.c_char_p),
                ("opt", C.c_uint32), ("fp_mode", C.c_uint32)]


class _Launch(C.Structure):
    _fields_ = [("stream", C.c_void_p), ("grid", C.c_uint32 * 3)]


class _JitOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("on_text", _TEXT_FN), ("user", C.c_void_p),
                ("memory_limit_bytes", _SIZE)]


_KIND_NONE, _KIND_SCALAR, _KIND_POINTER = 0, 1, 2
_DTYPES = {"i1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "u8": 6, "u16": 7, "u32": 8, "u64": 9,
           "fp8e4nv": 10, "fp8e5": 11, "fp16": 12, "bf16": 13, "fp32": 14, "fp64": 15}
_TORCH = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
          "uint16": "u16", "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "fp8e4nv",
          "float8_e5m2": "fp8e5", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32",
          "float64": "fp64"}
_TYPESTR = {"b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16",
            "u4": "u32", "u8": "u64", "f2": "fp16", "f4": "fp32", "f8": "fp64"}
_STAGES = {"tokens": 1, "ast": 2, "ir": 3, "laid": 4, "lowered": 5, "llvm": 6, "ptx": 7}
_EXECUTORS = {"cuda": 0, "cpu": 1, "sim": 2}

_lib = None
_lock = threading.Lock()


class Error(RuntimeError):
    """A failed call: .status is the name of the code, the text says why."""

    def __init__(self, status, text):
        super().__init__("%s: %s" % (status, text))
        self.status = status


# name: result, parameters.  P is any handle.
_P, _PP, _S, _U32 = C.c_void_p, C.POINTER(C.c_void_p), C.c_char_p, C.c_uint32
_CALLS = {
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
    "tilec_runtime_sync": (C.c_int, [_P]),
    "tilec_jit_attach": (C.c_int, [_P, C.POINTER(_JitOptions)]),
    "tilec_module_load": (C.c_int, [_P, _S, _SIZE, _S, _SIZE, _PP]),
    "tilec_module_from_source": (C.c_int, [_P, C.POINTER(_Source), _PP]),
    "tilec_module_free": (None, [_P]), "tilec_module_log": (_S, [_P]),
    "tilec_module_kernel": (C.c_int, [_P, _S, _PP]),
    "tilec_launch": (C.c_int, [_P, C.POINTER(_Launch), C.POINTER(_Arg), _SIZE]),
}


def load(path=None):
    """Loads libtilec.so; called by everything else when it has not been called."""
    global _lib
    with _lock:
        if _lib is None or path is not None:
            here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtilec.so")
            path = path or os.environ.get("TILEC_LIBRARY") or (
                here if os.path.exists(here) else "libtilec.so")
            lib = C.CDLL(path)
            for name, (result, params) in _CALLS.items():
                fn = getattr(lib, name)
                fn.restype, fn.argtypes = result, params
            _lib = lib
        return _lib


def _b(text):
    return None if text is None else os.fsencode(text)


def _word(value):
    """A constexpr as -D takes it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value) if isinstance(value, float) else str(value)
    name = str(value)          # torch.float16, tl.float16
    return name.rsplit(".", 1)[-1]


class _Session:
    """A compile session whose diagnostics gather in .text."""

    def __enter__(self):
        self.lib = load()
        self.text = []
        self._fn = _DIAG_FN(lambda _, d: self.text.append(d.contents.rendered.decode()))
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
            raise Error(self.lib.tilec_status_name(status).decode(),
                        why or self.lib.tilec_status_string(status).decode())


def _options(file, source, kernel, constexprs, include_dirs, **more):
    o = _CompileOptions(struct_size=C.sizeof(_CompileOptions), file=_b(file), kernel=_b(kernel))
    if source is not None:
        o.source = source.encode()
        o.source_bytes = len(o.source)
    defines = list((constexprs or {}).items())
    o.defines = (_Define * max(1, len(defines)))(*[(_b(k), _b(_word(v))) for k, v in defines])
    o.num_defines = len(defines)
    dirs = list(include_dirs)
    o.include_dirs = (C.c_char_p * max(1, len(dirs)))(*[_b(d) for d in dirs])
    o.num_include_dirs = len(dirs)
    for name, value in more.items():
        setattr(o, name, _b(value) if isinstance(value, str) else value)
    return o


class Program:
    """A compiled specialisation: .ptx, .metadata (dict), .text(stage)."""

    def __init__(self, lib, handle, diagnostics):
        self._lib, self._handle, self.diagnostics = lib, handle, diagnostics

    def text(self, stage="ptx"):
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
    with _Session() as s:
        bits = sum(1 << _STAGES[k] for k in keep)
        o = _options(file, source, kernel, constexprs, include_dirs, signature=signature or None,
                     arch=arch or None, num_warps=num_warps, num_stages=num_stages,
                     stop_after=_STAGES[emit], keep_stages=bits, **more)
        handle = C.c_void_p()
        s.check(s.lib.tilec_compile(s.handle, C.byref(o), C.byref(handle)))
        return Program(s.lib, handle, "".join(s.text))


def list_kernels(file=None, source=None, include_dirs=()):
    """[{name, line, grid, num_warps, params: [{name, type, default, is_constexpr}]}]"""
    with _Session() as s:
        o = _options(file, source, None, None, include_dirs)
        handle = C.c_void_p()
        s.check(s.lib.tilec_list_kernels(s.handle, C.byref(o), C.byref(handle)))

        def text(t):
            return None if t is None else t.decode()
        try:
            out = []
            for i in range(s.lib.tilec_listing_count(handle)):
                d = s.lib.tilec_listing_kernel(handle, i).contents
                params = [{"name": text(p.name), "type": text(p.type),
                           "default": text(p.default_value), "is_constexpr": p.is_constexpr}
                          for p in d.params[:d.num_params]]
                out.append({"name": text(d.name), "file": text(d.file), "line": d.line,
                            "doc": text(d.doc), "grid": text(d.grid), "num_warps": d.num_warps,
                            "num_stages": d.num_stages, "params": params})
            return out
        finally:
            s.lib.tilec_listing_free(handle)


class Runtime:
    """A device (on="cuda") or a host executor ("cpu", "sim").  Runtime.get() shares them."""
    _open = {}

    def __init__(self, on="cuda", device=0, synchronous=False, driver_path=None):
        self.lib, self.on, self.device = load(), on, device
        error = C.create_string_buffer(4096)
        o = _RuntimeOptions(struct_size=C.sizeof(_RuntimeOptions), executor=_EXECUTORS[on],
                            device=device, synchronous=synchronous, driver_path=_b(driver_path),
                            error=C.cast(error, C.c_char_p), error_bytes=len(error))
        self.handle = C.c_void_p()
        status = self.lib.tilec_runtime_open(C.byref(o), C.byref(self.handle))
        if status:
            raise Error(self.lib.tilec_status_name(status).decode(),
                        error.value.decode(errors="replace"))
        self.check(self.lib.tilec_jit_attach(self.handle, None))

    @classmethod
    def get(cls, on="cuda", device=0):
        key = (on, device, os.getpid())
        with _lock:
            found = cls._open.get(key)
        return found or cls._open.setdefault(key, cls(on, device))

    def check(self, status):
        if status:
            text = C.create_string_buffer(8192)
            self.lib.tilec_runtime_error(self.handle, text, len(text))
            raise Error(self.lib.tilec_status_name(status).decode(),
                        text.value.decode(errors="replace"))

    def sync(self):
        self.check(self.lib.tilec_runtime_sync(self.handle))

    def load(self, ptx, metadata_json, kernel=None):
        """A kernel of ready PTX; launch it with launch()."""
        module, handle = C.c_void_p(), C.c_void_p()
        p, m = ptx.encode(), metadata_json.encode()
        self.check(self.lib.tilec_module_load(self.handle, p, len(p), m, len(m), C.byref(module)))
        self.check(self.lib.tilec_module_kernel(module, _b(kernel), C.byref(handle)))
        return handle

    def launch(self, kernel, grid, args, stream=None):
        packed = (_Arg * max(1, len(args)))(*[_pack(a) for a in args])
        if grid is None:
            grid = (OWN_GRID, 1, 1)
        elif isinstance(grid, int):
            grid = (grid,)
        grid = tuple(int(g) for g in grid)
        if not 1 <= len(grid) <= 3 or min(grid) < 0 or max(grid) > 0xFFFFFFFF:
            raise ValueError("a grid is 1 to 3 numbers from 0 on, not %r" % (grid,))
        launch = _Launch(stream, (C.c_uint32 * 3)(*(grid + (1, 1))[:3]))
        self.check(self.lib.tilec_launch(kernel, C.byref(launch), packed, len(args)))


def _pack(a):
    """One argument as a TilecArg."""
    if a is None:
        return _Arg(_KIND_NONE)
    r = _Arg(_KIND_SCALAR)
    if isinstance(a, bool):
        r.dtype, r.v.i = _DTYPES["i1"], int(a)
    elif isinstance(a, int):
        if -2**31 <= a < 2**31:
            r.dtype, r.v.i = _DTYPES["i32"], a
        elif -2**63 <= a < 2**63:
            r.dtype, r.v.i = _DTYPES["i64"], a
        elif 0 <= a < 2**64:
            r.dtype, r.v.u = _DTYPES["u64"], a
        else:
            raise OverflowError("%d does not fit 64 bits" % a)
    elif isinstance(a, float):
        r.dtype, r.v.f = _DTYPES["fp32"], a
    elif hasattr(a, "data_ptr"):
        r.kind = _KIND_POINTER
        r.dtype = _DTYPES[_TORCH[str(a.dtype).rsplit(".", 1)[-1]]]
        r.v.ptr = a.data_ptr()
        if hasattr(a, "untyped_storage"):
            storage = a.untyped_storage()
            r.bytes = storage.nbytes() - (a.data_ptr() - storage.data_ptr())
    else:
        info = getattr(a, "__cuda_array_interface__", None) or getattr(a, "__array_interface__", None)
        if info is None:
            raise TypeError("no kernel argument: %r" % type(a))
        size = int(info["typestr"][2:])
        count, strides = size, info.get("strides")
        for i, n in enumerate(info["shape"]):
            count = count * n if not strides else count + (n - 1) * strides[i] if n else 0
        r.kind, r.dtype = _KIND_POINTER, _DTYPES[_TYPESTR[info["typestr"][1:]]]
        r.v.ptr, r.bytes = info["data"][0], max(0, count)
    return r


class Kernel:
    """kernel[grid](*args, num_warps=.., CONSTEXPR=..): compiled when first needed, as Triton does.

    grid: a number, a tuple, a function of the meta-parameters, or None for the kernel's own.
    on: "cuda", "cpu" or "sim"; None = "cuda" for device tensors, else "cpu"."""

    def __init__(self, file=None, name=None, source=None, include_dirs=(), on=None, **options):
        found = list_kernels(file, source, include_dirs)
        match = [k for k in found if name is None or k["name"] == name]
        if len(match) != 1:
            raise Error("TILEC_NOT_FOUND", "the file has the kernels: %s"
                        % ", ".join(k["name"] for k in found))
        self.info, self.name = match[0], match[0]["name"]
        self.file, self.source, self.include_dirs, self.on = file, source, include_dirs, on
        self.options = options
        self._params = self.info["params"]
        self._names = {p["name"]: i for i, p in enumerate(self._params)}
        self._kernels = {}

    def __getitem__(self, grid):
        return lambda *args, **kw: self.run(grid, args, kw)

    def _kernel(self, rt, constexprs, num_warps, num_stages):
        key = (rt.on, rt.device, num_warps, num_stages, tuple(sorted(constexprs.items(), key=str)))
        found = self._kernels.get(key)
        if found:
            return found
        words = [_b("%s=%s" % (k, _word(v))) for k, v in constexprs.items()]
        dirs = [_b(d) for d in self.include_dirs]
        source = None if self.source is None else self.source.encode()
        s = _Source(struct_size=C.sizeof(_Source), file=_b(self.file), source=source,
                    source_bytes=len(source or b""), kernel=_b(self.name),
                    defines=(C.c_char_p * max(1, len(words)))(*words), num_defines=len(words),
                    include_dirs=(C.c_char_p * max(1, len(dirs)))(*dirs), num_include_dirs=len(dirs),
                    num_warps=num_warps or 0, num_stages=num_stages or 0, **self.options)
        module, kernel = C.c_void_p(), C.c_void_p()
        rt.check(rt.lib.tilec_module_from_source(rt.handle, C.byref(s), C.byref(module)))
        rt.check(rt.lib.tilec_module_kernel(module, None, C.byref(kernel)))
        return self._kernels.setdefault(key, kernel)

    def run(self, grid, args, kw):
        num_warps, num_stages = kw.pop("num_warps", 0), kw.pop("num_stages", 0)
        stream = kw.pop("stream", None)
        given = dict(zip(self._names, args))
        if len(args) > len(self._params):
            raise TypeError("%s() takes %d arguments, %d given"
                            % (self.name, len(self._params), len(args)))
        for name, value in kw.items():
            if name not in self._names or name in given:
                raise TypeError("%s() has no free parameter '%s'" % (self.name, name))
            given[name] = value
        launch, constexprs = [], {}
        for p in self._params:
            if p["name"] in given:
                if p["is_constexpr"]:
                    constexprs[p["name"]] = given[p["name"]]
                else:
                    launch.append(given[p["name"]])
            elif p["default"] is None:
                raise TypeError("%s() needs '%s'" % (self.name, p["name"]))
            elif not p["is_constexpr"]:
                launch.append(_literal(p["default"]))
        rt, stream = self._place(launch, stream)
        if callable(grid):
            meta = {p["name"]: _literal(p["default"]) for p in self._params if p["default"]}
            meta.update(given, num_warps=num_warps, num_stages=num_stages)
            grid = grid(meta)
        rt.launch(self._kernel(rt, constexprs, num_warps, num_stages), grid, launch, stream)

    def _place(self, args, stream):
        """The runtime by the tensors' device, and torch's current stream there."""
        device = next((a.device for a in args if getattr(getattr(a, "device", None), "type", "")
                       == "cuda"), None)
        on_gpu = device is not None or any(hasattr(a, "__cuda_array_interface__") for a in args)
        on = self.on or ("cuda" if on_gpu else "cpu")
        if on != "cuda":
            return Runtime.get(on), None
        index = 0
        if device is not None:
            import torch
            index = device.index if device.index is not None else torch.cuda.current_device()
            if stream is None:
                stream = torch.cuda.current_stream(index).cuda_stream
        return Runtime.get("cuda", index), stream


def _literal(text):
    import ast
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
