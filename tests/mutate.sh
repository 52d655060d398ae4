# Faults are planted in a copy of the header by rows that survive reformatting. A row names a function and a
# sed command for it, "s/from/to/". The command sees the whole function as one line. A space in `from`, and
# the places after "(" and ",", match any white space or none, line breaks included. It must match once.
# The header's functions as lines: a line break within one becomes byte 1.
one_line_each() {       # one_line_each HEADER
    awk '
        !inside && /^(static|SHARED|TFNORM_API) .*[^;}]$/ { inside = 1; text = $0; next }
        !inside { print; next }
        { text = text "\001" $0 }
        /^}/ || (/;$/ && text !~ /{/) { print text; inside = 0 }' "$1"
}
flexible() {
    printf '%s\n' "$1" | awk '{
        d = substr($0, 2, 1)
        gsub(/\\\//, "\002")            # an escaped slash is no delimiter
        n = split($0, part, d)
        gsub(/[(,]/, "& ", part[2])
        gsub(/ +/, "[ \001]*", part[2])
        for (i = 1; i <= n; i++) gsub(/\002/, "\\/", part[i])
        for (i = 1; i <= n; i++) printf "%s%s", part[i], i < n ? d : "\n" }'
}
# mutate LINES FUNCTION COMMAND COPY: applies the command to the function in LINES, made by one_line_each,
# and writes the header as COPY; - as COPY only checks. It must change one place.
mutate() {
    where="^\(static\|SHARED\|TFNORM_API\) [^$(printf '\001')]*$2"
    command=$(flexible "$3")
    grep "$where" "$1" > "$work/functions"
    sed "$command" "$work/functions" > "$work/once"
    sed "${command}g" "$work/functions" > "$work/each"
    changed=$(diff "$work/functions" "$work/once" | grep -c '^>')
    [ "$changed" = 1 ] || { echo "changes $changed functions"; return 1; }
    cmp -s "$work/once" "$work/each" || { echo "changes several places"; return 1; }
    [ "$4" = - ] || sed "/$where/$command" "$1" | tr '\001' '\n' > "$4"
}
# plant COMMAND COPY: the same for the whole header as one line
plant() {
    tr '\n' '\001' < ../tfnorm.h > "$work/functions"
    sed "$(flexible "$1")" "$work/functions" > "$work/once"
    sed "$(flexible "$1")g" "$work/functions" > "$work/each"
    ! cmp -s "$work/functions" "$work/once" && cmp -s "$work/once" "$work/each" && tr '\001' '\n' < "$work/once" > "$2"
}
