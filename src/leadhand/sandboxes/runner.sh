# The runner: a bash process inside the sandbox that runs one agent's commands, one after the other.
# A second one, the control runner, starts runners and kills what must be killed. Needs bash 4.4 and coreutils.
#
# $1 spool folder (outputs)  $2 name of this runner  $3 the launcher (launcher.c)  $4 largest file, KiB
# $5 what the control runner kills when the harness is gone: 0 = every process that can be seen, self = those below it
# LH_BOOT is the shell text that starts a bash which reads this script from its standard input.
#
# Requests, one line each, with a payload where lengths are given; fd 3:
#   RUN id keep len(cwd) len(command)     PUT id len(path) len(data)      PING id
#   SPAWN id name fifo_in fifo_out        KILL id name runner_pid
#   SWEEP id root spared_pid...           ORPHANS id root pid_of_spared_tree...
# Replies, fd 4: "LH id code size sent flag path" and exactly `sent` bytes. Flags: e the output ended, b something in
# the background still holds it, f it was cut off (too large, or the disk is full).
#
# Why an output goes through a pipe into a file: a command that opens /dev/stderr or /dev/stdout anew (`tee /dev/stderr`)
# would truncate a file that it was given directly. Why the kill path uses builtins only: it must work when no process
# can be started any more.

ulimit -S -u hard # see BOOT in frames.py
lh_all=${LC_ALL-}; lh_had=${LC_ALL+x}
unset LC_ALL; LC_ALL=C # lengths are bytes; not exported, so commands do not see it
lh_spool=$1 lh_name=$2 lh_launcher=$3 lh_blocks=$4 lh_root=$5 lh_n=0
exec 3<&0 4>&1 </dev/null >/dev/null 2>&1
exec 9<> <(:) # a pipe on which launchers say that an output ended
printf leadhand >/proc/$$/comm # an agent's `pkill bash` misses it
trap : TERM HUP INT QUIT USR1 USR2 ALRM PIPE # caught, not ignored: commands start with the defaults

lh_reply() { printf 'LH %s %d %d %d %s %s\n' "$1" "$2" "${3-0}" "${4-0}" "${5-e}" "${6--}" >&4; }

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

lh_kill_command() { # kill the running command of runner $1 with pid $2, if it still runs
  local p= parent
  local -A lh_par
  lh_killed=0 lh_kept=() lh_trees=
  { IFS= read -r p <"$lh_spool/$1.pid"; }
  [[ $p =~ ^[0-9]+$ ]] || return
  lh_look
  [[ ${lh_par[$p]-} == "$2" ]] || return
  kill -STOP "$p" # so that it cannot end and leave its orphans to the runner
  lh_kill "$p"
  kill -KILL "$p"
  ((++lh_killed))
}

lh_ended() { # lh_ended id seconds: whether the output of command `id` ended within that time; how is in lh_flag
  local part
  while IFS= read -r -t "$2" -u 9 part; do
    part=$lh_word$part lh_word=
    [[ ${part% *} == "$1" ]] && { lh_flag=${part#* }; return 0; } # else word of an older output
  done
  lh_word+=$part # time was up in the middle of a line
  lh_flag=b
  return 1
}

lh_settle() { # the command ended but its output has not: wait until what was written is drained
  local i k l last= pos state pid= file steps=120 kids=()
  { read -r -a kids <"/proc/$$/task/$$/children"; } || { [[ -e /proc/$$/task/$$/children ]] || kids=(/proc/[0-9]*); }
  # What was left in the background is our child by now. Where there is nobody but the launcher, it is only slow.
  ((${#kids[@]} <= 1)) && steps=2000
  for k in "${kids[@]#/proc/}"; do # the launcher that drains into our file
    { IFS= read -r -d '' l && IFS= read -r -d '' file; } <"/proc/$k/cmdline"
    [[ $file == "$lh_out" ]] && pid=$k
  done
  [[ $pid ]] && { exec 6<"/proc/$pid/fd/0"; } || { lh_ended "$1" 0.02; return; }
  for ((i = 0; i < steps; i++)); do
    pos= state=Z
    { read -r _ pos <"/proc/$pid/fdinfo/1"; }
    { IFS= read -r l <"/proc/$pid/stat"; } && state=${l##*) } && state=${state%% *}
    if [[ $state == [ZX] ]]; then lh_ended "$1" 0.02; break; fi
    if ((steps == 120)) && [[ $state == S && $pos == "$last" ]] && ! read -r -t 0 -u 6; then break; fi
    last=$pos
    lh_ended "$1" 0.005 && break
  done
  exec 6<&-
}

lh_send() { # lh_send id code keep flag: reply with the first and last bytes of the output file
  local text= pos=0 size
  if ! { exec 7<"$lh_out"; }; then lh_reply "$1" "$2" 0 0 f; return; fi
  IFS= read -r -N 16385 -u 7 text
  { read -r _ pos; } </proc/$BASHPID/fdinfo/7
  if ((pos <= 16384 && pos == ${#text} && pos <= 2 * $3)); then # small, and no NUL byte was lost: no process needed
    lh_reply "$1" "$2" "$pos" "$pos" "$4"
    printf %s "$text" >&4
    exec 7<&-
    return
  fi
  exec 7<&- 7<"$lh_out"
  size=$(stat -L -c %s /proc/self/fd/7 4>&-)
  if ((size <= 2 * $3)); then
    lh_reply "$1" "$2" "$size" "$size" "$4"
    head -c "$size" <&7 >&4
  else
    lh_reply "$1" "$2" "$size" $((2 * $3)) "$4" "$lh_out"
    head -c "$3" <&7 >&4
    tail -c +$((size - $3 + 1)) "$lh_out" | head -c "$3" >&4
    lh_out=
  fi
  exec 7<&-
}

lh_run() { # lh_run id keep len(cwd) len(command)
  local cwd= cmd= code script=
  IFS= read -r -N "$3" -u 3 cwd
  (($4)) && IFS= read -r -N "$4" -u 3 cmd
  [[ -d $lh_spool ]] || mkdir -p "$lh_spool"
  [[ -x $lh_launcher || -z ${LH_ARM-} ]] || lh_arm
  [[ $lh_out ]] || lh_out=$lh_spool/$lh_name.$((++lh_n)).out
  : >"$lh_out" # not the last output again, if this command does not come to write one
  if (($4 > 100000)); then # more than one argument may hold
    script=$lh_spool/$lh_name.sh
    printf %s "$cmd" >"$script"
  fi
  (
    ulimit -f "$lh_blocks"
    echo 300 >/proc/self/oom_score_adj # a lack of memory ends commands, not runners
    echo "$BASHPID" >"$lh_spool/$lh_name.pid"
    cd -- "$cwd" || { printf %s\\n "there is no folder $cwd" >"$lh_out"; printf '%s e\n' "$1" >&9; exit 125; }
    if [[ $lh_had ]]; then export LC_ALL=$lh_all; else unset LC_ALL; fi
    exec 3<&- 4>&-
    if [[ $script ]]; then set -- "$1" "$script"; else set -- "$1" -c "$cmd"; fi
    exec "$lh_launcher" "$lh_out" "$1" "$lh_blocks" /bin/bash "${@:2}"
  )
  code=$?
  lh_ended "$1" 0.01 || lh_settle "$1"
  lh_send "$1" "$code" "$2" "$lh_flag"
  [[ $lh_flag == e ]] || lh_out= # somebody else's file from now on
}

lh_put() { # lh_put id len(path) len(data)
  local path= code=1
  IFS= read -r -N "$2" -u 3 path
  mkdir -p -- "${path%/*}/"
  if [[ (! -e $path || -f $path) ]] && { exec 7>"$path"; }; then
    head -c "$3" <&3 >&7 && code=0
    exec 7>&-
  else
    head -c "$3" <&3
  fi
  lh_reply "$1" $code
}

lh_arm() { # put the launcher (back) in place, where the sandbox cannot be given it in a read-only mount
  printf "$LH_ARM" >"$lh_launcher.$$" && chmod 555 "$lh_launcher.$$" && mv -f "$lh_launcher.$$" "$lh_launcher"
}

lh_spawn() { # lh_spawn fifo_in fifo_out: become another runner, in the background
  trap - INT QUIT
  exec "$lh_launcher" - /bin/bash --norc --noprofile -c "$LH_BOOT" <"$1" >"$2" 3<&- 4>&- 9>&-
}

lh_out= lh_word=
printf 'LH 0 %d 0 0 e %s\n' $$ "$UID:${GROUPS[0]}" >&4
while IFS=' ' read -r -u 3 lh_verb lh_id lh_a lh_b lh_c; do
  case $lh_verb in
    RUN) lh_run "$lh_id" "$lh_a" "$lh_b" "$lh_c" ;;
    PUT) lh_put "$lh_id" "$lh_a" "$lh_b" ;;
    PING) lh_reply "$lh_id" 0 ;;
    SPAWN) lh_spawn "$lh_b" "$lh_c" & ;;
    KILL) lh_kill_command "$lh_a" "$lh_b"; lh_reply "$lh_id" "$lh_killed" ;;
    SWEEP) lh_kept=($lh_b $lh_c) lh_trees=; lh_kill "$lh_a"; lh_reply "$lh_id" "$lh_killed" ;;
    ORPHANS) lh_kept=($lh_b $lh_c) lh_trees=1; lh_kill "$lh_a"; lh_reply "$lh_id" "$lh_killed" ;;
  esac
done
if [[ $lh_name == control ]]; then # the harness is gone: nothing stays behind
  lh_kept=() lh_trees=
  lh_kill "${lh_root/self/$$}"
fi
