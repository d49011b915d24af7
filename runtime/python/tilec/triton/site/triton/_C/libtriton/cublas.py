"""cuBLASLt's matrix product, through the library that torch brings."""
import ctypes as C
import functools
import glob
import os
import sys

_LOADED = ("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so")
_NOLOAD = 4                                   # RTLD_NOLOAD
_P, _U64 = C.c_void_p, C.c_uint64


class _Algorithm(C.Structure):
    """cublasLtMatmulHeuristicResult_t; the algorithm itself is its first field."""
    _fields_ = [("algo", _U64 * 8), ("workspace", C.c_size_t), ("state", C.c_int),
                ("waves", C.c_float), ("reserved", C.c_int * 4)]


# cublasLt.h: the parameters of what is called
_CALLS = {
    "cublasLtCreate": [C.POINTER(_P)], "cublasLtDestroy": [_P],
    "cublasLtMatmulDescCreate": [C.POINTER(_P), C.c_int, C.c_int],
    "cublasLtMatmulDescDestroy": [_P],
    "cublasLtMatmulDescSetAttribute": [_P, C.c_int, _P, C.c_size_t],
    "cublasLtMatrixLayoutCreate": [C.POINTER(_P), C.c_int, _U64, _U64, C.c_int64],
    "cublasLtMatrixLayoutDestroy": [_P],
    "cublasLtMatmulPreferenceCreate": [C.POINTER(_P)], "cublasLtMatmulPreferenceDestroy": [_P],
    "cublasLtMatmulPreferenceSetAttribute": [_P, C.c_int, _P, C.c_size_t],
    "cublasLtMatmulAlgoGetHeuristic": [_P, _P, _P, _P, _P, _P, _P, C.c_int,
                                       C.POINTER(_Algorithm), C.POINTER(C.c_int)],
    "cublasLtMatmul": [_P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, _P, C.c_size_t, _P]}

_TRANSA, _TRANSB, _FAST_ACCUM = 3, 4, 25      # cublasLtMatmulDescAttributes_t
_OP_N, _OP_T = 0, 1                           # cublasOperation_t
_MAX_WORKSPACE = 1                            # cublasLtMatmulPreferenceAttributes_t
_COMPUTE_32F, _COMPUTE_TF32 = 68, 77          # cublasComputeType_t
_R_32F, _R_16F, _R_16BF, _R_E4M3 = 0, 2, 14, 28                          # cudaDataType_t
_TYPES = {"torch.float32": _R_32F, "torch.float16": _R_16F, "torch.bfloat16": _R_16BF,
          "torch.float8_e4m3fn": _R_E4M3}


def _places():
    """Files of NVIDIA's packages for Python, as torch finds them; the newest first."""
    found = []
    for folder in sys.path:
        for part in ("cublas", "cu13", "cu12"):
            found += glob.glob(os.path.join(folder or ".", "nvidia", part, "lib",
                                            "libcublasLt.so.*"))
    return sorted(found, key=os.path.basename, reverse=True)


def _opened(name, flags):
    try:
        return C.CDLL(name, mode=flags)
    except OSError:
        return None


@functools.cache
def _library():
    """The one that is loaded already, that of a package, or the system's."""
    ways = [(name, _NOLOAD | os.RTLD_LAZY) for name in _LOADED]
    ways += [(path, os.RTLD_LAZY) for path in (*_places(), *_LOADED)]
    lib = next(filter(None, (_opened(*way) for way in ways)), None)
    if lib is None:
        raise RuntimeError("CublasLt: no libcublasLt.so here: it is looked for among the loaded "
                           "libraries, in the package nvidia-cublas, and in LD_LIBRARY_PATH")
    for name, params in _CALLS.items():
        getattr(lib, name).argtypes = params
    return lib


def _call(name, *args):
    status = getattr(_library(), name)(*args)
    if status:
        raise RuntimeError("cuBLAS Error: %d from %s" % (status, name))


class _Made:
    """A handle of cuBLASLt's, destroyed with the object."""

    def __init__(self, what, *args):
        self.what, self._as_parameter_ = what, _P()
        _call("cublasLt%sCreate" % what, C.byref(self._as_parameter_), *args)

    def set(self, attribute, value):
        _call("cublasLt%sSetAttribute" % self.what, self, attribute, C.byref(value),
              C.sizeof(value))

    def __del__(self):
        if self._as_parameter_:
            getattr(_library(), "cublasLt%sDestroy" % self.what)(self._as_parameter_)


def _shape(**tensors):
    """(m, n, k, type) of A, B and the result: A is m by k, B n by k, rows first."""
    for name, t in tensors.items():
        if len(t.shape) != 2:
            raise RuntimeError("CublasLt: %s has %d dimensions; 2 are wanted"
                               % (name, len(t.shape)))
        if not t.is_contiguous():
            raise RuntimeError("CublasLt: %s is not contiguous" % name)
        if str(t.dtype) not in _TYPES:
            raise RuntimeError("CublasLt: %s is %s; there are %s" % (name, t.dtype,
                                                                     ", ".join(_TYPES)))
    (m, k), (n, k2) = tensors["A"].shape, tensors["B"].shape
    if k != k2:
        raise RuntimeError("CublasLt: A has %d columns, B %d (B is transposed)" % (k, k2))
    for name in tensors.keys() - {"A", "B"}:
        if tuple(tensors[name].shape) != (m, n):
            raise RuntimeError("CublasLt: %s is %s; (%d, %d) is wanted"
                               % (name, tuple(tensors[name].shape), m, n))
    return m, n, k, _same_type(**tensors)


def _same_type(A, B, C=None, D=None):
    result = C if D is None else D
    if A.dtype != B.dtype or A.dtype != result.dtype:
        raise RuntimeError("CublasLt: A is %s, B %s, the result %s; one type is wanted"
                           % (A.dtype, B.dtype, result.dtype))
    addend = _addend_type(_TYPES[str(A.dtype)])
    if D is not None and _TYPES[str(C.dtype)] != addend:
        raise RuntimeError("CublasLt: C is %s beside %s" % (C.dtype, A.dtype))
    return _TYPES[str(A.dtype)]


def _addend_type(dtype):
    return _R_16F if dtype == _R_E4M3 else dtype


class CublasLt:
    """Products by one handle, in a work space of the caller's (a tensor of bytes on the GPU)."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.workspace_bytes = workspace.numel() * workspace.element_size()
        self.plans, self.handle = {}, _P()
        _call("cublasLtCreate", C.byref(self.handle))
        self.preference = _Made("MatmulPreference")
        self.preference.set(_MAX_WORKSPACE, C.c_size_t(self.workspace_bytes))

    def __del__(self):
        if getattr(self, "handle", None):
            _library().cublasLtDestroy(self.handle)

    def matmul(self, A, B, C):
        """C = A @ B.T"""
        self._product(*_shape(A=A, B=B, C=C), A, B, None, C, 1.0, 0.0)

    def gemm(self, A, B, C, D, alpha, beta):
        """D = alpha * A @ B.T + beta * C"""
        self._product(*_shape(A=A, B=B, C=C, D=D), A, B, C, D, alpha, beta)

    def _plan(self, m, n, k, dtype):
        """What such a product is, and the algorithm for it: found once."""
        how = _Made("MatmulDesc", _COMPUTE_TF32 if dtype == _R_32F else _COMPUTE_32F, _R_32F)
        how.set(_TRANSA, C.c_int(_OP_T))
        how.set(_TRANSB, C.c_int(_OP_N))
        if dtype == _R_E4M3:
            how.set(_FAST_ACCUM, C.c_int8(1))
        layouts = [_Made("MatrixLayout", *shape) for shape in (
            (dtype, k, n, k), (dtype, k, m, k), (_addend_type(dtype), n, m, n), (dtype, n, m, n))]
        best, count = _Algorithm(), C.c_int()
        _call("cublasLtMatmulAlgoGetHeuristic", self.handle, how, *layouts, self.preference, 1,
              C.byref(best), C.byref(count))
        if not count.value:
            raise RuntimeError("No valid algorithm found by cublasLtMatmulAlgoGetHeuristic")
        return how, best, layouts

    def _product(self, m, n, k, dtype, a, b, c, d, alpha, beta):
        """cuBLAS counts columns first: what it computes is the transposed product, B by A."""
        key = (m, n, k, dtype)
        if key not in self.plans:
            self.plans[key] = self._plan(*key)
        how, best, (of_b, of_a, of_c, of_d) = self.plans[key]
        _call("cublasLtMatmul", self.handle, how, C.byref(C.c_float(alpha)), b.data_ptr(), of_b,
              a.data_ptr(), of_a, C.byref(C.c_float(beta)), c.data_ptr() if c is not None else None,
              of_c, d.data_ptr(), of_d, C.byref(best), self.workspace.data_ptr(),
              self.workspace_bytes, self._stream())

    def _stream(self):
        from ...runtime.driver import driver
        return driver.active.get_current_stream()
