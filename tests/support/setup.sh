# shellcheck shell=bash
# Shared by dsl_examples/run.sh and tests/run.sh (sourced): installs what is missing, configures, builds.
# Nothing is installed, and nothing is fetched, when all packages are there.
# Sets tilec_root.  Works from any directory, in paths with spaces, under any locale.

tilec_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)

tilec_packages=(gcc g++ make cmake ninja-build pkgconf bison re2c llvm-22-dev lld-22 libzstd-dev
                zlib1g-dev libsqlite3-dev libcmocka-dev ca-certificates)
# what the tests build and check with besides; libmpfr-dev: the oracle of functions; rustc, golang-go:
# embedding examples; python3-venv: auditwheel, for the Python wheel
tilec_check_packages=(clang-22 clang-format-22 openmpi-bin libopenmpi-dev libmpfr-dev rustc golang-go
                      python3-venv)

tilec_packages+=(libjansson-dev) # JSON of the language server

tilec_say() {
   printf '== %s\n' "$*"
}

tilec_die() {
   printf 'error: %s\n' "$*" >&2
   exit 3
}

# tilec_missing_packages PACKAGE...: those that dpkg does not have; one per line.
tilec_missing_packages() {
   local package
   for package in "$@"; do
      [[ $(LC_ALL=C dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] ||
         printf '%s\n' "$package"
   done
}

# On systems without apt: the same needs, by what they provide.
tilec_require_tools() {
   local tool missing=()
   for tool in gcc g++ cmake ninja bison re2c; do
      command -v "$tool" >/dev/null || missing+=("$tool")
   done
   [[ -d ${LLVM_DIR:-/usr/lib/llvm-22/lib/cmake/llvm} ]] || missing+=("LLVM 22.1 (set LLVM_DIR)")
   ((${#missing[@]} == 0)) ||
      tilec_die "this system has no apt; please install: ${missing[*]} and cmocka, zstd, zlib headers"
}

tilec_apt() {
   local as_root=()
   if ((EUID != 0)); then
      command -v sudo >/dev/null || tilec_die "packages are missing (${*: -1}); run as root or install sudo"
      as_root=(sudo)
   fi
   "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q "$@"
}

# tilec_install [PACKAGE...]: what every build needs, and these.
tilec_install() {
   if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
      tilec_require_tools
      return
   fi
   local missing
   mapfile -t missing < <(tilec_missing_packages "${tilec_packages[@]}" "$@")
   if ((${#missing[@]} == 0)); then
      return
   fi
   tilec_say "installing ${missing[*]}"
   tilec_apt update
   if [[ " ${missing[*]} " == *" llvm-22-dev "* || " ${missing[*]} " == *" lld-22 "* ]] &&
      [[ $(LC_ALL=C apt-cache policy llvm-22-dev) != *"Candidate: "[0-9]* ]]; then
      tilec_die "apt knows no llvm-22-dev.  On Debian 12 it comes from the security suite: add
  bookworm-security main
to apt's sources (beside bookworm main, from the same kind of mirror) and run this script again."
   fi
   tilec_apt install -y --no-install-recommends "${missing[@]}"
}

# tilec_build PRESET [TARGET...]: configures once and builds; all targets when none is named.
tilec_build() {
   local preset=$1
   shift
   local build="$tilec_root/build/$preset" target args=()
   for target in "$@"; do
      args+=(--target "$target")
   done
   tilec_say "building $preset"
   if [[ ! -f $build/build.ninja ]]; then
      mkdir -p -- "$tilec_root/build"
      (cd -- "$tilec_root" && cmake --preset "$preset" >"$build.configure.log" 2>&1) || {
         cat -- "$build.configure.log" >&2
         tilec_die "cmake could not configure $build"
      }
   fi
   cmake --build "$build" "${args[@]}"
}

# Prints the path of a ptxas, or nothing: $TILEC_PTXAS, PATH, the toolkit, Python wheels.
tilec_find_ptxas() {
   local candidate site
   if [[ -n ${TILEC_PTXAS:-} ]]; then
      printf '%s\n' "$TILEC_PTXAS"
      return
   fi
   if command -v ptxas >/dev/null; then
      command -v ptxas
      return
   fi
   local candidates=(/usr/local/cuda/bin/ptxas)
   if command -v python3 >/dev/null; then
      while IFS= read -r site; do
         candidates+=("$site"/nvidia/cuda_nvcc/bin/ptxas "$site"/nvidia/cu1*/bin/ptxas
                      "$site"/triton/backends/nvidia/bin/ptxas)
      done < <(python3 -c 'import sys; print("\n".join(p for p in sys.path if p))' 2>/dev/null)
   fi
   for candidate in "${candidates[@]}"; do
      if [[ -x $candidate ]]; then
         printf '%s\n' "$candidate"
         return
      fi
   done
}
