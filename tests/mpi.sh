# The example for many machines, run on this one: the same hash with 1, 2, 3 and 4 ranks, with dropout,
# clipping, shards of different sizes and one without targets; a rank that dies ends the others, and
# the run that resumes from the checkpoint has the bits of one without interruption. In the default
# tier it is linked with the implementation of the tests and has one recipe; the extra tier has the
# others.
. ./check.sh
have mpicc mpirun || { skip mpi "no mpicc"; finish; exit; }
mpi=$work/mpi
recipes='pre admin sigma-reparam'
compiles() {
    if [ "$tier" != default ]; then
        mpicc -O1 -Wall -Wextra -Werror -DTFNORM_NO_SIMD ../examples/22_mpi.c -o "$mpi" -lm
        return
    fi
    MAKEFLAGS= make -s build/lib.o &&
        sed '/^#define TFNORM_IMPLEMENTATION/d' ../examples/22_mpi.c > "$work/linked.c" &&
        mpicc -O1 -Wall -Wextra -Werror -I../examples -include stdlib.h -include string.h \
            "$work/linked.c" build/lib.o -o "$mpi" -lm          # the implementation includes them
}
check "mpi: the example compiles" compiles
if [ "$tier" = default ]; then
    recipes=pre
    echo "left out: mpi with admin, sigma-reparam; without vector code (tier extra)"
fi
[ "$tier" != extra ] || recipes='admin sigma-reparam'
root=
[ "$(id -u)" = 0 ] && root=--allow-run-as-root
run() {                 # run RANKS ARGUMENT ...: a line "hash ..."; fails if a rank does
    ranks=$1
    shift
    # shellcheck disable=SC2086
    timeout 120 mpirun $root --oversubscribe -np "$ranks" "$mpi" "$@" > "$work/said" 2>&1 && grep '^hash' "$work/said"
}
same() {                # same RECIPE: one hash for any number of ranks
    run 1 12 "$1" > "$work/one" || return 1
    for n in 2 3 4; do run "$n" 12 "$1" | cmp "$work/one" - || { echo "$n ranks"; return 1; }; done
}
for recipe in $recipes; do check "mpi: one hash for any number of ranks, $recipe" same "$recipe"; done
if [ "$tier" = extra ]; then finish; exit; fi       # the rest is in the default tier
says() {                # the opening comment has the hash of these 12 updates
    run 1 12 pre > "$work/one" && { ! canonical || grep -q "^ \*     $(cat "$work/one") \*/$" ../examples/22_mpi.c; } ||
        { cat "$work/one"; return 1; }
}
# other tiers compile without vector code, which gives another hash
[ "$tier" != default ] || check "mpi: the hash of the opening comment" says
differs() { run 1 12 pre > "$work/one" && run 1 13 pre > "$work/two" && ! cmp -s "$work/one" "$work/two"; }
check "mpi: other runs have other hashes" differs
resumes() {
    rm -f "$work/m.safetensors"
    run 1 24 pre > "$work/one" || return 1
    if run 2 24 pre "$work/m.safetensors" 14; then echo "a dead rank is not noticed"; return 1; fi
    [ -f "$work/m.safetensors" ] && run 4 24 pre "$work/m.safetensors" | cmp "$work/one" -
}
check "mpi: a rank dies, the next run resumes" resumes
finish
