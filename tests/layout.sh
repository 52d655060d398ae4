# The form of the header: tools/layout.c; and the sources' form in short.
. ./check.sh
${CC:-cc} -O1 ../tools/layout.c -o "$work/layout" || exit 1
# a model that tfn export wrote is no source
sources() { find ../tools ../examples -name '*.[ch]' ! -name 07_model.h; }
# shellcheck disable=SC2046
check "layout of the header, the tools, the examples" "$work/layout" ../tfnorm.h $(sources)
top_level() { # shellcheck disable=SC2012
    extra=$(ls -A .. | grep -vxE 'tfnorm\.h|examples|tests|tools|LICENSE|README\.md|\..*')
    [ -z "$extra" ] || { echo "$extra"; return 1; }
}
check "layout of the top level" top_level
ascii() { ! LC_ALL=C grep -n '[^ -~]' ../tfnorm.h; }
check "layout: ASCII only" ascii
examples() {
    for f in ../examples/*.c; do
        [ -f "$f" ] || continue
        [ "$(grep -c . "$f")" -le 100 ] || { echo "$f has over 100 lines"; return 1; }
        head -n 1 "$f" | grep -q '^/\* cc ' || { echo "$f does not start with its command"; return 1; }
    done
}
check "layout of the examples" examples
finish
