#!/usr/bin/env bash
# All accuracy runs, one after the other, each into
# bench/results/accuracy-*.txt with its command on top. About 5 minutes a run of 400 M requests.
#   bench/accuracy/run.sh            everything
#   N=20000000 bench/accuracy/run.sh everything, on fewer requests
#   SIZES="64 1" bench/accuracy/run.sh calm edge   only these kinds of traffic, at these sizes in MiB
set -eu
cd "$(dirname "$0")/../.."
out=bench/results
n=${N:-400000000}
seed=${SEED:-1}
binary=$(mktemp -d)/accuracy
trap 'rm -rf "$(dirname "$binary")"' EXIT
go -C bench build -o "$binary" ./accuracy
mkdir -p "$out"
failed=0

# record NAME ARGUMENTS: runs the program and keeps its output.
record() {
  local name=$1
  shift
  {
    echo "# go -C bench run ./accuracy $*"
    echo "# $(go version | cut -d' ' -f3-), $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), commit $(git rev-parse --short HEAD)"
    "$binary" "$@" || echo "# not everything passed: exit $?"
  } > "$out/$name.txt"
  if grep -q '^# not everything passed' "$out/$name.txt"; then failed=1; fi
  echo "$out/$name.txt"
}

[ $# -gt 0 ] || set -- calm edge modes
for what in "$@"; do
  case $what in
    modes)
      record accuracy-overfull -mode overfull -seed "$seed"
      record accuracy-keys -mode keys -seed "$seed"
      record accuracy-twins -mode twins -seed "$seed"
      ;;
    *)
      for size in ${SIZES:-64 16 4 1}; do
        record "accuracy-$what-${size}MiB" -traffic "$what" -memory "${size}MiB" -n "$n" -seed "$seed"
      done
      ;;
  esac
done
exit $failed
