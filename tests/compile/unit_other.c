#include "../../tfnorm.h"

const char *other_version(void);
const char *other_version(void) { return tfn_version(); }
