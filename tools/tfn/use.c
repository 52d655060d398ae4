/* Arguments that several commands have. */
#include "use.h"
#include "../../tfnorm.h"
#include <string.h>

void refuse_existing(const settings *s, const char *path)
{
    if (given(s, O_FORCE) || !exists(path) || !strcmp(path, "-")) return;
    if (strstr(path, ".safetensors"))
        die("%s already exists; --force overwrites it, train --resume goes on with it", path);
    die("%s already exists; --force overwrites it", path);
}

const char *open_use(bundle *b, const settings *s, cli *c)
{
    if (s->files < 1 || s->files > 2) cli_fail(c, "expected MODEL and a file, or - for the input");
    bundle_open(b, s->file[0]);
    b->adapter = text_of(s, O_ADAPTER);
    if (s->files > 1) return s->file[1];
    return "-";
}

const char *second_file(const settings *s)
{
    if (s->files > 1) return s->file[1];
    return NULL;
}

void must_write_text(const bundle *b)
{
    if (b->desc.arch == TFN_ARCH_ENCODER) die("%s is an encoder, which writes no text", b->path);
    if (b->desc.bands) die("%s is a model of sound, not of lines; tfn eval measures it", b->path);
}

const char *out_of(const settings *s, cli *c, bool whole)
{
    if (!given(s, O_OUT)) cli_fail(c, "expected --out FILE");
    must_write(text_of(s, O_OUT), whole);
    refuse_existing(s, text_of(s, O_OUT));
    return text_of(s, O_OUT);
}
