"""A state: one more name under which launches are gathered, without being a scope."""
import functools

from . import _record
from .flags import flags


def enter_state(name):
    _record.thread.state = name


def exit_state():
    _record.thread.state = None


class state:
    """with state(name):, or a decorator."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        if flags.profiling_on:
            enter_state(self.name)
        return self

    def __exit__(self, *_):
        if flags.profiling_on:
            exit_state()

    def __call__(self, func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with state(self.name):
                return func(*args, **kwargs)
        return wrapper
