from . import _record
from .flags import flags


def depth(session=0):
    """How many scopes the thread is in; None when nothing is profiled."""
    return _record.depth(session) if flags.profiling_on else None
