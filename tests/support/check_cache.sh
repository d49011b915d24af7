#!/usr/bin/env bash
# check_cache.sh TILEC FAKE_DRIVER FILE.tile: `tilec run` keeps kernels and takes them back, `tilec
# cache` counts, verifies and clears them.  The driver is a stand-in, so that no GPU is needed.
set -euo pipefail
tilec=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/driver"
ln -s "$2" "$work/driver/libcuda.so.1"
cp "$3" "$work/elu.tile"
export XDG_CACHE_HOME=$work/xdg LD_LIBRARY_PATH=$work/driver

fail() {
   echo "FAIL $*"
   exit 1
}
run() {
   "$tilec" run "$work/elu.tile" --on=cuda --arg x=randn:fp32[1000] --arg y=empty:fp32[1000] --arg n=1000 "$@"
}
entries() {
   "$tilec" cache stats --json "$@" | sed 's/.*"entries":\([0-9]*\),.*/\1/'
}

[[ $(entries) == 0 ]] || fail "an empty folder has entries"
status=0
FAKE_HANGS=1 timeout 30 "$tilec" run "$work/elu.tile" --on=cuda --no-cache --timeout=2000 \
   --arg x=empty:fp32[64] --arg y=empty:fp32[64] --arg n=64 2>"$work/out" || status=$?
[[ $status == 4 ]] && grep -q 'the GPU has not finished within 2000 ms' "$work/out" ||
   fail "a kernel that does not end: exit $status: $(cat "$work/out")"
run --no-cache
[[ ! -e $work/xdg ]] || fail "--no-cache left something"
run
[[ $(entries) == 1 ]] || fail "the kernel was not kept"
run
[[ $(entries) == 1 ]] || fail "the kernel was made again"
run -D BLOCK=256
run --num-warps=8
[[ $(entries) == 3 ]] || fail "other options are another kernel"
echo "# a comment" >>"$work/elu.tile"
run
[[ $(entries) == 4 ]] || fail "another source is another kernel"
run --cache-dir="$work/other"
[[ $(entries --cache-dir="$work/other") == 1 && $(entries) == 4 ]] || fail "--cache-dir"
"$tilec" cache verify >"$work/out" || fail "a good folder does not verify"
grep -q '^damaged  *0$' "$work/out" || fail "damaged entries in a good folder"
one=("$work"/xdg/tilec/*.tilec)
printf X | dd of="${one[0]}" bs=1 seek=100 conv=notrunc status=none
"$tilec" cache verify >"$work/out" && fail "damage is not reported"
grep -q '^damaged  *1 (removed)$' "$work/out" || fail "the damaged entry is not removed"
# Another process seems to make the same kernel and never ends: waiting for it is part of the limit.
for i in {0..255}; do
   printf -v name '%s/xdg/tilec/lock-%02x' "$work" "$i"
   exec {lock}>"$name"
   flock --exclusive "$lock"
   locks+=("$lock")
done
begin=$SECONDS
run -D BLOCK=512 --timeout=2000 || fail "a lock that is not given up stops the run"
((SECONDS - begin < 8)) || fail "a lock is waited for beyond --timeout"
for lock in "${locks[@]}"; do
   exec {lock}>&-
done
"$tilec" cache clear >"$work/out"
[[ -z $(ls -A "$work/xdg/tilec") ]] || fail "clear leaves something"
chmod 777 "$work/xdg/tilec"
run 2>"$work/err" || fail "a folder that is not safe stops the run"
grep -q 'others may write to it' "$work/err" || fail "nothing is said about the unsafe folder"
"$tilec" cache stats 2>/dev/null && fail "stats of an unsafe folder"
"$tilec" cache frobnicate 2>/dev/null && fail "an unknown verb is taken"
echo ok
