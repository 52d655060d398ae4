# Every C block of the README compiles and links; a block that names its example must equal it; the
# files in shell commands must exist.
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
# The block below the quickstart's command equals the program's output, without the lines that
# "..." replaces. TFN_UPDATE=1 sh readme.sh only prints the whole output.
shown() {
    awk '/quickstart 4207 1999$/ { n = 1; next } n == 1 && /^```$/ { n = 2; next }
         n == 2 && /^```$/ { n = 3; next } n == 3 && /^```$/ { exit } n == 3 { print }' ../README.md
}
quickstart() {
    linked ../examples/quickstart.c "$work/quickstart" -O2 -Wextra &&
        "$work/quickstart" 4207 1999 > "$work/said"
}
equal() {
    quickstart || return 1
    if [ "$TFN_UPDATE" ]; then cat "$work/said"; return 1; fi
    tail -n 1 "$work/said" | grep -q '^bits canonical$' || { echo "bits differ here"; return 0; }
    [ "$(shown | wc -l)" -ge 10 ] && shown | shown_by "$work/said"
}
check "README's quickstart: losses, numbers, hash" equal
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
example() {     # the block's first line is the command that compiles the example
    file=$(sed -n '1s,^/\* cc .*\(examples/[^ ]*\.c\).*,\1,p' "$1")
    # its opening comment also says what it prints
    [ -z "$file" ] || awk 'NR == 1 && !/[*][\/]$/ { print $0 " */"; skip = 1; next }
        skip { skip = !/[*][\/]$/; next } { print }' "../$file" | cmp "$1" -
}
for f in "$work"/block*.c; do
    name=$(basename "$f" .c)
    check "README $name is its example" example "$f"
    check "README $name compiles" block "$f"
done
# the text of 04_language_model.c: ASCII, at most 200 KB; it accepts another text as argument, and a missing one is an error
frozen() {
    linked ../examples/04_language_model.c "$work/lm" -O2 -Wextra &&
        [ "$(wc -c < ../examples/04_language_model.txt)" -le 200000 ] &&
        ! LC_ALL=C grep -n '[^ -~]' ../examples/04_language_model.txt &&
        ! "$work/lm" > "$work/page" 2>&1 && grep -q 'is expected' "$work/page" &&
        ! "$work/lm" none > "$work/page" 2>&1 || return 1
    timeout -s INT 1 "$work/lm" ../tfnorm.h > "$work/page" 2>&1         # ended early
    grep -q '^hash [0-9A-F]*$' "$work/page"
}
check "README: the text of 04_language_model.c" frozen
files() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' ../README.md |
        grep -oE '(examples|tests|tools)/[a-z0-9_/.]+' | sort -u | while read -r f; do
            [ -e "../$f" ] || case $f in
                tools/bin/web/*) [ -e "../tools/${f#tools/bin/}" ] ;;
                tools/bin/*) [ -e "../tools/${f#tools/bin/}/${f#tools/bin/}.c" ] ;;
                *) false ;;
            esac || { echo "no $f"; exit 1; }
        done
}
check "README names files that exist" files
links() {               # every link to a file leads to one
    (cd .. && git ls-files -co --exclude-standard '*.md' 2> /dev/null || find . -name '*.md') > "$work/documents"
    [ "$(wc -l < "$work/documents")" -ge 5 ] || return 1
    while read -r document; do
        grep -oE '\]\([^)#]+' "../$document" | cut -c 3- | grep -v '^http' > "$work/links"
        while read -r link; do
            [ -e "../$(dirname "$document")/$link" ] || { echo "$document: no $link"; return 1; }
        done < "$work/links"
    done < "$work/documents"
}
check "links in the documents" links
messages() {            # messages FILE ...: errors that documents quote have the format of the library's
    grep -ohE 'linear: input has [0-9]+ channels, [a-z ]+ [0-9]+' "$@" | sed 's/^linear: //; s/[0-9][0-9]*/%d/g' |
        sort -u > "$work/formats"
    [ "$(wc -l < "$work/formats")" = 1 ] && grep -qF -f "$work/formats" ../tools/source/tape/record_ops.c
}
check "README and manual quote an error of the library" messages ../README.md ../tfnorm.h
stale_message() {
    echo 'linear: input has 48 channels, weight has 64' > "$work/stale.md"
    ! messages "$work/stale.md"
}
check "an error that the library does not have is seen" stale_message
lines() { [ "$(wc -l < ../README.md)" -lt 220 ]; }
check "README has under 220 lines" lines
finish
