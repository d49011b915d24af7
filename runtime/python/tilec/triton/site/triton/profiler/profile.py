"""Sessions: start(), finalize(), and what is between."""
import functools

from .. import knobs
from . import _record
from .flags import flags

DEFAULT_PROFILE_NAME = "proton"

# Proton's other values of start()'s parameters, and why there are none here.
_REFUSED = {
    "context": {"python": "launches are gathered by scopes, not by Python's calls"},
    "data": {"trace": "times are summed; there is no record of each launch"},
    "backend": {"cupti": "times are CUDA events'; leave backend out",
                "roctracer": "its GPUs are NVIDIA's",
                "instrumentation": "kernels are not instrumented"},
    "hook": {},
}
_TAKEN = {"context": ("shadow",), "data": ("tree",), "backend": (None,), "hook": (None, "triton")}


def _check(**given):
    for name, value in given.items():
        if value in _TAKEN[name]:
            continue
        why = _REFUSED[name].get(value)
        if why:
            raise NotImplementedError("proton.start(%s=%r): tilec's profiler does not do it: %s"
                                      % (name, value, why))
        raise ValueError("proton.start(%s=%r): there are %s"
                         % (name, value, ", ".join(map(repr, _TAKEN[name]))))


def _check_mode(mode):
    if mode:
        raise NotImplementedError("proton.start(mode=%r): tilec's profiler does not do it: it "
                                  "samples no program counters and instruments no kernels"
                                  % str(mode))


def _begin(name, context, data, backend, mode, hook):
    _check(context=context, data=data, backend=backend, hook=hook)
    _check_mode(mode)
    flags.profiling_on = True
    return _record.start("%s.hatchet" % (name or DEFAULT_PROFILE_NAME), hook == "triton")


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Opens a session, which is active; its number.  finalize() writes NAME.hatchet."""
    if flags.command_line or knobs.proton.disable:
        return None
    return _begin(name, context, data, backend, mode, hook)


def _check_session(session, what):
    if flags.command_line and session not in (None, 0):
        raise ValueError("Only one session can be %s when running from the command line." % what)


def activate(session=None):
    """The session records from here on; None: all of them."""
    _check_session(session, "activated")
    _record.activate(session)


def deactivate(session=None):
    """The session keeps what it has and records nothing more."""
    _check_session(session, "deactivated")
    _record.deactivate(session)


def finalize(session=None, output_format=""):
    """Ends a session and writes its file."""
    if output_format not in ("", None, "hatchet"):
        raise NotImplementedError("proton.finalize(output_format=%r): tilec's profiler writes "
                                  "'hatchet'" % (output_format,))
    if flags.command_line and session is not None:
        _check_session(session, "finalized")
    if session is None:
        flags.profiling_on = False
    _record.finalize(session)


def profile(func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None,
            hook=None):
    """A decorator: a session around each call of the function."""
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            session = start(name, context=context, data=data, backend=backend, mode=mode,
                            hook=hook)
            result = fn(*args, **kwargs)
            if session is not None:
                deactivate(session)
            return result
        return wrapper
    return decorate if func is None else decorate(func)
