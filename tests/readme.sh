# Every C block of the README compiles and links; a block that names its example is equal to it; the
# shell commands name files that exist.
. ./check.sh
[ -f ../README.md ] || { skip README "none"; finish; exit; }
rm -f "$work"/block*
awk -v dir="$work" '
    /^```c$/ { n++; inside = 1; next }
    /^```/   { inside = 0 }
    inside   { print > (dir "/block" n ".c") }' ../README.md

block() {       # a block without main is linked with an empty one
    grep -q 'main(' "$1" || echo 'int main(void) { return 0; }' >> "$1"
    ${CC:-cc} -std=c99 -Wall -Werror -I.. -I../examples "$1" -o "$work/block" -lm
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
files() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' ../README.md |
        grep -oE '(examples|tests|tools)/[a-z0-9_/.]+' | sort -u | while read -r f; do
            [ -e "../$f" ] || case $f in tools/bin/*) [ -e "../tools/${f#tools/bin/}.c" ] ;; *) false ;; esac ||
                { echo "no $f"; exit 1; }
        done
}
check "README names files that exist" files
# the generated list does not count: normlab.sh compares it
lines() { [ "$(sed '/^<!-- normlab/,/^<!-- end/d' ../README.md | wc -l)" -lt 300 ]; }
check "README has under 300 lines" lines
finish
