# The example of many machines on this one: the same hash with 1, 2, 3 and 4 ranks, with dropout,
# clipping, shards of different sizes and one without targets; a rank that dies ends the others, and
# the run that goes on from the checkpoint has the bits of one that was never broken.
. ./check.sh
have mpicc mpirun || { skip mpi "no mpicc"; finish; exit; }
mpi=$work/mpi
check "mpi: the example compiles" mpicc -O1 -Wall -Wextra -Werror -DTFNORM_NO_SIMD ../examples/18_mpi.c -o "$mpi" -lm
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
for recipe in pre admin sigma-reparam; do check "mpi: ranks have one hash, $recipe" same "$recipe"; done
differs() { run 1 12 pre > "$work/one" && run 1 13 pre > "$work/two" && ! cmp -s "$work/one" "$work/two"; }
check "mpi: the hash tells runs apart" differs
resumes() {
    rm -f "$work/m.safetensors"
    run 1 24 pre > "$work/one" || return 1
    if run 2 24 pre "$work/m.safetensors" 14; then echo "a dead rank is not noticed"; return 1; fi
    [ -f "$work/m.safetensors" ] && run 4 24 pre "$work/m.safetensors" | cmp "$work/one" -
}
check "mpi: a rank dies, the next run goes on" resumes
finish
