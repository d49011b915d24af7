"""What is shown of an error that ends a program: its own lines of the traceback, without those of tilec between
them.  TILEC_FULL_TRACEBACK=1 shows all.  An exception that a program catches is as it was raised."""
import contextlib
import functools
import os
import sys
import types

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_BETWEEN = (contextlib.__file__, functools.__file__, "<frozen runpy>", "<frozen importlib", "<frozen contextlib")


def show_own_lines():
    """From here on, unless the program has its own sys.excepthook."""
    if os.environ.get("TILEC_FULL_TRACEBACK", "0") in ("", "0"):
        sys.excepthook = _show


def _show(kind, error, trace):
    seen = set()
    e = error
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        e.__traceback__ = _own(e.__traceback__) or e.__traceback__
        cause = e.__cause__
        if cause is not None and _says(e, cause):
            e.__cause__, e.__suppress_context__ = None, True
        e = e.__cause__ or (None if e.__suppress_context__ else e.__context__)
    sys.__excepthook__(kind, error, error.__traceback__)


def _says(error, cause):
    """Does the error's text hold all of its cause's?"""
    return bool(str(cause)) and _own(cause.__traceback__) is None and str(cause) in str(error)


def _own(trace):
    """The traceback without tilec's frames, and those of Python on the way to them."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    own, is_inside = [], False
    for t in frames:
        file = t.tb_frame.f_code.co_filename
        is_inside = file.startswith(_FOLDER) or file.startswith("<frozen runpy") \
            or is_inside and file.startswith(_BETWEEN) or file == "<string>" \
            and t.tb_frame.f_code.co_name == "__init__"      # of a dataclass
        if not is_inside:
            own.append(t)
    kept = None
    for t in reversed(own):
        kept = types.TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept
