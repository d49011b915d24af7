from . import names
from .core import declare

declare(globals(), "triton.language.random", names.RANDOM)
