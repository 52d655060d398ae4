/* Access to inputs and outputs of an attention in a bound model. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#include "../../tools/source/model/reading.c"
#include "../../tools/source/model/step.h"
#endif

bool lib_attention(tfn_model *m, const tfn_batch *batch, int32_t nth, tfn_attention_args *p)
{
    const int32_t node = tfn__nth_node(&m->infer, TFN__OP_ATTEND, nth);
    tfn__call c;
    int32_t e = 0;
    if (!node || tfn__ready(m, batch, false) != TFN_OK) return false;
    tfn__run_to(&m->infer, &m->run, &e, node);
    tfn__make_call(&c, &m->infer, &m->run, node * TFN__ENTRY_KINDS, m->run.work);
    *p = tfn__attention_of(&c);
    tfn__unbind(&m->run);
    return true;
}
