#!/usr/bin/env bash
# Everything that needs a GPU, in one command: correctness first, then timings beside torch and Triton.
#   tests/gpu/run.sh [--quick] [--no-bench] [--only CASES] [--programs N] [--seed S] [--build DIR]
# N random programs (default 20000; 2000 with --quick) from seed S run on the GPU; 0 = none.
# Builds nothing: it uses what is in DIR (default build/release): examples/*, libtilec.so, bin/gpu_*.
# Results: tables on stdout; $OUT/correctness.txt, $OUT/kernels.txt and $OUT/*.json when OUT is set.
set -uo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build="$root/build/release"
bench=1
bench_options=()
programs=20000
seed=1
while (($#)); do
   case $1 in
   --quick)
      bench_options+=(--quick)
      programs=2000
      ;;
   --no-bench) bench=0 ;;
   --only)
      bench_options+=(--only "$2")
      shift
      ;;
   --programs)
      programs=$2
      shift
      ;;
   --seed)
      seed=$2
      shift
      ;;
   --build)
      build=$2
      shift
      ;;
   *)
      printf 'unknown option %s\n' "$1" >&2
      exit 2
      ;;
   esac
   shift
done
out=${OUT:-$build/out}
mkdir -p -- "$out"
log="$out/correctness.txt"
: >"$log"
failed=()

check() { # NAME SECONDS COMMAND..
   local name=$1 seconds=$2 start=$SECONDS
   shift 2
   printf '== %s\n' "$name" | tee -a "$log"
   timeout "$seconds" "$@" 2>&1 | tee -a "$log" | { grep -v '  ok$' || true; }
   local status=${PIPESTATUS[0]}
   if ((status == 77)); then
      printf '   skipped\n' | tee -a "$log"
   elif ((status != 0)); then
      printf '   FAILED with status %d\n' "$status" | tee -a "$log"
      failed+=("$name")
   fi
   printf '   %d cases ok, %d s\n' "$(grep -c '  ok$' "$log")" $((SECONDS - start)) | tee -a "$log"
}

if command -v nvidia-smi >/dev/null; then
   nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee -a "$log"
fi
for example in "$build"/examples/*; do
   check "${example##*/}" 300 "$example" --on cuda --source "$root/dsl_examples"
done
for program in gpu_test runtime_gpu_check gpu_faults sim_gpu_models aot_check aot_time transformer_aot; do
   if [[ -x $build/bin/$program ]]; then
      check "$program" 180 "$build/bin/$program"
   fi
done
if [[ -x $build/bin/launch_time ]]; then
   check launch_time 120 "$build/bin/launch_time" --limit 0.5
fi
if [[ -x $build/bin/first_result ]]; then
   check first_result 120 "$build/bin/first_result" "$root/dsl_examples/elu.tile" --limit 100,40
fi
if ((programs)) && [[ -x $build/bin/gpu_programs ]]; then
   check gpu_programs 660 "$build/bin/gpu_programs" --count "$programs" --seed "$seed" --seconds 600
fi
if [[ -d $build/examples ]]; then
   check "bits twice" 600 "$root/tests/support/check_bits.sh" "$build/examples" --on cuda \
      --source "$root/dsl_examples"
fi
if [[ -x $build/bin/accuracy ]]; then
   check accuracy 1200 "$build/bin/accuracy" --table "$root/docs/accuracy.md" \
      --stride "${ACCURACY_STRIDE:-16}" --out "$out/accuracy.tsv"
fi
if [[ -x $build/bin/bare_driver ]] &&
   "$build/bin/tilec" build "$root/dsl_examples/elu.tile" -o "$out/elu.ptx"; then
   check bare_driver 60 "$build/bin/bare_driver" "$out/elu.ptx" "$out/elu.json"
fi
if ((bench)); then
   check tune 300 "$root/tests/gpu/tune.sh" "$build"
   library=$(find "$build" -name 'libtilec.so*' -type f | head -n 1)
   printf '== timings\n'
   : >"$out/kernels.txt"
   for example in "$build"/examples/*; do
      timeout 300 "$example" --on cuda --time 50 --source "$root/dsl_examples" | tee -a "$out/kernels.txt"
      ((PIPESTATUS[0] == 0)) || failed+=("times of ${example##*/}")
   done
   TILEC_LIBRARY=$library timeout 480 python3 "$root/tests/bench/bench.py" "${bench_options[@]}" \
      --json "$out/bench.json" || failed+=(bench)
   TILEC_LIBRARY=$library timeout 120 python3 "$root/tests/bench/graphs.py" || failed+=(graphs)
   scratch=$(mktemp -d)
   for example in pointwise norms layers sequences matmul attention decoding; do
      "$build/examples/$example" --on cpu --time 1 --describe "$scratch/$example.jsonl"
   done
   TILEC_LIBRARY=$library timeout 480 python3 "$root/tests/bench/kernels.py" "$scratch"/*.jsonl \
      --json "$out/kernels.json" || failed+=(kernels)
   decoder=(--layers 16 --dim 1024 --hidden 2816 --heads 16 --kv-heads 4 --vocab 32000)
   "$build/bin/make_model" "$scratch/decoder.safetensors" "${decoder[@]}" &&
      timeout 300 python3 "$root/tests/bench/decode.py" "$build/examples/transformer" \
         "$scratch/decoder.safetensors" "$build/bin/transformer_aot" --source "$root/dsl_examples" \
         --compile --json "$out/decode.json" || failed+=(decode)
   rm -rf -- "$scratch"
   bare=$(sed -n 's/^ 3 arguments: bare *\([0-9.]*\) us.*/\1/p' "$log" | head -n 1)
   TILEC_LIBRARY=$library timeout 300 python3 "$root/tests/bench/launch.py" ${bare:+--bare "$bare"} \
      --json "$out/launch.json" || failed+=(launch)
fi
if ((${#failed[@]})); then
   printf 'failed: %s\n' "${failed[*]}"
   exit 1
fi
printf 'all of it passed\n'
