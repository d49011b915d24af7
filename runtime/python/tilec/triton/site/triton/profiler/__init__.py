"""Proton's interface over tilec: times of launches and scopes, by CUDA events."""
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, state
from .profile import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start
from . import context, specs

__all__ = ["DEFAULT_PROFILE_NAME", "activate", "context", "cpu_timed_scope", "deactivate",
           "enter_scope", "enter_state", "exit_scope", "exit_state", "finalize", "profile", "scope",
           "specs", "start", "state"]
