# Killed at 100 random moments while it trains and saves, a program goes on from its checkpoint and
# ends with the bits of one that was never stopped.
. ./check.sh
steps=2000 wanted=100
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
        if [ $status = 0 ]; then            # at its end: from the beginning again
            [ "$(cat "$work/hash")" = "$whole" ] || { echo "$(cat "$work/hash"), not $whole"; return 1; }
            rm -f "$path"
        fi
    done
    last=$("$program" "$path" $steps) || { echo "$last"; return 1; }
    echo "$kills kills; $last, uninterrupted $whole"
    [ "$last" = "$whole" ]
}
check "killed $wanted times" killed
finish
