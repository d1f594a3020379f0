# shellcheck shell=bash disable=SC2154
# Set-up shared by ./run and ./test, which set $root and source this file: packages, configure,
# build.
#
# Quiet by rule: a step's output goes to build/setup.log, one line to stderr says that a step takes
# longer than two seconds, and a failed step shows the end of its log. Nothing goes to stdout.

# Everything that ./run needs, by its name in Debian 12.
run_packages=(
  g++ cmake ninja-build pkg-config
  libsimgrid-dev libjemalloc-dev libboost-dev libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev
  libvalijson-dev libprotobuf-dev protobuf-compiler libgtest-dev libgmock-dev libbenchmark-dev
  libeigen3-dev libsqlite3-dev zlib1g-dev libsimdjson-dev libpugixml-dev libhwloc-dev
  help2man dpkg-dev file python3
  iproute2 openmpi-bin libopenmpi-dev mpich libmpich-dev libopenblas-dev
)
# What ./test needs besides. The versions are pinned: clang-format's output changes with its
# version, and clang-tidy below 16 cannot read C++20 coroutines and ranges of GCC 12.
# shellcheck disable=SC2034
test_packages=(clang-format-14 clang-tidy-16 chromium slurm-wlm python3-torch pajeng
  python3-nbconvert python3-ipykernel python3-pandas python3-matplotlib python3-sphinx python3-myst-parser
  fish zsh)
# Node.js and npm may be there from elsewhere: NodeSource's nodejs holds both and excludes Debian's.
# shellcheck disable=SC2034
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  test_packages+=(nodejs npm)
fi

say() { printf 'forescale: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# Reports a step that is still running: after two seconds, then every twenty its latest output.
watch_step() {
  sleep 2 >/dev/null 2>&1
  say "$1 ..."
  while sleep 20 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    say "  $(tail -n 1 "$setup_log" | cut -c 1-90)"
  done
}

# step LABEL COMMAND...: runs COMMAND quietly; its status.
step() {
  local label=$1 status=0 watcher
  shift
  : >"$setup_log"
  watch_step "$label" 9>&- &
  watcher=$!
  "$@" >"$setup_log" 2>&1 </dev/null 9>&- || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  if [[ $status != 0 ]]; then
    tail -n 60 "$setup_log" >&2
    say "$label failed with status $status; the log is $setup_log"
  fi
  return "$status"
}

# missing_packages NAME...: those that dpkg has not installed.
missing_packages() {
  LC_ALL=C comm -23 \
    <(printf '%s\n' "$@" | LC_ALL=C sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
      sed -n 's/^installed //p' | LC_ALL=C sort -u)
}

# A failed update is not the end: the lists may be there already, or one foreign source is down.
install_packages() {
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update || echo "apt-get update failed"
  "${apt[@]}" install --no-install-recommends "$@"
}

# need_packages NAME...: installs what is missing, or ends and says what that is.
need_packages() {
  local -a missing as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    need_tools "$@"
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} == 0 ]]; then return; fi
  if [[ $EUID != 0 ]]; then
    command -v sudo >/dev/null ||
      die "missing packages: ${missing[*]}; not root and no sudo, so install them by hand"
    as_root=(sudo)
  fi
  step "installing ${#missing[@]} missing packages" install_packages "${missing[@]}" ||
    die "could not install (no network, or not root?): ${missing[*]}"
}

# Without apt: goes on if the tools and SimGrid are there, else ends with the list.
need_tools() {
  local tool
  local -a lacking=()
  for tool in c++ cmake ninja pkg-config protoc; do
    command -v "$tool" >/dev/null || lacking+=("$tool")
  done
  if [[ ${#lacking[@]} == 0 ]] && ! pkg-config --exists simgrid; then lacking+=(simgrid); fi
  if [[ ${#lacking[@]} == 0 ]]; then return; fi
  say "neither Debian nor Ubuntu, so install by hand what Debian calls: $*"
  die "not found: ${lacking[*]}"
}

# build PRESET TARGET: configures once (again after the presets changed or the tree moved), then
# lets ninja decide.
build() {
  local preset=$1 target=$2
  local folder=$root/build/$preset
  local stamp=$folder/configured
  if [[ ! -f $folder/build.ninja || $root/CMakePresets.json -nt $stamp ||
    $(cat "$stamp" 2>/dev/null) != "$root" ]]; then
    step "configuring $preset" configure "$preset" ||
      die "could not configure; the build needs: ${run_packages[*]}"
    printf '%s\n' "$root" >"$stamp"
  fi
  step "building $target" cmake --build "$folder" --target "$target" --parallel "$(nproc)" ||
    die "could not build"
}

# A cache made for another place is of no use and makes CMake stop.
configure() (
  local cache=$root/build/$1/CMakeCache.txt
  local -a fresh=()
  if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    fresh=(--fresh)
  fi
  cd "$root" && cmake "${fresh[@]}" --preset "$1"
)

# The libraries of the browser test, as tests/report/package-lock.json pins them: in build/node, so
# that the source tree stays clean, and fetched again only when the lock changes.
install_node_modules() {
  local wanted=$root/tests/report folder=$root/build/node
  if cmp -s "$wanted/package-lock.json" "$folder/installed.json"; then return; fi
  mkdir -p "$folder"
  cp "$wanted/package.json" "$wanted/package-lock.json" "$folder/"
  step "fetching the browser test's libraries" \
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund ||
    die "could not fetch from the npm registry (no network?)"
  cp "$wanted/package-lock.json" "$folder/installed.json"
}

# set_up PRESET TARGET PACKAGE...: in the tree $root, one set-up at a time.
set_up() {
  local preset=$1 target=$2
  shift 2
  setup_log=$root/build/setup.log
  if ! { mkdir -p "$root/build" && : >>"$setup_log"; } 2>/dev/null; then
    die "cannot write $setup_log: another user's build? Remove $root/build"
  fi
  if command -v flock >/dev/null; then
    exec 9>"$root/build/setup.lock"
    flock -n 9 || {
      say "waiting for another set-up of this tree"
      flock 9
    }
  fi
  need_packages "$@"
  # Only the tests build everything; the browser test is not run under a sanitizer.
  if [[ $target == all && $preset == release ]]; then install_node_modules; fi
  build "$preset" "$target"
  exec 9>&-
}
