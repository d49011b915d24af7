from ... import _absent
from .launch import LaunchHook

__all__ = ["LaunchHook"]
_absent.declare(globals())
