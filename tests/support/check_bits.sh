#!/usr/bin/env bash
# Whether the examples give the same bits twice: each program runs twice with the same inputs, and
# the hashes of all outputs must be equal case by case.
#    check_bits.sh [--first FOLDER] EXAMPLES [--on cpu|sim|cuda] [OPTIONS of the examples..]
# EXAMPLES is the folder of the programs, FOLDER one of hashes that a run with the same options has
# written already, each under the name of its program.  Sums of floating-point numbers by atomics depend on the
# order of the programs, which a GPU and the threads of the other executors take as they come; the
# cases that do that are named here and may differ.
set -euo pipefail
first=
if [[ $1 == --first ]]; then
   first=$2
   shift 2
fi
examples=$1
shift
by_atomics='^embedding '
on=auto
[[ ${1:-} != --on ]] || on=$2

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cases=0 differ=0 excused=0 written_before=0
for example in "$examples"/*; do
   [[ -x $example && -f $example ]] || continue
   # too much for the simulator, and made of the other programs' kernels
   [[ $on != sim || ${example##*/} != transformer ]] || continue
   for run in 1 2; do
      written=$first/${example##*/}
      if [[ $run == 1 && $first && -s $written ]]; then
         cp -- "$written" "$work/1"
         written_before=$((written_before + 1))
         continue
      fi
      "$example" "$@" --bits "$work/$run" >"$work/out" || { cat "$work/out"; exit 1; }
   done
   while IFS=$'\t' read -r name one other; do
      cases=$((cases + 1))
      [[ $one != "$other" ]] || continue
      if [[ $name =~ $by_atomics ]]; then
         excused=$((excused + 1))
      else
         differ=$((differ + 1))
         printf '%s: %s: other bits the second time\n' "$(basename -- "$example")" "$name"
      fi
   done < <(paste "$work/1" "$work/2" | awk -F'\t' -v OFS='\t' \
      '{ print ($1 == $3 ? $1 : $1 " / " $3), $2, $4 }')
   [[ -s $work/1 ]] || { printf '%s wrote no bits\n' "$example"; exit 1; }
done
printf '%d cases twice, %d differ, %d of them by atomics\n' "$cases" "$((differ + excused))" "$excused"
[[ ! $first || $written_before -gt 0 ]] || { printf 'nothing is in %s\n' "$first"; exit 1; }
[[ $cases -gt 0 && $differ -eq 0 ]]
