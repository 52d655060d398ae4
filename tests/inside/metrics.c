/* Access to the words of BLEU. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/text/metrics.c"
#endif

const char *lib_word_13a(const char *text, int32_t i, int32_t *length, void *work, size_t size)
{
    const char *none = "";
    tfn_status status;
    const tfn__words *w = tfn__split_all(text, &none, 1, tfn__split_13a, work, size, &status);
    if (!w || i >= w->count) return NULL;
    *length = w->at[i + 1] - w->at[i];
    return w->text + w->at[i];
}
