"""What tilec warns of in a program, as Python's warnings.

The library says it in the middle of a call (hear()), where nothing may be raised; what made the call tells it
afterwards (tell()), at the place in the program that it is about."""
import functools
import os
import re
import sys
import warnings

__all__ = ["Warning", "hear", "heard", "say", "say_warnings", "stands_for", "tell", "users_level"]

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STATIC_PRINT = re.compile(r"^.*: warning\[W0252\]: static_print: (.*)\n(?: .*\n)*", re.MULTILINE)
_WARNING = re.compile(r"^(\S.*?):(\d+):\d+: warning\[(\w+)\]: ", re.MULTILINE)

heard = []             # texts not yet told
_unwritten = []        # why lines of the kernel could not be written
stands_for = {}        # a file that was written for the library: the program's own
_told = {}             # by file: what warnings.warn_explicit() remembers of it


class Warning(UserWarning):
    """A slip that tilec sees in a kernel or in its launch; the text begins with its code, as
    `tilec explain` takes it: -W ignore:W0237, warnings.filterwarnings("error", "W06")."""
    __module__ = "tilec"


def users_level():
    """The stacklevel for a warning of the caller's that names the line outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame and frame.f_code.co_filename.startswith((_FOLDER, functools.__file__)):
        frame, level = frame.f_back, level + 1
    return level


def say(text):
    """Lines of a kernel, to the standard output; once that fails the others of the call are dropped, and tell()
    raises what print() would have raised."""
    if _unwritten:
        return
    try:
        sys.stdout.write(text)
    except OSError as error:
        _unwritten.append(error.with_traceback(None))
        heard.append("")


def hear(text):
    """What static_print says goes to the standard output at once, the rest waits for tell()."""
    for line in _STATIC_PRINT.findall(text):
        say(line + "\n")
    heard.append(_STATIC_PRINT.sub("", text))


def tell():
    """Warns of what was heard, notes included: at its line, or, where the text has no file, at the call."""
    texts = []
    while heard:                              # other threads add to it
        texts.append(heard.pop(0))
    text = "".join(texts)
    for made, real in stands_for.items():
        text = text.replace(made, real)
    starts = [m.start() for m in _WARNING.finditer(text)]
    for begin, end in zip(starts, [*starts[1:], len(text)]):
        place = _WARNING.match(text, begin, end)
        file, line, code = place[1], int(place[2]), place[3]
        said = "%s: %s" % (code, text[place.end():end].rstrip())
        if os.path.exists(file):
            warnings.warn_explicit(said, Warning, file, line, registry=_told.setdefault(file, {}))
        else:
            warnings.warn(said, Warning, stacklevel=users_level())
    if _unwritten:
        raise _unwritten.pop()


def say_warnings(text):
    hear(text)
    tell()
