"""There are no plug-ins."""
from .. import _absent


class DriverBase:
    """What triton.runtime.driver.active is one of; none can be added to tilec from Python."""

    def __init__(self):
        raise NotImplementedError("tilec's drivers are built in")


_absent.declare(globals())
