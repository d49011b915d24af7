"""Scopes: names under which launches are gathered, with metrics of the program's."""
import functools
import threading
import time

from . import _record
from .flags import flags


class scope:
    """with scope(name, {metric: value}):, or a decorator."""

    def __init__(self, name, metrics=None):
        self.name, self.metrics = name, metrics
        self.id = None
        self._entered = threading.local()      # a decorated function may call itself

    def _enter_scope(self):
        if flags.profiling_on:
            entered = _record.Entered(self.name, self.metrics)
            self._entered.stack = [*getattr(self._entered, "stack", ()), entered]
            self.id = entered.id

    def _exit_scope(self):
        """The scope that was left; None without one."""
        stack = getattr(self._entered, "stack", None)
        if not stack:
            return None
        entered = stack.pop()
        entered.leave()
        return entered

    def __enter__(self):
        self._enter_scope()
        return self

    def __exit__(self, *_):
        self._exit_scope()

    def __call__(self, func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self._enter_scope()
            try:
                return func(*args, **kwargs)
            finally:
                self._exit_scope()
        return wrapper


class cpu_timed_scope(scope):
    """A scope with the metric cpu_time: what passed on the host from its start to its end."""

    def __init__(self, name, metrics=None):
        super().__init__(name, metrics)
        if metrics and "cpu_time" in metrics:
            raise ValueError("The metric name 'cpu_time' is reserved.")

    def _enter_scope(self):
        super()._enter_scope()
        if flags.profiling_on:
            self._entered.stack[-1].began = time.perf_counter_ns()

    def _exit_scope(self):
        now = time.perf_counter_ns()
        entered = super()._exit_scope()
        if entered is not None:
            entered.add({"cpu_time (ns)(exc)": now - entered.began})
        return entered


class _Open(threading.local):
    scopes = ()


_open = _Open()


def enter_scope(name, *, metrics=None):
    """The scope's number; None when nothing is profiled."""
    if not flags.profiling_on:
        return None
    entered = _record.Entered(name, metrics)
    _open.scopes = (*_open.scopes, entered)
    return entered.id


def exit_scope(name=None, *, metrics=None):
    if not flags.profiling_on:
        return None
    if not _open.scopes:
        raise IndexError("exit_scope() without enter_scope()")
    entered = _open.scopes[-1]
    if name and name != entered.name:
        raise ValueError("Scope name mismatch: %s != %s" % (name, entered.name))
    _open.scopes = _open.scopes[:-1]
    entered.leave()
    entered.add(metrics)
    return entered.id
