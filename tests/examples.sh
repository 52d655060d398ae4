# Every example is built by the command on its first line, without a warning, and runs; those that
# train for longer, from 08 on, only in the full tier.
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

for f in ../examples/*.c; do
    [ -f "$f" ] || { skip examples "none"; continue; }
    if head -n 1 "$f" | grep -q '^/\* mpicc '; then continue; fi           # see mpi.sh
    case $TEST_TIER:$f in default:*/0[89]_* | default:*/1[0-35]_*) continue ;; esac
    check "example $(basename "$f" .c)" example "$f"
done

finish
