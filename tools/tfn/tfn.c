/* make -C tools && tools/bin/tfn train --task translate --minutes 3 --out m.safetensors
 *
 * Trains Transformers and uses them, from the command line: `tfn --help`, `tfn train --help`.
 * Exit codes: 0; 1: something failed; 2: wrong arguments; 130: stopped by Ctrl-C,
 * SIGTERM or SIGHUP, and saved.
 * Every command is a file of its own here; options.h has the options of all of them. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../../tfnorm.h"
#include "../common/cli.h"
#include "../common/output.h"
#include "../common/tasks.h"
#include "average.h"
#include "chat.h"
#include "classify.h"
#include "embed.h"
#include "eval.h"
#include "export.h"
#include "fill.h"
#include "generate.h"
#include "import.h"
#include "logits.h"
#include "manual.h"
#include "options.h"
#include "quantize.h"
#include "score.h"
#include "tensors.h"
#include "train.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const command commands[] = {
    { "train", "FILE | --task NAME | --pairs FILE | --labels FILE", "train a model", TRAIN, train },
    { "generate", "MODEL [PROMPT | FILE | -]", "continue a prompt, or each line of a file",
      GENERATE, generate },
    { "chat", "MODEL [FILE | -]", "answer each line; all that was said stays in view", CHAT,
      chat_run },
    { "translate", "MODEL [TEXT | FILE | -]",
      "translate a text, or each line of a file (T5's begin with the task: \"translate English to "
      "German: \")",
      TRANSLATE, translate },
    { "classify", "MODEL [FILE | -]", "the class of each line A, or A tab B", CLASSIFY, classify },
    { "fill", "MODEL --text \"The [MASK] sat\"", "the likeliest tokens for each mask", FILL, fill },
    { "eval", "MODEL [FILE | -]", "loss, perplexity, accuracy, BLEU, ROUGE, WER", EVAL, eval },
    { "embed", "MODEL [FILE | -] [--out FILE]", "a vector of each line, as .tsv or .npy", EMBED,
      embed },
    { "score", "FOUND WANTED", "BLEU, ROUGE, WER, CER of lines", SCORE, score },
    { "average", "MODEL ... --out FILE", "the mean of weights", AVERAGE, average },
    { "fold", "MODEL --out FILE", "scales and gains into the weights", FOLD, fold },
    { "quantize", "MODEL --to TYPE [--out FILE]",
      "matrices of 8, 4 or 16 bits, or of floats again; MODEL.TYPE.safetensors", QUANTIZE,
      quantize },
    { "export", "MODEL --out FILE.h | --hf DIR | FILE.gguf",
      "model and tokenizer as C, for the hub, or for llama.cpp", EXPORT,
      export },
    { "import", "FOLDER|FILE.gguf --out FILE", "a checkpoint of the hub or of llama.cpp", IMPORT,
      import },
    { "logits", "MODEL --ids \"N N ..\"", "of each position, nine digits", LOGITS, logits },
    { "tokens", "MODEL [FILE | -]", "the ids of each line", ENCODE, tokens },
    { "inspect", "FILE ... | MODEL --text TEXT --out PAGE.html",
      "tensors of a safetensors file; what a model does with a sentence, as a page", INSPECT,
      inspect },
    { "bits", "", "the self-check: are the bits canonical here?", BITS, bits },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int usage(void)
{
    printf("tfn: train Transformers and use them\n\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  tfn %-10s %s\n  %14s %s\n", commands[i].name, commands[i].arguments, "",
               commands[i].help);
    printf("\n`tfn COMMAND --help` has the options with their defaults. For example:\n"
           "  tfn train --task translate --minutes 3 --out m.safetensors\n"
           "  echo \"der Hund schläft.\" | tfn translate m.safetensors --beam 4\n"
           "  tfn train book.txt --tokenizer bpe --layers 6 --out book.safetensors\n"
           "  tfn generate book.safetensors \"Once upon a time\" --temperature 0.8\n"
           "Exit codes: 0; 1: something failed, output was lost, or training went wrong;\n"
           "2: wrong arguments; 130: stopped and saved.\n"
           "`tfn help --man`, `--bash` and `--zsh` print a manual page and completions.\n");
    return 0;
}

static int command_help(const command *k)
{
    bool any = false;
    for (int i = 0; i < O_COUNT; i++) any = any || (option_rows[i].commands & k->bit);
    printf("tfn %s %s\n%s\n", k->name, k->arguments, k->help);
    if (any) printf("Options and their defaults:\n");
    options_help(stdout, k->bit);
    if (k->bit != TRAIN) return 0;
    printf("Tasks, whose data is generated:\n");
    for (int i = 0; task_at(i); i++)
        printf("  %-12s %s: %s\n", task_at(i)->name, task_at(i)->text, task_at(i)->formula);
    return 0;
}

/* Words that people know from other programs, and what to type here. */
static const struct { const char *word, *here; } words[] = {
    { "sample", "tfn generate MODEL" }, { "complete", "tfn generate MODEL" },
    { "run", "tfn generate MODEL" }, { "infer", "tfn generate MODEL" },
    { "inference", "tfn generate MODEL" }, { "summarize", "tfn translate MODEL" },
    { "resume", "tfn train --resume FILE" }, { "continue", "tfn train --resume FILE" },
    { "finetune", "tfn train FILE --from MODEL" }, { "fine-tune", "tfn train FILE --from MODEL" },
    { "pretrain", "tfn train FILE" }, { "fit", "tfn train FILE" },
    { "list", "tfn --help for the commands, normlab list for the recipes" },
    { "predict", "tfn classify MODEL" }, { "tokenize", "tfn tokens MODEL" },
    { "encode", "tfn tokens MODEL" }, { "decode", "tfn generate MODEL --ids" },
    { "embeddings", "tfn embed MODEL" }, { "convert", "tfn import FOLDER or tfn export MODEL" },
    { "download", "tfn import FOLDER, of a model that was downloaded" },
    { "evaluate", "tfn eval MODEL" }, { "test", "tfn eval MODEL" },
    { "perplexity", "tfn eval MODEL" }, { "info", "tfn inspect MODEL" },
    { "show", "tfn inspect MODEL" }, { "describe", "tfn inspect MODEL" },
    { "summary", "tfn inspect MODEL" }, { "bench", "tools/bin/bench" },
    { "benchmark", "tools/bin/bench" }, { "compare", "normlab compare" }
};

static int say_version(void)
{
    printf("tfn of tfnorm %s, bits version %d, hash %016llX, saves: %s\n", tfn_version(),
           TFN_BITS_VERSION, (unsigned long long)TFN_BITS_HASH, tfn_io_durable());
    return 0;
}

static void no_command(const cli *c, const char *name)
{
    const char *best = NULL;
    char lower[32];
    snprintf(lower, sizeof lower, "%s", name + strspn(name, "-"));
    for (char *s = lower; *s; s++) *s = (char)tolower((unsigned char)*s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, lower))
            cli_fail(c, "no command %s; here it is %s", name, words[i].here);
    if (name[0] == '-' && option_is_near(lower, "help"))
        cli_fail(c, "no option %s; the nearest is --help", name);
    if (name[0] == '-' && option_is_near(lower, "version"))
        cli_fail(c, "no option %s; the nearest is --version", name);
    for (int i = 0; i < COMMANDS; i++) option_nearer(&best, lower, commands[i].name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const bool near_word = cli_distance(lower, words[i].word) == 1 && strlen(lower) > 3;
        if (near_word && !option_is_near(lower, best))
            cli_fail(c, "no command %s; here it is %s", name, words[i].here);
    }
    if (option_is_near(lower, best)) cli_fail(c, "no command %s; the nearest is %s", name, best);
    cli_fail(c, "no command %s", name);
}

static int run_tool(int argc, char **argv)
{
    cli c = { "tfn", argv, argc, 0, NULL };
    const char *name = cli_next(&c);
    static settings s;
    if (!name) cli_fail(&c, "expected a command");
    if (!strcmp(name, "--version") || !strcmp(name, "version")
        || !strcmp(name, "-V")) return say_version();
    const bool help = !strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help");
    if (help) name = cli_next(&c);
    if (!name) return usage();
    if (help && name[0] == '-') {
        if (manual_print(name, commands, COMMANDS) == 0) return 0;
        cli_fail(&c, "no help in the form %s: --man, --bash or --zsh", name);
    }
    for (int i = 0; i < COMMANDS; i++) {
        const command *k = &commands[i];
        if (strcmp(k->name, name)) continue;
        if (help) return command_help(k);
        for (int j = 2; j < argc; j++)
            if (!strcmp(argv[j], "--help") || !strcmp(argv[j], "-h")) return command_help(k);
        c.command = k->name;
        options_read(&s, &c, k->bit);
        return k->run(&s, &c);
    }
    no_command(&c, name);
    return 2;
}

int main(int argc, char **argv)
{
    output_begin("tfn");
    return output_end(run_tool(argc, argv));
}
