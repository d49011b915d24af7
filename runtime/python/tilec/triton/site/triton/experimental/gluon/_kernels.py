"""A function under @gluon.jit: everything that a kernel is, but for its launch."""
import functools

from triton.runtime.jit import JITFunction

__all__ = ["GluonJITFunction", "jit"]


class GluonJITFunction(JITFunction):
    def is_gluon(self):
        return True

    def run(self, *_, **__):
        raise NotImplementedError("kernel '%s' (%s:%d) is written in Gluon, which is another "
                                  "language than Triton's: tilec does not compile it"
                                  % (self.__name__, self.file, self.def_line))

    warmup = __call__ = preload = run

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid)


def jit(fn=None, **options):
    return GluonJITFunction(fn, **options) if fn is not None else functools.partial(jit, **options)
