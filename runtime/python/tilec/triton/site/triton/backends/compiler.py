from dataclasses import dataclass
from enum import Enum
from typing import Union


@dataclass(frozen=True)
class GPUTarget:
    backend: str
    arch: Union[int, str]
    warp_size: int


class Language(Enum):
    TRITON = 0
    GLUON = 1


class BaseBackend:
    """Only a name: code generators cannot be added to tilec from Python."""

    def __init__(self, target):
        raise NotImplementedError("tilec's backends are built in")
