"""The host's side of triton.language: element types, constexpr, and the names that kernels use.

A kernel is text that tilec compiles; what stands here is what the host program touches: it names
types, makes constants, passes functions along.  Calling one of the language's functions on the host
is an error, as it is under Triton."""
import builtins
import enum

from . import names

TRITON_BUILTIN = "__triton_builtin__"
TRITON_MAX_TENSOR_NUMEL = 1048576


def _outside(name):
    return ValueError("tl.%s is part of the kernel language and cannot be called here. "
                      "Did you forget to add @triton.jit ? (`_semantic` argument must be provided "
                      "outside of JIT functions.)" % name)


class _Function:
    """A function of the kernel language, as the host sees it: a name."""
    __triton_builtin__ = True

    def __init__(self, name, module):
        self.__name__ = self.__qualname__ = name
        self.__module__ = module

    def __call__(self, *args, **kwargs):
        raise _outside(self.__name__)

    def __repr__(self):
        return "<%s.%s>" % (self.__module__, self.__name__)


def declare(space, module, names):
    """Puts a _Function for each of the names into a module's globals."""
    for name in names.split():
        space.setdefault(name, _Function(name, module))


class base_value:
    """What has a value in a kernel."""


class base_type:
    """What types a value of a kernel."""


# ---- constexpr -----------------------------------------------------------------------------------

def _unwrap_if_constexpr(value):
    if isinstance(value, list):
        return [_unwrap_if_constexpr(x) for x in value]
    if isinstance(value, builtins.tuple):
        return builtins.tuple(_unwrap_if_constexpr(x) for x in value)
    return value.value if isinstance(value, constexpr) else value


class constexpr_type(base_type):
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return "constexpr_type[%s]" % (self.value,)


class constexpr(base_value):
    """A value known when the kernel is compiled; arithmetic on it gives another."""

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self):
        return "constexpr[%s]" % (self.value,)

    def __hash__(self):
        return hash((self.value, self.type))

    def __index__(self):
        return self.value

    def __bool__(self):
        return bool(self.value)

    def __iter__(self):
        return iter(self.value)

    def __call__(self, *args, **kw):
        return self.value(*args, **kw)

    def __getitem__(self, at):
        return self.value[_unwrap_if_constexpr(at)]

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))

    def __not__(self):
        return constexpr(not self.value)


def _constexpr_operators():
    import operator as op
    both = {"add": op.add, "sub": op.sub, "mul": op.mul, "mod": op.mod, "truediv": op.truediv,
            "floordiv": op.floordiv, "pow": op.pow, "and": op.and_, "or": op.or_, "xor": op.xor,
            "lshift": op.lshift, "rshift": op.rshift}
    compare = {"lt": op.lt, "le": op.le, "gt": op.gt, "ge": op.ge, "eq": op.eq, "ne": op.ne}

    def forward(f):
        return lambda a, b: constexpr(f(a.value, _unwrap_if_constexpr(b)))

    def backward(f):
        return lambda a, b: constexpr(f(_unwrap_if_constexpr(b), a.value))

    def unary(f):
        return lambda a: constexpr(f(a.value))
    for name, f in {**both, **compare}.items():
        setattr(constexpr, "__%s__" % name, forward(f))
    for name, f in both.items():
        setattr(constexpr, "__r%s__" % name, backward(f))
    for name, f in {"neg": op.neg, "pos": op.pos, "invert": op.invert}.items():
        setattr(constexpr, "__%s__" % name, unary(f))


_constexpr_operators()
CONSTEXPR_0 = constexpr(0)


# ---- element types -------------------------------------------------------------------------------

# name: bits, bits of the significand, bias of the exponent
_FLOATS = {"fp8e4b15": (8, 3, 15), "fp8e4nv": (8, 3, 7), "fp8e4b8": (8, 3, 8), "fp8e5": (8, 2, 15),
           "fp8e5b16": (8, 2, 16), "fp16": (16, 10, 15), "bf16": (16, 7, 127),
           "fp32": (32, 23, 127), "fp64": (64, 53, 1023)}


class dtype(base_type):
    """An element type by its name: "int32", "fp16", "void"."""
    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = list(_FLOATS)
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        self.name = name
        assert name in self.SINT_TYPES + self.UINT_TYPES + self.FP_TYPES + self.OTHER_TYPES, name
        self.primitive_bitwidth = self.int_bitwidth = 0
        if name in self.FP_TYPES:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name not in self.OTHER_TYPES:
            self.int_signedness = (self.SIGNEDNESS.SIGNED if name in self.SINT_TYPES
                                   else self.SIGNEDNESS.UNSIGNED)
            self.int_bitwidth = int(name.split("int")[-1])
            self.primitive_bitwidth = self.int_bitwidth
        self.itemsize = self.primitive_bitwidth // 8

    def is_fp8(self):
        return self.name.startswith("fp8")

    def is_fp16(self):
        return self.name == "fp16"

    def is_bf16(self):
        return self.name == "bf16"

    def is_fp32(self):
        return self.name == "fp32"

    def is_fp64(self):
        return self.name == "fp64"

    def is_bool(self):
        return self.name == "int1"

    is_int1 = is_bool

    def is_floating(self):
        return self.name in self.FP_TYPES

    def is_standard_floating(self):
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self):
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self):
        return self.name in self.UINT_TYPES

    def is_int(self):
        return self.name in self.SINT_TYPES + self.UINT_TYPES

    def is_void(self):
        return self.name == "void"

    def kind(self):
        return (self.KIND.BOOLEAN if self.is_bool() else
                self.KIND.INTEGRAL if self.is_int() else self.KIND.FLOATING)

    def get_int_max_value(self):
        signed = self.int_signedness == self.SIGNEDNESS.SIGNED
        return 2**(self.int_bitwidth - signed) - 1

    def get_int_min_value(self):
        signed = self.int_signedness == self.SIGNEDNESS.SIGNED
        return -2**(self.int_bitwidth - 1) if signed else 0

    def with_element_ty(self, element_ty):
        return element_ty

    @staticmethod
    def is_dtype(type_str):
        return type_str in (dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES
                            + dtype.OTHER_TYPES)

    @staticmethod
    def is_block():
        return False

    @staticmethod
    def is_ptr():
        return False

    @staticmethod
    def is_const():
        return False

    @property
    def scalar(self):
        return self

    @property
    def cache_key_part(self):
        return self.name

    def codegen_name(self):
        if self.name == "bf16":
            return "bfloat16"
        return self.name.replace("fp", "float", 1) if self.name.startswith("fp") else self.name

    def mangle(self):
        return self.name

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return type(other) is dtype and self.name == other.name

    def __hash__(self):
        return hash((self.name,))

    def __str__(self):
        return self.name

    def __repr__(self):
        return "triton.language." + self.codegen_name()

def _is_called(name):
    return lambda self: self.name == name


for _name in dtype.SINT_TYPES + dtype.UINT_TYPES[1:] + [n for n in _FLOATS if n.startswith("fp8")]:
    setattr(dtype, "is_" + _name, _is_called(_name))



class pointer_type(dtype):
    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = _unwrap_if_constexpr(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError("element_ty has type `%s`; expected `dtype`."
                            % type(element_ty).__name__)
        self.element_ty, self.address_space, self.const = element_ty, address_space, const
        self.name = "pointer<%s>" % element_ty if not const else "const_pointer<%s>" % element_ty

    def is_const(self):
        return self.const

    @staticmethod
    def is_ptr():
        return True

    def is_int(self):
        return False

    def is_floating(self):
        return False

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return (isinstance(other, pointer_type) and self.element_ty == other.element_ty
                and self.address_space == other.address_space and self.const == other.const)

    def __hash__(self):
        return hash((self.name, self.address_space))

    def __repr__(self):
        return self.name


class block_type(dtype):
    def __init__(self, element_ty, shape):
        self.element_ty, self.shape = element_ty, builtins.tuple(_unwrap_if_constexpr(list(shape)))
        self.numel = 1
        for n in self.shape:
            self.numel *= n
        self.name = "<%s, %s>" % (list(self.shape), element_ty)

    @staticmethod
    def is_block():
        return True

    @property
    def scalar(self):
        return self.element_ty

    @property
    def nbytes(self):
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def with_element_ty(self, scalar_ty):
        return block_type(scalar_ty, self.shape)

    def get_block_shapes(self):
        return self.shape

    def __eq__(self, other):
        return (isinstance(other, block_type) and self.element_ty == other.element_ty
                and self.shape == other.shape)

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return self.name


class tuple_type(base_type):
    def __init__(self, types, fields=None):
        self.types, self.fields = types, fields


class slice_type(base_type):
    pass


class tensor_descriptor_base_type(base_type):
    def __init__(self, block_type):
        self.block_type = block_type


class tensor_descriptor_type(tensor_descriptor_base_type):
    pass


void = dtype("void")
int1, int8, int16, int32, int64 = (dtype("int%d" % n) for n in (1, 8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (dtype("uint%d" % n) for n in (8, 16, 32, 64))
float8e5, float8e5b16, float8e4nv, float8e4b8, float8e4b15 = (
    dtype("fp" + n) for n in ("8e5", "8e5b16", "8e4nv", "8e4b8", "8e4b15"))
float16, bfloat16, float32, float64 = (dtype(n) for n in ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)


def get_int_dtype(bitwidth, signed):
    bitwidth, signed = _unwrap_if_constexpr(bitwidth), _unwrap_if_constexpr(signed)
    if bitwidth == 1:
        return int1
    name = "%sint%d" % ("" if signed else "u", bitwidth)
    if not dtype.is_dtype(name):
        raise ValueError("Unsupported bitwidth %s and signedness %s" % (bitwidth, signed))
    return dtype(name)


# ---- values of kernels, which the host only names ------------------------------------------------

class tensor(base_value):
    """A tile.  There are none on the host."""

    def __init__(self, *args, **kw):
        raise _outside("tensor")


class tensor_descriptor_base(base_value):
    pass


class tensor_descriptor(tensor_descriptor_base):
    pass


class const:
    """Annotation of a pointer that is only read."""


class PropagateNan(enum.Enum):
    NONE = 0
    ALL = 0xFFFF


class tuple(base_value):
    """tl.tuple: a tuple of kernel values."""

    def __init__(self, args, type=None):
        self.values, self.type = list(args), type

    def __getitem__(self, at):
        at = _unwrap_if_constexpr(at)
        return tuple(self.values[at]) if isinstance(at, builtins.slice) else self.values[at]

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __eq__(self, other):
        return self.values == list(other)

    def __hash__(self):
        return hash(builtins.tuple(self.values))

    def __repr__(self):
        return repr(builtins.tuple(self.values))


class slice:
    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()


class range(base_value):
    """tl.range: a loop that only kernels run."""

    def __init__(self, *args, **kw):
        self.args, self.options = args, kw

    def __iter__(self):
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")

    def __next__(self):
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")


class static_range(base_value):
    def __init__(self, *args):
        self.args = args

    def __iter__(self):
        raise RuntimeError("tl.static_range can only be used in @triton.jit'd functions")

    def __next__(self):
        raise RuntimeError("tl.static_range can only be used in @triton.jit'd functions")


class condition(base_value):
    def __init__(self, arg1, **kw):
        self.condition, self.options = arg1, kw


def builtin(fn):
    """Marks a function written against Triton's own compiler, which tilec does not have."""
    setattr(fn, TRITON_BUILTIN, True)
    return fn


def is_builtin(fn):
    return getattr(fn, TRITON_BUILTIN, False)


def must_use_result(fn, s=True):
    """A call whose result is not used is an error, with these words."""
    if isinstance(fn, str):
        return lambda f: must_use_result(f, fn)
    fn.must_use_result = s
    return fn


def extern(fn):
    return builtin(fn)


def _aggregate(cls):
    raise NotImplementedError("class '%s': tilec has no aggregates (_aggregate)" % cls.__name__)


declare(globals(), "triton.language.core", names.CORE)
