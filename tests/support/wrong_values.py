"""Every option of every command with values of a wrong kind: wrong_values.py TILEC.

The options come from `tilec help COMMAND`, so that a new one is in.  Whatever is said to a value: the
command ends, and neither by a signal nor as a bug (70); what it refuses it refuses in words that hold
the value or the option, and it says nothing of addresses or (null)."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

KERNEL = """@kernel(grid=(cdiv(n, BLOCK),))
def twice(x: *fp32, n: i32, BLOCK: constexpr = 64):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    store(x + i, 2 * load(x + i, i < n), i < n)
"""
ARRAYS = ["--arg", "x=zeros:fp32[64]", "--arg", "n=64"]
HOST = ["--on=cpu", "--database=none", *ARRAYS]
COMMANDS = {"build": ["k.tile", "-o", "out.ptx"], "run": ["k.tile", *ARRAYS],
            "bench": ["k.tile", "--rep=1", "--warmup=1", *HOST], "tune": ["k.tile", *HOST],
            "check": ["k.tile"], "view": ["k.tile", "-o", "out.html"], "list": ["k.tile"],
            "doc": ["load"], "doctor": [], "cache": ["stats"], "explain": ["E0200"]}
VALUES = ["", "-1", "abc", "99999999999999999999", "=", "a=b", "x=", "/none/x", ".", "1,,2", "\udcff"]
FEW = ["-1", "abc"]                            # for the commands after the first that takes it
ENDS = (0, 1, 2, 3, 4)


def options(tilec, command):
    """(name, does it take a value)"""
    text = subprocess.run([tilec, "help", command], capture_output=True, text=True).stdout
    found = re.findall(r"^ +(?:-\w, )?-?-?--([\w-]+)(\[?=\S+)?", text, re.MULTILINE)
    return [(name, bool(value)) for name, value in found if name not in ("help", "version")]


def trials(tilec):
    seen = set()
    for command, rest in COMMANDS.items():
        for name, takes in options(tilec, command):
            values = ["3"] if not takes else FEW if name in seen else VALUES
            seen.add(name)
            for value in values:
                yield command, rest, name, value
            if takes:
                yield command, rest, name, None


def wrong(tilec, folder, trial):
    command, rest, name, value = trial
    word = "--%s" % name if value is None else "--%s=%s" % (name, value)
    run = subprocess.run([tilec, command, *rest, word], cwd=folder, capture_output=True,
                         stdin=subprocess.DEVNULL, timeout=120,
                         env={**os.environ, "XDG_CACHE_HOME": folder})
    said = run.stderr.decode("utf-8", "surrogateescape")
    why = []
    if run.returncode not in ENDS:
        why.append("ends with %d" % run.returncode)
    if run.returncode in ENDS[1:] and not said:
        why.append("says nothing")
    names = [name, name[0]] + ([value] if value else [])
    if run.returncode == 2 and not any(n in said for n in names):
        why.append("names neither option nor value")
    if "(null)" in said or "0x7f" in said:
        why.append("shows how it is done")
    return "%s %s: %s\n%s" % (command, ascii(word), "; ".join(why), said) if why else None


def main():
    tilec = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        with open(os.path.join(folder, "k.tile"), "w") as f:
            f.write(KERNEL)
        tried = list(trials(tilec))
        bad = [b for b in pool.map(lambda t: wrong(tilec, folder, t), tried) if b]
    print("\n".join(bad))
    print("%d values, %d of them answered badly" % (len(tried), len(bad)))
    return bool(bad) or len(tried) < 500


if __name__ == "__main__":
    sys.exit(main())
