"""Triton's settings.  Each reads its environment variable until it is set in the program."""
import contextlib
import copy
import dataclasses
import functools
import os
import re
import shutil
import subprocess

from . import _absent

propagate_env = True


class Env:
    """What a setting is set to when its variable is to be read again."""


env = Env()


def _flag(text):
    return text.lower() in ("1", "y", "yes", "on", "true")


class _Knob:
    def __init__(self, variable, default, read):
        self.key, self.default, self.read = variable, default, read

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner):
        if obj is None:
            return self
        if self.name in obj.__dict__:
            return obj.__dict__[self.name]
        text = os.environ.get(self.key)
        if text is not None:
            return self.read(text)
        return self.default() if callable(self.default) else self.default

    def __set__(self, obj, value):
        if isinstance(value, Env):
            obj.__dict__.pop(self.name, None)
            return
        obj.__dict__[self.name] = value
        setenv(self.key, value)

    def __delete__(self, obj):
        obj.__dict__.pop(self.name, None)


def getenv(key, default=None):
    return os.environ.get(key, default)


def getenv_bool(key, default):
    text = os.environ.get(key)
    return default if text is None else _flag(text)


def toenv(value):
    """(text of the variable,), None where a value has none."""
    if value is None:
        return (None,)
    if type(value) in (bool, int, str):
        return (str(int(value)) if type(value) is bool else str(value),)
    return None


def setenv(key, value):
    """None takes the variable away."""
    if not propagate_env:
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = str(int(value)) if isinstance(value, bool) else str(value)


class _Unmet:
    """A setting that is not followed: it cannot be set."""

    def __init__(self, unset, why):
        self.unset, self.why = unset, why

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner):
        return self.unset

    def __set__(self, obj, value):
        if value:
            raise NotImplementedError("knobs: tilec does not follow %s=%r: %s"
                                      % (self.name, value, self.why))


@dataclasses.dataclass
class NvidiaTool:
    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path):
        try:
            said = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT)
        except (subprocess.CalledProcessError, OSError):
            return None
        version = re.search(r"release (\d+\.\d+)", said.decode("utf-8", "replace"))
        return NvidiaTool(path, version.group(1)) if version else None


class _Tool(_Knob):
    """A program of CUDA's that others ask for; tilec calls none."""

    def __init__(self, name):
        super().__init__("TRITON_%s_PATH" % name.upper(), None, str)
        self.program = name

    def __get__(self, obj, owner):
        path = super().__get__(obj, owner)
        if obj is None:
            return path
        for p in (path, shutil.which(self.program)):
            tool = NvidiaTool.from_path(p) if p else None
            if tool:
                return tool
        raise RuntimeError("Cannot find %s" % self.program)


@dataclasses.dataclass(frozen=True)
class CompileTimes:
    """What the steps of a compilation took, in microseconds."""
    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self):
        return sum(t for _, t in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


class _Listener:
    """Called for each compilation.  `listening` is looked at by each launch."""
    listening = []

    def __get__(self, obj, owner):
        return self if obj is None else obj.__dict__.get("listener")

    def __set__(self, obj, value):
        obj.__dict__["listener"] = value
        if obj is globals().get("compilation"):
            self.listening[:] = [value] if value else []


_NO_STAGES = "there are none of Triton's stages"
_NO_PTXAS = "the driver assembles, without options"


def _bool(variable, default=False):
    return _Knob(variable, default, _flag)


def _text(variable, default=None):
    return _Knob(variable, default, str)


class base_knobs:
    @property
    def knob_descriptors(self):
        return {n: v for c in type(self).__mro__ for n, v in vars(c).items()
                if isinstance(v, _Knob)}

    @property
    def knobs(self):
        return {n: self._read(n) for n in self.knob_descriptors}

    def _read(self, name):
        try:
            return getattr(self, name)
        except RuntimeError:                    # a tool that is not there
            return None

    def copy(self):
        return copy.copy(self)

    def reset(self):
        self.__dict__.clear()
        self._follow_hooks()
        return self

    def _follow_hooks(self):
        for c in type(self).__mro__:
            for hook in vars(c).values():
                if isinstance(hook, _Hook):
                    hook.follow(self)

    @contextlib.contextmanager
    def scope(self):
        """Puts the settings of this group, and their variables, back at the end."""
        before = dict(self.__dict__)
        env = {k.key: os.environ.get(k.key) for k in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)
            self._follow_hooks()
            for key, value in env.items():
                os.environ.pop(key, None) if value is None else os.environ.update({key: value})


class HookChain:
    """Functions called one after the other."""

    def __init__(self, reversed=False):
        self.calls, self.reversed = [], reversed

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kw):
        for call in (reversed(self.calls) if self.reversed else list(self.calls)):
            call(*args, **kw)


class _Hook:
    """A chain whose list every launch looks at, or what a program puts in its place: a function, None."""

    def __init__(self, reversed=False):
        self.chain, self.kept = HookChain(reversed), None

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, knobs, owner=None):
        return self.chain if knobs is None else knobs.__dict__.get(self.name, self.chain)

    def __set__(self, knobs, hook):
        knobs.__dict__[self.name] = hook
        self.follow(knobs)

    def follow(self, knobs):
        hook, calls = self.__get__(knobs), self.chain.calls
        if hook is not self.chain:
            self.kept = list(calls) if self.kept is None else self.kept
            calls[:] = [] if hook is None else [hook]
        elif self.kept is not None:
            calls[:], self.kept = self.kept, None


class cache_knobs(base_knobs):
    home_dir = _text("TRITON_HOME", lambda: os.path.expanduser("~"))
    dir = _text("TRITON_CACHE_DIR", lambda: os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tilec", "triton"))
    dump_dir = _Unmet(None, _NO_STAGES)
    override_dir = _Unmet(None, _NO_STAGES)
    manager_class = _Unmet(None, "there is one cache")
    remote_manager_class = _Unmet(None, "there is one cache")

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = _bool("TRITON_KERNEL_OVERRIDE")
    dump_ir_extract_di_local_variables = _Unmet(False, _NO_STAGES)
    dump_ir = _bool("TRITON_KERNEL_DUMP")
    always_compile = _bool("TRITON_ALWAYS_COMPILE")
    allow_non_constexpr_globals = _bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = _Unmet("", "accesses are checked by TRITON_INTERPRET=1 or debug=True")
    front_end_debugging = _bool("TRITON_FRONT_END_DEBUGGING")
    disable_line_info = _bool("TRITON_DISABLE_LINE_INFO")
    enable_asan = _bool("TRITON_ENABLE_ASAN")
    listener = _Listener()
    store_binary_only = _bool("TRITON_STORE_BINARY_ONLY")
    use_ir_loc = _Unmet(None, _NO_STAGES)

    def reset(self):
        listener = self.listener                # as in Triton it is kept
        super().reset()
        self.listener = listener
        return self

    @contextlib.contextmanager
    def scope(self):
        listener = self.listener
        try:
            with super().scope():
                yield
        finally:
            self.listener = listener


class autotuning_knobs(base_knobs):
    cache = _bool("TRITON_CACHE_AUTOTUNING")
    print = _bool("TRITON_PRINT_AUTOTUNING")


class language_knobs(base_knobs):
    fp32_default = _text("TRITON_F32_DEFAULT")
    default_fp_fusion = _bool("TRITON_DEFAULT_FP_FUSION", True)


class runtime_knobs(base_knobs):
    interpret = _bool("TRITON_INTERPRET")
    debug = _bool("TRITON_DEBUG")
    override_arch = _text("TRITON_OVERRIDE_ARCH")
    add_stages_inspection_hook = _Unmet(None, _NO_STAGES)
    jit_cache_hook = None
    jit_post_compile_hook = None
    kernel_load_start_hook = HookChain()
    kernel_load_end_hook = HookChain(reversed=True)
    launch_enter_hook = _Hook()
    launch_exit_hook = _Hook(reversed=True)


class nvidia_knobs(base_knobs):
    mock_ptx_version = _text("TRITON_MOCK_PTX_VERSION")
    dump_nvptx = _bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = _bool("DISABLE_PTXAS_OPT")
    cuobjdump = _Tool("cuobjdump")
    nvdisasm = _Tool("nvdisasm")
    ptxas = _Unmet(None, _NO_PTXAS)
    ptxas_blackwell = _Unmet(None, _NO_PTXAS)
    ptxas_options = _Unmet(None, _NO_PTXAS)
    dump_ptxas_log = _Unmet(False, _NO_PTXAS)
    libdevice_path = _text("TRITON_LIBDEVICE_PATH")
    libcuda_path = _text("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    """Of another vendor: no effect."""
    use_buffer_ops = _bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = _bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = _bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    libhip_path = _text("TRITON_LIBHIP_PATH")
    use_async_copy = _bool("TRITON_HIP_USE_ASYNC_COPY")
    use_block_pingpong = _text("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = _text("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    scalarize_packed_fops = _bool("AMDGCN_SCALARIZE_PACKED_FOPS")
    dump_amdgcn = _bool("AMDGCN_ENABLE_DUMP")


class proton_knobs(base_knobs):
    disable = _bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = _Unmet(None, "times are those of CUDA events")
    enable_nvtx = _Unmet(False, "scopes make no NVTX ranges")


class build_knobs(base_knobs):
    cc = _text("CC")
    cudacrt_path = _text("TRITON_CUDACRT_PATH")
    cudart_path = _text("TRITON_CUDART_PATH")
    impl = _Unmet(None, "launching needs no C compiler")

    @property
    def backend_dirs(self):
        return {p for p in (self.cudacrt_path, self.cudart_path) if p is not None}


class redis_knobs(base_knobs):
    key_format = _text("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = _text("TRITON_REDIS_HOST", "localhost")
    port = _Knob("TRITON_REDIS_PORT", 6379, int)


cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
language = language_knobs()
runtime = runtime_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()
build = build_knobs()
redis = redis_knobs()


def refresh_knobs():
    runtime.debug = os.environ.get("TRITON_DEBUG") == "1"


_absent.declare(globals())
