# No warning: gcc and clang, as C99, C11, C++11 and C++17, each configuration macro by itself and all
# together, and with the optimizer, which finds more. The default tier compiles each one once, with
# clang, which is faster, and a few in the other ways. The extra tier compiles all as C99 and C++17, a few
# as C11 and C++11, and some with -O2; the night tier compiles all in each way. Warnings that clang gives
# at -O2 by default, such as loops not unrolled, are checked by size.sh.
. ./check.sh
configs='NONE STATIC API ASSERT NO_STDIO NO_MALLOC NO_TRAINING ALL_NORMS ONLY_KERNELS NO_SIMD EXACT
         REFERENCE NO_TOKENIZERS NO_METRICS NO_FILES NO_IMPORT NO_PICKLE NO_GGUF NO_QUANT PARALLEL_FOR MEM
         SQRTF FILE SMALL LEAN ONLY_DECODERS ALL'

# compile COMPILER STANDARD CONFIG FLAG ...
compile() {
    cc=$1 std=$2 config=$3
    shift 3
    case $std in
    c++*) "$cc" -x c++ "-std=$std" $strict "-DWITH_$config" "$@" compile/config.c ;;
    *)    "$cc" "-std=$std" $strict $strict_c "-DWITH_$config" "$@" compile/config.c ;;
    esac
}
all_of() {              # all_of COMPILER STANDARD CONFIG ...
    looking=$1 standard=$2 bad=0
    shift 2
    for config; do
        compile "$looking" "$standard" "$config" -fsyntax-only || { echo "with $config"; bad=1; }
    done
    return $bad
}
few='NONE NO_TRAINING ALL'
fewer='NONE NO_SIMD ALL'
without() { echo $(printf '%s\n' $configs | grep -v -x -F "$(printf '%s\n' "$@")"); }
chosen() {              # chosen COMPILER STANDARD: the configurations of this tier
    case $tier:$1:$2 in
    quick:*:c99) echo NONE ALL ;;
    default:clang:c99) echo $configs ;;
    default:*:c99) echo $few ;;
    default:*:c++17) echo $fewer ;;
    extra:clang:c99) ;;
    extra:*:c99) without $few ;;
    extra:*:c++17) without $fewer ;;
    full:*11 | extra:*11) echo $few ;;
    full:* | night:* | extra:*) echo $configs ;;
    esac
}

optimized=
[ "$tier" = default ] && optimized=ALL      # examples.sh compiles NONE
full && optimized='NONE NO_TRAINING REFERENCE SMALL'    # as C++17 only NONE
[ "$tier" = night ] && optimized=$configs
if [ "$tier" = default ]; then
    echo "left out: by gcc: $(without $few) (tier extra)"
    echo "left out: as C++17: $(without $fewer) (tier extra)"
    echo "left out: C11, C++11, most with -O2 (tier extra)"
elif [ "$tier" = full ] || [ "$tier" = extra ]; then
    echo "left out: most as C11, as C++11 and with -O2 (tier night)"
fi
for cc in gcc clang; do
    have "$cc" || { skip "warnings $cc" "no $cc"; continue; }
    for std in c99 c11 c++11 c++17; do
        wanted=$(chosen $cc $std)
        [ -z "$wanted" ] || check "warnings $cc $std" all_of $cc $std $wanted
    done
    [ $cc = gcc ] || check "warnings clang -Wcomma" compile clang c99 NONE -Wcomma -fsyntax-only
    [ $cc:$tier = clang:default ] && continue
    for config in $optimized; do
        check "warnings $cc -O2 $config" compile "$cc" c99 "$config" -O2 -c -o "$work/x.o"
        case $tier:$config in full:NONE | extra:NONE | night:*)
            check "warnings $cc c++17 -O2 $config" compile "$cc" c++17 "$config" -O2 -c -o "$work/x.o" ;;
        esac
    done
done
# a program with macros for single letters, and those of Arduino, <windows.h> and <complex.h>
for cc in gcc clang; do
    have "$cc" || continue
    check "macros of the program, $cc c99" "$cc" -std=c99 -Wall -Wextra -Werror -fsyntax-only compile/hosts.c
    check "macros of the program, $cc c++11" \
        "$cc" -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only compile/hosts.c
done
check "the tests with the macros near and far of windows.h" \
    "${CC:-cc}" -std=c99 -fsyntax-only -Dnear= -Dfar= all.c
finish
