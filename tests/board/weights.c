/* weights TYPE: a decoder in the form of `tfn export`, with weights of TYPE: float32, q8 or q4.
 * They are random, but sizes and instructions are the same as for trained ones. */
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "words.h"

/* Options for the program here and for the one on the board. */
#define OPTIONS                                                                                    \
    d.arch = TFN_ARCH_DECODER;                                                                     \
    d.vocab = 96;                                                                                  \
    d.context = 32;                                                                                \
    d.width = 64;                                                                                  \
    d.heads = 2;                                                                                   \
    d.layers = 2;                                                                                  \
    d.position = TFN_POSITION_ROTARY;                                                              \
    d.inference = true;
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

int main(int argc, char **argv)
{
    const tfn_choice *type;
    tfn_model_desc d = { 0 };
    tfn_model drawn;
    tfn_model packed;
    const tfn_model *m = &drawn;
    OPTIONS
    type = tfn_choice_find("weights", argc == 2 ? argv[1] : "");
    if (!type || tfn_model_new(&drawn, &d, NULL) != TFN_OK) return 1;
    d.weights = (tfn_weights)type->value;
    if (d.weights) {
        if (tfn_model_new(&packed, &d, NULL) != TFN_OK) return 1;
        if (tfn_model_quantize(&packed, &drawn) != TFN_OK) return 1;
        m = &packed;
    }
    write_words("weights", m);
    printf("\nstatic inline tfn_model_desc model_desc(void)\n{\n    tfn_model_desc d = { 0 };\n    %s\n"
           "    d.weights = %d;\n    d.parameters = (float *)(uintptr_t)model_weights;\n"
           "    return d;\n}\n", TEXT_OF(OPTIONS), (int)d.weights);
    return 0;
}
