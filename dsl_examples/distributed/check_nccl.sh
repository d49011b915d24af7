#!/usr/bin/env bash
# check_nccl.sh RING PAIR DRIVER NCCL: the NCCL transport against stand-ins for both libraries.  The
# driver computes nothing, so results are not looked at: that all calls come in order, that graphs
# and time lines are made, and that a call that does not return ends in an error on every rank.
set -uo pipefail
failed=0
on=(--on cuda --driver "$3" --nccl "$4" --threads 4 --no-check)
export FAKE_NCCL=

expect() { # NAME STATUS TEXT COMMAND...
   local output status begin=$SECONDS
   output=$(timeout 30 "${@:4}" 2>&1)
   status=$?
   if ((status != $2)) || ! grep -qE -- "$3" <<<"$output" || ((SECONDS - begin > 15)); then
      printf 'FAIL %s: exit %s, %s s\n%s\n' "$1" "$status" $((SECONDS - begin)) "$output"
      failed=1
   else
      printf '%s: ok\n' "$1"
   fi
}

expect "ring" 0 "4 ranks by NCCL" "$1" "${on[@]}" --backward --time 2 --time-line --bandwidth
expect "ring, a graph" 0 "forward \(graph\)" "$1" "${on[@]}" --time 2 --graph
expect "pair" 0 "step 3: .* transfer" "$2" "${on[@]}" --time 2 --time-line --bandwidth
expect "no library" 3 "rank 3 of 4: NCCL: .*no_such" "$1" "${on[@]}" --nccl /no_such.so
FAKE_NCCL=hang expect "a call hangs" 3 "rank [0-3] of 4: .*(has not ended for 2 seconds|gave up)" \
   "$1" "${on[@]}" --timeout 2
FAKE_NCCL=error expect "NCCL reports an error" 3 "rank [0-3] of 4: .*another rank failed" \
   "$1" "${on[@]}" --timeout 5 --fault hang@1:1
FAKE_HANGS=1 expect "a kernel does not end" 3 "rank 0 of 4: .*has not ended for 2 seconds" \
   "$1" "${on[@]}" --timeout 2
FAKE_NCCL=stuck FAKE_HANGS=1 expect "NCCL does not let go" 3 \
   "rank [0-3] of 4: .*has not ended for 2 seconds; NCCL does not let go" "$1" "${on[@]}" --timeout 2
FAKE_HANGS=1 expect "a kernel does not end, one rank" 3 \
   "rank 0 of 1: .*the GPU has not finished within 2000 ms" \
   "$1" "${on[@]}" --threads 1 --timeout 2
exit $failed
