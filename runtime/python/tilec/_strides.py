"""Which parameters of a kernel may be strides of which array: by the kernel's text.

Followed are the names in what is added to a pointer: those that are multiplied there, or added alone.  What
is compared (a mask, a bound), divides, or counts blocks (cdiv, range) is a size.  What is not understood
takes a name for a stride, so that a caller stays silent."""
import ast
import re

__all__ = ["strides_by_text"]

_DEEPEST = 8                       # functions that call each other
_OF_SIZES = frozenset(["cdiv", "range", "static_range", "arange", "static_assert", "static_print",
                       "device_assert", "device_print", "device_debug", "len", "float"])
_OF_DATA = frozenset(["load", "sum", "max", "min", "dot"])
_WRITES = frozenset(["store"])
_DESCRIBES = frozenset(["make_block_ptr", "make_tensor_descriptor"])


class _Seen:
    """Of an expression: the names of arrays that it is an address in, of parameters whose value it is, and
    of those that it is a multiple of."""
    __slots__ = ("arrays", "names", "factors")

    def __init__(self, arrays=frozenset(), names=frozenset(), factors=frozenset()):
        self.arrays, self.names, self.factors = arrays, names, factors

    def __or__(self, other):
        return _Seen(self.arrays | other.arrays, self.names | other.names, self.factors | other.factors)


_NOTHING = _Seen()


class _Text(ast.NodeVisitor):
    """Goes through a kernel and what it calls.  strides: by array, the parameters that lead through it;
    bounds: the parameters that something is compared with."""

    def __init__(self, functions):
        self.functions, self.depth = functions, 0
        self.strides, self.bounds = {}, set()

    def kernel(self, fn, arrays):
        params = [a.arg for a in (*fn.args.posonlyargs, *fn.args.args, *fn.args.kwonlyargs)]
        self.run(fn, {n: _Seen(arrays=frozenset([n])) if n in arrays else _Seen(names=frozenset([n]))
                      for n in params})

    def run(self, fn, names):
        outer = getattr(self, "names", None), getattr(self, "result", None)
        self.names, self.result = names, _NOTHING
        for _ in range(2):                       # what a loop carries
            for statement in fn.body:
                self.visit(statement)
        result = self.result
        self.names, self.result = outer
        return result

    # -- statements: names only gain, as both sides of an `if` may come before what follows --

    def assign(self, target, seen):
        if isinstance(target, (ast.Tuple, ast.List)):
            for t in target.elts:
                self.assign(t, seen)
        elif isinstance(target, ast.Name):
            self.names[target.id] = self.names.get(target.id, _NOTHING) | seen

    def visit_Assign(self, node):
        pairs = [(t, node.value) for t in node.targets]
        if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple) \
                and len(node.value.elts) == len(node.targets[0].elts):
            pairs = list(zip(node.targets[0].elts, node.value.elts))
        for target, value in pairs:
            self.assign(target, self.of(value))

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.assign(node.target, self.of(node.value))

    def visit_AugAssign(self, node):
        self.assign(node.target, self.of(ast.BinOp(_loaded(node.target), node.op, node.value)))

    def visit_For(self, node):
        self.assign(node.target, self.of(node.iter))
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_Return(self, node):
        if node.value is not None:
            self.result |= self.of(node.value)

    def visit_Expr(self, node):
        self.of(node.value)

    def visit_If(self, node):
        self.of(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    visit_While = visit_If

    def visit_FunctionDef(self, node):
        self.functions.setdefault(node.name, node)

    # -- expressions --

    def of(self, node):
        if isinstance(node, ast.Name):
            return self.names.get(node.id, _NOTHING)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                self.bounds |= self.of(side).names
            return _NOTHING
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Attribute):
            return self.of(node.value)
        seen = _NOTHING
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                seen |= self.of(child)
        return seen

    def binary(self, node):
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, (ast.Div, ast.BitAnd, ast.BitOr)):
            return _NOTHING
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            return left
        if isinstance(node.op, (ast.Mult, ast.LShift)):
            return _Seen(left.arrays | right.arrays, frozenset(),
                         left.names | right.names | left.factors | right.factors)
        return self.address(left | right)

    def address(self, seen):
        """What is added to a pointer leads through its array."""
        for array in seen.arrays:
            self.strides.setdefault(array, set()).update(seen.names | seen.factors)
        return seen

    def call(self, node):
        fn = node.func
        name = fn.id if isinstance(fn, ast.Name) else fn.attr if isinstance(fn, ast.Attribute) else ""
        args = [self.of(a) for a in node.args]
        by_name = {k.arg: self.of(k.value) for k in node.keywords}
        if isinstance(fn, ast.Name) and name in self.functions and self.depth < _DEEPEST:
            return self.inside(self.functions[name], args, by_name)
        if name in _OF_SIZES:
            for seen in args:
                self.bounds |= seen.names
            return _NOTHING
        if name in _OF_DATA and args and args[0].arrays or name in _WRITES:
            return _NOTHING
        if name in _DESCRIBES:
            by_name.pop("shape", None)
            args[1:2] = []
        seen = self.of(fn.value) if isinstance(fn, ast.Attribute) else _NOTHING
        for one in (*args, *by_name.values()):
            seen |= one
        return self.address(seen)

    def inside(self, fn, args, by_name):
        params = [a.arg for a in (*fn.args.posonlyargs, *fn.args.args)]
        self.depth += 1
        try:
            return self.run(fn, {**dict(zip(params, args)), **by_name})
        finally:
            self.depth -= 1


def _loaded(target):
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _parsed(text):
    """A .tile file's types are not Python's."""
    return ast.parse(re.sub(r"(:|->)\s*(?:const\s+)?\*+\s*(?=\w)", r"\1 ", text))


def strides_by_text(text, kernel, arrays):
    """({array: parameters that may be its strides}, parameters that are bounds), or None where the text is not
    understood."""
    try:
        functions = {n.name: n for n in _parsed(text).body if isinstance(n, ast.FunctionDef)}
        fn = functions[kernel]
        seen = _Text(functions)
        seen.kernel(fn, frozenset(arrays))
    except (SyntaxError, ValueError, KeyError, RecursionError):
        return None
    return seen.strides, seen.bounds
