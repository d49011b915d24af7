#!/usr/bin/env python3
"""lsp_session.py TILEC: sessions with `tilec lsp` as editors have them, each check a sentence of the protocol."""
import os
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lsp_client import Client, Failure  # noqa: E402

TILEC = sys.argv[1]
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "dsl_examples")
SOURCE = '''"""A file."""
from helpers import twice, SCALE


@jit
def clip(value, LIMIT: constexpr):
    """No more than LIMIT."""
    return minimum(value, LIMIT)


@kernel(num_warps=4, grid=(cdiv(n, BLOCK),))
def scale(x, y, n: i32, BLOCK: constexpr = 128):
    offs = program_id(0) * BLOCK + arange(0, BLOCK)
    mask = offs < n
    value = load(x + offs, mask)
    store(y + offs, clip(twice(value), LIMIT=4.0) * SCALE, mask)
'''
HELPERS = '''SCALE: constexpr = 3.0


@jit
def twice(v):
    """v + v"""
    return v + v
'''
checks = 0


def check(what, found, wanted):
    global checks
    checks += 1
    if found != wanted:
        raise Failure(f"{what}: found {found!r}, wanted {wanted!r}")


def place(text, needle, skip=0, offset=0):
    """Line and character of the needle's (skip+1)th occurrence."""
    at = -1
    for _ in range(skip + 1):
        at = text.index(needle, at + 1)
    at += offset
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)


def spans(ranges):
    return sorted((r["start"]["line"], r["start"]["character"], r["end"]["character"]) for r in ranges)


def applied(text, edits):
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
        begin, end = edit["range"]["start"], edit["range"]["end"]
        line = lines[begin["line"]]
        lines[begin["line"]] = line[:begin["character"]] + edit["newText"] + line[end["character"]:]
    return "\n".join(lines)


def session(folder):
    c = Client(TILEC)
    result = c.start()
    check("encoding", result["capabilities"]["positionEncoding"], "utf-16")
    with open(os.path.join(folder, "helpers.tile"), "w") as f:
        f.write(HELPERS)
    uri = "file://" + folder + "/main.tile"
    check("no diagnostics", c.open(uri, SOURCE), [])
    hover = c.at("hover", uri, *place(SOURCE, "offs ="))["result"]
    check("hover of a tile", hover["contents"]["value"].splitlines()[1], "offs: tile<i32, 128>")
    check("its facts", "contiguous 128" in hover["contents"]["value"], True)
    hover = c.at("hover", uri, *place(SOURCE, "load(x"))["result"]
    check("hover of a builtin", hover["contents"]["value"].splitlines()[1].startswith("load(pointer, mask=None"), True)
    hover = c.at("hover", uri, *place(SOURCE, "twice(value"))["result"]
    check("hover across files", hover["contents"]["value"].splitlines()[1:], ["def twice(v)", "```", "v + v"])
    hover = c.at("hover", uri, *place(SOURCE, "x, y"))["result"]
    check("hover of a parameter without a type", hover["contents"]["value"].splitlines()[1],
          "(parameter) x: ptr<fp32>")
    hover = c.at("hover", uri, *place(SOURCE, "i32"))["result"]
    check("hover of a type", hover["contents"]["value"].splitlines()[1:], ["(type) i32", "```", "signed integer, 32 bits; tl.int32"])
    check("hover of nothing", c.at("hover", uri, 2, 0)["result"], None)
    definition = c.at("definition", uri, *place(SOURCE, "twice(value"))["result"]
    check("definition in another file", (os.path.basename(definition["uri"]), definition["range"]["start"]),
          ("helpers.tile", {"line": 4, "character": 4}))
    definition = c.at("definition", uri, *place(SOURCE, "SCALE,"))["result"]
    check("definition of a constant of another file", (os.path.basename(definition["uri"]), definition["range"]["start"]),
          ("helpers.tile", {"line": 0, "character": 0}))
    definition = c.at("definition", uri, *place(SOURCE, "mask)", offset=2))["result"]
    check("definition of a variable", spans([definition["range"]]), [(13, 4, 8)])
    references = c.at("references", uri, *place(SOURCE, "BLOCK:"), context={"includeDeclaration": True})["result"]
    check("references", len(references), 4)
    marks = c.at("documentHighlight", uri, *place(SOURCE, "mask"))["result"]
    check("highlights", len(marks), 3)
    rename = c.at("rename", uri, *place(SOURCE, "LIMIT"), newName="BOUND")["result"]
    renamed = applied(SOURCE, rename["changes"][uri])
    check("rename, also of the argument", renamed, SOURCE.replace("LIMIT", "BOUND").replace("than BOUND", "than LIMIT"))
    rename = c.at("rename", uri, *place(SOURCE, "BLOCK"), newName="SIZE")["result"]
    check("rename, also in grid=", applied(SOURCE, rename["changes"][uri]), SOURCE.replace("BLOCK", "SIZE"))
    rename = c.at("rename", uri, *place(SOURCE, "SCALE"), newName="FACTOR")["result"]
    check("rename of an import", "import twice, SCALE as FACTOR\n" in applied(SOURCE, rename["changes"][uri]), True)
    refusal = c.at("rename", uri, *place(SOURCE, "mask"), newName="offs")["error"]["message"]
    check("a name that is taken", "taken" in refusal, True)
    refusal = c.at("rename", uri, *place(SOURCE, "mask"), newName="load")["error"]["message"]
    check("a builtin's name that is used there", "taken" in refusal, True)
    check("one that is not", "result" in c.at("rename", uri, *place(SOURCE, "mask"), newName="exp2"), True)
    check("a keyword", "no name" in c.at("rename", uri, *place(SOURCE, "mask"), newName="class")["error"]["message"], True)
    check("no name", "error" in c.at("rename", uri, *place(SOURCE, "mask"), newName="a b"), True)
    hints = c.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": {
        "start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}})["result"]
    labels = [h["label"] for h in hints]
    check("hints", [": ptr<fp32>" in labels, ": tile<i32, 128>" in labels, ": tile<i1, 128>" in labels], [True] * 3)
    tokens = c.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["result"]["data"]
    check("tokens", (len(tokens) % 5, len(tokens) > 100, min(tokens) >= 0), (0, True, True))
    symbols = c.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})["result"]
    check("outline", [s["name"] for s in symbols], ["clip", "scale"])
    return c, uri


def writing(folder):
    """What is offered and said while a call, a member, a decorator are being written."""
    c = Client(TILEC)
    c.start()
    uri = "file://" + folder + "/written.tile"
    head = SOURCE.replace("from helpers import", "import helpers\nfrom helpers import")
    c.open(uri, head)
    version = 1

    def after(text):
        nonlocal version
        version += 1
        c.change(uri, version, {"text": head + text})
        lines = (head + text).split("\n")
        return len(lines) - 1, len(lines[-1])

    def offered(text):
        found = c.at("completion", uri, *after(text))["result"]
        return [i["label"] for i in found]

    def said(text):
        found = c.at("signatureHelp", uri, *after(text))["result"]
        return found["signatures"][0]["label"].split("(")[0], found["signatures"][0]["parameters"][found["activeParameter"]]

    check("members of a file", offered("    helpers."), ["twice", "SCALE"])
    check("arguments of a function of the file", offered("    clip(value, LI")[0], "LIMIT=")
    check("decorators", offered("\n@ker"), ["kernel"])
    check("one builtin of a name that Python has too", offered("    summ = su").count("sum"), 1)
    check("sum is the kernel's", said("    sum(value, "), ("sum", {"label": "axis=None"}))
    line, end = after("    more = load(x + offs, mask, other=0.0)\n    store(y, more)\n")
    hover = c.at("hover", uri, line - 2, 34)["result"]
    check("hover of an argument's name", hover["contents"]["value"].splitlines()[1], "(argument of load) other=None")
    check("a method's first argument", said("    value.to("), ("to", {"label": "dtype"}))


def editing(c, uri):
    """Types a mistake, looks at it, mends it."""
    line, character = place(SOURCE, "program_id")
    c.change(uri, 2, {"range": {"start": {"line": line, "character": character},
                                "end": {"line": line, "character": character + 10}}, "text": "progam_id"})
    wrong = SOURCE.replace("program_id", "progam_id")
    found = c.published(uri)
    check("a mistake", [(d["code"], d["severity"], d["range"]["start"]) for d in found],
          [("E0200", 1, {"line": line, "character": character})])
    actions = c.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": found[0]["range"],
                                                "context": {"diagnostics": found}})["result"]
    check("a way out", [a["title"] for a in actions], ["Change to 'program_id'"])
    check("it mends", applied(wrong, actions[0]["edit"]["changes"][uri]), SOURCE)
    c.change(uri, 3, {"text": SOURCE + "    unread = value\n"})
    found = c.published(uri)
    check("a warning", [(d["code"], d["severity"], d["tags"]) for d in found], [("W0208", 2, [1])])
    actions = c.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": found[0]["range"],
                                                "context": {"diagnostics": found}})["result"]
    check("to silence it", actions[0]["edit"]["changes"][uri][0]["newText"], "  # tilec: ignore[unused]")
    text = SOURCE + "    z = load(x + offs, ma"
    c.change(uri, 4, {"text": text})
    c.published(uri)
    last = place(text, "load(x + offs, ma", offset=17)
    names = [i["label"] for i in c.at("completion", uri, *last)["result"]]
    check("completion of names and arguments", ["mask" in names, "mask=" in names, "max" in names], [True] * 3)
    help_ = c.at("signatureHelp", uri, *last)["result"]
    check("signature", (help_["signatures"][0]["label"][:13], help_["activeParameter"]), ("load(pointer,", 1))
    text = SOURCE + "    z = tl.ar"
    c.change(uri, 5, {"text": text})
    c.published(uri)
    names = [i["label"] for i in c.at("completion", uri, *place(text, "tl.ar", offset=5))["result"]]
    check("completion of members", names, ["arange", "argmax", "argmin"])
    text = SOURCE + "    z = clip(value, "
    c.change(uri, 6, {"text": text})
    c.published(uri)
    help_ = c.at("signatureHelp", uri, *place(text, "clip(value, ", offset=12))["result"]
    check("signature of the file's own", (help_["signatures"][0]["label"], help_["activeParameter"]),
          ("clip(value, LIMIT: constexpr)", 1))
    c.change(uri, 7, {"text": SOURCE.replace("value =", "größe𝛼 =").replace("twice(value)", "twice(größe𝛼)")})
    check("letters beyond ASCII", c.published(uri), [])
    marks = c.at("documentHighlight", uri, 14, 6)["result"]
    check("in UTF-16 units", spans([m["range"] for m in marks]), [(14, 4, 11), (15, 31, 38)])


def members(folder):
    """After a dot, in Python: builtins under another name of their module, functions of a file, not of a local name."""
    c = Client(TILEC)
    c.start()
    with open(os.path.join(folder, "tools.py"), "wb") as f:
        f.write(b"import triton\n\n@triton.jit\ndef gr\xc3\xb6sse(v, w):\n    return v\n\n\n"
                b"@triton.jit\ndef shade(v, w=(1, 2), *, t='a,b'):\n    'shade: \xc3\xa9'\n    return v\n")
    text = ("import triton, tools, math\nimport triton.language as T\nHALF = math.\n\n\n@triton.jit\ndef k(x, triton):\n"
            "    T.ar\n    tools.s\n    triton.\n    T.math.exp2\n    tools.shade(1, \n")
    uri = "file://" + folder + "/uses.py"
    c.open(uri, text)
    for begin, wanted in (("T.ar", ["arange", "argmax", "argmin"]), ("tools.s", ["shade"]), ("T.math.exp2", ["exp2"]), ("HALF = math.", ["sqrt", "exp", "log"])):
        line, character = place(text, begin, offset=len(begin))
        items = c.at("completion", uri, line, character)["result"]
        check("members " + begin, [i["label"] for i in items][:len(wanted)], wanted)
    for begin in ("T.", "value."):
        wrong = text + "    " + begin
        c.change(uri, 2, {"text": wrong})
        names = [i["label"] for i in c.at("completion", uri, *place(wrong, "    " + begin, offset=4 + len(begin)))["result"]]
        check("nothing of Python's own after " + begin, [n for n in names if n.startswith("_")], [])
    c.change(uri, 3, {"text": text})
    names = [i["label"] for i in c.at("completion", uri, *place(text, "triton.\n", offset=7))["result"]]
    check("of a local name", ["dtype" in names, "float32" in names, "next_power_of_2" in names], [True, False, False])
    help_ = c.at("signatureHelp", uri, *place(text, "shade(1, ", offset=9))["result"]
    check("of a file's function", help_ and help_["signatures"][0]["label"], "shade(v, w=(1, 2), *, t='a,b')")
    check("its parameters", [p["label"] for p in help_["signatures"][0]["parameters"]], ["v", "w=(1, 2)", "*", "t='a,b'"])
    hover = c.at("hover", uri, *place(text, "shade", offset=1))["result"]
    check("its text", hover["contents"]["value"].splitlines()[-1], "shade: é")
    with open(os.path.join(folder, "latin.py"), "wb") as f:
        f.write(b"SIZE = 3  # \xe9\n")
    found = c.open("file://" + folder + "/imports.py", "from latin import SIZE\n" + text.split("\n\n")[0] +
                   "\n\n@triton.jit\ndef k(x):\n    T.store(x, SIZE)\n")
    turned = "@kernel\ndef k(x: *fp32):\n    y = load(x + arange(0, 64)[:, None])\n    store(x, sum(y.T))\n"
    c.open("file://" + folder + "/turned.tile", turned)
    hover = c.at("hover", "file://" + folder + "/turned.tile", *place(turned, "y.T", offset=2))["result"]
    check("hover of an attribute", hover["contents"]["value"].splitlines()[1:], ["T", "```", hover["contents"]["value"].splitlines()[-1]])
    check("says what it is", "exchanged" in hover["contents"]["value"], True)
    quiet = Client(TILEC, ["-Wno-unused", "--arch=sm_80"])
    quiet.start()
    unread = "@kernel\ndef k(x: *fp32):\n    y = load(x)\n    store(x, 1.0)\n"
    check("warnings as asked for", quiet.open("file://" + folder + "/unread.tile", unread), [])
    check("stops", quiet.stop(), 0)
    check("by default", [d["code"] for d in c.open("file://" + folder + "/unread.tile", unread)], ["W0208"])
    check("what is not UTF-8 in another file", [d["code"] for d in found], ["E0101"])
    check("stops", c.stop(), 0)


def rudeness(folder):
    """What no client should say: each is answered or passed over, and the server goes on."""
    c = Client(TILEC)
    check("too early", c.ask("textDocument/hover", {})["error"]["code"], -32002)
    c.start(general={"positionEncodings": ["utf-8"]})
    check("unknown", c.ask("tilec/nothing", {})["error"]["code"], -32601)
    for body in (b"{", b"[]", b'"text"', b'{"id": 7}', b"\xff\xfe", b'{"jsonrpc":"2.0","id":1,"method":5}'):
        c.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        check(f"{body!r} is refused", "error" in c.receive(), True)
    kept = "file://" + folder + "/kept.tile"
    c.open(kept, SOURCE)
    body = b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}'
    for head in (b"Content-Length: never", b"Content-Type: x", b"Content-Length: 99999999999999999999", b"Content-Length: -3",
                 b"Content-Length: 100000000000", b"Content-Length: 44x", b"Content-Length: ", b"Content-Length: 0"):
        for rest in (b"", body, body * 100, b"\r\n" + body, b"Content-Length: 4 or so"):
            c.write(head + b"\r\n\r\n" + rest)
            check(f"{head!r} is refused", c.receive()["error"]["code"], -32700)
            answer = c.at("documentHighlight", kept, *place(SOURCE, "mask"))
            check(f"{head!r}, then {rest[:40]!r}: what was open still is", len(answer["result"]), 3)
    check("no such document", c.at("hover", "file:///nowhere.tile", 0, 0)["result"], None)
    for params in (None, [], 5, {"textDocument": 5}, {"textDocument": {"uri": 5}}, {"textDocument": {"uri": "x:y"}}):
        for method in ("hover", "completion", "rename", "references", "inlayHint", "codeAction", "definition"):
            c.ask("textDocument/" + method, params)
        for method in ("didChange", "didClose", "didOpen", "didSave"):
            c.tell("textDocument/" + method, params)
    uri = "file://" + folder + "/odd.tile"
    c.open(uri, SOURCE)
    for position in ((10**9, 0), (0, 10**9), (-5, -5)):
        c.at("hover", uri, *position)
    lost_edits(c, uri)
    check("stops", c.stop(), 0)
    c = Client(TILEC)
    c.start()
    c.process.stdin.close()
    check("the editor is gone", c.process.wait(20), 1)


def lost_edits(c, uri):
    """After an edit that cannot be followed the text is not known: nothing is said of it until all of it comes."""
    at = {"start": {"line": 9, "character": 0}, "end": {"line": 1, "character": 0}}
    wrong = [{"range": at, "text": "x"}, {"text": 5}, {}, {"range": 5, "text": ""}, {"range": {}, "text": "x"},
             {"range": {"start": {"line": "one"}, "end": {}}, "text": "x"}, {"text": "#" * (17 << 20)}]
    for version, edit in enumerate(wrong):
        c.change(uri, version, edit)
        check("the editor is told", "close it and open it again" in c.shown(), True)
        check("nothing is said of the old text", c.published(uri), [])
        check("and asked of it", "close" in c.at("hover", uri, 0, 0)["error"]["message"], True)
        c.change(uri, 3, {"range": {"start": at["end"], "end": at["end"]}, "text": "# "})
        check("pieces do not help", "close" in c.at("hover", uri, 0, 0)["error"]["message"], True)
        if version % 2:
            c.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
            check("closed", c.published(uri), [])
            check("opened anew", c.open(uri, SOURCE), [])
        else:
            c.change(uri, 4, {"text": SOURCE})
            check("all of it at once", c.published(uri), [])
        check("known again", len(c.at("documentHighlight", uri, *place(SOURCE, "mask"))["result"]), 3)


def fuzz(folder, seed, rounds):
    """Random edits of the examples, random questions: always an answer, never the end."""
    rng = random.Random(seed)
    c = Client(TILEC)
    c.start()
    names = sorted(n for n in os.listdir(EXAMPLES) if n.endswith(".tile"))
    bits = ["(", ")", "[", "]", ":", "\n", "    ", "def ", "tl.", "x", "'", '"""', "\\", "*", "=", ",", "if ", "@", "#", "é", "𝛼", "\0"]
    for n in rng.sample(names, min(rounds, len(names))):
        with open(os.path.join(EXAMPLES, n)) as f:
            text = f.read()
        uri = f"file://{folder}/{n}"
        c.open(uri, text)
        for version in range(2, 14):
            begin = rng.randrange(len(text) + 1)
            end = min(len(text), begin + rng.choice([0, 0, 1, 3, 40]))
            text = text[:begin] + rng.choice(bits) + text[end:]
            c.change(uri, version, {"text": text})
            line = rng.randrange(text.count("\n") + 1)
            for method in ("hover", "completion", "signatureHelp", "definition", "references", "prepareRename"):
                answer = c.at(method, uri, line, rng.randrange(60), context={"includeDeclaration": True})
                check(f"seed {seed}, {n}, version {version}: {method}", "result" in answer, True)
            for method in ("semanticTokens/full", "inlayHint", "documentSymbol"):
                c.ask("textDocument/" + method, {"textDocument": {"uri": uri}, "range": {
                    "start": {"line": 0, "character": 0}, "end": {"line": 9999, "character": 0}}})
    check("stops", c.stop(), 0)


def processor_ms(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def many_kernels(source, lines):
    """The source's kernels again and again under other names; functions in front of them serve all."""
    again = source[source.index("@kernel"):]
    names = re.findall(r"^def (\w+)", again, re.M)
    text = source
    for i in range(1000):
        if text.count("\n") >= lines:
            return text
        text += "\n\n" + re.sub(r"\b(" + "|".join(names) + r")\b", rf"\1_{i}", again)
    raise Failure("the source has no lines")


def keystrokes(folder, name, source, needle, keys):
    """
    1,000 lines: the server's processor time from a key, typed behind the needle, to its diagnostics and to what an
    editor asks then; no load of the machine changes it.
    """
    c = Client(TILEC)
    c.start()
    text = many_kernels(source, 1000)
    uri = f"file://{folder}/{name}"
    check(f"{name}, 1,000 lines", c.open(uri, text), [])
    line, column = place(text, needle, text.count(needle) // 2, len(needle))
    times = []
    before = processor_ms(c.process.pid)
    for i, key in enumerate(keys):
        begin = time.monotonic()
        at = {"line": line, "character": column}
        c.change(uri, i + 2, {"range": {"start": at, "end": at}, "text": key})
        shown = c.published(uri)
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        c.at("completion", uri, line, column)
        c.at("hover", uri, line, max(column - 1, 0))
        c.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": {
            "start": {"line": max(line - 40, 0), "character": 0}, "end": {"line": line + 40, "character": 0}}})
        times.append(time.monotonic() - begin)
    spent = (processor_ms(c.process.pid) - before) / len(times)
    median = sorted(times)[len(times) // 2] * 1000
    print(f"{name}, {text.count(chr(10))} lines: {spent:.1f} ms of processor time a key press, "
          f"{median:.1f} ms by the clock, {max(times) * 1000:.1f} ms the slowest")
    check(f"{name}: right again at the last key", shown, [])
    check("stops", c.stop(), 0)
    return spent


def example(name):
    with open(os.path.join(EXAMPLES, name)) as f:
        return f.read()


with tempfile.TemporaryDirectory() as work:
    work = os.path.realpath(work)
    client, main = session(work)
    editing(client, main)
    check("stops", client.stop(), 0)
    members(work)
    writing(work)
    rudeness(work)
    fuzz(work, int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 6)
    limit = 50 if len(sys.argv) < 5 else float(sys.argv[4])  # more under sanitizers
    typed = " + 1 - 2 * (3 - 3)"
    for where in (("long.tile", SOURCE, "value = load(x + offs, mask)", typed),
                  ("comment.tile", SOURCE, "value = load(x + offs, mask)", "  # as it is\n"),
                  ("called.tile", SOURCE, "return minimum(value, LIMIT)", typed),
                  ("matmul.tile", example("matmul.tile"), "return tile_of(program_id(0)", typed)):
        check(f"a key press in {where[0]} is answered in time", keystrokes(work, *where) < limit, True)
print(f"{checks} checks")
