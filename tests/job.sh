# job.sh NAME: run one test program and print its lines together when it ends. A program that
# crashes or does not end with its tally has failed; after TEST_DEADLINE none begins.
name=$1
if [ "$(date +%s)" -ge "${TEST_DEADLINE:-9999999999}" ]; then
    echo "left out: $name: no time"
    exit
fi
log=build/$name.log
begin=$(date +%s)

run() {
    if [ -f "test_$name.c" ]; then MAKEFLAGS= make -s "build/test_$name" && "build/test_$name"
    elif [ -f "$name.c" ]; then MAKEFLAGS= make -s "build/$name" && "build/$name"
    elif [ -f "$name.sh" ]; then sh "$name.sh"
    else sh "compile/$name.sh"
    fi
}

run > "$log" 2>&1
status=$?
if ! tail -n 1 "$log" | grep -q '^[0-9]* passed, [0-9]* failed$'; then
    echo "FAILED $name: ended early with status $status" >> "$log"
fi
echo "$name: $(($(date +%s) - begin)) s" >> "$log"
cat "$log"
