"""Errors of compiling, under Triton's names; the text is tilec's: file, line, caret, help."""
from ..errors import TritonError


class CompilationError(TritonError):
    def __init__(self, src=None, node=None, error_message=None):
        super().__init__(src, node, error_message)
        self.src, self.node, self.error_message = src, node, error_message

    @property
    def message(self):
        return self.error_message or ""

    def __str__(self):
        return self.message


class CompileTimeAssertionFailure(CompilationError):
    """A static_assert that does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    pass
