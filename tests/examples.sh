# Every example compiles without a warning by the command on its first line, and runs. The default
# tier compiles the implementation once, without any warning, for all except 07, and leaves those that
# train longer to the extra tier and quickstart to readme.sh.
. ./check.sh
here=$PWD

# build FILE: the command on its first line, run at the top level, with the program in $work
build() {
    command=$(sed -n '1s,^/\* *\(cc .*-lm\).*,\1,p; 1s,^/\* *\(cc .* -c .*\.o\)$,\1,p' "$1")
    [ -n "$command" ] || { echo "no command on line 1"; return 1; }
    command=$(printf '%s\n' "$command" | sed "s,-o [^ ]*,-Wall -Wextra -Werror -o $here/$work/example,")
    (cd .. && sh -c "$command")
}
# a file with only the implementation, for another example, is not a program
example() { build "$1" && case $command in *" -c "*) return ;; esac && (cd .. && "$here/$work/example" < /dev/null); }

implementation() {
    head -n 1 ../examples/tfnorm.c | grep -q '^/\* cc -O2 -c examples/tfnorm.c ' &&
        ${CC:-cc} -O2 -c $strict $strict_c ../examples/tfnorm.c -o "$work/tfnorm.o"
}
# linked FILE: compiles FILE with that implementation
linked() {
    grep -v '^#define TFNORM_' "$1" > "$work/linked.c" &&
        ${CC:-cc} -O2 -Wall -Wextra -Werror -I../examples "$work/linked.c" "$work/tfnorm.o" \
            -o "$work/example" -lm && (cd .. && "$here/$work/example" < /dev/null)
}

if [ "$tier" = default ]; then
    echo "left out: the examples' own commands except that of 07 (tier extra)"
    check "example tfnorm" implementation
fi
for f in ../examples/*.c; do
    [ -f "$f" ] || { skip examples "none"; continue; }
    if head -n 1 "$f" | grep -q '^/\* mpicc '; then continue; fi           # see mpi.sh
    name=$(basename "$f" .c) way=example
    case $tier:$name in
    default:tfnorm) continue ;;
    default:quickstart) continue ;;     # see readme.sh
    default:0[4689]_* | default:1[0-35]_*) echo "left out: example $name (tier extra)"; continue ;;
    default:07_*) ;;                    # without training, files and allocation
    default:*) way=linked ;;
    esac
    check "example $name" $way "$f"
done

finish
