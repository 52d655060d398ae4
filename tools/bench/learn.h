/* bench learn: how good a model is after so much time. The first 90 % of a text train, the rest is
 * held out; losses are nats per byte of all of it, in windows of the model's context.
 *
 * PyTorch trains what nanoGPT's README has for a CPU (tools/peers/torch_peer.py); its time is that
 * of the updates alone. Ours is `tfn train TEXT --minutes M`, all else its own choice, and its time
 * is that of the whole program: trials, evaluations and saving included. */
#ifndef LEARN_H
#define LEARN_H

void bench_learn(const char *path);
#endif
