#!/usr/bin/env bash
# Makes the packages of tilec: an archive, Debian packages, a Python wheel, and their checksums.
#   runtime/package/build.sh [--build DIR] [--out DIR] [--fast] [--twice]
#   --build DIR  a release build of this tree (default: build/release, built when it is missing)
#   --out DIR    where they go (default: build/packages)
#   --fast       compress little: for tests
#   --twice      build a copy of the tree in another place, package that too, compare every byte
# The same tree and compilers give the same bytes; dates are those of the last commit, or of
# SOURCE_DATE_EPOCH.  The version is that of CMakeLists.txt.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../../tests/support/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/support/setup.sh"
package=$tilec_root/runtime/package
build=$tilec_root/build/release
out=$tilec_root/build/packages
level=9 deb_as=xz
twice=
while (($#)); do
   case $1 in
   --build) build=$(cd -- "$2" && pwd -P) && shift ;;
   --out) out=$2 && shift ;;
   --fast) level=0 deb_as=none ;;
   --twice) twice=1 ;;
   -h | --help)
      sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
   *) tilec_die "unknown option $1; see --help" ;;
   esac
   shift
done
mkdir -p -- "$out"
out=$(cd -- "$out" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export LC_ALL=C TZ=UTC
umask 022
committed=$(git -C "$tilec_root" log -1 --format=%ct 2>/dev/null || true)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-${committed:-315532800}} # 1980: the first day of zip

# same_dates FOLDER: of files, and which of them may be run, whatever umask and clock said
same_dates() {
   find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" -- {} +
   find "$1" -type d -exec chmod 755 -- {} +
   find "$1" -type f -perm -100 -exec chmod 755 -- {} +
   find "$1" -type f ! -perm -100 -exec chmod 644 -- {} +
}

# Licences of what is linked in, from the packages it comes from.
licences() { # FOLDER
   local name
   mkdir -p -- "$1"
   for name in llvm-22-dev libzstd-dev zlib1g-dev libsqlite3-dev libjansson-dev; do
      if [[ -e /usr/share/doc/$name/copyright ]]; then
         cp -- "/usr/share/doc/$name/copyright" "$1/${name%-dev}"
      fi
   done
}

stage() {
   cmake --build "$build" --target tilec tilec_shared tilec_runtime tilec_runtime_static \
      tilec_wheel_command >"$work/build.log" 2>&1 || { cat -- "$work/build.log" >&2; exit 1; }
   cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
   licences "$work/prefix/share/doc/tilec/licences"
   version=$("$build/bin/tilec" --version | cut -d' ' -f2)
}

archive() {
   local name=tilec-$version-linux-x86_64
   cp -a -- "$work/prefix" "$work/$name"
   same_dates "$work/$name"
   tar -C "$work" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
      --mtime="@$SOURCE_DATE_EPOCH" -c "$name" | xz -T1 "-$level" >"$out/$name.tar.xz"
   rm -rf -- "${work:?}/$name"
}

# ---- Debian packages: runtime of programs compiled ahead of time, compiler as a library, the
# command, and what programs are built with

# deb NAME DEPENDS SUMMARY PATH..: of files of the prefix
deb() {
   local name=$1 depends=$2 summary=$3 root=$work/deb/$1 path
   shift 3
   mkdir -p -- "$root/DEBIAN" "$root/usr/share/doc/$name"
   for path in "$@"; do
      # shellcheck disable=SC2086 # patterns, too
      (cd -- "$work/prefix" && cp -a --parents -- $path "$root/usr")
   done
   { cat -- "$tilec_root/LICENSE"
     for path in "$work/prefix/share/doc/tilec/licences"/*; do
        printf '\n---- %s, linked in ----\n\n' "${path##*/}"
        cat -- "$path"
     done; } >"$root/usr/share/doc/$name/copyright"
   printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: the tilec authors\n' \
      "$name" "$version" >"$root/DEBIAN/control"
   printf 'Installed-Size: %s\nDepends: %s\nSection: devel\nPriority: optional\nDescription: %s\n' \
      "$(du -sk --apparent-size --exclude=DEBIAN -- "$root" | cut -f1)" "$depends" "$summary" \
      >>"$root/DEBIAN/control"
   if compgen -G "$root/usr/lib/*.so.*" >/dev/null; then
      printf 'activate-noawait ldconfig\n' >"$root/DEBIAN/triggers"
   fi
   (cd -- "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$work/md5sums"
   mv -- "$work/md5sums" "$root/DEBIAN/md5sums"
   same_dates "$root"
   dpkg-deb --root-owner-group --uniform-compression "-Z$deb_as" "-z$level" --build "$root" \
      "$out/${name}_${version}_amd64.deb" >/dev/null
}

debs() {
   local major=${version%%.*} # of the libraries' names
   find "$work/prefix/share/man" -name '*.1' -exec gzip -9n {} +
   mv -- "$work/prefix/share/zsh/site-functions" "$work/prefix/share/zsh/vendor-completions"
   deb "libtilec-runtime$major" "libc6 (>= 2.35)" "launches kernels that tilec compiled ahead of time" \
      lib/libtilec_runtime.so.*
   deb "libtilec$major" "libc6 (>= 2.35)" "compiler of a Triton-compatible tile language, as a library" \
      lib/libtilec.so.* share/tilec
   deb tilec "libc6 (>= 2.35)" "compiler of a Triton-compatible tile language" \
      bin share/doc share/man share/bash-completion share/zsh share/fish
   deb libtilec-dev "libtilec$major (= $version), libtilec-runtime$major (= $version), tilec (= $version)" \
      "headers and build files of tilec" \
      include lib/libtilec.so lib/libtilec_runtime.so lib/libtilec_runtime.a lib/cmake lib/pkgconfig
}

# ---- the wheel

# Prints the path of an auditwheel, which is installed into the build folder when there is none.
find_auditwheel() {
   local venv=$tilec_root/build/packages-venv
   if command -v auditwheel >/dev/null; then
      command -v auditwheel
      return
   fi
   if [[ ! -x $venv/bin/auditwheel ]]; then
      { python3 -m venv "$venv" && "$venv/bin/pip" -q install 'auditwheel>=6,<7'; } \
         >"$work/pip.log" 2>&1 || {
         cat -- "$work/pip.log" >&2
         tilec_die "no auditwheel, and none can be installed by pip"
      }
   fi
   printf '%s\n' "$venv/bin/auditwheel"
}

# The newest C library's symbols decide: 2.35 makes manylinux_2_35_x86_64.
wheel() {
   local root=$work/wheel tag auditwheel plain
   mkdir -p -- "$root/tilec-$version.dist-info"
   cp -a -- "$work/prefix/share/tilec/python/tilec" "$root/tilec"
   install -m 755 -- "$build/wheel/tilec" "$root/tilec/tilec"
   install -m 644 -- "$build/wheel/libtilec.so" "$build/wheel/libjansson.so.4" "$root/tilec"
   cp -- "$tilec_root/LICENSE" "$package/README.md" "$root/tilec-$version.dist-info"
   licences "$root/tilec-$version.dist-info/licences"
   same_dates "$root"
   auditwheel=$(find_auditwheel)
   plain=$(python3 "$package/wheel.py" --level 0 "$version" linux_x86_64 "$root" "$work")
   tag=$("$auditwheel" show "$plain" | tr '\n' ' ' |
      grep -oE 'following platform tag: *"[a-z0-9_]+"' | grep -oE '[a-z]+_[0-9a-z_]+' | tail -1)
   if [[ $tag != manylinux_* ]]; then
      "$auditwheel" show "$plain" >&2
      tilec_die "this wheel is not for every Linux"
   fi
   python3 "$package/wheel.py" --level "$level" "$version" "$tag" "$root" "$out" >/dev/null
}

# A copy of the tree elsewhere, built there without a compiler cache.
package_a_copy() {
   local copy=$work/another/place
   mkdir -p -- "$copy"
   (cd -- "$tilec_root" && tar --exclude=./build --exclude=./.git -c .) | tar -C "$copy" -x
   CCACHE_DISABLE=1 cmake -S "$copy" -B "$copy/build/other" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DTILEC_TESTS=OFF >"$work/copy.log"
   local again=("$copy/runtime/package/build.sh" --build "$copy/build/other" --out "$work/other")
   [[ $level == 9 ]] || again+=(--fast)
   CCACHE_DISABLE=1 "${again[@]}"
   diff -- "$out/SHA256SUMS" "$work/other/SHA256SUMS" || tilec_die "the same tree gave other bytes"
   tilec_say "built twice: the same bytes"
}

[[ -f $build/build.ninja ]] || tilec_build release tilec tilec_shared
rm -f -- "$out"/*tilec*.{tar.xz,deb,whl} "$out/SHA256SUMS"
stage
archive
debs
wheel
(cd -- "$out" && sha256sum -- *tilec*.* >"$work/sums" && mv -- "$work/sums" SHA256SUMS)
(cd -- "$out" && stat -c '%s %n' -- *tilec*.* | awk '{ printf "%6.1f MB  %s\n", $1 / 1e6, $2 }')
[[ -z $twice ]] || package_a_copy
