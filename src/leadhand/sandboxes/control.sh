# The control runner: the first process in the sandbox. It starts the runners (runner.c), one per agent, and kills what
# must be killed; it does so with nothing but what is built into bash (4.4), because after a fork bomb no process can be
# started any more.
#
# $1 what is killed when the harness is gone: 0 = every process that can be seen, self = those below this one
# $2 folder of the runner's program and of the FIFOs NAME.in and NAME.out  $3 folder of outputs  $4 largest file, KiB
#
# Requests, one line each, on standard input:
#   SPAWN id name                  KILL id runner_pid
#   SWEEP id root spared_pid...    ORPHANS id root pid_of_spared_tree...
# Replies as a runner's: "LH id number 0 0 e -". SPAWN has none: the runner says hello on its own stream.

ulimit -S -u hard # see BOOT in frames.py
lh_all=${LC_ALL-}; lh_had=${LC_ALL+x}
unset LC_ALL; LC_ALL=C # lengths are bytes; not exported, so commands do not see it
lh_root=$1 lh_folder=$2 lh_spool=$3 lh_kib=$4
exec 3<&0 4>&1 </dev/null >/dev/null 2>&1
printf leadhand >/proc/$$/comm # an agent's `pkill bash` misses it
trap : TERM HUP INT QUIT USR1 USR2 ALRM PIPE # caught, not ignored: commands start with the defaults

lh_reply() { printf 'LH %s %d 0 0 e %s\n' "$1" "$2" "${3--}" >&4; }

lh_look() { # fill lh_par: pid -> parent, of everything alive
  local f l r
  lh_par=()
  for f in /proc/[0-9]*/stat; do
    l=
    { IFS= read -r l <"$f"; }
    [[ $l == *') '* ]] || { IFS= read -r -d '' l <"$f"; } # a line break in the program's name
    [[ $l == *') '* ]] || continue
    r=(${l##*) })
    [[ ${r[0]} == [ZXx] ]] || lh_par[${l%% *}]=${r[1]}
  done
}

lh_below() { # fill lh_hit: everything alive below process $1 (0 = everything), except the kept, with lh_trees their trees
  local p more=1
  local -A wall=()
  lh_hit=()
  lh_look
  if [[ $lh_trees ]]; then for p in "${lh_kept[@]}"; do wall[$p]=1; done; fi
  if (($1)); then
    lh_hit[$1]=1
  else
    for p in "${!lh_par[@]}"; do
      [[ -z ${lh_par[${lh_par[$p]}]-} && -z ${wall[$p]-} ]] && lh_hit[$p]=1
    done
  fi
  while ((more)); do
    more=0
    for p in "${!lh_par[@]}"; do
      [[ -z ${lh_hit[$p]-} && -z ${wall[$p]-} && -n ${lh_hit[${lh_par[$p]}]-} ]] && lh_hit[$p]=1 more=1
    done
  done
  for p in "$1" 1 $$ "${lh_kept[@]}"; do unset "lh_hit[$p]"; done
}

lh_kill() { # stop, then kill, everything below $1, until two looks in a row find nothing; count in lh_killed
  local pass p quiet=0
  local -A lh_par lh_hit lh_seen
  for ((pass = 0; pass < 500; pass++)); do
    lh_below "$1"
    if ((${#lh_hit[@]} == 0)); then
      ((++quiet >= 2)) && break
      continue
    fi
    quiet=0
    for p in "${!lh_hit[@]}"; do lh_seen[$p]=1; done
    kill -STOP "${!lh_hit[@]}"
    kill -KILL "${!lh_hit[@]}"
  done
  lh_killed=${#lh_seen[@]}
}

lh_kill_command() { # kill the running command of runner $1, if it runs one; its arguments tell which process that is
  local p=
  local -A lh_par
  lh_killed=0 lh_kept=() lh_trees=
  { IFS= read -r -d '' p && IFS= read -r -d '' p; } <"/proc/$1/cmdline"
  [[ $p =~ ^[0-9]+$ ]] || return
  lh_look
  [[ ${lh_par[$p]-} == "$1" ]] || return
  kill -STOP "$p" # so that it cannot end and leave its orphans to the runner
  lh_kill "$p"
  kill -KILL "$p"
  ((++lh_killed))
}

lh_spawn() { # lh_spawn name: become that runner, in the background
  trap - INT QUIT
  if [[ $lh_had ]]; then export LC_ALL=$lh_all; else unset LC_ALL; fi
  exec -a leadhand "$lh_folder/runner" 0000000000 "$lh_spool" "$1" "$lh_kib" <"$lh_folder/$1.in" >"$lh_folder/$1.out" 3<&- 4>&-
}

lh_reply 0 $$ "$UID:${GROUPS[0]}"
while IFS=' ' read -r -u 3 lh_verb lh_id lh_a lh_b; do
  case $lh_verb in
    SPAWN) lh_spawn "$lh_a" & ;;
    KILL) lh_kill_command "$lh_a"; lh_reply "$lh_id" "$lh_killed" ;;
    SWEEP) lh_kept=($lh_b) lh_trees=; lh_kill "$lh_a"; lh_reply "$lh_id" "$lh_killed" ;;
    ORPHANS) lh_kept=($lh_b) lh_trees=1; lh_kill "$lh_a"; lh_reply "$lh_id" "$lh_killed" ;;
  esac
done
# The harness is gone: nothing stays behind.
lh_kept=() lh_trees=
lh_kill "${lh_root/self/$$}"
