/* bench learn: how good a model is after a fixed time. The first 90 % of a text are for training,
 * the rest is held out. Losses are nats per byte of all held-out text, in windows of the model's
 * context.
 *
 * PyTorch trains nanoGPT's example for a CPU (tools/peers/torch_peer.py); its time covers only the
 * updates. We run `tfn train TEXT --minutes M`, which chooses everything else itself; its time
 * covers the whole program, with trials, evaluations and saving. */
#ifndef LEARN_H
#define LEARN_H

void bench_learn(const char *path);
#endif
