#!/usr/bin/env python3
"""wheel.py [--level N] VERSION TAG ROOT OUT: makes OUT/tilec-VERSION-py3-none-TAG.whl of the files
under ROOT.  The bytes depend on the files and on SOURCE_DATE_EPOCH only."""
import argparse
import base64
import hashlib
import os
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: tilec
Version: {version}
Summary: Compiler of Triton's kernel language: runs programs written for Triton without it
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: tilec {version}
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""
ENTRY_POINTS = """[console_scripts]
tilec = tilec.__main__:main
"""


def files_of(root):
    """(name in the wheel, bytes, may be run), sorted."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                found.append((os.path.relpath(path, root).replace(os.sep, "/"), f.read(),
                              os.access(path, os.X_OK)))
    return sorted(found)


def record(files):
    rows = []
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
    return "".join(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--level", type=int, default=9)
    for name in "version", "tag", "root", "out":
        parser.add_argument(name)
    a = parser.parse_args()
    info = "tilec-%s.dist-info/" % a.version
    files = files_of(a.root)
    readme = next(data.decode() for name, data, _ in files if name == info + "README.md")
    files = [f for f in files if f[0] != info + "README.md"]
    for name, text in (("METADATA", METADATA.format(version=a.version) + readme),
                       ("WHEEL", WHEEL.format(version=a.version, tag=a.tag)),
                       ("entry_points.txt", ENTRY_POINTS)):
        files.append((info + name, text.encode(), False))
    files.append((info + "RECORD", (record(files) + info + "RECORD,,\n").encode(), False))
    first = 315532800  # of zip: 1980
    stamp = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), first))[:6]
    path = os.path.join(a.out, "tilec-%s-py3-none-%s.whl" % (a.version, a.tag))
    with zipfile.ZipFile(path, "w") as out:
        for name, data, runs in files:
            entry = zipfile.ZipInfo(name, stamp)
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data, compresslevel=a.level)
    print(path)


main()
