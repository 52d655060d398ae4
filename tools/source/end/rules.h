/* House rules.
 *
 * In order: a reader finds anything in ten seconds; a user cannot be crashed, only told; what is
 * promised is tested; fast where it matters (matrix products, attention, sums), simple elsewhere.
 *
 * - A section uses only sections above it. Kernels know plain pointers, the tape knows kernels, the
 *   model knows the tape.
 * - C99 that is also C++11: cast what an arena gives, no compound literals, no designated
 *   initializers. No warnings (the set is in tests/compile/warnings.sh).
 * - At most 100 columns; functions of about 10 lines, 60 at most. tools/layout counts, and a
 *   higher budget is a change of its number with a reason.
 * - Names: tfn_ and TFN_ public, TFNORM_ for the user's macros, tfn__ and TFN__ private. B, T, C,
 *   H, D, V, F, L as in the api section; dx is the gradient of x. One verb per idea: init, size,
 *   plan, forward, backward, step, text; of files open, read, write, close; of models save, load.
 * - Outputs first, then inputs, parameters, sizes. Products of sizes through tfn__mul, always.
 * - All-zero options are good defaults. Zero is said first in the comment.
 * - Nothing aborts, prints or keeps state. An error says what was found and what was wanted.
 * - A kernel cannot fail and holds no state. A forward comes with its backward, in one commit, with
 *   tests that die if a sign is flipped (tests/mutants.txt).
 * - The order of every sum is the definition of the result: see "The arithmetic".
 * - A comment says why; the formula and its paper stand once, above the forward.
 *
 *
 * The arithmetic
 *
 * 1. An element of a matrix product is one chain of fused multiply-adds over k in increasing order,
 *    from its start value (+0, a bias, or what is there). Blocks, tiles and threads never split it.
 * 2. A sum over features: 16 lanes by index mod 16, then the tree +8, +4, +2, +1 (tfn__tree), plain
 *    additions; missing lanes add +0. A flat sum: blocks of 4,096 by that rule, then the blocks'
 *    sums by that rule again.
 * 3. A sum over rows (bias and gain gradients): a chain over the rows, columns in the lanes.
 * 4. Masked keys are skipped by loop bounds, never multiplied by zero. No rescaled softmax.
 * 5. No libm in float code but sqrt, which IEEE 754 defines. Compilers may not contract.
 * 6. No partition by thread count. Random numbers are indexed by what they are for.
 * A change of any of these raises TFN_BITS_VERSION and TFN_BITS_HASH, on purpose.
 *
 *
 * Adding a method
 *
 * The code of these walk-throughs is what tests/walkthrough.sh puts into a copy of the header; it
 * trains them, and compares their gradients with differences.
 *
 * 1. A topology, a norm, an initialization, or several, and the recipe that names them, are one
 *    block in the topologies section. Say, KEEL (2026), with a toy norm:
 *        #ifdef TFN__RULES
 *        static void tfn__keel(const tfn_place *p, tfn_join *j)
 *        {
 *            j->skip = tfn__constant_of(tfn__sublayers(p));
 *            j->norm_sum = true;
 *        }
 *        #endif
 *        TFN__TOPOLOGY("keel", "x = N(n x + F(N(x))), n sub-layers", "KEEL", 2026,
 *                      PRE, 0, tfn__keel)
 *        TFN__NORM_OF("rmsnorm-half", "g x/sqrt(mean of the first half (x^2) + e)", "a toy", 2026,
 *                     RMS, TFN_FLAG_GAIN, 0, 0.5)
 *        TFN__RECIPE("keel", "keel", "rmsnorm-half", "xavier")
 *    Above it, a comment: what it claims, paper, equation; where paper and published code differ,
 *    the paper is the default. The row's host is the join that the rule changes at a place,
 *        p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z)
 *    An initialization has a rule for its gains in the same way: see DeepNorm's block.
 * 2. Most norms are a kind of tfn_norm_args with another flag. One that is not is an operation, see
 *    below, and has its case in tfn__apply_norm_of (builder), which makes its parameters.
 * 3. Tests run every recipe by themselves: gradients, bits, memory, decoding, folding. Golden
 *    values come from tests/golden/make_variants.py, written from the paper. Its BibTeX stands in
 *    tools/normlab/papers.c; tests/tools/test_references.c fails until every row has one that
 *    agrees with it.
 * Without touching this file: examples/04_own_topology.c.
 *
 *
 * Adding an operation
 *
 * Say, a cubed ReLU, a toy: y = max(x, 0)^3, dx = 3 max(x, 0)^2 dy.
 * 1. A kernel pair in its section (here ffn), inside #ifdef TFN__BODY; formula, paper, shapes, what
 *    is saved and why. Gradients take `add`: false stores, true adds.
 *        static void TFN__N(tfn__relu3_forward)(float *y, const float *x, ptrdiff_t n)
 *        {
 *            TFN__EACH(i, k, n) {
 *                const TFN__V r = TFN__MAX(TFN__SET(0), TFN__GET(x + i, k));
 *                TFN__PUT(y + i, TFN__MUL(TFN__MUL(r, r), r), k);
 *            }
 *        }
 *        #ifndef TFNORM_NO_TRAINING
 *        static void TFN__N(tfn__relu3_backward)(float *dx, const float *dy, const float *x,
 *                                                ptrdiff_t n, bool add)
 *        {
 *            TFN__EACH(i, k, n) {
 *                const TFN__V r = TFN__MAX(TFN__SET(0), TFN__GET(x + i, k));
 *                const TFN__V d = TFN__MUL(TFN__MUL(TFN__SET(3), r), r);
 *                TFN__N(tfn__store_or_add)(dx + i, TFN__MUL(d, TFN__GET(dy + i, k)), k, add);
 *            }
 *        }
 *        #endif
 * 2. Its two members at the end of tfn_kernels (api), with the declaration of what records it,
 *        void (*relu3_forward)(float *y, const float *x, ptrdiff_t n);
 *        void (*relu3_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n, bool add);
 *    and at the end of the table (section table), the backward through TFN__TRAIN:
 *        TFN__N(tfn__relu3_forward), TFN__TRAIN(tfn__relu3_backward)
 * 3. In the tape section: a forward and a backward that call the kernel on this chunk of values,
 *        SHARED void tfn__relu3_op(const tfn__call *c)
 *        {
 *            const tfn__range s = tfn__chunk_values(c);
 *            c->k->relu3_forward(c->y + s.first, c->x[0] + s.first, s.count);
 *        }
 *        #ifndef TFNORM_NO_TRAINING
 *        SHARED void tfn__relu3_back(const tfn__call *c)
 *        {
 *            const tfn__range s = tfn__chunk_values(c);
 *            c->k->relu3_backward(c->dx[0] + s.first, c->dy + s.first, c->x[0] + s.first, s.count,
 *                                 c->add[0]);
 *        }
 *        #endif
 *    a row of TFN__OPS: name, the two, how each is cut into chunks, and what the backward reads.
 *    The planner trusts that mask: what is not in it may be overwritten. Tests fill it with NaN.
 *        X(RELU3, "relu3", tfn__relu3_op, tfn__by_rows, tfn__relu3_back,
 *          tfn__by_rows, TFN__IN0)
 *    and a function that records it; tfn__map checks the shapes of what is done value by value.
 *        TFNORM_API tfn_var tfn_relu3(tfn_tape *t, tfn_var x)
 *        {
 *            if (!tfn__recording(t)) return tfn__none;
 *            return tfn__var_of(t, tfn__map(t, TFN__OP_RELU3, x, tfn__none, tfn__none));
 *        }
 * 4. Its test declaration: a reference in double, sizes 0, 1 and odd, equal bits on all instruction
 *    sets, the gradient by differences; a mutant per sign.
 * If anything else must change, the design is wrong: change that first.
 * Without touching this file: examples/05_own_op.c.
 *
 *
 * Adding an optimizer, a schedule, an activation
 *
 * 1. A row at the end of its list (api): tools and checkpoints take its name from there, options
 *    their range. An optimizer's says which moments it keeps. Say, Signum:
 *        X(EACH, NONE, FLAT, TFN_OPTIMIZER_SIGNUM, "signum",
 *          "m = b1 m + (1-b1) g; p -= lr sign(m)", "Bernstein et al. 2018, algorithm 2")
 * 2. Of an optimizer, a step (loss) that gives what is taken from k weights, and its case in
 *    tfn__update. Constants of an update, such as corrections of bias, are made in tfn_update_at.
 *        static TFN__INLINE TFN__V TFN__N(tfn__signum_step)(float *m, TFN__V g, ptrdiff_t i,
 *                                                           ptrdiff_t k,
 *                                                           const tfn_update_args *u)
 *        {
 *            const TFN__V zero = TFN__SET(0);
 *            const TFN__V b1 = TFN__SET(u->beta1);
 *            const TFN__V rest = TFN__SUB(TFN__SET(1), b1);
 *            const TFN__V next = TFN__FMA(b1, TFN__GET(m + i, k), TFN__MUL(rest, g));
 *            const TFN__V mean = TFN__N(tfn__vcut)(next, TFN__LEAST);
 *            const TFN__V down = TFN__LESS(mean, zero, TFN__SET(-u->lr), zero);
 *            TFN__PUT(m + i, mean, k);
 *            return TFN__LESS(zero, mean, TFN__SET(u->lr), down);
 *        }
 *    One whose row says that it sees matrices has its case in tfn__update_tensor instead.
 *    Of a schedule, a case in tfn__decayed (optim). Of an activation, cases in tfn__vactivation,
 *    tfn__vderivative and TFN__KINDS (ffn); of a gated one, only that of tfn__gate_of (tape).
 * 3. Golden values: tests/golden/make_golden.py, make_schedules.py.
 *
 *
 * Adding an instruction set
 *
 * 1. In the simd section its vector macros: about twenty over TFN__V of TFN__W lanes (16, 8, 4).
 * 2. In the instances section its copy of the kernels, under the target attribute if one is needed.
 * 3. Its name in tfn_isa (append) and tfn_isa_find, and its line in tfn__kernels_of: is it here?
 * 4. A row in the table of README.md that says tested, compiled or expected, and nothing more. The
 *    tests find the new table by themselves and want the bits of all the others.
 */
