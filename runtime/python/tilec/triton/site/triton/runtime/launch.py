"""From a call of a jit function to a launch by tilec.

Launcher.launch() is what kernel[grid](..) calls.  Arrays, numbers and plain constants go straight
to the launcher that tilec made for the kernel.  What a launch cannot carry (tuples, host
descriptors, functions, types given at run time) becomes part of the program: an entry function,
written for these arguments, that takes the arrays and numbers inside them and calls the kernel.
"""
import contextlib
import math
import os
import re
import reprlib
import sys
import tempfile
import threading
import warnings
import weakref

import tilec

from .. import knobs
from ..compiler.errors import CompilationError, CompileTimeAssertionFailure
from ..compiler.triton_words import OTHER_VENDORS, words_for
from ..language import core
from . import host_copies, kernel_text
from .errors import InterpreterError, OutOfResources
from .kernel_text import KernelText, unwrap
from .variants import Variants

_ENTER = knobs.runtime_knobs.launch_enter_hook.calls
_EXIT = knobs.runtime_knobs.launch_exit_hook.calls

# Options of Triton's that ask for another way to the same result, or for none.
_IGNORED = frozenset("""
    allow_fp8e4b15 allow_fp8e4nv arch backend_name cluster_dims debug default_dot_input_precision
    deprecated_fp8_dot_operand_dtypes extern_libs instrumentation_mode kpack launch_pdl
    matrix_instr_nonkdim max_num_imprecise_acc_default multibuffer ptx_options ptx_version
    sanitize_overflow supported_fp8_dtypes waves_per_eu warp_size""".split())
# Of versions before 3.6, which has none of them.
_FORMER = frozenset("""
    enable_persistent enable_warp_specialization num_buffers_warp_spec num_consumer_groups
    reg_dec_producer reg_inc_consumer""".split())
_FOLLOWED = ("num_warps", "num_stages", "enable_fp_fusion", "enable_reflect_ftz", "ir_override")
_COUNTS = frozenset(["num_warps", "num_stages", "num_ctas"])
_UNMET = {"num_ctas": 1, "maxnreg": None, "launch_cooperative_grid": False}
MOST_WARPS = 32                          # 1,024 threads
MOST_ARGUMENTS = 256                # of a kernel: TL_RT_MAX_ARGS
_OPTIONS = frozenset([*_FOLLOWED, *_UNMET, *_IGNORED, *_FORMER])
# What people give to a launch that takes it elsewhere.
_OTHER_WORDS = {"stream": "; a launch goes to torch's current stream: with torch.cuda.stream(s): ..",
                "grid": "; the grid stands in brackets: kernel[grid](..)",
                "warmup": "; kernel.warmup(.., grid=grid) compiles without a launch",
                "device": "; a kernel runs where its arrays are",
                "warp_specialize": "; it is a keyword of loops: tl.range(.., warp_specialize=True)",
                "interpret": "; TRITON_INTERPRET=1 in the environment interprets"}
_warned = set()

# The profiler's, while it is on: timed(runtime, stream, launch) makes the launch.
timed = None


class _Kernel(tilec.Kernel):
    """A kernel whose launcher does Triton's part too: its options, hooks, and what it returns.
    What the launcher cannot do goes the long way, Launcher.run()."""
    _define = staticmethod(lambda v: word_of(v))
    _around = (", **@more", """
    if @more and @more != @usual or @enter or @leave or @knobs.runtime.__dict__ \\
            or @knobs.language.__dict__ or @listening{changed}:
        return @long(@grid, ({{launch}}), ({{consts}}), {{num_warps}}, {{num_stages}}, @more)""",
               """
        return @Launched(@long, ({launch}), ({consts}), {num_warps}, {num_stages})""")

    def __init__(self, program, on, **options):
        self.program = program
        rest, first, last = self._around
        changed = " or @changed()" if program.used else ""
        self._around = rest, first.format(changed=changed), last
        super().__init__(program.file, program.entry, program.source, program.include_dirs, on,
                         **options)

    def _around_names(self):
        return {"usual": {"num_ctas": 1}, "enter": _ENTER, "leave": _EXIT, "knobs": knobs,
                "listening": knobs.compilation_knobs.listener.listening,
                "long": self._long, "changed": self.program.check_globals, "Launched": _Launched}

    def _long(self, grid, values, consts, num_warps, num_stages, more):
        """grid None: no launch, only what was compiled."""
        named = dict(zip(self._launch, values))
        named.update((n, v) for n, v in zip(self._consts, consts) if v is not tilec._UNSET)
        options = dict(more)
        options.update((n, v) for n, v in (("num_warps", num_warps), ("num_stages", num_stages))
                       if v and n not in named)
        launcher = self.program.jit._launcher
        if grid is None:
            return launcher.compiled(named, options)
        return launcher.run(grid, False, (), {**named, **options})

    def _slow(self, grid, values, consts, num_warps, num_stages, stream):
        return self._long(grid, values, consts, num_warps, num_stages, {})

    def now(self, grid, named, options):
        """The launch itself, from the long way."""
        values, consts, num_warps, num_stages, stream = self._collect(**named, **options)
        super()._slow(grid, values, consts, num_warps, num_stages, stream)

    def _send(self, rt, handle, b):
        if timed is None:
            super()._send(rt, handle, b)
            return
        rt.check(rt.lib.tilec_kernel_prepare(handle, b.args, b.count))   # compiling is not timed
        timed(rt, b.words[0], lambda: super(_Kernel, self)._send(rt, handle, b))

    def _make(self, device, consts, num_warps, num_stages, tune=0):
        if not all(v is tilec._UNSET or is_word(v) for v in consts):
            return None
        with self.program.errors():
            return super()._make(device, consts, num_warps, num_stages, tune)

    def _fail(self, device, status):
        with self.program.errors():
            super()._fail(device, status)


def word_of(v):
    """A constexpr as NAME=WORD has it; quoted, a string is nothing but a string."""
    v = unwrap(v)
    return tilec._Word('"%s"' % v if isinstance(v, str) else tilec._word(v))


def is_word(v):
    """Can the value be given as NAME=WORD?"""
    v = unwrap(v)
    if v is None or type(v) in (bool, int):
        return True
    if type(v) is float:
        return math.isfinite(v)
    if type(v) is str:
        return '"' not in v and v.isprintable()
    if isinstance(v, core.dtype):
        return type(v) is core.dtype
    return type(v).__module__ == "torch" and type(v).__name__ == "dtype"


_NUMBERS = frozenset([int, float, bool, type(None)])


def is_array(v):
    return type(v) not in _NUMBERS and (
        hasattr(v, "data_ptr") and hasattr(v, "dtype") or hasattr(v, "__array_interface__")
        or hasattr(v, "__cuda_array_interface__") or hasattr(v, "__dlpack__")
        or isinstance(v, tilec.Pointer))


class Typed:
    """Stands for an argument of which only the type is known."""

    def __init__(self, word):
        self.word = word


def is_leaf(v):
    return v is None or isinstance(v, (bool, int, float, Typed)) or is_array(v)


def is_descriptor(v):
    return hasattr(v, "block_shape") and hasattr(v, "base") and hasattr(v, "strides")


def is_plain_descriptor(v):
    """Can a launch carry it?"""
    return is_descriptor(v) and getattr(v, "padding", "zero") == "zero" \
        and not isinstance(getattr(v.base, "dtype", None), core.dtype)


# ---- errors --------------------------------------------------------------------------------------

_TUPLE_HELP = re.compile(r"\n += help: one value is wanted: .*")
_PLACE = re.compile(r"^(.+?):(\d+):(\d+): (error|note)\b(.*)", re.MULTILINE)


def _places(text):
    """Where the first error is, then the calls that led there: (file, line, column)."""
    found = []
    for m in _PLACE.finditer(text):
        if m[4] == "error" and found:
            break
        if m[4] == "error" or "in the call of" in m[5]:
            found.append((m[1], int(m[2]), int(m[3])))
    return found


class _Node:
    """A place in a function's source, counted as Triton does."""

    def __init__(self, lineno, col_offset):
        self.lineno, self.col_offset = lineno, col_offset


def _compilation_error(text, functions):
    """One error for each call on the way, the outermost first, the inner ones as its cause."""
    kind = CompileTimeAssertionFailure if "static assertion" in text else CompilationError
    words = words_for(text)
    error = ValueError(words) if words else None
    text += "\n" + words if words else ""
    for file, line, column in _places(text):
        src, node = None, None
        for jit in functions:
            if jit.file == file and jit.def_line <= line < jit.def_line + len(jit.raw_src):
                src, node = jit.src, _Node(line - jit.def_line + 1, column - 1)
        at = "at %d:%d:\n" % (node.lineno, node.col_offset) if node else ""
        outer = kind(src, node, at + text)
        outer.__cause__ = error
        error = outer
    return error if isinstance(error, kind) else kind(None, None, text)


def _without_line(text, line):
    """The text without the notes that show the line, of which a long one is cut off."""
    least = 100
    return re.sub(r"^.*: note: .*\n +\d+ \| (.*)\n.*\^.*\n?",
                  lambda m: "" if line == m[1] or len(m[1]) >= least and line.startswith(m[1]) else m[0],
                  text, flags=re.MULTILINE)


def _names_of_modules(text):
    """Modules in an error by their own names, with what they have in place of a made file's help."""
    def told(m):
        own = [n for n in sys.modules if re.sub(r"\W", "_", n) == m[1]]
        if not own:
            return m[0]
        known = [n for n in vars(sys.modules[own[0]]) if n[0] != "_"]
        return "module '%s' has no name '%s'%s%s%s" % (
            own[0], m[2], tilec.meant(m[2], known, "it has")[:300], m[3],
            "" if "= help: the file binds no names" in m[4] else m[4])
    return re.sub(r"module 'm\d+_(\w+)' has no name '(\w+)'(\n(?: +\d* \|.*\n)*)( += help: .*\n?)",
                  told, text)


def translated(e, notes=None, files=None, functions=(), made_call=None):
    """tilec's error as the one that Triton would raise; None: as it is.  made_call is no line of the
    program."""
    text = str(e)
    if made_call:
        text = _without_line(text, made_call).rstrip()
    for made, real in (files or {}).items():
        text = text.replace(made, real)
    if e.status == "TILEC_BAD_SOURCE":
        text = _names_of_modules(text.split("\n", 1)[-1].rstrip())
        for name, (why, way_out) in (notes or {}).items():
            if way_out:                            # the name is bound: that is no kernel's is what is wrong
                text = re.sub(r"(?:unknown name '%s'|module '[\w.]+' has no name '%s'.*)((?:\n +\d* \|.*)*)(?:\n += help: .*)?" % ((re.escape(name),) * 2),
                              lambda m: "%s%s\n      = help: %s" % (why, m[1], way_out), text)
            elif "'%s'" % name in text:
                text = re.sub(r"(unknown name '%s'\n(?: .*\n)*?) +(= help: make it a parameter, .*), or .*"
                              % re.escape(name), r"\1      \2", text)
                text += "\nnote: %s: %s" % (name, why)
        return _compilation_error(text, functions)
    if e.status == "TILEC_FAULT":
        if "assertion failed" in text:
            text = "device-side assert: " + text
        return InterpreterError(text) if knobs.runtime.interpret else RuntimeError(text)
    found = re.search(r"(\d+) bytes of shared memory\D+(\d+)", text)
    if e.status == "TILEC_LIMIT" and found:
        return OutOfResources(int(found[1]), int(found[2]), "shared memory")
    return None


# ---- what a launch is ----------------------------------------------------------------------------

def _num_elements(array):
    count = getattr(array, "numel", None)           # torch's size is a method
    return count() if callable(count) else getattr(array, "size", None)


def _numbers_instead(v, arrays, name):         # arrays: by name, those among the arguments
    """What to write for a shape or a list where one number is wanted; None: it is neither."""
    if not isinstance(v, (list, tuple)) or not v or not all(type(n) is int for n in v):
        return None
    of = next((n for n, a in arrays.items() if tuple(getattr(a, "shape", ())) == tuple(v)), None)
    if of is None or isinstance(v, list):
        return "%s and no array: %s[0] is its first item%s" % (
            "the tuple " + reprlib.repr(v) if isinstance(v, tuple) else "a list", name, tilec._array_instead(v, None, arrays.values()))
    count = "numel()" if callable(getattr(arrays[of], "numel", None)) else "size"
    return "the tuple %r, the shape of '%s': one number of it is .shape[0], how many elements there are " \
        ".%s, and the array itself stands without .shape" % (v, of, count)


class Program:
    """A text and its tilec.Kernels: one for each set of options."""

    def __init__(self, jit, text, is_interpreted):
        self.jit, self.entry, self.notes, self.used = jit, text.entry, text.notes, text.used
        self.made_call = text.made_call
        # A kernel of Triton's prints in every thread; its interpreter has none.
        self.options = {} if is_interpreted else {"print_threads": True}
        self.functions = text.functions
        self.source, parts = text.texts()
        self.files, self.include_dirs = {}, []
        if parts:
            folder = _folder(text.digest())
            self.include_dirs = [folder]
            for part in text.parts.values():
                if part.name in parts:
                    path = os.path.join(folder, part.name + ".py")
                    _write(path, parts[part.name])
                    self.files[path] = tilec.stands_for[path] = part.file
        self.file = jit.file
        self.kernels = {}

    def kernel(self, on, check, strict, fp32_dot):
        key = (on, check, strict, fp32_dot)
        if key not in self.kernels:
            options = dict(self.options)
            if check:
                options["check"] = True
            if strict:
                options["fp_mode"] = 1
            if fp32_dot:
                options["fp32_dot"] = fp32_dot
            self.kernels[key] = _Kernel(self, on, **options)
        return self.kernels[key]

    @contextlib.contextmanager
    def errors(self):
        """tilec's errors inside it become Triton's."""
        try:
            yield
        except tilec.Error as e:
            better = translated(e, self.notes, self.files, self.functions, self.made_call)
            if better is None:
                raise
        else:
            return
        raise better from better.__cause__          # tilec.Error says the same again

    def check_globals(self):
        for used in self.used:
            if not used.is_same():
                raise RuntimeError(used.change())


def _folder(digest):
    base = tilec._cache_folder() or os.path.join(tempfile.gettempdir(), "tilec-%d" % os.getuid())
    path = os.path.join(base, "python", digest[:32])
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def _write(path, text):
    part = "%s.%d.%d" % (path, os.getpid(), threading.get_ident())
    with open(part, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(part, path)


class Call:
    """One launch: the program, the values of its parameters by name, the options."""

    def __init__(self, program, values, options, check):
        self.program, self.values, self.options, self.check = program, values, options, check
        fuses = options.get("enable_fp_fusion")
        self.fuses = bool(knobs.language.default_fp_fusion if fuses is None else fuses)
        self.strict = not self.fuses or options.get("enable_reflect_ftz") is False
        self.fp32_dot = knobs.language.fp32_default

    def kernel(self, on):
        return self.program.kernel(on, self.check, self.strict, self.fp32_dot)


class _Flat:
    """The entry function for arguments that a launch cannot carry."""

    def __init__(self, text, jit, bound):
        self.text, self.values, self.params, self.marks = text, {}, [], {}
        call = []
        for p in jit.params:
            v = bound[p.name]
            if p.is_constexpr:
                expression = _of_argument(p, self.constant, jit, p, unwrap(v))
            else:
                expression = _of_argument(p, self.leaves, p, p.name, v)
            call.append("%s=%s" % (p.name, expression))
        name = "%s_entry" % jit.__name__
        while name in text.main.bound:
            name += "_"
        words = ["%s=%r" % m for m in self.marks.items()]
        text.add_entry(name, "@triton.jit%s\ndef %s(%s):\n    %s(%s)\n" % (
            "(%s)" % ", ".join(words) if words else "", name, ", ".join(self.params),
            jit.__name__, ", ".join(call)))

    def constant(self, jit, p, v):
        """Any object may be passed for a constexpr that the kernel does not look at."""
        try:
            return self.text.main.literal(v)
        except kernel_text.Unsupported:
            if p.name in kernel_text.names_loaded(jit):
                raise
            return repr(repr(v))

    def leaves(self, p, name, v):
        """An expression for v; its arrays and numbers become parameters."""
        if is_leaf(v):
            return self.leaf(p, name, v)
        if isinstance(v, core.constexpr):
            return self.text.main.literal(v.value)
        if is_descriptor(v):
            return self.descriptor(p, name, v)
        if isinstance(v, (tuple, list, core.tuple)):
            items = [self.leaves(p, "%s_%d" % (name, i), x) for i, x in enumerate(v)]
            if hasattr(v, "_fields"):
                self.text.main.value(type(v).__name__, type(v))
                return "%s(%s)" % (type(v).__name__, ", ".join(items))
            return "(%s%s)" % (", ".join(items), "," if len(items) == 1 else "")
        return self.text.main.literal(v)

    def leaf(self, p, name, v):
        while name in self.values:
            name += "_"
        self.values[name] = v
        typed = name == p.name and p.annotation_type
        self.params.append("%s: %r" % (name, p.annotation_type) if typed else name)
        for mark in ("do_not_specialize", "do_not_specialize_on_alignment"):
            if getattr(p, mark):
                self.marks.setdefault(mark, []).append(name)
        return name

    def descriptor(self, p, name, v):
        """A host descriptor is one that the kernel makes at its start."""
        base = self.leaf(p, name, v.base)
        sizes = [self.leaf(p, "%s_size%d" % (name, i), int(n)) for i, n in enumerate(v.shape)]
        steps = [self.leaf(p, "%s_step%d" % (name, i), int(n))
                 for i, n in enumerate(v.strides[:-1])] + ["1"]
        padding = getattr(v, "padding", "zero")
        return "tl.make_tensor_descriptor(%s, [%s], [%s], %s%s)" % (
            base, ", ".join(sizes), ", ".join(steps), [int(n) for n in v.block_shape],
            ', padding_option="nan"' if padding == "nan" else "")


def _num_items(v):
    """How many arguments of a kernel a list is."""
    return sum(_num_items(x) if isinstance(x, (list, tuple)) else not isinstance(x, core.constexpr)
               for x in v)


def _has_only_numbers(v):
    return all(_has_only_numbers(x) if isinstance(x, list) else isinstance(x, (bool, int, float)) for x in v)


def _of_argument(p, what, *values):
    """what(*values); its refusal names the argument."""
    try:
        return what(*values)
    except kernel_text.Unsupported as e:
        e.argument = p.name
        raise


def _shape_of(v):
    """What of a value is in the text: equal ones share it."""
    v = unwrap(v)
    if is_descriptor(v):
        return ("desc", tuple(v.block_shape), len(v.shape), getattr(v, "padding", "zero"))
    if isinstance(v, (tuple, list, core.tuple)):
        return (type(v),) + tuple(_leaf_shape(x) for x in v)
    return _constant(v)


def _leaf_shape(v):
    return "leaf" if is_leaf(v) else _shape_of(v)


def _has_hash(v):
    try:
        hash(v)
    except (TypeError, ValueError):           # of a memoryview that can be written to
        return False
    return True


def _constant(v):
    if isinstance(v, (tuple, list)):
        return (type(v),) + tuple(_constant(unwrap(x)) for x in v)
    if isinstance(v, (bool, int, float, str, type(None))):
        return type(v), repr(v)
    if isinstance(v, core.dtype):
        return "dtype", str(v)
    if not _has_hash(v):
        raise kernel_text.Unsupported("a " + kernel_text.type_name(v))
    return "object", v              # functions, types: equal when the same


# ---- launching -----------------------------------------------------------------------------------

_launchers = weakref.WeakSet()


def forget_all():
    """A function has a new text: any kernel may call it."""
    for launcher in list(_launchers):
        launcher.forget()


def _binder(jit):
    """A function with the kernel's parameters that gives them back by name, then the rest: bound
    by Python itself, which is several times faster than Signature.bind()."""
    params, names = [], list(jit.signature.parameters)
    mark = "_"
    while any(n.startswith(mark) for n in names):
        mark += "_"
    space = {mark + "default%d" % i: p.default
             for i, p in enumerate(jit.signature.parameters.values())}
    for i, p in enumerate(jit.signature.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and "*" not in params:
            params.append("*")
        params.append(p.name + ("" if p.default is p.empty else "=%sdefault%d" % (mark, i)))
    text = "def %sbind(%s):\n    return {%s}, %smore" % (
        mark, ", ".join([*params, "**%smore" % mark]),
        ", ".join("%r: %s" % (n, n) for n in names), mark)
    exec(text, space)
    space[mark + "bind"].__qualname__ = jit.__name__
    return space[mark + "bind"]


class Launcher:
    def __init__(self, jit):
        self.jit, self.is_interpreted = jit, knobs.runtime.interpret
        self.kept = {}                   # programs by their text, which may come back
        self.checked = set()             # options that were found right
        self.binder = _binder(jit)
        self.forget()
        _launchers.add(self)

    def _program(self, text):
        key = text.digest()
        if key not in self.kept:
            self.kept[key] = Program(self.jit, text, self.is_interpreted)
        return self.kept[key]

    def forget(self):
        self.programs, self.fast = {}, None
        self.variants = Variants(self)

    def launch(self, grid, /, *args, **kwargs):
        return self.run(grid, False, args, kwargs)

    def _is_plain(self, bound):
        return all(is_word(v) if p.is_constexpr else
                   is_leaf(v) or not self.is_interpreted and is_plain_descriptor(v)
                   for p in self.jit.params for v in (bound[p.name],))

    def _shorten(self, call, on):
        """Later launches go straight to the kernel's own launcher."""
        if self.fast is None and call.program is self.programs.get(()) and on is None \
                and not call.check and not call.strict and not knobs.language.__dict__:
            self.fast = call.kernel(None)._launcher

    # -- the long way --

    def _check_kinds(self):
        for p in self.jit.signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise TypeError("kernel '%s' has the parameter '%s': a launch passes a fixed list of "
                                "arguments; write each, or pass a tuple" % (self.jit.__name__, p))

    def bind(self, args, kwargs):
        """(values by parameter, what no parameter is called)"""
        try:
            self._check_kinds()
            return self.binder(*args, **kwargs)
        except TypeError as e:
            for name in kwargs:              # what is missing may have been given by a wrong name
                if name not in self.jit.arg_names and name not in _OPTIONS:
                    raise TypeError("%s; '%s' is none of its parameters%s"
                                    % (e, name, tilec.meant(name, self.jit.arg_names, "it takes"))) from None
            if "missing" in str(e) and args:
                sizes = [p.name for p in self.jit.params[len(args):]
                         if p.is_constexpr and "'%s'" % p.name in str(e)]
                raise TypeError("%s; those given: %s%s" % (e, ", ".join(
                    "%s=%s" % (n, "an array" if is_array(v) else repr(v)[:40])
                    for n, v in zip(self.jit.arg_names, map(unwrap, args))),
                    "; a tl.constexpr is given by its name: %s" % ", ".join("%s=.." % n for n in sizes)
                    if sizes else self._left_out(args))) from None
            twice = re.search(r"multiple values for argument '(\w+)'", str(e))
            if twice and twice[1] in self.jit.arg_names:
                n = self.jit.arg_names.index(twice[1])
                raise TypeError("%s: %s is given by its place, number %d, and by its name: leave one out"
                                % (e, repr(unwrap(args[n]))[:40], n + 1)) from None
            if self.jit.arg_names[:1] == ["self"]:
                raise TypeError("%s; a kernel is no method, and 'self' one of its arguments: leave it out"
                                % e) from None
            raise

    def _left_out(self, args):
        """Which argument is left out before the last: a number stands where the kernel reads or writes memory,
        or several numbers are given as one."""
        for name, v in zip(self.jit.arg_names, map(unwrap, args)):
            if isinstance(v, tuple) and len(v) > 1:
                return "; '%s' is given %d numbers in one: a star before it, as in *x.stride(), gives each of " \
                    "them to a parameter" % (name, len(v))
            if isinstance(v, (int, float)) and re.search(
                    r"\b(load|store|atomic_\w+)\(\s*%s\b\s*[+,)]" % re.escape(name), self.jit.src):
                return "; '%s' is memory in the kernel, and is given a number: is an array left out " \
                    "before it, or itself?" % name
        return ""

    def call_of(self, bound, options):
        self._check_overrides(options)
        words = tuple(options.items())
        is_count = options.keys() <= _COUNTS and all(map(_has_hash, options.values()))
        if not is_count or words not in self.checked:
            self._check_options(options)
            self.checked.update([words] if is_count else [])
        debug = options.get("debug", self.jit.debug) or knobs.runtime.debug
        if self._is_plain(bound):
            program = self.programs.get(())
            if program is None:
                program = self.programs[()] = self._program(KernelText(self.jit))
            return Call(program, dict(bound), options, bool(debug))
        self._check_lengths(bound)
        key = tuple(_of_argument(p, _constant, unwrap(bound[p.name])) if p.is_constexpr
                    else _of_argument(p, _leaf_shape, bound[p.name]) for p in self.jit.params)
        found = self.programs.get(key)
        text = None if found else KernelText(self.jit)
        if text is None:
            flat = _Flat(_Nothing(), self.jit, bound)
        else:
            flat = _Flat(text, self.jit, bound)
            found = self.programs[key] = self._program(text)
        return Call(found, flat.values, options, bool(debug))

    def _check_lengths(self, bound):
        """Each item of a list is an argument of its own: a long one is meant for an array."""
        for p in self.jit.params:
            v = unwrap(bound[p.name])
            if not p.is_constexpr and isinstance(v, (list, tuple)) and _num_items(v) > MOST_ARGUMENTS:
                place, _, what = next(iter(self._no_arrays("", {**bound, p.name: v}, [p]))).partition(": note: ")
                if isinstance(v, list) and _has_only_numbers(v):
                    raise TypeError("%s: %s" % (place, what))
                raise tilec.Error("TILEC_LIMIT", "%s: %s\nkernel '%s' takes at most %d arguments, and each item of "
                                  "a %s is one" % (place, what, self.jit.__name__, MOST_ARGUMENTS,
                                                   "list" if isinstance(v, list) else "tuple"))

    def _check_counts(self, options):
        for name in _COUNTS & options.keys():
            value = unwrap(options[name])
            if value is not None and not hasattr(value, "__index__"):
                raise TypeError("kernel '%s': %s is a whole number, not %r"
                                % (self.jit.__name__, name, value))
        if (unwrap(options.get("num_stages")) or 0) < 0:
            raise ValueError("kernel '%s': num_stages is a number from 0 on, not %s"
                             % (self.jit.__name__, options["num_stages"]))

    def _check_options(self, options):
        self._check_counts(options)
        warps = options.get("num_warps") or 1
        given = unwrap(options.get("num_warps"))
        is_power = warps > 0 and warps & (warps - 1) == 0
        assert is_power and given != 0, "num_warps must be a power of 2: 1, 2, 4, 8, 16 or 32; got %s" \
            % given
        if warps > MOST_WARPS:
            raise OutOfResources(warps * 32, MOST_WARPS * 32, "threads")
        arch = re.fullmatch(r"sm_?(\d+)a?", str(options.get("arch") or ""))
        if (options.get("num_ctas") or 1) > 1 and arch and int(arch[1]) < 90:
            raise ValueError("num_ctas > 1 requires NVIDIA SM90+ (Hopper); arch is %s"
                             % options["arch"])
        for p in self.jit.params:
            if p.is_constexpr and p.do_not_specialize:
                raise CompilationError(None, None, "%s marked as constexpr and listed in "
                                       "do_not_specialize: take it out of one" % p.name)
        for name, value in options.items():
            if name in _FOLLOWED or name in _IGNORED:
                continue
            if name in _FORMER:
                if value and name not in _warned:
                    _warned.add(name)
                    warnings.warn("kernel '%s': %s=%s has no effect, and Triton 3.6 has no such option: leave it "
                                  "out; loops are shared among warps where it pays, or by tl.range(.., "
                                  "warp_specialize=True)" % (self.jit.__name__, name, value),
                                  stacklevel=tilec.users_level())
                continue
            if name not in _UNMET:
                known = [*self.jit.arg_names, *_OPTIONS]
                raise KeyError("Keyword argument %s was specified but unrecognised%s"
                               % (name, _OTHER_WORDS.get(name) or tilec.meant(name, known)
                                  or "; the kernel takes " + ", ".join(self.jit.arg_names)))
            if value != _UNMET[name] and value is not None and name not in _warned:
                _warned.add(name)
                warnings.warn("kernel '%s': tilec does not follow %s=%s; results are the same"
                              % (self.jit.__name__, name, value), stacklevel=tilec.users_level())

    def _check_overrides(self, options):
        """What Triton would take in place of a stage of the kernel."""
        if options.get("ir_override"):
            raise NotImplementedError("kernel '%s': ir_override=%r would replace what the kernel "
                                      "is compiled to; tilec has none of Triton's stages"
                                      % (self.jit.__name__, options["ir_override"]))
        for name, is_set, instead in _STAGES:
            if is_set() and name not in _warned:
                _warned.add(name)
                warnings.warn("%s is set: tilec has none of Triton's stages %s" % (name, instead),
                              stacklevel=tilec.users_level())

    def compiled(self, named, options):
        bound, _ = self.bind((), named)
        return self.variants.kernel(self.call_of(bound, options), bound)

    def run(self, grid, warmup, args, kwargs):
        jit = self.jit
        for hook in jit.pre_run_hooks:
            hook(*args, **kwargs)
        bound, options = self.bind(args, kwargs)
        try:
            call = self.call_of(bound, options)
        except kernel_text.Unsupported as e:
            what = "argument '%s'" % e.argument if hasattr(e, "argument") else \
                "an argument or a name that it uses"
            raise CompilationError(None, None, "kernel '%s': %s is %s, which tilec cannot compile; "
                                   "arguments are arrays, numbers, descriptors and tuples of them, "
                                   "of constexprs text and types, too%s"
                                   % (jit.__name__, what, e, tilec._array_instead(
                                      unwrap(bound.get(getattr(e, "argument", None))), None,
                                      map(unwrap, bound.values())))) from e
        call.program.check_globals()
        if warmup and grid is not None and not callable(grid):
            tilec._grid_words(grid)                # says what is wrong with it
        try:
            compiled = self.variants.get(call, bound, warmup)
            if warmup or compiled is None:
                return compiled
            if callable(grid):
                grid = tilec._grid_of(jit.__name__, grid, dict(bound))
            with call.program.errors():
                self._go(call, compiled, grid, bound)
        except CompilationError as e:
            self._name_no_arrays(e, bound)
            raise
        except tilec.Error as e:
            if e.status == "TILEC_LIMIT":          # a long list is as many arguments
                for note in self._no_arrays(e.args[0], bound):
                    place, _, what = note.partition(": note: ")
                    raise tilec.Error(e.status, "%s: %s\n%s" % (place, what, e.args[0].partition(": ")[2].strip())
                                      ) from None
            raise
        return compiled

    def _name_no_arrays(self, e, bound):
        for note in self._no_arrays(e.message, bound):
            text = _TUPLE_HELP.sub("", e.message)
            is_cause = " is an array" not in note and re.search(r"E0214|got (tuple|list|string)", text)
            if is_cause:                           # what the kernel makes of it is no news
                place, _, what = note.partition(": note: ")
                text = re.sub(r"error\[E0214\]: operator .* is not defined for .*(tuple|list|string).*",
                              "note: it is used here", text)
                e.error_message = "%s: error: %s\n%s" % (place, what, text)
            else:
                e.error_message = "%s\n%s" % (text, note)

    def _no_arrays(self, message, bound, params=None):
        """A list or a text among the arguments is what an error of the kernel is likely to be about."""
        caller = sys._getframe(tilec.users_level() - 1)
        arrays = {name: unwrap(v) for name, v in bound.items() if is_array(unwrap(v))}
        for p in params or self.jit.params:
            v, what = unwrap(bound[p.name]), None
            if p.is_constexpr and isinstance(v, (list, tuple)) and "tuple" in message:
                what = _numbers_instead(v, arrays, p.name)
            elif not p.is_constexpr and isinstance(v, (str, list, tuple)):
                what = _numbers_instead(v, arrays, p.name) or tilec._a(v) + tilec._array_instead(v, None, arrays.values())
            elif p.name in arrays and "ptr<" in message and _num_elements(v) == 1:
                what = "an array of one element; its number is .item()"
            if what:
                yield "%s:%d: note: argument '%s' is %s" % (caller.f_code.co_filename, caller.f_lineno,
                                                            p.name, what)

    def _go(self, call, compiled, grid, bound):
        on = self.where(call.values)
        kernel = call.kernel(on)
        more = {n: call.options[n] or 0 for n in ("num_warps", "num_stages")
                if n in call.options and n not in bound}
        values = {n: argument(v) for n, v in call.values.items()}
        grid = tuple(grid) if isinstance(grid, list) else grid
        if knobs.runtime.launch_enter_hook:
            knobs.runtime.launch_enter_hook(compiled.launch_metadata(grid, None, *bound.values()))
        if self.is_interpreted:
            with host_copies.of(values) as values:
                kernel.now(grid, values, more)
        else:
            kernel.now(grid, values, more)
            self._shorten(call, on)
        if knobs.runtime.launch_exit_hook:
            knobs.runtime.launch_exit_hook(compiled.launch_metadata(grid, None, *bound.values()))

    def where(self, values):
        """None: where the arrays are."""
        if self.is_interpreted:
            return "cpu"
        if any(is_array(v) or is_descriptor(v) for v in values.values()):
            return None
        from .driver import driver
        return "cuda" if driver.on_gpu else "cpu"


def _is_in_environment(name):
    return lambda: knobs.getenv_bool(name, False)


_OWN_STAGES = "to write out; .asm of a kernel has its own, and so has `tilec build --save-temps`"
_STAGES = (
    ("TRITON_KERNEL_OVERRIDE", lambda: knobs.compilation.override,
     "and compiles kernels as they are written"),
    ("TRITON_KERNEL_DUMP", lambda: knobs.compilation.dump_ir, _OWN_STAGES),
    ("NVPTX_ENABLE_DUMP", lambda: knobs.nvidia.dump_nvptx, _OWN_STAGES),
    ("MLIR_ENABLE_DUMP", _is_in_environment("MLIR_ENABLE_DUMP"), _OWN_STAGES),
    ("LLVM_IR_ENABLE_DUMP", _is_in_environment("LLVM_IR_ENABLE_DUMP"), _OWN_STAGES))


class _Nothing:
    """Stands for a KernelText whose text is there already: only the leaves are wanted."""

    class main:
        bound = {}

        @staticmethod
        def literal(v):
            return ""

        @staticmethod
        def value(name, v):
            pass

    @staticmethod
    def add_entry(name, text):
        pass


_NAMES_OF_TL = {"int1": "i1", "fp8e4nv": "fp8e4nv", "fp8e5": "fp8e5",
                "fp8e4b15": "fp8e4b15", "fp16": "fp16", "bf16": "bf16", "fp32": "fp32",
                "fp64": "fp64", **{"%sint%d" % (u, n): "%s%d" % (u or "i", n)
                   for u in ("", "u") for n in (8, 16, 32, 64)}}


def element_name(v):
    """tilec's name for the elements of an array."""
    if isinstance(v, tilec.Pointer):
        return v.dtype
    dtype = getattr(v, "dtype", None)
    if dtype is None:                         # an object with one of the protocols alone
        return tilec._Reader(v).dtype
    if isinstance(dtype, core.dtype):
        name = _NAMES_OF_TL.get(str(v.dtype))
        if name is None:
            raise CompilationError(None, None, "type %s %s" % (v.dtype, OTHER_VENDORS))
        return name
    return tilec._dtype_name(v)


def argument(v):
    """A launch's value as tilec takes it."""
    v = unwrap(v)
    if type(v) in _NUMBERS or not is_array(v) \
            or not isinstance(getattr(v, "dtype", None), core.dtype):
        return v
    base = getattr(v, "base", None)
    if base is None:
        return tilec.Pointer(v.data_ptr(), element_name(v))
    r = tilec._Reader(base)
    return tilec.Pointer(r.address, element_name(v), r.bytes,
                         None if r.device < 0 else r.device)


class _Launched:
    """What kernel[grid](..) gives: the compiled kernel, made when it is looked at."""
    __slots__ = ("how", "kernel")

    def __init__(self, *how):
        self.how = how

    def __getattr__(self, name):
        if name != "kernel":
            return getattr(self.kernel, name)
        look_up = self.how[0]
        self.kernel = look_up(None, *self.how[1:], {})
        return self.kernel

    def __getitem__(self, grid):
        return self.kernel[grid]
