# make -C tools map: the parts of tools/source in order. Of each: lines, functions that other parts may
# call (SHARED), functions of other parts that it calls, and the number of these parts.
cd "$(dirname "$0")" || exit 1
sed -n 's|^\([a-z_]*/[a-z_0-9]*\).*|\1|p' parts.txt | while read -r part; do
    for f in "$part.h" "$part.c"; do
        [ ! -f "$f" ] || sed "s|^|$part\t|" "$f"
    done
done | awk -F '\t' '
    { part = $1; line = substr($0, length($1) + 2) }
    !(part in lines) { order[++parts] = part }
    { lines[part]++; text[part] = text[part] "\n" line }
    /^[^\t]*\tSHARED [^;={]*\(/ {
        match(line, /tfn__[a-z_0-9]*\(/)
        name = substr(line, RSTART, RLENGTH - 1)
        if (name != "" && !(name in home)) { home[name] = part; offers[part]++ }
    }
    END {
        printf "%-24s %6s %8s %6s %6s\n", "part", "lines", "offers", "calls", "parts"
        for (i = 1; i <= parts; i++) {
            part = order[i]; rest = text[part]; calls = 0; split("", seen); split("", from); of = 0
            while (match(rest, /tfn__[a-z_0-9]+/)) {
                name = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
                if (!(name in home) || home[name] == part || name in seen) continue
                seen[name] = 1; calls++
                if (!(home[name] in from)) { from[home[name]] = 1; of++ }
                crossing[name] = 1
            }
            printf "%-24s %6d %8d %6d %6d\n", part, lines[part], offers[part], calls, of
            all += lines[part]; offered += offers[part]
        }
        for (name in crossing) crossed++
        printf "%-24s %6d %8d   of which other parts call %d\n", "all", all, offered, crossed
    }'
