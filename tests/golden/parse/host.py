"""A module as people write them: kernels among host code."""
from __future__ import annotations
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice as ld
from ..utils import (helper, other as _other,)

DEVICE = triton.runtime.driver.active.get_active_torch_device()
BLOCK = tl.constexpr(64)

try:
    import fancy
except ImportError:
    fancy = None


def configs(pre_hook=None):
    return [
        triton.Config({'BM': bm, 'BN': bn}, num_stages=s, num_warps=w, pre_hook=pre_hook)
        for bm in [64, 128]
        for bn in (32, 64) if bn <= bm
        for s, w in ((3, 4), (4, 8))
    ]


@triton.autotune(configs=[c for c in configs() if c.num_warps > 2], key=['n'],
                 reset_to_zero=['out'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BM'] == 0,
                    'W': lambda a: 4 if a['n'] < 1 << 10 else 8})
@library.entry(name="sum")
@triton.jit(do_not_specialize=["n"])
def sum_kernel(inp, out, n, BM: tl.constexpr, EVEN: tl.constexpr, W: "tl.constexpr" = 4):
    pid = tl.program_id(0)
    offs = pid * BM + tl.arange(0, BM)
    if EVEN:
        x = tl.load(inp + offs)
    else:
        x = tl.load(inp + offs, mask=offs < n, other=0)
    tl.atomic_add(out, tl.sum(x, axis=0), sem="relaxed")


def launch(x: torch.Tensor, *args, **kwargs) -> torch.Tensor:
    out = torch.zeros((), device=x.device)
    grid = lambda META: (triton.cdiv(x.numel(), META['BM']),)
    sum_kernel[grid](x, out, x.numel(), **kwargs)
    with torch.no_grad(), torch.cuda.stream(None) as s:
        pass
    return out


def make(dtype):
    match dtype:
        case torch.float16:
            @triton.jit
            def inner(x, y):
                tl.store(y, tl.load(x))
        case _:
            raise ValueError
    return inner


async def serve():
    async with a as b:
        await b


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        yield x
        return launch(x)


if __name__ == "__main__":
    print(launch(torch.ones(4)))
