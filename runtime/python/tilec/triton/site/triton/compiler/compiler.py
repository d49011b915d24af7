"""Compiled kernels as Triton shows them: asm["ptx"], metadata, registers."""
import collections
import ctypes as C
import functools
import hashlib
import json
import re
import time

import tilec

from .. import _absent, knobs, runtime
from ..backends.compiler import GPUTarget
from ..language import core
from ..runtime.cache import FileCacheManager
from ..runtime.errors import OutOfResources
from .errors import CompilationError

HOST_REGISTERS = 255          # the most that a thread may have


class LazyDict:
    """What a launch says of itself, added to when a hook asks for it."""

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        for func, args in self.extras:
            self.data = self.data | func(*args)
        self.extras.clear()
        return self.data

    def add(self, func, args):
        self.extras.append((func, args))


class AsmDict(dict):
    """Texts of the kernel by stage, made when asked for."""
    STAGES = {"ptx": "ptx", "llir": "llvm"}

    def __init__(self, kernel):
        super().__init__()
        self.kernel = kernel

    def __missing__(self, key):
        if key not in self.STAGES:
            raise KeyError("'%s': tilec has no such stage; there are %s"
                           % (key, ", ".join(sorted(self.STAGES))))
        self[key] = self.kernel.program.text(self.STAGES[key])
        return self[key]

    def __contains__(self, key):
        return key in self.STAGES

    def keys(self):
        return self.STAGES.keys()


def signature_of(values, params):
    """Triton's ahead-of-time notation of a launch's values, as the launch finds their facts."""
    return ", ".join(_named_word(name, runtime.launch.unwrap(v), params.get(name))
                     for name, v in values.items())


def _named_word(name, v, p):
    try:
        return word_of(v, p)
    except (TypeError, RuntimeError) as e:          # RuntimeError: a tensor without memory of its own
        if isinstance(e, CompilationError):
            raise
        layout = str(getattr(v, "layout", "torch.strided"))      # of torch tensors
        more = "" if layout == "torch.strided" else \
            " (its layout is %s: v.to_dense() is an array)" % layout
        raise type(e)("'%s': %s%s" % (name, e, more)) from None


def word_of(v, p):
    facts = p is None or not p.do_not_specialize
    aligned = facts and (p is None or not p.do_not_specialize_on_alignment)
    typed = p.annotation_type if p is not None else ""
    if isinstance(v, runtime.launch.Typed):
        return v.word
    if v is None:
        return "None"
    if isinstance(v, (bool, float)):
        return typed or ("i1" if isinstance(v, bool) else "fp32")
    if isinstance(v, int):
        return _int_word(v, typed, facts, aligned)
    if runtime.launch.is_descriptor(v):
        return _descriptor_word(v)
    at = v.data_ptr() if hasattr(v, "data_ptr") else tilec._Reader(v).address
    return "*%s%s" % (runtime.launch.element_name(v), ":16" if aligned and at % 16 == 0 else "")


def _descriptor_word(v):
    blocks = ",".join(str(int(n)) for n in v.block_shape)
    return "tensordesc<%s[%s]>%s" % (runtime.launch.element_name(v.base), blocks,
                                     ":16" if v.shape[-1] % 16 == 0 else "")


Specialization = collections.namedtuple("Specialization", "signature constants")


def specialization_of(jit, bound):
    """What a kernel's repr= function looks at: types and constants by parameter."""
    signature, constants = {}, {}
    for p in jit.params:
        v = runtime.launch.unwrap(bound[p.name])
        is_typed = runtime.launch.is_leaf(v) or runtime.launch.is_plain_descriptor(v)
        word = word_of(v, p) if not p.is_constexpr and is_typed else "constexpr"
        signature[p.name] = "constexpr" if word in ("1", "None") else word.split(":")[0]
        if signature[p.name] == "constexpr":
            constants[p.name] = v
    return Specialization(signature, constants)


def _int_word(v, typed, facts, aligned):
    if v == 1 and facts and not typed:
        return "1"
    fits = "i32" if -2**31 <= v < 2**31 else "i64" if v < 2**63 else "u64"
    multiple = next((n for n in (16, 8, 4) if v % n == 0), None) if aligned else None
    return (typed or fits) + (":%d" % multiple if multiple else "")


def _microseconds(seconds):
    return max(1, round(seconds * 1e6))


class CompiledKernel:
    """One variant of a kernel."""
    module = function = None

    def __init__(self, jit, call, bound, target=None):
        self.jit, self.target, self.options = jit, target, call.options
        self._program, self._check, self._strict = call.program, call.check, call.strict
        self._fuses = call.fuses
        self._fp32_dot = call.fp32_dot
        params = {q.name: q for q in jit.params}
        plain = call.program.entry == jit.__name__
        self._consts = {n: runtime.launch.word_of(v) for n, v in call.values.items()
                        if plain and params[n].is_constexpr}
        self._signature = signature_of({n: v for n, v in call.values.items()
                                        if n not in self._consts}, params)
        # To Triton, and so to its hooks, 1 is a case of its own even where the type is annotated.
        self._ones = [p.name for p in jit.params if p.annotation_type and not p.do_not_specialize
                      and type(bound[p.name]) is int and bound[p.name] == 1]
        self.asm = AsmDict(self)
        self.specialization = specialization_of(jit, bound)
        self.name = jit.repr(self.specialization) if jit._repr else jit.__name__

    @functools.cached_property
    def key(self):
        options = sorted((n, v) for n, v in self.options.items() if v is not None)
        signature = re.sub(":[84]\\b", "", self._signature)     # one case to Triton
        return repr((id(self._program), signature, self._consts, self._ones, options,
                     self._check, self._fp32_dot))

    @functools.cached_property
    def program(self):
        """The tilec.Program: compiled for the GPU, whether there is one or not."""
        p = self._program
        more = {n: self.options[n] for n in ("num_warps", "num_stages") if self.options.get(n)}
        with p.errors():
            made = tilec.compile(p.file, p.entry, self._signature, self._consts,
                                 arch=self._arch(), source=p.source,
                                 include_dirs=p.include_dirs, check=self._check,
                                 fp_mode=int(self._strict), fp32_dot=self._fp32_dot or None,
                                 keep=("llvm",), **p.options, **more)
        tilec.say_warnings(made.diagnostics)
        return made

    def _arch(self):
        from ..runtime.driver import driver
        if self.target is not None and self.target.backend == "cuda":
            arch = int(self.target.arch)
        elif driver.on_gpu:
            major, minor = driver.active.get_device_capability()
            arch = major * 10 + minor
        else:
            return None
        return "sm_%d%s" % (arch, "a" if arch >= 90 else "")

    def prepared(self):
        """Itself, compiled."""
        return self if self.program else None

    _init_handles = prepared

    def result(self):
        return self

    @functools.cached_property
    def metadata(self):
        info = self.program.metadata["kernels"][0]
        options = self.options
        fields = {"name": self.name, "num_warps": info["num_warps"],
                  "num_stages": info["num_stages"], "shared": info["shared_bytes"],
                  "num_ctas": options.get("num_ctas") or 1, "cluster_dims": (1, 1, 1),
                  "target": self.target or GPUTarget("cuda", self._capability(), 32),
                  "hash": self.hash, "debug": self._check, "global_scratch_size": 0,
                  "global_scratch_align": 1, "profile_scratch_size": 0,
                  "profile_scratch_align": 1, "tmem_size": None,
                  "maxnreg": options.get("maxnreg"),
                  "enable_fp_fusion": self._fuses,
                  "launch_cooperative_grid": bool(options.get("launch_cooperative_grid")),
                  "launch_pdl": bool(options.get("launch_pdl")),
                  "warp_size": 32, "backend_name": "cuda"}
        return collections.namedtuple("KernelMetadata", sorted(fields))(**fields)

    def _capability(self):
        return int(re.sub(r"\D", "", self._arch() or "sm_90a"))

    def tell(self, listener):
        """Calls knobs.compilation.listener.  A launch compiles for itself; here PTX is made, and
        kept with what is known of it, under a key of what it is made from."""
        p = self._program
        made_from = (p.source, p.entry, self._signature, self._consts, self._ones, self._arch(),
                     sorted((n, str(v)) for n, v in self.options.items()), self._check,
                     self._strict, self._fp32_dot, tilec.__version__)
        begun = time.perf_counter()
        files = FileCacheManager(hashlib.sha256(repr(made_from).encode()).hexdigest())
        kept = files.get_file(self.name + ".json")
        read = time.perf_counter()
        ptx, llir = self.asm["ptx"], self.asm["llir"]
        done = time.perf_counter()
        metadata = self.metadata._asdict()
        said = json.dumps(metadata, default=str)
        group = {"%s.%s" % (self.name, end): files.put(text, "%s.%s" % (self.name, end))
                 for end, text in (("ptx", ptx), ("llir", llir), ("json", said)) if not kept}
        if kept:
            group = {n: files.get_file(n) for n in (self.name + ".ptx", self.name + ".llir",
                                                    self.name + ".json")}
        stages = [] if kept else [("ptx", _microseconds(done - read))]
        stored = 0 if kept else _microseconds(time.perf_counter() - done)
        constants = {(self.jit.arg_names.index(n),): v
                     for n, v in self.specialization.constants.items()}
        listener(src=ASTSource(self.jit, self.specialization.signature, constants),
                 metadata=metadata, metadata_group=group, cache_hit=bool(kept),
                 times=knobs.CompileTimes(_microseconds(read - begun), stages, stored))

    @functools.cached_property
    def hash(self):
        return hashlib.sha256(self.asm["ptx"].encode()).hexdigest()

    @property
    def src(self):
        return self.jit

    @property
    def kernel(self):
        return self.asm["ptx"].encode()

    @property
    def n_regs(self):
        """Registers of a thread, as the driver's compiler says; without a GPU their limit."""
        use = self._use()
        return use.registers if use else HOST_REGISTERS

    @property
    def n_spills(self):
        use = self._use()
        return use.spill_bytes // 4 if use else 0

    n_max_threads = 1024

    def _use(self):
        from ..runtime.driver import driver
        if not driver.on_gpu:
            return None
        rt = tilec.Runtime.get("cuda", driver.active.get_current_device())
        if not hasattr(self, "_loaded"):
            self._loaded = rt.load(self.asm["ptx"], self.program.metadata_json)
        use = tilec._KernelUse()
        rt.check(rt.lib.tilec_kernel_use(self._loaded, 0, C.byref(use)))
        return use

    def launch_metadata(self, grid, stream, *args):
        jit = self.jit
        data = LazyDict({"name": self.name, "function": self, "stream": stream})
        if jit.launch_metadata is not None:
            named = dict(zip(jit.arg_names, args))
            data.add(jit.launch_metadata, (grid, self.metadata, named))
        return data

    def __getitem__(self, grid):
        def launch(*args, stream=None):
            self.jit.run(*args, grid=grid, **self.options)
        return launch


class ASTSource:
    """A kernel with the types of its arguments: what compile() takes."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.ext, self.name = fn, "ttir", fn.__name__
        for name, given in (("signature", signature), ("constexprs", constexprs or {})):
            if not hasattr(given, "items"):
                raise TypeError("ASTSource: %s is a dictionary by the names of '%s', %s; found %r" % (
                    name, fn.__name__, ", ".join(fn.arg_names), given))
            for key in given:
                if isinstance(key, str) and key not in fn.arg_names:
                    raise ValueError("ASTSource: '%s' has no parameter '%s'%s" % (
                        fn.__name__, key, tilec.meant(key, fn.arg_names, "it has")))
        self.signature = signature
        self.constants = {}
        for key, value in (constexprs or {}).items():
            key = (fn.arg_names.index(key),) if isinstance(key, str) else key
            assert isinstance(key, tuple)
            self.constants[key] = value
        self.attrs = attrs or {}

    def hash(self):
        words = [self.fn.cache_key, sorted(self.signature.items()),
                 sorted((k, str(v)) for k, v in self.constants.items()), sorted(self.attrs.items())]
        return hashlib.sha256(repr(words).encode()).hexdigest()

    def parse_options(self):
        return {}


class IRSource:
    def __init__(self, path, context=None, backend=None):
        raise NotImplementedError("'%s': tilec does not read Triton's IR" % path)


def compile(src, target=None, options=None, _env_vars=None, **unknown):
    """One specialisation of a kernel, compiled without a launch."""
    for name in unknown:
        raise TypeError("triton.compile() got an unexpected keyword argument '%s': signature and constexprs "
                        "are ASTSource's, what else a launch takes stands in options={..}" % name)
    if not isinstance(src, ASTSource):
        raise NotImplementedError("triton.compile takes an ASTSource(fn=kernel, signature={..}); tilec "
                                  "does not read '%s'" % (src,))
    if target is not None and not hasattr(target, "backend"):
        raise TypeError("triton.compile: target is a GPUTarget(\"cuda\", 90, 32); found %r" % (target,))
    fn, bound = src.fn, {}
    for p in fn.params:
        word = src.signature.get(p.name, "constexpr")
        if word == "constexpr":
            default = p.default if p.has_default else None
            bound[p.name] = core.constexpr(src.constants.get((p.num,), default))
        elif isinstance(word, str):
            bound[p.name] = runtime.launch.Typed(_word(word, src.attrs.get((p.num,), ())))
        else:
            raise CompilationError(None, None, "'%s': compile() takes no %s for a parameter"
                                   % (p.name, type(word).__name__))
    launcher = fn._launcher
    call = launcher.call_of(bound, dict(options or {}))
    kernel = CompiledKernel(fn, call, bound, target).prepared()
    if knobs.compilation.listener:
        kernel.tell(knobs.compilation.listener)
    return kernel


def _word(word, facts):
    divisible = any(f and f[0] == "tt.divisibility" for f in facts)
    return word.replace("*k", "*").replace("u1", "i1") + (":16" if divisible else "")


def make_backend(target):
    raise NotImplementedError("tilec's backends are built in; compile(.., target=GPUTarget(..)) "
                              "takes a target")


def get_cache_key(src, backend=None, backend_options=None, env_vars=None):
    return hashlib.sha256(repr((src.hash(), backend_options, env_vars)).encode()).hexdigest()


_absent.declare(globals())
