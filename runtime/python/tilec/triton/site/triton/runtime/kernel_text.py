"""The text of a kernel: its source, and everything around it that it refers to.

A jit function is Python source in a living program.  tilec compiles text, so the text is put
together from the function's source, the values that its names have now (globals, closures,
defaults), and the same for every function that it calls.

One Part stands for one source file: its functions stand on the lines where they are in that file,
so that an error names the user's file and line; what they refer to is bound on the first line.
Parts other than the kernel's are modules that it imports.  Two things that go by one name in one
file (two closures of one function) get a Part of their own.
"""
import ast
import builtins
import copy
import enum
import hashlib
import math
import re
import sys
import types

import triton
from triton import language as tl
from triton.language import core

from .. import knobs

# What the kernel language itself knows: never bound, whatever the program's value.
BUILTIN_NAMES = frozenset(
    "len list range float int isinstance getattr hasattr print min max".split())
HOST_MODULES = frozenset(["math", "copy", "torch", "numpy", "typing", "builtins", "dataclasses"])


def type_name(v):
    """Of Python's own types the name alone."""
    module = type(v).__module__
    return type(v).__qualname__ if module == "builtins" else "%s.%s" % (module, type(v).__qualname__)


class Unsupported(Exception):
    """A value that a kernel refers to and that cannot be written as text."""


class _Conflict(Exception):
    """A name of this Part stands for something else already."""


def unwrap(value):
    while isinstance(value, core.constexpr):
        value = value.value
    return value


def jit_of(value):
    """The jit function under autotune and heuristics; None when there is none.  A function under
    @tl.constexpr is what one under @triton.constexpr_function is."""
    from .jit import JITCallable
    if isinstance(value, core.constexpr) and isinstance(value.value, types.FunctionType):
        return _host_function(value.value)
    for _ in range(16):
        if isinstance(value, JITCallable) or value is None:
            return value
        if isinstance(value, (type, types.FunctionType, types.ModuleType)):
            return None
        value = getattr(value, "fn", None)
    return None


def _host_function(fn):
    """A function under @tl.constexpr, or one that such a function calls: Triton has Python run it,
    so that it may call any other."""
    from .jit import ConstexprFunction
    if not hasattr(fn, "in_kernels"):
        fn.in_kernels = ConstexprFunction(fn)
        fn.in_kernels.calls_python = True
    return fn.in_kernels


# ---- what the language package has, by identity --------------------------------------------------

def _language_modules():
    return [m for n, m in sorted(sys.modules.items(), key=lambda i: len(i[0]))
            if (n == "triton.language" or n.startswith("triton.language.")) and m is not None]


def language_name(value):
    """("triton.language", "load") for what the language package has under a name, else None."""
    from .jit import ConstexprFunction
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    for module in _language_modules():
        if module.__dict__.get(name) is value:
            return module.__name__, name
    if isinstance(value, ConstexprFunction):     # constexpr_function(tl.core.get_int_dtype) is that
        return language_name(value.fn)
    return None


def _dtype_text(value):
    if isinstance(value, core.pointer_type):
        return "tl.pointer_type(%s)" % _dtype_text(value.element_ty)
    if isinstance(value, core.block_type):
        return "tl.block_type(%s, %s)" % (_dtype_text(value.element_ty), list(value.shape))
    return "tl." + value.codegen_name()


# ---- what a function's text refers to ------------------------------------------------------------

class _Names(ast.NodeVisitor):
    """Names that a function's text loads, with the attributes asked of them: {"tl": {("load",)}}.
    own: what it sets itself.  early: loaded before it is set, which Triton takes from outside.
    outer: in defaults and annotations, which belong to the enclosing scope."""

    def __init__(self, tree):
        self.loaded, self.own, self.early, self.outer = {}, set(), set(), set()
        self.visit(tree)

    def visit_FunctionDef(self, node):
        self.own.add(node.name)
        self._scope(node)

    def visit_Lambda(self, node):
        self._scope(node)

    def _scope(self, node):
        a = node.args
        params = a.posonlyargs + a.args + a.kwonlyargs + [p for p in (a.vararg, a.kwarg) if p]
        inside, self.own, early = self.own, set(), set(self.early)
        for part in a.defaults + [d for d in a.kw_defaults if d] \
                + [p.annotation for p in params if p.annotation]:
            self.visit(part)
            self.outer |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
        self.own, self.early = inside | {p.arg for p in params}, early
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)

    def _in_order(self, *parts):
        for part in parts:
            for node in part if isinstance(part, list) else [part]:
                if node is not None:
                    self.visit(node)

    def visit_Assign(self, node):
        self._in_order(node.value, node.targets)

    def visit_AnnAssign(self, node):
        self._in_order(node.annotation, node.value, node.target)

    def visit_NamedExpr(self, node):
        self._in_order(node.value, node.target)

    def visit_For(self, node):
        self._in_order(node.iter, node.target, node.body, node.orelse)

    def visit_comprehension(self, node):
        self._in_order(node.iter, node.target, node.ifs)

    def _comprehension(self, node):
        self._in_order(node.generators, node.elt)

    visit_ListComp = visit_GeneratorExp = visit_SetComp = _comprehension

    def visit_Attribute(self, node):
        chain, at = [node.attr], node.value
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Load):
            self._load(at.id).add(tuple(reversed(chain)))
        else:
            self.visit(at)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self._load(node.id)
        else:
            self.own.add(node.id)

    def _load(self, name):
        if name not in self.own:
            self.early.add(name)
        return self.loaded.setdefault(name, set())


def names_loaded(jit):
    return _Names(jit.parse()).loaded.keys()


def cells_of(fn):
    return dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))


def scope_of(fn):
    """What the function's names mean: closure first, then globals."""
    scope = dict(fn.__globals__)
    for name, cell in cells_of(fn).items():
        try:
            scope[name] = cell.cell_contents
        except ValueError:                       # not set yet
            scope.pop(name, None)
    return scope


def functions_called(jit):
    """What the function's names mean, where that is a function in Python's text, Triton's apart."""
    scope, found = scope_of(jit.fn), []
    for name, chains in sorted(_Names(jit.parse()).loaded.items()):
        for chain in sorted(chains | {()}):
            v = scope.get(name)
            for attr in chain:
                v = getattr(v, attr, None)
            v = jit_of(v) or v
            is_own = (getattr(v, "__module__", None) or "").split(".")[0] != "triton"
            if is_own and v not in found and (isinstance(v, types.FunctionType) or jit_of(v)):
                found.append(v)
    return found


class Used:
    """A value outside of a kernel that its text holds; it must not change."""

    def __init__(self, fn, name, value):
        self.cell, self.globals, self.name = cells_of(fn).get(name), fn.__globals__, name
        self.value = copy.copy(value)

    def now(self):
        return self.globals.get(self.name) if self.cell is None else self.cell.cell_contents

    def is_same(self):
        now = self.now()
        return now is self.value or type(now) is type(self.value) and \
            bool(unwrap(now) == unwrap(self.value))

    def change(self):
        return "Global variable %s has changed since we compiled this kernel, from %s to %s" % (
            self.name, self.value, self.now())


# ---- texts ---------------------------------------------------------------------------------------

def _function_instead(v):
    """(what a callable is that kernels do not call, the way out)"""
    if isinstance(v, types.FunctionType) and v.__name__.isidentifier():
        return "a function of Python", "write @triton.jit above 'def %s'" % v.__name__
    kind = "a function of Python" if isinstance(v, types.FunctionType) else "a %s of Python" % type(v).__name__
    return kind, "a function for kernels is a def with @triton.jit alone above it"


class Part:
    """The text of one module."""

    def __init__(self, whole, name, file):
        self.whole, self.name, self.file = whole, name, file
        self.bound = {}                          # name → identity of what it stands for
        self.prologue = ["import triton", "import triton.language as tl"]
        self.bound.update(triton=("module", "triton"), tl=("module", "triton.language"))
        self.pieces = []                         # (first line, text)
        self.epilogue = []                       # what names functions, so comes after them
        self.has_function = False                # in the literal being written
        self.is_imported = False

    def imported(self):
        """Its name, for a Part that imports it."""
        self.is_imported = True
        return self.name

    def text(self):
        """Functions on their own lines; where those do not fit, one after the other."""
        pieces = sorted(self.pieces, key=lambda p: p[0])
        first = [line for line in self.prologue if "\n" not in line]
        long = [line for line in self.prologue if "\n" in line]
        out, line = "; ".join(first) + "\n", 2
        out += "".join(text.rstrip("\n") + "\n\n" for text in long)
        line = out.count("\n") + 1
        for at, text in pieces:
            if at > line:
                out += "\n" * (at - line)
            elif at < line and line > 2:
                out += "\n"
            out += text.rstrip("\n") + "\n"
            line = out.count("\n") + 1
        return out + "".join(text + "\n" for text in self.epilogue)

    def bind(self, name, identity, text, is_late=False):
        """False when the name stands for just that already."""
        if name in self.bound:
            if self.bound[name] != identity:
                raise _Conflict(name)
            return False
        self.bound[name] = identity
        if text:
            (self.epilogue if is_late else self.prologue).append(text)
        return True

    # -- values --

    def literal(self, v):
        """The value as an expression of this Part."""
        if isinstance(v, core.constexpr):
            return "tl.constexpr(%s)" % self.literal(v.value)
        if isinstance(v, enum.Enum):
            return self.literal(v.value)
        if v is None or isinstance(v, (bool, int, str)):
            return repr(v) if type(v) in (bool, int, str, type(None)) else repr(v + type(v)())
        if isinstance(v, float):
            return repr(float(v)) if math.isfinite(v) else 'float("%s")' % v
        if isinstance(v, core.dtype):
            return _dtype_text(v)
        if isinstance(v, (tuple, core.tuple)):
            return self._tuple(v)
        if isinstance(v, list):
            return "[%s]" % ", ".join(map(self.literal, v))
        if isinstance(v, dict):
            return "{%s}" % ", ".join("%s: %s" % (self.literal(k), self.literal(x))
                                      for k, x in v.items())
        if type(v).__module__ == "torch" and type(v).__name__ == "dtype":
            self.bind("torch", ("module", "torch"), "import torch")
            return str(v)
        if jit_of(v) is not None or language_name(v):
            return self._named(v)
        if hasattr(v, "__index__") and hasattr(v, "dtype") and getattr(v, "shape", ()) in ((), (1,)):
            return repr(int(v))                                    # a number of numpy or torch
        if isinstance(v, type):
            name = "%s.%s" % (v.__module__, v.__qualname__)
            known = isinstance(getattr(core, v.__name__, None), core.dtype)
            raise Unsupported(name + (", for which tl.%s is written" % v.__name__ if known else ""))
        raise Unsupported("a " + type_name(v))

    def _tuple(self, v):
        items = ", ".join(map(self.literal, v))
        if hasattr(v, "_fields"):
            self.value(type(v).__name__, type(v))
            return "%s(%s)" % (type(v).__name__, items)
        return "(%s%s)" % (items, "," if len(v) == 1 else "")

    def _named(self, v):
        """A name of this Part that stands for a function; a new one when its own is taken."""
        self.has_function |= jit_of(v) is not None
        base = (jit_of(v) or v).__name__
        for name in [base] + ["%s_%d" % (base, i) for i in range(2, 100)]:
            try:
                self.value(name, v)
                return name
            except _Conflict:
                continue
        raise Unsupported("the hundredth function named %s" % base)

    def value(self, name, v, chains=()):
        """Makes `name` stand for v in this Part."""
        if isinstance(v, types.ModuleType):
            return self._module(name, v, chains)
        known = None if isinstance(v, core.dtype) else language_name(v)
        if known:
            where, own = known
            return self.bind(name, ("language", where, own),
                             "from %s import %s as %s" % (where, own, name))
        jit = jit_of(v)
        if jit is not None:
            return self._function(name, jit)
        if isinstance(v, type):
            return self._class(name, v, chains)
        if callable(v) and not isinstance(v, (core.constexpr, core.dtype)):
            if getattr(builtins, getattr(v, "__name__", ""), None) is v or \
                    isinstance(v, types.BuiltinFunctionType):
                return self._python_function(name, v)
            raise Unsupported("the function '%s', which is not @triton.jit"
                              % getattr(v, "__qualname__", name))
        outer, self.has_function = self.has_function, False
        text, is_late = self.literal(v), self.has_function
        self.has_function |= outer
        return self.bind(name, ("value", text), "%s = %s" % (name, text), is_late)

    def _python_function(self, name, v):
        if getattr(builtins, name, None) is not v:
            self.bind(name, ("object", id(v)),
                      "from %s import %s as %s" % (v.__module__, v.__name__, name))

    def _class(self, name, v, chains):
        if getattr(builtins, name, None) is v:
            return
        if issubclass(v, tuple) and hasattr(v, "_fields"):
            self.bind("NamedTuple", ("object", "NamedTuple"), "from typing import NamedTuple")
            fields = ["    %s: object%s" % (f, " = " + self.literal(v._field_defaults[f])
                                            if f in v._field_defaults else "") for f in v._fields]
            self.bind(name, ("object", id(v)), "class %s(NamedTuple):\n%s"
                      % (name, "\n".join(fields or ["    pass"])))
            return
        if not chains:
            raise Unsupported("the %s '%s'" % ("enumeration" if issubclass(v, enum.Enum) else
                                               "class", v.__qualname__))
        self._members(name, v, self.whole.part_of_class(v), ("object", id(v)), chains)

    def _module(self, name, module, chains):
        full = re.sub(r"^(triton\.language\.extra\.cuda)\.(gdc|utils)$", r"\1", module.__name__)
        if full.split(".")[0] == "triton" or full in HOST_MODULES:
            self.bind(name, ("module", full), "import %s as %s" % (full, name))
            return
        part = self.whole.part(full, getattr(module, "__file__", None) or full)
        self._members(name, module, part, ("module", full), chains)

    def _members(self, name, holder, part, identity, chains):
        """`name` is a module or a class: a Part, with those of its members that are asked for."""
        self.bind(name, identity, "import %s as %s" % (part.imported(), name))
        deeper = {}
        for chain in chains:
            deeper.setdefault(chain[0], set()).add(chain[1:])
        for attr, rest in deeper.items():
            if hasattr(holder, attr):
                part.try_value(attr, getattr(holder, attr), [r for r in rest if r])

    # -- functions --

    def _function(self, name, jit):
        identity, own = ("function", id(jit)), jit.def_name
        part = self.whole.part_of(jit)
        if part is not self:
            part._function(own, jit)
            self.bind(name, identity, "from %s import %s as %s" % (part.imported(), own, name))
            return
        if self.bind(own, identity, None):
            self._write(jit)
        if name != own:
            self.bind(name, identity, "%s = %s" % (name, own), is_late=True)

    def _write(self, jit):
        self.pieces.append(jit.text_at())
        self.whole.functions.append(jit)
        scope, names = scope_of(jit.fn), _Names(jit.parse())
        for name, chains in names.loaded.items():
            if name in BUILTIN_NAMES or name not in scope:
                continue
            value = scope[name]
            if jit.calls_python and isinstance(value, types.FunctionType) \
                    and not language_name(value):
                value = _host_function(value)
            if name in names.early:
                self.whole.check_unchanged(jit, name)
                self.try_value(name, value, chains, strict=True)
                self.whole.remember(jit, name, value)
            elif name in names.outer:
                self.try_value(name, value, chains)

    def try_value(self, name, v, chains=(), strict=False):
        """value(), but what cannot be written is only noted: the kernel may never come to it."""
        if strict and not self.whole.may_refer(v):
            if callable(v) and not isinstance(v, type):
                kind, way_out = _function_instead(v)
            elif isinstance(v, (bool, int, float, str)):
                kind = "a value of the program (%s), and not made by tl.constexpr(..)" % type(v).__qualname__
                way_out = "write %s = tl.constexpr(%s), the value itself and not an annotation; " \
                    "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1 lets kernels see all of them" % (name, repr(v)[:40])
            elif type(v).__module__ == "torch" and type(v).__name__ == "dtype":
                kind, way_out = "a type of torch", "write %s = tl.constexpr(tl.%s)" % (name, str(v).split(".")[-1])
            else:
                kind = "a value of the program (%s)" % type(v).__qualname__
                way_out = "give the kernel what it needs of it as arguments, or make constants of numbers " \
                    "in it, X = tl.constexpr(..)"
            self.whole.note(name, "Cannot access global variable %s from within a kernel: it is %s"
                            % (name, kind), way_out)
            return
        try:
            self.value(name, v, chains)
        except Unsupported as e:
            if isinstance(v, types.FunctionType):
                self.whole.note(name, "Cannot access %s from within a kernel: it is %s"
                                % ((name,) + _function_instead(v)[:1]), _function_instead(v)[1])
            else:
                self.whole.note(name, "not given to the compiler, since it is %s" % e)


class KernelText:
    """All Parts of one kernel."""

    def __init__(self, jit):
        self.jit, self.parts, self.own, self.notes = jit, {}, {}, {}
        self.used = []
        self.functions = []
        self.is_open = knobs.runtime.interpret or knobs.compilation.allow_non_constexpr_globals
        self.entry = jit.def_name
        self.made_call = None                    # the line of a made entry that calls the kernel
        self.main = self.part_of(jit)
        try:
            self.main.value(jit.def_name, jit)
        except _Conflict as e:
            raise Unsupported("'%s' for two things in one file" % e) from None

    def part(self, module, file):
        key = (module, file)
        if key not in self.parts:
            name = "m%d_%s" % (len(self.parts), re.sub(r"\W", "_", module))
            self.parts[key] = Part(self, name, file)
        return self.parts[key]

    def part_of_class(self, cls):
        """Only names for what lies in other Parts.  Two classes may have one name."""
        if id(cls) not in self.own:
            name = "c%d_%s" % (len(self.parts), re.sub(r"\W", "_", cls.__qualname__))
            self.own[id(cls)] = self.parts["class", id(cls)] = Part(self, name, cls.__module__)
        return self.own[id(cls)]

    def part_of(self, jit):
        """The Part of the function's file; one of its own for a closure, whose names are not the
        file's, and where the file's Part has another function of that name."""
        if id(jit) not in self.own:
            part = self.part(jit.module, jit.file)
            taken = part.bound.get(jit.def_name, ("function", id(jit))) != ("function", id(jit))
            if jit.fn.__code__.co_freevars or taken:
                part = Part(self, "f%d_%s" % (len(self.parts), jit.def_name), jit.file)
                self.parts["own", id(jit)] = part
            self.own[id(jit)] = part
        return self.own[id(jit)]

    def may_refer(self, v):
        """Triton lets a kernel see only such globals."""
        if self.is_open or v is None:
            return True
        if isinstance(v, (types.ModuleType, core.constexpr, core.dtype)) or language_name(v):
            return True
        return isinstance(v, (type, types.BuiltinFunctionType)) or jit_of(v) is not None \
            or getattr(v, core.TRITON_BUILTIN, False) \
            or isinstance(v, tuple) and hasattr(v, "_fields")

    def check_unchanged(self, jit, name):
        """What the function's text held of a global when it was first compiled, it holds for ever,
        whichever kernel calls it.  As in Triton, not so what it has of a function around it."""
        seen = jit.globals_seen.get(name)
        if seen is None or seen.cell is not None or seen.is_same() or knobs.runtime.interpret:
            return
        if jit is self.jit:
            raise RuntimeError(seen.change())
        raise RuntimeError(
            "Global variable %s has value %s when compiling %s, but inner kernel %s has conflicting "
            "value %s from when it was first compiled.  This is not allowed."
            % (name, seen.now(), self.jit.__name__, jit.__name__, seen.value))

    def remember(self, jit, name, v):
        if isinstance(unwrap(v), (bool, int, float, str, tuple, core.dtype)) \
                and name not in self.notes:
            used = Used(jit.fn, name, v)
            self.used.append(used)
            jit.globals_seen.setdefault(name, used)

    def note(self, name, why, way_out=None):
        self.notes.setdefault(name, (why, way_out))

    def add_entry(self, name, text):
        """A further function, made up, that calls the kernel in its last line; compiled in its place."""
        self.entry, self.made_call = name, text.rstrip("\n").split("\n")[-1]
        last = max(at + t.count("\n") for at, t in self.main.pieces)
        self.main.pieces.append((last + 2, text))

    def texts(self):
        """(the kernel's text, {module: text}).  The kernel's is a module, too, for functions of other
        files that call some of its file."""
        main = self.main.text()
        return main, {p.name: p.text() for p in self.parts.values()
                      if p is not self.main or p.is_imported}

    def digest(self):
        main, others = self.texts()
        return hashlib.sha256(repr((main, sorted(others.items()), self.entry)).encode()).hexdigest()
