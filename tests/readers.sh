# All readers under the address and undefined-behaviour sanitizers: every truncation and every change
# of one byte, in small valid files of each format.
. ./check.sh
export TEST_EVERY=1 UBSAN_OPTIONS=print_stacktrace=1
have gcc || { skip readers "no gcc"; finish; exit; }
tries() {               # PROGRAM NAMES: runs the tests with NAMES in their names
    gcc -O2 -fsanitize=address,undefined -fno-sanitize-recover=all "$(test_file "$1")" -o "$work/$1" -lm &&
        TEST_ONLY=$2 "$work/$1" > "$work/log" 2>&1 && grep -q '^[1-9].* passed, 0 failed' "$work/log" ||
        { complaints "$work/log"; return 1; }
}
if [ "$tier" = night ]; then check "files: every byte" tries files any_byte
else echo "left out: files: every byte (tier night)"
fi
check "tokenizers: every byte" tries tokenize bad_
check "adapters of PEFT: every byte" tries peft bytes_changed
finish
