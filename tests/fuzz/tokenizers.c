/* Fuzz: tokenizers from blobs (with a correct hash), from vocab.json and merges.txt, from
 * tokenizer.json, vocab.txt and tokenizer.model, built from their grammars with small changes. An
 * accepted one has the tokens that it lists, encodes any bytes, decodes what it encoded, and is
 * read as the same tokenizer after it was written. */
#include "input.h"
#include "../lib.h"

enum { MOST_TOKENS = 400, ROOM = 1 << 20 };
typedef struct token { unsigned char s[48]; int n; bool raw; } token;

static token tokens[MOST_TOKENS];
static int token_count, merges[MOST_TOKENS][3], merge_count;
static bool exact;                      /* decoding gives the same text */
static bool complete;                   /* no id is skipped */
static input vocab_text, merges_text;
static input_room first_room, second_room, work_room;
static unsigned char written[1 << 14], texts[2][1 << 14];
static size_t written_size;

/* -- a vocabulary ---------------------------------------------------------------------------- */

static void add_token(const void *s, int n, bool raw)
{
    token *t = &tokens[token_count];
    if (token_count == MOST_TOKENS || n > (int)sizeof t->s) return;
    memcpy(t->s, s, (size_t)n);
    t->n = n;
    t->raw = raw;
    token_count++;
}

static bool known(const void *s, int n)
{
    for (int i = 0; i < token_count; i++)
        if (tokens[i].n == n && !memcmp(tokens[i].s, s, (size_t)n)) return true;
    return false;
}

/* Bytes or letters, then pairs of existing tokens. full: all bytes. */
static void make_vocabulary(bool pairs, bool full)
{
    static const char *const specials[] = { "<pad>", "<s>", "</s>", "<unk>", "<mask>",
                                            "<|endoftext|>", "[CLS]" };
    static const char *const letters[] = { "a", "b", " ", "t", "h", "e", "\xc3\xa9", "\n", "'s",
                                           "the", " a", "0" };
    const int alphabet = full || (pairs && fuzz_one_in(16)) ? 256 : 2 + fuzz_below(10);
    token_count = merge_count = 0;
    for (int i = fuzz_below(4); i > 0; i--) {
        const char *name = INPUT_ONE_OF(specials);
        if (!known(name, (int)strlen(name))) add_token(name, (int)strlen(name), !fuzz_one_in(4));
    }
    for (int i = 0; i < alphabet; i++) {
        const unsigned char byte = (unsigned char)(alphabet == 256 ? i : 'a' + i);
        const char *letter = INPUT_ONE_OF(letters);
        if (pairs) add_token(&byte, 1, false);
        else if (!known(letter, (int)strlen(letter))) add_token(letter, (int)strlen(letter), false);
    }
    for (int i = pairs ? fuzz_below(12) : 0; i > 0; i--) {
        const int left = token_count - 1 - fuzz_below(alphabet),
            right = token_count - 1 - fuzz_below(alphabet);
        unsigned char both[96];
        if (left < 0 || right < 0 || tokens[left].raw || tokens[right].raw) continue;
        memcpy(both, tokens[left].s, (size_t)tokens[left].n);
        memcpy(both + tokens[left].n, tokens[right].s, (size_t)tokens[right].n);
        if (tokens[left].n + tokens[right].n > 40 || known(both, tokens[left].n + tokens[right].n))
            continue;
        add_token(both, tokens[left].n + tokens[right].n, false);
        merges[merge_count][0] = left;
        merges[merge_count][1] = right;
        merges[merge_count++][2] = token_count - 1;
    }
}

/* -- as a blob ------------------------------------------------------------------------------- */

static void put_number(input *in, unsigned long long n)
{
    for (; n > 127; n >>= 7) input_byte(in, (int)(n & 127) | 128);
    input_byte(in, (int)n);
}

/* Puts the rules of tokenizer.json, the ids around a text, and the marks of tokens. */
static void put_marks(input *in)
{
    const int begins = fuzz_below(3);
    const int ends = fuzz_below(3);
    const int first = fuzz_below(token_count);
    put_number(in, (unsigned long long)fuzz_below(3));
    put_number(in, (unsigned long long)fuzz_below(8));
    put_number(in, (unsigned long long)begins);
    put_number(in, (unsigned long long)ends);
    for (int i = 0; i < begins + ends; i++)
        put_number(in, (unsigned long long)fuzz_below(token_count));
    put_number(in, (unsigned long long)(token_count - first));
    for (int i = first; i < token_count; i++) {
        put_number(in, (unsigned long long)i);
        put_number(in, (unsigned long long)(2 * fuzz_below(32)));
    }
}

static void make_blob(input *in, int kind, bool marked)
{
    in->n = 0;
    exact = !marked;
    input_put(in, marked ? "tfntok2\n" : "tfntok1\n");
    put_number(in, (unsigned long long)kind);
    put_number(in, (unsigned long long)token_count);
    put_number(in, (unsigned long long)merge_count);
    for (int i = 0; i < token_count; i++) {
        put_number(in, (unsigned long long)(2*tokens[i].n + tokens[i].raw));
        input_bytes(in, tokens[i].s, (size_t)tokens[i].n);
    }
    for (int i = 0; i < merge_count; i++)
        for (int k = 0; k < 3; k++) put_number(in, (unsigned long long)merges[i][k]);
    if (marked) put_marks(in);
}

static void put_sum(input *in)          /* FNV-1a, folded, lowest byte first */
{
    unsigned long long h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < in->n; i++) h = (h ^ in->s[i]) * 0x100000001b3u;
    h = (h ^ h >> 32) & 0xffffffffu;
    for (int i = 0; i < 4; i++) input_byte(in, (int)(h >> 8*i & 255));
}

/* -- as texts -------------------------------------------------------------------------------- */

static void put_code(input *in, int c)
{
    if (c < 0x80) input_byte(in, c);
    else if (c < 0x800) {
        input_byte(in, 0xc0 | c >> 6);
        input_byte(in, 0x80 | (c & 63));
    } else {
        input_byte(in, 0xe0 | c >> 12);
        input_byte(in, 0x80 | (c >> 6 & 63));
        input_byte(in, 0x80 | (c & 63));
    }
}

/* GPT-2's characters for bytes that are not printable. */
static int shown(int byte)
{
    if (byte <= 32) return 256 + byte;
    if (byte >= 127 && byte <= 160) return 256 + 33 + byte - 127;
    return byte == 173 ? 256 + 67 : byte;
}

static void put_shown(input *in, const token *t, bool json)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < t->n; i++) {
        const int c = t->raw ? t->s[i] : shown(t->s[i]);
        if (json && (c == '"' || c == '\\')) input_byte(in, '\\');
        if (json && c < 0x10000 && fuzz_one_in(24)) {
            input_put(in, "\\u");
            for (int k = 12; k >= 0; k -= 4) input_byte(in, digits[c >> k & 15]);
        } else put_code(in, c);
    }
}

static void make_texts(void)
{
    const int turn = token_count ? fuzz_below(token_count) : 0;  /* rotates the order of the ids */
    vocab_text.n = merges_text.n = 0;
    input_put(&vocab_text, "{");
    for (int i = 0; i < token_count; i++) {
        const int id = (i + turn) % token_count;
        input_put(&vocab_text, i ? ", \"" : "\"");
        put_shown(&vocab_text, &tokens[id], true);
        input_put(&vocab_text, "\": ");
        input_number(&vocab_text, id);
    }
    input_put(&vocab_text, "}");
    if (fuzz_one_in(2)) input_put(&merges_text, "#version: 0.2\n");
    for (int i = 0; i < merge_count; i++) {
        put_shown(&merges_text, &tokens[merges[i][0]], false);
        input_put(&merges_text, " ");
        put_shown(&merges_text, &tokens[merges[i][1]], false);
        input_put(&merges_text, fuzz_one_in(8) ? "\r\n" : "\n");
    }
}

/* -- as tokenizer.json ----------------------------------------------------------------------- */

static const char *truth(bool is) { return is ? "true" : "false"; }

/* Puts special tokens, in the vocabulary or not, and other added tokens. */
static void put_added(input *in)
{
    static const char *const more[] = { "  ", "\\n\\n", "<|im_start|>", "<|im_end|>", "\xc3\xa9",
                                        "[R]", " th", "a b", "\\u0061'", "   ", "'s" };
    const int first = fuzz_below(11);
    int id = 0;
    input_put(in, "\"added_tokens\": [");
    for (int i = 0; i < fuzz_below(12); i++) {
        const bool known = id < token_count && tokens[id].raw;
        const bool left = fuzz_one_in(8);
        const bool right = fuzz_one_in(8);
        if (left || right) exact = false;
        if (!known && id < token_count) id = token_count;
        input_put(in, i ? ", {\"id\": " : "{\"id\": ");
        input_number(in, id);
        input_put(in, ", \"content\": \"");
        if (known) put_shown(in, &tokens[id], true);
        else input_put(in, more[(first + i) % 11]);
        input_put(in, "\", \"special\": ");
        input_put(in, truth(fuzz_one_in(2)));
        input_put(in, ", \"lstrip\": ");
        input_put(in, truth(left));
        input_put(in, ", \"rstrip\": ");
        input_put(in, truth(right));
        input_put(in, ", \"normalized\": ");
        input_put(in, truth(fuzz_one_in(2)));
        input_put(in, ", \"single_word\": false}");
        id++;
    }
    input_put(in, "]");
}

static void put_pre_tokenizer(input *in)
{
    static const char *const regexes[] = {
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}"
        "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}"
        "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+"
        "|\\\\s+(?!\\\\S)|\\\\s+"
    };
    input_put(in, "\"pre_tokenizer\": ");
    if (fuzz_one_in(2)) {
        input_put(in, "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", "
                      "\"pattern\": {\"Regex\": \"");
        input_put(in, INPUT_ONE_OF(regexes));
        input_put(in, "\"}, \"behavior\": \"Isolated\", \"invert\": false}, "
                      "{\"type\": \"ByteLevel\", \"use_regex\": false}]}");
    } else {
        const bool space = fuzz_one_in(2);
        if (space) exact = false;
        input_put(in, "{\"type\": \"ByteLevel\", \"add_prefix_space\": ");
        input_put(in, truth(space));
        input_put(in, "}");
    }
}

static void put_model(input *in)
{
    const bool pair = fuzz_one_in(2);
    input_put(in, "\"model\": {\"type\": \"BPE\", \"vocab\": ");
    input_bytes(in, vocab_text.s, vocab_text.n);
    input_put(in, ", \"ignore_merges\": ");
    input_put(in, truth(fuzz_one_in(4)));
    input_put(in, ", \"merges\": [");
    for (int i = 0; i < merge_count; i++) {
        input_put(in, pair ? i ? ", [\"" : "[\"" : i ? ", \"" : "\"");
        put_shown(in, &tokens[merges[i][0]], true);
        input_put(in, pair ? "\", \"" : " ");
        put_shown(in, &tokens[merges[i][1]], true);
        input_put(in, pair ? "\"]" : "\"");
    }
    input_put(in, "]}");
}

/* Puts the members in any order. */
static void make_json(input *in)
{
    const int first = fuzz_below(5);
    make_texts();
    in->n = 0;
    exact = true;
    input_put(in, "{");
    for (int i = 0; i < 5; i++) {
        if (i) input_put(in, ", ");
        switch ((first + i) % 5) {
        case 0: put_added(in); break;
        case 1: put_pre_tokenizer(in); break;
        case 2: put_model(in); break;
        case 3:
            input_put(in, "\"decoder\": {\"type\": \"ByteLevel\"}");
            if (fuzz_one_in(2)) break;
            exact = false;
            input_put(in, ", \"normalizer\": {\"type\": \"NFC\"}");
            break;
        default:
            input_put(in, "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": ["
                "{\"SpecialToken\": {\"id\": \"x\"}}, {\"Sequence\": {\"id\": \"A\"}}], "
                "\"special_tokens\": {\"x\": {\"ids\": [1, 2]}}}");
        }
    }
    input_put(in, "}");
}

/* -- WordPiece ------------------------------------------------------------------------------- */

static const char *const bert_parts[] = { "a", "b", "the", "##a", "##b", "##", "##the", "th", "#",
                                          "##\xc3\xa9", "e", "12", "##2", ".", "'", "\xe6\x97\xa5",
                                          "[UNK]", "[CLS]", "[SEP]", "[PAD]" };

/* Puts some of these tokens, in their order, as vocab.txt. */
static void make_lines(input *in)
{
    const int wanted = fuzz_below(1 << 20);
    in->n = 0;
    exact = false;
    for (int i = 0; i < 20; i++) {
        if (!(wanted >> i & 1)) continue;
        input_put(in, bert_parts[i]);
        input_put(in, fuzz_one_in(16) ? "\r\n" : "\n");
    }
}

/* The same as tokenizer.json; the last ones are sometimes added tokens. */
static void make_bert(input *in)
{
    const int wanted = fuzz_below(1 << 20);
    const int first = 16 + fuzz_below(6);
    int id = 0;
    in->n = 0;
    exact = false;
    input_put(in, "{\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"decoder\": {\"type\": "
                  "\"WordPiece\", \"prefix\": \"##\", \"cleanup\": ");
    input_put(in, truth(fuzz_one_in(2)));
    input_put(in, "}, \"normalizer\": ");
    if (fuzz_one_in(4)) input_put(in, "null");
    else {
        static const char *const names[] = { "clean_text", "handle_chinese_chars", "strip_accents",
                                             "lowercase" };
        input_put(in, "{\"type\": \"BertNormalizer\"");
        for (int i = 0; i < 4; i++) {
            input_put(in, ", \"");
            input_put(in, names[i]);
            input_put(in, "\": ");
            input_put(in, fuzz_one_in(8) ? "null" : truth(fuzz_one_in(2)));
        }
        input_put(in, "}");
    }
    input_put(in, ", \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
                  "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": ");
    input_number(in, fuzz_below(40));
    input_put(in, ", \"vocab\": {");
    for (int i = 0; i < 20; i++) {
        if (!(wanted >> i & 1)) continue;
        input_put(in, id ? ", \"" : "\"");
        input_put(in, bert_parts[i]);
        input_put(in, "\": ");
        input_number(in, id++);
    }
    input_put(in, "}}, \"added_tokens\": [");
    id = 0;
    for (int i = 0; i < 20; i++) {
        if (!(wanted >> i & 1)) continue;
        id++;
        if (i < first) continue;
        input_put(in, in->s[in->n - 1] == '}' ? ", {\"id\": " : "{\"id\": ");
        input_number(in, id - 1);
        input_put(in, ", \"content\": \"");
        input_put(in, bert_parts[i]);
        input_put(in, fuzz_one_in(2) ? "\", \"special\": true}" : "\", \"lstrip\": true}");
    }
    input_put(in, "]}");
}

/* -- SentencePiece --------------------------------------------------------------------------- */

static const char *const piece_parts[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "b", "t",
    "h", "e", "th", "the", "he", "\xe2\x96\x81the", "\xe2\x96\x81" "a", "ab", "aa", "aaa", "'", "s",
    "\xc3\xa9", "1", "\xe2\x96\x81\xe2\x96\x81", ".", "e\xe2\x96\x81" };
enum { PIECES = sizeof piece_parts / sizeof *piece_parts };

/* Puts a number of Protocol Buffers, and a field that is a number. */
static void put_field(input *in, int key, int x)
{
    put_number(in, (unsigned long long)key);
    put_number(in, (unsigned long long)x);
}

/* Puts tokenizer.model: pieces, training, normalizer with a table that replaces "b" by "a ". */
static void make_model(input *in)
{
    static const unsigned char table[] = { 2, 0, 0, 0 };
    const bool bytes = fuzz_one_in(2);
    in->n = 0;
    exact = false;
    for (int i = 0; i < PIECES + 256 * bytes; i++) {
        char name[8];
        const char *text = name;
        float score = (float)(-1 - fuzz_below(40)) / (fuzz_one_in(2) ? 1 : 7);
        int type = i == 0 ? 2 : i < 3 ? 3 : fuzz_one_in(48) ? 4 : 1;
        if (i >= PIECES) sprintf(name, "<0x%02X>", i - PIECES), type = 6;
        else text = piece_parts[i];
        if (i > 2 && i < PIECES && fuzz_one_in(8)) continue;
        put_field(in, 10, (int)strlen(text) + 9);
        put_field(in, 10, (int)strlen(text));
        input_put(in, text);
        input_byte(in, 21);
        input_bytes(in, &score, 4);
        put_field(in, 24, type);
    }
    put_field(in, 18, 5);
    put_field(in, 24, 1 + fuzz_below(2));
    put_field(in, 35 * 8, bytes);
    put_field(in, 26, 4 + (fuzz_one_in(2) ? 0 : 2 + (int)sizeof table));
    put_field(in, 24, fuzz_below(2));
    put_field(in, 32, fuzz_below(2));
    if (in->s[in->n - 5] != 4) {
        put_field(in, 18, sizeof table);
        input_bytes(in, table, sizeof table);
    }
}

/* Puts vocab.json with some of these pieces and others, as for Marian. */
static void make_ids(input *in)
{
    static const char *const more[] = { "<pad>", "12", "\xe2\x96\x81re", "12.", ">>fra<<", "\xcc\x81" };
    int id = 0;
    in->n = 0;
    input_put(in, "{");
    for (int i = PIECES + 5; i >= 0; i--) {
        if (i > 2 && fuzz_one_in(6)) continue;
        input_put(in, id ? ", \"" : "\"");
        if (i < PIECES) input_put(in, piece_parts[i]);
        else input_put(in, more[i - PIECES]);
        input_put(in, "\": ");
        input_number(in, id++);
    }
    input_put(in, "}");
}

static void put_pieces(input *in, bool unigram, bool bytes)
{
    for (int i = 0; i < PIECES + 256 * bytes; i++) {
        char name[80];
        const char *text = name;
        sprintf(name, "<0x%02X>", i - PIECES);
        if (i < PIECES) text = piece_parts[i];
        input_put(in, i ? ", " : "");
        input_put(in, unigram ? "[\"" : "\"");
        input_put(in, text);
        input_put(in, unigram ? "\", -" : "\": ");
        input_number(in, unigram ? fuzz_below(30) : i);
        if (unigram) input_put(in, fuzz_one_in(2) ? "]" : ".25]");
    }
}

/* Puts tokenizer.json with such pieces. */
static void make_pieces(input *in)
{
    static const char *const rules[] = {
        "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": "
        "\"\xe2\x96\x81\"}, {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": "
        "\"\xe2\x96\x81\"}]}, \"pre_tokenizer\": null",
        "\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
        "\"\xe2\x96\x81\", \"prepend_scheme\": \"first\", \"split\": false}",
        "\"normalizer\": {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}, "
        "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81\"}",
        "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
        "\"WhitespaceSplit\"}, {\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81\"}]}" };
    const bool unigram = fuzz_one_in(2);
    const bool bytes = fuzz_one_in(2);
    in->n = 0;
    exact = false;
    input_put(in, "{");
    input_put(in, INPUT_ONE_OF(rules));
    input_put(in, ", \"decoder\": {\"type\": \"Metaspace\"}, \"added_tokens\": [{\"id\": 1, \"content\": "
                  "\"<s>\", \"special\": true}], \"model\": {\"byte_fallback\": ");
    input_put(in, truth(bytes));
    input_put(in, ", \"fuse_unk\": ");
    input_put(in, truth(fuzz_one_in(2)));
    input_put(in, ", \"ignore_merges\": ");
    input_put(in, truth(fuzz_one_in(4)));
    input_put(in, unigram ? ", \"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": ["
                          : ", \"unk_token\": \"<unk>\", \"vocab\": {");
    put_pieces(in, unigram, bytes);
    input_put(in, unigram ? "]" : "}, \"merges\": [\"t h\", \"th e\", \"a a\", \"\xe2\x96\x81 the\", "
              "\"aa a\", \"a b\", \"h e\", \"a aa\", \"\xe2\x96\x81 a\", \"e \xe2\x96\x81\"]");
    input_put(in, "}}");
}

/* -- accepted tokenizers --------------------------------------------------------------------- */

static size_t make_text(unsigned char *s, size_t room)
{
    static const char *const pieces[] = { "a", "b", "the", " ", "\n", "'s", "'re", "'ll",
                                          "\xc3\xa9", "12", "  ", "\xff", "ab", ".", "<s>", "[R]",
                                          "<|im_start|>", "'LL", "\xcc\x81", "e\xcc\x81",
                                          "\xe0\xa5\x98", "\xef\xa4\x80", "\xe1\x86\xa8" };
    size_t n = 0;
    int left = fuzz_one_in(64) ? 300 : fuzz_below(24);
    const char *again = fuzz_one_in(16) ? INPUT_ONE_OF(pieces) : NULL;      /* a long word */
    for (; left > 0 && n + 12 < room; left--) {
        const char *piece = again ? again : INPUT_ONE_OF(pieces);
        memcpy(s + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

static void check_encoding(const tfn_tokenizer *k)
{
    static int32_t ids[ROOM], fewer[ROOM];
    static unsigned char text[1200];
    const size_t n = make_text(text, sizeof text);
    const ptrdiff_t count = tfn_tokenizer_encode(k, ids, ROOM, (const char *)text, n);
    const ptrdiff_t trusted = tfn_tokenizer_encode_specials(k, fewer, ROOM, (const char *)text, n);
    const bool characters = k->kind >= TFN_TOKENIZER_CHARACTER_BPE;
    const ptrdiff_t room = count ? fuzz_below((int)count) : 0;
    const bool spaces = k->prefix_space || k->rules;    /* rules may put one before each piece */
    const ptrdiff_t most = (ptrdiff_t)n * (spaces ? 2 : 1) * (k->normalizer ? 3 : 1);
    bool whole = true;                  /* every byte is a token, or part of one */
    size_t back;
    FUZZ_CHECK(count >= 0 && trusted >= 0 && count <= ROOM && trusted <= ROOM);
    FUZZ_CHECK(characters || (count <= most && trusted <= most));
    if (characters || k->rules) {       /* the total from less room is sufficient */
        const ptrdiff_t less = count ? fuzz_below((int)count) : 0;
        const ptrdiff_t more = tfn_tokenizer_encode(k, fewer, less, (const char *)text, n);
        FUZZ_CHECK(more >= count && more <= ROOM);
        if (more > ROOM) return;
        FUZZ_CHECK(tfn_tokenizer_encode(k, fewer, more, (const char *)text, n) == count);
        FUZZ_CHECK(!memcmp(ids, fewer, 4 * (size_t)count));
        tfn_tokenizer_encode_specials(k, fewer, ROOM, (const char *)text, n);
    }
    for (ptrdiff_t i = 0; i < trusted; i++) FUZZ_CHECK(fewer[i] >= 0 && fewer[i] < k->vocab);
    for (ptrdiff_t i = 0; i < count; i++) {
        FUZZ_CHECK(ids[i] >= 0 && ids[i] < k->vocab);
        whole = whole && ids[i] != k->special[TFN_SPECIAL_UNK];
    }
    if (n <= 170 && !characters) {      /* three times as long in NFC, but still short */
        FUZZ_CHECK(tfn_tokenizer_encode(k, fewer, room, (const char *)text, n) == count);
        FUZZ_CHECK(!memcmp(ids, fewer, 4 * (size_t)room));
    }
    back = tfn_tokenizer_decode(k, (char *)texts[0], sizeof texts[0], ids, count);
    whole = whole && exact && (k->marked || k->special[TFN_SPECIAL_UNK] >= 0);
    if (whole && (back != n || memcmp(texts[0], text, n)))
        FUZZ_FAIL("%d bytes came back as %d", (int)n, (int)back);
    FUZZ_CHECK(tfn_tokenizer_decode(k, (char *)texts[1], back / 2, ids, count) == back);
    FUZZ_CHECK(!memcmp(texts[0], texts[1], back / 2));
}

static void check_tokens(const tfn_tokenizer *k)
{
    size_t n;
    for (int i = 0; i < 4; i++) {
        const int32_t id = fuzz_below(k->vocab);
        const char *s = tfn_tokenizer_token(k, id, &n);
        const int32_t found = s ? tfn_tokenizer_find(k, s, n) : -1;
        size_t same = 0;
        if (!s && !complete) {          /* a skipped id gives no text */
            FUZZ_CHECK(!n && !tfn_tokenizer_decode(k, NULL, 0, &id, 1));
            continue;
        }
        FUZZ_CHECK(s && found >= 0);
        if (found < 0) continue;
        FUZZ_CHECK(!memcmp(s, tfn_tokenizer_token(k, found, &same), n) && same == n);
    }
    FUZZ_CHECK(!tfn_tokenizer_token(k, k->vocab, &n) && !n && !tfn_tokenizer_token(k, -1, &n));
    FUZZ_CHECK(tfn_tokenizer_find(k, "no such token", 13) < 0);
}

/* Writes it as a blob and as texts. The blob, read again, gives the same blob. */
static void check_writing(const tfn_tokenizer *k)
{
    static unsigned char twice[sizeof written];
    const size_t n = tfn_tokenizer_write(k, written, sizeof written);
    tfn_tokenizer_source s;
    tfn_tokenizer other;
    size_t size;
    memset(&s, 0, sizeof s);
    written_size = 0;
    if (n > sizeof written) return;
    written_size = n;
    FUZZ_CHECK(tfn_tokenizer_write(k, twice, n / 2) == n && !memcmp(written, twice, n / 2));
    s.blob = written;
    s.blob_size = n;
    size = tfn_tokenizer_size(&s);
    FUZZ_CHECK(size && size <= second_room.size);
    if (!size || size > second_room.size) return;
    FUZZ_CHECK(tfn_tokenizer_init(&other, &s, input_last(second_room, size), size) == TFN_OK);
    FUZZ_CHECK(tfn_tokenizer_write(&other, twice, sizeof twice) == n && !memcmp(written, twice, n));
    tfn_tokenizer_vocab_text(k, (char *)texts[0], sizeof texts[0]);
    tfn_tokenizer_merges_text(k, (char *)texts[0], fuzz_bits() % sizeof texts[0]);
}

/* Writes tokenizer.json if that can express this tokenizer, and reads it. The result encodes alike,
 * except for Unigram, whose sums of floats become sums of doubles. */
static void check_json(const tfn_tokenizer *k)
{
    static int32_t ids[2][2000];
    static const char text[] = "the ab' aab  \n12 \xff e\xcc\x81 <s>hethe .";
    tfn_tokenizer_source s;
    tfn_tokenizer other;
    size_t size;
    const size_t n = tfn_tokenizer_json_text(k, (char *)written, sizeof written);
    written_size = 0;
    if (!n || n > sizeof written) return;
    memset(&s, 0, sizeof s);
    s.json = (const char *)written;
    s.json_size = n;
    size = tfn_tokenizer_size(&s);
    FUZZ_CHECK(size > 0);
    if (!size || size > second_room.size) return;
    FUZZ_CHECK(tfn_tokenizer_init(&other, &s, input_last(second_room, size), size) == TFN_OK);
    for (int specials = 0; specials < 2; specials++) {
        ptrdiff_t count[2];
        for (int i = 0; i < 2; i++) {
            const tfn_tokenizer *from = i ? &other : k;
            count[i] = specials
                ? tfn_tokenizer_encode_specials(from, ids[i], 2000, text, sizeof text - 1)
                : tfn_tokenizer_encode(from, ids[i], 2000, text, sizeof text - 1);
        }
        if (k->kind == TFN_TOKENIZER_UNIGRAM && k->single) continue;
        FUZZ_CHECK(count[0] == count[1]);
        FUZZ_CHECK(!memcmp(ids[0], ids[1], 4 * (size_t)count[0]));
    }
}

static void give(const tfn_tokenizer_source *s)
{
    tfn_tokenizer k;
    const size_t size = tfn_tokenizer_size(s);
    tfn_status status;
    fuzz_executions++;
    if (size > work_room.size) return;
    status = tfn_tokenizer_init(&k, s, input_last(work_room, size), size);
    FUZZ_CHECK(size || status != TFN_OK);
    if (status != TFN_OK) {
        char text[200];
        FUZZ_CHECK(tfn_error_text(&k.error, text, sizeof text)[0]);
        FUZZ_CHECK(!tfn_tokenizer_encode(&k, NULL, 0, "a", 1));
        return;
    }
    fuzz_accepted++;
    if (fuzz_one_in(16)) {
        tfn_tokenizer less;
        FUZZ_CHECK(tfn_tokenizer_init(&less, s, input_last(second_room, size - 1),
                                      size - 1) == TFN_NO_MEMORY);
    }
    check_encoding(&k);
    check_tokens(&k);
    if (fuzz_one_in(8)) check_json(&k);
    if (fuzz_one_in(8)) check_writing(&k);
}

static void give_blob(int kind, bool marked, bool changed)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    make_blob(&vocab_text, kind, marked);
    if (changed) input_mutate(&vocab_text, fuzz_one_in(16) ? 0 : 8);
    put_sum(&vocab_text);
    if (fuzz_one_in(64)) input_change(&vocab_text, 0);
    s.blob = input_place(first_room, vocab_text.s, vocab_text.n);
    s.blob_size = vocab_text.n;
    if (changed) exact = exact && vocab_text.n > 6 && vocab_text.s[6] == '1';
    give(&s);
}

static void give_json(int form, bool changed)
{
    static input json;
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    if (form == 4) make_bert(&json);
    else if (form == 6) make_pieces(&json);
    else make_json(&json);
    if (changed) input_mutate(&json, 0);
    if (changed) exact = false;
    s.json = (const char *)input_place(first_room, json.s, json.n);
    s.json_size = json.n;
    give(&s);
}

static void give_model(bool changed)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    make_model(&vocab_text);
    if (changed) input_mutate(&vocab_text, 0);
    s.model = input_place(first_room, vocab_text.s, vocab_text.n);
    s.model_size = vocab_text.n;
    s.begin = s.end = fuzz_one_in(2);
    if (fuzz_one_in(2)) {
        make_ids(&merges_text);
        if (changed && fuzz_one_in(2)) input_mutate(&merges_text, 0);
        s.vocab = (const char *)input_place(second_room, merges_text.s, merges_text.n);
        s.vocab_size = merges_text.n;
    }
    give(&s);
}

static void give_lines(bool changed)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    make_lines(&vocab_text);
    if (changed) input_mutate(&vocab_text, 0);
    s.vocab = (const char *)input_place(first_room, vocab_text.s, vocab_text.n);
    s.vocab_size = vocab_text.n;
    s.kind = TFN_TOKENIZER_WORDPIECE;
    s.cased = fuzz_one_in(2);
    give(&s);
}

/* Gives a written tokenizer again, changed and with a correct hash. */
static void give_again(void)
{
    tfn_tokenizer_source s;
    if (!written_size || fuzz_one_in(4)) return;
    memset(&s, 0, sizeof s);
    vocab_text.n = 0;
    exact = complete = false;
    input_bytes(&vocab_text, written, written_size - 4);
    input_mutate(&vocab_text, 8);
    put_sum(&vocab_text);
    s.blob = input_place(first_room, vocab_text.s, vocab_text.n);
    s.blob_size = vocab_text.n;
    give(&s);
}

static void give_texts(int kind, bool changed)
{
    tfn_tokenizer_source s;
    memset(&s, 0, sizeof s);
    make_texts();
    exact = kind < (int)TFN_TOKENIZER_WORDPIECE;
    if (changed && fuzz_one_in(2)) input_mutate(&vocab_text, 0);
    else if (changed) input_mutate(&merges_text, 0);
    s.vocab = (const char *)input_place(first_room, vocab_text.s, vocab_text.n);
    s.vocab_size = vocab_text.n;
    s.kind = (tfn_tokenizer_kind)kind;
    if (kind == (int)TFN_TOKENIZER_BPE && !fuzz_one_in(32))
        s.merges = (const char *)input_place(second_room, merges_text.s, merges_text.n);
    s.merges_size = merges_text.n;
    give(&s);
}

static void fuzz_case(void)
{
    const int form = fuzz_below(8);
    const bool marked = form == 0;              /* a blob of marked tokens */
    const bool bpe = form < 2 || form > 3 || fuzz_one_in(2);
    const int kind = bpe ? (int)TFN_TOKENIZER_BPE : fuzz_below(5);
    if (!work_room.end) {
        first_room = input_room_new(INPUT_MOST);
        second_room = input_room_new(1 << 18);
        work_room = input_room_new(1 << 18);
    }
    make_vocabulary(kind == (int)TFN_TOKENIZER_BPE, form < 2);
    written_size = 0;                           /* a case depends on no other */
    for (int i = 0; i < 4; i++) {
        complete = i == 0;
        if (form == 1 || form == 4 || form == 6) give_json(form, i > 0);
        else if (form == 7) give_model(i > 0);
        else if (form == 5) give_lines(i > 0);
        else if (form == 3) give_texts(kind, i > 0);
        else give_blob(kind, marked, i > 0);
        give_again();
    }
}

int main(int argc, char **argv) { return fuzz_main("tokenizers", argc, argv); }
