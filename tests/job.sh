# job.sh NAME: run one test program or script and print its lines together when it ends. A program that
# crashes, runs no test or does not end with its tally has failed. None starts after TEST_DEADLINE. Prints its time.
name=$1
if [ "$(date +%s)" -ge "${TEST_DEADLINE:-9999999999}" ]; then
    echo "left out: $name: no time"
    exit
fi
mkdir -p build
log=build/$name.log
begin=$(date +%s)

run() {
    if [ -n "$(ls ./*/"test_$name.c" 2> /dev/null)" ]; then MAKEFLAGS= make -s "build/test_$name" && "build/test_$name"
    elif [ -f "$name.c" ]; then MAKEFLAGS= make -s "build/$name" && "build/$name"
    elif [ -f "$name.sh" ]; then sh "$name.sh"
    else sh "compile/$name.sh"
    fi
}

(run; status=$?; times > "build/$name.times"; exit $status) > "$log" 2>&1
status=$?
if ! tail -n 1 "$log" | grep -q '^[0-9]* passed, [0-9]* failed$'; then
    echo "FAILED $name: ended early with status $status" >> "$log"
fi
if tail -n 1 "$log" | grep -qx '0 passed, 0 failed' && ! grep -q -e '^skipped: ' -e '^left out: ' "$log"; then
    echo "FAILED $name: no test ran" >> "$log"
fi
spent=$(awk 'NR == 2 { split($1, u, "[ms]"); split($2, s, "[ms]")
                         printf "%.0f", 60*(u[1] + s[1]) + u[2] + s[2] }' "build/$name.times")
echo "$name: $(($(date +%s) - begin)) s, $spent s of processor time" >> "$log"
cat "$log"
