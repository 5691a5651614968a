#!/usr/bin/env bash
# Installs by apt, by name, the Debian packages that building and testing need and that are missing, and those named as arguments.
set -euo pipefail

packages=(g++ cmake ninja-build git
  libeigen3-dev libinsighttoolkit5-dev libisal-dev libboost-program-options-dev nlohmann-json3-dev zlib1g-dev
  libgtest-dev libbenchmark-dev
  "$@")

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing, and installing them needs root or sudo: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
