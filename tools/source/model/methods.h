/* Every topology, norm, initialization and recipe of the library, one block for each method. A
 * block has the paper, the formula, and every known difference between the paper and published
 * code. Builds on topologies.
 *
 * Symbols in formulas: x is the residual stream, x_0 the input of the layer, y_k the output of
 * layer k (y_0 the embedding), N a norm of the chosen kind, F a sub-layer, A attention, l the
 * number of the layer from 1, L the depth of the stack, N and M the depths of encoder and decoder,
 * C the width. */

/* -- Pre-LN and Post-LN ----------------------------------------------------------------------
 * Xiong et al. 2020, table 1. Post-LN normalizes the residual stream itself. Each norm shrinks the
 * gradients that pass through it, so deep stacks need a warm-up. Pre-LN leaves the stream
 * unnormalized: gradients pass through, later layers contribute less and less, and the stack needs
 * a final norm. */
TFN__TOPOLOGY("pre", "x = x + F(N(x)); final norm",
              "Baevski & Auli; Child et al.; Wang et al.; Xiong et al. 2020, table 1", 2019,
              PRE, 0, NULL)
TFN__TOPOLOGY("post", "x = N(x + F(x))", "Vaswani et al.; Xiong et al. 2020, table 1", 2017,
              POST, 0, NULL)
TFN__NORM("layernorm", "g (x - mean)/sqrt(var + e) + b", "Ba et al., eq. 4", 2016,
          LAYER, TFN__AFFINE)
TFN__NORM("rmsnorm", "g x/sqrt(mean(x^2) + e)", "Zhang & Sennrich, eq. 4", 2019,
          RMS, TFN_FLAG_GAIN)
TFN__INIT("xavier", "N(0, 2/(in+out))", "Glorot & Bengio; Xiong et al. 2020, section 3.3", 2010,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, NULL)
TFN__INIT("xavier-uniform", "U, variance 2/(in+out)", "Glorot & Bengio, eq. 16", 2010,
          XAVIER_UNIFORM, XAVIER_UNIFORM, 0, NULL)
TFN__RECIPE("pre",  "pre",  "layernorm", "xavier")
TFN__RECIPE("post", "post", "layernorm", "xavier")

#if TFN__ALL
/* -- starting points of code bases -----------------------------------------------------------
 * Papers name Xavier, but their code differs. Older fairseq draws q, k and v as one matrix. fairseq
 * >= 0.10 also leaves the feed-forward and its biases to the framework, so that branch starts with
 * a sixth of the variance. fairseq and torchscale draw an untied output matrix like the embedding.
 */
#ifdef TFN__RULES
static void tfn__fused_gains(const tfn_place *p, tfn_gains *g)
{
    (void)p;
    tfn__qkv_gains(g, TFN__FUSED);
}
#endif
TFN__INIT("fused", "xavier-uniform; q, k, v: 1/sqrt(2)", "fairseq; Transformer-Clinic, code", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__INIT("fairseq", "fused; W_1, W_2 and the biases of q, k, v, W_1, W_2: U(+-1/sqrt(in))",
          "fairseq >= 0.10; b2t_connection, code", 2020,
          XAVIER_UNIFORM, FAN_IN_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__INIT("framework", "U(+-1/sqrt(in)), biases too", "PyTorch's nn.Linear", 2016,
          FAN_IN_UNIFORM, FAN_IN_UNIFORM, 0, NULL)

/* -- Admin -----------------------------------------------------------------------------------
 * Liu et al. 2020, section 4.3: Post-LN trains if no layer depends too much on its own branch. One
 * batch runs first (the profile). It sets each w to the standard deviation of the stream at that
 * sum: w_s^2 = Var(x_0) + the sum of Var(F_j) over j < s, w_1 = 1. Training then learns w. Appendix
 * C folds w into the weights instead. The displayed equation there divides W_V of cross-attention
 * by w; its text does not. The text is right because the memory is not rescaled, so the fold here
 * follows the text. */
#ifdef TFN__RULES
static void tfn__admin(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->skip = tfn__scale_of(TFN_SCALE_PROFILED, 1);
}

static void tfn__admin_direct(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->skip = tfn__scale_of(TFN_SCALE_FOLDED, 1);
}

/* admin-torch has no profile; w is a constant that depends on n, the number of sub-layers. */
static void tfn__admin_constant(const tfn_place *p, tfn_join *j)
{
    const double n = tfn__sublayers(p);
    j->skip = tfn__constant_of(tfn__pow((n + 1) / tfn__log(n + 1) - 1, 0.5));
}

static void tfn__admin_sqrt(const tfn_place *p, tfn_join *j)
{
    j->skip = tfn__constant_of(tfn__pow(tfn__sublayers(p), 0.5));
}
#endif
TFN__TOPOLOGY("admin", "x = N(w x + F(x)), w learned, profiled", "Liu et al., section 4.3", 2020,
              POST, 0, tfn__admin)
TFN__TOPOLOGY("admin-direct", "x = N(x + F(x)), the profiled w folded into the weights",
              "Liu et al., appendix C", 2020, POST, 0, tfn__admin_direct)
TFN__TOPOLOGY("admin-constant", "x = N(w x + F(x)), w = sqrt((n+1)/ln(n+1) - 1), n sub-layers",
              "admin-torch, code", 2022, POST, 0, tfn__admin_constant)
TFN__TOPOLOGY("admin-sqrt", "x = N(w x + F(x)), w = sqrt(n), n sub-layers",
              "admin-torch, code, mode O(1)", 2022, POST, 0, tfn__admin_sqrt)
TFN__RECIPE("admin",          "admin",          "layernorm", "fused")
TFN__RECIPE("admin-direct",   "admin-direct",   "layernorm", "fused")
TFN__RECIPE("admin-constant", "admin-constant", "layernorm", "xavier-uniform")
TFN__RECIPE("admin-sqrt",     "admin-sqrt",     "layernorm", "xavier-uniform")

/* -- B2T connection --------------------------------------------------------------------------
 * Takase et al. 2022, eq. 5: a skip from the bottom of a layer to its top, past all its norms
 * except the last, preserves the gradients of Post-LN. Since 2023 the code divides all matrices of
 * a layer by sqrt(L), which is not in the paper: init "b2t". */
#ifdef TFN__RULES
static void tfn__b2t(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN) j->extra = tfn__constant_of(1);
}

/* Footnote 1 skips the last norm, too. The paper found this worse. */
static void tfn__b2t_skip_last(const tfn_place *p, tfn_join *j)
{
    tfn__b2t(p, j);
    j->extra_last = true;
}

/* Appendix D, eq. 7 and 8: a = min(L/12, L^-0.15), b = C^-0.2. */
static void tfn__b2t_no_norm(const tfn_place *p, tfn_join *j)
{
    const double depth = p->depth;
    double a = tfn__pow(depth, -0.15);
    if (depth / 12 < a) a = depth / 12;
    if (p->kind != TFN_SUBLAYER_FFN) return;
    j->skip = tfn__constant_of(tfn__pow(p->width, -0.2));
    j->out = j->skip;
    j->extra = tfn__constant_of(a);
}

static void tfn__b2t_gains(const tfn_place *p, tfn_gains *g)
{
    const double a = tfn__pow(p->depth, -0.5);
    tfn__all_gains(g, a);
    tfn__qkv_gains(g, a * TFN__FUSED);
}
#endif
TFN__TOPOLOGY("b2t", "x = N(x + F(x)); at the feed-forward N(x_0 + x + F(x))",
              "Takase et al., eq. 5", 2022, POST, 0, tfn__b2t)
TFN__TOPOLOGY("b2t-pre", "x = x + F(N(x)); at the feed-forward x_0 + x + F(N(x)); final norm",
              "Takase et al., code", 2022, PRE, 0, tfn__b2t)
TFN__TOPOLOGY("b2t-skip-last", "x = N(x + F(x)); at the feed-forward x_0 + N(x + F(x))",
              "Takase et al., footnote 1", 2022, POST, 0, tfn__b2t_skip_last)
TFN__TOPOLOGY("b2t-no-norm", "x = x + F(x); at the feed-forward a x_0 + b (x + F(x))",
              "Takase et al., eq. 6, 7 and 8", 2022, BARE, 0, tfn__b2t_no_norm)
TFN__INIT("b2t", "fairseq; all matrices of a layer: 1/sqrt(L)", "b2t_connection, code", 2023,
          XAVIER_UNIFORM, FAN_IN_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT, tfn__b2t_gains)
TFN__RECIPE("b2t",           "b2t",           "layernorm", "fairseq")
TFN__RECIPE("b2t-pre",       "b2t-pre",       "layernorm", "fairseq")
TFN__RECIPE("b2t-skip-last", "b2t-skip-last", "layernorm", "fairseq")
TFN__RECIPE("b2t-no-norm",   "b2t-no-norm",   "layernorm", "fairseq")

/* -- DLCL: dynamic linear combination of layers ----------------------------------------------
 * Wang et al. 2019: a layer reads a learned sum of all earlier outputs. It starts as their mean,
 * w_k = 1/(l+1). With Pre-LN each y_k has its own norm (y_0 has none); with Post-LN the sum has
 * one. The variants of w are options of the authors' code. */
TFN__AGGREGATED("dlcl", "pre; input of layer l+1 = sum of w_k N(y_k)", "Wang et al. (DLCL)", 2019,
                PRE, NORMED, SCALAR)
TFN__AGGREGATED("dlcl-post", "post; input of layer l+1 = N(sum of w_k y_k)", "Wang et al. (DLCL)",
                2019, POST, NORM, SCALAR)
TFN__AGGREGATED("dlcl-softmax", "dlcl, w = softmax of a row", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, SOFTMAX)
TFN__AGGREGATED("dlcl-vector", "dlcl, w a vector for each y_k", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, VECTOR)
TFN__AGGREGATED("dlcl-groups", "dlcl, two w for each y_k: of even and of odd channels",
                "Wang et al. (DLCL), code", 2019, PRE, NORMED, TWO_GROUPS)
TFN__AGGREGATED("dlcl-one", "dlcl, w = 1 at the start", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, ONES)
TFN__AGGREGATED("dlcl-window", "dlcl, w = softmax over the last three y_k",
                "Wang et al. (DLCL), code", 2019, PRE, NORMED, LAST_THREE)
TFN__RECIPE("dlcl",         "dlcl",         "layernorm", "fused")
TFN__RECIPE("dlcl-post",    "dlcl-post",    "layernorm", "fused")
TFN__RECIPE("dlcl-softmax", "dlcl-softmax", "layernorm", "fused")
TFN__RECIPE("dlcl-vector",  "dlcl-vector",  "layernorm", "fused")
TFN__RECIPE("dlcl-groups",  "dlcl-groups",  "layernorm", "fused")
TFN__RECIPE("dlcl-one",     "dlcl-one",     "layernorm", "fused")
TFN__RECIPE("dlcl-window",  "dlcl-window",  "layernorm", "fused")

/* -- T-Fixup ---------------------------------------------------------------------------------
 * Huang et al. 2020: trains without norms and without warm-up, if the first updates of Adam stay
 * small. So values, outputs, the feed-forward and the embedding are drawn smaller. The paper
 * assumes equal depths of encoder and decoder. The code uses N and M, as here, and leaves q and k
 * at 1/sqrt(2). */
#ifdef TFN__RULES
static void tfn__t_fixup_gains(const tfn_place *p, tfn_gains *g)
{
    if (p->decoder) {
        tfn__branch_gains(g, tfn__pow(9.0 * p->decoder_depth, -0.25));
        g->embedding = (float)tfn__pow(9.0 * p->decoder_depth, -0.25);
    } else {
        tfn__branch_gains(g, 0.67 * tfn__pow(p->encoder_depth, -0.25));
        g->embedding = (float)tfn__pow(9.0 * p->encoder_depth, -0.25);
    }
}

static void tfn__t_fixup_code_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__t_fixup_gains(p, g);
    g->q = g->k = (float)TFN__FUSED;
}
#endif
TFN__TOPOLOGY("no-norm", "x = x + F(x)", "Huang et al. (T-Fixup)", 2020, BARE, 0, NULL)
TFN__INIT("t-fixup", "xavier-uniform; v, o, W_1, W_2: 0.67 N^(-1/4), (9M)^(-1/4); "
          "embedding (9N)^(-1/4)", "Huang et al. (T-Fixup)", 2020,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__TABLE_OUTPUT, tfn__t_fixup_gains)
TFN__INIT("t-fixup-code", "t-fixup; q, k: 1/sqrt(2)", "T-Fixup, code", 2020,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT,
          tfn__t_fixup_code_gains)
TFN__RECIPE("t-fixup", "no-norm", "layernorm", "t-fixup")

/* -- Fixup -----------------------------------------------------------------------------------
 * Zhang et al. 2019, section 3, for a model of B branches: the matrices of a branch with k matrices
 * are scaled by B^(-1/(2k-2)); its last matrix and the output matrix start at 0. A scalar m
 * multiplies each branch, and scalar shifts replace biases. The code does not pass B to
 * cross-attention, which then uses the default of 12. */
#ifdef TFN__RULES
static void tfn__fixup(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->shifts = true;
    j->out = tfn__scale_of(TFN_SCALE_LEARNED, 1);
}

static void tfn__fixup_gains(const tfn_place *p, tfn_gains *g)
{
    double branches = 2 * p->encoder_depth + 3 * p->decoder_depth;
    if (p->alone) branches = 2 * p->depth;
    tfn__qkv_gains(g, tfn__pow(branches, -1.0 / 6) * TFN__FUSED);
    g->w1 = (float)tfn__pow(branches, -0.5);
    g->o = g->w2 = 0;
}

static void tfn__fixup_code_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__fixup_gains(p, g);
    if (p->kind != TFN_SUBLAYER_CROSS_ATTENTION) return;
    tfn__qkv_gains(g, tfn__pow(12, -1.0 / 6) * TFN__FUSED);
}
#endif
TFN__TOPOLOGY("fixup", "x = x + m F(x - s), shifts s", "Zhang et al. (Fixup)", 2019,
              BARE, TFN_TOPOLOGY_EDGE_SHIFTS | TFN_TOPOLOGY_BIASLESS, tfn__fixup)
TFN__INIT("fixup", "fused; q, k, v: B^(-1/6), W_1: B^(-1/2), W_O, W_2, output: 0",
          "Zhang et al. (Fixup), section 3", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__ZERO_OUTPUT, tfn__fixup_gains)
TFN__INIT("fixup-code", "fixup; q, k, v of cross-attention: 12^(-1/6)", "Fixup, code", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__ZERO_OUTPUT, tfn__fixup_code_gains)
TFN__RECIPE("fixup", "fixup", "layernorm", "fixup")

/* -- ReZero ----------------------------------------------------------------------------------
 * Bachlechner et al. 2020: one scalar a_l, 0 at the start, for all branches of a layer. The stack
 * begins as the identity, and at first only a_l gets a gradient. On Post-LN: Liu et al. 2020. */
#ifdef TFN__RULES
static void tfn__rezero(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_SHARED, 0);
}
#endif
TFN__TOPOLOGY("rezero", "x = x + a_l F(x), a_l = 0 at the start", "Bachlechner et al. (ReZero)",
              2020, BARE, 0, tfn__rezero)
TFN__TOPOLOGY("rezero-post", "x = N(x + a_l F(x)), a_l = 0 at the start", "Liu et al., table 3",
              2020, POST, 0, tfn__rezero)
TFN__RECIPE("rezero",      "rezero",      "layernorm", "xavier-uniform")
TFN__RECIPE("rezero-post", "rezero-post", "layernorm", "fused")

/* -- LookLinear ------------------------------------------------------------------------------
 * Balduzzi et al. 2017: ReLU(x A) C - ReLU(-x A) C = x A C, so the feed-forward starts linear. */
TFN__INIT("looklinear", "fused; W_1 = [A, -A], W_2 = [C; -C]", "Balduzzi et al.", 2017,
          XAVIER_UNIFORM, MIRRORED, TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__RECIPE("looklinear", "post", "layernorm", "looklinear")

/* -- DeepNorm --------------------------------------------------------------------------------
 * Wang et al. (DeepNet) 2022, figure 2: Post-LN with the skip scaled by a and the branch's weights
 * scaled by b, so that one update moves the output by a bounded amount at any depth. torchscale has
 * 1.15 = 1/0.87 where the paper has 0.87, and scales the framework's default weights and biases.
 * Its decoder is Pre-LN unless the caller clears a flag, a mistake that has no row here. The
 * paper uses "post-ln-init" for comparison. */
#ifdef TFN__RULES
static double tfn__deepnorm_alpha(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__pow(2.0 * p->depth, 1.0 / 4);
    if (p->decoder) return tfn__pow(3 * m, 1.0 / 4);
    return 0.81 * tfn__pow(n, 4.0 / 16) * tfn__pow(m, 1.0 / 16);
}

static double tfn__deepnorm_beta(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__pow(8.0 * p->depth, -1.0 / 4);
    if (p->decoder) return tfn__pow(12 * m, -1.0 / 4);
    return 0.87 * tfn__pow(n, -4.0 / 16) * tfn__pow(m, -1.0 / 16);
}

static void tfn__deepnorm(const tfn_place *p, tfn_join *j)
{
    j->skip = tfn__constant_of(tfn__deepnorm_alpha(p));
}

static void tfn__deepnorm_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__branch_gains(g, tfn__deepnorm_beta(p));
}

static void tfn__torchscale_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__deepnorm_gains(p, g);
    if (p->alone || p->decoder) return;
    tfn__branch_gains(g, (double)g->v * 1.15 / 0.87);
}

static void tfn__post_ln_init_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__all_gains(g, 1.0 / (p->depth - p->layer + 1));
}
#endif
TFN__TOPOLOGY("deepnorm", "x = N(a x + F(x)), a = (2L)^(1/4); 0.81 (N^4 M)^(1/16), (3M)^(1/4)",
              "Wang et al. (DeepNet), figure 2", 2022, POST, 0, tfn__deepnorm)
TFN__INIT("deepnorm", "xavier; v, o, W_1, W_2: (8L)^(-1/4); 0.87 (N^4 M)^(-1/16), (12M)^(-1/4)",
          "Wang et al. (DeepNet), figure 2", 2022,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__deepnorm_gains)
TFN__INIT("deepnorm-torchscale", "framework, biases scaled too; encoder 1.15 for 0.87",
          "torchscale, code", 2022,
          FAN_IN_UNIFORM, FAN_IN_UNIFORM, TFN__GAIN_BIAS | TFN__TABLE_OUTPUT, tfn__torchscale_gains)
TFN__INIT("post-ln-init", "xavier; layer l: 1/(L-l+1)", "Wang et al. (DeepNet)", 2022,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__post_ln_init_gains)
TFN__RECIPE("deepnorm", "deepnorm", "layernorm", "deepnorm")

/* -- DS-Init ---------------------------------------------------------------------------------
 * Zhang et al. 2019: Post-LN, the matrices of layer l drawn from U(+-g/sqrt(l)). The code uses
 * 1/sqrt(l) as a variance, which makes the factor l^(-1/4). It draws q, k and v of self-attention
 * as one C x 3C matrix, but not those of cross-attention. */
#ifdef TFN__RULES
static void tfn__ds_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__all_gains(g, tfn__pow(p->layer, -0.5));
}

static void tfn__ds_code_gains(const tfn_place *p, tfn_gains *g)
{
    const double gain = tfn__pow(p->layer, -0.25);
    tfn__all_gains(g, gain);
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) tfn__qkv_gains(g, gain * TFN__FUSED);
}
#endif
TFN__INIT("ds-init", "xavier-uniform; layer l: l^(-1/2)", "Zhang et al. (DS-Init)", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, 0, tfn__ds_gains)
TFN__INIT("ds-init-code",
          "xavier-uniform; layer l: l^(-1/4); q, k, v of self-attention: 1/sqrt(2)", "zero, code",
          2019, XAVIER_UNIFORM, XAVIER_UNIFORM, 0, tfn__ds_code_gains)
TFN__RECIPE("ds-init", "post", "layernorm", "ds-init")

/* -- ScaleNorm, FixNorm, SmallInit -----------------------------------------------------------
 * Nguyen & Salazar 2019. ScaleNorm: one learned length G, sqrt(C) at the start, replaces all gains.
 * FixNorm: word vectors have length 1 at the input and at the output, so logits are G cos.
 * SmallInit: attention is drawn from N(0, 2/(5C)), which is 0.632 times N(0, 1/C). */
#ifdef TFN__RULES
static void tfn__small_gains(const tfn_place *p, tfn_gains *g)
{
    (void)p;
    g->q = g->k = g->v = g->o = (float)0.63245553;
}
#endif
TFN__TOPOLOGY("pre-fixnorm", "pre; rows of the embedding have length 1",
              "Nguyen & Salazar (FixNorm)", 2019, PRE, TFN_TOPOLOGY_FIXNORM, NULL)
TFN__NORM("scalenorm", "G x/max(|x|, e)", "Nguyen & Salazar (ScaleNorm)", 2019,
          L2, TFN_FLAG_SCALAR)
TFN__INIT("small", "attention N(0, 2/(5C)), feed-forward xavier", "Nguyen & Salazar (SmallInit)",
          2019, FAN_IN_NORMAL, XAVIER_NORMAL, 0, tfn__small_gains)
TFN__RECIPE("scalenorm", "pre-fixnorm", "scalenorm", "small")

/* -- BatchNorm -------------------------------------------------------------------------------
 * Ioffe & Szegedy 2015, algorithm 1, in place of LayerNorm. In training, the value at a position
 * depends on the other sentences of the batch; inference uses running statistics. */
TFN__NORM("batchnorm", "g (x - mean)/sqrt(var + e) + b, over the batch", "Ioffe & Szegedy, alg. 1",
          2015, BATCH, TFN__AFFINE)
TFN__RECIPE("batchnorm", "post", "batchnorm", "fairseq")

/* -- transparent attention -------------------------------------------------------------------
 * Bapna et al. 2018: layer j of the decoder attends to its own weighted mean of all encoder layers.
 */
TFN__TOPOLOGY("transparent", "pre; decoder layer j attends to the sum of softmax(w_j)_i y_i",
              "Bapna et al.", 2018, PRE, TFN_TOPOLOGY_TRANSPARENT, NULL)
TFN__RECIPE("transparent", "transparent", "layernorm", "xavier")

/* -- Macaron ---------------------------------------------------------------------------------
 * Lu et al. 2019: half a feed-forward step before attention and another half step after it. */
#ifdef TFN__RULES
static void tfn__macaron(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN || p->kind == TFN_SUBLAYER_FFN_BEFORE)
        j->out = tfn__constant_of(0.5);
}
#endif
TFN__TOPOLOGY("macaron", "post; F/2, attention, F/2", "Lu et al. (Macaron)", 2019,
              POST, TFN_TOPOLOGY_MACARON, tfn__macaron)
TFN__TOPOLOGY("macaron-pre", "pre; F/2, attention, F/2; final norm", "Lu et al. (Macaron)", 2019,
              PRE, TFN_TOPOLOGY_MACARON, tfn__macaron)
TFN__RECIPE("macaron",     "macaron",     "layernorm", "fused")
TFN__RECIPE("macaron-pre", "macaron-pre", "layernorm", "fused")

/* -- AdaNorm and DetachNorm ------------------------------------------------------------------
 * Xu et al. 2019: LayerNorm helps training through the derivatives of its mean and variance.
 * DetachNorm treats both as constants to show this. LayerNorm-simple has no gain and no bias.
 * AdaNorm replaces them with the factor 1 - n/10, treated as a constant. The authors' code adds e
 * outside the root and uses s over C - 1. AdaNorm does so here; the other norms do so in the rows
 * that end in -code. */
TFN__NORM("adanorm", "c sg(1 - n/10) n, n = (x - mean)/(s + e)", "Xu et al. (AdaNorm)", 2019,
          ADA, 0)
TFN__NORM("layernorm-simple", "(x - mean)/sqrt(var + e)", "Xu et al. (AdaNorm)", 2019, LAYER, 0)
TFN__NORM("layernorm-simple-code", "(x - mean)/(s + e), s over C - 1", "Xu et al. (AdaNorm), code",
          2019, ADA, TFN_FLAG_PLAIN)
TFN__NORM("detachnorm", "LayerNorm, mean and variance constant in the backward",
          "Xu et al. (AdaNorm)", 2019, LAYER, TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-mean", "LayerNorm, the mean constant in the backward", "Xu et al. (AdaNorm)",
          2019, LAYER, TFN_FLAG_DETACH_MEAN)
TFN__NORM("detachnorm-std", "LayerNorm, the variance constant in the backward",
          "Xu et al. (AdaNorm)", 2019, LAYER, TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-code", "layernorm-simple-code, mean and s constant in the backward",
          "Xu et al. (AdaNorm), code", 2019,
          ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-mean-code", "layernorm-simple-code, the mean constant in the backward",
          "Xu et al. (AdaNorm), code", 2019, ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_MEAN)
TFN__NORM("detachnorm-std-code", "layernorm-simple-code, s constant in the backward",
          "Xu et al. (AdaNorm), code", 2019, ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_STD)
TFN__RECIPE("adanorm",          "pre", "adanorm",          "fused")
TFN__RECIPE("layernorm-simple", "pre", "layernorm-simple", "fused")
TFN__RECIPE("detachnorm",       "pre", "detachnorm",       "fused")
TFN__RECIPE("detachnorm-mean",  "pre", "detachnorm-mean",  "fused")
TFN__RECIPE("detachnorm-std",   "pre", "detachnorm-std",   "fused")

/* -- zero gamma ------------------------------------------------------------------------------
 * Goyal et al. 2017: the gain of the norm after a branch starts at 0, so the stack starts as the
 * identity. */
TFN__INIT("zero-gamma", "xavier; gains of the norm after a branch: 0", "Goyal et al.", 2017,
          XAVIER_NORMAL, XAVIER_NORMAL, TFN__ZERO_BRANCH, NULL)
TFN__RECIPE("zero-gamma", "peri", "layernorm", "zero-gamma")

/* -- Hanin & Rolnick 2018 --------------------------------------------------------------------
 * Branches count less with depth: the sum of 0.9^l is finite at any depth. */
#ifdef TFN__RULES
static void tfn__hanin(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__constant_of(tfn__pow(0.9, p->layer));
}
#endif
TFN__TOPOLOGY("hanin-rolnick", "x = x + 0.9^l F(x)", "Hanin & Rolnick", 2018, BARE, 0, tfn__hanin)
TFN__RECIPE("hanin-rolnick", "hanin-rolnick", "layernorm", "he")

/* -- aggregation of layers: Dou et al. 2018 --------------------------------------------------- */
TFN__AGGREGATED("dense", "post; input of layer l+1 = N(sum of y_k)", "Dou et al.", 2018,
                POST, DENSE, SCALAR)
TFN__AGGREGATED("linear-aggregation", "post; input of layer l+1 = sum of w_k y_k", "Dou et al.",
                2018, POST, LINEAR, SCALAR)
TFN__RECIPE("dense",              "dense",              "layernorm", "xavier")
TFN__RECIPE("linear-aggregation", "linear-aggregation", "layernorm", "xavier")

/* -- initializations that the papers compare with --------------------------------------------
 * LSUV (Mishkin & Matas 2016) divides each matrix by the deviation of its output on one batch. */
TFN__INIT("lsuv", "orthonormal, outputs of variance 1 on one batch", "Mishkin & Matas", 2016,
          ORTHOGONAL, ORTHOGONAL, TFN__UNIT_VARIANCE, NULL)
TFN__INIT("orthogonal", "orthonormal", "Saxe et al.", 2014, ORTHOGONAL, ORTHOGONAL, 0, NULL)
TFN__INIT("he", "N(0, 2/in)", "He et al., eq. 10", 2015, HE_NORMAL, HE_NORMAL, 0, NULL)
TFN__RECIPE("lsuv",       "post", "layernorm", "lsuv")
TFN__RECIPE("orthogonal", "post", "layernorm", "orthogonal")
TFN__RECIPE("he",         "post", "layernorm", "he")

/* -- RMSNorm and its forms -------------------------------------------------------------------
 * Zhang & Sennrich 2019: LayerNorm without the mean. Their PyTorch code adds e outside the root,
 * their TensorFlow code inside. pRMSNorm uses only some of the channels. Gemma stores gain - 1, so
 * that weight decay pulls the gain to 1, and has norms before and after each branch. */
TFN__NORM_OF("prmsnorm", "g x/sqrt(mean of the first 1/16 (x^2) + e)",
             "Zhang & Sennrich (pRMSNorm)", 2019, RMS, TFN_FLAG_GAIN, 0, 0.0625)
TFN__NORM_OF("rmsnorm-outside", "g x/(sqrt(mean(x^2)) + e)",
             "Zhang & Sennrich, their PyTorch code", 2019, RMS_OUTSIDE, TFN_FLAG_GAIN, 1e-8, 0)
TFN__NORM_OF("rmsnorm-offset", "(1 + g) x/sqrt(mean(x^2) + e)", "Gemma, code", 2024,
             RMS, TFN_FLAG_GAIN | TFN_FLAG_OFFSET, 1e-6, 0)
TFN__RECIPE("pre-rms",         "pre",  "rmsnorm",         "xavier")
TFN__RECIPE("post-rms",        "post", "rmsnorm",         "xavier")
TFN__RECIPE("prmsnorm",        "pre",  "prmsnorm",        "xavier")
TFN__RECIPE("rmsnorm-outside", "pre",  "rmsnorm-outside", "xavier")
TFN__RECIPE("gemma",           "peri", "rmsnorm-offset",  "xavier")

/* -- Sandwich-LN and Peri-LN -----------------------------------------------------------------
 * Ding et al. (CogView) 2021; Kim et al. 2025: a norm before and after each branch. CogView's code
 * normalizes x/(max|x|/8) to avoid overflow in half precision, with the maximum of the whole
 * tensor. */
TFN__TOPOLOGY("peri", "x = x + N(F(N(x))); final norm",
              "Ding et al. (Sandwich-LN); Gemma 2; Kim et al. 2025 (Peri-LN)", 2021, PERI, 0, NULL)
TFN__NORM("cogview", "LayerNorm of x/(max|x|/8), the maximum over the tensor", "Ding et al., code",
          2021, ABSMAX, TFN__AFFINE | TFN_FLAG_WHOLE)
TFN__RECIPE("sandwich", "peri", "cogview",   "gpt2")
TFN__RECIPE("peri",     "peri", "layernorm", "xavier")

/* -- norms only after branches: Swin v2, OLMo 2 ----------------------------------------------
 * Liu et al. 2021; OLMo 2 2024. A branch reads the unnormalized stream, so attention needs norms of
 * queries and keys. Swin v2 starts the gains of the branches' norms at 0. */
#ifdef TFN__RULES
static void tfn__olmo2(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_FULL;
}

static void tfn__swin_v2(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_COSINE;
}
#endif
TFN__TOPOLOGY("output-norm", "x = x + N(F(x)); final norm", "Liu et al. (Swin v2); OLMo 2 2024",
              2021, BRANCH, 0, NULL)
TFN__TOPOLOGY("olmo2", "x = x + N(F(x)), norms on queries and keys; final norm", "OLMo 2", 2024,
              BRANCH, 0, tfn__olmo2)
TFN__TOPOLOGY("swin-v2", "x = x + N(F(x)), cosine attention; final norm", "Liu et al. (Swin v2)",
              2021, BRANCH, 0, tfn__swin_v2)
TFN__RECIPE("output-norm", "output-norm", "layernorm", "truncated")
TFN__RECIPE("olmo2",       "olmo2",       "rmsnorm",   "truncated")
TFN__RECIPE("swin-v2",     "swin-v2",     "layernorm", "zero-gamma")

/* -- norms of queries, keys and values -------------------------------------------------------
 * They bound the logits of attention. See tfn_qk_norm for the forms. */
#ifdef TFN__RULES
static void tfn__qknorm(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_L2;
}

static void tfn__qk_head(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_HEAD;
}

static void tfn__qkv_head(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_QKV_HEAD;
}
#endif
TFN__TOPOLOGY("qknorm", "pre; attention g cos(q, k)", "Henry et al. (QKNorm)", 2020,
              PRE, 0, tfn__qknorm)
TFN__TOPOLOGY("qk-head", "pre; norms on the queries and keys of a head",
              "Dehghani et al. (ViT-22B)", 2023, PRE, 0, tfn__qk_head)
TFN__TOPOLOGY("qkv-head", "pre; norms on the queries, keys and values of a head",
              "Zhuo et al. (HybridNorm)", 2025, PRE, 0, tfn__qkv_head)
TFN__RECIPE("qknorm",   "qknorm",   "layernorm", "xavier")
TFN__RECIPE("qk-head",  "qk-head",  "layernorm", "xavier")
TFN__RECIPE("qkv-head", "qkv-head", "layernorm", "xavier")

/* -- Sub-LN (Magneto) ------------------------------------------------------------------------
 * Wang et al. 2022: one more norm in each branch, before its last matrix, and a gain on v, o, W_1
 * and W_2 that grows with depth. Cross-attention has neither. */
#ifdef TFN__RULES
static void tfn__sub_ln(const tfn_place *p, tfn_join *j)
{
    j->norm_inner = p->kind != TFN_SUBLAYER_CROSS_ATTENTION;
}

/* Returns the square of the gain. */
static double tfn__sub_ln_gain2(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__log(2 * p->depth);
    if (p->decoder) return tfn__log(3 * m);
    return tfn__log(3 * m) * (tfn__log(2 * n) / 3);
}

static void tfn__sub_ln_gains(const tfn_place *p, tfn_gains *g)
{
    if (p->kind == TFN_SUBLAYER_CROSS_ATTENTION) return;
    tfn__branch_gains(g, tfn__pow(tfn__sub_ln_gain2(p), 0.5));
}
#endif
TFN__TOPOLOGY("sub-ln", "pre, and a norm before W_O and W_2; final norm", "Wang et al. (Magneto)",
              2022, PRE, 0, tfn__sub_ln)
TFN__INIT("sub-ln", "xavier; v, o, W_1, W_2: sqrt(ln 2L); sqrt(ln 3M ln 2N / 3), sqrt(ln 3M)",
          "Wang et al. (Magneto)", 2022, XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__sub_ln_gains)
TFN__RECIPE("sub-ln", "sub-ln", "layernorm", "sub-ln")

/* -- NormFormer ------------------------------------------------------------------------------
 * Shleifer et al. 2021: Pre-LN with a norm after attention, a learned scale for each head, and a
 * norm before W_2. ResScale adds a vector on the skip of the feed-forward. fairseq applies all this
 * only in decoder layers, and scales the output of W_O in blocks of D channels where the paper
 * scales the heads before W_O: "normformer-code". */
#ifdef TFN__RULES
static void tfn__normformer(const tfn_place *p, tfn_join *j)
{
    j->norm_branch = p->kind == TFN_SUBLAYER_SELF_ATTENTION;
    j->norm_inner = p->kind == TFN_SUBLAYER_FFN;
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) j->head_scale = TFN_HEAD_SCALE_BEFORE;
}

static void tfn__normformer_res(const tfn_place *p, tfn_join *j)
{
    tfn__normformer(p, j);
    if (p->kind == TFN_SUBLAYER_FFN) j->skip = tfn__scale_of(TFN_SCALE_VECTOR, 1);
}

static void tfn__normformer_code(const tfn_place *p, tfn_join *j)
{
    if (!p->decoder) return;
    tfn__normformer(p, j);
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) j->head_scale = TFN_HEAD_SCALE_AFTER;
}
#endif
TFN__TOPOLOGY("normformer", "pre; N after attention, a scale a head, N before W_2; final norm",
              "Shleifer et al. (NormFormer)", 2021, PRE, 0, tfn__normformer)
TFN__TOPOLOGY("normformer-res", "normformer, and a vector on the skip of the feed-forward",
              "Shleifer et al. (NormFormer)", 2021, PRE, 0, tfn__normformer_res)
TFN__TOPOLOGY("normformer-code", "normformer of decoder layers, the scale after W_O",
              "Shleifer et al., code", 2021, PRE, 0, tfn__normformer_code)
TFN__RECIPE("normformer",      "normformer",      "layernorm", "xavier")
TFN__RECIPE("normformer-res",  "normformer-res",  "layernorm", "xavier")
TFN__RECIPE("normformer-code", "normformer-code", "layernorm", "xavier")

/* -- ResiDual --------------------------------------------------------------------------------
 * Xie et al. 2023: Post-LN plus a second stream that only sums, as in Pre-LN. Branches read only
 * the first stream; the output adds both. */
TFN__TOPOLOGY("resi-dual", "x = N(x + F(x)); output x + N(x_0 + sum of F)", "Xie et al. (ResiDual)",
              2023, POST, TFN_TOPOLOGY_SIDE_STREAM, NULL)
TFN__RECIPE("resi-dual", "resi-dual", "layernorm", "xavier")

/* -- DyT, Derf and siblings: functions in place of norms -------------------------------------
 * Zhu et al. 2025; Chen et al. 2025: a function squashes each number, without any statistics. For
 * language models DyT's code multiplies x_0 by a learned scalar, sqrt(C) at the start; without it
 * training is poor. (There DyT has no bias; the row here has one.) */
TFN__TOPOLOGY("pre-embed-scale", "pre; x_0 = a embedding, a = sqrt(C) at the start",
              "Zhu et al. (DyT), code", 2025, PRE, TFN_TOPOLOGY_EMBEDDING_SCALE, NULL)
TFN__POINT("dyt", "g tanh(a x) + b", "Zhu et al. (DyT)", 2025, 0, TANH)
TFN__POINT("dyt-isru", "g z/sqrt(z^2 + 1) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, ISRU)
TFN__POINT("dyt-exp", "g sign(z)(1 - exp(-|z|)) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, EXP)
TFN__POINT("dyt-atan", "g 2/pi atan(a x + s) + b", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, ATAN)
TFN__POINT("dyt-sin", "g sin(a x + s, clipped to +-pi/2) + b", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, SIN)
TFN__POINT("dyt-softsign", "g z/(1 + |z|) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, SOFTSIGN)
TFN__POINT("derf", "g erf(a x + s) + b", "Chen et al. (Derf)", 2025, TFN_FLAG_SHIFT, ERF)
TFN__RECIPE("dyt",          "pre",             "dyt",          "xavier")
TFN__RECIPE("dyt-lm",       "pre-embed-scale", "dyt",          "xavier")
TFN__RECIPE("dyt-isru",     "pre",             "dyt-isru",     "xavier")
TFN__RECIPE("dyt-exp",      "pre",             "dyt-exp",      "xavier")
TFN__RECIPE("dyt-atan",     "pre",             "dyt-atan",     "xavier")
TFN__RECIPE("dyt-sin",      "pre",             "dyt-sin",      "xavier")
TFN__RECIPE("dyt-softsign", "pre",             "dyt-softsign", "xavier")
TFN__RECIPE("derf",         "pre",             "derf",         "xavier")

/* -- LNS: LayerNorm scaling ------------------------------------------------------------------
 * Sun et al. 2025: Pre-LN divides the input of each branch by sqrt(l), because the stream's
 * variance grows with depth. In two published repositories the code for this never runs; the
 * constant here is from the paper. */
#ifdef TFN__RULES
static void tfn__lns(const tfn_place *p, tfn_join *j)
{
    j->in = tfn__constant_of(tfn__pow(p->layer, -0.5));
}
#endif
TFN__TOPOLOGY("lns", "x = x + F(N(x)/sqrt(l)); final norm", "Sun et al. (LNS)", 2025,
              PRE, 0, tfn__lns)
TFN__RECIPE("lns", "lns", "rmsnorm", "xavier")

/* -- Mix-LN: Li et al. 2024, Post-LN in a quarter of the layers ------------------------------ */
#ifdef TFN__RULES
static void tfn__mix_ln(const tfn_place *p, tfn_join *j)
{
    j->norm_sum = p->layer <= p->depth / 4;
    j->norm_in = !j->norm_sum;
}
#endif
TFN__TOPOLOGY("mix-ln", "post in the first quarter of the layers, then pre; final norm",
              "Li et al. (Mix-LN)", 2024, PRE, 0, tfn__mix_ln)
TFN__RECIPE("mix-ln", "mix-ln", "rmsnorm", "xavier")

/* -- HybridNorm ------------------------------------------------------------------------------
 * Zhuo et al. 2025: attention normalizes q, k and v and has no norm before it; the skip of the
 * feed-forward starts after its norm. HybridNorm*: the first layer is Pre-LN (with these q, k, v).
 */
#ifdef TFN__RULES
static void tfn__hybridnorm(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN) {
        j->norm_in = true;
        j->skip_from = TFN_SOURCE_NORMED;
    } else {
        j->norm_in = false;
        j->qk = TFN_QK_NORM_QKV_HEAD;
    }
}

static void tfn__hybridnorm_first(const tfn_place *p, tfn_join *j)
{
    tfn__hybridnorm(p, j);
    if (p->layer > 1) return;
    j->norm_in = true;
    j->skip_from = TFN_SOURCE_STREAM;
}
#endif
TFN__TOPOLOGY("hybridnorm", "x = x + A(x), norms on q, k, v; n = N(x), x = n + F(n); final norm",
              "Zhuo et al. (HybridNorm)", 2025, PRE, 0, tfn__hybridnorm)
TFN__TOPOLOGY("hybridnorm-first", "hybridnorm, the first layer pre", "Zhuo et al. (HybridNorm)",
              2025, PRE, 0, tfn__hybridnorm_first)
TFN__RECIPE("hybridnorm",       "hybridnorm",       "rmsnorm", "gpt2")
TFN__RECIPE("hybridnorm-first", "hybridnorm-first", "rmsnorm", "gpt2")

/* -- LayerScale ------------------------------------------------------------------------------
 * Touvron et al. (CaiT) 2021: a learned vector on each branch, with a smaller start in deeper
 * stacks. */
#ifdef TFN__RULES
static double tfn__layerscale_start(int32_t depth)
{
    if (depth <= 18) return 0.1;
    if (depth <= 24) return 1e-5;
    return 1e-6;
}

static void tfn__layerscale(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__scale_of(TFN_SCALE_VECTOR, tfn__layerscale_start(p->depth));
}
#endif
TFN__TOPOLOGY("layerscale", "x = x + v F(N(x)), v = 0.1, 1e-5 or 1e-6 by depth; final norm",
              "Touvron et al. (CaiT)", 2021, PRE, 0, tfn__layerscale)
TFN__RECIPE("layerscale", "layerscale", "layernorm", "xavier")

/* -- GPT-2 -----------------------------------------------------------------------------------
 * Radford et al. 2019, section 2.3: the last matrix of a branch is divided by sqrt(2L), where 2L is
 * the number of branches. */
#ifdef TFN__RULES
static void tfn__gpt2_gains(const tfn_place *p, tfn_gains *g)
{
    g->o = g->w2 = (float)tfn__pow(2 * p->depth, -0.5);
}
#endif
TFN__INIT_STD("gpt2", "N(0, 0.02^2); W_O, W_2: 1/sqrt(2L)", "Radford et al., section 2.3", 2019,
              NORMAL, 0.02, tfn__gpt2_gains)
TFN__RECIPE("gpt2", "pre", "layernorm", "gpt2")

/* -- a norm of the embedding: BLOOM 2022 on Pre-LN, BERT 2018 on Post-LN ---------------------- */
TFN__TOPOLOGY("pre-embed-norm", "pre; x_0 = N(embedding)", "BLOOM 2022; Kim et al. 2025", 2022,
              PRE, TFN_TOPOLOGY_EMBEDDING_NORM, NULL)
TFN__TOPOLOGY("post-embed-norm", "post; x_0 = N(embedding)", "Devlin et al. (BERT)", 2018,
              POST, TFN_TOPOLOGY_EMBEDDING_NORM, NULL)
TFN__INIT_STD("truncated", "N(0, 0.02^2) within two deviations", "Devlin et al. (BERT), code", 2018,
              TRUNCATED_NORMAL, 0.02, NULL)
TFN__RECIPE("embed-norm", "pre-embed-norm",  "layernorm", "xavier")
TFN__RECIPE("bert",       "post-embed-norm", "layernorm", "truncated")

/* -- ModernBERT ------------------------------------------------------------------------------
 * Warner et al. 2024: the first attention reads the normalized embedding as it is, because a second
 * norm would have nothing to do. Norms have no biases, as in PaLM (section 2). */
#ifdef TFN__RULES
static void tfn__modernbert(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION && p->layer == 1) j->norm_in = false;
}
#endif
TFN__TOPOLOGY("modernbert", "pre-embed-norm, no norm before the first attention",
              "Warner et al. (ModernBERT)", 2024, PRE, TFN_TOPOLOGY_EMBEDDING_NORM,
              tfn__modernbert)
TFN__NORM("layernorm-gain", "g (x - mean)/sqrt(var + e)", "Chowdhery et al. (PaLM), section 2",
          2022, LAYER, TFN_FLAG_GAIN)

/* -- nGPT ------------------------------------------------------------------------------------
 * Loshchilov et al. 2024, eq. 10 and 11: all vectors lie on the unit sphere. A sub-layer turns x
 * towards n(F(x)) by |v|, 0.05 at the start; after each update, weights are normalized to length 1
 * again. A learned scale is stored as a number that starts at 1/sqrt(C), times a unit that sets how
 * fast it learns. The position function of the released code is not a rotation; use
 * TFN_POSITION_ROTARY. */
#ifdef TFN__RULES
static void tfn__ngpt(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__scale_of(TFN_SCALE_VECTOR, 0.05);
    j->out.unit = (float)(0.05 * tfn__pow(p->width, 0.5));
    j->skip = tfn__scale_of(TFN_SCALE_LERP, 0);
    j->qk = TFN_QK_NORM_UNIT;
    j->scales = true;
}
#endif
TFN__TOPOLOGY("ngpt", "x = n(x + |v| (n(F(x)) - x)), n = x/|x|; weights of length 1",
              "Loshchilov et al., eq. 10 and 11", 2024, UNIT,
              TFN_TOPOLOGY_BIASLESS | TFN_TOPOLOGY_UNIT_WEIGHTS | TFN_TOPOLOGY_LOGIT_SCALE,
              tfn__ngpt)
TFN__NORM_OF("l2norm", "x/|x|", "Loshchilov et al. (nGPT)", 2024, L2, 0, 1e-12, 0)
TFN__INIT("ngpt", "N(0, 1/in), then of length 1", "Loshchilov et al.", 2024,
          FAN_IN_NORMAL, FAN_IN_NORMAL, 0, NULL)
TFN__RECIPE("ngpt", "ngpt", "l2norm", "ngpt")

/* -- parallel blocks -------------------------------------------------------------------------
 * GPT-J 2021; PaLM; GPT-NeoX 2022: all sub-layers of a layer read its input, through one shared
 * norm or through one norm each (NeoX). */
#ifdef TFN__RULES
static void tfn__parallel(const tfn_place *p, tfn_join *j)
{
    if (p->kind != TFN_SUBLAYER_SELF_ATTENTION) j->source = TFN_SOURCE_LAYER;
}

static void tfn__parallel_shared(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) return;
    j->source = TFN_SOURCE_FIRST;
    j->norm_in = false;
}
#endif
TFN__TOPOLOGY("parallel", "x = x + A(N(x)) + F(N'(x)); final norm", "GPT-NeoX", 2022,
              PRE, 0, tfn__parallel)
TFN__TOPOLOGY("parallel-shared", "x = x + A(n) + F(n), n = N(x); final norm",
              "GPT-J 2021; PaLM, section 2", 2021, PRE, 0, tfn__parallel_shared)
TFN__RECIPE("parallel",        "parallel",        "layernorm", "xavier")
TFN__RECIPE("parallel-shared", "parallel-shared", "layernorm", "xavier")

/* -- SkipInit: De & Smith 2020; ReZero with a scalar for each branch ------------------------- */
#ifdef TFN__RULES
static void tfn__skipinit(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_LEARNED, 0);
}
#endif
TFN__TOPOLOGY("skipinit", "x = x + a F(x), a = 0 at the start", "De & Smith (SkipInit)", 2020,
              BARE, 0, tfn__skipinit)
TFN__RECIPE("skipinit", "skipinit", "layernorm", "xavier-uniform")

/* -- PowerNorm: Shen et al. 2020, algorithm 2; see tfn_columns_args --------------------------- */
TFN__NORM("powernorm", "g x/psi + b, psi^2 the running mean of x^2", "Shen et al., alg. 2", 2020,
          POWER, TFN__AFFINE)
TFN__RECIPE("powernorm", "post", "powernorm", "fairseq")

/* -- GroupNorm: Wu & He 2018, eq. 7; as many groups as heads ---------------------------------- */
TFN__NORM("groupnorm", "LayerNorm of each of H groups of channels", "Wu & He, eq. 7", 2018,
          LAYER, TFN__AFFINE | TFN_FLAG_BY_HEAD)
TFN__RECIPE("groupnorm", "pre", "groupnorm", "xavier")

/* -- BranchNorm ------------------------------------------------------------------------------
 * Liu et al. 2023: Post-LN whose branches are blended in over the first 4,000 updates. */
#ifdef TFN__RULES
static void tfn__branchnorm(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_SCHEDULED, 4000);
}
#endif
TFN__TOPOLOGY("branchnorm", "x = N(x + min(1, t/4000) F(x)) after t updates",
              "Liu et al. (BranchNorm)", 2023, POST, 0, tfn__branchnorm)
TFN__RECIPE("branchnorm", "branchnorm", "layernorm", "xavier")

/* -- sigmaReparam ----------------------------------------------------------------------------
 * Zhai et al. 2023, section 3.2: each map is g W/sigma(W), where sigma is the largest singular
 * value. One learned number g is its gain, and attention does not collapse. g starts at 1; in the
 * vision code it starts at sigma, which keeps the map as it was drawn. See the api section. */
TFN__TOPOLOGY("sigma-reparam", "x = x + F(x); maps g W/sigma(W), g = 1 at the start",
              "Zhai et al. (sigmaReparam), section 3.2", 2023,
              BARE, TFN_TOPOLOGY_SIGMA_REPARAM, NULL)
TFN__TOPOLOGY("sigma-reparam-post", "post; maps g W/sigma(W), g = 1 at the start",
              "Zhai et al. (sigmaReparam), section 3.2", 2023,
              POST, TFN_TOPOLOGY_SIGMA_REPARAM, NULL)
TFN__TOPOLOGY("sigma-reparam-vision", "x = x + F(x); maps g W/sigma(W), g = sigma at the start",
              "Zhai et al. (sigmaReparam), vision code", 2023,
              BARE, TFN_TOPOLOGY_SIGMA_REPARAM | TFN_TOPOLOGY_SIGMA_OWN, NULL)
TFN__RECIPE("sigma-reparam",        "sigma-reparam",        "layernorm", "truncated")
TFN__RECIPE("sigma-reparam-post",   "sigma-reparam-post",   "layernorm", "truncated")
TFN__RECIPE("sigma-reparam-vision", "sigma-reparam-vision", "layernorm", "truncated")

/* -- GPAS ------------------------------------------------------------------------------------
 * Chen et al. 2025: a learned gate shrinks the stream in the forward but not in the backward,
 * because sg(x) counts as a constant. With Post-LN the gate is on the skip. */
#ifdef TFN__RULES
static void tfn__gpas(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->gate = true;
}
#endif
TFN__TOPOLOGY("gpas", "pre; x = x - SiLU(q_l) sg(x) after each sum", "Chen et al. (GPAS)", 2025,
              PRE, 0, tfn__gpas)
TFN__TOPOLOGY("gpas-post", "x = N(x - SiLU(q_l) sg(x) + F(x))", "Chen et al. (GPAS)", 2025,
              POST, 0, tfn__gpas)
TFN__RECIPE("gpas",      "gpas",      "rmsnorm",   "xavier")
TFN__RECIPE("gpas-post", "gpas-post", "layernorm", "xavier")

/* -- CRMSNorm: Jiang et al. 2023 -------------------------------------------------------------
 * Pre-LN whose stream has mean 0, so that one of the C channels need not be stored. */
TFN__NORM("crmsnorm", "g x/sqrt((sum(x^2) + sum(x)^2)/C + e), C - 1 channels",
          "Jiang et al. (Pre-CRMS)", 2023, CRMS, TFN_FLAG_GAIN)
TFN__RECIPE("crmsnorm", "pre", "crmsnorm", "xavier")

/* -- SeeDNorm: Cai et al. 2025; the gain of a row depends on it by tanh(x . d) --------------- */
TFN__NORM("seednorm", "(a tanh(x . d) + g) x/sqrt(mean(x^2) + e)", "Cai et al.", 2025,
          SEED, TFN_FLAG_GAIN)
TFN__RECIPE("seednorm", "pre", "seednorm", "xavier")

/* -- CenterNorm: Qi et al. (LipsFormer) 2023; a linear norm ---------------------------------- */
TFN__NORM("centernorm", "g C/(C-1) (x - mean) + b", "Qi et al. (LipsFormer)", 2023,
          CENTER, TFN__AFFINE)
TFN__RECIPE("centernorm", "pre", "centernorm", "xavier")

/* -- a norm to length 1 with Pre-LN ---------------------------------------------------------- */
TFN__RECIPE("l2norm", "pre", "l2norm", "xavier")
#endif /* TFN__ALL */
