#!/bin/sh
# unpack_mysql.sh FOLDER: MySQL's server and the libraries that it is linked to, from Debian's newest packages, into
# FOLDER/server. Debian's stable releases have MariaDB only. Nothing is installed, and apt's own lists stay as they are.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
command -v apt-get >/dev/null || { echo "mysql: apt-get is not found; run it on a Debian" >&2; exit 1; }
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | sort -u | head -n 1)
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/packages" "$folder/server"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$folder/sources.list"
own() {
    tool=$1
    shift
    "$tool" -qq -o APT::Sandbox::User=root -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o Acquire::Languages=none -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" "$@"
}
own apt-get update
needs=$(own apt-cache depends mysql-server-core | sed -n 's/^  Depends: \(lib[^ ]*\)$/\1/p')
# shellcheck disable=SC2086
(cd "$folder/packages" && own apt-get download mysql-server-core $needs)
for package in "$folder"/packages/*.deb; do
    dpkg-deb --extract "$package" "$folder/server"
done
rm -rf "$folder/packages" "$folder/lists" "$folder/cache"
