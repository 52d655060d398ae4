# Checks the form of the header with tools/layout, and a few rules for other sources.
. ./check.sh
get_tool layout || exit 1
# models written by tfn export are not sources
sources() { find ../tools ../examples -name '*.[ch]' ! -name 20_model.h ! -path '*/source/*/*' ! -path '*/bin/*'; }
form() {                # prints its findings, without the lengths of the parts
    # shellcheck disable=SC2046
    "$work/layout" ../tfnorm.h $(sources) > "$work/form" || { grep -v ' code lines$' "$work/form"; return 1; }
}
check "layout of the header, the tools, the examples" form
# each rule must find what violates it: a call downwards, a long function, a wide line, a double section
sees() {                # sees MESSAGE SED-COMMAND
    sed "$2" ../tfnorm.h > "$work/broken.h"
    ! "$work/layout" "$work/broken.h" > "$work/said" && grep -q "$1" "$work/said"
}
check "layout sees a call of a later section" sees 'later section: tfn__split_13a' \
    's/^static inline double tfn__sin(double x) {/&tfn__split_13a(0, 0);/'
check "layout sees a section twice" sees 'a second section' 's,^/\* >> dense \*/$,/* >> simd */,'
check "layout sees a condition in a loop" sees 'too dense: conditions in loops' \
    's/\(for (int[0-9a-z_]* [a-z] = [^;]*;\) \([^;&]*\);/\1 \2 \&\& true;/'
check "layout sees two values in a declaration" sees 'too dense: double initializers' \
    's/^\( *\)\(int\|int32_t\|int64_t\|float\|double\|size_t\) \([a-z]*\) = \([^,;]*\);/\1\2 \3 = \4, u = 0;/'
check "layout sees ?: in an expression" sees 'too dense: lines with ?:' \
    's/^    return \([^;?]*\);$/    return true ? \1 : \1;/'
check "layout sees missing comments" sees 'too few comments' '/>>/!{/^ *\/\*.*\*\/$/d;}'
dense_tool() {          # adds ?: wherever a function returns a value
    sed 's/^\( *\)return \([^;?]*\);$/\1return true ? \2 : \2;/' ../tools/common/data.c > "$work/dense.h"
    ! "$work/layout" ../tfnorm.h "$work/dense.h" > "$work/said" &&
        grep -q 'dense.h:1: too dense: lines with ?:' "$work/said" &&
        grep -q "$work:1: too dense: lines with ?:" "$work/said"
}
check "layout sees ?: in the expressions of a tool" dense_tool
# Names of the library in comments, messages and documents. The code of the walk-throughs in
# tools/source/README.md has new names, and those in history.h are historical.
told() {
    sed '/^```/,/^```/d; s/TFN__BUILD_X//' ../tools/source/README.md > "$work/parts.md"
    echo "$work/parts.md"
    find ../tools ../examples ../README.md \( -name '*.[ch]' -o -name '*.md' -o -name tfnorm.py \) \
        ! -path '*/source/README.md' ! -path '*/end/history.h' ! -path '*/bin/*'
}
# shellcheck disable=SC2046
check "layout: names in comments are declared" "$work/layout" names ../tfnorm.h $(told)
no_name() {             # no_name NAME: the name, planted in a comment, a message and a document, is found
    printf '/* See %s. */\nint one;\n' "$1" > "$work/told.h"
    printf 'const char *text = "call %s first";\n' "$1" > "$work/told.c"
    printf 'Call `%s`.\n' "$1" > "$work/told.md"
    ! "$work/layout" names ../tfnorm.h "$work/told.h" "$work/told.c" "$work/told.md" > "$work/said" &&
        [ "$(grep -cF "no declaration of ${1%[*.]*}" "$work/said")" = 3 ]
}
unnamed() {
    for name in tfn_model_memory TFN_NORM_LAYERS TFNORM_NO_NOTHING tfn__nothing TFN__NOTHING 'tfn_models_*' \
                tfn_KIND_nothing TFN_NO_SUCH_X; do
        no_name "$name" || { echo "$name"; cat "$work/said"; return 1; }
    done
    ! no_name tfn_tape_plan && ! no_name TFN_NORM_ && ! no_name 'tfn_model_*' && ! no_name tfn_KIND_at &&
        ! no_name TFNORM_NO_X
}
check "layout sees a name that is not declared" unnamed
# Only committed files: an example that runs at the same time has files here for a moment.
top_level() { # shellcheck disable=SC2012
    extra=$( (cd .. && git ls-files 2> /dev/null || ls -A) | cut -d / -f 1 | sort -u |
        grep -vxE 'tfnorm\.h|examples|tests|tools|LICENSE|README\.md|\..*')
    [ -z "$extra" ] || { echo "$extra"; return 1; }
}
check "layout of the top level" top_level
ascii() { ! LC_ALL=C grep -n '[^ -~]' ../tfnorm.h; }
check "layout: ASCII only" ascii
# tfnorm.h must be current: generated from its parts in tools/source.
current() {
    ${CC:-cc} -std=c99 -O1 -Wall -Wextra ../tools/source/join.c -o "$work/join" &&
        "$work/join" ../tools/source > "$work/joined.h" && cmp "$work/joined.h" ../tfnorm.h
}
check "layout: tfnorm.h is generated from tools/source" current
# A part is FOLDER/NAME.h and FOLDER/NAME.c together.
lines_of_parts() {      # lines_of_parts FOLDER
    find "$1" -name '*.[ch]' -exec wc -l {} + | awk '
        $2 != "total" { sub(/\.[ch]$/, "", $2); lines[$2] += $1 }
        END { for (part in lines) if (lines[part] > 1200) { print part, lines[part]; bad = 1 }; exit bad }'
}
check "layout: parts have at most 1,200 lines" lines_of_parts ../tools/source
# A function is SHARED only if another part calls it, or a macro or an inline function of its header. The
# bodies are left out, because their names get a suffix.
private() {             # private FOLDER
    find "$1" -name '*.[ch]' | sort | xargs awk '
        FNR == 1 { part = FILENAME; sub(/\.[ch]$/, "", part); header = FILENAME ~ /h$/ }
        { line = $0; first = 1; shared = /^ *SHARED [^;={]*\(/ }
        { while (match(line, /tfn__[a-z_0-9]+/)) {
              name = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
              if (shared && first) { if (part !~ /bodies/) home[name] = part }
              else if (header) used[name] = used[name] "*"
              else if (!((name, part) in at)) { at[name, part] = 1; used[name] = used[name] " " part }
              first = 0 } }
        END { for (name in home) if (!index(used[name], "*")) {
                  n = split(used[name], parts, " "); others = 0
                  for (i = 1; i <= n; i++) others += parts[i] != home[name]
                  if (!others) { print home[name] ": only its part calls " name; bad = 1 } }
              exit bad }'
}
check "layout: no SHARED function is private to its part" private ../tools/source
needless() {
    rm -rf "$work/twice" && mkdir -p "$work/twice" && cp ../tools/source/text/unicode.[ch] "$work/twice" &&
        ! private "$work/twice" > "$work/said" && grep -q 'only its part calls tfn__byte_shown' "$work/said" &&
        ! grep -q 'calls tfn__class_beyond_ascii' "$work/said"
}
check "layout sees a SHARED function that only its part calls" needless
# Each part opens, in its .h or its .c, with its purpose and the parts that it builds on. The
# bodies of the kernels are included together, and public parts have the manual.
openings() {            # openings FOLDER
    bad=
    sed -n 's|^\([a-z_]*/[a-z_]*\).*|\1|p' "$1/parts.txt" | grep -v -e '^api/' -e '^end/[elhr]' > "$work/parts"
    while read -r part; do
        for f in "$1/$part.h" "$1/$part.c"; do
            [ ! -f "$f" ] || awk '
                !begun && (/^#/ || /^TFN__[A-Z]*$/ || /^$/ || more) { more = /\\$/; next }
                !begun && !/^\/\*/ { exit }
                { begun = 1; print }
                /\*\// { exit }' "$f"
            echo
        done > "$work/opening"
        awk -v part="$part" '
            /^\/\*/ { heading = /^\/\* --/ }
            !heading { words += NF; builds = builds || /[Bb]uilds?( on|$)/ }
            END { if (part ~ /^bodies|^ground\/ground/) builds = 1
                  if (words < 8) print part ": no opening comment"
                  else if (!builds) print part ": its opening does not say on what it builds"
                  exit words < 8 || !builds }' "$work/opening" || bad=1
    done < "$work/parts"
    [ -z "$bad" ] && [ "$(wc -l < "$work/parts")" -gt 60 ]
}
check "layout: each part states its purpose and what it builds on" openings ../tools/source
mute_part() {           # a part without an opening, and one that does not say what it builds on
    rm -rf "$work/mute" && cp -r ../tools/source "$work/mute" &&
        sed 's|^/\* Plans a tape|/* -- plan|' ../tools/source/tape/plan.h > "$work/mute/tape/plan.h" &&
        sed 's|Builds on|Uses|' ../tools/source/tape/run.h > "$work/mute/tape/run.h" &&
        ! openings "$work/mute" > "$work/said" && grep -q '^tape/plan' "$work/said" &&
        grep -q '^tape/run' "$work/said" && [ "$(wc -l < "$work/said")" = 2 ]
}
check "layout sees a part without a stated purpose" mute_part
# tools/source/README.md is the map of the parts: it must name all of them, and only existing files.
map() {                 # map README
    sed -n 's|^[a-z]*/\([a-z_0-9]*\).*|\1|p' ../tools/source/parts.txt > "$work/parts"
    bad=
    while read -r part; do
        grep -q "\`$part\`" "$1" || { echo "$1 has no part $part"; bad=1; }
    done < "$work/parts"
    grep -oE '[a-z]+/[a-z_0-9]+\.[ch]' "$1" | sort -u > "$work/named"
    while read -r name; do
        [ -f "../tools/source/$name" ] || [ -f "../tools/$name" ] || [ -f "../$name" ] ||
            [ -f "../tests/$name" ] || { echo "$1: no $name"; bad=1; }
    done < "$work/named"
    [ -z "$bad" ] && [ "$(wc -l < "$work/named")" -gt 20 ]
}
check "layout: the map names all parts, and only existing ones" map ../tools/source/README.md
stale_map() {
    sed 's|`bodies/simd.c`|`bodies/sims.c`|; s/`stacks`//' ../tools/source/README.md > "$work/stale.md" &&
        ! map "$work/stale.md" > "$work/said" && [ "$(wc -l < "$work/said")" = 2 ]
}
check "layout sees a map that is out of date" stale_map
# parts.txt names the tests of each part. It must name every part, only existing tests, and nothing else.
parts_tested() {        # parts_tested LIST
    sed -n 's|^\([a-z]*/[a-z_0-9]*\).*|\1|p' ../tools/source/parts.txt |
        grep -v -e '^api/' -e '^end/[elhr]' | sort > "$work/parts"
    grep -v '^#' "$1" > "$work/tested"
    sed 's/ | .*//' "$work/tested" | sort | diff "$work/parts" - || return 1
    for test in $(sed 's/.* | //' "$work/tested"); do
        ls ./*/"test_$test.c" > /dev/null 2>&1 || { echo "$1: no test $test"; return 1; }
    done
}
check "layout: parts.txt names the tests of each part" parts_tested parts.txt
untested() {
    sed '/^tape\/plan/d' parts.txt > "$work/list.txt" && ! parts_tested "$work/list.txt" > /dev/null &&
        sed 's/| math$/| maths/' parts.txt > "$work/list.txt" && ! parts_tested "$work/list.txt" > "$work/said" &&
        grep -q 'no test maths' "$work/said"
}
check "layout sees a part without tests" untested
# Six lines that are equal except for white space in two parts belong in one function. Includes and
# comments do not count, and at least three of the six must contain a word.
repeats() {             # repeats FOLDER
    find "$1" -name '*.c' ! -path '*/end/*' | sort | xargs awk '
        FNR == 1 { n = 0 }
        { line = $0; gsub(/[ \t]+/, " ", line); gsub(/^ | $/, "", line) }
        line == "" || line ~ /^(#|\/\*|\*)/ { next }
        { at[n % 6] = line; n++; where[n % 6] = FNR }
        n < 6 { next }
        { key = ""; letters = 0
          for (i = 0; i < 6; i++) { key = key at[(n + i) % 6] "\n"; letters += at[(n + i) % 6] ~ /[a-z][a-z][a-z]/ }
          if (letters < 3) next
          if (key in seen && file[key] != FILENAME) print FILENAME ":" FNR ": six lines as before " seen[key]
          else if (!(key in seen)) { seen[key] = FILENAME ":" FNR; file[key] = FILENAME } }' > "$work/said"
    ! grep . "$work/said"
}
check "layout: no six equal lines in two parts" repeats ../tools/source
twice() {
    rm -rf "$work/twice" && mkdir -p "$work/twice" && cp ../tools/source/tape/plan.c "$work/twice/one.c" &&
        { sed -n '/^static/,/^}/{s/ *$/ /;p}' ../tools/source/tape/plan.c; } > "$work/twice/two.c" &&
        ! repeats "$work/twice" > /dev/null
}
check "layout sees six equal lines in two parts" twice
long_part() {
    rm -rf "$work/twice" && mkdir -p "$work/twice" && seq 1200 > "$work/twice/long.c" &&
        lines_of_parts "$work/twice" && seq 1 > "$work/twice/long.h" &&
        ! lines_of_parts "$work/twice" > /dev/null
}
check "layout sees a long part" long_part
examples() {
    for f in ../examples/*.c; do
        [ -f "$f" ] || continue
        # without what it prints
        [ "$(sed '/^ [*] Prints/,/[*][/]$/d' "$f" | grep -c .)" -le 100 ] || { echo "$f has over 100 lines"; return 1; }
        head -n 1 "$f" | grep -q '^/\* \(mpi\)\{0,1\}cc ' || { echo "$f does not start with its command"; return 1; }
    done
}
check "layout of the examples" examples
# Each public function has a use outside of the tests, or unused.txt says why it is public. A use is
# its name in code, or a call from Python; comments and strings do not count.
used_names() {
    find ../tools ../examples board ! -path '*/source/*' ! -path '*/bin/*' -type f \( -name '*.[ch]' -o -name '*.py' \) |
        sort | xargs awk '
            FILENAME ~ /py$/ { if (match($0, /\.tfn_[a-z_0-9]+/)) print substr($0, RSTART, RLENGTH); next }
            FNR == 1 { comment = 0 }
            { gsub(/"([^"\\]|\\.)*"/, ""); sub(/\/\/.*/, "")
              for (rest = $0; rest != ""; comment = !comment) {
                  at = index(rest, comment ? "*/" : "/*")
                  if (!comment) print at ? substr(rest, 1, at - 1) : rest
                  if (!at) break
                  rest = substr(rest, at + 2) } }' | grep -oE 'tfn_[a-z_0-9]+' | sort -u
}
used() {                # used FOLDER-OF-THE-API LIST
    cat "$1"/*.h | sed -nE 's/^(TFNORM_API|static inline) [^(]*[ *](tfn_[a-z_0-9]+)\(.*/\2/p' | sort -u > "$work/public"
    grep -v '^#' "$2" > "$work/listed"
    cut -d ' ' -f 1 "$work/listed" | sort > "$work/unused"
    ! grep -vE '^tfn_[a-z_0-9]+ \| [A-Z].*\.$' "$work/listed" || return 1
    comm -23 "$work/public" "$work/used" | comm -3 - "$work/unused" > "$work/said"
    cat "$work/said"
    [ "$(wc -l < "$work/public")" -gt 150 ] && [ ! -s "$work/said" ]
}
used_names > "$work/used"
check "layout: each public function is used, or unused.txt says why not" used ../tools/source/api unused.txt
unused() {              # an unused function, a listed one that is used, one that does not exist, no reason
    rm -rf "$work/api" && cp -r ../tools/source/api "$work/api" &&
        echo 'TFNORM_API int tfn_planted(int x);' >> "$work/api/api_tape.h"
    ! used "$work/api" unused.txt > /dev/null && [ "$(cat "$work/said")" = tfn_planted ] || return 1
    for name in tfn_linear tfn_nothing; do
        { cat unused.txt; echo "$name | Planted."; } > "$work/list.txt"
        ! used ../tools/source/api "$work/list.txt" > /dev/null && grep -q "$name" "$work/said" || return 1
    done
    { cat unused.txt; echo 'tfn_planted'; } > "$work/list.txt"
    ! used ../tools/source/api "$work/list.txt" > /dev/null
}
check "layout sees a public function without a use" unused
# MinGW's fmaf rounds twice.
calls_fmaf() { grep -nE '(^|[^_a-z])fmaf *\(' "$@"; }
no_fmaf() { ! calls_fmaf ./*.[ch] ./*/*.[ch] && echo 'x = fmaf(x, y, z);' | calls_fmaf > /dev/null; }
check "layout: tests use exact_fma instead of fmaf" no_fmaf
# A function named like a command would take its place in check.sh, too.
hides() { grep -nE '^(awk|cat|cut|date|diff|grep|head|mkdir|rm|sed|sort|tail|tr|wc)\(\)' "$@"; }
commands() { ! hides ./*.sh compile/*.sh && echo 'cut() {' | hides > /dev/null; }
check "layout: no script hides a command that check.sh calls" commands
# A function that its script never calls is a check that never runs.
uncalled() {            # uncalled SCRIPT ...
    for script; do
        for name in $(sed -n 's/^ *\([a-z_0-9]*\)() .*/\1/p' "$script"); do
            grep -v "^ *$name()" "$script" | grep -qE "(^|[^-./\$A-Za-z0-9_])$name(\$|[^-./=A-Za-z0-9_])" ||
                echo "$script: nothing calls $name"
        done
    done > "$work/said"
    cat "$work/said"
    [ -s "$work/said" ]
}
called() {              # a file that has the function's name does not count
    printf 'one() { cat "$work/one.txt"; }\ntwo() { true; }\ncheck "name" two\n' > "$work/script.sh"
    uncalled "$work/script.sh" && grep -q 'nothing calls one' "$work/said" && [ "$(wc -l < "$work/said")" = 1 ] &&
        ! uncalled $(ls ./*.sh compile/*.sh | grep -v -e /check.sh -e /packaging.sh)       # its functions are zsh's
}
check "layout: every function of a script is called" called
# Logs, records and objects of a run are not committed.
leftovers() {
    grep -E '\.(log|tmp|orig|rej|o|bin|gguf|safetensors|jsonl)$' |
        grep -v -e '^tests/golden/' -e '^tools/settled\.jsonl$' -e '^tools/web/model\.safetensors$'
}
tidy() {
    ! (cd .. && git ls-files) | leftovers && echo tests/x.log | leftovers > /dev/null
}
if (cd .. && git rev-parse > /dev/null 2>&1); then check "layout: no leftovers are committed" tidy
else skip "layout: no leftovers are committed" "no git"
fi
finish
