from ..errors import TritonError


class _Said(TritonError):
    prefix = ""

    def __init__(self, error_message=None):
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self):
        return self.prefix + (self.error_message or "")


class InterpreterError(_Said):
    """A kernel that broke a rule on the CPU executor."""


class PTXASError(_Said):
    prefix = "PTXAS error: "


class AutotunerError(_Said):
    prefix = "Autotuner error: "


class OutOfResources(TritonError):
    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required, self.limit, self.name = required, limit, name

    def __str__(self):
        return ("out of resource: %s, Required: %s, Hardware limit: %s. Reducing block sizes or "
                "`num_stages` may help." % (self.name, self.required, self.limit))
