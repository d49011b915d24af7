"""The structs of tilec/*.h for ctypes, in their order, and those of DLPack.  struct_size tells the library
which version it is given."""
import ctypes as C

__all__ = ["_SIZE", "_STRLEN", "OWN_GRID", "_Arg", "_Tensor", "_Diag", "_DIAG_FN", "_TEXT_FN",
           "_SessionOptions", "_Define", "_CompileOptions", "_Param", "_Config", "_Tuning",
           "_KernelDecl", "_ArgInfo", "_KernelInfo", "_RuntimeOptions", "_Source", "_Launch",
           "_JitOptions", "_TuneOptions", "_TuneCandidate", "_TuneInfo", "_KernelUse",
           "_DlTensor", "_DlManaged", "_DlVersioned"]

_SIZE = C.c_size_t
_STRLEN = _SIZE(-1).value
OWN_GRID = 0xFFFFFFFF


class _Arg(C.Structure):
    class _As(C.Union):
        _fields_ = [("i", C.c_int64), ("u", C.c_uint64), ("f", C.c_double), ("ptr", C.c_void_p)]
    _fields_ = [("kind", C.c_int), ("dtype", C.c_int), ("v", _As), ("bytes", C.c_uint64)]


class _Tensor(C.Structure):
    _fields_ = [("base", _Arg), ("rank", C.c_uint32), ("shape", C.c_int64 * 5),
                ("strides", C.c_int64 * 5), ("block", C.c_uint32 * 5)]


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
                ("timeout_ms", C.c_uint32), ("values", C.POINTER(_Define)), ("num_values", _SIZE),
                ("grid", C.c_char_p), ("assume", C.POINTER(C.c_char_p)), ("num_assume", _SIZE),
                ("tma", C.c_int), ("fp32_dot", C.c_char_p),
                ("print_threads", C.c_bool), ("short_programs", C.c_bool),
                ("few_programs", C.c_bool), ("lints", C.c_bool)]


class _Param(C.Structure):
    _fields_ = [("name", C.c_char_p), ("type", C.c_char_p), ("default_value", C.c_char_p),
                ("is_constexpr", C.c_bool), ("no_specialize", C.c_bool),
                ("value_matters", C.c_bool), ("no_align", C.c_bool),
                ("is_bound", C.c_bool), ("strides", C.POINTER(C.c_char_p)),
                ("num_strides", C.c_uint32)]


class _Config(C.Structure):
    _fields_ = [("text", C.c_char_p), ("values", C.POINTER(_Define)), ("num_values", C.c_uint32),
                ("num_warps", C.c_uint32), ("num_stages", C.c_uint32), ("num_ctas", C.c_uint32)]


class _Tuning(C.Structure):
    _fields_ = [("configs", C.POINTER(_Config)), ("num_configs", C.c_uint32),
                ("keys", C.POINTER(C.c_char_p)), ("num_keys", C.c_uint32)]


class _KernelDecl(C.Structure):
    _fields_ = [("name", C.c_char_p), ("file", C.c_char_p), ("line", C.c_uint32),
                ("doc", C.c_char_p), ("grid", C.c_char_p), ("num_warps", C.c_uint32),
                ("num_stages", C.c_uint32), ("params", C.POINTER(_Param)),
                ("num_params", C.c_uint32), ("tuning", C.POINTER(_Tuning))]


class _ArgInfo(C.Structure):
    _fields_ = [("name", C.c_char_p), ("type", C.c_char_p), ("value", C.c_char_p),
                ("is_constexpr", C.c_bool), ("is_const", C.c_bool), ("divisible", C.c_uint32)]


class _KernelInfo(C.Structure):
    _fields_ = [("name", C.c_char_p), ("entry", C.c_char_p), ("file", C.c_char_p),
                ("line", C.c_uint32), ("num_warps", C.c_uint32), ("num_stages", C.c_uint32),
                ("threads", C.c_uint32), ("shared_bytes", C.c_uint32), ("cluster", C.c_uint32 * 3),
                ("cooperative", C.c_bool), ("programmatic", C.c_bool), ("grid", C.c_char_p * 3),
                ("launch_grid", C.c_char_p * 3), ("when", C.c_char_p),
                ("args", C.POINTER(_ArgInfo)), ("num_args", C.c_uint32)]


class _Memory(C.Structure):
    _fields_ = [("begin", C.c_void_p), ("bytes", C.c_uint64), ("read_only", C.c_bool)]


_MEMORY_FN = C.CFUNCTYPE(C.c_bool, C.c_void_p, C.c_uint64, C.POINTER(_Memory))


class _RuntimeOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("executor", C.c_int), ("device", C.c_int32),
                ("context", C.c_void_p), ("use_current", C.c_bool), ("driver_path", C.c_char_p),
                ("synchronous", C.c_bool), ("num_threads", C.c_uint32), ("error", C.c_char_p),
                ("error_bytes", _SIZE), ("check", C.c_bool), ("timeout_ms", C.c_uint32),
                ("memory", _MEMORY_FN), ("memory_user", C.c_void_p)]


class _Source(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("file", C.c_char_p), ("source", C.c_char_p),
                ("source_bytes", _SIZE), ("kernel", C.c_char_p), ("defines", C.POINTER(C.c_char_p)),
                ("num_defines", _SIZE), ("include_dirs", C.POINTER(C.c_char_p)),
                ("num_include_dirs", _SIZE), ("num_warps", C.c_uint32), ("num_stages", C.c_uint32),
                ("debug_info", C.c_bool), ("check", C.c_bool), ("arch", C.c_char_p),
                ("opt", C.c_uint32), ("fp_mode", C.c_uint32), ("grid", C.c_char_p),
                ("tune", C.c_uint32),
                ("assume", C.POINTER(C.c_char_p)), ("num_assume", _SIZE), ("tma", C.c_uint32),
                ("fp32_dot", C.c_char_p),
                ("print_threads", C.c_bool)]


class _Launch(C.Structure):
    _fields_ = [("stream", C.c_void_p), ("grid", C.c_uint32 * 3)]


class _JitOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("on_text", _TEXT_FN), ("user", C.c_void_p),
                ("memory_limit_bytes", _SIZE), ("never_compile", C.c_bool),
                ("num_workers", C.c_uint32), ("cache_dir", C.c_char_p),
                ("cache_bytes", C.c_uint64), ("cache_layers", C.POINTER(C.c_char_p)),
                ("num_cache_layers", _SIZE), ("ptxas", C.c_char_p), ("tune", C.c_uint32),
                ("tune_database", C.c_char_p), ("warn", C.c_bool)]


class _TuneOptions(C.Structure):
    _fields_ = [("struct_size", _SIZE), ("configs", C.POINTER(_Config)),
                ("num_configs", C.c_uint32), ("force", C.c_bool), ("keep_all", C.c_bool),
                ("on_host", C.c_bool), ("warm_cache", C.c_bool), ("warmup_ms", C.c_uint32),
                ("rep_ms", C.c_uint32), ("num_threads", C.c_uint32), ("reference", C.c_uint32),
                ("tolerance", C.c_double), ("check", C.c_void_p), ("on_progress", C.c_void_p),
                ("user", C.c_void_p)]


class _TuneCandidate(C.Structure):
    _fields_ = [("config", C.c_char_p), ("status", C.c_int), ("reason", C.c_char_p),
                ("median_ms", C.c_double)]


class _TuneInfo(C.Structure):
    _fields_ = [("candidates", C.POINTER(_TuneCandidate)), ("num_candidates", C.c_uint32)]


class _KernelUse(C.Structure):
    _fields_ = [("registers", C.c_uint32), ("spill_bytes", C.c_uint32),
                ("static_shared_bytes", C.c_uint32), ("blocks_per_sm", C.c_uint32)]


# https://dmlc.github.io/dlpack/latest/c_api.html


class _DlTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device_type", C.c_int32), ("device_id", C.c_int32),
                ("ndim", C.c_int32), ("code", C.c_uint8), ("bits", C.c_uint8),
                ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class _DlManaged(C.Structure):
    _fields_ = [("tensor", _DlTensor), ("context", C.c_void_p), ("deleter", C.c_void_p)]


class _DlVersioned(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p),
                ("deleter", C.c_void_p), ("flags", C.c_uint64), ("tensor", _DlTensor)]
