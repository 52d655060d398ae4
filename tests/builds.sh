# The same bits from every compiler, optimization level, instruction set and thread count: each build
# of test_bits.c compares all of them with TFN_BITS_HASH; and the whole quickstart gives one hash.
. ./check.sh

selfcheck() { "$@" -o "$work/bits" kernels/test_bits.c -lm && "$work/bits"; }
for cc in gcc clang; do
    have "$cc" || { skip "bits $cc" "no $cc"; continue; }
    # compilers.sh has -O1 and -O3 -march=native
    # with OpenMP or without, the kernels are the same
    for flags in -O0 "-O2 -fopenmp" "-O2 -mfma -DTFNORM_NO_SIMD" "-O2 -DTFNORM_NO_SIMD -DTFNORM_EXACT"; do
        case $flags in *-mfma*) [ "$fma" ] || { skip "bits $cc $flags" "no FMA"; continue; } ;; esac
        # shellcheck disable=SC2086
        check "bits $cc $flags" selfcheck "$cc" $flags
    done
done

# the tools without vector code and without optimization
for t in bench layout normlab tfn; do
    check "tools/$t -O0 -DTFNORM_NO_SIMD" make -s -C ../tools out="$PWD/$work/tools" \
        CFLAGS="-O0 -std=c99 -DTFNORM_NO_SIMD" "$PWD/$work/tools/$t"
done

# A build that the promise excludes has other bits, and tfn_bits gives the reason.
for build in "gcc -Ofast" "gcc -O2 -ffast-math" "clang -O2 -ffast-math -DTFNORM_NO_SIMD" \
             "clang -O2 -ffp-contract=fast -mfma -DTFNORM_NO_SIMD"; do
    have "${build%% *}" || { skip "excluded: $build" "no ${build%% *}"; continue; }
    # shellcheck disable=SC2086
    check "excluded: $build" selfcheck $build -DBITS_EXCLUDED
done

# the whole quickstart: its hash with each build and choice, compared with the first one's
unset hash
build() { "$@" ../examples/quickstart.c -o "$work/quickstart" -lm; }
runs() {                    # runs SETTING
    (cd .. && env "$1" "tests/$work/quickstart") > "$work/text" 2> /dev/null || return 1
    got=$(grep -a '^hash ' "$work/text") && grep -qa '^bits canonical' "$work/text" || return 1
    echo "$got, the first was ${hash:=$got}"
    [ "$got" = "$hash" ]
}
quickstart() { build "$@" && runs NONE=; }
for cc in gcc clang; do
    have "$cc" || continue
    check "quickstart $cc -O2" quickstart "$cc" -O2
    check "quickstart $cc -O3 -march=native" quickstart "$cc" -O3 -march=native
done
check "quickstart builds with all sets and threads" build "${CC:-cc}" -O2 -DTFNORM_ALL_ISA -pthread
for isa in fma128 avx2 avx512; do
    if grep -qw "$(echo $isa | sed 's/fma128/fma/; s/avx512/avx512f/')" /proc/cpuinfo
    then check "quickstart $isa" runs TFNORM_ISA=$isa
    else skip "quickstart $isa" "the processor lacks it"
    fi
done
check "quickstart 2 threads" runs TFNORM_THREADS=2
finish
