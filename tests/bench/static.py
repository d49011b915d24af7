"""What tilec and Triton make of the same kernels, without a GPU: registers, spills, instructions.

Each kernel is compiled by both for one signature and assembled by the same ptxas; the machine code
is read with nvdisasm.  A line for each case says `figure tilec/Triton` wherever the two differ, the
quotient of the instructions first; the last line is the geometric mean of these.  A case is a line
of JSON:

    {"name": "argmax", "file": "argmax.py", "kernel": "argmax_kernel", "num_warps": 4,
     "signature": {"inp": "*fp32:16", "n": "i32:16", "one": "1"}, "constexprs": {"BLOCK": 128}}

The file is what Triton imports and tilec reads; types are written as in `tilec build -s`, and a
path is relative to the list.  "num_stages" is optional.

    static.py CASES.jsonl [--only REGEX] [--json FILE] [--keep DIR] [--no-triton]
              [--tilec PATH] [--ptxas PATH]
"""
import argparse
import collections
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ["registers", "spill", "code", "loop", "ldg", "ldg_wide", "stg", "stg_wide",
           "lds_sts", "bar", "shfl", "mufu", "mma", "cvt", "branch"]

def parse_options():
    p = argparse.ArgumentParser()
    p.add_argument("cases", help="file with a case a line")
    p.add_argument("--only", default="", help="regular expression over names")
    p.add_argument("--json", help="write the figures to this file")
    p.add_argument("--keep", help="folder that keeps PTX and machine code")
    p.add_argument("--no-triton", action="store_true")
    p.add_argument("--tilec", default=os.path.join(ROOT, "build", "release", "bin", "tilec"))
    p.add_argument("--ptxas", default="/usr/local/cuda/bin/ptxas")
    return p.parse_args()


def tilec_ptx(case, options):
    """PTX; what tilec refuses is an error with its text."""
    command = [options.tilec, "build", case["file"], "-k", case["kernel"],
               "-s", ", ".join(case["signature"].values()),
               "-I", os.path.dirname(case["file"]), "-o", "/dev/stdout"]
    for name, value in case.get("constexprs", {}).items():
        command += ["-D", "%s=%s" % (name, value)]
    if case.get("num_warps"):
        command += ["--num-warps=%d" % case["num_warps"]]
    if case.get("num_stages"):
        command += ["--num-stages=%d" % case["num_stages"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("tilec: " + done.stderr.strip()[:300])
    return done.stdout


def triton_source(case):
    """The function and what triton.compile asks to know of its parameters."""
    import triton
    from triton.compiler import ASTSource
    folder = os.path.dirname(os.path.abspath(case["file"]))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = "case_" + re.sub(r"\W", "_", case["file"])
    spec = importlib.util.spec_from_file_location(name, case["file"])
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fn = getattr(module, case["kernel"])
    while not isinstance(fn, triton.runtime.JITFunction):
        fn = fn.fn
    signature, constants, attrs = {}, {}, {}
    for index, param in enumerate(fn.params):
        word = case["signature"].get(param.name)
        if word is None or word in ("1", "None"):
            value = case.get("constexprs", {}).get(param.name, param.default)
            constants[(index,)] = value if word is None else {"1": 1, "None": None}[word]
            signature[param.name] = "constexpr"
            continue
        kind, _, divisible = word.partition(":")
        signature[param.name] = re.sub(r"^i1$", "u1", kind)
        if divisible:
            attrs[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(fn, signature, constants, attrs)


def triton_ptx(case, options):
    import triton
    from triton.backends.compiler import GPUTarget
    flags = {n: case[n] for n in ("num_warps", "num_stages") if case.get(n)}
    made = triton.compile(triton_source(case), target=GPUTarget("cuda", 90, 32), options=flags)
    return made.asm["ptx"]


def find_nvdisasm(ptxas):
    """Beside ptxas, on the PATH, or in Triton's own wheel."""
    beside = os.path.join(os.path.dirname(ptxas), "nvdisasm")
    if os.path.exists(beside):
        return beside
    spec = importlib.util.find_spec("triton")
    wheel = spec and os.path.join(os.path.dirname(spec.origin), "backends/nvidia/bin/nvdisasm")
    return shutil.which("nvdisasm") or wheel or "nvdisasm"


def assemble(ptx, path, ptxas):
    """Figures of ptxas and the machine code's lines."""
    with open(path + ".ptx", "w", encoding="utf-8") as f:
        f.write(ptx)
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", path + ".ptx", "-o", path + ".cubin"],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("ptxas: " + done.stderr.strip()[-300:])
    figures = {"registers": r"Used (\d+) registers", "spill": r"(\d+) bytes spill stores"}
    figures = {n: max(map(int, re.findall(p, done.stderr))) for n, p in figures.items()}
    text = subprocess.run([find_nvdisasm(ptxas), "-c", path + ".cubin"], capture_output=True, text=True,
                          check=True).stdout
    with open(path + ".sass", "w", encoding="utf-8") as f:
        f.write(text)
    return figures, text


def instructions(text):
    """[(opcode, target label or None)], {label: index}."""
    ops, labels = [], {}
    for line in text.splitlines():
        label = re.match(r"(\.L_\S+):", line)
        if label:
            labels[label.group(1)] = len(ops)
            continue
        found = re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ +)?([A-Z][\w.]*)(.*)", line)
        if found:
            target = re.search(r"`\((\.L_\S+?)\)", found.group(2))
            ops.append((found.group(1), target.group(1) if target else None))
    return ops, labels


def loop_size(ops, labels):
    """Instructions inside some loop: between a branch and an earlier label.  The last branch of a
    kernel, to itself, is none."""
    inside = set()
    for i, (op, target) in enumerate(ops):
        if op.startswith("BRA") and target in labels and labels[target] < i:
            inside.update(range(labels[target], i + 1))
    return len(inside)


def width(op):
    for bits, bytes_ in ((".128", 16), (".64", 8), (".U16", 2), (".S16", 2), (".U8", 1),
                         (".S8", 1)):
        if bits in op:
            return bytes_
    return 4


def count(text):
    ops, labels = instructions(text)
    kinds = collections.Counter(op.split(".")[0] for op, _ in ops)
    wide = collections.Counter(op.split(".")[0] for op, _ in ops if width(op) == 16)
    code = sum(n for k, n in kinds.items() if k != "NOP")
    return {
        "code": code, "loop": loop_size(ops, labels), "ldg": kinds["LDG"] + kinds["LDGSTS"],
        "ldg_wide": wide["LDG"] + wide["LDGSTS"], "stg": kinds["STG"], "stg_wide": wide["STG"],
        "lds_sts": sum(kinds[k] for k in ("LDS", "STS", "LDSM", "STSM")), "bar": kinds["BAR"],
        "shfl": kinds["SHFL"], "mufu": kinds["MUFU"],
        "mma": sum(n for k, n in kinds.items() if re.fullmatch(r"[HIDQ]G?MMA", k)),
        "cvt": sum(n for k, n in kinds.items() if re.fullmatch(r"F2\w+|I2\w+", k)),
        "branch": kinds["BRA"] + kinds["CALL"] + kinds["BSSY"]}


def figures_of(case, make, who, options, folder):
    path = os.path.join(folder, re.sub(r"\W", "_", case["name"]) + "." + who)
    figures, text = assemble(make(case, options), path, options.ptxas)
    return {**figures, **count(text)}


def describe(row, makers):
    """One line: the figures that differ, or what went wrong."""
    for who in makers:
        if who not in row:
            return "%-48s %s" % (row["name"][:48], row[who + "_error"].replace("\n", " ")[:200])
    mine, theirs = row["tilec"], row.get("triton")
    if theirs is None:
        return "%-48s      %s" % (row["name"][:48],
                                  " ".join("%s %s" % (c, mine[c]) for c in COLUMNS if mine[c]))
    return "%-48s %.2f %s" % (row["name"][:48], mine["code"] / theirs["code"],
                              " ".join("%s %s/%s" % (c, mine[c], theirs[c]) for c in COLUMNS
                                       if mine[c] != theirs[c]))


def read_cases(options):
    base = os.path.dirname(os.path.abspath(options.cases))
    with open(options.cases, encoding="utf-8") as f:
        cases = [json.loads(line) for line in f if line.strip()]
    for case in cases:
        case["file"] = os.path.join(base, case["file"])
    return [c for c in cases if re.search(options.only, c["name"])]


def main():
    options = parse_options()
    folder = options.keep or tempfile.mkdtemp(prefix="static_")
    os.makedirs(folder, exist_ok=True)
    makers = {"tilec": tilec_ptx} | ({} if options.no_triton else {"triton": triton_ptx})
    rows, quotients = [], []
    for case in read_cases(options):
        row = {"name": case["name"]}
        for who, make in makers.items():
            try:
                row[who] = figures_of(case, make, who, options, folder)
            except Exception as e:      # one case that a compiler refuses is not the end of the list
                row[who + "_error"] = "%s: %s" % (who, e)
        print(describe(row, makers), flush=True)
        rows.append(row)
        if "tilec" in row and "triton" in row:
            quotients.append(math.log(row["tilec"]["code"] / row["triton"]["code"]))
    if quotients:
        print("%d kernels, instructions %.3f of Triton's"
              % (len(quotients), math.exp(sum(quotients) / len(quotients))))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    return 1 if any("tilec_error" in r for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
