# A program that is killed at 100 random moments while it trains and saves resumes from its checkpoint and
# ends with the bits of one without interruption. So does one whose disk was full.
. ./check.sh
steps=2000 wanted=${KILLS:-100}
path=$work/run.safetensors
program=$work/child
${CC:-cc} -O2 kill_child.c -o "$program" -lm || exit 1

# a delay of 0.02 to 0.15 s, from the number of the round
delay() { awk -v n="$1" 'BEGIN { srand(n); printf "%.3f", 0.02 + 0.13 * rand() }'; }

killed() {
    rm -f "$work"/*.safetensors*
    whole=$("$program" "$work/whole.safetensors" $steps) || { echo "$whole"; return 1; }
    kills=0 round=0
    while [ $kills -lt $wanted ]; do
        round=$((round + 1))
        "$program" "$path" $steps > "$work/hash" &
        child=$!
        sleep "$(delay $round)"
        if kill -9 $child 2> /dev/null; then kills=$((kills + 1)); fi
        wait $child 2> /dev/null
        status=$?
        [ $status = 137 ] || [ $status = 0 ] || { echo "round $round: status $status"; cat "$work/hash"; return 1; }
        if [ $status = 0 ]; then            # it finished: start again
            [ "$(cat "$work/hash")" = "$whole" ] || { echo "$(cat "$work/hash"), not $whole"; return 1; }
            rm -f "$path"
        fi
    done
    last=$("$program" "$path" $steps) || { echo "$last"; return 1; }
    echo "$kills kills; $last, uninterrupted $whole"
    [ "$last" = "$whole" ]
}
check "killed $wanted times" killed

# overflows PATH COMMAND ...: if COMMAND leaves no room for a save, the save fails and the old file stays;
# without COMMAND the run continues to the same hash
overflows() {
    path=$1
    shift
    whole=$("$program" "$work/whole2.safetensors" 20) && "$program" "$path" 10 > "$work/hash" &&
        cp "$path" "$work/old" || return 1
    "$@" "$program" "$path" 20 > "$work/hash"
    [ $? = 1 ] && grep '^save: ' "$work/hash" && cmp "$path" "$work/old" && [ -z "$(find "$(dirname "$path")" -name "${path##*/}*.tmp")" ] &&
        [ "$("$program" "$path" 20)" = "$whole" ]
}
rm -f "$work"/*2.safetensors "$work/limited.safetensors"
"$program" "$work/size2.safetensors" 1 > "$work/hash"
bytes=$(wc -c < "$work/size2.safetensors")
limited() { (trap '' XFSZ; ulimit -f $((bytes / 1024)) && exec "$@"); }      # half of it
check "a limited file size" overflows "$work/limited.safetensors" limited
disk=$PWD/$work/disk
mkdir -p "$disk"
filled() { head -c "$bytes" /dev/zero > "$disk/filler"; "$@"; code=$?; rm "$disk/filler"; return $code; }
if mount -t tmpfs -o size=$((bytes * 5 / 2)) tmpfs "$disk" 2> "$work/output"; then
    check "a full disk" overflows "$disk/run.safetensors" filled
    umount "$disk"
else skip "a full disk" "no right to mount one"
fi
finish
