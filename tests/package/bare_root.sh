#!/usr/bin/env bash
# bare_root.sh ROOT PACKAGE..: a folder that is a Debian system of these packages and what they
# need, nothing else, and whose dpkg knows them.  No script of a package is run: it takes seconds.
set -euo pipefail
root=$1
shift
mkdir -p -- "$root"/{var/lib/dpkg/info,var/lib/dpkg/updates,tmp,proc,dev,etc} "$root.debs/partial"
: >"$root/var/lib/dpkg/status"
apt-get -q -y -o "Dir::State::status=$root/var/lib/dpkg/status" -o Debug::NoLocking=1 \
   -o "Dir::Cache::archives=$root.debs" -o APT::Install-Recommends=0 -o APT::Sandbox::User=root \
   install --download-only "$@" >"$root.log" 2>&1 || {
   tail -n 5 -- "$root.log" >&2
   exit 1
}
for deb in "$root.debs"/*.deb; do
   dpkg-deb --fsys-tarfile "$deb" >"$root.tar" # decompressed once
   tar -x -p -f "$root.tar" -C "$root"
   dpkg-deb -f "$deb" | sed '1a Status: install ok installed' >>"$root/var/lib/dpkg/status"
   printf '\n' >>"$root/var/lib/dpkg/status"
   name=$(dpkg-deb -f "$deb" Package)
   [[ $(dpkg-deb -f "$deb" Multi-Arch) != same ]] || name+=:$(dpkg-deb -f "$deb" Architecture)
   tar -t -f "$root.tar" | sed 's/^\.//; s|/$||; s|^$|/.|' >"$root/var/lib/dpkg/info/$name.list"
done
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
chroot "$root" /sbin/ldconfig
rm -rf -- "$root.debs" "$root.tar"
