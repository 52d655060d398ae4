/* Ids from lines and numbers, then text from ids. */
#include "prompt.h"
#include "../common/output.h"
#include "../common/svg.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int32_t threads_of(const settings *s)
{
    if (given(s, O_THREADS)) return (int32_t)whole_of(s, O_THREADS);
    return 1;
}

bool reads_lines(const bundle *b)
{
    return b->kind == DATA_TEXT && given(&b->from, O_TASK);
}

/* True if the texts have no end, so that a line is only a piece of one. */
static bool reads_stream(const bundle *b)
{
    return b->kind == DATA_TEXT && !reads_lines(b);
}
bool spaces_texts(const bundle *b)
{
    const tfn_tokenizer_kind kind = b->tokenizer.tokenizer.kind;
    return !reads_stream(b) && !keeps_texts(&b->from)
        && (kind == TFN_TOKENIZER_WORDS || kind == TFN_TOKENIZER_BPE);
}

/* Room for the ids of a text: normalizing may decompose a byte into three. */
static size_t most_ids(size_t bytes) { return 3 * bytes + 2; }

int32_t *ids_of(const tfn_tokenizer *k, int32_t before, const char *text,
                size_t bytes, bool trusted, int64_t *count)
{
    ptrdiff_t room = (ptrdiff_t)most_ids(bytes);
    for (;;) {
        int32_t *ids = (int32_t *)reserve((size_t)(room + before), sizeof *ids);
        if (trusted) *count = tfn_tokenizer_encode_specials(k, ids + before, room, text, bytes);
        else *count = tfn_tokenizer_encode(k, ids + before, room, text, bytes);
        if (*count <= room) return ids;
        free(ids);
        room = (ptrdiff_t)*count;
    }
}

int32_t *encode_as(const bundle *b, const char *text, size_t bytes, bool trusted, int64_t *count)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const bool stream = reads_stream(b);
    const bool space = spaces_texts(b);
    char *spaced = (char *)reserve(bytes + 2, 1);
    int32_t *ids;
    spaced[0] = ' ';
    memcpy(spaced + space, text, bytes);
    if (stream && !bytes) {
        spaced[0] = '\n';
        bytes = 1;
    }
    bytes += space && bytes;
    ids = ids_of(k, k->begins, spaced, bytes, trusted, count);
    for (int32_t i = 0; i < k->begins; i++) ids[i] = k->frame[i];
    *count += k->begins;
    free(spaced);
    return ids;
}
int32_t *encode_text(const bundle *b, const char *text, size_t bytes, int64_t *count)
{
    return encode_as(b, text, bytes, false, count);
}

int64_t cut_ids(int64_t count, int64_t most, int64_t number)
{
    if (count <= most) return count;
    output_say(stderr, "tfn: line %lld has %lld tokens; %lld are read\n", (long long)number + 1,
               (long long)count, (long long)most);
    return most;
}

int32_t prompt_row(const bundle *b, const char *text, size_t bytes, bool trusted,
                   int32_t room, int64_t number, int32_t *row)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const bool framed = k->begins + k->ends > 0;
    const bool encoder = b->desc.arch == TFN_ARCH_ENCODER;
    int32_t ends = 0;
    int32_t n = 0;
    int64_t count;
    int32_t *ids = encode_as(b, text, bytes, trusted, &count);
    const int32_t *begin = &k->special[TFN_SPECIAL_BOS];
    const int32_t *end = &k->special[TFN_SPECIAL_EOS];
    if (framed && b->desc.arch != TFN_ARCH_DECODER) {
        ends = k->ends;
        end = k->frame + k->begins;
    }
    if (!framed && b->kind != DATA_TEXT && *end >= 0) ends = 1;
    if (encoder && !framed && *begin >= 0) row[n++] = *begin;
    if (reads_lines(b)) row[n++] = k->special[TFN_SPECIAL_EOS];
    count = cut_ids(count, room - n - ends, number);
    for (int64_t i = 0; i < count; i++) row[n++] = ids[i];
    for (int32_t i = 0; i < ends; i++) row[n++] = end[i];
    free(ids);
    return n;
}

int32_t *prompt_numbers(const char *option, const char *text, int32_t *count)
{
    int32_t *ids = (int32_t *)reserve(strlen(text) / 2 + 2, sizeof *ids);
    char *end;
    for (*count = 0;; text = end) {
        const long id = strtol(text, &end, 10);
        if (end == text) break;
        if (id < 0 || id > INT32_MAX) die("%s: %ld is no id", option, id);
        ids[(*count)++] = (int32_t)id;
    }
    if (end[strspn(end, " \t\n")]) die("%s: \"%s\" is no number", option, end);
    if (!*count) die("%s: no number", option);
    return ids;
}

int32_t *prompt_ids(const bundle *b, const settings *s, cli *c, bool trusted,
                    int32_t room, int32_t *count)
{
    const char *text = text_of(s, O_SAID);
    int32_t *ids;
    if (given(s, O_SAID) == given(s, O_IDS))
        cli_fail(c, "expected either --text \"...\" or --ids \"N N ..\"");
    if (given(s, O_IDS)) {
        ids = prompt_numbers("--ids", text_of(s, O_IDS), count);
        if (*count > room) die("--ids: %d ids, the limit is %d", (int)*count, (int)room);
        return ids;
    }
    if (!b->tokenizer.mem) die("%s has no tokenizer: it takes --ids", b->path);
    ids = (int32_t *)reserve((size_t)room, sizeof *ids);
    *count = prompt_row(b, text, strlen(text), trusted, room, 0, ids);
    if (!*count) die("--text: no token");
    return ids;
}

/* -- lines ------------------------------------------------------------------------------------- */

void lines_open(line_file *x, const char *path)
{
    memset(x, 0, sizeof *x);
    x->name = path;
    if (strcmp(path, "-")) x->f = fopen(path, "rb");
    else {
        x->name = "standard input";
        x->f = stdin;
    }
    if (!x->f) die("%s: cannot be opened: %s", x->name, strerror(errno));
    if (x->f == stdin && output_is_terminal(stdin))
        fprintf(stderr, "tfn: type a line; Ctrl-D ends\n");
    x->room = 256;
    x->line = (char *)reserve(x->room, 1);
}

static void add_byte(line_file *x, char c)
{
    if (x->bytes == x->room) {
        x->room *= 2;
        char *more = (char *)reserve(x->room, 1);
        memcpy(more, x->line, x->bytes);
        free(x->line);
        x->line = more;
    }
    x->line[x->bytes++] = c;
}

bool next_line(line_file *x)
{
    x->bytes = 0;
    for (;;) {
        const int c = getc(x->f);
        if (c == EOF) break;
        add_byte(x, (char)c);
        if (c == '\n') break;
    }
    if (ferror(x->f)) die("%s: cannot be read: %s", x->name, strerror(errno));
    if (!x->bytes) return false;
    x->bytes -= x->line[x->bytes - 1] == '\n';
    x->bytes -= x->bytes && x->line[x->bytes - 1] == '\r';
    if (!x->number++ && data_has_mark(x->line, x->bytes)) {
        x->bytes -= 3;
        memmove(x->line, x->line + 3, x->bytes);
    }
    x->line[x->bytes] = 0;
    return true;
}

void lines_close(line_file *x)
{
    if (x->f != stdin) fclose(x->f);
    free(x->line);
}

/* -- how tokens are shown ---------------------------------------------------------------------- */

const char *token_shown(const bundle *b, int32_t id, char *to, size_t room)
{
    size_t bytes = 0;
    size_t used = 0;
    const char *text = NULL;
    if (b->tokenizer.mem) text = tfn_tokenizer_token(&b->tokenizer.tokenizer, id, &bytes);
    snprintf(to, room, "%d", (int)id);
    if (!text) return to;
    to[0] = 0;
    for (size_t i = 0; i < bytes;) {
        char character[5] = "";         /* ends with a zero, so no byte after the text is read */
        for (size_t k = 0; k < 4; k++)
            if (i + k < bytes) character[k] = text[i + k];
        const int n = svg_character((const unsigned char *)character);
        char shown[8];
        if (character[0] == ' ') snprintf(shown, sizeof shown, "\xc2\xb7");
        else if (character[0] == '\n') snprintf(shown, sizeof shown, "\xe2\x86\xb5");
        else if (character[0] == '\t') snprintf(shown, sizeof shown, "\xe2\x87\xa5");
        else if (!n || (unsigned char)character[0] < ' ')
            snprintf(shown, sizeof shown, "\\x%02x", (unsigned)(unsigned char)character[0]);
        else snprintf(shown, sizeof shown, "%.*s", n, character);
        if (used + strlen(shown) + 1 > room) break;
        memcpy(to + used, shown, strlen(shown) + 1);
        used += strlen(shown);
        i += n ? (size_t)n : 1;
    }
    return to;
}

const char *class_shown(const bundle *b, int32_t id, char *to, size_t room)
{
    snprintf(to, room, "%d", (int)id);
    if (id < b->classes.count) return b->classes.name[id];
    return to;
}

/* -- what is likeliest ------------------------------------------------------------------------- */

void likeliest(const float *z, int32_t n, int32_t *id, double *p, int32_t count)
{
    double most = (double)z[0];
    double sum = 0;
    for (int32_t v = 1; v < n; v++) most = fmax(most, (double)z[v]);
    for (int32_t v = 0; v < n; v++) sum += exp((double)z[v] - most);
    for (int32_t k = 0; k < count; k++) {
        id[k] = -1;
        p[k] = -1;
    }
    for (int32_t v = 0; v < n; v++) {
        const double share = exp((double)z[v] - most) / sum;
        int32_t at = count;
        for (; at > 0; at--)
            if (!(share > p[at - 1])) break;
        if (at == count) continue;
        memmove(id + at + 1, id + at, (size_t)(count - 1 - at) * sizeof *id);
        memmove(p + at + 1, p + at, (size_t)(count - 1 - at) * sizeof *p);
        id[at] = v;
        p[at] = share;
    }
}
