#!/usr/bin/env bash
# A Docker Engine of one's own on a private socket, for the tests marked `engine`.
#   eval "$(scripts/ci-engine.sh start)"    installs docker.io and bubblewrap where missing (Debian, root), starts the
#                                           engine, makes the test image, prints what to export
#   scripts/ci-engine.sh stop               ends it and removes what it made
# The test image has no files of its own: the host's /usr is mounted read-only by the tests.
set -euo pipefail
dir=${LEADHAND_ENGINE_DIR:-/tmp/lh-engine} # short: a socket's path may have 108 bytes
image=leadhand-test:1

start() {
  if ! command -v dockerd >/dev/null || ! command -v bwrap >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io bubblewrap
  fi
  mkdir -p "$dir"
  export DOCKER_HOST=unix://$dir/docker.sock
  if ! docker version; then
    rm -f "$dir/docker.sock" "$dir/pid"
    setsid dockerd --iptables=false --ip6tables=false --bridge=none --data-root "$dir/data" --exec-root "$dir/exec" \
      -p "$dir/pid" -H "$DOCKER_HOST" </dev/null &>"$dir/log" &
    for _ in $(seq 300); do docker version && break || sleep 0.1; done
    docker version || { cat "$dir/log"; exit 1; }
  fi
  docker image inspect "$image" || make_image
}

make_image() {
  local root=$dir/rootfs d
  mkdir -p "$root"/{usr,etc,proc,sys,dev,tmp,root,run,home,workspace,scratch,var/tmp}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  for d in bin sbin lib lib64; do ln -sfn "usr/$d" "$root/$d"; done
  echo 'root:x:0:0::/root:/bin/bash' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  cp -a /etc/alternatives "$root/etc/"
  tar -C "$root" -c . | docker import -c 'ENV PATH=/usr/local/bin:/usr/bin:/bin' -c 'WORKDIR /workspace' - "$image"
}

stop() {
  local pid
  if [[ -f $dir/pid ]]; then
    pid=$(<"$dir/pid")
    docker -H "unix://$dir/docker.sock" ps -aq | xargs -r docker -H "unix://$dir/docker.sock" rm -f
    kill "$pid"
    while [[ -d /proc/$pid && $(</proc/"$pid"/stat) != *') Z '* ]]; do sleep 0.1; done
  fi
  grep " $dir/" /proc/mounts | cut -d' ' -f2 | sort -r | xargs -r umount || true
  rm -rf "$dir"
}

case ${1-} in
  start) start >&2; echo "export DOCKER_HOST=unix://$dir/docker.sock LEADHAND_TEST_IMAGE=$image" ;;
  stop) stop >&2 ;;
  *) echo "usage: $0 start|stop" >&2; exit 2 ;;
esac
