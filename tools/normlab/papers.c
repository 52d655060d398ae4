/* The references, the notes on names, and how both are printed. */
#include "papers.h"
#include "rows.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Holds only verified data: a field that is NULL is left out. kind: article, inproceedings,
 * misc. */
typedef struct reference {
    const char *key, *kind, *author, *title, *venue, *arxiv;
    int year;
} reference;
static const reference references[] = {
    { "vaswani2017", "inproceedings", "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and "
      "Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, "
      "Illia", "Attention Is All You Need", "NeurIPS", "1706.03762", 2017 },
    { "xiong2020", "inproceedings", "Xiong, Ruibin and Yang, Yunchang and He, Di and Zheng, Kai "
      "and Zheng, Shuxin and Xing, Chen and Zhang, Huishuai and Lan, Yanyan and Wang, Liwei and "
      "Liu, Tie-Yan", "On Layer Normalization in the Transformer Architecture", "ICML",
      "2002.04745", 2020 },
    { "baevski2019", "inproceedings", "Baevski, Alexei and Auli, Michael",
      "Adaptive Input Representations for Neural Language Modeling", "ICLR", "1809.10853", 2019 },
    { "child2019", "misc", "Child, Rewon and Gray, Scott and Radford, Alec and Sutskever, Ilya",
      "Generating Long Sequences with Sparse Transformers", NULL, "1904.10509", 2019 },
    { "wang2019", "inproceedings", "Wang, Qiang and Li, Bei and Xiao, Tong and Zhu, Jingbo and "
      "Li, Changliang and Wong, Derek F. and Chao, Lidia S.",
      "Learning Deep Transformer Models for Machine Translation", "ACL", "1906.01787", 2019 },
    { "liu2020", "inproceedings", "Liu, Liyuan and Liu, Xiaodong and Gao, Jianfeng and Chen, "
      "Weizhu and Han, Jiawei", "Understanding the Difficulty of Training Transformers", "EMNLP",
      "2004.08249", 2020 },
    { "admintorch", "misc", "Microsoft", "admin-torch (software)", NULL, NULL, 2022 },
    { "takase2022", "misc", "Takase, Sho and Kiyono, Shun and Kobayashi, Sosuke and Suzuki, Jun",
      "On Layer Normalizations and Residual Connections in Transformers", NULL, "2206.00330",
      2022 },
    { "huang2020", "inproceedings", "Huang, Xiao Shi and Perez, Felipe and Ba, Jimmy and Volkovs, "
      "Maksims", "Improving Transformer Optimization Through Better Initialization", "ICML", NULL,
      2020 },
    { "zhang2019fixup", "inproceedings", "Zhang, Hongyi and Dauphin, Yann N. and Ma, Tengyu",
      "Fixup Initialization: Residual Learning Without Normalization", "ICLR", "1901.09321",
      2019 },
    { "bachlechner2020", "misc", "Bachlechner, Thomas and Majumder, Bodhisattwa Prasad and Mao, "
      "Huanru Henry and Cottrell, Garrison W. and McAuley, Julian",
      "ReZero is All You Need: Fast Convergence at Large Depth", NULL, "2003.04887", 2020 },
    { "balduzzi2017", "inproceedings", "Balduzzi, David and Frean, Marcus and Leary, Lennox and "
      "Lewis, J. P. and Ma, Kurt Wan-Duo and McWilliams, Brian",
      "The Shattered Gradients Problem: If resnets are the answer, then what is the question?",
      "ICML", "1702.08591", 2017 },
    { "wang2022deepnet", "misc", "Wang, Hongyu and Ma, Shuming and Dong, Li and Huang, Shaohan and "
      "Zhang, Dongdong and Wei, Furu", "DeepNet: Scaling Transformers to 1,000 Layers", NULL,
      "2203.00555", 2022 },
    { "zhang2019depth", "inproceedings", "Zhang, Biao and Titov, Ivan and Sennrich, Rico",
      "Improving Deep Transformer with Depth-Scaled Initialization and Merged Attention", "EMNLP",
      "1908.11365", 2019 },
    { "nguyen2019", "inproceedings", "Nguyen, Toan Q. and Salazar, Julian",
      "Transformers without Tears: Improving the Normalization of Self-Attention", "IWSLT",
      "1910.05895", 2019 },
    { "ioffe2015", "inproceedings", "Ioffe, Sergey and Szegedy, Christian",
      "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate "
      "Shift", "ICML", "1502.03167", 2015 },
    { "shen2020", "inproceedings", "Shen, Sheng and Yao, Zhewei and Gholami, Amir and Mahoney, "
      "Michael W. and Keutzer, Kurt", "PowerNorm: Rethinking Batch Normalization in Transformers",
      "ICML", "2003.07845", 2020 },
    { "bapna2018", "inproceedings", "Bapna, Ankur and Chen, Mia Xu and Firat, Orhan and Cao, Yuan "
      "and Wu, Yonghui",
      "Training Deeper Neural Machine Translation Models with Transparent Attention", "EMNLP",
      "1808.07561", 2018 },
    { "lu2019", "misc", "Lu, Yiping and Li, Zhuohan and He, Di and Sun, Zhiqing and Dong, Bin and "
      "Qin, Tao and Wang, Liwei and Liu, Tie-Yan", "Understanding and Improving Transformer From a "
      "Multi-Particle Dynamic System Point of View", NULL, "1906.02762", 2019 },
    { "xu2019", "inproceedings", "Xu, Jingjing and Sun, Xu and Zhang, Zhiyuan and Zhao, Guangxiang "
      "and Lin, Junyang", "Understanding and Improving Layer Normalization", "NeurIPS",
      "1911.07013", 2019 },
    { "goyal2017", "misc", "Goyal, Priya and others",
      "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", NULL, "1706.02677", 2017 },
    { "hanin2018", "inproceedings", "Hanin, Boris and Rolnick, David",
      "How to Start Training: The Effect of Initialization and Architecture", "NeurIPS",
      "1803.01719", 2018 },
    { "dou2018", "inproceedings", "Dou, Zi-Yi and Tu, Zhaopeng and Wang, Xing and Shi, Shuming and "
      "Zhang, Tong", "Exploiting Deep Representations for Neural Machine Translation", "EMNLP",
      "1810.10181", 2018 },
    { "mishkin2016", "inproceedings", "Mishkin, Dmytro and Matas, Jiri", "All You Need Is a Good "
      "Init", "ICLR", "1511.06422", 2016 },
    { "saxe2014", "inproceedings", "Saxe, Andrew M. and McClelland, James L. and Ganguli, Surya",
      "Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural Networks",
      "ICLR", "1312.6120", 2014 },
    { "he2015", "inproceedings", "He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian",
      "Delving Deep into Rectifiers: Surpassing Human-Level Performance on ImageNet "
      "Classification", "ICCV", "1502.01852", 2015 },
    { "ba2016", "misc", "Ba, Jimmy Lei and Kiros, Jamie Ryan and Hinton, Geoffrey E.",
      "Layer Normalization", NULL, "1607.06450", 2016 },
    { "zhang2019rms", "inproceedings", "Zhang, Biao and Sennrich, Rico",
      "Root Mean Square Layer Normalization", "NeurIPS", "1910.07467", 2019 },
    { "wu2018", "inproceedings", "Wu, Yuxin and He, Kaiming", "Group Normalization", "ECCV",
      "1803.08494", 2018 },
    { "jiang2023", "inproceedings", "Jiang, Zixuan and Gu, Jiaqi and Zhu, Hanqing and Pan, David "
      "Z.", "Pre-RMSNorm and Pre-CRMSNorm Transformers: Equivalent and Efficient Pre-LN "
      "Transformers", "NeurIPS", "2305.14858", 2023 },
    { "qi2023", "inproceedings", "Qi, Xianbiao and Wang, Jianan and Chen, Yihao and Shi, Yukai and "
      "Zhang, Lei", "LipsFormer: Introducing Lipschitz Continuity to Vision Transformers", "ICLR",
      "2304.09856", 2023 },
    { "ding2021", "inproceedings", "Ding, Ming and others",
      "CogView: Mastering Text-to-Image Generation via Transformers", "NeurIPS", "2105.13290",
      2021 },
    { "zhu2025", "inproceedings", "Zhu, Jiachen and Chen, Xinlei and He, Kaiming and LeCun, Yann "
      "and Liu, Zhuang", "Transformers without Normalization", "CVPR", "2503.10622", 2025 },
    { "chen2025derf", "misc", "Chen, Mingzhi and Lu, Taiming and Zhu, Jiachen and Sun, Mingjie "
      "and Liu, Zhuang", "Stronger Normalization-Free Transformers", NULL, "2512.10938", 2025 },
    { "cai2025", "misc", "Cai, Wenrui and Zhu, Defa and Liu, Qingjie and Min, Qiyang",
      "SeeDNorm: Self-Rescaled Dynamic Normalization", NULL, "2510.22777", 2025 },
    { "loshchilov2024", "misc", "Loshchilov, Ilya and Hsieh, Cheng-Ping and Sun, Simeng and "
      "Ginsburg, Boris", "nGPT: Normalized Transformer with Representation Learning on the "
      "Hypersphere", NULL, "2410.01131", 2024 },
    { "kim2025", "inproceedings", "Kim, Jeonghoon and others",
      "Peri-LN: Revisiting Normalization Layer in the Transformer Architecture", "ICML",
      "2502.02732", 2025 },
    { "gemma2024", "misc", "{Gemma Team}",
      "Gemma: Open Models Based on Gemini Research and Technology", NULL, "2403.08295", 2024 },
    { "gemma2", "misc", "{Gemma Team}",
      "Gemma 2: Improving Open Language Models at a Practical Size", NULL, "2408.00118", 2024 },
    { "olmo2", "misc", "{Team OLMo}", "2 OLMo 2 Furious", NULL, "2501.00656", 2024 },
    { "liu2022swin", "inproceedings", "Liu, Ze and others",
      "Swin Transformer V2: Scaling Up Capacity and Resolution", "CVPR", "2111.09883", 2022 },
    { "henry2020", "inproceedings", "Henry, Alex and Dachapally, Prudhvi Raj and Pawar, Shubham "
      "and Chen, Yuxuan", "Query-Key Normalization for Transformers", "Findings of EMNLP",
      "2010.04245", 2020 },
    { "dehghani2023", "inproceedings", "Dehghani, Mostafa and others",
      "Scaling Vision Transformers to 22 Billion Parameters", "ICML", "2302.05442", 2023 },
    { "zhuo2025", "misc", "Zhuo, Zhijian and others", "HybridNorm: Towards Stable and Efficient "
      "Transformer Training via Hybrid Normalization", NULL, "2503.04598", 2025 },
    { "wang2022magneto", "misc", "Wang, Hongyu and others", "Foundation Transformers (Magneto)",
      NULL, "2210.06423", 2022 },
    { "shleifer2021", "misc", "Shleifer, Sam and Weston, Jason and Ott, Myle",
      "NormFormer: Improved Transformer Pretraining with Extra Normalization", NULL, "2110.09456",
      2021 },
    { "xie2023", "misc", "Xie, Shufang and others",
      "ResiDual: Transformer with Dual Residual Connections", NULL, "2304.14802", 2023 },
    { "sun2025", "misc", "Sun, Wenfang and others", "The Curse of Depth in Large Language Models",
      NULL, "2502.05795", 2025 },
    { "li2024", "misc", "Li, Pengxiang and Yin, Lu and Liu, Shiwei", "Mix-LN: Unleashing the Power "
      "of Deeper Layers by Combining Pre-LN and Post-LN", NULL, "2412.13795", 2024 },
    { "touvron2021", "inproceedings", "Touvron, Hugo and Cord, Matthieu and Sablayrolles, "
      "Alexandre and Synnaeve, Gabriel and Jegou, Herve", "Going Deeper with Image Transformers",
      "ICCV", "2103.17239", 2021 },
    { "radford2019", "misc", "Radford, Alec and Wu, Jeffrey and Child, Rewon and Luan, David and "
      "Amodei, Dario and Sutskever, Ilya", "Language Models are Unsupervised Multitask Learners",
      "OpenAI", NULL, 2019 },
    { "devlin2018", "inproceedings", "Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and "
      "Toutanova, Kristina", "BERT: Pre-training of Deep Bidirectional Transformers for Language "
      "Understanding", "NAACL", "1810.04805", 2019 },
    { "bloom2022", "misc", "{BigScience Workshop}",
      "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model", NULL, "2211.05100", 2022 },
    { "black2022", "misc", "Black, Sid and others",
      "GPT-NeoX-20B: An Open-Source Autoregressive Language Model", NULL, "2204.06745", 2022 },
    { "gptj2021", "misc", "Wang, Ben and Komatsuzaki, Aran", "GPT-J-6B (software)", NULL, NULL,
      2021 },
    { "chowdhery2022", "misc", "Chowdhery, Aakanksha and others",
      "PaLM: Scaling Language Modeling with Pathways", NULL, "2204.02311", 2022 },
    { "warner2024", "misc", "Warner, Benjamin and Chaffin, Antoine and others",
      "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder for Fast, Memory Efficient, "
      "and Long Context Finetuning and Inference", NULL, "2412.13663", 2024 },
    { "liu2023", "misc", "Liu, Yijin and Zeng, Xianfeng and Meng, Fandong and Zhou, Jie",
      "BranchNorm: Robustly Scaling Extremely Deep Transformers", NULL, "2305.02790", 2023 },
    { "zhai2023", "inproceedings", "Zhai, Shuangfei and Likhomanenko, Tatiana and others",
      "Stabilizing Transformer Training by Preventing Attention Entropy Collapse", "ICML",
      "2303.06296", 2023 },
    { "chen2025gpas", "misc", "Chen, Tianhao and others", "GPAS: Accelerating Convergence of LLM "
      "Pretraining via Gradient-Preserving Activation Scaling", NULL, "2506.22049", 2025 },
    { "de2020", "inproceedings", "De, Soham and Smith, Samuel L.", "Batch Normalization Biases "
      "Residual Blocks Towards the Identity Function in Deep Networks", "NeurIPS", "2002.10444",
      2020 },
    { "glorot2010", "inproceedings", "Glorot, Xavier and Bengio, Yoshua",
      "Understanding the Difficulty of Training Deep Feedforward Neural Networks", "AISTATS", NULL,
      2010 },
    { "ott2019", "inproceedings", "Ott, Myle and others",
      "fairseq: A Fast, Extensible Toolkit for Sequence Modeling", "NAACL (Demonstrations)",
      "1904.01038", 2019 },
    { "paszke2019", "inproceedings", "Paszke, Adam and others",
      "PyTorch: An Imperative Style, High-Performance Deep Learning Library", "NeurIPS",
      "1912.01703", 2019 },
    { "ma2022", "misc", "Ma, Shuming and others", "TorchScale: Transformers at Scale", NULL,
      "2211.13184", 2022 }
};

#define ADMIN_NOTE                                                                              \
    "The paper's w_i = sqrt(sum of Var(f_j), j < i) gives w_1 = 0 if read literally, which "    \
    "would delete the embedding. The default is the authors' code: w_1 = 1, the chain starts "  \
    "at Var(x_0), each w is filled at once so that later sub-layers see it, and the variance "  \
    "is that of the whole tensor after dropout. When folding, the appendix displays 1/w on "    \
    "the cross-attention's W_V; its text does not, and the text is right: the memory is not "   \
    "rescaled. The code profiles a layer again at a second forward; here there is exactly "     \
    "one."
#define B2T_NOTE                                                                                \
    "Since May 2023 the authors' repository also multiplies every matrix of a layer by "        \
    "L^(-1/2), which the paper does not mention: that is the init \"b2t\", not the default. "   \
    "The recipe uses \"fairseq\", the init of the paper's code base (W_1, W_2 from the "        \
    "framework's default, not Xavier)."
#define DEEPNORM_NOTE                                                                           \
    "Default: the paper's table. torchscale multiplies the encoder's weights of an "            \
    "encoder-decoder by 1.15 = 1/0.87 where the paper has 0.87, starts from the framework's "   \
    "weights instead of Xavier's and scales biases too: that is the init "                      \
    "\"deepnorm-torchscale\". It also leaves the decoder Pre-LN unless a flag is cleared, "     \
    "which is plainly wrong and no option."
#define TFIXUP_NOTE                                                                             \
    "The paper has one depth for both stacks; N and M here are the code's reading of it. The "  \
    "paper says Xavier for all matrices, the code leaves W_Q and W_K at 1/sqrt(2): the paper "  \
    "is the default, the code is \"t-fixup-code\"."
#define FIXUP_NOTE                                                                              \
    "The code builds cross-attention without the number of branches and so uses 12^(-1/6) at "  \
    "any depth, a slip (\"fixup-code\"); the default is B^(-1/6) everywhere, as in the "        \
    "paper's rule and in the TensorFlow port. Q, K, V are those of a fused Xavier matrix in "   \
    "both."
#define DSINIT_NOTE                                                                             \
    "The paper scales the limits of layer l by l^(-1/2). The code hands l^(-1/2) to an "        \
    "initializer as a variance, which makes it l^(-1/4), and draws q, k, v of self-attention "  \
    "as one matrix, a further 1/sqrt(2): \"ds-init-code\". The paper is the default."
#define SUBLN_NOTE                                                                              \
    "Paper and code agree that cross-attention gets neither the inner norm nor, in the "        \
    "decoder, the gain. torchscale applies the gain to the framework's weights and to "         \
    "biases; the default is the paper's Xavier normal, without biases."
#define NORMFORMER_NOTE                                                                         \
    "Default: the paper, which scales head i before W_O. fairseq scales the output of W_O in "  \
    "blocks of D channels, which is not a scale per head, and does so in decoder layers "       \
    "only: \"normformer-code\". The vector on the feed-forward's skip is optional in the "      \
    "paper: \"normformer-res\"."
#define LNS_NOTE                                                                                \
    "In the released code the norm's name is put in lower case and then compared with "         \
    "\"LNS\", so that the branch is never reached; the fork in the GPAS repository does not "   \
    "repair it (one form there puts 1/sqrt(l) into the trainable gain at the start). The "      \
    "default is the paper's constant."
#define HYBRID_NOTE                                                                             \
    "The paper's feed-forward is written as Post-Norm; in the code its norm is on the input "   \
    "and the skip is taken after that norm, while the layer's output is not normed. The "       \
    "default is that of the code, n = N(x), x = n + F(n)."
#define NGPT_NOTE                                                                               \
    "The released position function is not a rotation (it lacks the second term); the paper "   \
    "means rotary positions, and so does this library: set position TFN_POSITION_ROTARY, "      \
    "activation TFN_ACTIVATION_SWIGLU, untied. Learned scales are stored times a unit, so that "\
    "their learning rate "                                                                      \
    "is the paper's; the rates v of the stream count by their absolute value, as in the code. " \
    "A row of length 0 is guarded."
#define SANDWICH_NOTE                                                                           \
    "The released CogView divides by the maximum over the whole tensor inside its LayerNorm "   \
    "(the norm \"cogview\") and has the attention's PB-relax switched off; so has this "        \
    "library. By its nature this norm is neither causal nor equal in decode: what stands at a " \
    "position depends on later ones and on the other sentences of the batch."
#define POWER_NOTE                                                                              \
    "The paper's backward divides by the running psi, the code's by the statistics of the "     \
    "batch, and the code puts a norm by groups (as many as heads) first. The default is the "   \
    "code, with which the paper's results were made. It is not a true gradient."
#define BATCH_NOTE                                                                              \
    "The PowerNorm repository clamps the variance at e instead of adding e, draws the gain "    \
    "from U(0, 1) and never uses its running statistics. The default is Ioffe & Szegedy's "     \
    "form. In a causal decoder training sees statistics of later tokens; decoding uses the "    \
    "running ones."
#define XU_NOTE                                                                                 \
    "The authors' code takes the unbiased deviation and adds e outside the root: adanorm is "   \
    "that form, the others are LayerNorm's own, and their \"-code\" forms the code's. The "     \
    "paper and the code have a factor c on adanorm, the option norm_factor: 1 unless given, "   \
    "1, 1.5 or 2 in the authors' scripts."
#define DYT_NOTE                                                                                \
    "In language models the authors' code drops the bias, gives alpha other starts by place "   \
    "and width (0.8 for attention, 0.2 elsewhere at 7B), and multiplies the embedding by a "    \
    "learned scalar: the last is the topology \"pre-embed-scale\" and the recipe \"dyt-lm\". "  \
    "alpha starts at 1/2 here, the paper's default."
#define RMS_NOTE                                                                                \
    "The same authors' two files differ in the place of e: inside the root (the default, and "  \
    "the paper) or outside (\"rmsnorm-outside\"); they agree to first order in e."
#define DLCL_NOTE                                                                               \
    "The code's option for a norm on the embedding sets a name that is never read, and its "    \
    "window over layers shapes the initial weights only, unless rows are a softmax. Here y_0 "  \
    "has no norm, and dlcl and dlcl-post no window, as in the paper; the other rows are the "   \
    "code's options, which any row can combine (mix)."
#define GPAS_NOTE                                                                               \
    "The gate is shared by the sub-layers of a layer, as in the code. x - SiLU(q) sg(x) is "    \
    "not a true gradient by design: the second x is a constant in the backward."
#define MIXLN_NOTE                                                                              \
    "The first quarter of the layers is Post-LN. The code's own DeepNorm baseline has a "       \
    "wrong sign and a fixed a; do not compare with it."
#define REZERO_NOTE                                                                             \
    "One a per layer for all of its sub-layers, as in the code; a scalar per branch is "        \
    "SkipInit."
#define OLMO_NOTE                                                                               \
    "No norm before the branch: the attention reads an unnormed stream, and the norms of "      \
    "queries and keys (over all heads jointly) bound its scores."
#define QKNORM_NOTE                                                                             \
    "g starts at log2(T^2 - T), with T the 97.5th percentile of the training lengths; a "       \
    "library does not know them and takes the context."
#define SIGMA_NOTE                                                                              \
    "gamma starts at 1 in the paper and in the speech code, at the matrix's own sigma in the "  \
    "vision code (-vision), which also takes all norms out; speech and translation keep Post-"  \
    "LN (-post). One power iteration follows each update, where the code iterates when the "    \
    "next forward begins: the same numbers. The code begins with singular vectors, here "       \
    "up to 100 iterations find them. Embeddings and a tied output are left as they are."
#define HANIN_NOTE                                                                              \
    "The paper's theorem is about fully connected residual networks with ReLU and any scales "  \
    "of finite sum; 0.9^l is one such choice."

/* For every name: the keys of its references, and the note. */
static const struct { const char *name, *keys, *note; } notes[] = {
    { "pre", "xiong2020 baevski2019 child2019 wang2019",
      "Some code bases can leave out the decoder's final norm; without it the theory (gradients of "
      "order 1/sqrt(L)) and the scale of the loss both fail. It is always there, in both stacks." },
    { "post", "vaswani2017 xiong2020", NULL },
    { "admin", "liu2020", ADMIN_NOTE }, { "admin-direct", "liu2020", ADMIN_NOTE },
    { "admin-constant", "admintorch liu2020", NULL }, { "admin-sqrt", "admintorch liu2020", NULL },
    { "b2t", "takase2022", B2T_NOTE }, { "b2t-skip-last", "takase2022", NULL },
    { "b2t-pre", "takase2022", "Not in the paper: what its code does with the Pre-LN flag." },
    { "b2t-no-norm", "takase2022",
      "The paper removes norms in internal layers; the code has no norm at all unless it is "
      "Pre-LN. The default is the code's. a = min(L/12, L^(-0.15)), b = C^(-0.2)." },
    { "dlcl", "wang2019", DLCL_NOTE }, { "dlcl-post", "wang2019", DLCL_NOTE },
    { "dlcl-softmax", "wang2019", DLCL_NOTE }, { "dlcl-vector", "wang2019", DLCL_NOTE },
    { "dlcl-groups", "wang2019", DLCL_NOTE }, { "dlcl-one", "wang2019", DLCL_NOTE },
    { "dlcl-window", "wang2019", DLCL_NOTE },
    { "no-norm", "huang2020", NULL },
    { "t-fixup", "huang2020", TFIXUP_NOTE }, { "t-fixup-code", "huang2020", TFIXUP_NOTE },
    { "fixup", "zhang2019fixup", FIXUP_NOTE }, { "fixup-code", "zhang2019fixup", FIXUP_NOTE },
    { "rezero", "bachlechner2020", REZERO_NOTE }, { "rezero-post", "liu2020 bachlechner2020",
      REZERO_NOTE },
    { "skipinit", "de2020", NULL }, { "looklinear", "balduzzi2017 liu2020", NULL },
    { "deepnorm", "wang2022deepnet", DEEPNORM_NOTE },
    { "deepnorm-torchscale", "ma2022 wang2022deepnet", DEEPNORM_NOTE },
    { "post-ln-init", "wang2022deepnet", "Known at second hand only: weights of layer l over "
      "L - l + 1." },
    { "ds-init", "zhang2019depth", DSINIT_NOTE }, { "ds-init-code", "zhang2019depth", DSINIT_NOTE },
    { "pre-fixnorm", "nguyen2019", NULL },
    { "scalenorm", "nguyen2019", "The code draws the embedding from U(+-0.01) with FixNorm, where "
      "only its direction matters, and has an output bias; here it is N(0, 1/C), without." },
    { "small", "nguyen2019", NULL },
    { "batchnorm", "ioffe2015 shen2020", BATCH_NOTE }, { "powernorm", "shen2020", POWER_NOTE },
    { "transparent", "bapna2018", NULL },
    { "macaron", "lu2019", NULL }, { "macaron-pre", "lu2019", NULL },
    { "adanorm", "xu2019", XU_NOTE }, { "layernorm-simple", "xu2019", XU_NOTE },
    { "detachnorm", "xu2019", XU_NOTE }, { "detachnorm-mean", "xu2019", XU_NOTE },
    { "detachnorm-std", "xu2019", XU_NOTE }, { "layernorm-simple-code", "xu2019", XU_NOTE },
    { "detachnorm-code", "xu2019", XU_NOTE }, { "detachnorm-mean-code", "xu2019", XU_NOTE },
    { "detachnorm-std-code", "xu2019", XU_NOTE },
    { "zero-gamma", "goyal2017", NULL }, { "hanin-rolnick", "hanin2018", HANIN_NOTE },
    { "dense", "dou2018", NULL }, { "linear-aggregation", "dou2018", NULL },
    { "lsuv", "mishkin2016", NULL }, { "orthogonal", "saxe2014", NULL }, { "he", "he2015", NULL },
    { "layernorm", "ba2016", NULL }, { "pre-rms", "zhang2019rms xiong2020", RMS_NOTE },
    { "post-rms", "zhang2019rms vaswani2017", RMS_NOTE }, { "rmsnorm", "zhang2019rms", RMS_NOTE },
    { "rmsnorm-outside", "zhang2019rms", RMS_NOTE },
    { "rmsnorm-offset", "gemma2024", "Weight decay pulls this gain to 1, that of rmsnorm to 0." },
    { "prmsnorm", "zhang2019rms", NULL }, { "gemma", "gemma2024 gemma2", NULL },
    { "l2norm", "loshchilov2024", NULL }, { "groupnorm", "wu2018", NULL },
    { "crmsnorm", "jiang2023", NULL }, { "centernorm", "qi2023", "LipsFormer combines it with "
      "branches scaled by 1/L, a spectral init and cosine attention; the recipe has the norm "
      "alone, which does not bound the stream." },
    { "cogview", "ding2021", SANDWICH_NOTE }, { "sandwich", "ding2021 kim2025", SANDWICH_NOTE },
    { "dyt", "zhu2025", DYT_NOTE }, { "dyt-lm", "zhu2025", DYT_NOTE },
    { "pre-embed-scale", "zhu2025", DYT_NOTE }, { "derf", "chen2025derf",
      "The authors' language-model patch multiplies the embedding by a learned scalar too: combine "
      "the norm with the topology \"pre-embed-scale\" for that." },
    { "dyt-isru", "chen2025derf", NULL }, { "dyt-exp", "chen2025derf", NULL },
    { "dyt-atan", "chen2025derf", NULL }, { "dyt-sin", "chen2025derf", NULL },
    { "dyt-softsign", "chen2025derf", NULL },
    { "seednorm", "cai2025", "Known at second hand only." },
    { "peri", "kim2025 ding2021 gemma2", NULL },
    { "output-norm", "olmo2 liu2022swin", OLMO_NOTE }, { "olmo2", "olmo2", OLMO_NOTE },
    { "swin-v2", "liu2022swin", "Large models of the code add a norm on the stream every few "
      "blocks; this row has none." },
    { "qknorm", "henry2020", QKNORM_NOTE }, { "qk-head", "dehghani2023", NULL },
    { "qkv-head", "zhuo2025", NULL }, { "sub-ln", "wang2022magneto", SUBLN_NOTE },
    { "normformer", "shleifer2021", NORMFORMER_NOTE },
    { "normformer-res", "shleifer2021", NORMFORMER_NOTE },
    { "normformer-code", "shleifer2021", NORMFORMER_NOTE },
    { "resi-dual", "xie2023", "The norm of the second stream has e = 1e-7, as in the code, which "
      "also knows a factor on that stream against overflow in half precision and a weight on x; "
      "they are 1 here, and fields of a row: side_scale, side_weight." },
    { "lns", "sun2025", LNS_NOTE }, { "mix-ln", "li2024", MIXLN_NOTE },
    { "hybridnorm", "zhuo2025", HYBRID_NOTE }, { "hybridnorm-first", "zhuo2025", HYBRID_NOTE },
    { "layerscale", "touvron2021", "The start by depth is the paper's; the code's default is 1e-4, "
      "and its model files say 1e-5 and 1e-6." },
    { "gpt2", "radford2019", NULL }, { "pre-embed-norm", "bloom2022 kim2025", NULL },
    { "embed-norm", "bloom2022 kim2025", NULL }, { "post-embed-norm", "devlin2018", NULL },
    { "bert", "devlin2018", NULL }, { "truncated", "devlin2018", NULL },
    { "modernbert", "warner2024", NULL }, { "layernorm-gain", "chowdhery2022", NULL },
    { "ngpt", "loshchilov2024", NGPT_NOTE },
    { "parallel", "black2022", NULL }, { "parallel-shared", "gptj2021 chowdhery2022", NULL },
    { "sigma-reparam", "zhai2023", SIGMA_NOTE }, { "sigma-reparam-post", "zhai2023", SIGMA_NOTE },
    { "sigma-reparam-vision", "zhai2023", SIGMA_NOTE },
    { "branchnorm", "liu2023", "Known at second hand only: the ramp of 4000 updates is of the "
      "order the paper reports as robust." },
    { "gpas", "chen2025gpas", GPAS_NOTE }, { "gpas-post", "chen2025gpas", GPAS_NOTE },
    { "xavier", "glorot2010 xiong2020", NULL }, { "xavier-uniform", "glorot2010", NULL },
    { "fused", "ott2019 liu2020", "What \"Xavier\" means depends on the code: drawn as one "
      "C x 3C matrix, Q, K and V each get 1/sqrt(2) of the gain of a matrix drawn alone." },
    { "fairseq", "ott2019", "Since version 0.10 fairseq draws W_1 and W_2 by the framework's rule: "
      "at ffn = 4 C the feed-forward starts with about 5.8 times less variance than by Xavier." },
    { "framework", "paszke2019", NULL }
};

static const reference *find_reference(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (strlen(references[i].key) == length && !strncmp(references[i].key, key, length))
            return references + i;
    return NULL;
}

static void print_bibtex_field(const char *name, const char *value)
{
    char text[512];
    if (!value) return;
    snprintf(text, sizeof text, "{%s},", value);
    printf("  %-13s = ", name);
    print_wrapped(text, 18);
}

static void print_bibtex(const reference *r)
{
    const bool proceedings = !strcmp(r->kind, "inproceedings");
    printf("@%s{%s,\n", r->kind, r->key);
    print_bibtex_field("author", r->author);
    print_bibtex_field("title", r->title);
    print_bibtex_field(proceedings ? "booktitle" : "howpublished", r->venue);
    print_bibtex_field("eprint", r->arxiv);
    if (r->arxiv) print_bibtex_field("archivePrefix", "arXiv");
    printf("  %-13s = {%d}\n}\n", "year", r->year);
}

/* Prints all references of a list of keys separated by spaces. */
static void print_references(const char *keys)
{
    while (*keys) {
        const size_t n = strcspn(keys, " ");
        const reference *r = find_reference(keys, n);
        if (r) print_bibtex(r);
        keys += n;
        keys += strspn(keys, " ");
    }
}

void print_notes(const char *name)
{
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (strcmp(notes[i].name, name)) continue;
        if (notes[i].note) {
            printf("\nPaper, code and this library:\n  ");
            print_wrapped(notes[i].note, 2);
        }
        printf("\n");
        print_references(notes[i].keys);
        return;
    }
    printf("\n");
}
