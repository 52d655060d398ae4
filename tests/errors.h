/* Checks of calls that return a tfn_status: CHECK_OK prints the error of a call that failed, and
 * CHECK_SAYS looks for a part of an error's text. */
#ifndef ERRORS_H
#define ERRORS_H
#include "lib.h"
#include "check.h"

/* Returns true if the call succeeded. */
#define CHECK_OK(call, error) errors_ok(call, error, #call, __FILE__, __LINE__)
static inline bool errors_ok(tfn_status status, const tfn_error *e, const char *call,
                             const char *file, int line)
{
    char text[400];
    if (status == TFN_OK) return true;
    if (check_fails(file, line)) printf("%s: %s\n", call, tfn_error_text(e, text, sizeof text));
    return false;
}

#define CHECK_SAYS(error, part) errors_say(error, part, __FILE__, __LINE__)
static inline void errors_say(const tfn_error *e, const char *part, const char *file, int line)
{
    char text[400];
    if (strstr(tfn_error_text(e, text, sizeof text), part)) return;
    if (check_fails(file, line)) printf("\"%s\" lacks \"%s\"\n", text, part);
}
#endif
