/* House rules.
 *
 * In order of importance: a reader finds anything in ten seconds; no input crashes a user's
 * program, it only gives an error; every promise is tested; the code is fast where it matters
 * (matrix products, attention, sums) and simple elsewhere.
 *
 * - A section uses only sections above it. Kernels know plain pointers, the tape knows kernels, the
 *   model knows the tape.
 * - Write C99 that is also C++11: cast the results of an arena, use no compound literals and no
 *   designated initializers. Compile without warnings (the set is in tests/compile/warnings.sh).
 * - At most 100 columns. Functions have about 10 lines, at most 60. tools/layout checks this; to
 *   raise one of its limits, change the number there and give a reason.
 * - Names: tfn_ and TFN_ are public, TFNORM_ is for the user's macros, tfn__ and TFN__ are private.
 *   B, T, C, H, D, V, F, L are defined in the api section. dx is the gradient of x. One verb per
 *   idea: init, size, plan, forward, backward, step, text; for files open, read, write, close; for
 *   models save, load.
 * - Arguments: outputs first, then inputs, parameters, sizes. Multiply sizes only with tfn__mul.
 * - All-zero options are good defaults. The comment of an option begins with the meaning of zero.
 * - The library never aborts, prints or keeps state. An error gives the value found and the value
 *   needed.
 * - A kernel cannot fail and holds no state. A forward and its backward come in one commit, with
 *   tests that fail if a sign is flipped (tests/mutants.txt).
 * - The order of every sum is the definition of the result: see "The arithmetic".
 * - A comment explains why. The formula and its paper are given once, above the forward.
 *
 *
 * The arithmetic
 *
 * 1. An element of a matrix product is one chain of fused multiply-adds over k in increasing order,
 *    from its start value (+0, a bias, or the present value). Blocks, tiles and threads never split
 *    it.
 * 2. A sum over features uses 16 lanes, by index mod 16, then the tree +8, +4, +2, +1 (tfn__tree),
 *    with plain additions. Missing lanes add +0. A flat sum applies this rule to blocks of 4,096
 *    terms, then again to the sums of the blocks.
 * 3. A sum over rows (bias and gain gradients) is a chain over the rows. The lanes are columns.
 * 4. Loop bounds skip masked keys; they are never multiplied by zero. The softmax is never
 *    rescaled.
 * 5. Float code calls no function of libm except sqrt, which IEEE 754 defines. Compilers must not
 *    contract.
 * 6. Work is never partitioned by the number of threads. Random numbers are indexed by their
 *    purpose.
 * Any change of these rules must raise TFN_BITS_VERSION and change TFN_BITS_HASH, on purpose.
 *
 *
 * Adding a method
 *
 * tests/walkthrough.sh inserts the code of these walk-throughs into a copy of the header, trains
 * with it, and compares the gradients with finite differences.
 *
 * 1. A topology, a norm, an initialization, or several of these, and the recipe that names them,
 *    are one block in the topologies section. For example, KEEL (2026) with a toy norm:
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
 *    Above it write a comment with its claim, paper and equation. If paper and published code
 *    differ, the paper is the default. The rule changes the join at a place,
 *        p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z)
 *    An initialization has a rule for its gains in the same way: see DeepNorm's block.
 * 2. Most norms are a kind of tfn_norm_args with other flags. Any other norm is an operation (see
 *    below) and needs a case in tfn__apply_norm_of (builder), which makes its parameters.
 * 3. The tests run every recipe automatically: gradients, bits, memory, decoding, folding. Golden
 *    values come from tests/golden/make_variants.py, written from the paper. Add the paper's BibTeX
 *    to tools/normlab/papers.c; tests/tools/test_references.c fails until every row has an entry
 *    that agrees with it.
 * To add one without changing this file, see examples/17_own_topology.c.
 *
 *
 * Adding an operation
 *
 * For example, a cubed ReLU as a toy: y = max(x, 0)^3, dx = 3 max(x, 0)^2 dy.
 * 1. A pair of kernels in its section (here ffn), inside #ifdef TFN__BODY. The comment gives the
 *    formula, the paper, the shapes, and the saved arrays with the reason. Gradients take `add`:
 *    false stores, true adds.
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
 * 2. Two members at the end of tfn_kernels (api), and in the api the declaration of the function
 *    that records the operation (step 3),
 *        void (*relu3_forward)(float *y, const float *x, ptrdiff_t n);
 *        void (*relu3_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n, bool add);
 *    and two entries at the end of the table (section table), the backward with TFN__TRAIN:
 *        TFN__N(tfn__relu3_forward), TFN__TRAIN(tfn__relu3_backward)
 * 3. In the tape section a forward and a backward that call the kernel for this chunk of values,
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
 *    a row of TFN__OPS: the name, the two functions, the functions that count their chunks, and the
 *    mask of arrays that the backward reads. The planner trusts this mask: arrays that are not in
 *    it may be overwritten. Tests fill them with NaN.
 *        X(RELU3, "relu3", tfn__relu3_op, tfn__by_rows, tfn__relu3_back,
 *          tfn__by_rows, TFN__IN0)
 *    and a function that records it. tfn__map checks the shapes of elementwise operations.
 *        TFNORM_API tfn_var tfn_relu3(tfn_tape *t, tfn_var x)
 *        {
 *            if (!tfn__recording(t)) return tfn__none;
 *            return tfn__var_of(t, tfn__map(t, TFN__OP_RELU3, x, tfn__none, tfn__none));
 *        }
 * 4. Its tests: a reference in double, sizes 0, 1 and odd, equal bits on all instruction sets, the
 *    gradient by finite differences, and a mutant per sign.
 * If anything else must change, the design is wrong: change the design first.
 * To add one without changing this file, see examples/16_own_op.c.
 *
 *
 * Adding an optimizer, a schedule, an activation
 *
 * 1. A row at the end of its list (api). Tools and checkpoints take the name from there, options
 *    their range. The row of an optimizer tells which moments it keeps. For example, Signum:
 *        X(EACH, NONE, FLAT, TFN_OPTIMIZER_SIGNUM, "signum",
 *          "m = b1 m + (1-b1) g; p -= lr sign(m)", "Bernstein et al. 2018, algorithm 2")
 * 2. For an optimizer, a function (section optimizers) that returns the step to subtract from k
 *    weights, and a case in tfn__update. tfn_update_at computes the constants of an update, such as
 *    bias corrections.
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
 *    An optimizer that sees matrices has its case in tfn__update_tensor instead.
 *    For a schedule, a case in tfn__decayed (optim). For an activation, cases in tfn__vactivation,
 *    tfn__vderivative and TFN__KINDS (ffn). For a gated unit, only a case in tfn__gate_of (tape).
 * 3. Golden values: tests/golden/make_golden.py, make_schedules.py.
 *
 *
 * Adding an instruction set
 *
 * 1. In the simd section its vector macros: about twenty, over TFN__V with TFN__W lanes (16, 8, 4).
 * 2. In the instances section its copy of the kernels, with a target attribute if it needs one.
 * 3. A name in tfn_isa (append) and tfn__isa_names, and a line in tfn__kernels_of that tests
 *    whether the processor has it.
 * 4. A row in the table of README.md that says tested, compiled or expected, and nothing more. The
 *    tests find the new table automatically, and require the same bits as from all the others.
 */
