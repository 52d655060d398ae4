# Every C block of the README compiles and links; a block that names its example is equal to it; the
# shell commands name files that exist.
. ./check.sh
[ -f ../README.md ] || { skip README "none"; finish; exit; }
MAKEFLAGS= make -s build/lib.o || exit 1
# linked FILE PROGRAM FLAG ...: with the implementation of the tests
linked() {
    from=$1 to=$2
    shift 2
    sed '/^#define TFNORM_IMPLEMENTATION/d' "$from" > "$work/linked.c" &&
        ${CC:-cc} -Wall -Werror "$@" -I../examples -I.. -include stdlib.h -include string.h \
            "$work/linked.c" build/lib.o -o "$to" -lm           # the implementation includes them
}
# The quickstart's block of the README is what its program prints: losses, sample, hash; seconds
# differ. TFN_UPDATE=1 sh readme.sh writes the block anew, and does nothing else.
shown() {
    awk '/^The first one trains on/ { found = 1 } found && /^```/ && inside { exit }
         inside { print } found && /^```/ { inside = 1 }' ../README.md
}
without_seconds() { sed 's/, [0-9.]* s left$//'; }
quickstart() {
    linked ../examples/quickstart.c "$work/quickstart" -O2 -Wextra &&
        (cd .. && "tests/$work/quickstart" > "tests/$work/said" 2> "tests/$work/progress")
}
equal() {
    quickstart || return 1
    { head -n 1 "$work/progress"; echo ...; tail -n 1 "$work/progress"; cat "$work/said"; } \
        > "$work/shown"
    if [ "$TFN_UPDATE" ]; then
        awk -v block="$work/shown" '/^The first one trains on/ { found = 1 }
            found && inside && /^```/ { inside = found = 0 } !inside { print }
            found && /^```/ { inside = 1; while ((getline line < block) > 0) print line }' \
            ../README.md > "$work/README.md" && cp "$work/README.md" ../README.md
    fi
    tail -n 1 "$work/said" | grep -q '^bits canonical$' || { echo "bits differ here"; return 0; }
    without_seconds < "$work/shown" > "$work/wanted"
    shown | without_seconds | diff - "$work/wanted" && [ "$(wc -l < "$work/wanted")" -gt 8 ]
}
check "README's quickstart: losses, sample, hash" equal
if [ "$TFN_UPDATE" ]; then
    finish
    exit
fi
rm -f "$work"/block*
awk -v dir="$work" '
    /^```c$/ { n++; inside = 1; next }
    /^```/   { inside = 0 }
    inside   { print > (dir "/block" n ".c") }' ../README.md

block() {       # a block without main is linked with an empty one
    grep -q 'main(' "$1" || echo 'int main(void) { return 0; }' >> "$1"
    linked "$1" "$work/block" -std=c99
}
example() {     # its first line is the command that compiles the example
    file=$(sed -n '1s,^/\* cc .*\(examples/[^ ]*\.c\).*,\1,p' "$1")
    [ -z "$file" ] || cmp "$1" "../$file"
}
for f in "$work"/block*.c; do
    name=$(basename "$f" .c)
    check "README $name is its example" example "$f"
    check "README $name compiles" block "$f"
done
frozen() {              # ASCII, at most 200 KB; any other text as argument, none is an error
    [ "$(wc -c < ../examples/quickstart.txt)" -le 200000 ] &&
        ! LC_ALL=C grep -n '[^ -~]' ../examples/quickstart.txt &&
        ! "$work/quickstart" > "$work/page" 2>&1 && grep -q 'is wanted' "$work/page" &&
        ! "$work/quickstart" none > "$work/page" 2>&1 || return 1
    timeout -s INT 1 "$work/quickstart" ../tfnorm.h > "$work/page" 2>&1         # ended early
    grep -q '^hash [0-9A-F]*$' "$work/page" &&
        [ "$(grep '^hash' "$work/page")" != "$(grep '^hash' "$work/said")" ]
}
check "README: the text of the quickstart" frozen
files() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' ../README.md |
        grep -oE '(examples|tests|tools)/[a-z0-9_/.]+' | sort -u | while read -r f; do
            [ -e "../$f" ] || case $f in tools/bin/*) [ -e "../tools/${f#tools/bin/}/${f#tools/bin/}.c" ] ;; *) false ;; esac ||
                { echo "no $f"; exit 1; }
        done
}
check "README names files that exist" files
lines() { [ "$(wc -l < ../README.md)" -lt 250 ]; }
check "README has under 250 lines" lines
finish
