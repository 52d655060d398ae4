# Fast rows of normlab: claims about models at the start, one about training, and their verdicts; the
# same numbers with one and two jobs, and from the file of an earlier run.
. ./check.sh
normlab=$work/normlab
check "normlab compiles" get_tool normlab

wrong() { "$normlab" "$@" > /dev/null 2> "$work/message"; [ $? = 2 ] && grep -q "$wanted" "$work/message"; }
# verdict WANTED ID ...: checks their verdict, a line for each row
verdict() {
    wanted=$1
    shift
    "$normlab" run "$@" --start-seeds 8 --seeds 1 --jobs 2 --file "$work/two.jsonl" \
        > "$work/found" 2> "$work/progress" || { cat "$work/progress"; return 1; }
    cat "$work/found"
    [ "$(grep -c "^[XABN][0-9]*[a-z]* *$wanted " "$work/found")" = $# ]
}
rm -f "$work"/*.jsonl
check "rows that hold by construction" verdict holds X2 X6 X7 X23 A10 B2 B14 B16
check "rows about models at the start" verdict shown X9 X14a A2b A4 B3b B3c
check "rows that are not testable here" verdict "not testable here" X21 A21 B17
check "a single seed decides nothing" verdict undecided X16b
smoke() {           # small forms of rows that take minutes: each finds its numbers
    rows="N4a N4b N6 N7" lists=6
    if [ "$tier" = night ]; then rows="$rows N8" lists=9; fi            # N8 takes as long as the others together
    # shellcheck disable=SC2086
    "$normlab" run $rows --depth 2 --width 8 --seeds 2 --file "$work/smoke.jsonl" > "$work/found" \
        2> "$work/progress" || { cat "$work/progress"; return 1; }
    [ "$(grep -c '^N[4678][abc] .*: -\{0,1\}[0-9.e-]* \[' "$work/found")" = $lists ] && ! grep -q broken "$work/found"
}
[ "$tier" = night ] || echo "left out: muP, small; measurements repeated; lessons 7 and 8 (tier night)"
check "curse of depth, warm-up and sharpness, small" smoke
parts() {           # X8 is X8a and X8b; each prints the criteria that judge it
    "$normlab" run X8 --start-seeds 2 --file "$work/two.jsonl" > "$work/found" 2> /dev/null &&
        [ "$(cut -c 1-4 "$work/found" | tr -d '\n')" = "X8a X8b " ] || return 1
    grep -q '^X8a .*L = 2 to 18: -\{0,1\}[0-9.]* \[-[0-9.]*, [0-9.]*\], undecided ([0-9]* seeds)' "$work/found" ||
        return 1
    "$normlab" show X8 > "$work/shown" && [ "$(grep -c '^X8[ab]: ' "$work/shown")" = 2 ] || return 1
    tr -s '\n ' ' ' < "$work/shown" | grep 'between -0.2 and 0.2' | grep -q 'between -0.7 and -0.3'
}
check "a row of two statements is two rows" parts
disjoint() {        # other seeds give other measurements
    for first in 1 101; do
        "$normlab" run A5a --start-seeds 2 --first-seed $first --file "$work/seeds.jsonl" 2> /dev/null || return 1
    done | sort -u | wc -l > "$work/lines"
    [ "$(cat "$work/lines")" = 2 ] && [ "$(grep -c 'seed=10[12]"' "$work/seeds.jsonl")" = 4 ]
}
check "seeds begin where --first-seed says" disjoint

# Two rows about models at the start, one about training: with one job, then with two.
some="A4 A9a A24 --start-seeds 1 --seeds 1 --depth 6 --width 16"
numbers() { sed 's/"seconds":[0-9.]*,//' "$1" | sort; }
jobs() {
    for jobs in 1 2; do
        "$normlab" run $some --jobs $jobs --file "$work/jobs$jobs.jsonl" > "$work/said$jobs" \
            2> /dev/null || return 1
        numbers "$work/jobs$jobs.jsonl" > "$work/numbers$jobs"
    done
    [ "$(grep -c 'adam' "$work/numbers1")" = 3 ] && cmp "$work/numbers1" "$work/numbers2" &&
        cmp "$work/said1" "$work/said2"
}
check "the same bits on a second run, of one job or two" jobs
kept() {
    "$normlab" run $some --file "$work/jobs1.jsonl" > "$work/again" 2> "$work/progress"
    cmp "$work/said1" "$work/again" && ! grep -q measurements "$work/progress"
}
check "nothing is measured twice" kept
short() {           # a record that an interruption cut is measured again
    size=$(wc -c < "$work/jobs1.jsonl")
    head -c $((size - 200)) "$work/jobs1.jsonl" > "$work/short.jsonl"
    "$normlab" run $some --file "$work/short.jsonl" > "$work/again" 2> "$work/progress"
    cmp "$work/said1" "$work/again" && grep -q "1 measurements" "$work/progress"
}
check "a line cut short is measured again" short

# A claim that asks for an unknown list, or finds NaN, has no verdict.
broken() {          # broken SED MESSAGE
    sed "$1" "$work/jobs1.jsonl" > "$work/broken.jsonl"
    "$normlab" run $some --file "$work/broken.jsonl" > "$work/again" 2> "$work/message"
    [ $? = 1 ] && grep -q '^A4 *broken' "$work/again" && grep -q "$2" "$work/message"
}
check "a list of an unknown name is an error" broken 's/_gradient"/_gradeint"/g' 'no list is called'
check "NaN is an error" broken 's/\(_gradient":\[\)[^],]*/\1null/g' 'holds NaN'

machines() {        # the parts of two machines, merged, equal one machine's; different numbers are refused
    rm -f "$work"/part*.jsonl "$work/merged.jsonl"
    for part in 1 2; do
        "$normlab" run $some --part $part/2 --file "$work/part$part.jsonl" > /dev/null 2>&1 || return 1
    done
    "$normlab" merge "$work/part1.jsonl" "$work/part2.jsonl" --file "$work/merged.jsonl" > "$work/said" &&
        numbers "$work/merged.jsonl" | cmp - "$work/numbers1" || return 1
    grep -q "^$(wc -l < "$work/numbers1") measurements added" "$work/said" || return 1
    [ "$(wc -l < "$work/part1.jsonl")" -lt "$(wc -l < "$work/merged.jsonl")" ] || return 1
    sed 's/\(_gradient":\[\)/\11/' "$work/part1.jsonl" > "$work/part3.jsonl"
    ! "$normlab" merge "$work/part3.jsonl" --file "$work/merged.jsonl" > /dev/null 2> "$work/message" &&
        grep -q 'has other numbers of' "$work/message" && numbers "$work/merged.jsonl" | cmp - "$work/numbers1"
}
check "the work of several machines is merged" machines
refused() {         # options without effect, or with another meaning than expected
    wanted='is not a file of measurements' && echo text > "$work/text" &&
        ! "$normlab" run X2 --file "$work/text" 2> "$work/message" && grep -q "$wanted" "$work/message" &&
        [ "$(cat "$work/text")" = text ] || return 1
    wanted='does not know "--seeds"' && wrong merge "$work/text" --seeds 3 &&
        wanted='not the standard output' && wrong merge "$work/text" --file - &&
        wanted='no instruction set is called "avx3"' && wrong run X2 --isa avx3 && wrong compare pre --isa avx3 &&
        wanted='placements have one seed' && wrong placements pre --first-seed 7 --file - &&
        wanted='needs --task file' && wrong compare pre --text check.sh &&
        wanted='multiple of 8, not 20' && wrong compare pre --width 20 &&
        wanted='is a claim' && wrong show X8 --svg "$work/x.svg" &&
        wanted='one of --svg' && wrong show b2t --svg "$work/x.svg" --block "$work/y.svg" &&
        ! "$normlab" merge "$work/jobs1.jsonl" --file "$work/none/x" > "$work/found" 2> "$work/message" &&
        [ ! -s "$work/found" ]
}
check "options without effect are refused" refused
cut_records() {     # a record with an open list is ignored; Windows line ends are accepted
    sed 's/$/\r/' "$work/jobs1.jsonl" > "$work/crlf.jsonl" && tr -d ']' < "$work/jobs1.jsonl" > "$work/open.jsonl" &&
        "$normlab" merge "$work/crlf.jsonl" --file "$work/of_crlf.jsonl" > "$work/found" &&
        numbers "$work/of_crlf.jsonl" | cmp - "$work/numbers1" &&
        ! "$normlab" merge "$work/open.jsonl" --file "$work/of_open.jsonl" 2> "$work/message" > "$work/found" &&
        grep -q 'no measurement in' "$work/message" && [ ! -s "$work/of_open.jsonl" ]
}
check "a record that was cut is ignored" cut_records
renamed() {         # figures and tables have the name of a replacement recipe
    "$normlab" run A6a --topology peri --start-seeds 1 --depth 4 --width 16 --draw --file - > "$work/found" \
        2> /dev/null && grep -q 'Peri-LN' "$work/found" && ! grep -q 'o Post-LN' "$work/found" &&
        "$normlab" placements pre --layers 1 --topology pre=post --file - > "$work/found" 2> /dev/null &&
        grep -q '^post ' "$work/found" && ! grep -q '^pre ' "$work/found"
}
check "--topology: names of the measured recipes" renamed
reported() {        # checks are not counted as measurements; a row says how to measure it again
    "$normlab" report X2 X4 X5 --markdown --file "$work/none.jsonl" > "$work/page" 2> "$work/message"
    sed 1q "$work/page" > "$work/found"
    grep -q 'Measurements: 0\. Not measured yet: 1\. .* 1 hold, 0 do not, 1 not measured yet\.' "$work/found" &&
        grep -q 'no measurement in ".*none.jsonl"' "$work/message" &&
        "$normlab" report X2 --topology post=pre --first-seed 7 --seeds 2 --file "$work/jobs1.jsonl" \
            > "$work/page" 2> /dev/null &&
        grep -q 'normlab run X2 --seeds 2 --first-seed 7 --topology post=pre<' "$work/page"
}
check "report: its tally, and the command of a row" reported
settled() {         # this build reads the project's records of runs that settle
    "$normlab" merge ../tools/settled.jsonl --file "$work/settled.jsonl" > "$work/said" &&
        grep -q "^$(wc -l < ../tools/settled.jsonl) measurements added" "$work/said"
}
check "records of runs that settle" settled
steady() {          # if runs end at different times, their mean does not jump, except at two points of 324
    "$normlab" report N4c --full --file "$work/settled.jsonl" 2> /dev/null |
        sed -n 's/.*<path class="l[01]" fill="none".* d="M\([^"]*\)".*/\1/p' > "$work/found"
    [ "$(wc -l < "$work/found")" = 2 ] && tr 'L ' '\n,' < "$work/found" | awk -F , '
        $1 < 350 { low = 999; high = 0; next }
        { if ($2 < low) low = $2; if ($2 > high) high = $2; if (high - low > 2) bad = 1 }
        END { exit bad }'
}
check "curves of runs that settle do not jump" steady
wider() {           # a run that has not settled goes on: its row waits until the longer run is there
    grep 'masked .* seed=[78]"' "$work/settled.jsonl" > "$work/wider.jsonl" &&
        "$normlab" report N12 --full --seeds 2 --first-seed 7 --markdown --file "$work/wider.jsonl" > "$work/page" &&
        grep -q '^| N12 .*not measured yet' "$work/page" || return 1
    sed -n 's/steps=8000 settle seed=7/steps=24000 settle every=200 seed=7/p' "$work/wider.jsonl" |
        sed 's/"settled":.0/"settled":[1/' >> "$work/wider.jsonl" &&
        "$normlab" report N12 --full --seeds 2 --first-seed 7 --markdown --file "$work/wider.jsonl" > "$work/page" &&
        grep -q '^| N12 .*the share of runs that settled: 1, shown' "$work/page"
}
check "a run that has not settled goes on" wider
factors() {         # records in which only the initialization has an effect; an incomplete pair is not judged
    grep 'translate \(pre\|b2t\) L6 .*lr=0.001 ' "$work/settled.jsonl" > "$work/crossed.jsonl"
    sed -n 's/translate pre L6 d32 h2 f64 B32/translate b2t L6 d32 h2 f64 B32 init=xavier/p
        s/translate b2t L6 d32 h2 f64 B32/translate pre L6 d32 h2 f64 B32 init=fairseq/p' "$work/crossed.jsonl" \
        > "$work/more" && cat "$work/more" >> "$work/crossed.jsonl" &&
        "$normlab" factors b2t/pre admin/pre --layers 6 --markdown --file "$work/crossed.jsonl" > "$work/page" &&
        [ "$(wc -l < "$work/page")" = 4 ] && grep -q '^| 6 + 6 | B2T, Pre-LN | BLEU | the initialization |' "$work/page" &&
        grep -q 'BLEU .*, better | [^|]*, none | [^|]*, better | 0 .0, 0., add up |' "$work/page" || return 1
    "$normlab" factors admin/pre --layers 12 --foretell --file - 2> "$work/message" > "$work/page" &&
        grep -q '32 runs to do, at most [0-9.]* core hours' "$work/message" && [ ! -s "$work/page" ] &&
        wanted='not "pre/post"' && wrong factors pre/post && wanted='6 or 12' && wrong factors --layers 7
}
check "placement or initialization, two by two" factors
second() {          # a row that stage one leaves undecided is measured with other seeds: Post-LN and Pre-LN
    set -- X14a --depth 2 --width 8 --start-seeds 3 --file "$work/second.jsonl"
    "$normlab" run "$@" --full > "$work/said1" 2> /dev/null && grep -q undecided "$work/said1" || return 1
    before=$(wc -l < "$work/second.jsonl")
    "$normlab" second "$@" --foretell > "$work/said2" 2> "$work/message" &&
        [ "$before" = "$(wc -l < "$work/second.jsonl")" ] && grep -q "^X14a *[0-9]* seeds of starts" "$work/said2" || return 1
    starts=$(sed -n 's/^X14a *\([0-9]*\) seeds of starts.*/\1/p' "$work/said2")
    "$normlab" second "$@" > "$work/said3" 2> "$work/progress" && grep -q 'stage two: ' "$work/said3" &&
        [ $((before + 2 * starts)) = "$(wc -l < "$work/second.jsonl")" ] &&
        [ "$(grep -c 'seed=2[0-9][0-9][0-9]"' "$work/second.jsonl")" = $((2 * starts)) ] || return 1
    "$normlab" second "$@" > "$work/said4" 2> "$work/progress" && cmp "$work/said3" "$work/said4" &&
        ! grep -q measurements "$work/progress" &&
        "$normlab" second "$@" --markdown 2> /dev/null | grep -q "^| X14a | .*seeds of starts" &&
        wanted='not after --quick' && wrong second --quick
}
check "a second stage with fresh seeds" second
if [ "$tier" = night ]; then
    again() {       # they equal new measurements: merge refuses other numbers
        "$normlab" run N10a --full --seeds 1 --file "$work/again.jsonl" > /dev/null 2>&1 &&
            [ "$(grep -c settle "$work/again.jsonl")" = 2 ] &&
            "$normlab" merge ../tools/settled.jsonl --file "$work/again.jsonl" > "$work/said" &&
            grep -q "^$(($(wc -l < ../tools/settled.jsonl) - 2)) measurements added" "$work/said"
    }
    check "two of them measured again" again
fi
fits() {            # cheap rows fit into a minute, expensive ones are left out
    "$normlab" run A4 B12 --minutes 1 --start-seeds 2 --seeds 3 --file "$work/fits.jsonl" > "$work/found" \
        2> "$work/progress" && grep -q '^A4 ' "$work/found" &&
        grep -q '^B12 *not measured yet *about [1-9][0-9]* s of CPU time on Zen 4$' "$work/found" &&
        grep -q 'do not fit into 60 s: 1;' "$work/progress" && ! grep -q headline "$work/fits.jsonl"
}
check "rows that do not fit into --minutes are left out" fits
placements() {      # a row for each with six cells; the same from the file, without measuring again
    for again in 1 2; do
        "$normlab" placements post pre --layers 1 --file "$work/placed.jsonl" --svg "$work/placed.svg" \
            > "$work/placed$again" 2> "$work/progress" || return 1
    done
    cmp "$work/placed1" "$work/placed2" && ! grep -q measurements "$work/progress" || return 1
    [ "$(grep -c '^\(post\|pre\) .* 1 \( *[0-9]* [-+.]\)\{6\}$' "$work/placed1")" = 2 ] || return 1
    "$normlab" placements post b2t --layers 1 --init xavier --file "$work/placed.jsonl" > "$work/placed3" 2> /dev/null &&
        grep -q '^initialization: xavier' "$work/placed3" && [ "$(grep -c 'init=xavier' "$work/placed.jsonl")" = 6 ] &&
        [ "$(grep '^post' "$work/placed3")" = "$(grep '^post' "$work/placed1")" ] || return 1
    well_formed "$work/placed.svg" && [ "$(grep -c '<rect x=.*height="16"' "$work/placed.svg")" = 12 ]
}
check "which placement trains when" placements
tallied() {         # numbers in RESULTS.md and the README equal the counted rows of the tables
    awk -F ' [|] ' '/^## The rows/ { rows = 1; next } /^## / { rows = 0 } rows && /^\| [XABNR][0-9]/ { n[$4]++ }
        END { close_ones = n["too close to decide"]
              open = n["undecided"] + close_ones
              all = n["shown"] + n["partly"] + n["tie"] + open + n["not shown"] + n["opposite"]
              more = close_ones ? ", " close_ones " too close to decide" : ""
              printf "Measurements: %d. %d shown, %d partly, %d ties, %d undecided%s, %d not shown, %d opposite.\n",
                  all, n["shown"], n["partly"], n["tie"], n["undecided"], more, n["not shown"], n["opposite"]
              printf "Among %d measurements, %d confirm the claim, %d confirm part of it, %d show the opposite, " \
                  "%d do not show it, %d are ties, and %d are undecided after eight seeds\n", all,
                  n["shown"], n["partly"], n["opposite"], n["not shown"], n["tie"], open }' ../tools/RESULTS.md > "$work/tally"
    awk '/^    [a-z]/ && $2 == 12 && NF == 14 { n++; marks = $4 $6 $8 $10 $12 $14
             if (marks ~ /[+]/) learn++; else if (marks !~ /[.]/) fail++ }
        END { printf "At 12 + 12 layers %d of the %d recipes learn in at least one setting and %d fail in all six\n",
                  learn, n, fail }' ../tools/RESULTS.md >> "$work/tally"
    cat ../README.md ../tools/RESULTS.md | tr '\n' ' ' > "$work/said"
    [ "$(wc -l < "$work/tally")" = 3 ] || return 1
    while read -r said; do
        grep -q -F "$said" "$work/said" || { echo "not there: $said"; return 1; }
    done < "$work/tally"
}
check "tallies of RESULTS.md and the README match the rows" tallied
text() {            # rows on real text need one; the same text gives the same measurement
    "$normlab" run N11 --file "$work/text.jsonl" | grep -q 'not testable here.*--text FILE' || return 1
    head -c 40000 ../examples/04_language_model.txt > "$work/text"
    "$normlab" compare pre --layers 1 --steps 60 --lr 4e-3 --task file --text "$work/text" > "$work/drawn" || return 1
    awk '/guessing/ { sub(/.*: /, ""); guess = $0 + 0 } { last = $2 }
         END { exit !(last < guess && last > 0) }' "$work/drawn"
}
check "a user's text" text
catalogs() {        # synthetic catalogs: contexts, plurals, byte orders, pairs to leave out, packages to hold out
    rm -rf "$work/catalogs" && python3 -c '
import os, struct, sys
root = sys.argv[1]
def write(package, name, pairs, order):
    head = [(b"", b"Content-Type: text/plain; charset=UTF-8\n")]
    pairs = head + [(m.encode(), t.encode()) for m, t in pairs]
    at, tables, texts = 28 + 16 * len(pairs), [b"", b""], b""
    for side in range(2):
        for pair in pairs:
            tables[side] += struct.pack(order + "2I", len(pair[side]), at + len(texts))
            texts += pair[side] + b"\0"
    path = f"{root}/{package}/usr/share/locale/de/LC_MESSAGES"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/{name}.mo", "wb") as f:
        f.write(struct.pack(order + "7I", 0x950412de, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0))
        f.write(tables[0] + tables[1] + texts)
def many(word, first, n):
    return [(f"{word} is item number {i} today", f"{word} ist heute die Nummer {i} davon")
            for i in range(first, first + n)]
odd = [("menu\4_Open the big file", "Die _grosse Datei oeffnen"),
       ("%d file was found\0%d files were found", "%d Datei wurde gefunden\0%d Dateien wurden gefunden"),
       ("Remove %s from disk", "Von der Platte entfernen"), ("This stays as is", "This stays as is"),
       ("Too short", "Zu kurz"), ("The test has it", "Der Test hat es"), ("Another one for it", "Der Test hat das")]
write("one", "a", many("Apple", 0, 100) + many("Pear", 200, 100) + many("Plum", 200, 100) + odd, "<")
write("two", "b", many("Pear", 0, 130) + [("The test has it", "Der Test hat das")], ">")
write("three", "c", many("Plum", 0, 130), "<")
' "$work/catalogs" && python3 ../tools/catalogs.py "$work/pairs" "one=$work/catalogs/one" "two=$work/catalogs/two" \
        "three=$work/catalogs/three" --test two --valid three > "$work/said" &&
        [ "$(cat "$work/said")" = "test 131, valid 130, train 303" ] && sort > "$work/wanted" <<END || return 1
%d file was found	%d Datei wurde gefunden
%d files were found	%d Dateien wurden gefunden
Open the big file	Die grosse Datei oeffnen
END
    grep -v 'item number' "$work/pairs/train.tsv" | sort | cmp - "$work/wanted" &&
        grep -q '^test	two	131$' "$work/pairs/packages.txt" || return 1
    head -c 60 "$work/catalogs/one/usr/share/locale/de/LC_MESSAGES/a.mo" > "$work/cut" &&
        mv "$work/cut" "$work/catalogs/one/usr/share/locale/de/LC_MESSAGES/a.mo" &&
        ! python3 ../tools/catalogs.py "$work/pairs2" "one=$work/catalogs/one" 2> "$work/message" &&
        grep -q 'a.mo is not a message catalog' "$work/message"
}
pairs() {           # subwords of these pairs are learned; rows of real translations need them
    "$normlab" compare pre --task pairs --pairs "$work/pairs" --layers 1 --steps 60 --lr 1e-2 > "$work/drawn" &&
        awk '/guessing/ { sub(/.*: /, ""); guess = $0 + 0 } { last = $2 }
             END { exit !(last < guess && last > 0) }' "$work/drawn" || return 1
    "$normlab" run R1a --file - | grep -q 'not testable here.*--pairs FOLDER' &&
        wanted='/nowhere/train.tsv: cannot be opened' && wrong compare pre --task pairs --pairs /nowhere &&
        wanted='needs --pairs' && wrong compare pre --task pairs && wrong rates
}
if have python3; then
    check "catalogs.py: pairs of message catalogs" catalogs
    check "pairs of sentences from files" pairs
else skip "catalogs.py and pairs" "no python3"
fi
wanted='there is no option --epochs here' check "no such option" wrong compare post pre --epochs 3
wanted='it cannot be read' check "no such text" wrong compare pre --task file --text /nowhere
wanted='less than 1000 bytes' check "a text too short" wrong compare pre --task file --text readers.sh
page() {
    "$normlab" report --start-seeds 8 --seeds 1 --file "$work/two.jsonl" > "$work/page.html" || return 1
    "$normlab" report --markdown X2 A4 --start-seeds 8 --seeds 1 --file "$work/two.jsonl" \
        > "$work/page.md" && [ "$(grep -c '^| [XA]' "$work/page.md")" = 2 ] || return 1
    [ "$(grep -c '<section' "$work/page.html")" = "$("$normlab" claims | wc -l)" ] || return 1
    grep -q 'Checks, which hold by construction: [0-9]* hold, 0 do not, [0-9]* not measured yet. Not testable here: 18' \
        "$work/page.html" &&
        grep -q '<summary>not measured yet: [0-9]*</summary>' "$work/page.html" || return 1
    figures=$(grep -c '<figure role="img" aria-label="[XABNR]' "$work/page.html")
    [ "$(grep -c '<figcaption>[XABNR].* over .*\.</figcaption>' "$work/page.html")" = "$figures" ] || return 1
    [ "$(grep -c '</svg>$' "$work/page.html")" -gt 8 ] && ! grep -qi '<script\|src=\|href="http' "$work/page.html"
}
check "the report has all claims and fetches nothing" page
set_formulas() {    # indices, exponents, Greek letters and signs are formatted, but not inside words
    sed -n 's/.*<h2>\(.*\)<\/h2>.*/\1/p; s/.*<dd>\(.*\)<\/dd>.*/\1/p' "$work/page.html" > "$work/said" || return 1
    for wanted in '&#946;<sub>ii</sub><sup>2</sup>' 'W<sub>Q</sub> = W<sub>K</sub>' 'd<sub>ff</sub>' 'L<sup>&#8722;0.5</sup>' \
        '1/&#8730;(L)' '&#963;<sup>2</sup> d/2'; do
        grep -q "$wanted" "$work/said" || { echo "no $wanted"; return 1; }
    done
    ! grep '[A-Za-z]_[A-Za-z]\|\^[-0-9A-Za-z(]' "$work/said"
}
check "the report's formulas are formatted" set_formulas
read_aloud() {      # a title, one main element, headings in order, a text for each picture, column headers
    [ "$(grep -c '<main>' "$work/page.html")" = 1 ] && [ "$(grep -c '<h1>' "$work/page.html")" = 1 ] &&
        ! grep -q '<h[3-6]' "$work/page.html" && ! grep -q '<th>' "$work/page.html" || return 1
    [ "$(grep -c '<figure role="img" aria-label="[^"]\{20,\}">' "$work/page.html")" = \
        "$(grep -c '^<svg xmlns' "$work/page.html")" ] && grep -q 'aria-label="Picture 1, ' "$work/page.html"
}
check "the report reads without its pictures" read_aloud
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
boxes() {           # boxes PAGE WIDTH: prints what boxes.js finds
    { sed 's,</body></html>,,' "$1"; echo '<script>'; cat boxes.js; echo '</script></body></html>'; } > "$work/boxed.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --window-size="$2,1000" --dump-dom \
        "file://$PWD/$work/boxed.html" 2> /dev/null | sed -n '/<pre id="boxes">/,$p' |
        sed 's/.*<pre id="boxes">//' | sed '/<\/pre>/q'
}
labels() {          # at three widths no label covers another or leaves its picture
    pictures=$(grep -c '^<title>' "$work/page.html")
    for width in 400 800 1400; do
        boxes "$work/page.html" $width > "$work/boxes"
        [ "$(cat "$work/boxes")" = "pictures: $pictures</pre>" ] || { cat "$work/boxes"; return 1; }
    done
    sed 's/\(<text class="vt" x="\)[0-9.]*\(" y="\)[0-9.]*/\190\260/' "$work/page.html" > "$work/heap.html"
    boxes "$work/heap.html" 800 | grep -q 'overlap' && sed 's/\(<text class="vt" x="\)[0-9.]*/\1715/' "$work/page.html" \
        > "$work/heap.html" && boxes "$work/heap.html" 800 | grep -q 'leaves the picture'
}
if [ "$browser" ]; then check "the report's labels, in a browser at three widths" labels
else skip "the report's labels" "no chromium"; fi
wanted='X99' check "an unknown claim is named" wrong run X99
compare() {
    "$normlab" compare pre post --layers 2 --steps 40 --svg "$work/pair" > "$work/drawn" || return 1
    grep -q '^ *3.5 +' "$work/drawn" || return 1        # at first it is worse than guessing
    grep -q '^Gradients' "$work/drawn" && [ "$(awk 'length > 80' "$work/drawn" | wc -l)" = 0 ] || return 1
    grep -q '</svg>' "$work/pair-loss.svg" && grep -q '</svg>' "$work/pair-gradients.svg"
}
check "normlab compare" compare
differ() {          # differences between sides are printed, for runs and rows; --init makes them equal
    for options in "" "--init xavier" "--init fused --norm rmsnorm"; do
        # shellcheck disable=SC2086
        "$normlab" compare post b2t --layers 1 --steps 2 $options | grep '^differ' || return 1
    done > "$work/drawn"
    printf 'differ in: %s\n' 'placement; initialization: xavier, fairseq' placement placement |
        cmp - "$work/drawn" || return 1
    ! "$normlab" compare pre --layers 1 --steps 2 | grep -q '^differ' || return 1
    "$normlab" show A12a | tr -s '\n ' ' ' > "$work/shown" &&
        grep -q 'initialization: fused differ in placement shown' "$work/shown" &&
        "$normlab" show B12 | tr -s '\n ' ' ' | grep -q 'as a whole, initialization: fairseq, t-fixup, deepnorm' &&
        "$normlab" report A12a --markdown --file "$work/two.jsonl" | grep -q 'initialization: fused |'
}
check "differences between the sides of a comparison" differ
tasks() {           # each learns something in 30 updates; the last lines are losses
    for task in grammar translate headline speech tongues text markov; do
        "$normlab" compare pre --layers 1 --steps 30 --lr 4e-3 --task $task --corpus 64 --dropout 0.1 \
            > "$work/drawn" || return 1
        awk -v task=$task '/guessing/ { sub(/.*: /, ""); guess = $0 + 0 }
            { last = $2 } END { if (!(last < guess + 1 && last > 0)) { print task, last, guess; exit 1 } }' \
            "$work/drawn" || return 1
    done
}
check "normlab compare: tasks" tasks
mup() {             # at width 32 rates differ from those at width 16; other optimizers are refused
    for options in "" "--mup 32" "--mup 16"; do
        # shellcheck disable=SC2086
        "$normlab" compare pre --layers 1 $options --hash 20 | head -n 1 || return 1
    done > "$work/drawn"
    [ "$(sort -u "$work/drawn" | wc -l)" = 3 ] || return 1
    ! "$normlab" compare pre --mup 16 --optimizer muon 2> "$work/message" && grep -q 'adam, adamw, radam' "$work/message"
}
check "normlab compare: muP" mup
wanted='file, not "chess"' check "an unknown task is named" wrong compare pre --task chess
wanted='preln' check "an unknown recipe is named" wrong compare preln
other() {           # the printed numbers are the same for any number of jobs
    for jobs in 1 2; do
        "$normlab" run B3a X14a --depth 4 --width 16 --topology peri --start-seeds 2 --file - \
            --jobs $jobs > "$work/jobs$jobs" 2> /dev/null || return 1
    done
    cmp "$work/jobs1" "$work/jobs2" && grep -q 'the deepest has 4 layers' "$work/jobs1" &&
        [ "$(grep -c 'post is peri: the criterion was not made for it' "$work/jobs1")" = 2 ]
}
check "a claim of another placement, depth and width" other
wanted='deepnorm' check "an unknown placement is named" wrong run X22 --topology deepnrm
lesson() {
    "$normlab" lesson 3 --file "$work/two.jsonl" > "$work/drawn" 2> /dev/null || return 1
    grep -q 'factor through cross-attention: 0.7' "$work/drawn" || return 1
    [ "$(grep -c '^? ' "$work/drawn")" = 3 ] && [ "$(awk 'length > 80' "$work/drawn" | wc -l)" = 0 ]
}
check "normlab lesson" lesson
once() {            # Post-LN, which is compared with Pre-LN and with Admin, appears once; squares are raised
    set -- A7a --depth 2 --width 8 --start-seeds 2 --file "$work/once.jsonl"
    "$normlab" run "$@" > "$work/found" 2> /dev/null && "$normlab" report "$@" > "$work/drawn" 2> /dev/null &&
        [ "$(grep -o 'Exponent of N of Post-LN' "$work/found" | wc -l)" = 1 ] &&
        [ "$(grep -c '<text.*>Post-LN</text>' "$work/drawn")" = 1 ] && grep -q '<text.*|F - F\*|&#178; a token' "$work/drawn"
}
check "a figure has one line for a name" once
failing() {         # a failing run and its control are two lines, and two named scores
    set -- B8c --depth 1 --width 8 --seeds 1 --file "$work/failing.jsonl"
    "$normlab" run "$@" > "$work/found" 2> /dev/null && "$normlab" report "$@" > "$work/drawn" 2> /dev/null &&
        grep -q ' Post-LN [0-9.]*+-[0-9.]*; a third of the rate [0-9.]*+-[0-9.]*$' "$work/found" &&
        [ "$(grep -c '<text.*>\(Post-LN\|a third of the rate\)</text>' "$work/drawn")" = 2 ]
}
check "a run and its control are two lines" failing
predicts() {        # in a terminal a lesson asks before it measures, until it is answered
    printf '9\n2\n\n\n\n' | script -qec "$normlab lesson 3 --file $work/two.jsonl" /dev/null > "$work/drawn" 2> /dev/null
    grep -q 'What do you expect' "$work/drawn" && [ "$(grep -o '\[1 to 3\]' "$work/drawn" | wc -l)" = 2 ] &&
        grep -q 'You expected: by a hundred times' "$work/drawn"
}
if have script; then check "a lesson asks for a prediction" predicts
else skip "a lesson asks for a prediction" "no script"; fi
budget() {          # a lesson with training, as a student does it; the night tier does all three
    numbers="6"
    if [ "$tier" = night ]; then numbers="6 7 8"; fi
    for n in $numbers; do
        "$normlab" lesson $n --file "$work/lessons.jsonl" > "$work/drawn" 2> /dev/null || return 1
        grep -q "^Lesson $n: " "$work/drawn" && [ "$(grep -c '^? ' "$work/drawn")" -ge 2 ] || return 1
        [ "$(awk 'length > 80' "$work/drawn" | wc -l)" = 0 ] && ! grep -qi 'nan' "$work/drawn" || return 1
    done
}
check "lessons of training" budget
others() {          # rows that take minutes are in test_lab.c; this checks that lessons are distinguished
    for n in 1 2 3 4 5 6 7 8; do grep -q "^## $n\. " ../tools/LESSONS.md || return 1; done
    [ "$(sed -n '/^## Solutions/,$p' ../tools/LESSONS.md | grep -c '^[1-8]\. ')" = 8 ]
}
check "LESSONS.md has eight lessons and their solutions" others
wanted='from 1 to 8' check "an unknown lesson" wrong lesson 9
finish
