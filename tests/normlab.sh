# normlab compiles without a warning; RECIPES.md has its lists, the README
# some names and three pictures; show draws every name, as text
# of at most 80 columns and as well-formed SVG; wrong arguments end with code 2 and a message.
. ./check.sh
normlab=$work/normlab
check "normlab compiles" get_tool normlab

# between NAME FILE: the lines of FILE between <!-- NAME --> and the end of its list
between() {
    awk -v begin="<!-- $1 -->" '/^<!-- end of the list/ { inside = 0 } inside { print }
        $0 == begin { inside = 1 }' "$2"
}
recipes() {
    file=../tools/RECIPES.md
    "$normlab" list --markdown > "$work/wanted"
    if [ "$TFN_UPDATE" ]; then
        awk -v list="$work/wanted" '/^<!-- end of the list/ { inside = 0 } !inside { print }
            /^<!-- normlab list/ { inside = 1; while ((getline line < list) > 0) print line }' \
            $file > "$work/RECIPES.md" && cp "$work/RECIPES.md" $file
    fi
    between "normlab list --markdown" $file | diff - "$work/wanted"
}
check "normlab: tools/RECIPES.md" recipes
readme() {              # the number of recipes, and those that the README names
    "$normlab" list recipes --markdown > "$work/wanted"
    count=$(grep -c '^| `' "$work/wanted")
    grep -q "of $count published recipes" ../README.md || { echo "there are $count recipes"; return 1; }
    sed -n 's/^A recipe (\(.*\) \.\.\.) sets.*/\1/p' ../README.md | grep -o '`[a-z0-9-]*`' > "$work/found"
    [ "$(wc -l < "$work/found")" -ge 8 ] || return 1
    while read -r name; do
        grep -q "^| $name |" "$work/wanted" || { echo "no recipe $name"; return 1; }
    done < "$work/found"
}
check "normlab: recipes in the README" readme
blocks() {              # TFN_UPDATE=1 draws them anew
    for name in post pre b2t; do
        file=../examples/pictures/$name.svg
        "$normlab" show $name --block "$work/$name.svg" && well_formed "$work/$name.svg" || return 1
        if [ "$TFN_UPDATE" ]; then cp "$work/$name.svg" "$file"; fi
        cmp "$work/$name.svg" "$file" && grep -q "pictures/$name.svg" ../README.md || return 1
    done
}
check "normlab show --block: the README's pictures" blocks
if [ "$TFN_UPDATE" ]; then
    finish
    exit
fi

# the first cells of the Markdown tables
names() { "$normlab" list --markdown | sed -n 's/^| `\([^`]*\)`.*/\1/p' | sort -u; }
count() { [ "$(names | wc -l)" -gt 100 ]; }
check "normlab: names" count

page() {        # NAME: some of each part is there, nothing is wider than a terminal
    "$normlab" show "$1" > "$work/page" || return 1
    awk -v name="$1" 'length > 80 { print name ": over 80 columns: " $0; bad = 1 }
                      END { exit bad }' "$work/page" || return 1
    grep -q '^@[a-z]*{' "$work/page" || { echo "$1: no reference"; return 1; }
    grep -q '\[' "$work/page" || { echo "$1: no drawing"; return 1; }
}
pages() { for name in $(names); do page "$name" || return 1; done; }
check "normlab show: every name as text" pages

picture() {
    "$normlab" show "$1" --svg "$work/picture.svg" && well_formed "$work/picture.svg"
}
pictures() { for name in $(names); do picture "$name" || { echo "$name"; return 1; }; done; }
check "normlab show: every name as SVG" pictures

shapes() {
    for layers in 1 2 3 4 25 100; do
        for name in mix-ln layerscale b2t dlcl resi-dual; do
            "$normlab" show "$name" --layers "$layers" --layer "$layers" --width 3 > "$work/page" ||
                return 1
        done
    done
    "$normlab" show mix-ln --layers 8 | grep -q 'encoder  self-attention  1-2   x = N(x + F(x))'
}
check "normlab show: depths" shapes

# wrong TEXT ARGUMENTS: code 2, nothing printed, and the message contains the text
wrong() {
    text=$1
    shift
    "$normlab" "$@" > "$work/page" 2> "$work/error"
    [ $? = 2 ] && [ ! -s "$work/page" ] && grep -q -- "$text" "$work/error"
}
wrongs() {
    wrong deepnorm show deepnrm && wrong '"nothing"' list nothing && wrong 'needs a name' show &&
        wrong 'from 1 to 1000, not "x"' show b2t --layers x && wrong 'no layer 7' show b2t --layer 7 &&
        wrong 'needs a value' show b2t --svg && wrong 'olmo2' smoke olmo && wrong 'no command' b2t &&
        wrong 'normlab list'
}
check "normlab: wrong arguments" wrongs
help() { "$normlab" --help | grep -q 'Exit codes'; }
check "normlab --help" help
fits() {                # on terminals of 80 to 40 columns progress and curves do not wrap
    for columns in 80 60 40; do
        rm -f "$work/fits.jsonl"
        script -qec "stty cols $columns; \"$normlab\" compare pre post --steps 1 --layers 1 --width 8;
            \"$normlab\" run A4 --start-seeds 1 --file $work/fits.jsonl" /dev/null < /dev/null > "$work/typed" 2>&1
        tr '\r' '\n' < "$work/typed" | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g' > "$work/lines"
        grep -q '^normlab: 100 %.* left' "$work/lines" && grep -q '^ *|#* *o' "$work/lines" || return 1
        awk -v columns=$columns '/^A4 |^Final loss/ { next }
            length($0) > columns { print; wide = 1 } END { exit wide || NR < 20 }' "$work/lines" || return 1
    done
}
if have script stty; then check "normlab: progress fits the terminal" fits
else skip "normlab: progress fits the terminal" "no script or stty"
fi
unwritable() { "$normlab" show b2t --svg /nowhere/x.svg; [ $? = 1 ]; }
check "normlab: a file that cannot be written" unwritable

robust() {
    "$normlab" robust A4 --start-seeds 2 --file "$work/robust.jsonl" > "$work/page" 2> "$work/error" || return 1
    grep -q '^A4    undecided *xavier .*, fused .*, fairseq ' "$work/page" && grep -c 'init=' "$work/robust.jsonl" |
        grep -qx 4 && [ "$(grep -o '[0-9.]* \[' "$work/page" | sort -u | wc -l)" -ge 3 ]
}
check "normlab robust: three initializations" robust
learns() { "$normlab" smoke pre rezero --steps 300 --jobs 2; }
check "normlab smoke: pre and rezero learn" learns
repeats() {
    "$normlab" smoke admin ngpt batchnorm --steps 3 --jobs 1 > "$work/one"
    "$normlab" smoke admin ngpt batchnorm --steps 3 --jobs 3 > "$work/three"
    cmp "$work/one" "$work/three"
}
check "normlab smoke: the same for any number of jobs" repeats
finish
