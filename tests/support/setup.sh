# shellcheck shell=bash
# Shared by dsl_examples/run.sh and tests/run.sh (sourced): installs what is missing, configures, builds.
# Nothing is installed, and nothing is fetched, when all packages are there.
# Sets tilec_root.  Works from any directory, in paths with spaces, under any locale.
# What the steps print goes to tilec_log; shown is one line for each, with its time.

tilec_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)

tilec_packages=(gcc g++ make cmake ninja-build pkgconf bison re2c llvm-22-dev lld-22 libzstd-dev
                zlib1g-dev libsqlite3-dev libcmocka-dev ca-certificates)
# what the tests build and check with besides; libmpfr-dev: the oracle of functions; rustc, golang-go:
# embedding examples; python3-venv: auditwheel, for the Python wheel; python3-numpy: arrays of Triton's
# programs; neovim: an editor with the language server.  Pages of `tilec view` are looked at where
# chromium is installed: 122 MB are too many for each run
tilec_check_packages=(clang-22 clang-format-22 openmpi-bin libopenmpi-dev libmpfr-dev rustc golang-go
                      python3-venv python3-numpy neovim)

tilec_packages+=(libjansson-dev) # JSON of the language server

tilec_say() {
   printf '== %s\n' "$*"
}

# ---- Phases
tilec_log=$tilec_root/build/log.txt
tilec_verbose=

# tilec_begin NAME: the log of one run of a script, build/NAME.log.
tilec_begin() {
   mkdir -p -- "$tilec_root/build"
   tilec_log=$tilec_root/build/$1.log
   : >"$tilec_log"
   SECONDS=0
}

# tilec_time SECONDS: "3 min 12 s"
tilec_time() {
   if (($1 >= 60)); then
      printf '%d min %d s' $(($1 / 60)) $(($1 % 60))
   else
      printf '%d s' "$1"
   fi
}

# How far a step is, as its last lines say it: "[12/345]" of ninja, "12/345 Test" of ctest.
tilec_reached() {
   tail -n 5 -- "$tilec_log" | grep -oE '^\[? *[0-9]+/[0-9]+' | tail -n 1 | tr -d '[ '
}

# tilec_show_progress TEXT: while a step runs; on a terminal a line that changes every second,
# elsewhere a line every tilec_log_s seconds.
tilec_log_s=30
tilec_show_progress() {
   local from=$SECONDS last=$SECONDS
   while sleep 1 && kill -0 $$ 2>/dev/null; do
      if [[ -t 1 ]]; then
         printf '\r== %s  %s  %s\033[K' "$1" "$(tilec_reached)" "$(tilec_time $((SECONDS - from)))"
      elif ((SECONDS - last >= tilec_log_s)); then
         last=$SECONDS
         printf '   %s: %s after %s\n' "$1" "$(tilec_reached)" "$(tilec_time $((SECONDS - from)))"
      fi
   done
}

# Takes the line that changes away.
tilec_clear_line() {
   [[ ! -t 1 ]] || printf '\r\033[K'
}

# Processor time of the script's steps so far, in hundredths of a second, where /proc tells.
tilec_processor_time() {
   local stat=()
   read -ra stat 2>/dev/null <"/proc/$$/stat" || true
   printf '%d' $((${stat[15]:-0} + ${stat[16]:-0}))
}

# tilec_phase TEXT COMMAND..: runs it, output to the log, at its end the processor time, which tells
# slow steps from a busy machine; shown is a line with its time.  Its status; the caller shows what of
# the log a failure needs.
tilec_phase() {
   local text=$1 from=$SECONDS from_processor status=0 ticker
   from_processor=$(tilec_processor_time)
   shift
   mkdir -p -- "${tilec_log%/*}"
   printf '\n== %s: %s\n' "$text" "$*" >>"$tilec_log"
   if [[ $tilec_verbose ]]; then
      tilec_say "$text"
      ("$@") 2>&1 | tee -a "$tilec_log" || status=$?
   else
      tilec_show_progress "$text" &
      ticker=$!
      ("$@") >>"$tilec_log" 2>&1 || status=$?
      kill "$ticker" 2>/dev/null
      wait "$ticker" 2>/dev/null || true
      tilec_clear_line
   fi
   printf -- '-- %d s of processor time\n' $((($(tilec_processor_time) - from_processor) / 100)) >>"$tilec_log"
   if ((status)); then
      printf '== %s: FAILED after %s\n' "$text" "$(tilec_time $((SECONDS - from)))"
   else
      printf '== %s: %s\n' "$text" "$(tilec_time $((SECONDS - from)))"
   fi
   return "$status"
}

# The log from the last phase's headline on.
tilec_last_phase() {
   tail -n +"$(grep -n '^== ' -- "$tilec_log" | tail -n 1 | cut -d: -f1)" -- "$tilec_log"
}

tilec_show_log() { # LINES
   tilec_last_phase | tail -n "$1"
   printf 'All of it: %s\n' "$tilec_log"
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
   tilec_phase "installing ${#missing[@]} packages: ${missing[*]}" \
      tilec_install_missing "${missing[@]}" && return
   [[ $tilec_verbose ]] || tilec_show_log 40
   tilec_die "these packages cannot be installed: ${missing[*]}"
}

tilec_install_missing() { # PACKAGE..
   local missing=("$@")
   tilec_apt update || return
   if [[ " ${missing[*]} " == *" llvm-22-dev "* || " ${missing[*]} " == *" lld-22 "* ]] &&
      [[ $(LC_ALL=C apt-cache policy llvm-22-dev) != *"Candidate: "[0-9]* ]]; then
      tilec_die "apt knows no llvm-22-dev.  On Debian 12 it comes from the security suite: add
  bookworm-security main
to apt's sources (beside bookworm main, from the same kind of mirror) and run this script again."
   fi
   tilec_apt install -y --no-install-recommends "${missing[@]}"
}

# Prints the python3 that has numpy, where one has; another stands in front in PATH at times.
tilec_find_python() {
   local candidate
   for candidate in python3 /usr/bin/python3; do
      if "$candidate" -c 'import numpy' 2>/dev/null; then
         command -v "$candidate"
         return
      fi
   done
}

# tilec_build PRESET [TARGET...]: configures once and builds; all targets when none is named.
tilec_build() {
   local preset=$1
   shift
   local build="$tilec_root/build/$preset" python target args=()
   for target in "$@"; do
      args+=(--target "$target")
   done
   if [[ ! -f $build/build.ninja ]]; then
      mkdir -p -- "$tilec_root/build"
      python=$(tilec_find_python)
      (cd -- "$tilec_root" &&
         cmake --preset "$preset" ${python:+"-DPython3_EXECUTABLE=$python"} >"$build.configure.log" 2>&1) || {
         cat -- "$build.configure.log" >&2
         tilec_die "cmake could not configure $build"
      }
   fi
   if ! tilec_phase "building $preset" cmake --build "$build" "${args[@]}"; then
      [[ $tilec_verbose ]] || tilec_show_build_errors
      return 1
   fi
}

# What the compiler said of the files that failed, of ninja's last run.
tilec_show_build_errors() {
   tilec_last_phase | awk '/^FAILED: / { on = 1 } /^\[[0-9]+\// { on = 0 } on && n++ < 100'
   printf 'All of it: %s\n' "$tilec_log"
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
