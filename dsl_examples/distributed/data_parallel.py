"""Data-parallel training under torchrun, with tilec's kernels in an autograd function.

    torchrun --nproc-per-node 4 data_parallel.py                   # CPUs: the CPU executor, gloo
    torchrun --nproc-per-node 2 data_parallel.py --device cuda     # GPUs: NCCL

Each rank has a part of the batch; torch's DistributedDataParallel averages the gradients while the
backward pass goes on.  The weights afterwards are compared with those of one process that has the
whole batch: exit status 1 where they differ.  All ranks share tilec's disk cache: what one has
compiled the others read."""

import argparse
import datetime
import os
import pathlib
import sys

import torch
import torch.distributed

import tilec

matmul = tilec.load(pathlib.Path(__file__).parent.parent / "matmul.tile").matmul


def product(a, b):
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    matmul(a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *c.stride(),
           BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, PRECISION="ieee", num_warps=4)
    return c


class Product(torch.autograd.Function):
    """a @ b, forward and backward by ../matmul.tile; strides say what is transposed."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return product(a, b)

    @staticmethod
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        return product(dc, b.t()), product(a.t(), dc)


class Model(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        rng = torch.Generator().manual_seed(1)
        self.first = torch.nn.Parameter(torch.randn(width, hidden, generator=rng) / width ** 0.5)
        self.second = torch.nn.Parameter(torch.randn(hidden, 1, generator=rng) / hidden ** 0.5)

    def forward(self, x):
        return Product.apply(torch.relu(Product.apply(x, self.first)), self.second)


def train(model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options.add_argument("--steps", type=int, default=10)
    options.add_argument("--batch", type=int, default=96, help="of all ranks together")
    o = options.parse_args()
    device = torch.device("cpu")
    if o.device == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if o.device == "cuda" else "gloo",
                                         timeout=datetime.timedelta(seconds=60))
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    if o.batch % ranks:
        sys.exit(f"a batch of {o.batch} cannot be cut for {ranks} ranks")

    rng = torch.Generator().manual_seed(2)
    x = torch.randn(o.batch, 64, generator=rng).to(device)
    y = torch.sin(x.sum(1, keepdim=True))
    alone = Model(64, 128).to(device)
    together = torch.nn.parallel.DistributedDataParallel(
        Model(64, 128).to(device), device_ids=[device] if o.device == "cuda" else None)
    part = slice(rank * o.batch // ranks, (rank + 1) * o.batch // ranks)
    train(together, x[part], y[part], o.steps)
    loss = train(alone, x, y, o.steps)

    worst = torch.zeros(1, device=device)
    for ours, want in zip(together.module.parameters(), alone.parameters()):
        worst = torch.maximum(worst, (ours - want).norm() / want.norm())
    torch.distributed.all_reduce(worst, torch.distributed.ReduceOp.MAX)
    right = worst.item() <= 1e-5   # fp32, gradients added in another order
    if rank == 0:
        print(f"data parallel: {ranks} ranks on {o.device}, loss {loss:.4f}, weights against one "
              f"process: rel L2 {worst.item():.1e}  {'ok' if right else 'FAILED'}")
    torch.distributed.destroy_process_group()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
