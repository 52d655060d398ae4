# Builds the core tests with gcc and clang (full optimization, for size, for 32 bits) and with a small compiler. The
# night tier adds -O0, -O1 (which the default tier's library has, too) and OpenMP; builds.sh compares bits.
. ./check.sh
export TEST_WITHOUT=$long_cases
core() {
    "$@" -o "$work/all" all.c -lm || return 1
    TEST_TIER=quick "$work/all" > "$work/log" 2>&1 || { complaints "$work/log"; return 1; }
}
for cc in gcc clang; do
    have "$cc" || { skip "core $cc" "no $cc"; continue; }
    for flags in -O0 "-O2 -fopenmp" "-O1 -std=c11" "-O3 -march=native" "-Os -DTFNORM_NO_SIMD" \
                 "-O2 -m32 -msse2 -mfpmath=sse"; do
        case $flags in
        -O0 | *-fopenmp | *-std=c11) [ "$tier" = night ] || { echo "left out: core $cc $flags (tier night)"; continue; } ;;
        *-m32*)
            echo 'int main(void){return 0;}' | "$cc" -m32 -x c - -o "$work/m32" 2> /dev/null ||
                { skip "core $cc $flags" "no 32-bit libc"; continue; } ;;
        esac
        # shellcheck disable=SC2086
        check "core $cc $flags" core "$cc" $flags
    done
done
if have tcc; then check "core tcc" core tcc; else skip "core tcc" "no tcc"; fi
finish
