#!/usr/bin/env bash
# emit_ptx.sh TILEC OUT_DIR: builds every configuration of ptx_cases.sh for every arch, or for the one
# that it is chosen for, into OUT_DIR/NAME.ARCH.ptx.  Fails if one does not build or if what came out is
# no PTX of that arch.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=ptx_cases.sh
source "$here/ptx_cases.sh"
tilec=$1
out=$2
if [[ ! -x $tilec ]]; then
   printf '%s: no such program\n' "$tilec"
   exit 1
fi
read -r -a archs <<<"${TILEC_ARCHS:-sm_80 sm_89 sm_90a sm_100 sm_120}"
mkdir -p -- "$out"
rm -f -- "$out"/*.ptx
made=0
failed=0

build_case() {
   local name=$1 file=$2 kernel=$3 arch ptx
   shift 3
   for arch in "${archs[@]}"; do
      ptx="$out/$name.$arch.ptx"
      if ! "$tilec" build "$here/../../dsl_examples/$file" -k "$kernel" "$@" "--arch=$arch" -o "$ptx"; then
         printf 'FAIL %s for %s does not build\n' "$name" "$arch"
         failed=$((failed + 1))
      elif ! grep -q "^\.target $arch" "$ptx" || ! grep -q '\.entry' "$ptx"; then
         printf 'FAIL %s holds no kernel for %s\n' "$ptx" "$arch"
         failed=$((failed + 1))
      else
         made=$((made + 1))
      fi
   done
}

tilec_ptx_cases build_case
if [[ " ${archs[*]} " == *' sm_90a '* ]]; then
   archs=(sm_90a)
   tilec_ptx_hopper_cases build_case
fi
printf '%d PTX files in %s, %d failed\n' "$made" "$out" "$failed"
((made > 0 && failed == 0))
