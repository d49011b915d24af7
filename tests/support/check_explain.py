#!/usr/bin/env python3
"""check_explain.py TILEC SOURCE_DIR [FAMILY...]: every diagnostic of the tables (or those whose code
begins with a FAMILY, as in E03) has a page base/explain/CODE.md, and its examples do what it says.
A page is a paragraph and then fenced blocks:
   python, text   the wrong example, saved under the name its commands use: example.tile, .py, .tir
   console        commands, each after "$ ", and what they print.  They print exactly this, and
                  report CODE: an error or a warning alone, a remark or a note beside others
   python, text   the right example: the same commands end with 0 and do not report CODE
   console        if there is one: other commands for the right example
Without commands it names the unit test that provokes the code.
TILEC_BLESS=1 writes into the pages what their commands print."""
import difflib
import os
import re
import subprocess
import sys
import tempfile

SUPPORT = os.path.dirname(os.path.abspath(__file__))
BLESS = os.environ.get("TILEC_BLESS")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    if not os.path.exists(path) or read(path) != text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def codes(output):
    """The codes in it; the fault of a run is text where diagnostics are JSON."""
    return set(re.findall(r'"code":"([A-Z][0-9]*)"', output) +
               re.findall(r"(?:error|warning)\[([EW][0-9]*)\]", output))


class Checks:
    def __init__(self, tilec, source, work):
        self.tilec = tilec
        self.source = source
        self.work = work
        self.pages = os.path.join(source, "compiler", "base", "explain")
        self.failed = self.count = self.plays = 0
        for flavour, words in (("text", ""), ("json", " --error-format=json")):
            os.mkdir(os.path.join(work, flavour))
            stand_in = os.path.join(work, flavour, "tilec")
            write(stand_in, f'#!/bin/sh\nexec "{tilec}" "$@"{words}\n')
            os.chmod(stand_in, 0o755)

    def fail(self, where, text, output=""):
        self.failed += 1
        print(f"{where}: {text}")
        print("".join(f"   {line}\n" for line in output.splitlines()), end="")

    def explain(self, *words):
        return subprocess.run([self.tilec, "explain", *words], capture_output=True, text=True, check=False)

    def play(self, console, flavour, example):
        """Commands and what they print; and how the last one ends."""
        self.plays += 1
        folder = os.path.join(self.work, f"play{self.plays}")
        os.mkdir(folder)
        if example is not None:
            write(os.path.join(folder, re.search(r"example\.[a-z]*", console)[0]), example)
        path = os.pathsep.join([os.path.join(self.work, flavour), os.path.join(SUPPORT, "fakeptxas"),
                                os.environ["PATH"]])
        environment = dict(os.environ, PATH=path, XDG_CACHE_HOME=os.path.join(self.work, "cache"))
        said, status = "", 0
        for line in console.splitlines(keepends=True):
            if line.startswith("$ "):
                done = subprocess.run(["sh", "-c", line[2:]], cwd=folder, env=environment, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                out = done.stdout.decode("utf-8", "backslashreplace")
                # times are the machine's
                said += line + re.sub(r", [0-9.]+ (ms|us|s); changed", ", 0.1 ms; changed", out)
                status = done.returncode
        return said, status

    def has_code(self, code, output, explained):
        """A note of a run has no code, but its text."""
        if code in codes(output):
            return True
        text = explained.split("\n")[0].split(": ", 1)[1]
        pattern = ".*".join(re.escape(part) for part in text.split("..."))
        return code[0] == "N" and re.search(f"^[^{{\n]*: note: {pattern}$", output, re.M) is not None

    def check_wrong(self, code, block, example, explained):
        console = block[2]
        said, _ = self.play(console, "text", example)
        if BLESS:
            page = os.path.join(self.pages, code + ".md")
            text = read(page)
            write(page, text[:block.start(2)] + said + text[block.end(2):])
        elif said != console:
            self.fail(code, "its commands print something else", "".join(difflib.unified_diff(
                console.splitlines(True), said.splitlines(True), "the page", "the commands")))
        output, _ = self.play(console, "json", example)
        if not self.has_code(code, output, explained):
            self.fail(code, "is not reported", output)
        if code[0] in "EW" and {c for c in codes(output) if c[0] in "EW"} - {code}:
            self.fail(code, "others are reported with it:", output)

    def check_right(self, code, console, example):
        output, status = self.play(console, "json", example)
        if status:
            self.fail(code, "the right example fails", output)
        if any(c == code or c[0] in "EW" and code[0] in "EW" for c in codes(output)):
            self.fail(code, "the right example is reported too", output)

    def check_test(self, code, text):
        """What no command can provoke, a unit test does: "Provoked by `tests/unit/...`."."""
        test = re.search(r"^Provoked by `(tests/unit/.*\.c)`\.$", text, re.M)
        if not test:
            self.fail(code, "the page has no command and names no test")
            return
        path = os.path.join(self.source, test[1])
        if not os.path.exists(path) or code not in read(path):
            self.fail(code, f"is not expected in {test[1]}")
        self.count += 1

    def check_page(self, code, explained):
        page = os.path.join(self.pages, code + ".md")
        if not os.path.exists(page):
            self.fail(code, f"has no page {page}")
            return
        text = read(page)
        lines = text.split("\n")
        if lines[0] != f"# {code}":
            self.fail(code, "the page's title is not its code")
        if not re.match(r"[A-Z`'\"]", lines[2]):
            self.fail(code, "the page begins with no sentence")
        wrong = right = commands = None
        blocks = list(BLOCK.finditer(text))
        consoles = [block for block in blocks if block[1] == "console"]
        if not consoles:
            self.check_test(code, text)
            return
        for block in blocks:
            if block[1] == "console":
                commands = block
            elif commands is None:
                wrong = block[2]
            else:
                right = block[2]
        self.check_wrong(code, consoles[0], wrong, explained)
        if right is None and len(consoles) == 1:
            self.fail(code, "the page has no right example")
            return
        self.check_right(code, commands[2], right)
        self.count += 1

    def check_list(self, listed, rows):
        """Pages have rows, and docs/diagnostics.md ends with the list of all codes."""
        for name in os.listdir(self.pages):
            if name.endswith(".md") and name[:-3] not in rows:
                self.fail(name[:-3], "has a page and no row")
        path = os.path.join(self.source, "docs", "diagnostics.md")
        text = read(path)
        first = re.search(r"^- \[", text, re.M)
        wanted = text[:first.start()] if first else text
        wanted += re.sub(r"^([A-Z][0-9]*): (.*)$", r"- [\1](../compiler/base/explain/\1.md) `\2`",
                         listed, flags=re.M)
        if BLESS:
            write(path, wanted)
        elif wanted != text:
            self.fail("docs/diagnostics.md",
                      "does not list the codes as they are; TILEC_BLESS=1 rewrites it")

    def check(self, families):
        listed = self.explain()
        if listed.returncode or not listed.stdout:
            self.fail("explain", "does not list the codes")
        rows = [line.split(":")[0] for line in listed.stdout.splitlines()]
        for code in rows:
            if code.startswith(families):
                explained = self.explain(code)
                if explained.returncode:
                    self.fail(code, "explain fails")
                if re.search("%[a-z]", explained.stdout.split("\n")[0]):
                    self.fail(code, "a placeholder is shown")
                self.check_page(code, explained.stdout)
        self.check_list(listed.stdout, rows)
        if self.explain("E9999").returncode == 0:
            self.fail("E9999", "an unknown code is explained")
        unknown = self.explain("e0312")
        if "did you mean 'E0312'" not in unknown.stdout + unknown.stderr:
            self.fail("e0312", "has no suggestion")
        if not self.count:
            self.fail(" ".join(families), "no code belongs to it")
        print(f"{self.count} pages checked")


def main():
    with tempfile.TemporaryDirectory() as work:
        checks = Checks(sys.argv[1], sys.argv[2], work)
        checks.check(tuple(sys.argv[3:]) or tuple("EWRN"))
    sys.exit(checks.failed != 0)


main()
