# The header as an object: included twice, in two units, static twice in one program, as C++; which
# symbols and macros it may have. The promise: no abort, exit or print, and no writable data.
# The default tier compiles with clang without optimization, in a tenth of the time, and of
# gcc's programs only the one in C++. The extra tier has the rest.
. ./check.sh
printf '#define TFNORM_IMPLEMENTATION\n#include "../../../tfnorm.h"\n' > "$work/tfnorm.c"

# link NAME COMPILER ARGUMENT ...: builds and runs
link() { "$@" -o "$work/program" -lm && "$work/program"; }

# symbols FILE COMPILER FLAG ...: nm's list of the object. Position-dependent code, because otherwise
# tables of pointers are in .data.rel.ro, which looks writable.
symbols() {
    file=$work/$1
    shift
    "$@" -fno-pic -fno-pie -c "$work/tfnorm.c" -o "$work/tfnorm.o" && nm "$work/tfnorm.o" > "$file"
}
lacks() { ! grep -E "$2" "$work/$1"; }        # lacks FILE PATTERN
private_macros() {
    # except the api's lists, which an implementation in the same file reads later
    "$1" -dM -E "$work/tfnorm.c" |
        awk '$2 ~ /^TFN__/ && $2 !~ /^TFN__(IMPLEMENTED$|[A-Z_]*_LIST|[A-Z]*_ENUM)/' \
        > "$work/macros"
    [ ! -s "$work/macros" ] || { cat "$work/macros"; return 1; }
}
# names that <windows.h> defines: the implementation includes it there
names_of_windows() {
    "$1" -std=c99 -fsyntax-only -Dnear= -Dfar= -Dsmall=char -Dhyper=long -Dinterface=struct \
        "$work/tfnorm.c"
}
# every macro the header leaves begins with TFN
foreign_macros() {
    "$1" -dD -E "$work/tfnorm.c" | awk '
        /^# [0-9]+ "/ { here = $3 ~ /tfnorm\.h"$/ }
        here && $1 == "#define" { split($2, n, "("); live[n[1]] = 1 }
        here && $1 == "#undef"  { delete live[$2] }
        END { for (m in live) if (m !~ /^TFN/) { print m; bad = 1 } exit bad }'
}

for cc in gcc clang; do
    have "$cc" || { skip "objects $cc" "no $cc"; continue; }
    small="-O1 -DTFNORM_NO_SIMD" whole=-O2
    if [ "$cc:$tier" = clang:default ]; then
        small="-O0 -DTFNORM_NO_SIMD" whole=-O0
        echo "left out: clang with optimization (tier extra)"
    fi
    if [ "$cc:$tier" = gcc:default ]; then
        whole=$small
        echo "left out: gcc included twice, two units, static twice, vector code (tier extra)"
    else
        check "$cc included twice"  link "$cc" $small compile/twice.c
        check "$cc two units"       link "$cc" $small compile/unit_main.c compile/unit_other.c \
                                         "$work/tfnorm.c"
        check "$cc static twice"    link "$cc" $small -DTFNORM_STATIC -DTFNORM_IMPLEMENTATION \
                                         compile/unit_main.c compile/unit_other.c
    fi
    if [ "$cc:$tier" != gcc:extra ]; then           # the default tier has them
        check "$cc C++ program"     link "$cc" $small -x c++ compile/twice.c
        check "$cc foreign macros"  foreign_macros "$cc"
        check "$cc private macros"  private_macros "$cc"
        check "$cc names of Windows" names_of_windows "$cc"
    fi
    have nm || { skip "$cc symbols" "no nm"; continue; }
    check "$cc object"              symbols plain "$cc" $whole
    check "$cc no writable symbol"  lacks plain ' [bBcCdDgGsS] '
    check "$cc public names"        lacks plain '^[0-9a-f]+ [A-Z] ([^t]|t[^f]|tf[^n]|tfn[^_])'
    check "$cc never aborts"        lacks plain ' U (_?abort|_?exit|__assert.*|raise|longjmp)$'
    check "$cc never prints"        lacks plain ' U (.*printf|.*puts|.*putchar|perror|stdout|stderr)$'
    [ "$cc:$tier" != gcc:extra ] || continue        # the default tier has it
    check "$cc object, no libc"     symbols bare "$cc" $small -DTFNORM_NO_STDIO -DTFNORM_NO_MALLOC
    check "$cc NO_STDIO"            lacks bare ' U .*(print|put|open|read|write|seek)'
    check "$cc NO_MALLOC"           lacks bare ' U (malloc|calloc|realloc|free)$'
done
finish
