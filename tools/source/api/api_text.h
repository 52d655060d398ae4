#ifndef TFNORM_ONLY_KERNELS
#ifndef TFNORM_NO_METRICS
/* -- metrics --------------------------------------------------------------------------------- */

/* Each metric is a sum over a corpus. Start with { 0 }, add pairs, and ask for the score at any
 * time. An addition that fails changes nothing; adding to NULL or from NULL fails. Texts are UTF-8
 * and end with a zero. A score without a value, or of NULL, is NaN. */

/* nll is in nats. Count the tokens that nll counts: usually ends of sentences, never padding. */
TFNORM_API double tfn_perplexity(double nll, int64_t tokens);
TFNORM_API double tfn_bits_per_byte(double nll, int64_t bytes);

/* Bytes of working memory that one addition needs, or 0 if that is too large. The hypothesis and
 * its references are `strings` texts of `bytes` bytes altogether, without their zeros. */
TFNORM_API size_t tfn_metric_work(size_t bytes, int32_t strings);

typedef struct tfn_accuracy { int64_t right, tokens, right_rows, rows; } tfn_accuracy;
/* found and wanted are (rows, cols). Positions with wanted < 0 are ignored; a row is right if all
 * of its other positions are. */
TFNORM_API void tfn_accuracy_add(tfn_accuracy *a, const int32_t *found, const int32_t *wanted,
                                 ptrdiff_t rows, ptrdiff_t cols);
/* The same for logits (rows, cols, V): the token found is the first one with the largest logit. */
TFNORM_API void tfn_accuracy_add_logits(tfn_accuracy *a, const float *logits,
                                        const int32_t *wanted, ptrdiff_t rows, ptrdiff_t cols,
                                        int32_t vocab);

/* BLEU (Papineni 2002) as sacrebleu computes it: 0..100, tokenized by 13a, case-sensitive. For the
 * score of one sentence add only that one and set effective_order. */
typedef enum tfn_smooth {
    TFN_SMOOTH_EXP = 0,      /* an order without a match counts as 1/2, the next as 1/4 ... */
    TFN_SMOOTH_FLOOR,        /* an order without a match counts as 0.1 */
    TFN_SMOOTH_ADD_ONE,      /* adds a match and an n-gram to each order from 2 on */
    TFN_SMOOTH_NONE
} tfn_smooth;
typedef struct tfn_bleu {
    int64_t correct[4], total[4];           /* n-grams */
    int64_t length, reference_length;       /* tokens */
    int32_t references;                     /* per sentence; -1: the number varies */
} tfn_bleu;
TFNORM_API tfn_status tfn_bleu_add(tfn_bleu *b, const char *hypothesis,
                                   const char *const *references, int32_t count, void *work,
                                   size_t size);
TFNORM_API double tfn_bleu_score(const tfn_bleu *b, tfn_smooth smooth, bool effective_order);
/* Writes the signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...". Returns buf. */
TFNORM_API const char *tfn_bleu_text(const tfn_bleu *b, tfn_smooth smooth, bool effective_order,
                                     char *buf, size_t size);

/* F1 of ROUGE-1, -2 and -L (Lin 2004): 0..1, the mean over pairs, without stemming. */
typedef struct tfn_rouge { double f1[3]; int64_t pairs; } tfn_rouge;      /* sums */
TFNORM_API tfn_status tfn_rouge_add(tfn_rouge *r, const char *hypothesis, const char *reference,
                                    void *work, size_t size);
/* i is 0 for ROUGE-1, 1 for ROUGE-2, 2 for ROUGE-L. */
TFNORM_API double tfn_rouge_score(const tfn_rouge *r, int32_t i);

/* Word and character error rates: substitutions, deletions and insertions per unit of the
 * reference, over the corpus. NaN if the references are empty. */
typedef struct tfn_edits { int64_t edits, length; } tfn_edits;
TFNORM_API tfn_status tfn_edits_add_words(tfn_edits *e, const char *hypothesis,
                                          const char *reference, void *work, size_t size);
TFNORM_API tfn_status tfn_edits_add_characters(tfn_edits *e, const char *hypothesis,
                                               const char *reference, void *work, size_t size);
TFNORM_API double tfn_edits_score(const tfn_edits *e);
#endif /* TFNORM_NO_METRICS */
#endif /* TFNORM_ONLY_KERNELS */

/* -- tokenizers ------------------------------------------------------------------------------ */

#if !defined TFNORM_NO_TOKENIZERS && !defined TFNORM_ONLY_KERNELS
/* Text to ids and back. A text is any bytes: it may contain zeros and need not be valid UTF-8. It
 * is split into pieces: bytes, characters (an invalid byte counts as one) or words. Words follow
 * GPT-2's rules: "Hello  world's" is "Hello", " ", " world", "'s".
 *
 *     tfn_tokenizer_desc desc = { 0 };                 // BPE of 8192 ids
 *     size_t room = tfn_trainer_size(&desc);
 *     tfn_trainer trainer;
 *     tfn_trainer_init(&trainer, &desc, malloc(room), room);
 *     tfn_trainer_add(&trainer, text, bytes);          // any number of texts
 *     if (tfn_trainer_run(&trainer) != TFN_OK) ...     // the first error of all calls
 *
 *     tfn_tokenizer_source source = { 0 };
 *     source.trainer = &trainer;
 *     size_t size = tfn_tokenizer_size(&source);
 *     tfn_tokenizer tokenizer;
 *     tfn_tokenizer_init(&tokenizer, &source, malloc(size), size);
 *     ptrdiff_t count = tfn_tokenizer_encode(&tokenizer, ids, capacity, text, bytes);
 *
 * Using a tokenizer does not change it, so threads may share one. Encoding takes a few steps per
 * byte; a long word takes n log n. The exception is BPE with a vocabulary in which a byte can
 * change tokens that begin more than 100 bytes before it: there a word of n bytes can take n^2
 * steps, unless its place in `ids` has room for 6 * n. */
typedef enum tfn_tokenizer_kind {
    TFN_TOKENIZER_BPE = 0,  /* words, then merges of pairs of bytes: Sennrich 2016, Radford 2019 */
    TFN_TOKENIZER_BYTES,             /* no training needed */
    TFN_TOKENIZER_CHARACTERS,        /* those seen in training */
    TFN_TOKENIZER_WORDS,             /* those seen in training */
    TFN_TOKENIZER_WORDPIECE,         /* BERT's: words, then the longest tokens from the left. This
                                      * kind and those below can be read but not trained. */
    TFN_TOKENIZER_CHARACTER_BPE,     /* merges of characters, spaces too: Llama 2's, Gemma's */
    TFN_TOKENIZER_UNIGRAM            /* tokens with the best sum of scores: T5's; Kudo 2018 */
} tfn_tokenizer_kind;

/* A trained vocabulary starts with the special tokens it uses: "<pad>", "<s>", "</s>", "<unk>",
 * "<mask>". Text never encodes to one of them, with two exceptions: unknown pieces become "<unk>",
 * and tfn_tokenizer_encode_specials finds all of them. */
typedef enum tfn_special {
    TFN_SPECIAL_PAD, TFN_SPECIAL_BOS, TFN_SPECIAL_EOS, TFN_SPECIAL_UNK, TFN_SPECIAL_MASK,
        TFN_SPECIAL_COUNT
} tfn_special;

typedef struct tfn_tokenizer_desc {
    tfn_tokenizer_kind kind;            /* 0: BPE */
    int32_t vocab;                      /* most ids; 0: 8192 for BPE, else no limit */
    int64_t min_count;                  /* 0: 2 for pairs, else 1. Rarer ones are left out */
    bool    no_pad, no_bos, no_eos, no_unk, mask;
    int32_t words;                      /* 0: 262144 words or 16384 characters. Room for different
                                         * pieces; 100 MB of text had 385,292 words */
    int32_t word_bytes;                 /* 0: 12 per word, 4 per character. Room for their bytes */
} tfn_tokenizer_desc;

typedef struct tfn__pair {
    int32_t left, right;
    int64_t count;
    int32_t head, at;                   /* first occurrence; place in the heap */
} tfn__pair;

/* Training: init, add any number of texts, run. Then a tokenizer can be made from it. */
typedef struct tfn_trainer {
    tfn_error error;
    tfn_tokenizer_desc desc;            /* resolved */
    int32_t   vocab, words, word_bytes, first;      /* found so far; first id after the specials */
    bool      ran;
    uint8_t  *text;                     /* of the words */
    int32_t  *start, *slots, *order;
    int64_t  *count;
    int32_t  *symbol, *word, *next, *prev;          /* of each byte of the words */
    tfn__pair *pair;
    int32_t  *heap, *pair_slots, pairs, pair_room, heap_size, spare;
    int32_t  *left, *right, *length;    /* of each id */
} tfn_trainer;

/* Where a tokenizer comes from: a trainer, a blob, tokenizer.json, or older files; the first that
 * is given counts. tokenizer.json may contain any model of the library "tokenizers": byte-level BPE
 * (GPT-2, Llama 3, Qwen), WordPiece (BERT), WordLevel, BPE and Unigram over characters (Llama 2,
 * Gemma, T5), with any sequence of its normalizers and pre-tokenizers. A part that changes the ids
 * and is not supported is an error that names it. Truncation and padding are ignored. */
typedef struct tfn_tokenizer_source {
    const tfn_trainer *trainer;         /* one that ran */
    const void *blob;                   /* what tfn_tokenizer_write gave */
    size_t      blob_size;
    const char *json;                   /* the text of tokenizer.json */
    size_t      json_size;
    const void *model;                  /* tokenizer.model or spiece.model of SentencePiece, */
    size_t      model_size;
    bool        begin, end;             /* a model's texts begin with <s> (Llama) or end with </s>
                                         * (T5); the file does not say */
    const char *vocab, *merges;         /* the texts of vocab.json and merges.txt (GPT-2). Next to
                                         * a model, vocab.json has the ids of its pieces (Marian) */
    size_t      vocab_size, merges_size;
    tfn_tokenizer_kind kind;            /* needed for a vocab without merges: bytes, characters or
                                         * words; for WordPiece, vocab is the text of vocab.txt */
    bool        cased;                  /* WordPiece: keep capitals and accents */
} tfn_tokenizer_source;

/* A tokenizer has four stages: a normalizer that changes the text, a split into pieces, a model
 * (its kind) that maps pieces to ids, and a decoder that maps ids back to text. */

/* Steps of a normalizer, in this order. The first four are BERT's. */
enum {
    TFN_NORMALIZER_CLEAN     = 1,       /* no control characters; white space becomes spaces */
    TFN_NORMALIZER_CHINESE   = 2,       /* spaces around each Chinese character */
    TFN_NORMALIZER_ACCENTS   = 4,       /* strip accents */
    TFN_NORMALIZER_LOWERCASE = 8,       /* lower case */
    TFN_NORMALIZER_NFC       = 16,      /* Unicode's composed form: Qwen, GPT-NeoX */
    TFN_NORMALIZER_UTF8      = 32,      /* replace invalid bytes by U+FFFD */
    TFN_NORMALIZER_CHARSMAP  = 64,      /* replace by the file's table, mostly NFKC */
    TFN_NORMALIZER_WORDS     = 128,     /* white space becomes one space, none at the ends */
    TFN_NORMALIZER_LEFT      = 256,     /* strip leading spaces */
    TFN_NORMALIZER_RIGHT     = 512,     /* strip trailing spaces */
    TFN_NORMALIZER_COLLAPSE  = 1024,    /* replace several spaces by one */
    TFN_NORMALIZER_PREFIX    = 2048,    /* put a space in front */
    TFN_NORMALIZER_NEEDED    = 4096,    /* PREFIX only if the text does not start with one */
    TFN_NORMALIZER_FIRST     = 8192,    /* PREFIX only at the start, not after an added token */
    TFN_NORMALIZER_MARKS     = 16384,   /* replace spaces by U+2581, SentencePiece's mark */
    TFN_NORMALIZER_STEPS     = 32768    /* run the program in tfn_tokenizer.code instead */
};

/* The rules that split a text; only tokenizer.json selects others than GPT-2's. Llama 3 and Qwen
 * let any punctuation start a word, accept contractions in capitals, and split numbers. */
typedef enum tfn_split {
    TFN_SPLIT_GPT2 = 0,
    TFN_SPLIT_LLAMA3,                   /* GPT-4's, OLMo 2's too: three digits at most */
    TFN_SPLIT_QWEN2,                    /* one digit */
    TFN_SPLIT_BLOOM,                    /* around white space, brackets and final punctuation */
    TFN_SPLIT_BERT,                     /* at white space and around punctuation */
    TFN_SPLIT_MARKS,                    /* before each U+2581 */
    TFN_SPLIT_NONE,                     /* no split */
    TFN_SPLIT_STEPS                     /* by the program in tfn_tokenizer.code */
} tfn_split;

/* Steps of a decoder. */
enum {
    TFN_DECODER_JOIN = 1,               /* put spaces between words: WordPiece */
    TFN_DECODER_TIDY = 2,               /* but none before . , ? ! and 's */
    TFN_DECODER_MARKS = 4,              /* replace U+2581 by a space */
    TFN_DECODER_STRIP = 8,              /* drop U+2581 as the first character */
    TFN_DECODER_STRIP_ALL = 16,         /* drop it as the first one of each token before any text */
    TFN_DECODER_STRIP_TOKEN = 32,       /* drop it anywhere in the first token */
    TFN_DECODER_SPACES = 64,            /* put spaces between tokens */
    TFN_DECODER_SUFFIX = 128            /* replace the suffix by a space, except at the end */
};

typedef struct tfn_tokenizer {
    tfn_error error;
    tfn_tokenizer_kind kind;
    tfn_split split;
    int32_t   normalizer, decoder;      /* sums of TFN_NORMALIZER_ and TFN_DECODER_ */
    bool      prefix_space;             /* put a space before a text that has none */
    bool      whole;                    /* do not merge a piece that is a token (ignore_merges);
                                         * WordPiece: pieces are never taken apart (WordLevel) */
    bool      fallback;                 /* encode unknown characters as their bytes, <0x0A> */
    bool      fuse;                     /* encode a run of unknown characters as one "<unk>" */
    bool      scored;                   /* tokens have scores; BPE merges by them */
    bool      single;                   /* SentencePiece's model: sums of scores are floats */
    bool      marked;                   /* the file marks special tokens, names do not */
    bool      apart;                    /* Marian: vocab.json has the ids of pieces */
    int32_t   vocab, merges;            /* number of ids and of merges */
    int32_t   tokens;                   /* vocab, plus Marian's pieces without an id, which are
                                         * found in texts and encoded as "<unk>" */
    int32_t   special[TFN_SPECIAL_COUNT];           /* ids, -1: none */
    int32_t   begins, ends, *frame;     /* ids around a text of this model: `begins` before it,
                                         * then `ends` after it */
    int32_t   added, *added_ids;        /* tokens that split a text first, sorted by their bytes */
    uint32_t  heads[2][8];              /* bit sets of first bytes: before, after normalizing */
    bool      cuts[2];                  /* one of them is not special: before, after normalizing */
    int32_t   most_chars;               /* WordPiece: a longer word is unknown */
    char      inside[8];                /* WordPiece: the prefix of a token inside a word, "##" */
    int32_t   sorted, *order, first[257];           /* ids sorted by their tokens' bytes; from
                                         * first[c] on the first byte is at least c */
    int32_t   inner[2];                 /* inner[0] to inner[1] - 1: tokens that start with it */
    double   *score, least, best;       /* of each token; the lowest and the highest */
    int32_t  *rank;                     /* scored BPE: the lowest is merged first, in this order */
    uint32_t  joined[8];                /* bytes that come before U+2581 in a token, a bit set */
    int32_t   map_bytes, map_units;     /* TFN_NORMALIZER_CHARSMAP: a trie, then replacements */
    uint32_t  mapped[4];                /* a bit set of ASCII that the map may replace */
    uint8_t  *map;
    uint8_t  *text, *flags;             /* bytes of all tokens; flags of each token */
    int32_t  *start, *slots, *merge, *merge_slots, *byte_id;
    int32_t  *others;                   /* apart: a hash table of the tokens that are no pieces */
    int32_t   unknown_byte;             /* byte-level BPE: id of bytes that are no token; or -1 */
    char      suffix[8];                /* BPE: suffix of the last symbol of a word, "</w>" */
    int32_t   shadows, *shadow;         /* added tokens that the normalizer changes: their ids; the
                                         * normalized texts are stored after all tokens */
    int32_t   rule_bytes, code_words;   /* sizes of the two arrays below */
    char     *rules;                    /* normalizer, pre_tokenizer and decoder in JSON, if the
                                         * flags above cannot express them */
    int32_t  *code;                     /* the same as a program */
} tfn_tokenizer;

#ifndef TFNORM_NO_TRAINING
/* Returns the exact number of bytes for training, or 0 if desc is invalid. BPE needs about 350 per
 * word of the room. */
TFNORM_API size_t tfn_trainer_size(const tfn_tokenizer_desc *desc);
TFNORM_API tfn_status tfn_trainer_init(tfn_trainer *t, const tfn_tokenizer_desc *desc, void *mem,
                                       size_t size);
/* Counts the pieces of a text. No piece continues in the next text, so split files at line ends. */
TFNORM_API tfn_status tfn_trainer_add(tfn_trainer *t, const char *text, size_t bytes);
/* Chooses the vocabulary. BPE merges the most frequent pair; ties go to the smallest left id, then
 * to the smallest right id. Words and characters are sorted by count, then by their bytes. */
TFNORM_API tfn_status tfn_trainer_run(tfn_trainer *t);
#endif

/* Returns the exact number of bytes for a tokenizer, or 0 if the source is invalid (init says why).
 * The source is not used after init. */
TFNORM_API size_t tfn_tokenizer_size(const tfn_tokenizer_source *source);
TFNORM_API tfn_status tfn_tokenizer_init(tfn_tokenizer *k, const tfn_tokenizer_source *source,
                                         void *mem, size_t size);
/* Encodes a text: returns the number of ids and stores those that fit. ids may be NULL to count
 * only. If the result is above capacity, call again with that capacity: it is always enough. One id
 * per byte is enough (two with prefix_space, three with a normalizer; more if `rules` add text),
 * except that these may be counted as many times their bytes when they do not fit: with a
 * normalizer or rules, texts of more than 512 bytes; for BPE of characters and Unigram, words of
 * more than 128 bytes. Memory after the returned ids may change. No special id is added. Unknown
 * pieces become "<unk>", or nothing if there is none. Returns 0 if k or text is NULL. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                                          const char *text, size_t bytes);
/* The same for trusted text: where it contains the text of a special token, such as "<s>" or
 * "<|im_start|>", it becomes that token. Use it for chat templates, never for text that a user
 * typed, because the user could write as another speaker. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode_specials(const tfn_tokenizer *k, int32_t *ids,
                                                   ptrdiff_t capacity, const char *text,
                                                   size_t bytes);
/* Decodes ids: returns the number of bytes and stores those that fit, without a final zero. text
 * may be NULL. Special tokens and ids that the vocabulary skips give no text, except "<unk>", which
 * also replaces ids out of range. */
TFNORM_API size_t tfn_tokenizer_decode(const tfn_tokenizer *k, char *text, size_t capacity,
                                       const int32_t *ids, ptrdiff_t count);
/* Returns the bytes of a token, not terminated, or NULL if there is no such id. bytes may be NULL.
 */
TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes);
/* Returns the id of a token with these bytes, special or not, or -1. */
TFNORM_API int32_t tfn_tokenizer_find(const tfn_tokenizer *k, const char *token, size_t bytes);
/* Save a tokenizer as a blob for checkpoints, or as the texts of vocab.json and merges.txt, which
 * lack the rules and the special tokens. Each returns the bytes needed and stores those that fit,
 * without a final zero. */
TFNORM_API size_t tfn_tokenizer_write(const tfn_tokenizer *k, void *blob, size_t capacity);
TFNORM_API size_t tfn_tokenizer_vocab_text(const tfn_tokenizer *k, char *text, size_t capacity);
TFNORM_API size_t tfn_tokenizer_merges_text(const tfn_tokenizer *k, char *text, size_t capacity);
#ifndef TFNORM_NO_IMPORT
/* Writes tokenizer.json; a tokenizer made from it encodes and decodes like this one. Returns 0 if
 * the format cannot express this one: bytes, characters and words; trained BPE without a merge; and
 * what SentencePiece has but the library "tokenizers" lacks: BPE that merges characters that are no
 * tokens, or two tokens of equal score; Unigram with tokens of bytes or of users; tokens of users
 * next to a table of replacements or a space in front. SentencePiece adds scores as floats, the
 * library as doubles, so Unigram may choose another of two ways whose sums differ only by rounding.
 */
TFNORM_API size_t tfn_tokenizer_json_text(const tfn_tokenizer *k, char *text, size_t capacity);
#endif
#endif
