"""What Triton says for some of tilec's errors: programs, and tests, look for its words.

tilec's message stays; Triton's is added under it, and is the text of the error's cause."""
import re

OTHER_VENDORS = ("not supported in this architecture. The supported fp8 dtypes are ('fp8e4nv', "
                 "'fp8e4b15', 'fp8e5')")

# code: what to take from tilec's message, Triton's words around it
_WORDS = {
    "E0200": (r"unknown name '(\w+)'", "{0} is not defined"),
    "E0204": (r"'(\w+)' has type", "Mismatched type for {0} between then block and else block"),
    "E0241": (r"", "Inconsistent return types"),
    "E0243": (r"", "Ternary expression with dynamic condition has inconsistent types"),
    "E0282": (r"constant (\S+) does not fit in (\S+),", "Scalar {0} is out of range for type {1}"),
    "E0285": (r"got (.+) and (.+)", "Cannot use /, #, or % with {0} and {1} because they have "
              "different signedness; this is unlikely to result in a useful answer. Cast them to "
              "the same signedness."),
    "E0286": (r"for (.+) and (.+)", "invalid operands of type {0} and {1}"),
    "E0296": (r"", "unsupported tensor index"),
    "E0302": (r"got string '(fp8e5b16|fp8e4b8)'", "type {0} " + OTHER_VENDORS),
    "E0308": (r"dimension (\d+) is", "Shape element {0} must be a power of 2"),
    "E0311": (r"got (-?\d+)$", "invalid axis {0}"),
    "E0314": (r"got (-?\d+)$", "program_id axis must be 0, 1, or 2 but got {0}"),
    "E0316": (r"'arange'", "arange's range must be a power of 2"),
    "E0322": (r"", "Cannot store to a constant pointer"),
    "E0334": (r"at least (\d+)", "Input shapes should have M >= 1, N >= 1 and K >= {0}"),
    "E0335": (r"is (\d+); got (\d+)", "max_num_imprecise_acc ({1}) must be <= K ({0})"),
    "E0342": (r"'(\w+)' of 'dot_scaled' must be of shape (\[.*?\]).*got \[(\d+), (\d+)\]",
              "{0} must be a tensor of shape {1}. Got ['{2}', '{3}']"),
    "E0345": (r"not (\d+) bytes or more", "Descriptor block shape must have at least {0} bytes in "
              "the last dimension"),
    "E0348": (r"they are (.*)", "duplicate axes, normalized axes = {0}"),
    "E0349": (r"result of '(\w+)'(?:.*\n)*?.*help: (.*)", "The result of {0} is not being used. {1}"),
}
# The first error with its source lines and notes, up to the next diagnostic.
_FIRST = re.compile(r"^(?:\S.*?:\d+:\d+: )?error\[(E\d+)\]: "
                    r"(.*(?:\n(?!(?:\S.*?:\d+:\d+: )?(?:error|warning|remark)\[).*)*)",
                    re.MULTILINE)


def words_for(text):
    """Triton's words for the first error of a text; None where there are none."""
    first = _FIRST.search(text)
    pattern, words = _WORDS.get(first[1], (None, None)) if first else (None, None)
    found = re.search(pattern, first[2], re.MULTILINE) if pattern is not None else None
    return words.format(*found.groups()) if found else None
