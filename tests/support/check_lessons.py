#!/usr/bin/env python3
"""check_lessons.py TILEC SOURCE_DIR: the checks of docs/lessons do what the pages say.

Of each lesson NN-name: its file and its solution differ only between EXERCISE and END; the commands
of its page print what the page shows when the solution is in place of the file, and with the file as
it is one of them ends with exit code 1 and says where.  Files in expected/ are what
lesson_references.py computes.  TILEC_BLESS=1 writes what commands print into the pages, and
expected/, and draws the pictures."""
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import lesson_references  # noqa: E402

# Mistakes that a lesson has more than one of: each alone is found by a command of its page.
MISTAKES = {
    "04-softmax": [('other=float("-inf")', "other=0.0"), ("v - max(v, axis=0)", "v")],
    "08-debugging": [("c < columns", "c <= columns"), ("debug_barrier()", "pass"),
                     ("columns + c, inside, other=0.0)", "columns + c, inside)")],
    "10-attention": [("acc * old[:, None]", "acc"), ("total * old", "total")],
}

failed = 0


def fail(where, text):
    global failed
    failed += 1
    print(f"FAIL {where}: {text}")


def commands_of(lines):
    """(command, its lines) of a console block."""
    found, taken = [], []
    for line in lines:
        if line.startswith("$ ") or (taken and taken[-1].endswith("\\")):
            taken.append(line)
            if not line.endswith("\\"):
                text = " ".join(part.rstrip("\\").strip() for part in taken)
                found.append((text[2:], taken))
                taken = []
    return found


def run(tilec, folder, command):
    words = shlex.split(command)
    return subprocess.run([tilec, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120)


def check_page(tilec, page, folder, name):
    """Runs the commands of the page on the solution; returns them."""
    text = open(page).read()
    block = re.search(r"^## Check\n\n```console\n(.*?)^```$", text, re.M | re.S)
    if not block:
        fail(name, "the page has no '## Check' with commands")
        return []
    commands = commands_of(block[1].splitlines())
    printed = []
    for command, lines in commands:
        out = run(tilec, folder, command)
        if out.returncode:
            fail(name, f"the solution fails: {command}\n{out.stdout}{out.stderr}")
        printed += lines + out.stdout.splitlines()
    made = "\n".join(printed) + "\n"
    if made != block[1] and os.environ.get("TILEC_BLESS") == "1":
        with open(page, "w") as f:
            f.write(text[:block.start(1)] + made + text[block.end(1):])
    elif made != block[1]:
        fail(name, f"the page shows\n{block[1]}\nand the solution prints\n{made}")
    return [command for command, _ in commands]


def check_exercise(tilec, folder, name, commands):
    """One of the commands fails, and says where."""
    outs = [run(tilec, folder, command) for command in commands]
    codes = [out.returncode for out in outs]
    if not set(codes) <= {0, 1} or 1 not in codes:
        fail(name, f"the exercise as it is ends with {codes}")
    for out in outs:
        if out.returncode and not re.search(r"is not as in|error\[E\d+\]", out.stderr):
            fail(name, "no message:\n" + out.stderr)


def check_mistakes(tilec, folder, name, commands):
    solution = open(f"{folder}/solutions/{name}.tile").read()
    for right, wrong in MISTAKES.get(name, []):
        if solution.count(right) != 1:
            fail(name, f"the solution has no '{right}'")
        with open(f"{folder}/{name}.tile", "w") as f:
            f.write(solution.replace(right, wrong))
        check_exercise(tilec, folder, f"{name} with '{wrong}'", commands)


def check_pictures(tilec, root, page):
    """Each picture is named with the command that draws it."""
    for args, picture in re.findall(r"<!-- drawn by: tilec view (.*?) -o (\S+) -->", open(page).read()):
        path = os.path.join(root, picture)
        if os.environ.get("TILEC_BLESS") == "1":
            run(tilec, root, f"tilec view {args} -o {path}")
        out = run(tilec, root, f"tilec view {args}")
        if not os.path.exists(path) or out.returncode or open(path).read() != out.stdout:
            fail(os.path.basename(page), f"{picture} is not what its command draws\n{out.stderr}")


def outside_gap(path):
    text, gaps = re.subn(r"# EXERCISE.*?# END\n", "# GAP\n", open(path).read(), flags=re.S)
    if gaps != 1:
        fail(path, f"it has {gaps} gaps")
    return text


def same_numbers(path, other):
    """Equal but for the last place, which a C library's exp may decide."""
    a, b = open(path, "rb").read(), open(other, "rb").read()
    data = 10 + a[8] + 256 * a[9]
    if len(a) != len(b) or a[:data] != b[:data]:
        return False
    if b"<i4" in a[:data]:
        return a == b
    x, y = (struct.unpack(f"<{(len(a) - data) // 4}f", v[data:]) for v in (a, b))
    return all(abs(p - q) <= 2e-7 * max(1, abs(q)) for p, q in zip(x, y))


def check_references(lessons, work):
    made = os.path.join(work, "expected")
    os.mkdir(made)
    for name, reference in lesson_references.REFERENCES.items():
        lesson_references.write(os.path.join(made, name + ".npy"), *reference())
    if os.environ.get("TILEC_BLESS") == "1":
        shutil.copytree(made, f"{lessons}/expected", dirs_exist_ok=True)
    if sorted(os.listdir(made)) != sorted(os.listdir(f"{lessons}/expected")):
        fail("expected", "its files are not those of lesson_references.py")
        return
    for file in os.listdir(made):
        if not same_numbers(f"{made}/{file}", f"{lessons}/expected/{file}"):
            fail(f"expected/{file}", "it is not what lesson_references.py computes")


def main():
    tilec, lessons = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]) + "/docs/lessons"
    names = sorted(f[:-5] for f in os.listdir(lessons) if f.endswith(".tile"))
    with tempfile.TemporaryDirectory() as work:
        check_references(lessons, work)
        folder = os.path.join(work, "lessons")
        shutil.copytree(lessons, folder)
        for name in names:
            file = f"{folder}/{name}.tile"
            if outside_gap(file) != outside_gap(f"{folder}/solutions/{name}.tile"):
                fail(name, "file and solution differ outside of the gap")
            shutil.copy(f"{folder}/solutions/{name}.tile", file)
            commands = check_page(tilec, f"{lessons}/{name}.md", folder, name)
            check_pictures(tilec, os.path.dirname(os.path.dirname(lessons)), f"{lessons}/{name}.md")
            shutil.copy(f"{lessons}/{name}.tile", file)
            check_exercise(tilec, folder, name, commands)
            check_mistakes(tilec, folder, name, commands)
    print(f"{len(names)} lessons, {failed} failures")
    return failed != 0 or not names


sys.exit(main())
