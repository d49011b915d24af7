"""Compiling ahead on an executor of the caller's."""
from contextvars import ContextVar

active_mode = ContextVar("async_compile_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled; result() waits for it."""

    def __init__(self, finalize, future):
        self._finalize, self._future, self._kernel = finalize, future, None

    def result(self, ignore_errors=False):
        if self._kernel is None:
            try:
                self._kernel = self._future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self._finalize(self._kernel)
        return self._kernel


class AsyncCompileMode:
    """with AsyncCompileMode(executor): warmups inside it are compiled by the executor."""

    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors, self.futures = executor, ignore_errors, []

    def submit(self, call, finalize=lambda kernel: None):
        future = FutureKernel(finalize, self.executor.submit(call))
        self.futures.append(future)
        return future

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        self._token = active_mode.set(self)
        return self

    def __exit__(self, error, *_):
        active_mode.reset(self._token)
        for future in self.futures if error is None else ():
            future.result(self.ignore_errors)
