#ifndef TFNORM_ONLY_KERNELS
#ifndef TFNORM_NO_METRICS
/* -- metrics --------------------------------------------------------------------------------- */

/* Sums over a corpus: begin with { 0 }, add, and ask for the score when you like; an addition that
 * fails changes nothing, and one to or of NULL fails; a score of NULL is NaN. Texts are UTF-8 and
 * end with a zero. What has no value is NaN. */

/* nll in nats; count what nll counts: ends of sentences usually, padding never */
TFNORM_API double tfn_perplexity(double nll, int64_t tokens);
TFNORM_API double tfn_bits_per_byte(double nll, int64_t bytes);

/* Bytes that suffice, exactly, for `strings` texts of `bytes` bytes in all, without their zeros:
 * the hypothesis and the references of one addition. 0: too large. */
TFNORM_API size_t tfn_metric_work(size_t bytes, int32_t strings);

typedef struct tfn_accuracy { int64_t right, tokens, right_rows, rows; } tfn_accuracy;
/* (rows, cols); wanted < 0 is ignored; a row is right when all of it is. */
TFNORM_API void tfn_accuracy_add(tfn_accuracy *a, const int32_t *found, const int32_t *wanted,
                                 ptrdiff_t rows, ptrdiff_t cols);
/* The same for logits (rows, cols, V), of which the largest counts. */
TFNORM_API void tfn_accuracy_add_logits(tfn_accuracy *a, const float *logits,
                                        const int32_t *wanted, ptrdiff_t rows, ptrdiff_t cols,
                                        int32_t vocab);

/* BLEU (Papineni 2002) as sacrebleu has it: 0..100, tokens by 13a, case counts. A sentence's own
 * score is that of a sum of one, with effective_order. */
typedef enum tfn_smooth {
    TFN_SMOOTH_EXP = 0,      /* orders without a match count 1/2, 1/4 ... */
    TFN_SMOOTH_FLOOR,        /* 0.1 */
    TFN_SMOOTH_ADD_ONE,      /* one more match and n-gram from order 2 on */
    TFN_SMOOTH_NONE
} tfn_smooth;
typedef struct tfn_bleu {
    int64_t correct[4], total[4];           /* n-grams */
    int64_t length, reference_length;       /* tokens */
    int32_t references;                     /* of each sentence; -1: it varies */
} tfn_bleu;
TFNORM_API tfn_status tfn_bleu_add(tfn_bleu *b, const char *hypothesis,
                                   const char *const *references, int32_t count, void *work,
                                   size_t size);
TFNORM_API double tfn_bleu_score(const tfn_bleu *b, tfn_smooth smooth, bool effective_order);
/* The signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...". Returns buf. */
TFNORM_API const char *tfn_bleu_text(const tfn_bleu *b, tfn_smooth smooth, bool effective_order,
                                     char *buf, size_t size);

/* ROUGE-1, -2 and -L, F1 (Lin 2004): 0..1, a mean over pairs, without stemming. */
typedef struct tfn_rouge { double f1[3]; int64_t pairs; } tfn_rouge;      /* sums */
TFNORM_API tfn_status tfn_rouge_add(tfn_rouge *r, const char *hypothesis, const char *reference,
                                    void *work, size_t size);
TFNORM_API double tfn_rouge_score(const tfn_rouge *r, int32_t i);         /* 0, 1, 2: L */

/* Word and character error rates: substitutions, deletions and insertions per unit of the
 * reference, over the corpus. */
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
/* Text to numbers and back. Text is bytes: any, valid UTF-8 or not, zeros too. It is cut into
 * pieces: bytes, characters (a byte that is not UTF-8 is one) or words, which are those of GPT-2's
 * rules: "Hello  world's" is "Hello", " ", " world", "'s".
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
 * A tokenizer is not changed by its use: threads may share one. Encoding takes a few steps per
 * byte; only within one word of over 256 bytes it may take as many per byte as there are merges. */
typedef enum tfn_tokenizer_kind {
    TFN_TOKENIZER_BPE = 0,  /* words, then merges of pairs of bytes: Sennrich 2016, Radford 2019 */
    TFN_TOKENIZER_BYTES,             /* no training needed */
    TFN_TOKENIZER_CHARACTERS,        /* those seen in training */
    TFN_TOKENIZER_WORDS,             /* those seen in training */
    TFN_TOKENIZER_WORDPIECE,         /* BERT's: words, then the longest tokens that they are made
                                      * of; this one and those below are read, not trained */
    TFN_TOKENIZER_CHARACTER_BPE,     /* merges of characters, spaces too: Llama 2's, Gemma's */
    TFN_TOKENIZER_UNIGRAM            /* the tokens of the best sum of scores: T5's; Kudo 2018 */
} tfn_tokenizer_kind;

/* A vocabulary begins with these, as far as wanted: "<pad>", "<s>", "</s>", "<unk>", "<mask>". No
 * text is encoded as one of them but what is unknown, and by tfn_tokenizer_encode_specials. */
typedef enum tfn_special {
    TFN_SPECIAL_PAD, TFN_SPECIAL_BOS, TFN_SPECIAL_EOS, TFN_SPECIAL_UNK, TFN_SPECIAL_MASK,
        TFN_SPECIAL_COUNT
} tfn_special;

typedef struct tfn_tokenizer_desc {
    tfn_tokenizer_kind kind;            /* 0: BPE */
    int32_t vocab;                      /* most ids; 0: 8192 for BPE, else no limit */
    int64_t min_count;                  /* rarer ones are left out; 0: 2 for pairs, else 1 */
    bool    no_pad, no_bos, no_eos, no_unk, mask;
    int32_t words;                      /* room for different pieces; 0: 262144 words or 16384
                                         * characters. 100 MB of text had 385,292 */
    int32_t word_bytes;                 /* room for their bytes; 0: 12 each, 4 of a character */
} tfn_tokenizer_desc;

typedef struct tfn__pair {
    int32_t left, right;
    int64_t count;
    int32_t head, at;                   /* first occurrence; place in the heap */
} tfn__pair;

/* Training: init, add any number of texts, run; then a tokenizer can be made of it. */
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

/* What a tokenizer is made of, one of four. Of tokenizer.json, which stands beside the weights of
 * published models, those are read that say byte-level BPE, such as GPT-2's, Llama 3's and Qwen's,
 * WordPiece, BERT's, or BPE or Unigram over characters, such as Llama 2's, Gemma's and T5's. A part
 * that would change what comes out and is not known here is an error with its name; the others
 * (truncation, padding) are passed over. */
typedef struct tfn_tokenizer_source {
    const tfn_trainer *trainer;         /* one that ran */
    const void *blob;                   /* what tfn_tokenizer_write gave */
    size_t      blob_size;
    const char *json;                   /* the text of tokenizer.json */
    size_t      json_size;
    const void *model;                  /* tokenizer.model or spiece.model of SentencePiece, */
    size_t      model_size;
    bool        begin, end;             /* whose texts begin with <s>, as Llama's, or end with </s>,
                                         * as T5's: the file does not say */
    const char *vocab, *merges;         /* the texts of vocab.json and merges.txt, as GPT-2's; with
                                         * a model vocab.json has the ids of its pieces: Marian's
                                         * source.spm */
    size_t      vocab_size, merges_size;
    tfn_tokenizer_kind kind;            /* of vocab without merges: bytes, characters or words; or
                                         * WordPiece: then vocab is vocab.txt, a line a token, */
    bool        cased;                  /* and this says that capitals and accents stay */
} tfn_tokenizer_source;

/* A tokenizer is four things, one after the other: steps that normalize a text, rules that cut it
 * into pieces, a model (its kind) that makes ids of a piece, and steps that make text of ids. What
 * files of the hub ask for is said in these terms. */

/* Steps of a normalizer, in this order. The first four are BERT's. */
enum {
    TFN_NORMALIZER_CLEAN     = 1,       /* no control characters; white space becomes spaces */
    TFN_NORMALIZER_CHINESE   = 2,       /* spaces around each Chinese character */
    TFN_NORMALIZER_ACCENTS   = 4,       /* none */
    TFN_NORMALIZER_LOWERCASE = 8,       /* no capitals */
    TFN_NORMALIZER_NFC       = 16,      /* Unicode's composed form: Qwen's, GPT-NeoX's */
    TFN_NORMALIZER_UTF8      = 32,      /* bytes that are no UTF-8 become U+FFFD */
    TFN_NORMALIZER_CHARSMAP  = 64,      /* replacements by a table of the file: mostly NFKC */
    TFN_NORMALIZER_WORDS     = 128,     /* any white space is one space, and none at the ends */
    TFN_NORMALIZER_LEFT      = 256,     /* no spaces in front */
    TFN_NORMALIZER_RIGHT     = 512,     /* none behind */
    TFN_NORMALIZER_COLLAPSE  = 1024,    /* one space for several */
    TFN_NORMALIZER_PREFIX    = 2048,    /* one more in front, */
    TFN_NORMALIZER_NEEDED    = 4096,    /* unless there is one, */
    TFN_NORMALIZER_FIRST     = 8192,    /* or an added token */
    TFN_NORMALIZER_MARKS     = 16384,   /* spaces become U+2581, SentencePiece's mark */
    TFN_NORMALIZER_STEPS     = 32768    /* none of these, but the steps of tfn_tokenizer.code */
};

/* By whose rules a text is cut; only tokenizer.json asks for others than GPT-2's. Those of Llama 3
 * and Qwen let a mark of any kind begin a word, know contractions in capitals, and cut numbers. */
typedef enum tfn_split {
    TFN_SPLIT_GPT2 = 0,
    TFN_SPLIT_LLAMA3,                   /* GPT-4's, OLMo 2's too: three digits at most */
    TFN_SPLIT_QWEN2,                    /* one digit */
    TFN_SPLIT_BLOOM,                    /* around white space, brackets and marks at ends */
    TFN_SPLIT_BERT,                     /* at white space, and around marks of punctuation */
    TFN_SPLIT_MARKS,                    /* in front of each U+2581 */
    TFN_SPLIT_NONE,                     /* nowhere */
    TFN_SPLIT_STEPS                     /* by the steps of tfn_tokenizer.code */
} tfn_split;

/* Steps of a decoder. */
enum {
    TFN_DECODER_JOIN = 1,               /* a space between words, none within: WordPiece */
    TFN_DECODER_TIDY = 2,               /* none in front of . , ? ! and 's */
    TFN_DECODER_MARKS = 4,              /* U+2581 becomes a space, */
    TFN_DECODER_STRIP = 8,              /* but nothing as the first character, */
    TFN_DECODER_STRIP_ALL = 16,         /* nor as the first of several tokens, */
    TFN_DECODER_STRIP_TOKEN = 32,       /* nor anywhere in the first token */
    TFN_DECODER_SPACES = 64,            /* a space between tokens, which stay as they are */
    TFN_DECODER_SUFFIX = 128            /* what ends a word becomes a space, but at the end */
};

typedef struct tfn_tokenizer {
    tfn_error error;
    tfn_tokenizer_kind kind;
    tfn_split split;
    int32_t   normalizer, decoder;      /* their steps, added: TFN_NORMALIZER_, TFN_DECODER_ */
    bool      prefix_space;             /* a text gets a space in front if it has none */
    bool      whole;                    /* a piece that is a token is not merged (ignore_merges) */
    bool      fallback;                 /* what is unknown becomes tokens of its bytes, <0x0A> */
    bool      fuse;                     /* or several unknown characters one "<unk>" */
    bool      scored;                   /* tokens have scores; of BPE: which merges go by */
    bool      single;                   /* sums of scores are floats, as SentencePiece's */
    bool      marked;                   /* tokenizer.json says what is special, not the name */
    bool      apart;                    /* Marian's: ids are not those of the pieces */
    int32_t   vocab, merges;            /* how many ids, how many merges */
    int32_t   tokens;                   /* the same as vocab, and pieces of Marian's that have no
                                         * id: they are found in texts, and are "<unk>" */
    int32_t   special[TFN_SPECIAL_COUNT];           /* ids, -1: none */
    int32_t   begins, ends, *frame;     /* frame: ids that a text of this model begins with, then
                                         * those that it ends with: begins + ends, mostly one */
    int32_t   added, *added_ids;        /* tokens that text is cut at, sorted by their bytes */
    uint32_t  heads[2][8];              /* a set of bytes, a bit each: that begin one of them, in a
                                         * text or a normalized one */
    bool      cuts[2];                  /* one of them is not special */
    int32_t   most_chars;               /* WordPiece: a longer word is unknown */
    char      inside[8];                /* and this marks a token that goes on with a word: "##" */
    int32_t   sorted, *order, first[257];           /* its tokens by their bytes; from first[c] on
                                         * the first byte is c or above */
    int32_t   inner[2];                 /* those from inner[0] to inner[1] - 1 begin with the mark
                                         * and are longer */
    double   *score, least, best;       /* per token; of all */
    int32_t  *rank;                     /* BPE by scores: the token of the lowest is merged first,
                                         * and order is by them */
    uint32_t  joined[8];                /* bytes that stand before U+2581 in a token */
    int32_t   map_bytes, map_units;     /* TFN_NORMALIZER_CHARSMAP: a trie, then replacements */
    uint32_t  mapped[4];                /* bytes of ASCII that may be replaced where none or ASCII
                                         * follows */
    uint8_t  *map;
    uint8_t  *text, *flags;             /* all tokens' bytes; the rest per token and merge */
    int32_t  *start, *slots, *merge, *merge_slots, *byte_id;
    int32_t  *others;                   /* apart: a hash table of the tokens that are no pieces */
    int32_t   unknown_byte;             /* BPE of bytes: the token of one that is none, -1 */
    char      suffix[8];                /* BPE: the last symbol of a word has it, such as "</w>" */
    int32_t   shadows, *shadow;         /* added tokens that a normalizer changes: what they become
                                         * is searched for; behind the tokens */
    int32_t   rule_bytes, code_words;   /* tokenizer.json's normalizer, pre_tokenizer and decoder */
    char     *rules;                    /* as they stand there, where the flags above do not say */
    int32_t  *code;                     /* them, and what they are compiled to */
} tfn_tokenizer;

#ifndef TFNORM_NO_TRAINING
/* Bytes to train with, exact; 0: invalid. For BPE about 350 per word of the room. */
TFNORM_API size_t tfn_trainer_size(const tfn_tokenizer_desc *desc);
TFNORM_API tfn_status tfn_trainer_init(tfn_trainer *t, const tfn_tokenizer_desc *desc, void *mem,
                                       size_t size);
/* Count the pieces of a text; none goes on in the next one, so cut files at ends of lines. */
TFNORM_API tfn_status tfn_trainer_add(tfn_trainer *t, const char *text, size_t bytes);
/* Choose the vocabulary. BPE merges the most frequent pair; of equally frequent ones that with the
 * smallest left id, then the smallest right id. Words and characters are sorted by count, then by
 * their bytes. */
TFNORM_API tfn_status tfn_trainer_run(tfn_trainer *t);
#endif

/* Bytes that a tokenizer needs, exact; 0: invalid (init says why). The source is not used after
 * init. */
TFNORM_API size_t tfn_tokenizer_size(const tfn_tokenizer_source *source);
TFNORM_API tfn_status tfn_tokenizer_init(tfn_tokenizer *k, const tfn_tokenizer_source *source,
                                         void *mem, size_t size);
/* The ids of a text: returns how many there are, and stores those that fit. Room for one id per
 * byte is always enough (with prefix_space for two; with a normalizer for three: a character may
 * become several). With less, a word of over 256 bytes, or with a normalizer a text of over 512
 * that it changes, may be counted as its bytes; BPE of characters and Unigram count such a text, or
 * a word of over 128 bytes, as several times those. What a call returned is always enough. What is
 * behind the ids may change. No special id is added; what is unknown becomes "<unk>", or nothing if
 * there is none. Here and below what is stored into may be NULL: then it is only counted; of any
 * other NULL there is nothing. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                                          const char *text, size_t bytes);
/* The same of a text that is trusted: where it reads like a special token, such as "<s>" or
 * "<|im_start|>", it is that token. For templates of chats, and never for what a user typed, who
 * could write the marks of another speaker. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode_specials(const tfn_tokenizer *k, int32_t *ids,
                                                   ptrdiff_t capacity, const char *text,
                                                   size_t bytes);
/* The text of ids: returns its bytes, and stores those that fit, without a final zero. Specials
 * give nothing, but for "<unk>", which stands for ids out of range too. */
TFNORM_API size_t tfn_tokenizer_decode(const tfn_tokenizer *k, char *text, size_t capacity,
                                       const int32_t *ids, ptrdiff_t count);
/* The bytes of one token, not terminated; NULL: no such id. bytes may be NULL. */
TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes);
/* The id of a token given by its bytes or a special's name; -1: there is none. */
TFNORM_API int32_t tfn_tokenizer_find(const tfn_tokenizer *k, const char *token, size_t bytes);
/* Save: as a blob for checkpoints, or as the texts of vocab.json and merges.txt, which cannot say
 * all that tokenizer.json does: neither its rules nor which tokens are special. They return the
 * bytes that are needed, and store those that fit, without a final zero. */
TFNORM_API size_t tfn_tokenizer_write(const tfn_tokenizer *k, void *blob, size_t capacity);
TFNORM_API size_t tfn_tokenizer_vocab_text(const tfn_tokenizer *k, char *text, size_t capacity);
TFNORM_API size_t tfn_tokenizer_merges_text(const tfn_tokenizer *k, char *text, size_t capacity);
#ifndef TFNORM_NO_IMPORT
/* The text of tokenizer.json, which made a tokenizer again encodes and decodes as this one; 0: it
 * cannot say what this one does. That are bytes, characters and words, BPE without a merge, and
 * what SentencePiece has and the library "tokenizers" lacks: BPE that merges characters that are no
 * tokens, or two tokens of one score; Unigram with tokens of bytes or of users; tokens of users
 * beside a table of replacements or a space in front. Of Unigram SentencePiece adds up floats, the
 * library doubles: where the sums of two ways are the same but for that, another may come out. */
TFNORM_API size_t tfn_tokenizer_json_text(const tfn_tokenizer *k, char *text, size_t capacity);
#endif
#endif
