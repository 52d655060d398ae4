# Passes lines on as they come and counts: an "ok" line is a passed test, a "FAILED" line a failed one.
passed=0 failed=0 list= late=
while IFS= read -r line; do
    case $line in
    "ok "*)     passed=$((passed + 1)) ;;
    "FAILED "*) failed=$((failed + 1)) list="$list
  ${line#FAILED }" ;;
    "left out: "*": no time") late=1 ;;         # maybe no job was started at all
    [0-9]*" passed, "*" failed") continue ;;
    esac
    printf '%s\n' "$line"
done
if [ -n "$list" ]; then echo "failed:$list"; fi
echo "$passed passed, $failed failed" | tee build/tally
[ "$failed" = 0 ] && [ "$passed$late" != 0 ]
