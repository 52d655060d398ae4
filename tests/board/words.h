/* For programs that write a model as C: its weights, floats or packed, as words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_words(const char *name, const tfn_model *m)
{
    const size_t count = m->memory.parameters / sizeof(uint32_t);
    printf("static const uint32_t model_%s[%lu] = {", name, (unsigned long)count);
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, m->params + i, sizeof word);
        if (i % 8 == 0) printf("\n    ");
        printf("0x%" PRIx32 ",", word);
    }
    printf("\n};\n");
}
