/* The hash of all logits of 1,000 tokens that a decoder with 8-bit or 4-bit weights chooses. It is
 * equal on every machine with a fused multiply-add or with TFNORM_EXACT. The model is initialized,
 * quantized and run in static memory of this file, of a size that fits a board. Include tfnorm.h
 * before. QUANTIZED_TOKENS may be smaller. */
enum { QUANTIZED_VOCAB = 96, QUANTIZED_CONTEXT = 1000 };
#ifndef QUANTIZED_TOKENS
#define QUANTIZED_TOKENS QUANTIZED_CONTEXT
#endif
static unsigned char quantized_floats[500000], quantized_bytes[300000], quantized_decoder[200000];

/* FNV-1a over the bits, from the lowest byte of each number. */
static uint64_t quantized_fold(uint64_t hash, const float *logits)
{
    for (int i = 0; i < QUANTIZED_VOCAB; i++) {
        uint32_t u;
        memcpy(&u, logits + i, sizeof u);
        for (int k = 0; k < 4; k++) hash = (hash ^ (u >> 8*k & 255)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static int32_t quantized_best(const float *logits)
{
    int32_t best = 0;
    for (int32_t v = 1; v < QUANTIZED_VOCAB; v++) if (logits[v] > logits[best]) best = v;
    return best;
}

static tfn_model_desc quantized_desc(tfn_isa isa)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.vocab = QUANTIZED_VOCAB;
    d.context = QUANTIZED_CONTEXT;
    d.width = 48;                       /* one and a half blocks */
    d.heads = 2;
    d.window = 100;
    d.threads = 1;
    d.seed = 5;
    d.isa = isa;
    d.inference = true;
    d.only_decoders = true;
    return d;
}

/* 0: an error */
static uint64_t quantized_hash(tfn_weights type, tfn_isa isa)
{
    tfn_model_desc d = quantized_desc(isa);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int32_t token = 1;
    tfn_model m;
    tfn_model q;
    tfn_decoder decoder;
    if (tfn_model_init(&m, &d, quantized_floats, sizeof quantized_floats)) return 0;
    d.weights = type;
    if (tfn_model_init(&q, &d, quantized_bytes, sizeof quantized_bytes)) return 0;
    if (tfn_model_quantize(&q, &m)) return 0;
    if (tfn_decoder_init(&decoder, &q, 1, 1, quantized_decoder, sizeof quantized_decoder)) return 0;
    for (int i = 0; i < QUANTIZED_TOKENS; i++) {
        const float *logits = tfn_decoder_next(&decoder, &token, 1, NULL);
        if (!logits) return 0;
        hash = quantized_fold(hash, logits);
        token = (quantized_best(logits) + i) % QUANTIZED_VOCAB;     /* greedy text repeats itself */
    }
    return hash;
}
