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
 * Adding a norm, a topology, an operation, an optimizer, a family, an instruction set
 *
 * tools/source/README.md has a walk-through for each, and a map of the parts that this file is made
 * from. examples/16_own_op.c and 17_own_topology.c add an operation and a topology without changing
 * this file.
 */
