from .launch import LaunchHook

__all__ = ["LaunchHook"]
