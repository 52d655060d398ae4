/* tfn help --man, --bash, --zsh. A name of a recipe, a norm, a task and the like is completed, too;
 * values that are files are completed as files. */
#include "manual.h"
#include "../../tfnorm.h"
#include "../common/tasks.h"
#include <stdio.h>
#include <string.h>

static const command *all;
static int count;

/* -- values ---------------------------------------------------------------------------------- */

/* The name i of what an option's value may be, NULL past the end or if it may be anything. */
static const char *topology_name(int32_t i)
{
    const tfn_topology *row = tfn_topology_at(i);
    if (!row) return NULL;
    return row->name;
}
static const char *norm_name(int32_t i)
{
    const tfn_norm_rule *row = tfn_norm_at(i);
    if (!row) return NULL;
    return row->name;
}
static const char *init_name(int32_t i)
{
    const tfn_init_rule *row = tfn_init_at(i);
    if (!row) return NULL;
    return row->name;
}
static const char *recipe_name(int32_t i)
{
    const tfn_recipe *row = tfn_recipe_at(i);
    if (!row) return NULL;
    return row->name;
}
static const char *family_name(int32_t i)
{
    const tfn_family *row = tfn_family_at(i);
    if (!row) return NULL;
    return row->name;
}
static const char *task_name(int32_t i)
{
    const task *row = task_at(i);
    if (!row) return NULL;
    return row->name;
}
static const struct { option_id id; const char *(*name)(int32_t i); } tables[] = {
    { O_RECIPE, recipe_name }, { O_TOPOLOGY, topology_name }, { O_NORM, norm_name },
    { O_INIT, init_name }, { O_FAMILY, family_name }, { O_TASK, task_name }
};

/* Writes the names with spaces between them; the text is empty if the value may be anything. */
static void values_of(char *text, size_t room, int option)
{
    const option_row *r = &option_rows[option];
    text[0] = 0;
    if (r->kind == 'c' || r->kind == 'e') snprintf(text, room, "%s", option_values(r));
    for (char *bar = text; *bar; bar++)
        if (*bar == '|') *bar = ' ';
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        if ((int)tables[t].id != option) continue;
        for (int32_t i = 0; tables[t].name(i); i++) {
            const size_t n = strlen(text);
            const char *space = i ? " " : "";
            snprintf(text + n, room - n, "%s%s", space, tables[t].name(i));
        }
    }
}

static bool takes_file(const option_row *r)
{
    return r->kind == 's' && (strstr(r->value, "FILE") || strstr(r->value, "MODEL")
                              || strstr(r->value, "DIR"));
}

/* -- the manual page ------------------------------------------------------------------------- */

/* A text for troff: a backslash and a minus are escaped; so is a dot or a quote that begins it. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++) {
        if (*text == '\\') printf("\\e");
        else if (*text == '-') printf("\\-");
        else putchar(*text);
    }
}

static void roff_option(int i)
{
    const option_row *r = &option_rows[i];
    char values[4096];
    const char *comma = "";
    printf(".TP\n\\fB\\-\\-");
    roff(r->name);
    printf("\\fR");
    if (r->kind != 'f') {
        const bool named = r->kind == 'c' || r->kind == 'e';
        printf(" \\fI");
        roff(named ? "NAME" : r->value);
        printf("\\fR");
    }
    printf("\n");
    roff(r->help);
    if (r->kind == 'c' || r->kind == 'e') {
        values_of(values, sizeof values, i);
        printf("; one of ");
        roff(values);
    }
    if (r->normal) {
        printf("; default ");
        roff(r->normal);
    }
    printf(". Of ");
    for (int k = 0; k < count; k++) {
        if (!(r->commands & all[k].bit)) continue;
        printf("%s%s", comma, all[k].name);
        comma = ", ";
    }
    printf(".\n");
}

static bool option_is_public(int i)
{
    for (int k = 0; k < count; k++)
        if (option_rows[i].commands & all[k].bit) return true;
    return false;
}

static int print_man(void)
{
    printf(".\\\" tfn help \\-\\-man\n.TH TFN 1 \"\" \"tfnorm %s\"\n.SH NAME\n"
           "tfn \\- train Transformers and use them\n.SH SYNOPSIS\n"
           ".B tfn\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.br\n"
           ".B tfn help\n[\\fICOMMAND\\fR]\n.br\n.B tfn \\-\\-version\n.SH COMMANDS\n",
           tfn_version());
    for (int k = 0; k < count; k++) {
        printf(".TP\n\\fBtfn %s\\fR ", all[k].name);
        roff(all[k].arguments);
        printf("\n");
        roff(all[k].help);
        printf(".\n");
    }
    printf(".SH OPTIONS\nA value follows its option, or an equals sign.\n");
    for (int i = 0; i < O_COUNT; i++)
        if (option_is_public(i)) roff_option(i);
    printf(".SH TASKS\nThe values of \\-\\-task, whose data is generated:\n");
    for (int i = 0; task_at(i); i++) {
        printf(".TP\n\\fB%s\\fR\n", task_at(i)->name);
        roff(task_at(i)->text);
        printf(": ");
        roff(task_at(i)->formula);
        printf("\n");
    }
    printf(".SH EXIT STATUS\n0; 1: something failed, output was lost, or training went wrong; "
           "2: wrong arguments;\n130: stopped and saved.\n"
           ".SH EXAMPLES\n.nf\n"
           "tfn train book.txt \\-\\-minutes 3 \\-\\-out book.safetensors\n"
           "tfn generate book.safetensors \"Once upon a time\" \\-\\-temperature 0.8\n.fi\n");
    return 0;
}

/* -- bash ------------------------------------------------------------------------------------ */

/* A word list within single quotes. */
static void bash_values(int i)
{
    const option_row *r = &option_rows[i];
    char values[4096];
    values_of(values, sizeof values, i);
    if (values[0]) printf("        --%s) values='%s' ;;\n", r->name, values);
    else if (takes_file(r)) printf("        --%s) files=1 ;;\n", r->name);
    else printf("        --%s) return ;;\n", r->name);
}

static int print_bash(void)
{
    printf("# tfn help --bash: completion for bash\n_tfn() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local values= files= options= commands='help");
    for (int k = 0; k < count; k++) printf(" %s", all[k].name);
    printf("'\n    COMPREPLY=()\n    case ${COMP_WORDS[1]} in\n");
    for (int k = 0; k < count; k++) {
        printf("    %s) options='--help", all[k].name);
        for (int i = 0; i < O_COUNT; i++)
            if (option_rows[i].commands & all[k].bit) printf(" --%s", option_rows[i].name);
        printf("' ;;\n");
    }
    printf("    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then values=\"$commands --help --version\"\n"
           "    elif [ \"${COMP_WORDS[1]}\" = help ]; then values=$commands\n"
           "    elif [ \"${before#-}\" != \"$before\" ]; then\n        case $before in\n"
           "        -o) files=1 ;;\n");
    for (int i = 0; i < O_COUNT; i++)
        if (option_is_public(i) && option_rows[i].kind != 'f') bash_values(i);
    printf("        esac\n    fi\n"
           "    if [ -z \"$values$files\" ] && [ \"${word#-}\" != \"$word\" ]; then "
           "values=$options; fi\n"
           "    if [ \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
           "    else COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n}\n"
           "complete -o filenames -F _tfn tfn\n");
    return 0;
}

/* -- zsh ------------------------------------------------------------------------------------- */

/* A text within single quotes and within brackets of _arguments. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') printf("'\\''");
        else if (strchr("[]:\\", *text)) printf("\\%c", *text);
        else putchar(*text);
    }
}

static void zsh_option(int i)
{
    const option_row *r = &option_rows[i];
    char values[4096];
    printf(" \\\n            '");
    if (r->kind == 'l') putchar('*');
    printf("--%s[", r->name);
    zsh_text(r->help);
    putchar(']');
    values_of(values, sizeof values, i);
    if (r->kind != 'f') {
        putchar(':');
        zsh_text(r->kind == 'e' ? r->name : r->value);
        putchar(':');
        if (values[0]) printf("(%s)", values);
        else if (takes_file(r)) printf("_files");
        else putchar(' ');
    }
    putchar('\'');
}

static int print_zsh(void)
{
    printf("#compdef tfn\n# tfn help --zsh: completion for zsh\n_tfn() {\n"
           "    local -a commands=(\n        'help:options of a command'\n");
    for (int k = 0; k < count; k++) {
        printf("        '%s:", all[k].name);
        zsh_text(all[k].help);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
           "    local command=$words[2]\n"
           "    shift words\n    (( CURRENT-- ))\n    case $command in\n"
           "    help) _describe command commands ;;\n");
    for (int k = 0; k < count; k++) {
        printf("    %s) _arguments '--help[options and their defaults]'", all[k].name);
        for (int i = 0; i < O_COUNT; i++)
            if (option_rows[i].commands & all[k].bit) zsh_option(i);
        printf(" '*:file:_files' ;;\n");
    }
    printf("    esac\n}\n"
           "if [ \"$funcstack[1]\" = _tfn ]; then _tfn \"$@\"; else compdef _tfn tfn; fi\n");
    return 0;
}

int manual_print(const char *form, const command *commands, int number)
{
    all = commands;
    count = number;
    if (!strcmp(form, "--man")) return print_man();
    if (!strcmp(form, "--bash")) return print_bash();
    if (!strcmp(form, "--zsh")) return print_zsh();
    return 2;
}
