# The public API as Markdown: awk -f reference.awk PARTS, the api parts in the order of the header.
# `make -C tools reference` writes tools/API.md with it. Each topic (a line "/* -- name -- */")
# lists its functions and macros, one a line with the first sentence of its comment, then its types
# with their members. Members that a comment calls private are left out, lists of enumerators are
# written out. A run of declarations without a blank line or a comment between them shares the
# comment above it.

function squeeze(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
# the text of a comment without its marks
function text_of(s) {
    gsub(/(^|\n)[ \t]*\/\*[ \t]?/, "\n", s); gsub(/[ \t]*\*\/[ \t]*/, "", s)
    gsub(/\n[ \t]*\*[ \t]?/, "\n", s)
    return s
}
# its first sentence; a paragraph or code ends it, too
function sentence(s,    at) {
    s = text_of(s)
    sub(/^[\n ]+/, "", s)
    if (at = match(s, /\n *\n|\n    /)) s = substr(s, 1, at - 1)
    gsub(/\n/, " ", s)
    s = squeeze(s)
    gsub(/et al[.] /, "et al@", s); gsub(/eq[.] /, "eq@", s)
    if (at = match(s, /[^ .,][.] +[A-Za-z0-9"(]/)) s = substr(s, 1, at + 1)
    gsub(/et al@/, "et al. ", s); gsub(/eq@/, "eq. ", s)
    sub(/[.:]$/, "", s)
    return s
}
function escape(s) { gsub(/\*/, "\\*", s); gsub(/_/, "\\_", s); gsub(/</, "\\&lt;", s); return s }
# what the conditions from `first` on leave out
function absent(first,    i, s) {
    for (i = first; i <= depth; i++) s = s (s == "" ? "" : " && ") condition[i]
    if (s == "") return ""
    if (s ~ /\|\|/) return "Only if `" s "`."
    gsub(/!defined /, "`", s); gsub(/ && /, "`, ", s)
    return "Absent with " s "`."
}
function described(comment, also,    s, c) {
    s = sentence(comment)
    also = sentence(also)
    if (s != "" && also != "") s = s "; " also
    else s = s also
    s = s == "" ? "" : ": " escape(s)
    if ((c = absent(outside + 1)) != "") s = s (s == "" ? ": " : ". ") c
    return s
}
# the topic's own conditions are those above its first declaration
function begins() {
    if (functions != "" || types != "" || macros != "") return
    outside = depth
    if (outside) topic_absent = absent(1)
}
# the first word after a list's X( that names an enumerator, then its texts
function expand(list, indent,    rows, n, i, row, name, texts, out, at) {
    n = split(lists[list], rows, / X\(/)
    for (i = 2; i <= n; i++) {
        row = rows[i]
        match(row, /TFN_[A-Z0-9_]+/)
        name = substr(row, RSTART, RLENGTH)
        texts = ""
        while (match(row, /"[^"]*"/)) {
            at = substr(row, RSTART, RLENGTH)
            if (texts != "") at = substr(at, 2, length(at) - 2)
            texts = texts (texts == "" ? "" : texts ~ /^"[^"]*"$/ ? ": " : "; ") at
            row = substr(row, RSTART + RLENGTH)
        }
        out = out sprintf("%-35s /* %s */\n", indent name ",", texts)
    }
    return out
}
function show_type(s,    lines, n, i, line, name, out, list, hidden) {
    name = s
    sub(/;[^;]*$/, "", name)
    if (s ~ /^typedef [^{]*\(/) { sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    else if (s ~ /^enum/) name = ""
    else sub(/.*[ }*]/, "", name)
    if (name ~ /^tfn__/) return
    n = split(s, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (line ~ /from here on private/ || line ~ /^ *\/\* private/) hidden = 1
        if (hidden && line ~ /^}/) {
            hidden = 0
            out = out "    /* private members follow */\n"
        }
        if (hidden || line ~ /\/\* private/ || line ~ /^ *tfn__/) continue
        if (match(line, /TFN__[A-Z_]*LIST\(/)) {
            list = substr(line, RSTART, RLENGTH - 1)
            if (line ~ /{/) out = out substr(line, 1, index(line, "{")) "\n"
            out = out expand(list, "    ")
            sub(/.*\(TFN__[A-Z_]*\) */, "", line)
            sub(/ *}/, "\n}", line)
            line = "    " line
        }
        out = out line "\n"
    }
    types = types "\n" (name == "" ? "Constants" : "`" name "`") described(shared ? "" : doc) "\n\n```c\n" out "```\n"
}
function show_function(s, trailing) {
    sub(/^TFNORM_API /, "", s); sub(/^static inline /, "", s); sub(/;$/, "", s)
    functions = functions "- `" squeeze(s) "`" described(shared ? "" : doc, trailing) "\n"
}
function show_macro(s, trailing,    name) {
    sub(/^#define /, "", s)
    name = s
    sub(/[ ].*/, "", name)
    if (name ~ /^(TFN__|TFNORM_API)/) return
    macros = macros "- `" squeeze(s) "`" described(shared ? "" : doc, trailing) "\n"
}
function defined_macro() {
    gsub(/, TFNORM/, "`, `TFNORM", name)
    defines = defines "- `" name "`" described(doc) "\n"
    name = doc = ""
}
function flush() {
    if (topic == "") return
    printf "\n## %s\n", topic
    if (topic_absent != "") printf "\n%s\n", topic_absent
    if (intro != "") printf "\n%s\n", intro
    if (macros != "") printf "\n%s", macros
    if (functions != "") printf "\n%s", functions
    if (types != "") printf "%s", types
    macros = functions = types = intro = topic_absent = ""
    outside = 0
}
function comment_of(s) { return match(s, /\/\*.*\*\//) ? substr(s, RSTART, RLENGTH) : "" }

BEGIN {
    print "# The public API\n\nEvery function, macro and type that a program may use, by topic, with the" \
        " first sentence of its comment. To learn the library,\nread the manual at the top of" \
        " `tfnorm.h`; the full comments follow it. Matrices are row-major. In shapes, B is batch," \
        " T time,\nC channels, H heads, D head size, V vocabulary, F hidden width, L layers.\n\n" \
        "Generated from the header by `make -C tools reference`: do not edit this file."
    topic = "Version and bits"
}
{ sub(/\r$/, "") }
# the macros that a program may define: a name, or several, then two spaces and what it does
FILENAME ~ /config[.]h$/ {
    if (/^ \*   TFNORM_/) {
        sub(/^ \*   /, "")
        if (name != "" && name !~ /,$/) defined_macro()
        at = index($0, "  ")
        name = name (name == "" ? "" : " ") (at ? substr($0, 1, at - 1) : $0)
        doc = at ? substr($0, at) : ""
    } else if (/^ \*    /) doc = doc " " substr($0, 3)
    else if (/^ \*\//) { defined_macro(); doc = "" }
    next
}
# comments on lines of their own
in_comment { comment = comment "\n" $0; if (/\*\//) in_comment = 0; next }
decl == "" && /^\/\* -- / {
    flush()
    topic = $0
    sub(/^\/\* -- /, "", topic); sub(/ -+ \*\/$/, "", topic)
    topic = toupper(substr(topic, 1, 1)) substr(topic, 2)
    comment = doc = ""
    shared = 0
    next
}
decl == "" && /^\/\*/ {
    comment = $0
    doc = ""
    shared = 0
    if (!/\*\//) in_comment = 1
    next
}
decl == "" && /^$/ {
    if (comment != "" && intro == "" && functions == "" && types == "" && macros == "") intro = escape(sentence(comment)) "."
    comment = doc = ""
    shared = 0
    next
}
decl == "" && /^#if/ {
    condition[++depth] = $0
    sub(/^#ifdef /, "defined ", condition[depth])
    sub(/^#ifndef /, "!defined ", condition[depth])
    sub(/^#if /, "", condition[depth])
    next
}
decl == "" && /^#endif/ { depth--; next }
decl == "" && /^#(else|include)/ { next }
# a declaration, until its braces and its statement close
{
    if (decl == "") begins()
    if (decl == "" && comment != "") { doc = comment; comment = ""; shared = 0 }
    decl = decl (decl == "" ? "" : "\n") $0
    code = $0
    while (match(code, /\/\*[^*]*(\*[^\/][^*]*)*\*\//)) code = substr(code, 1, RSTART - 1) substr(code, RSTART + RLENGTH)
    if (decl ~ /^#define/) {
        if (/\\$/) next
    } else {
        if (open_comment) { if (!/\*\//) next; open_comment = 0; sub(/.*\*\//, "", code) }
        if (code ~ /\/\*/) { open_comment = 1; sub(/\/\*.*/, "", code) }
        braces += gsub(/{/, "{", code) - gsub(/}/, "}", code)
        statement = statement code
        if (open_comment || braces > 0) next
        if (statement !~ /;[ \t]*$/ && decl !~ /^static inline.*\n}$/) next
    }
    if (decl ~ /^#define TFN__[A-Z_]*LIST/) {
        name = decl
        sub(/^#define /, "", name); sub(/\(.*/, "", name)
        sub(/^[^\n]*\n/, " ", decl)
        gsub(/\\|\n/, " ", decl); gsub(/" +"/, "", decl)
        lists[name] = " " decl
        # the comment above a list is that of the type after it
        comment = doc
    } else if (decl ~ /^#define/) {
        trailing = comment_of(decl)
        sub(/ *\/\*.*/, "", decl)
        show_macro(decl, trailing)
        shared = 1
        if (decl ~ /#define TFN__/) comment = doc
    } else if (decl ~ /^(TFNORM_API|static inline)/) {
        sub(/\n{.*/, ";", decl)
        trailing = comment_of(decl)
        sub(/;[ \t]*\/\*.*/, ";", decl)
        gsub(/\n/, " ", decl)
        show_function(decl, trailing)
        shared = 1
    } else if (decl ~ /^(typedef|enum|struct)/) {
        show_type(decl)
        shared = 1
    }
    decl = statement = ""
    braces = open_comment = 0
}
END {
    flush()
    printf "\n## Macros that you may define before the implementation\n\n%s", defines
}
