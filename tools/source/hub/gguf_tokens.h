#ifndef TFN__GGUF_TOKENS_H
#define TFN__GGUF_TOKENS_H
#include "../ground/ground.h"

/* Tokenizers in the metadata of GGUF. Reads them as tokenizer.json or as SentencePiece's model,
 * which the library knows. Offers the names of pre-tokenizers and the numbers of token types to the
 * part that writes GGUF. Builds on gguf and tokenizer_save. */

/* The rules by which llama.cpp splits a text, and the names (tokenizer.ggml.pre) that mean them,
 * the first for files that we write. */
typedef struct tfn__gguf_split {
    const char *names;
    const char *steps;                  /* pre_tokenizer of tokenizer.json; NULL: by `split` */
    int32_t split;                      /* a tfn_split */
    bool whole;                         /* a piece that is a token is not merged */
    bool begins;                        /* texts begin with a token unless a key says otherwise */
    bool composed;                      /* the published tokenizers compose characters (NFC) */
} tfn__gguf_split;
SHARED const tfn__gguf_split *tfn__gguf_split_at(int32_t i);            /* NULL: past the end */

/* Types of tokens, as in SentencePiece. */
enum { TFN__GGUF_NORMAL = 1, TFN__GGUF_UNKNOWN, TFN__GGUF_CONTROL, TFN__GGUF_USER,
       TFN__GGUF_UNUSED, TFN__GGUF_BYTE };
#endif /* TFN__GGUF_TOKENS_H */
