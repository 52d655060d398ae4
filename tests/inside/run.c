/* Access to the rule that decides whether a run has a team. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/tape/run.c"
#endif

int lib_always_teams = 1;
int lib_team_pays(const tfn_tape *t, const tfn_run *r)
{
#ifdef TFN__TEAMS
    return tfn__team_pays(t, r);
#else
    (void)t;
    (void)r;
    return -1;
#endif
}
