#!/usr/bin/env bash
# check_case_order.sh EXAMPLE FAKECUDA: on a GPU the cases of an example run in several threads; their
# results must be printed as they are in the table.  With the stand-in for the driver every result is
# wrong, but there, in the order that the CPU executor has, where one thread runs them all.
set -euo pipefail
example=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
ln -s -- "$2" "$work/libcuda.so.1"
cases() { sed -n 's/  on [a-z]*  rel L2 .*//p' "$1"; }
"$example" --on cpu --size large >"$work/one"
status=0
LD_LIBRARY_PATH=$work "$example" --on cuda --size large >"$work/many" || status=$?
total=$(cases "$work/one" | wc -l)
if ((status != 1 || total == 0)) || ! diff <(cases "$work/one") <(cases "$work/many" | head -n "$total"); then
   tail -n 3 -- "$work/many"
   exit 1
fi
grep -q ": $total of $total cases FAILED" "$work/many"
