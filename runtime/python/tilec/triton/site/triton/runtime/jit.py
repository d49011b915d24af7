"""@triton.jit: a function of the program that is a kernel, or part of one."""
import ast
import collections
import functools
import hashlib
import inspect
import re
import textwrap
import threading
import warnings
from functools import cached_property

import tilec

from .. import _absent, knobs
from ..language import core

TRITON_MODULE = "triton.language"
GLUON_MODULE = "triton.experimental.gluon.language"

# CPython 3.11 counts the depth of a tree that it makes for all threads together: SystemError.
_parsing = threading.Lock()

JitFunctionInfo = collections.namedtuple("JitFunctionInfo", "module name jit_function")

# the words of signatures
type_canonicalisation_dict = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u1": "i1", "u8": "u8",
    "u16": "u16", "u32": "u32", "u64": "u64", "int1": "i1", "int8": "i8", "int16": "i16",
    "int32": "i32", "int": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "bool": "i1", "float": "fp32", "half": "fp16", "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5", "float8e4b15": "fp8e4b15", "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "void": "void",
    "fp8e4nv": "fp8e4nv", "fp8e5": "fp8e5", "fp8e4b15": "fp8e4b15", "fp16": "fp16", "bf16": "bf16",
    "fp32": "fp32", "fp64": "fp64", "f16": "fp16", "f32": "fp32", "f64": "fp64"}


def _normalize_ty(ty):
    """An annotation as a signature's word; what says nothing comes back as it is."""
    if isinstance(ty, str):
        ty = ty.strip()
        if ty.startswith("const "):
            return "*k" + _normalize_ty(ty[len("const "):]).lstrip("*")
        if ty.endswith("*"):
            return "*" + _normalize_ty(ty[:-1])
        if ty.startswith("*"):
            return "*" + _normalize_ty(ty[1:])
        if ty.startswith("tl."):
            return _normalize_ty(ty[len("tl."):])
    elif isinstance(ty, core.pointer_type):
        return "*" + _normalize_ty(ty.element_ty)
    elif isinstance(ty, core.dtype):
        ty = ty.name
    elif isinstance(ty, type):
        ty = ty.__name__
    else:
        ty = str(ty)
    return type_canonicalisation_dict.get(ty.replace("_t", ""), ty)


class KernelParam:
    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param, self.name = num, param, param.name
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @cached_property
    def annotation(self):
        given = self._param.annotation
        return "" if given is inspect.Parameter.empty or not given else _normalize_ty(given)

    @cached_property
    def annotation_type(self):
        """The annotation where it names a type, else ""."""
        bare = re.sub(r"^\*k?", "", self.annotation)
        return self.annotation if bare in type_canonicalisation_dict.values() else ""

    @cached_property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @cached_property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation
                                          or self.annotation.startswith("*k"))

    @property
    def default(self):
        return self._param.default

    @property
    def has_default(self):
        return self._param.default is not inspect.Parameter.empty


def name_of(kernel):
    """Of the function under @autotune and @heuristics."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return getattr(kernel, "__name__", type(kernel).__name__)


def _refuse_none(kernel, grid):
    if grid is None:
        raise TypeError("kernel '%s': the grid is None; it is a tuple of one to three numbers, or a "
                        "function of the meta-parameters that returns one"
                        % name_of(kernel))


# What people look for in a kernel, and where it is.
_ELSEWHERE = {"launch": "a kernel is launched by %s[grid](..)", "execute": "a kernel is launched by "
              "%s[grid](..)", "call": "a kernel is launched by %s[grid](..)", "forward": "a kernel is "
              "launched by %s[grid](..)", "compile": "%s.warmup(.., grid=grid) compiles without a launch",
              "asm": "%s.warmup(.., grid=grid).asm has it", "ptx": "%s.warmup(.., grid=grid).asm[\"ptx\"]"}


class KernelInterface:
    def __getattr__(self, name):
        plain = "'%s' object has no attribute '%s'" % (type(self).__name__, name)
        where = _ELSEWHERE.get(name)
        raise AttributeError(plain + (": " + where % name_of(self) if where else ""), name=name, obj=self)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel: kernels are "
                           "launched by %s[grid](..), with a tuple of one to three numbers as the "
                           "grid" % name_of(self))

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run not implemented")

    def warmup(self, *args, grid, **kwargs):
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid):
        _refuse_none(self, grid)
        return functools.partial(self.run, grid=grid, warmup=False)


class JITCallable:
    """A function with its source."""
    must_use_result = False
    calls_python = False           # may the compiler call any function of Python that this one calls?
    hash = None                    # programs set it; cache_key is computed when it is asked for

    def __init__(self, fn):
        if isinstance(fn, JITCallable):
            raise TypeError("'%s' is a jit function already: the decorator stands above it once"
                            % fn.__name__)
        self.fn = fn
        self.signature = inspect.signature(fn)
        try:
            self.raw_src, self.starting_line_number = inspect.getsourcelines(fn)
        except (OSError, TypeError) as e:       # TypeError: a builtin
            raise ValueError("@jit functions should be defined in a Python file: %r has no source"
                             % fn) from e
        src = textwrap.dedent("".join(self.raw_src))
        start = re.search(r"^def\s+\w+\s*\(", src, re.MULTILINE)
        if start is None:
            raise ValueError("'%s' is no def: only functions can be kernels"
                             % getattr(fn, "__qualname__", fn))
        self._src = src[start.start():]
        self._above = src[:start.start()].count("\n")
        self.module = fn.__module__
        self._tree, self.globals_seen = None, {}
        functools.update_wrapper(self, fn, updated=())
        self.__globals__ = fn.__globals__
        self._fn_name = "%s.%s" % (fn.__module__, fn.__qualname__)

    # Where the function stands; programs that make kernels of a new text say it afterwards.
    @property
    def def_line(self):
        return self.starting_line_number + self._above

    @property
    def file(self):
        return self.fn.__code__.co_filename

    @property
    def src(self):
        return self._src

    @property
    def type(self):
        return core.constexpr_type(self)

    def get_capture_scope(self):
        """What the function's names mean."""
        return self.__globals__ | inspect.getclosurevars(self.fn).nonlocals

    def _unsafe_update_src(self, new_src):
        """A new text of the function: what was compiled of the old one is forgotten."""
        from .launch import forget_all
        self._src, self._tree, self.globals_seen = new_src, None, {}
        forget_all()

    def parse(self):
        if self._tree is None:
            with _parsing:
                self._tree = ast.parse(self._src)
        return self._tree

    @property
    def cache_key(self):
        from .kernel_text import KernelText
        return KernelText(self).digest()

    @property
    def def_name(self):
        """In the text, whatever the program calls the function."""
        return self.parse().body[0].name

    def __deepcopy__(self, memo):
        return self

    # -- text --

    def decorator(self):
        raise NotImplementedError

    def text_at(self):
        """(line of the decorator, decorator and function as compiled)."""
        lines = self._src.rstrip().split("\n")
        for node, text in sorted(self._changes(), key=lambda c: (-c[0].lineno, -c[0].col_offset)):
            lines = _replaced(lines, node, text)
        above = [self.decorator()]
        if self.must_use_result:
            above.insert(0, "@triton.must_use_result(%s)" % (
                repr(self.must_use_result) if isinstance(self.must_use_result, str) else ""))
        return max(self.def_line - len(above), 1), "\n".join(above + lines)

    def _changes(self):
        """Defaults as the values that they had when the function was made, annotations as types."""
        from . import kernel_text
        a = self.parse().body[0].args
        scope = kernel_text.scope_of(self.fn)
        params = a.posonlyargs + a.args
        defaults = list(zip(params[len(params) - len(a.defaults):], a.defaults))
        defaults += [(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults) if d]
        for param, default in defaults:
            if not isinstance(default, ast.Constant):
                value = self.signature.parameters[param.arg].default
                text = _default_text(value)
                if text is not None:
                    yield default, text
        for param in params + a.kwonlyargs:
            text = self._annotation_text(param, scope)
            if text is not None and param.annotation is None:
                yield param, "%s: %s" % (param.arg, text)
            elif text is not None:
                yield param.annotation, text

    def _annotation_text(self, param, scope):
        """A type that the text does not say by itself: an alias, a variable, an expression, or one
        that a decorator has put there."""
        value = self.fn.__annotations__.get(param.arg)
        if param.annotation is not None:
            names = {n.id for n in ast.walk(param.annotation) if isinstance(n, ast.Name)}
            is_plain = not isinstance(param.annotation, (ast.Name, ast.BinOp))
            if isinstance(value, str) or is_plain and not names - scope.keys():
                return None
        if value is core.constexpr:
            return "tl.constexpr"
        word = _normalize_ty(value) if isinstance(value, (core.dtype, str)) else ""
        return repr(word) if word.lstrip("*k") in type_canonicalisation_dict.values() else None


def _default_text(value):
    from . import kernel_text
    try:
        if isinstance(kernel_text.unwrap(value), (bool, int, float, str, type(None), core.dtype)):
            return kernel_text.Part(None, "", "").literal(value)
    except kernel_text.Unsupported:
        pass
    return None


def _replaced(lines, node, text):
    """The lines with the node's text exchanged; columns are of UTF-8 bytes."""
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[:node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset:].decode()
    gap = [""] * (last - first)                   # later lines keep their numbers
    return lines[:first] + [before + text + after] + gap + lines[last + 1:]


class JITFunction(JITCallable, KernelInterface):
    def __init__(self, fn, version=None, do_not_specialize=None,
                 do_not_specialize_on_alignment=None, debug=None, noinline=None, repr=None,
                 launch_metadata=None):
        super().__init__(fn)
        self.version, self.debug, self.noinline = version, debug, noinline
        self._repr, self.launch_metadata = repr, launch_metadata
        self.do_not_specialize = self._names(do_not_specialize, "do_not_specialize")
        self.do_not_specialize_on_alignment = self._names(do_not_specialize_on_alignment,
                                                          "do_not_specialize_on_alignment")
        self.params = [KernelParam(i, p, self._listed(i, p, self.do_not_specialize),
                                   self._listed(i, p, self.do_not_specialize_on_alignment))
                       for i, p in enumerate(self.signature.parameters.values())]
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks = []
        self.kernel = None
        from .launch import Launcher
        self._launcher = Launcher(self)

    def _names(self, listed, what):
        """Of parameters, or their numbers; one that is none is most likely spelt wrong."""
        if isinstance(listed, str) or not hasattr(listed or (), "__iter__"):
            raise TypeError("@triton.jit of '%s': %s is a list of names or numbers of parameters, as "
                            "in [%r]" % (self.__name__, what, listed))
        known = list(self.signature.parameters)
        for name in listed or ():
            if name not in known and name not in range(len(known)):
                warnings.warn("@triton.jit of '%s': %r in %s= is no parameter of the kernel%s"
                              % (self.__name__, name, what, tilec.meant(str(name), known)),
                              stacklevel=tilec.users_level())
        return list(listed or ())

    @staticmethod
    def _listed(i, param, which):
        return i in which or param.name in which

    @property
    def device_caches(self):
        return self._launcher.variants

    @property
    def used_global_vals(self):
        """{(name, id of its scope): (value, scope)} of what the compiled texts hold."""
        return {(u.name, id(u.globals)): (u.value, u.globals)
                for p in self._launcher.programs.values() for u in p.used}

    def preload(self, specialization_data):
        return self._launcher.variants.preload(specialization_data)

    def add_pre_run_hook(self, hook):
        assert callable(hook), "a hook is a function of the launch's arguments; found %r" % (hook,)
        self.pre_run_hooks.append(hook)

    def is_gluon(self):
        return False

    def repr(self, specialization):
        return self._fn_name if self._repr is None else self._repr(specialization)

    def run(self, *args, grid, warmup=False, **kwargs):
        fast = self._launcher.fast
        if fast is None or warmup or self.pre_run_hooks:
            return self._launcher.run(grid, warmup, args, kwargs)
        return fast(grid, *args, **kwargs)

    def __getitem__(self, grid):
        if grid is None:
            _refuse_none(self, grid)
        fast = self._launcher.fast
        return functools.partial(self._launcher.launch if fast is None or self.pre_run_hooks
                                 else fast, grid)

    __call__ = KernelInterface.__call__

    def __repr__(self):
        return "JITFunction(%s:%s)" % (self.module, self.fn.__qualname__)

    def decorator(self):
        words = []
        for name in ("do_not_specialize", "do_not_specialize_on_alignment"):
            listed = [p.name for p in self.params if getattr(p, name)]
            if listed:
                words.append("%s=%r" % (name, listed))
        if self.noinline:
            words.append("noinline=True")
        return "@triton.jit(%s)" % ", ".join(words) if words else "@triton.jit"


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None,
        do_not_specialize_on_alignment=None, debug=None, noinline=None, **unknown):
    for name in unknown:
        known = [n for n in inspect.signature(jit).parameters if n not in ("fn", "unknown")]
        at_launch = "; it is given where the kernel is launched: kernel[grid](.., %s=%r)" \
            % (name, unknown[name]) if name in ("num_warps", "num_stages", "num_ctas") else None
        raise TypeError("jit() got an unexpected keyword argument '%s'%s"
                        % (name, at_launch or tilec.meant(name, known, "it takes")))

    def decorate(fn):
        assert callable(fn), "@triton.jit is for functions; found %r" % (fn,)
        return JITFunction(fn, version, do_not_specialize, do_not_specialize_on_alignment, debug,
                           noinline, repr, launch_metadata)
    return decorate if fn is None else decorate(fn)


# ---- functions of constants ----------------------------------------------------------------------

class BoundConstexprFunction(JITCallable):
    def __init__(self, instance, fn):
        self.__self__, self.__func__ = instance, fn

    @property
    def cache_key(self):
        return self.__func__.cache_key

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)


class ConstexprFunction(JITCallable):
    """Runs as it is on the host; in a kernel the compiler evaluates its text."""

    def __get__(self, obj, owner):
        return self if obj is None else BoundConstexprFunction(obj, self)

    def __call__(self, *args, _semantic=None, **kwargs):
        return self.fn(*[core._unwrap_if_constexpr(a) for a in args],
                       **{k: core._unwrap_if_constexpr(v) for k, v in kwargs.items()})

    @property
    def cache_key(self):
        from .kernel_text import functions_called
        reached = [self]
        for fn in reached:                          # grows
            if not isinstance(fn, JITCallable):
                raise RuntimeError("Unsupported function referenced: %s" % fn)
            reached += [f for f in functions_called(fn) if f not in reached]
        return hashlib.sha256(repr([fn.src for fn in reached]).encode()).hexdigest()

    def decorator(self):
        return "@triton.constexpr_function"


def constexpr_function(fn):
    return ConstexprFunction(fn)


# ---- stand-ins for tensors -----------------------------------------------------------------------

class MockTensor:
    """A pointer's element type, where only that matters: kernel.warmup(torch.float32, grid=..)."""

    @staticmethod
    def wrap_dtype(arg):
        if type(arg).__name__ == "dtype" and type(arg).__module__ == "torch":
            return MockTensor(arg)
        return arg

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, [1] if shape is None else shape

    def stride(self):
        strides = [1]
        for size in self.shape[1:]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """A tensor whose elements are taken for another type of their size."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data, self.device, self.shape = base.data, base.device, base.shape

    def data_ptr(self):
        return self.base.data_ptr()

    def untyped_storage(self):
        return self.base.untyped_storage()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def __str__(self):
        return "TensorWrapper[%s](%s)" % (self.dtype, self.base)

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)


def reinterpret(tensor, dtype):
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError("Cannot reinterpret a %s." % type(tensor))


def get_jit_fn_file_line(fn):
    from .kernel_text import jit_of
    base = jit_of(fn)
    return base.file, base.def_line


_absent.declare(globals())
