"""Kernels of Triton's own tutorials beside dsl_examples: their text is read from a folder given
with --tutorials, as python/tutorials of a Triton checkout, and goes unchanged through both compilers.

Of a tutorial its jitted functions are taken, with the imports that they use; what decorates them
besides `triton.jit` chooses configurations, which the benchmark does itself, and the rest of the
file runs things on import.  A kernel whose parameters are not those named here (the tutorials
change with Triton's versions) is left out.
"""
import ast
import importlib.util
import math
import os
import tempfile

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor      # tilec takes these as well

LOG2_E = 1.4426950408889634
_folder = tempfile.mkdtemp(prefix="tutorials_")


def kernels(folder, number):
    """(path, module) of the jitted functions of the tutorial with that number; None without one."""
    found = [f for f in sorted(os.listdir(folder)) if f.startswith(number) and f.endswith(".py")]
    if not found:
        return None
    with open(os.path.join(folder, found[0]), encoding="utf-8") as f:
        text = f.read()
    parts = ["import triton\nimport triton.language as tl\n"]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "triton.jit"
                                                     for d in node.decorator_list):
            parts.append("@triton.jit\n" + ast.get_source_segment(text, node) + "\n")
    path = os.path.join(_folder, "tutorial_%s.py" % number)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n\n".join(parts))
    spec = importlib.util.spec_from_file_location("tutorial_" + number, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def matmul(b, tile):
    shapes = ((128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4))
    for s in (1024, 4096, 8192) if not b.options.quick else (4096,):
        x, y = (torch.randn(s, s, device="cuda", dtype=torch.float16) for _ in range(2))
        o = torch.empty_like(x)
        configs = [((triton.cdiv(s, bm) * triton.cdiv(s, bn),),
                    {"BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn, "BLOCK_SIZE_K": bk, "GROUP_SIZE_M": 8,
                     "ACTIVATION": "", "num_warps": w, "num_stages": stages})
                   for bm, bn, bk, w, stages in shapes]
        b.case("tutorial 03 matmul fp16 %d" % s, tile, (x, y, o, s, s, s, s, 1, s, 1, s, 1),
               configs, o, x @ y, 6e-4, {"cublas": lambda: torch.matmul(x, y, out=o)},
               2 * s ** 3 / 1e9, "TFLOP/s")


def attention_inputs(z, h, n, d):
    return [torch.randn(z, h, n, d, device="cuda", dtype=torch.float16) * 0.5 for _ in range(4)]


def forward(b, tile, sdpa):
    shapes = ((128, 64, 4, 2), (128, 128, 8, 2), (128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3), (128, 32, 4, 3))
    for d, z, h, n in ((64, 4, 32, 4096), (128, 4, 16, 4096)):
        q, k, v, _ = attention_inputs(z, h, n, d)
        o, lse, scale = torch.empty_like(q), torch.empty(z, h, n, device="cuda"), 1 / math.sqrt(d)
        for causal in (False, True):
            configs = [((triton.cdiv(n, bm), z * h, 1),
                        {"HEAD_DIM": d, "BLOCK_M": bm, "BLOCK_N": bn, "STAGE": 3 if causal else 1,
                         "num_warps": w, "num_stages": s}) for bm, bn, w, s in shapes]
            args = (q, k, v, scale, lse, o, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
                    z, h, n)
            b.case("tutorial 06 forward D%d N%d%s" % (d, n, " causal" * causal), tile, args,
                   configs, o, sdpa(q, k, v, causal, scale, "FLASH_ATTENTION")(), 1e-3,
                   {"cudnn": sdpa(q, k, v, causal, scale, "CUDNN_ATTENTION")},
                   4 * z * h * n * n * d * (0.5 if causal else 1) / 1e9, "TFLOP/s")


def forward_by_descriptors(b, tile, sdpa):
    """The text since 2025, whose tensors are descriptors made by the host."""
    shapes = ((64, 32, 4, 2), (64, 64, 4, 2), (64, 64, 4, 3), (128, 32, 4, 3), (128, 64, 4, 2), (128, 64, 4, 3),
              (64, 128, 4, 2), (128, 128, 8, 2), (128, 128, 8, 3))
    for d, z, h, n in ((64, 4, 32, 4096), (128, 4, 16, 4096)):
        q, k, v, _ = attention_inputs(z, h, n, d)
        o, sums, scale = torch.empty_like(q), torch.empty(z, h, n, device="cuda"), 1 / math.sqrt(d)
        for causal in (False, True):
            configs = [((triton.cdiv(n, bm), z * h, 1),
                        {"HEAD_DIM": d, "BLOCK_M": bm, "BLOCK_N": bn, "FP8_OUTPUT": False,
                         "STAGE": 3 if causal else 1, "warp_specialize": False, "IS_HOPPER": True,
                         "num_warps": w, "num_stages": s}) for bm, bn, w, s in shapes if bn <= d]

            def args(meta):
                rows = {"q": meta["BLOCK_M"], "k": meta["BLOCK_N"], "v": meta["BLOCK_N"],
                        "o": meta["BLOCK_M"]}
                described = [TensorDescriptor(t, [z * h * n, d], [d, 1], [rows[name], d])
                             for name, t in (("q", q), ("k", k), ("v", v), ("o", o))]
                return (scale, sums, z, h, *described, n)

            b.case("tutorial 06 descriptors forward D%d N%d%s" % (d, n, " causal" * causal),
                   Described(tile, args), (), configs, o, sdpa(q, k, v, causal, scale, "FLASH_ATTENTION")(),
                   1e-3, {"cudnn": sdpa(q, k, v, causal, scale, "CUDNN_ATTENTION")},
                   4 * z * h * n * n * d * (0.5 if causal else 1) / 1e9, "TFLOP/s")


class Described:
    """A kernel whose arguments depend on the configuration: the blocks of descriptors do."""

    def __init__(self, tile, args):
        self.tile, self.args = tile, args

    def with_tilec(self, grid, _, meta):
        return self.tile.with_tilec(grid, self.args(meta), meta)

    def with_triton(self, grid, _, meta):
        return self.tile.with_triton(grid, self.args(meta), meta)


def base_2_sums(q, k, scale):
    """log2 of the sum of 2^(log2(e) * score) over what a row of causal attention sees."""
    n, out = q.shape[2], torch.empty(q.shape[:3], device="cuda")
    above = torch.ones(n, n, device="cuda", dtype=torch.bool).triu(1)
    for z in range(q.shape[0]):
        for h in range(q.shape[1]):
            score = (q[z, h].float() @ k[z, h].float().T).mul_(scale).masked_fill_(above, -math.inf)
            out[z, h] = torch.logsumexp(score, 1) * LOG2_E
    return out


def backward(b, tile, sdpa):
    """Causal, as the tutorial's is.  dQ, dK and dV lie in one tensor, so as to be compared at once."""
    for d, z, h, n in ((64, 1, 16, 8192), (64, 1, 16, 16384), (128, 4, 16, 4096)):
        q, k, v, do = attention_inputs(z, h, n, d)
        grads, scale = torch.empty(3, *q.shape, device="cuda", dtype=torch.float16), 1 / math.sqrt(d)
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        out = sdpa(*leaves, True, scale, "FLASH_ATTENTION")()
        exact = torch.stack(torch.autograd.grad(out, leaves, do, retain_graph=True))
        delta = (out.detach().float() * do.float()).sum(-1)
        args = (q, k * (scale * LOG2_E), v, scale, do, grads[0], grads[1], grads[2],
                base_2_sums(q, k, scale), delta, *q.stride(), h, n)
        configs = [((n // 128, 1, z * h),
                    {"BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32,
                     "BLK_SLICE_FACTOR": 2, "HEAD_DIM": d, "num_warps": w, "num_stages": s,
                     **({"CAUSAL": True} if "CAUSAL" in tile.constexprs else {})})   # since 2025
                   for w, s in ((4, 5), (4, 3), (8, 3), (8, 2))]
        cudnn = sdpa(*leaves, True, scale, "CUDNN_ATTENTION")()
        b.case("tutorial 06 backward D%d N%d causal" % (d, n), tile, args, configs, grads, exact,
               4e-3, {"cudnn": lambda: torch.autograd.grad(cudnn, leaves, do, retain_graph=True),
                      "flash2": lambda: torch.autograd.grad(out, leaves, do, retain_graph=True)},
               10 * z * h * n * n * d * 0.5 / 1e9, "TFLOP/s")


def grouped(b, tile, by_descriptors):
    """Four products of s x s; B lies transposed for the form that makes tensor descriptors."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda",
                                                                      dtype=torch.int8))
    shapes = ((128, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3),
              (128, 256, 64, 8, 4), (128, 128, 32, 4, 3), (64, 128, 64, 4, 3))
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    for s in (1024, 4096) if not b.options.quick else (1024,):
        x, y = (torch.randn(4, s, s, device="cuda", dtype=torch.float16) for _ in range(2))
        o = torch.empty_like(x)
        right = y.transpose(1, 2).contiguous() if by_descriptors else y
        pointers = [torch.tensor([t[i].data_ptr() for i in range(4)], device="cuda")
                    for t in (x, right, o)]
        sizes, pitches = (torch.full((12,), s, device="cuda", dtype=torch.int32) for _ in range(2))
        configs = [((sms,), {"NUM_SM": sms, "BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn,
                             "BLOCK_SIZE_K": bk, "num_warps": w, "num_stages": stages,
                             **({"FP8": False} if by_descriptors else {})})
                   for bm, bn, bk, w, stages in shapes]
        b.case("tutorial 08%s fp16 4x%d" % (" descriptors" * by_descriptors, s), tile,
               (*pointers, sizes, pitches, 4), configs, o, x @ y, 6e-4,
               {"cublas": lambda: torch.bmm(x, y, out=o)}, 8 * s ** 3 / 1e9, "TFLOP/s")


def run(b, make_tile, sdpa):
    """make_tile(path, name, function of Triton) gives what b.case takes."""
    cases = {("03", "matmul_kernel", 12): matmul,
             ("06", "_attn_fwd", 25): lambda b, tile: forward(b, tile, sdpa),
             ("06", "_attn_fwd", 9): lambda b, tile: forward_by_descriptors(b, tile, sdpa),
             ("06", "_attn_bwd", 16): lambda b, tile: backward(b, tile, sdpa),
             ("08", "grouped_matmul_kernel", 6): lambda b, tile: grouped(b, tile, False),
             ("08", "grouped_matmul_tma_kernel", 6): lambda b, tile: grouped(b, tile, True)}
    for (number, name, num_arguments), case in cases.items():
        found = kernels(b.options.tutorials, number)
        function = getattr(found[1], name, None) if found else None
        tile = make_tile(found[0], name, function) if function else None
        if not tile or len(tile.names) - len(tile.constexprs) != num_arguments:
            print("tutorial %s: no %s of %d arguments" % (number, name, num_arguments))
            continue
        if b.wants("tutorials"):
            case(b, tile)
