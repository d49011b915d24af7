from .. import _absent
from . import tensor_descriptor

_absent.declare(globals())
