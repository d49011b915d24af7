"""Sums what gcov counted: coverage.py ROOT BUILD.  Lines of compiler/ and runtime/, generated code
left out, by folder; then the functions that nothing ran."""

import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile


def counted(build):
    for folder, _, files in os.walk(build):
        for name in files:
            if name.endswith(".gcda"):
                yield os.path.join(folder, name)


def read(path):
    """gcov's JSON of one object file."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["gcov", "--json-format", "--object-file", path, path], cwd=out,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for name in os.listdir(out):
            with gzip.open(os.path.join(out, name)) as f:
                yield json.load(f)


def main():
    root, build = map(os.path.realpath, sys.argv[1:3])
    lines = collections.defaultdict(int)      # (file, line): times
    functions = collections.defaultdict(int)  # (file, name): times
    for path in counted(build):
        for report in read(path):
            for file in report["files"]:
                name = os.path.realpath(os.path.join(report["current_working_directory"],
                                                     file["file"]))
                name = os.path.relpath(name, root)
                if not name.startswith(("compiler/", "runtime/")):
                    continue
                for line in file["lines"]:
                    lines[name, line["line_number"]] += line["count"]
                for f in file["functions"]:
                    functions[name, f["name"]] += f["execution_count"]
    folders = collections.defaultdict(lambda: [0, 0])
    for (name, _), times in lines.items():
        for folder in (os.path.dirname(name), "all"):
            folders[folder][0] += times > 0
            folders[folder][1] += 1
    for folder in sorted(folders, key=lambda f: (f == "all", f)):
        hit, total = folders[folder]
        print(f"{folder:28} {hit:7} of {total:7} lines  {100 * hit / total:5.1f} %")
    never = sorted(key for key, times in functions.items() if not times)
    print(f"{len(never)} of {len(functions)} functions were never run:")
    for name, function in never:
        print(f"   {name}: {function}")


main()
