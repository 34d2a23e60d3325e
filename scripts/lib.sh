# shellcheck shell=bash
# What the scripts share: where things are, how they talk, the tools they call.
# To be sourced by bash with `set -euo pipefail`; defines, and changes nothing.

memplan_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# The Python environment with libtorch: MEMPLAN_VENV, or .venv in the tree.
memplan_venv=$(realpath -m "${MEMPLAN_VENV:-$memplan_root/.venv}")

say() { printf '==> %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# How many jobs to build with: one a core, but no more than memory holds, since a
# file that includes torch takes about 2 GiB to compile.
build_jobs() {
  local cores memory_kib jobs
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((memory_kib / (2 * 1024 * 1024)))
  ((jobs >= 1)) || jobs=1
  ((jobs <= cores)) || jobs=$cores
  printf '%s\n' "$jobs"
}

# Puts the environment's tools (buf, promtool) first, and lets every build folder
# of every checkout share one compiler cache; the sloppiness is what it asks for
# to keep what was compiled with a precompiled header.
use_tools() {
  export MEMPLAN_VENV=$memplan_venv
  export PATH=$memplan_venv/bin:$PATH
  export CCACHE_BASEDIR=$memplan_root CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  CMAKE_BUILD_PARALLEL_LEVEL=$(build_jobs)
  export CMAKE_BUILD_PARALLEL_LEVEL
}
