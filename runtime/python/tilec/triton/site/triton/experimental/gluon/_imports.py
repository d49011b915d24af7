"""How Gluon's modules are found: what is in them stands for itself and does nothing."""
import ast
import importlib.machinery
import linecache
import sys

import triton.language as tl

_ROOT = __package__ + "."
_MACHINERY = ("<frozen importlib", "<frozen runpy")


class Named:
    """A name of Gluon's, or what is made with it on the host: a layout, a type, a descriptor."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Named("%s.%s" % (self._name, name))

    def __call__(self, *args, **named):
        if len(args) == 1 and not named and (isinstance(args[0], type) or callable(args[0])):
            return args[0]                           # it decorates
        return Named(self._name + "(..)")

    def __getitem__(self, at):
        return Named(self._name + "[..]")

    def __mro_entries__(self, bases):
        return ()

    def __eq__(self, other):
        return isinstance(other, Named) and other._name == self._name

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return "<%s of Gluon>" % self._name


class _Loader:
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__[len(_ROOT):]
        module.__path__ = []

        def find(word):
            if word.startswith("__"):
                raise AttributeError(word)
            own = tl.__dict__.get(word)
            if isinstance(own, (type, tl.dtype)):     # types and constants are the language's own
                return own
            return Named("%s.%s" % (name, word))
        module.__getattr__ = find


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(_ROOT):
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        return None


sys.meta_path.append(_Finder())


# ---- `try: from triton.experimental import gluon` ------------------------------------------------

def _catches(handler):
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(k is None or getattr(k, "id", getattr(k, "attr", "")) in
               ("ImportError", "ModuleNotFoundError", "Exception") for k in kinds)


def _import_at(tree, line):
    """(the import statement on that line or None, whether a `try` catches its failure)"""
    found, is_caught = None, False
    for node in ast.walk(tree):
        if not hasattr(node, "lineno") or not node.lineno <= line <= node.end_lineno:
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found = node
        elif isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            is_caught |= any(s.lineno <= line <= s.end_lineno for s in node.body)
    return found, is_caught


def refuse_where_caught():
    """ImportError where one of the import statements that lead here, from the innermost on, stands
    in a `try` that catches it."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_MACHINERY):
            frame = frame.f_back
            continue
        try:
            tree = ast.parse("".join(linecache.getlines(file, frame.f_globals)))
        except SyntaxError:
            return
        statement, is_caught = _import_at(tree, frame.f_lineno)
        if statement is None:
            return
        if is_caught:
            raise ImportError("triton.experimental.gluon: tilec does not compile Gluon, and %s:%d "
                              "says what to do without it" % (file, frame.f_lineno),
                              name=__package__)
        frame = frame.f_back
