/* Checks of every reader of tensors, for the fuzzers of formats that are not safetensors. */
#ifndef TENSORS_H
#define TENSORS_H
#include "input.h"

/* Each tensor of an open file of `size` bytes lies in it, is found by its name, and can be read. */
static void check_tensors(tfn_file *f, size_t size, input_room room)
{
    tfn_tensor t, found;
    for (int32_t i = 0; tfn_file_tensor(f, i, &t); i++) {
        const size_t bytes = sizeof(float) * (size_t)t.count;
        FUZZ_CHECK(t.at <= size && t.bytes <= size - t.at);
        FUZZ_CHECK(tfn_file_find(f, t.name, &found) && found.at == t.at);
        if (t.count > 0 && (size_t)t.count <= room.size / sizeof(float))
            FUZZ_CHECK(tfn_file_read(f, &t, (float *)input_last(room, bytes), 0, t.count)
                       == TFN_OK);
    }
    FUZZ_CHECK(f->error.status == TFN_OK);
}
#endif
