"""What is said of wrong arguments, looked at where they are taken or where something failed."""
import ctypes as C
import inspect
import os
import re
import sys

__all__ = ["_EXECUTORS", "_a", "_array_instead", "_b", "_check_where", "_file_like", "_folders", "_instead",
           "_integer_instead", "_set_field", "_short", "meant", "wrong_call"]

_EXECUTORS = {"cuda": 0, "cpu": 1, "sim": 2}


def _b(text):
    return None if text is None else os.fsencode(text)


def _a(value):
    """What kind of value it is, with its article: a list, an ndarray."""
    name = type(value).__name__
    return ("an " if name[0] in "aeioAEIO" else "a ") + name


def meant(name, known, has=None):
    """What an error adds to an unknown name: the known one that is like it, else what there is,
    "; it takes a, b", where `has` is "it takes"."""
    import difflib                          # takes its time to import
    by_lower = {k.lower(): k for k in known}               # block is as close to BLOCK as can be
    like = difflib.get_close_matches(name.lower(), by_lower, 1)
    if like:
        return "; did you mean '%s'?" % by_lower[like[0]]
    return "; %s %s" % (has, ", ".join(known)) if has and known else ""


def _set_field(fields, name, value):
    """Sets a field of one of the library's structs: an address in a text's place would be read."""
    kind = dict(fields._fields_)[name]
    if kind is C.c_char_p and isinstance(value, (str, os.PathLike)):
        value = _b(value)
    if kind is C.c_char_p and not isinstance(value, (bytes, type(None))):
        raise TypeError("%s= is a text; got %r of type %s" % (name, value, type(value).__name__))
    if kind is C.c_bool and not isinstance(value, (bool, int)):
        raise TypeError("%s= is True or False; got %r" % (name, value))
    if kind is C.c_uint32 and not (hasattr(value, "__index__") and 0 <= value < 2**32):
        raise TypeError("%s= is a whole number from 0 on; got %r" % (name, value))
    setattr(fields, name, value)


def _folders(include_dirs):
    if isinstance(include_dirs, (str, bytes, os.PathLike)) or not hasattr(include_dirs, "__iter__"):
        raise TypeError("include_dirs is a list of folders, as in [\"kernels\"]; got %r" % (include_dirs,))
    return [_b(d) for d in include_dirs]


def _check_where(file, on, source=None):
    if file is not None and not isinstance(file, (str, bytes, os.PathLike)):
        raise TypeError("file= is the path of a .tile or .py file; got %r of type %s"
                        % (file, type(file).__name__))
    if not isinstance(source, (str, type(None))):
        raise TypeError("source= is a text, a str; got %s%s" % (
            type(source).__name__,
            ", which .decode() makes one of" if isinstance(source, bytes) else ""))
    if source is not None and not source.strip():
        raise ValueError("source= is empty: it is the text of a .tile or .py file, with a kernel: "
                         "a function under @kernel or @triton.jit")
    if isinstance(file, str) and "\n" in file:
        raise ValueError("file= is the path of a .tile or .py file; this is a text of %d lines: "
                         "source= takes it" % (file.count("\n") + 1))
    if on is not None and on not in _EXECUTORS:
        raise ValueError("on=%r: an executor is one of %s" % (on, ", ".join(_EXECUTORS)))


def _file_like(file):
    """What an error adds to the name of a file that is not there."""
    folder, name = os.path.split(os.fspath(file))
    try:
        there = sorted(f for f in os.listdir(folder or ".") if str(f).endswith((".tile", ".py")))
    except (OSError, TypeError):
        return _elsewhere(file, folder, name)
    return meant(name, there, "there are")


def _elsewhere(file, folder, name):
    """Of a file whose folder is not there: where it was looked for, and a file of the name beside the
    program or where it runs."""
    try:
        if os.path.isdir(folder):
            return ""
        here = os.getcwd()
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        program = os.path.join(os.path.dirname(os.path.abspath(main)), name) if main else name
        near = next((p for p in (name, program) if os.path.isfile(p)), None)
    except (OSError, TypeError):
        return ""
    from_where = "" if os.path.isabs(file) else "; the path is looked for from %s" % here
    return "%s: there is no folder '%s'%s" % (
        from_where, folder, "; did you mean '%s'?" % near if near else "")


def _takes_one(function):
    """Can it be called with one value?  Of what is written in C nothing is known."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


class _KeyError(KeyError):
    """One whose text is shown as it is, not as what an expression gives."""
    __str__ = Exception.__str__


_KeyError.__module__, _KeyError.__qualname__ = "builtins", "KeyError"


def wrong_call(what, function, values, error):
    """The error of function(values), where it is the program's and values a dictionary, in other
    words: `what` it is for; None: it says enough."""
    name = error.args[0] if error.args else None
    if isinstance(error, KeyError):
        return None if name in values or name is None else _KeyError(
            "%s asks for '%s'%s (there are %s)"
            % (what, name, meant(str(name), list(values)),
               ", ".join(v for v in values if v not in ("grid", "warmup"))))
    if isinstance(error, AttributeError):
        return None if getattr(error, "obj", None) is not values else AttributeError(
            "%s is given a dictionary: write [%r], not .%s" % (what, error.name, error.name))
    return None if _takes_one(function) else TypeError(
        "%s is called with the values of its parameters, one dictionary: lambda meta: .." % what)


def _short(value):
    """The value on one line of an error."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else "%s .. of type %s" % (text[:60], type(value).__name__)


def _integer_instead(value):
    """How the value becomes an integer."""
    if isinstance(value, str):
        return ": numbers stand without quotes"
    if callable(value):
        return ": a function gives all of it, kernel[lambda meta: (.., ..)]"
    if hasattr(value, "shape") and getattr(value, "shape") != ():
        return ": its size is array.shape[0]; of one that holds a grid tuple(map(int, array)) is"
    if isinstance(value, float) or hasattr(value, "item"):
        return ": triton.cdiv(n, BLOCK) gives one, int(x) of what is whole"
    return ""


def _instead(dtype):
    """What to pass in place of an array of such elements, as far as there is something."""
    if getattr(dtype, "fields", None):
        return ": a structured array is passed field by field"
    if str(getattr(dtype, "byteorder", "=")) in "><" and getattr(dtype, "kind", "") in "iufc":
        return ": this machine's byte order is dtype.newbyteorder('=')"
    if "complex" in str(dtype):
        return ": real and imaginary parts are passed as an array of floats, %s, in which those of " \
            "element i are x[2 * i] and x[2 * i + 1]" % (
            "torch.view_as_real(tensor)" if str(dtype).startswith("torch.") else
            "array.view(numpy.float%d)" % (4 * getattr(dtype, "itemsize", 8)))
    if getattr(dtype, "kind", "") in "Mm":
        return ": times are passed as whole numbers, array.astype(numpy.int64)"
    if getattr(dtype, "kind", "") in "USTO":
        return ": numbers are, such as array.astype(numpy.float32) makes of texts of numbers"
    return ""


_NUMPY = {"i1": "bool_", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
          "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp16": "float16", "fp32": "float32",
          "fp64": "float64"}


def _numpy_type(values, declared):
    """numpy's name for the elements of an array of these values: what the kernel declares, *fp16, else what
    holds them."""
    kind = re.match(r"\*(?:const\s+)?(\w+)", declared or "")
    if kind and kind[1] in _NUMPY:
        return _NUMPY[kind[1]]
    items = list(values)
    while items and isinstance(items[0], (list, tuple, range)):
        items = [n for row in items if isinstance(row, (list, tuple, range)) for n in row]
    if items and all(isinstance(n, bool) for n in items):
        return "bool_"
    if items and all(hasattr(n, "__index__") for n in items):
        return "int32" if all(-2**31 <= n < 2**31 for n in items) else "int64"
    return "float32"


def _method_instead(a):
    """x.numel for x.numel()"""
    name, of = getattr(a, "__name__", ""), getattr(a, "__self__", None)
    if not callable(a) or not name or of is None or inspect.ismodule(of):
        return ""
    if name == "size" and callable(getattr(of, "numel", None)):
        return "; it is the method .size of %s, without its brackets: .size(0) is the first length, .numel() " \
            "how many elements there are" % _a(of)
    return "; it is the method .%s of %s, without its brackets: .%s()" % (name, _a(of), name)


def _array_instead(a, declared=None, beside=()):
    """What was meant by an argument that is none; declared: the parameter's type, as in *fp32; beside: the
    other arguments."""
    is_torch = any(type(b).__module__.split(".")[0] == "torch" for b in beside)
    made = "torch.tensor(values, dtype=torch.%s)" if is_torch else "numpy.array(values, numpy.%s)"
    library = "torch" if is_torch else "numpy"
    if isinstance(a, (list, tuple)) and any(getattr(n, "shape", ()) != () for n in a):
        return "; each array of it is an argument of its own, or %s.stack(values) makes one of them" % library
    if isinstance(a, (str, os.PathLike)) and os.fspath(a).endswith(".npy"):
        return "; numpy.load(%r) reads the file" % os.fspath(a)
    if isinstance(a, str) and re.fullmatch(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?\s*", a):
        return "; a number stands without quotes: %s" % a.strip()
    if isinstance(a, str):
        return "; %.40r is a text: %s.zeros(64%s) makes an array" % (
            a, library, "" if is_torch else ", numpy.float32")
    if isinstance(a, dict) and a and all(isinstance(n, str) for n in a):
        return "; ** makes arguments by name of its items: %s" % ", ".join("%s=.." % n for n in list(a)[:3])
    if isinstance(a, (list, tuple, range)):
        kind = _numpy_type(a, declared)
        return "; %s makes an array of %s" % (made % (kind.rstrip("_") if is_torch else kind), _a(a))
    for way in ("to_numpy", "numpy"):                     # of frames, of tensors of other libraries
        if callable(getattr(a, way, None)):
            return "; .%s() gives an array of its values" % way
    return _method_instead(a)
