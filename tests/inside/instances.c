/* The section `reference`, which the header has in debug builds only. It uses the exp of the plain
 * kernels. */
#ifdef LIB_PARTS
#define TEST_LINKED
#include "../lib.h"
#define TFN__REFERENCE
#include "../../tools/source/kernels/instances.c"
#include "../../tools/source/kernels/reference.c"
#endif

const lib_reference *lib_reference_kernels(void)
{
    static const lib_reference reference = {
        tfn__ref_layernorm_forward, tfn__ref_layernorm_backward,
        tfn__ref_rmsnorm_forward, tfn__ref_rmsnorm_backward,
        tfn__ref_softmax_forward, tfn__ref_softmax_backward,
        tfn__ref_linear_forward, tfn__ref_linear_backward,
        tfn__ref_attention_forward, tfn__ref_attention_backward,
        tfn__ref_cross_entropy_forward, tfn__ref_cross_entropy_backward,
        tfn__ref_adamw
    };
    return &reference;
}
