#choices 0000000
import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, IntEnum, unique

import triton
import triton.language as tl


def twice(n):
    return lambda f: lambda *a: f(*a) * n


class Base(ABC):
    __count = 1

    @abstractmethod
    def size(self): ...

    def total(self):
        return self.size() + self.__count


@dataclass
class Tile(Base):
    rows: int = 4
    cols: list = field(default_factory=list)

    def size(self):
        return self.rows * (len(self.cols) + 1)


@unique
class Mode(IntEnum):
    FAST = 1
    SLOW = 2


@twice(2)
def pick(mode, *more):
    with contextlib.suppress(ValueError, KeyError):
        return {Mode.FAST: 8, Mode.SLOW: int("16")}[mode]
    return 0


pairs = list(zip(iter([1, 2, 3]), map(str, range(3))))
try:
    Base()
except TypeError:
    pairs.append((9, "9"))
V = Tile(cols=[1, 2]).total() + pick(Mode.FAST) + len(pairs) + max(Mode)


@triton.jit
def k(x, n, B: tl.constexpr = 16):
    i = tl.arange(0, B)
    tl.store(x + i, V * 1.0, mask=i < n)
