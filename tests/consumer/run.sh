#!/usr/bin/env bash
# run.sh BUILD FAKECUDA CC CXX: installs BUILD into a clean prefix, moves the prefix, builds the
# projects of this folder against it and runs them; then sizes, dependencies and exported symbols.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$here/../.." && pwd -P)
build=$1 fakecuda=$2 export_cc=$3 export_cxx=$4
kernels=$root/dsl_examples
work=$build/out/consumer
export CC=$export_cc CXX=$export_cxx

say() {
   printf '== %s\n' "$*"
}
die() {
   printf 'FAILED: %s\n' "$*"
   exit 1
}
# expect CODES COMMAND..: runs it; any exit code but those listed (as 0|77) is a failure
expect() {
   local codes=$1 status=0
   shift
   "$@" || status=$?
   [[ "|$codes|" == *"|$status|"* ]] || die "exit code $status: $*"
}

rm -rf -- "$work"
mkdir -p -- "$work/fake"
ln -s -- "$fakecuda" "$work/fake/libcuda.so.1"
say "install, and move the prefix"
cmake --install "$build" --prefix "$work/first place" >"$work/install.log"
mv -- "$work/first place" "$work/prefix"
prefix=$work/prefix
for file in bin/tilec include/tilec/{tilec,runtime,arg,status,kernel_info,version}.h lib/libtilec.so.0 \
   lib/libtilec_runtime.so lib/libtilec_runtime.a share/doc/tilec/README.md \
   lib/cmake/tilec/tilec{Config,ConfigVersion,Targets,Kernels}.cmake \
   lib/pkgconfig/tilec{,-runtime}.pc; do
   [[ -e $prefix/$file ]] || die "$file was not installed"
done
if grep -rlF -e "first place" -e "$root" "$prefix"/lib/{cmake,pkgconfig} "$prefix/include"; then
   die "these files name the place they were made in"
fi
"$prefix/bin/tilec" --version

say "CMake: find_package(tilec), tilec_add_kernels"
cmake -S "$here/cmake" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DKERNELS="$kernels" \
   -DCMAKE_BUILD_TYPE=Release >"$work/cmake.log" 2>&1 || { cat -- "$work/cmake.log"; die "cmake"; }
cmake --build "$work/cmake" >"$work/make.log" 2>&1 || { cat -- "$work/make.log"; die "build"; }
expect "0|77" "$work/cmake/aot_check"
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
   expect 0 "$work/cmake/aot_paths" --no-driver
fi
expect 0 env LD_LIBRARY_PATH="$work/fake" "$work/cmake/aot_paths"
expect 0 env LD_LIBRARY_PATH="$work/fake" "$work/cmake/aot_cxx"
expect 0 "$work/cmake/jit_cxx"

if [[ -x $(command -v python3) ]]; then
   say "Python: the binding finds the library of its prefix"
   (cd -- "$work" && env -u LD_LIBRARY_PATH -u TILEC_LIBRARY PYTHONDONTWRITEBYTECODE=1 \
      PYTHONPATH="$prefix/share/tilec/python" python3 -c \
      'import sys, tilec; assert tilec.list_kernels(sys.argv[1])[0]["name"] == "elu"' \
      "$kernels/elu.tile") || die "the Python package"
fi

say "pkg-config and a plain compiler"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cd -- "$work"
flags=(-std=c11 -O2 -Wall -Wextra -Werror)
read -ra jit < <(pkg-config --cflags --libs tilec)
"$CC" "${flags[@]}" "$here/plain/jit.c" -o jit "${jit[@]}" -lm
expect 0 env LD_LIBRARY_PATH="$prefix/lib" ./jit "$kernels/elu.tile"
read -ra runtime < <(pkg-config --cflags --libs tilec-runtime)
"$CC" "${flags[@]}" "$here/plain/runtime.c" -o runtime "${runtime[@]}" -lm
"$CC" "${flags[@]}" "$here/plain/runtime.c" -o runtime_static -I"$prefix/include" \
   "$prefix/lib/libtilec_runtime.a" -ldl -lpthread -lm
"$prefix/bin/tilec" build "$kernels/elu.tile" -o elu.ptx
for program in runtime runtime_static; do
   expect "0|77" env LD_LIBRARY_PATH="$prefix/lib" "./$program" elu.ptx elu.json
   expect 0 env LD_LIBRARY_PATH="$prefix/lib:$work/fake" "./$program" elu.ptx elu.json --stand-in
done
"$CC" "${flags[@]}" "$kernels/aot/bare_driver.c" -o bare_driver -ldl -lm
expect "0|77" ./bare_driver elu.ptx elu.json

say "make"
mkdir -p -- "$work/plain"
cp -- "$here/plain/Makefile" "$kernels/elu.tile" "$work/plain"
touch -d '-1 minute' -- "$work/plain/elu.tile"
plain=(make -s -C "$work/plain" TILEC="$prefix/bin/tilec" KERNELS=. SOURCES="$here")
"${plain[@]}"
expect 0 "${plain[@]}" -q
touch -- "$work/plain/elu.tile"
expect 1 "${plain[@]}" -q
expect 0 env LD_LIBRARY_PATH="$work/fake" "$work/plain/aot_plain"

if [[ -x $(command -v ptxas || echo /usr/local/cuda/bin/ptxas) ]]; then
   say "cubin"
   "$prefix/bin/tilec" build "$kernels/elu.tile" --emit=cubin -o elu.cubin -Rptxas 2>&1 |
      grep 'registers'
   [[ $(head -c 4 elu.cubin | od -An -tx1) == " 7f 45 4c 46" && -s elu.json ]] || die "no cubin"
fi

say "sizes, dependencies, symbols"
# at_most BYTES FILE: its size without symbols
at_most() {
   local size
   strip -o "$work/stripped" -- "$2"
   size=$(stat -c %s -- "$work/stripped")
   printf '%s: %d bytes, at most %d\n' "${2##*/}" "$size" "$1"
   ((size <= $1)) || die "too large"
}
at_most 307200 "$prefix/lib/libtilec_runtime.so"
at_most 45000000 "$prefix/bin/tilec"
at_most 45000000 "$prefix/lib/libtilec.so"
needed=$(readelf -d "$work/cmake/aot_check" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
printf 'aot_check needs: %s\n' "${needed//$'\n'/ }"
if grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' <<<"$needed"; then
   die "aot_check needs more than the C library"
fi
for file in bin/tilec lib/libtilec.so lib/libtilec_runtime.so; do # Ubuntu 22.04 has glibc 2.35
   newest=$(objdump -T "$prefix/$file" | grep -oE 'GLIBC_[0-9.]+' | sort -V | tail -1)
   printf '%s needs %s\n' "$file" "$newest"
   [[ $(printf 'GLIBC_2.35\n%s\n' "$newest" | sort -V | tail -1) == GLIBC_2.35 ]] || die "too new"
   if strings -a "$prefix/$file" | grep -F -m 3 -e "$root/" -e "$build/"; then
      die "$file names the place it was made in"
   fi
done
for library in libtilec.so libtilec_runtime.so; do
   if nm -D --defined-only "$prefix/lib/$library" | grep -v ' tilec_'; then
      die "$library exports these"
   fi
done
say "done"
