#!/usr/bin/env bash
# check_faults.sh PROGRAM [MPIEXEC]: what the other ranks say when one dies, hangs, or has other
# kernels: each of them an error that says so, within ten seconds.
set -uo pipefail
program=$1
mpi=(${2:+"$2" --allow-run-as-root --oversubscribe})
failed=0

# expect NAME RANKS TEXT COMMAND...: each of RANKS, a list, prints an error with TEXT.
expect() {
   local name=$1 ranks=$2 text=$3 begin=$SECONDS output rank status
   output=$(timeout 30 "${@:4}" 2>&1 </dev/null)
   status=$?
   for rank in $ranks; do
      if ! grep -qE "^rank $rank of 4: .*$text" <<<"$output"; then
         printf 'FAIL %s: rank %s does not say "%s":\n%s\n' "$name" "$rank" "$text" "$output"
         failed=1
         return
      fi
   done
   # With recovery on, mpirun itself is content whatever its ranks say.
   if ((SECONDS - begin > 10)) || ((status == 0)) && [[ $name != *recovery* ]]; then
      printf 'FAIL %s: %s s, exit %s\n' "$name" $((SECONDS - begin)) "$status"
      failed=1
   else
      printf '%s: said by ranks %s within %s s\n' "$name" "$ranks" $((SECONDS - begin))
   fi
}

expect "a thread that hangs" "0 2 3" "rank 1|gave up" "$program" --threads 4 --timeout 2 --fault hang@1:1
for place in 0:0 1:1 2:2 3:3 1:7; do # the last step is one of the backward pass
   expect "a thread that fails at $place" "0 1 2 3" "failed as asked" \
      "$program" --threads 4 --backward --fault "fail@$place"
done
if ((${#mpi[@]})); then
   # Without --enable-recovery mpirun ends all ranks at once when one is killed.
   expect "a killed rank, recovery" "0 1 3" "gone or stuck: rank 2" \
      "${mpi[@]}" --enable-recovery -n 4 "$program" --timeout 4 --fault die@2:1
   expect "a rank that hangs" "0 2 3" "gone or stuck: rank 1" \
      "${mpi[@]}" -n 4 "$program" --timeout 4 --fault hang@1:1
   expect "other transfers" "0 1 2 3" "different kernels or options; digests: rank 0" \
      "${mpi[@]}" -n 3 "$program" : -n 1 "$program" --time 2
   expect "another kernel" "0 1 2 3" "different kernels or options; digests: rank 0" \
      "${mpi[@]}" -n 3 "$program" : -n 1 "$program" --block-n 64
fi
exit $failed
