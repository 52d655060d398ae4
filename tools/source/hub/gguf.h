#ifndef TFN__GGUF_H
#define TFN__GGUF_H
#include "../ground/ground.h"

/* GGUF, the files of llama.cpp, read like a folder of the hub: the scalars of the metadata become a
 * config.json, and rows of data say which key is which option, as for every family. Builds on
 * files, safetensors, blocks, and the rules of part families. */
#if !defined TFNORM_NO_FILES && !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO

SHARED bool tfn__is_gguf(const tfn_import *x);
SHARED void tfn__open_gguf(tfn_import *x);
#endif
#endif /* TFN__GGUF_H */
