# No warning: gcc and clang, as C99, C11, C++11 and C++17, each configuration macro alone and all
# together; and with the optimizer on, which finds more: those that leave code out, by gcc; all of them
# by both in the full tier.
. ./check.sh
common='-Wall -Wextra -pedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion -Wundef
        -Wcast-qual -Wvla -Werror'
c_only='-Wstrict-prototypes -Wmissing-prototypes'
configs='NONE STATIC API ASSERT NO_STDIO NO_MALLOC NO_TRAINING ALL_NORMS ONLY_KERNELS NO_SIMD EXACT
         REFERENCE NO_TOKENIZERS NO_METRICS NO_FILES NO_IMPORT PARALLEL_FOR MEM SQRTF FILE ALL'

# compile COMPILER STANDARD CONFIG FLAG ...
compile() {
    cc=$1 std=$2 config=$3
    shift 3
    case $std in
    c++*) "$cc" -x c++ "-std=$std" $common "-DWITH_$config" "$@" compile/config.c ;;
    *)    "$cc" "-std=$std" $common $c_only "-DWITH_$config" "$@" compile/config.c ;;
    esac
}
all_configs() {
    bad=0
    for config in $configs; do
        compile "$1" "$2" "$config" -fsyntax-only || { echo "with $config"; bad=1; }
    done
    return $bad
}

standards='c99 c11 c++11 c++17' optimized='NONE NO_TRAINING ONLY_KERNELS ALL'
[ "$tier" = default ] && standards='c99 c++17'      # the extra tier has the others
[ "$tier" = extra ] && standards='c11 c++11'
[ "$tier" = quick ] && standards=c99 configs='NONE ALL' optimized=
full && optimized=$configs
for cc in gcc clang; do
    have "$cc" || { skip "warnings $cc" "no $cc"; continue; }
    for std in $standards; do
        check "warnings $cc $std" all_configs "$cc" "$std"
    done
    [ $cc = gcc ] || check "warnings clang -Wcomma" compile clang c99 NONE -Wcomma -fsyntax-only
    [ $cc:$tier = clang:default ] && optimized=NONE     # for -Wpass-failed, of loops not unrolled
    for config in $optimized; do
        check "warnings $cc -O2 $config" compile "$cc" c99 "$config" -O2 -c -o "$work/x.o"
        full && check "warnings $cc c++17 -O2 $config" compile "$cc" c++17 "$config" -O2 -c -o "$work/x.o"
    done
done
finish
