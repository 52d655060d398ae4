/* A header with an implementation of another version: this tfn_version replaces the library's. */
#include "../../tfnorm.h"

static const char *version;
const char *tfn_version(void) { return version; }

static bool agrees(const char *compiled)
{
    version = compiled;
    return tfn_version_agrees();
}

int main(void)
{
    const char longer[] = TFNORM_VERSION "1";
    char shorter[] = TFNORM_VERSION;
    shorter[sizeof shorter - 2] = 0;
    if (!agrees(TFNORM_VERSION)) return 1;
    if (agrees(longer) || agrees(shorter) || agrees("") || agrees("9.9.9")) return 2;
    return 0;
}
