# Every example is built by the command on its first line, without a warning, and runs; those that
# train for longer, from 08 on, only in the full tier. The default tier compiles the implementation
# once, for all examples that ask for nothing but that.
. ./check.sh
here=$PWD

# build FILE: the command on its first line, from the top level, with the program put aside
build() {
    command=$(sed -n '1s,^/\* *\(cc .*-lm\).*,\1,p; 1s,^/\* *\(cc .* -c .*\.o\)$,\1,p' "$1")
    [ -n "$command" ] || { echo "no command on line 1"; return 1; }
    command=$(printf '%s\n' "$command" | sed "s,-o [^ ]*,-Wall -Wextra -Werror -o $here/$work/example,")
    (cd .. && sh -c "$command")
}
# an implementation alone, which another example names, is no program
example() { build "$1" && case $command in *" -c "*) return ;; esac && (cd .. && "$here/$work/example" < /dev/null); }

# linked FILE: with the implementation that examples/tfnorm.c is
linked() {
    grep -v '^#define TFNORM_IMPLEMENTATION' "$1" > "$work/linked.c" &&
        ${CC:-cc} -O2 -Wall -Wextra -Werror -I../examples "$work/linked.c" "$work/tfnorm.o" \
            -o "$work/example" -lm && (cd .. && "$here/$work/example" < /dev/null)
}

# The quick start is built as it is read, and so is what asks for more than the implementation.
way() {
    asks=$(grep '^#define TFNORM_' "$1")
    case $tier:$1 in
    default:*/[0-9]*) [ "$asks" = '#define TFNORM_IMPLEMENTATION' ] && echo linked && return ;;
    esac
    echo example
}

if [ "$tier" = default ]; then
    check "examples: the implementation" ${CC:-cc} -O2 -c ../examples/tfnorm.c -o "$work/tfnorm.o"
fi
for f in ../examples/*.c; do
    [ -f "$f" ] || { skip examples "none"; continue; }
    if head -n 1 "$f" | grep -q '^/\* mpicc '; then continue; fi           # see mpi.sh
    case $TEST_TIER:$f in default:*/0[89]_* | default:*/1[0-35]_*) continue ;; esac
    check "example $(basename "$f" .c)" "$(way "$f")" "$f"
done

finish
