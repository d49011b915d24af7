"""Values of a wrong kind, gone through by rule: wrong_kinds.py TILEC [--all].

Every parameter of the calls below is given values of some forty kinds, left out, given twice and
misspelt, and each call gets keywords of numpy and torch; every operator stands between all pairs of
kinds.  Each is a kernel of its own, many to a file.  What is refused is refused by one error, in the
line and within the call or operation, with a way out; nothing ends the compiler.  Of calls it is
counted how often an error is not at the argument, or names neither function nor parameter, or not
what it found: with --all these are shown, and there may be MOST_VAGUE of them."""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

MOST_VAGUE = 0.035  # of the calls
TOGETHER = 120      # kernels of a file

TOP = """import numpy as np
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def helper(a, b):
    return a + b


"""
HEAD = """@triton.jit
def k%d(x: "*fp32", y: "*fp16", ip: "*i32", n: "i32", f: "fp32", B: tl.constexpr = 64):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    m = i < n
    j = tl.load(ip + i)
    a = tl.load(y + i[:, None] * B + i[None, :])
    b = tl.load(y + i[:, None] * B + i[None, :] + 1)
    t = tl.load(x + i[:, None] * B + i[None, :])
    two = tl.load(x + i[:, None] * 2 + tl.arange(0, 2)[None, :])
    bp = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (B, B), (1, 0))
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])
%s
    tl.store(x + i, v)


"""
AT = HEAD.split("%s")[0].count("\n")  # lines before the one in question

# kind: how it is written, and how a message may call it; None: the value itself is the mistake
KINDS = {
    "str": ('"abc"', r"string|text|abc"), "None": ("None", "None"), "tuple": ("(v, v)", "tuple|tile"),
    "list": ("[v, v]", "list|tile"), "dtype": ("tl.float32", "type|float32|fp32"),
    "dtypestr": ('"float32"', "string|text|float32"), "func": ("tl.exp", "function|'exp'"),
    "helper": ("helper", "function|'helper'"), "module": ("tl", "module"),
    "dict": ('{"a": 1}', "dict"), "set": ("{1, 2}", "set"), "lambda": ("lambda q: q", "function"),
    "range": ("range(4)", "range"), "blockptr": ("bp", "pointer"), "desc": ("d", "descriptor"),
    "ptr": ("x", "ptr|pointer"), "ptrtile": ("x + i", "ptr|pointer"), "tile": ("v", "tile"),
    "itile": ("i", "tile"), "mask": ("m", "tile|mask"), "tile2": ("t", "tile"),
    "short": ("tl.arange(0, 32)", "32|tile"), "half": ("a", "tile"), "rint": ("n", "i32"),
    "rfloat": ("f", "fp32"), "int": ("4", "4|int"), "neg": ("-1", "-1|negative"),
    "big": ("7", "7"), "zero": ("0", "0"), "nonpow": ("100", "100"), "float": ("2.5", "2.5|fp32"),
    "bool": ("True", "True|bool"), "ints": ("(4, 4)", "tuple|4|16"), "odd": ("(3, 5)", "3|tuple"),
    "items": ("(B, n)", "i32|tuple"), "ell": ("...", None), "np": ("np.zeros(4)", None),
    "torchdt": ("torch.float32", None), "npdt": ("np.float32", None),
    "undef": ("undefined_name", None), "fstr": ('f"{n}"', None),
    "slice": ("v[0:2]", None), "elem": ("v[0]", None), "gen": ("(q for q in v)", None)}
NUMBERS = "tile itile mask tile2 half short rint rfloat int neg big zero nonpow float bool"
FITS = {  # kinds that a parameter of a sort takes, or that say nothing of it
    "num": NUMBERS, "tile": NUMBERS + " ptrtile", "ptr": "ptr ptrtile",
    "mask": "mask None bool zero int neg big nonpow rint", "value": NUMBERS,
    "axis": "zero bool neg", "axisn": "zero bool None neg", "flag": NUMBERS + " None",
    "const": "int big zero nonpow bool neg None rint itile short", "pow2": "int bool",
    "shape": "ints int bool odd items blockptr", "ints": "ints int bool odd items neg big zero "
    "nonpow rint None", "dtype": "dtype dtypestr None", "word": "None", "func": "func helper lambda",
    "text": "str dtypestr fstr None", "cond": NUMBERS + " ptr ptrtile blockptr desc str list dtype "
    "dtypestr", "many": NUMBERS + " ptr ptrtile",
    "acc": NUMBERS + " None", "other": NUMBERS + " None", "any": " ".join(KINDS)}
FITS["conds"] = FITS["cond"] + " None"
CALLS = """
program_id axis:axis=0
num_programs axis:axis=0
arange start:const=0 end:const=64
zeros shape:shape=(B,) dtype:dtype=tl.float32
full shape:shape=(B,) value:num=0.0 dtype:dtype=tl.float32
zeros_like input:tile=v
cast input:num=v dtype:dtype=tl.float16 fp_downcast_rounding:word="rtz" bitcast:flag=False
v.to dtype:dtype=tl.float16 fp_downcast_rounding:word="rtz" bitcast:flag=False
cdiv x:num=n div:num=4
next_power_of_2 n:const=5
cat input:tile=v other:tile=v can_reorder:flag=True
broadcast_to input:any=t shape:shape=(B,B)
expand_dims input:many=v axis:axis=0
reshape input:tile=v shape:shape=(8,8) can_reorder:flag=False
ravel x:many=t can_reorder:flag=False
trans input:tile=t dims:shape=(1,0)
join a:num=v b:num=v
split a:tile=two
gather src:tile=v index:tile=j axis:axis=0
flip x:tile=v dim:axisn=0
where condition:num=m x:num=v y:num=0.0
dot input:tile=a other:tile=b acc:acc=t input_precision:word="ieee" out_dtype:dtype=tl.float32
load pointer:ptr=x+i mask:mask=m other:other=0.0 cache_modifier:word=".ca" volatile:flag=False
store pointer:ptr=x+i value:value=v mask:mask=m cache_modifier:word=".wb"
make_block_ptr base:ptr=x shape:ints=(n,n) strides:ints=(n,1) offsets:ints=(0,0) block_shape:shape=(B,B) order:ints=(1,0)
make_tensor_descriptor base:ptr=x shape:ints=(n,n) strides:ints=(n,1) block_shape:shape=(B,B)
d.load offsets:ints=(0,0)
d.store offsets:ints=(0,0) value:tile=t
atomic_add pointer:ptr=x+i val:value=v mask:mask=m sem:word="relaxed" scope:word="gpu"
atomic_cas pointer:ptr=ip+i cmp:value=j val:value=j sem:word="relaxed" scope:word="gpu"
exp x:num=v
fma x:num=v y:num=v z:num=v
umulhi x:num=j y:num=j
fdiv x:num=v y:num=v ieee_rounding:flag=False
minimum x:num=v y:num=v propagate_nan:word=tl.PropagateNan.ALL
clamp x:num=v min:num=0.0 max:num=1.0
sigmoid x:num=v
softmax x:tile=t dim:axisn=1 keep_dims:flag=False
sum input:tile=t axis:axisn=1 keep_dims:flag=True dtype:dtype=tl.float32
max input:tile=t axis:axisn=1 return_indices:flag=False keep_dims:flag=True
argmax input:tile=t axis:axis=1 tie_break_left:flag=True keep_dims:flag=False
reduce input:tile=t axis:axisn=1 combine_fn:func=helper keep_dims:flag=False
associative_scan input:tile=t axis:axis=1 combine_fn:func=helper reverse:flag=False
cumsum input:tile=t axis:axis=1 reverse:flag=False dtype:dtype=tl.float32
histogram input:tile=j num_bins:pow2=64 mask:mask=m
multiple_of input:any=i values:const=8
static_assert cond:cond=True msg:text="abc"
device_assert cond:cond=m msg:text="abc" mask:conds=m
range arg1:num=0 arg2:const=n step:const=4
static_range arg1:const=0 arg2:const=8 step:const=4
sort x:tile=v dim:axisn=0 descending:flag=False
topk x:tile=v k:pow2=4 dim:axisn=0
rand seed:num=n offset:num=i n_rounds:const=10
swizzle2d i:num=n j:num=n size_i:num=n size_j:num=n size_g:num=4
libdevice.pow x:num=v y:num=v
libdevice.tanh x:num=v
libdevice.ldexp x:num=v n:num=j
libdevice.popc x:num=j
"""
KEYWORDS = ("dim=0", "axis=0", "keepdims=True", "keepdim=True", "size=4", "shape=(4,)", "out=v",
            "fill_value=0", 'device="cuda"', "mask=m", "other=0.0", "default=0", "unknown=1",
            "inplace=True", "dtype=torch.float32", "where=m")
BINARY = ("+ - * / // % ** @ << >> & | ^ < <= == != and or".split() + ["is", "is not", "in", "not in"])

Trial = collections.namedtuple("Trial", "line begin end words names is_refused")


def calls():
    for text in CALLS.strip().split("\n"):
        name, *params = text.split()
        params = [re.match(r"(\w+):(\w+)=(.+)", p).groups() for p in params]
        call = name if re.match(r"[vd]\.|libdevice", name) else "tl." + name
        is_loop = name in ("range", "static_range")
        before, after = ("    for q in ", "): pass") if is_loop else ("    r = ", ")")
        own = [t if n < 2 else f"{p}={t}" for n, (p, _, t) in enumerate(params)]

        def made(args, at, words, is_refused=True):
            line = before + call + "(" + ", ".join(args) + after
            begin = len(before) + 1
            end = len(line)
            if at is not None:
                begin += len(call) + 1 + sum(len(a) + 2 for a in args[:at])
                end = begin + len(args[at]) - 1
            names = (name.split(".")[-1], params[min(at or 0, len(params) - 1)][0])
            return Trial(line, begin, end, words, names, is_refused)

        yield made(own, None, None, None)
        for n, (p, sort, t) in enumerate(params):
            fits = FITS[sort].split()
            for kind, (value, words) in KINDS.items():
                arg = value if own[n] == t else f"{p}={value}"
                if kind not in fits:
                    yield made(own[:n] + [arg] + own[n + 1:], n, words)
            if own[n] == t:
                yield made(own + [f"{p}={t}"], len(own), None, (p, sort) != ("shape", "shape"))
            else:
                yield made(own[:n] + [f"{p}x={t}"] + own[n + 1:], n, p)
        yield made([t for _, _, t in params[:2]] + ["v"] * 9, None, None,
                   name not in ("broadcast_to", "reshape", "trans"))
        for word in KEYWORDS:
            if word.split("=")[0] not in [p for p, _, _ in params]:
                yield made(own + [word], len(own), None)


def operations():
    whole = [value for value, words in KINDS.values() if words]  # one mistake at a time
    for left in whole:
        for op in BINARY:
            for right in whole:
                line = f"    r = ({left}) {op} ({right})"
                yield Trial(line, 9, len(line), None, None, False)
        for op in ("-", "+", "~", "not "):
            yield Trial(f"    r = {op}({left})", 9, 9 + len(op) + len(left) + 2, None, None, False)


def answers(tilec, folder, number, trials):
    """[(trial, its messages)]"""
    path = os.path.join(folder, "%d.py" % number)
    with open(path, "w", encoding="utf-8") as f:
        f.write(TOP + "".join(HEAD % (n, t.line) for n, t in enumerate(trials)))
    run = subprocess.run([tilec, "check", path, "-Wno-unused", "--error-limit=100000",
                          "--error-format=json"], capture_output=True, text=True, timeout=300)
    length, first = HEAD.count("\n"), TOP.count("\n")
    said = [[] for _ in trials]
    if run.returncode not in (0, 1):
        return [(t, None) for t in trials] if len(trials) == 1 else [
            a for n, t in enumerate(trials) for a in answers(tilec, folder, number * 1000 + n, [t])]
    for line in run.stderr.splitlines():
        d = json.loads(line) if line.startswith("{") else {"severity": ""}
        if d["severity"] in ("error", "warning"):
            d["offset"] = (d["line"] - 1 - first) % length
            said[min((d["line"] - 1 - first) // length, len(trials) - 1)].append(d)
    return list(zip(trials, said))


def judge(trial, said):
    """What is wrong, and what is vague."""
    if said is None:
        return ["ends the compiler"], []
    errors = [d for d in said if d["severity"] == "error"]
    if not errors:
        return (["is not refused"] if trial.is_refused and not said else []), []
    d, bad, vague = errors[0], [], []
    if trial.is_refused is None:
        bad.append("the right one is refused")
    if len(errors) > 1:
        bad.append("%d errors" % len(errors))
    if d["offset"] != AT:
        bad.append("another line")
    elif trial.names and not 5 <= d["column"] <= len(trial.line):
        bad.append("another place")
    if not d.get("help"):
        bad.append("no way out")
    if trial.names and trial.words:
        if not trial.begin <= d["column"] <= trial.end:
            vague.append("not at the argument")
        if not any(n in d["message"] for n in trial.names):
            vague.append("names neither function nor parameter")
        if not re.search(trial.words, d["message"]):
            vague.append("does not say what it found")
    return bad, vague


def main():
    tilec, is_all = os.path.abspath(sys.argv[1]), "--all" in sys.argv
    kinds = list(calls())
    trials = kinds + list(operations())
    parts = [trials[n:n + TOGETHER] for n in range(0, len(trials), TOGETHER)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda p: answers(tilec, folder, *p), enumerate(parts))
        judged = [(t, said, *judge(t, said)) for part in found for t, said in part]
    bad = [x for x in judged if x[2]]
    vague = [x for x in judged if x[3]]
    for trial, said, why, vaguely in (bad + vague if is_all else bad):
        print("%s  %s: %s" % (trial.line.strip(), "; ".join(why + vaguely),
                              said[0]["message"] if said else ""))
    print("%d calls and %d operations: %d answered badly, %d calls vaguely"
          % (len(kinds), len(trials) - len(kinds), len(bad), len(vague)))
    return bool(bad) or len(vague) > MOST_VAGUE * len(kinds)


if __name__ == "__main__":
    sys.exit(main())
