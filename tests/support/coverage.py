"""Sums what gcov counted: coverage.py ROOT BUILD REASONS [--part].  Lines and branches of compiler/ and
runtime/ by folder, generated code and assertions' branches left out; then the functions that nothing
ran.  REASONS has a line for each of these, FILE: FUNCTION: why.  Fails if a function is missing there,
if one is there that runs or is gone (but for what "needs" something that a machine may have), or if
fewer of the lines or branches run than LEAST says.  With --part only some of the tests ran: functions
missing in REASONS are then counted, not named, and no failure, and LEAST_OF_PART is the bound."""

import collections
import concurrent.futures
import functools
import gzip
import json
import os
import subprocess
import sys
import tempfile

LEAST = {"lines": 92, "branches": 80}  # per cent
LEAST_OF_PART = {"lines": 90, "branches": 77}


def counted(build):
    for folder, _, files in os.walk(build):
        for name in files:
            if name.endswith(".gcda"):
                yield os.path.join(folder, name)


def read(path):
    """gcov's JSON of one object file."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--object-file", path,
                        path], cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False)
        for name in os.listdir(out):
            with gzip.open(os.path.join(out, name)) as f:
                yield json.load(f)


class Counts:
    def __init__(self, root):
        self.root = root
        self.lines = collections.defaultdict(int)      # (file, line): times
        self.branches = collections.defaultdict(int)   # (file, line, number): times
        self.functions = collections.defaultdict(int)  # (file, name): times
        self.texts = {}                                # file: its lines

    def is_assertion(self, name, line):
        if name not in self.texts:
            with open(os.path.join(self.root, name), encoding="utf-8") as f:
                self.texts[name] = f.read().split("\n")
        text = self.texts[name]
        return line <= len(text) and text[line - 1].strip().startswith("assert(")

    def add_file(self, folder, file):
        name = os.path.relpath(os.path.realpath(os.path.join(folder, file["file"])), self.root)
        if not name.startswith(("compiler/", "runtime/")):
            return
        for line in file["lines"]:
            number = line["line_number"]
            self.lines[name, number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                if not self.is_assertion(name, number):
                    self.branches[name, number, i] += branch["count"]
        for f in file["functions"]:
            self.functions[name, f["name"]] += f["execution_count"]

    def add(self, other):
        for own, more in ((self.lines, other.lines), (self.branches, other.branches),
                          (self.functions, other.functions)):
            for key, times in more.items():
                own[key] += times


def counts_of(root, paths):
    counts = Counts(root)
    for path in paths:
        for report in read(path):
            for file in report["files"]:
                counts.add_file(report["current_working_directory"], file)
    return counts


def all_counts(root, build):
    """By as many processes as there are cores: a minute of work on one."""
    paths, cores = sorted(counted(build)), os.cpu_count()
    counts = Counts(root)
    with concurrent.futures.ProcessPoolExecutor(cores) as pool:
        for part in pool.map(functools.partial(counts_of, root), [paths[k::cores] for k in range(cores)]):
            counts.add(part)
    return counts


def by_folder(counts):
    """[run, all] of each folder and of "all"."""
    sums = collections.defaultdict(lambda: [0, 0])
    for key, times in counts.items():
        for folder in (os.path.dirname(key[0]), "all"):
            sums[folder][0] += times > 0
            sums[folder][1] += 1
    return sums


def print_table(lines, branches):
    for folder in sorted(lines, key=lambda f: (f == "all", f)):
        hit, total = lines[folder]
        taken, ways = branches[folder]
        print(f"{folder:28} {hit:7} of {total:7} lines  {100 * hit / total:5.1f} %   "
              f"{taken:7} of {ways:7} branches  {100 * taken / max(ways, 1):5.1f} %")


def read_reasons(path):
    reasons = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                file, function, why = line.rstrip("\n").split(": ", 2)
                reasons[file, function] = why
    return reasons


def print_stale(keys, reasons):
    """Entries that need no reason; whether there are any."""
    stale = sorted(key for key in keys if not reasons[key].startswith("needs "))
    for file, function in stale:
        print(f"run or gone, but listed: {file}: {function}")
    return bool(stale)


def compare(never, reasons):
    """Prints them; whether each has its reason."""
    print(f"{len(never)} functions were never run:")
    for key in never:
        print(f"   {key[0]}: {key[1]}: {reasons.get(key, 'NO REASON GIVEN')}")
    missing = [key for key in never if key not in reasons]
    return not print_stale(set(reasons) - set(never), reasons) and not missing


def compare_part(functions, never, reasons):
    """By some of the tests, which need not load all of the code: whether all that is listed is not run."""
    listed = sum(key in reasons for key in never)
    print(f"{len(never)} functions were not run by these tests, {listed} of the {len(reasons)} "
          "that have a reason among them")
    return not print_stale([key for key in reasons if functions.get(key)], reasons)


def main():
    root, build = map(os.path.realpath, sys.argv[1:3])
    counts = all_counts(root, build)
    run = {"lines": by_folder(counts.lines), "branches": by_folder(counts.branches)}
    print_table(run["lines"], run["branches"])
    never = sorted(key for key, times in counts.functions.items() if not times)
    print(f"{len(counts.functions)} functions")
    reasons = read_reasons(sys.argv[3])
    part = "--part" in sys.argv[4:]
    ok = compare_part(counts.functions, never, reasons) if part else compare(never, reasons)
    for what, least in (LEAST_OF_PART if part else LEAST).items():
        hit, total = run[what]["all"]
        if 100 * hit < least * total:
            print(f"fewer than {least} % of the {what} run")
            ok = False
    return 0 if ok else 1


sys.exit(main())
