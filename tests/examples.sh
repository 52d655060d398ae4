# Every example is built by the command on its first line, without a warning, runs, and prints what
# its opening comment says. The default tier compiles the implementation once, without any warning,
# for all but 20; it leaves those that train for longer to the extra tier, and quickstart to
# readme.sh.
. ./check.sh
here=$PWD

# build FILE: the command on its first line, run at the top level, with the program in $work
build() {
    command=$(sed -n '1s,^/\* *\(cc .*-lm\).*,\1,p; 1s,^/\* *\(cc .* -c .*\.o\)$,\1,p' "$1")
    [ -n "$command" ] || { echo "no command on line 1"; return 1; }
    command=$(printf '%s\n' "$command" | sed "s,-o [^ ]*,-Wall -Wextra -Werror -o $here/$work/example,")
    (cd .. && sh -c "$command")
}
# what the opening comment shows: the lines after the one that begins with "Prints"
comment() {
    awk '/^ \* Prints/ { on = 1; next }
         on && /^ \*     / { line = substr($0, 8); sub(/ *\*\/$/, "", line); print line }
         /\*\/$/ { exit }' "$1"
}
# run FILE: the program prints what the file shows; other bits end in other numbers
run() {
    (cd .. && "$here/$work/example" < /dev/null) > "$work/printed" || return 1
    comment "$1" > "$work/comment"
    [ -s "$work/comment" ] || { echo "the opening comment shows no output"; return 1; }
    [ "$canonical" ] || { echo "other bits"; return 0; }
    shown_by "$work/printed" < "$work/comment"
}
if canonical; then canonical=yes; else canonical=; echo "left out: what examples print: the bits here are others"; fi
# an implementation alone, which another example names, is no program
example() { build "$1" && case $command in *" -c "*) return ;; esac && run "$1"; }

implementation() {
    head -n 1 ../examples/tfnorm.c | grep -q '^/\* cc -O2 -c examples/tfnorm.c ' &&
        ${CC:-cc} -O2 -c $strict $strict_c ../examples/tfnorm.c -o "$work/tfnorm.o"
}
# linked FILE: compiles FILE with that implementation
linked() {
    grep -v '^#define TFNORM_' "$1" > "$work/linked.c" &&
        ${CC:-cc} -O2 -Wall -Wextra -Werror -I../examples "$work/linked.c" "$work/tfnorm.o" \
            -o "$work/example" -lm && run "$1"
}

if [ "$tier" = default ]; then
    echo "left out: the examples' own commands, but that of 20 (tier extra)"
    check "example tfnorm" implementation
fi
for f in ../examples/*.c; do
    [ -f "$f" ] || { skip examples "none"; continue; }
    if head -n 1 "$f" | grep -q '^/\* mpicc '; then continue; fi           # see mpi.sh
    name=$(basename "$f" .c) way=example
    case $tier:$name in
    default:tfnorm) continue ;;
    default:quickstart) continue ;;     # see readme.sh
    default:0[35789]_* | default:1[0347]_*) echo "left out: example $name (tier extra)"; continue ;;
    default:20_*) ;;                    # without training, files and allocation
    default:*) way=linked ;;
    esac
    check "example $name" $way "$f"
done

# The README's table of tasks names the examples from 03 on in their order, and the text above it
# the first two.
listed() {
    (cd .. && ls examples/[0-9]*.c examples/[0-9]*.html) > "$work/examples"
    grep -oE '\]\(examples/[0-9][0-9a-z_]*\.(c|html)' ../README.md | cut -c 3- | awk '!seen[$0]++' > "$work/named"
    diff "$work/examples" "$work/named"
}
check "the README names every example, by task and in order" listed
finish
