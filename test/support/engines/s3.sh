#!/usr/bin/env bash
# A real S3 store for tests: OpenStack Swift with its s3api layer, from Debian packages, on loopback.
# usage: s3.sh start FOLDER PORT PORT PORT PORT   prints the settings as NAME=VALUE; the first port is the one to use
#        s3.sh stop FOLDER                        ends the processes that FOLDER/run names, and removes FOLDER
# If it already runs, start only prints the settings.
set -euo pipefail
USER_NAME=test USER_KEY=tester SECRET=testing REGION=us-east-1
MODULES=$(cd "$(dirname "$0")/swift" && pwd)

say() { printf '%s\n' "$*" >&2; }

# Ends nothing if another process has the number now.
is_ours() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -qF "$FOLDER/"; }

stop() {
  local file pid
  for file in "$FOLDER"/run/*; do
    [ -f "$file" ] || continue
    pid=$(cat "$file")
    if is_ours "$pid"; then kill -9 "$pid" 2>/dev/null || true; fi
  done
  rm -rf "$FOLDER"
}

configure() {
  local common="bind_ip = 127.0.0.1
user = $(id -un)
swift_dir = $FOLDER/etc
workers = 0
log_level = WARNING"
  printf '[swift-hash]\nswift_hash_path_suffix = test\n[storage-policy:0]\nname = Policy-0\ndefault = yes\n' >"$FOLDER/etc/swift.conf"
  local at=0 name
  for name in account container object; do
    at=$((at + 1))
    cat >"$FOLDER/etc/$name.conf" <<X
[DEFAULT]
$common
bind_port = ${PORTS[at]}
devices = $FOLDER/devices
mount_check = false
disable_fallocate = true
[pipeline:main]
pipeline = $name-server
[app:$name-server]
use = egg:swift#$name
X
  done
  # In one process, because swift-ring-builder would take nine, half a second each.
  /usr/bin/python3 - "$FOLDER/etc" "${PORTS[@]:1}" <<X
import sys
from swift.common.ring import RingBuilder
for name, port in zip(["account", "container", "object"], sys.argv[2:]):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "d1", "weight": 1})
    ring.rebalance()
    ring.get_ring().save(f"{sys.argv[1]}/{name}.ring.gz")
X
  cat >"$FOLDER/etc/proxy.conf" <<X
[DEFAULT]
$common
bind_port = ${PORTS[0]}
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth bulk slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:slo]
use = egg:swift#slo
max_manifest_segments = 10000
[filter:cache]
paste.filter_factory = run_cache:filter_factory
[filter:s3api]
use = egg:swift#s3api
location = $REGION
max_upload_part_num = 10000
[filter:tempauth]
use = egg:swift#tempauth
user_${USER_NAME}_$USER_KEY = $SECRET .admin
$(for name in catch_errors gatekeeper listing_formats bulk; do printf '[filter:%s]\nuse = egg:swift#%s\n' $name $name; done)
X
}

launch() {
  local name
  for name in account container object proxy; do
    PYTHONPATH="$MODULES" PYTHONDONTWRITEBYTECODE=1 setsid "swift-$name-server" "$FOLDER/etc/$name.conf" verbose </dev/null >"$FOLDER/log/$name" 2>&1 &
    echo $! >"$FOLDER/run/$name"
  done
}

wait_for_answer() {
  local _
  for _ in $(seq 1 300); do
    is_up && return
    sleep 0.1
  done
  say "the servers do not answer: $(tail -3 "$FOLDER/log/proxy")"
  stop
  exit 1
}

is_up() {
  local port
  for port in "${PORTS[@]}"; do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 1
  done
}

FOLDER=${2:?usage: s3.sh start FOLDER PORT PORT PORT PORT, or s3.sh stop FOLDER}
case $1 in
start)
  PORTS=("${@:3}")
  mkdir -p "$FOLDER"/{etc,run,log,devices/d1}
  FOLDER=$(cd "$FOLDER" && pwd)
  if ! { [ -f "$FOLDER/run/proxy" ] && is_ours "$(cat "$FOLDER/run/proxy")"; }; then
    configure
    launch
  fi
  wait_for_answer
  echo "ENDPOINT=http://127.0.0.1:${PORTS[0]}"
  echo "REGION=$REGION"
  echo "ACCESS_KEY_ID=$USER_NAME:$USER_KEY"
  echo "SECRET_ACCESS_KEY=$SECRET"
  echo "PATH_STYLE=true"
  ;;
stop)
  if [ -d "$FOLDER" ]; then FOLDER=$(cd "$FOLDER" && pwd) && stop; fi
  ;;
*) say "usage: s3.sh start FOLDER PORT PORT PORT PORT, or s3.sh stop FOLDER" && exit 1 ;;
esac
