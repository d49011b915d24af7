"""There are no plug-ins."""
from .. import _absent

_absent.declare(globals())
