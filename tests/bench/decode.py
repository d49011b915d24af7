"""dsl_examples/transformer beside torch: the same weights, prompt and greedy tokens, on one GPU.

The program is run with --time; what it prints gives prompt, tokens and its times.  torch runs the
same decoder as a user would write it for speed: weights of queries, keys and values joined, so those
of gate and up, SDPA over a cache of fixed size, the choice of the token on the GPU.  Three ways:
eager; the step captured in a CUDA graph and replayed; and (--compile) the step through torch.compile
first.  Each figure is the least of three runs of --steps tokens after the prompt, the host waiting at
the end alone.

    decode.py PROGRAM WEIGHTS [PROGRAM_AOT] [--prompt N] [--steps N] [--compile] [--json FILE]
"""
import argparse
import json
import re
import struct
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

TYPES = {"F16": torch.float16, "BF16": torch.bfloat16}


def parse_options():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("weights")
    p.add_argument("ahead_of_time", nargs="?")
    p.add_argument("--prompt", type=int, default=128)
    p.add_argument("--steps", type=int, default=256)
    p.add_argument("--source", help="folder of the .tile files")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--json")
    p.add_argument("--device", default="cuda", help="cpu: to try this script without a GPU")
    return p.parse_args()


def read_safetensors(path, device):
    with open(path, "rb") as f:
        (length,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(length))
        data = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
    settings = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = data[begin:end].view(TYPES[entry["dtype"]])
        tensors[name] = flat.view(entry["shape"]).to(device)
    return settings, tensors


class Layer:
    def __init__(self, tensors, number):
        def weight(*names):
            all_of = [tensors["model.layers.%d.%s.weight" % (number, name)] for name in names]
            return all_of[0] if len(all_of) == 1 else torch.cat(all_of)
        self.attention_norm = weight("input_layernorm")
        self.qkv = weight("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self.o = weight("self_attn.o_proj")
        self.mlp_norm = weight("post_attention_layernorm")
        self.gate_up = weight("mlp.gate_proj", "mlp.up_proj")
        self.down = weight("mlp.down_proj")


class Decoder:
    """x is kept in the weights' type, as models in torch have it."""

    def __init__(self, path, capacity, device):
        settings, tensors = read_safetensors(path, device)
        self.heads = int(settings["num_attention_heads"])
        self.kv_heads = int(settings["num_key_value_heads"])
        self.eps = float(settings["rms_norm_eps"])
        self.embedding = tensors["model.embed_tokens.weight"]
        self.norm = tensors["model.norm.weight"]
        self.head = tensors.get("lm_head.weight", self.embedding)
        count = sum(name.endswith("input_layernorm.weight") for name in tensors)
        self.layers = [Layer(tensors, i) for i in range(count)]
        self.d = self.layers[0].o.shape[1] // self.heads
        kind = {"device": device, "dtype": self.head.dtype}
        self.cache = [torch.zeros(2, 1, self.kv_heads, capacity, self.d, **kind)
                      for _ in self.layers]
        half = torch.arange(0, self.d, 2, dtype=torch.float64) / self.d
        angle = torch.outer(torch.arange(capacity).double(), float(settings["rope_theta"]) ** -half)
        self.cos, self.sin = (torch.cat([f(angle)] * 2, 1).float().to(device)
                              for f in (torch.cos, torch.sin))
        self.numbers = torch.arange(capacity, device=device)

    def turn(self, x, cos, sin):
        """x is [1, heads, tokens, d]."""
        a, b = x.float().chunk(2, dim=-1)
        turned = torch.cat((-b, a), dim=-1)
        return (x.float() * cos + turned * sin).to(x.dtype)

    def attention(self, layer, cache, x, positions, mask, keys):
        n, width = x.shape[0], self.heads * self.d
        qkv = F.linear(x, layer.qkv).view(1, n, -1, self.d).transpose(1, 2)
        q, k, v = qkv.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        cos, sin = self.cos[positions], self.sin[positions]
        q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
        cache[0].index_copy_(2, positions, k)
        cache[1].index_copy_(2, positions, v)
        k, v = cache[0][:, :, :keys], cache[1][:, :, :keys]
        if n == 1:  # heads that share keys are rows of one product: no copies of the keys
            q = q.view(1, self.kv_heads, -1, self.d)
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return F.linear(o.reshape(1, width), layer.o)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return F.linear(o.transpose(1, 2).reshape(n, width), layer.o)

    def forward(self, tokens, positions, mask, keys):
        """The logits after the last token."""
        x = F.embedding(tokens, self.embedding)
        for layer, cache in zip(self.layers, self.cache):
            normal = F.rms_norm(x, x.shape[-1:], layer.attention_norm, self.eps)
            x = x + self.attention(layer, cache, normal, positions, mask, keys)
            normal = F.rms_norm(x, x.shape[-1:], layer.mlp_norm, self.eps)
            gate, up = F.linear(normal, layer.gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, layer.down)
        last = F.rms_norm(x[-1:], x.shape[-1:], self.norm, self.eps)
        return F.linear(last, self.head).float()


class Steps:
    """Greedy decoding; what a step reads and changes stays on the GPU."""

    def __init__(self, model, capacity, device):
        self.model, self.device = model, device
        self.token = torch.zeros(1, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.made = torch.zeros(capacity, dtype=torch.long, device=device)
        self.host_position = 0

    def prefill(self, prompt):
        n = len(prompt)
        tokens = torch.tensor(prompt, device=self.device)
        positions = self.model.numbers[:n]
        mask = positions[:, None] >= positions[None, :]
        self.choose(self.model.forward(tokens, positions, mask, n), positions[-1:])
        self.host_position = n

    def choose(self, logits, position):
        self.token.copy_(logits.argmax(dim=-1))
        self.position.copy_(position + 1)
        self.made.index_copy_(0, self.position, self.token)

    def eager(self):
        """The host knows the position: only keys that are there are looked at, without a mask."""
        self.host_position += 1
        logits = self.model.forward(self.token, self.position, None, self.host_position)
        self.choose(logits, self.position)

    def fixed(self):
        """The same work for every position, so that it can be captured."""
        mask = (self.model.numbers <= self.position)[None, :]
        keys = self.model.numbers.shape[0]
        self.choose(self.model.forward(self.token, self.position, mask, keys), self.position)


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def captured(steps, step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(steps, step, prompt, count):
    """Seconds a token, and the tokens."""
    best = float("inf")
    for _ in range(3):
        steps.prefill(prompt)
        synchronize(steps.device)
        start = time.perf_counter()
        for _ in range(count):
            step()
        synchronize(steps.device)
        best = min(best, (time.perf_counter() - start) / count)
    n = len(prompt)
    return best, steps.made[n:n + count + 1].tolist()


def run_program(program, options):
    command = [program, "--weights", options.weights, "--prompt", str(options.prompt),
               "--time", str(options.steps)]
    command += ["--source", options.source] if options.source else []
    command += ["--on", options.device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s%s" % (" ".join(command), done.stdout, done.stderr))
    lists = dict(re.findall(r"^(prompt|tokens): ([\d ]+)$", done.stdout, re.M))
    times = re.findall(r"decode (.+): [\d.]+ tokens/s, ([\d.]+) us", done.stdout)
    rows = [(how, float(us) * 1e-6) for how, us in times]
    print(done.stdout.splitlines()[0])
    return rows, *([int(t) for t in lists[key].split()] for key in ("prompt", "tokens"))


def torch_ways(steps, options):
    yield "torch, eager", steps.eager
    if options.device == "cuda":
        yield "torch, one CUDA graph", captured(steps, steps.fixed)
    if options.compile:
        compiled = torch.compile(steps.fixed, mode="max-autotune-no-cudagraphs", dynamic=False)
        graph = captured(steps, compiled) if options.device == "cuda" else compiled
        yield "torch.compile, one CUDA graph", graph


def main():
    options = parse_options()
    rows = []
    times, prompt, tokens = run_program(options.program, options)
    rows += [("tilec, " + how, seconds, tokens) for how, seconds in times]
    if options.ahead_of_time:
        times, other_prompt, made = run_program(options.ahead_of_time, options)
        assert prompt == other_prompt
        rows += [("tilec ahead of time, " + how, seconds, made) for how, seconds in times]
    capacity = -(-(options.prompt + options.steps + 1) // 64) * 64
    with torch.inference_mode():
        steps = Steps(Decoder(options.weights, capacity, options.device), capacity, options.device)
        steps.prefill(prompt)
        for name, step in torch_ways(steps, options):
            rows.append((name, *measure(steps, step, prompt, options.steps)))
    print("%-42s %10s %10s   %s" % ("", "us a token", "tokens/s", "tokens like tilec's, from the first"))
    for name, seconds, made in rows:
        equal = next((i for i, (a, b) in enumerate(zip(made, tokens)) if a != b), len(tokens))
        print("%-42s %10.1f %10.1f   %d of %d"
              % (name, seconds * 1e6, 1 / seconds, equal, len(tokens)), flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump([{"name": n, "us": s * 1e6, "tokens": t} for n, s, t in rows], f)


if __name__ == "__main__":
    main()
