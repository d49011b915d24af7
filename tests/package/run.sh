#!/usr/bin/env bash
# run.sh BUILD CC CXX: a new user's afternoon.  Makes the packages of BUILD, twice, with the same
# bytes; installs the .debs and the wheel in a bare Debian root, where elu and attention are
# compiled, run and checked; builds the embedding examples in C, C++, Rust and Go against the
# packages and runs them there.
# 77: this machine cannot make such a root.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$here/../.." && pwd -P)
build=$1 cc=$2 cxx=$3
work=$build/out/package
bare=$work/root

say() {
   printf '== %s\n' "$*"
}
die() {
   printf 'FAILED: %s\n' "$*"
   exit 1
}
skip() {
   printf 'skipped: %s\n' "$*"
   exit 77
}
inside() { # COMMAND..: in the bare root, with nothing of this machine's environment
   env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 unshare -m \
      sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$bare" "$@"
}
# says PATTERN COMMAND..: it prints a line with PATTERN, inside
says() {
   local pattern=$1
   shift
   inside "$@" >"$work/said" 2>&1 || { cat -- "$work/said"; die "$*"; }
   grep -qE -- "$pattern" "$work/said" || { cat -- "$work/said"; die "$*: no '$pattern'"; }
}

((EUID == 0)) || skip "a bare root needs the rights of root"
for tool in apt-get dpkg-deb python3 chroot xz; do
   command -v "$tool" >/dev/null || skip "no $tool"
done
command -v auditwheel >/dev/null || python3 -c 'import ensurepip, venv' 2>/dev/null ||
   skip "no python3-venv, by which auditwheel is installed"
rm -rf -- "$work"
mkdir -p -- "$work"

say "packages, twice"
make=("$root/runtime/package/build.sh" --fast --build "$build" --out)
"${make[@]}" "$work/packages" >"$work/first.log" 2>&1 || {
   cat -- "$work/first.log"
   ! grep -q 'none can be installed by pip' "$work/first.log" || skip "no auditwheel"
   die "no packages"
}
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "${make[@]}" "$work/again") >"$work/again.log" 2>&1 || {
   cat -- "$work/again.log"
   die "no packages the second time"
}
diff -- "$work/packages/SHA256SUMS" "$work/again/SHA256SUMS" || die "other bytes the second time"
rm -rf -- "$work/again"
cat -- "$work/first.log"
version=$("$build/bin/tilec" --version | cut -d' ' -f2)
for file in "$work/packages"/*tilec*; do
   [[ ${file##*/} == *[_-]"$version"[_-]* ]] || die "$file is not named after version $version"
done

say "a bare root"
"$here/bare_root.sh" "$bare" dpkg dash libc-bin coreutils diffutils python3 python3-venv ||
   skip "no packages for a bare root"
mknod -m 666 "$bare/dev/null" c 1 3 2>/dev/null || skip "a device cannot be made here"
inside true 2>/dev/null || skip "/proc cannot be mounted there"
cp -- "$work/packages"/*.{deb,whl} "$root/dsl_examples/"{elu,attention,online_softmax}.tile "$here"/*.py \
   "$bare/tmp"

say "the command, from its .deb"
inside sh -c 'dpkg -i /tmp/*.deb' >"$work/dpkg.log" 2>&1 || { cat -- "$work/dpkg.log"; die "dpkg"; }
says "^tilec $version \(LLVM" tilec --version
says "cpu +ok" tilec doctor
says '\.visible \.entry elu' tilec build /tmp/elu.tile -o -
# every command that reads a file or a name, as a new user meets them
commands_work() { # TILEC
   says '^elu\(x' "$1" list /tmp/elu.tile
   inside "$1" check /tmp/elu.tile || die "check"
   says 'arange' "$1" doc arange
   says 'E0271' "$1" explain E0271
   inside "$1" view /tmp/elu.tile -o /tmp/elu.html && grep -q '</html>' "$bare/tmp/elu.html" ||
      die "view"
   printf 'Content-Length: 0\r\n\r\n' | inside "$1" lsp >"$work/said" 2>&1 || true
   grep -q 'jsonrpc' "$work/said" || die "lsp"
}
commands_work tilec
inside tilec run /tmp/elu.tile --on cpu --arg x=randn:fp32[1000] --arg y=empty:fp32[1000] \
   --arg n=1000 --save x=/tmp/elu.x.npy --save y=/tmp/elu.y.npy
inside tilec run /tmp/attention.tile -k attn_fwd --on cpu --arg 'q=randn:fp16[100,64]:1' \
   --arg 'k=randn:fp16[100,64]:2' --arg 'v=randn:fp16[100,64]:3' --arg 'o=empty:fp16[100,64]' \
   --arg lse=None --arg heads=1 --arg n=100 --arg scale=0.125 --save q=/tmp/q.npy \
   --save k=/tmp/k.npy --save v=/tmp/v.npy --save o=/tmp/o.npy
inside python3 /tmp/check_results.py /tmp
for file in usr/share/man/man1/tilec.1.gz usr/share/bash-completion/completions/tilec \
   usr/share/zsh/vendor-completions/_tilec usr/share/fish/vendor_completions.d/tilec.fish \
   usr/share/doc/tilec/copyright; do
   [[ -s $bare/$file ]] || die "$file is missing"
done

say "an error of each family, of the page that explains it (E06 is lesson 2's)"
# meets CODE WORD..: tilec WORD.. of the page's wrong example reports it
meets() {
   local code=$1
   shift
   awk '/^```/ && on { exit } on; /^```python/ { on = 1 }' \
      "$bare/usr/share/doc/tilec/compiler/base/explain/$code.md" >"$bare/tmp/wrong.tile"
   inside tilec "$@" /tmp/wrong.tile >"$work/said" 2>&1 && die "$code: no error"
   grep -qE "^/tmp/wrong.tile:[0-9]+:[0-9]+: error\[$code\]" "$work/said" ||
      { cat -- "$work/said"; die "$code is not reported"; }
}
meets E0112 check
meets E0200 check
meets E0316 check
meets E0406 build -o /dev/null
meets E0501 build --arch=sm_80 -o /dev/null

say "lessons 1 to 3: the check refuses the exercise and takes the solution"
cp -r -- "$bare/usr/share/doc/tilec/docs/lessons" "$bare/tmp/lessons"
for lesson in 01-vector-add 02-masks 03-transpose; do
   command=$(sed -n '/^## Check/,$p' "$bare/tmp/lessons/$lesson.md" |
      sed -n '/^\$ /,/[^\\]$/p' | sed 's/^\$ //; s/\\$//' | tr '\n' ' ')
   [[ $command == tilec\ run\ * ]] || die "lesson $lesson has no check"
   ! inside sh -c "cd /tmp/lessons && $command" >"$work/said" 2>&1 || die "$lesson: no exercise"
   cp -- "$bare/tmp/lessons/solutions/$lesson.tile" "$bare/tmp/lessons"
   inside sh -c "cd /tmp/lessons && $command" >"$work/said" 2>&1 ||
      { cat -- "$work/said"; die "$lesson: $command"; }
done
says "^ok$" env PYTHONPATH=/usr/share/tilec/python python3 -c \
   'import tilec; tilec.list_kernels("/tmp/elu.tile"); print("ok")'

say "programs that embed it"
export PKG_CONFIG_LIBDIR=$bare/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=
embed=$root/dsl_examples/embed
read -ra flags < <(pkg-config --define-prefix --cflags --libs tilec)
# ran NAME: it was built; now it runs inside, where the library is that of the .deb
ran() {
   cp -- "$work/$1" "$bare/tmp"
   inside "/tmp/$1" /tmp/elu.tile || die "$1"
}
"$cc" -std=c11 "$root/tests/consumer/plain/jit.c" -o "$work/elu_c" "${flags[@]}" -lm
ran elu_c
"$cxx" -DELU_TILE='"/tmp/elu.tile"' "$root/tests/consumer/jit.cc" -o "$work/elu_cc" "${flags[@]}"
ran elu_cc
rustc=$(command -v /usr/bin/rustc || command -v rustc || true) # the distribution's first
if [[ $rustc ]]; then
   "$rustc" -O "$embed/elu.rs" -L "$bare/usr/lib" -o "$work/elu_rs"
   ran elu_rs
else
   echo "skipped: no rustc"
fi
if command -v go >/dev/null; then
   GOCACHE=$work/gocache GOFLAGS='' GO111MODULE=off CC=$cc \
      go build -o "$work/elu_go" "$embed/elu.go"
   ran elu_go
else
   echo "skipped: no go"
fi

say "the Python wheel, in another root without the .debs"
mapfile -t names < <(for deb in "$work/packages"/*.deb; do dpkg-deb -f "$deb" Package; done)
inside dpkg -r "${names[@]}" >"$work/dpkg.log" 2>&1 ||
   { cat -- "$work/dpkg.log"; die "dpkg -r"; }
[[ ! -e $bare/usr/bin/tilec ]] && ! compgen -G "$bare/usr/lib/libtilec*" >/dev/null || die "dpkg left something"
cp -r -- "$root/runtime/python" "$bare/tmp/python"
! inside env PYTHONPATH=/tmp/python python3 -c 'import tilec; tilec.library()' 2>"$work/said" ||
   die "a library that is not there"
grep -q 'cannot be loaded.  It is looked for where TILEC_LIBRARY says' "$work/said" ||
   { cat -- "$work/said"; die "no word about where it was looked for"; }
if [[ $build == "$root/build/release" ]]; then # a checkout needs no variable
   env -u TILEC_LIBRARY PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/runtime/python" \
      python3 -c 'import tilec; tilec.library()'
fi
inside python3 -m venv /venv
inside sh -c '/venv/bin/pip install -q --no-index --disable-pip-version-check /tmp/*.whl'
says "^tilec $version \(LLVM" /venv/bin/tilec --version
says "cpu +ok" /venv/bin/tilec doctor
says '\.visible \.entry elu' /venv/bin/python -m tilec build /tmp/elu.tile -o -
commands_work /venv/bin/tilec
says "1000 sums are right" /venv/bin/python -m tilec.triton /tmp/program.py
says "^$version $version$" /venv/bin/python -c \
   'import importlib.metadata as m, tilec; print(tilec.__version__, m.version("tilec"))'
bytes=$(du -sb "$bare/venv/lib/python3"*/site-packages/tilec | cut -f1)
printf 'the package takes %d bytes on disk, at most 45000000\n' "$bytes"
((bytes <= 45000000)) || die "too large"
inside /venv/bin/pip uninstall -q -y --disable-pip-version-check tilec
rm -rf -- "$bare"
say "done"
