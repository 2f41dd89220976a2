/* SPDX-License-Identifier: Apache-2.0 */
/* cmdline.c - see cmdline.h. */
#include "agent/proc/cmdline.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "agent/proc/command_table.h"
#include "base/file.h"
#include "base/text.h"

/* Runners in runners: "poetry run ddtrace-run coverage run shop.py". */
enum { DEPTH_MAX = 6 };

static bool is_listed_word(const char *list, const char *word, size_t size)
{
    for (; list && *list && size > 0; list += strcspn(list, " "), list += strspn(list, " "))
        if (strcspn(list, " ") == size && memcmp(list, word, size) == 0)
            return true;
    return false;
}

/* Copies a name; all but the characters of names are replaced. */
static void put_clean_name(const char *text, size_t length, char *out, size_t size)
{
    size_t i;

    for (i = 0; i < length && i + 1 < size && text[i]; i++)
        out[i] = isalnum((unsigned char)text[i]) || strchr("_.-", text[i]) ? text[i] : '_';
    out[i] = '\0';
}

static void set_rule(struct cmdline_program *out, const char *rule, const char *of)
{
    (void)snprintf(out->rule, sizeof(out->rule), "%s%s%.40s", rule, *of ? " of " : "", of);
}

/* The size of the dotted name that `text` begins with; 0: it begins with something else. */
static size_t dotted_size(const char *text)
{
    size_t size = 0;

    while (isalnum((unsigned char)text[size]) || text[size] == '_' || text[size] == '.')
        size++;
    return isdigit((unsigned char)text[0]) || text[0] == '.' ? 0 : size;
}

static bool name_of_module(enum cmdline_form form, const char *text, char *out, size_t size)
{
    size_t length = dotted_size(text);

    if (length == 0 || (text[length] && text[length] != ':'))
        return false;
    if (form == CMDLINE_PACKAGE)
        length = strcspn(text, ".:");
    for (size_t i = length; form == CMDLINE_PARENT && i-- > 0;)
        if (text[i] == '.') {
            length = i;
            break;
        }
    if (form == CMDLINE_MODULE && length > 5 &&
        (memcmp(text + length - 5, ".wsgi", 5) == 0 || memcmp(text + length - 5, ".asgi", 5) == 0))
        length -= 5;
    if (form == CMDLINE_MODULE && length > 3 && memcmp(text + length - 3, ".py", 3) == 0)
        length -= 3;
    put_clean_name(text, length, out, size);
    return out[0] != '\0';
}

/* The last part of a path, without an ending that says what kind of file it is; of a folder's
 * __main__.py that of the folder. */
static bool name_of_file(const char *path, size_t length, char *out, size_t size)
{
    static const char endings[] =
        ".py .pyc .pyw .pyz .pyzw .pex .bin .ipynb .yml .yaml .ini .json .xml .toml";
    size_t start, end;

    for (;;) {
        for (; length > 1 && path[length - 1] == '/'; length--)
            ;
        for (start = length; start > 0 && path[start - 1] != '/'; start--)
            ;
        if (start < 2 || !is_listed_word("__main__.py __main__.pyc", path + start, length - start))
            break;
        length = start - 1;
    }
    for (end = length; end > start + 1 && path[end - 1] != '.'; end--)
        ;
    if (end > start + 1 && is_listed_word(endings, path + end - 1, length - end + 1))
        length = end - 1;
    if (is_listed_word(". ..", path + start, length - start))
        return false;
    put_clean_name(path + start, length - start, out, size);
    return out[0] != '\0';
}

bool cmdline_is_python(const char *path)
{
    return strncmp(file_base_name(path), "python", strlen("python")) == 0;
}

const char *cmdline_role_name(enum cmdline_role role)
{
    return role == CMDLINE_WORKER ? "worker" : role == CMDLINE_HELPER ? "helper" : NULL;
}

bool cmdline_name_of(enum cmdline_form form, const char *text, char *out, size_t size)
{
    size_t length;

    out[0] = '\0';
    if (form == CMDLINE_WORD) {
        put_clean_name(text, strlen(text), out, size);
        return out[0] != '\0';
    }
    /* "shop/app.py:create", "shop.ini:section" */
    length = strcspn(text, ":");
    return form == CMDLINE_FILE || (form == CMDLINE_MODULE && memchr(text, '/', length))
               ? name_of_file(text, length, out, size)
               : name_of_module(form, text, out, size);
}

/* Why what a tool is given as its operand has its name. */
static const char operand_rule[] = "application";

/* What the arguments of a tool say. */
struct arguments {
    size_t best;             /* index of the best option that names the application */
    const char *value;       /* of it; NULL: no option does */
    const char *folder_file; /* whose folder may name it; NULL: none */
    const char *operand;     /* the first one after the tool's word; NULL: none */
    const char *const *run;  /* what it runs, and the arguments of that; NULL: nothing */
    enum cmdline_form run_form;
};

/* The index of an option that says what runs; *value: what is attached to it, NULL: nothing is. */
static size_t find_option(const struct command *command, const char *text, const char **value)
{
    size_t i, size;

    *value = NULL;
    for (i = 0; i < COMMAND_OPTIONS_MAX && command->options[i].option; i++) {
        size = strlen(command->options[i].option);
        if (strncmp(text, command->options[i].option, size) != 0)
            continue;
        if (!text[size])
            return i;
        if (size == 2 ? text[1] != '-' : text[size] == '=') {
            *value = text + size + (text[size] == '=');
            return i;
        }
    }
    return COMMAND_OPTIONS_MAX;
}

/* How many of the words after an option are its values: where that is not known, one; -1: where it
 * has to be known. */
static int values_after(const struct command *command, const char *option, const char *next)
{
    const size_t size = strcspn(option, "=");
    const bool is_short = option[1] != '-' && option[2];

    if (is_listed_word(command->pairs, option, size))
        return 2;
    if (strncmp(option, "--no-", 5) == 0 || is_listed_word(command->flags, option, size))
        return 0;
    if (command->values && !is_listed_word(command->values, option, size) &&
        !(is_short && is_listed_word(command->values, option, 2)))
        return -1;
    return next && next[0] != '-' && !option[size] && !is_short;
}

/* Reads an option; gives its last word; NULL: what follows is not clear. */
static const char *const *read_option(const struct command *command, const char *const *at,
                                      struct arguments *out)
{
    const char *value;
    const size_t option = find_option(command, *at, &value);
    int values;

    if (option == COMMAND_OPTIONS_MAX) {
        values = values_after(command, *at, at[1]);
        for (; values > 0 && at[1]; values--)
            at++;
        return values < 0 ? NULL : at;
    }
    if (!value && at[1])
        value = *++at;
    if (command->options[option].form == CMDLINE_RUN) {
        out->run = value == *at ? at : NULL;
        out->run_form = CMDLINE_RUN;
    } else if (command->options[option].form == CMDLINE_FOLDER) {
        out->folder_file = value;
    } else if (value && option <= out->best) { /* of equal ones the last counts */
        out->best = option;
        out->value = value;
    }
    return at;
}

/* False: the tool's word is not there. */
static bool read_tool_arguments(const struct command *command, const char *const *at,
                                struct arguments *out)
{
    bool word = !command->word, options = true;

    *out = (struct arguments){.best = COMMAND_OPTIONS_MAX};
    for (; *at && !out->run; at++) {
        if (options && strcmp(*at, "--") == 0) {
            options = false;
        } else if (options && (*at)[0] == '-' && (*at)[1]) {
            if (!(at = read_option(command, at, out)))
                return word;
        } else if (command->options_first) {
            return word;
        } else if (!word) {
            if (strcmp(*at, command->word) != 0)
                return false;
            word = true;
        } else if (command->operand && !out->operand) {
            out->operand = *at;
            out->run = command->operand_form >= CMDLINE_PROGRAM ? at : NULL;
            out->run_form = command->operand_form;
        }
    }
    return word;
}

/* Names a tool's application by a text. False: it does not say. */
static bool name_by(enum cmdline_form form, const char *text, const char *rule,
                    struct cmdline_program *out)
{
    char name[sizeof(out->name)], tool[sizeof(out->name)];

    if (!text || !cmdline_name_of(form, text, name, sizeof(name)))
        return false;
    memcpy(tool, out->name, sizeof(tool));
    if (form == CMDLINE_FILE && strcmp(name, tool) == 0) { /* "sites/shop/uwsgi.ini" */
        (void)snprintf(out->folder_of, sizeof(out->folder_of), "%s", text);
        return false;
    }
    memcpy(out->name, name, sizeof(name));
    out->kind = out->kind == CMDLINE_TOOL ? CMDLINE_APPLICATION : out->kind;
    set_rule(out, rule, tool);
    return true;
}

static void name_tool(const struct command *command, const char *path,
                      const struct arguments *arguments, struct cmdline_program *out)
{
    const char *option = arguments->value ? command->options[arguments->best].option : "";

    out->kind = command->kind;
    out->role = command->role;
    set_rule(out, command->kind == CMDLINE_PART ? "part" : "tool", "");
    if (command->folder || command->script_folder)
        (void)snprintf(out->folder_of, sizeof(out->folder_of), "%s",
                       arguments->folder_file   ? arguments->folder_file
                       : command->script_folder ? path
                                                : ".");
    out->variable = command->variable;
    out->variable_form = command->variable_form;
    if (arguments->value &&
        name_by(command->options[arguments->best].form, arguments->value, option, out))
        return;
    if (command->operand_form < CMDLINE_PROGRAM)
        (void)name_by(command->operand_form, arguments->operand, operand_rule, out);
}

/* A script of somebody's own may be called as a tool is. */
static bool is_own_script(const char *path)
{
    return text_ends_with(path, ".py") && !strstr(path, "/bin/") && !strstr(path, "-packages/");
}

/* The first entry that a command fits; NULL: none does. */
static const struct command *find_command(const char *path, const char *name,
                                          const char *const *next, struct arguments *arguments)
{
    const struct command *command;
    const bool own = is_own_script(path);

    for (command = commands; command->names || command->path; command++)
        if ((!own || command->script_folder) &&
            (!command->names || is_listed_word(command->names, name, strlen(name))) &&
            (!command->path || strstr(path, command->path)) &&
            read_tool_arguments(command, next, arguments))
            return command;
    return NULL;
}

static void name_program(const char *const *argv, unsigned depth, struct cmdline_program *out);

static const struct command_text *find_text(const struct command_text *texts, const char *text)
{
    for (; texts->start; texts++)
        if (strncmp(text, texts->start, strlen(texts->start)) == 0)
            return texts;
    return NULL;
}

/* Python code of -c, or what comes from standard input: it has no name of its own. */
static void name_code(const char *code, struct cmdline_program *out)
{
    const struct command_text *found = find_text(command_codes, code);

    *out = (struct cmdline_program){.kind = CMDLINE_PART, .folder_of = "."};
    out->role = found ? found->role : CMDLINE_ROLE_UNKNOWN;
    set_rule(out, found ? "part" : "no script", "");
}

/* Writes the module of -m; "shop.__main__" is the package shop. */
static void put_module(const char *module, char *out, size_t size)
{
    static const char main_module[] = ".__main__";
    size_t length = strlen(module);

    if (text_ends_with(module, main_module))
        length -= strlen(main_module);
    put_clean_name(module, length, out, size);
}

/* Names a program, a script or a module, by its form, with the arguments in `next`. */
static void name_command(enum cmdline_form form, const char *path, const char *const *next,
                         unsigned depth, struct cmdline_program *out)
{
    static const char *const rules[] = {
        [CMDLINE_PROGRAM] = "program", [CMDLINE_SCRIPT] = "script", [CMDLINE_RUN] = "module"};
    const struct command *command;
    struct arguments arguments;

    out->kind = CMDLINE_NONE;
    if (form == CMDLINE_RUN)
        put_module(path, out->name, sizeof(out->name));
    else if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
             !name_of_file(path, strlen(path), out->name, sizeof(out->name)))
        name_code("", out);
    if (!out->name[0])
        return;
    out->kind = CMDLINE_APPLICATION;
    set_rule(out, rules[form], "");
    command = find_command(path, out->name, next, &arguments);
    if (!command)
        return;
    if (!arguments.run || depth >= DEPTH_MAX)
        name_tool(command, path, &arguments, out);
    else if (arguments.run_form == CMDLINE_PROGRAM)
        name_program(arguments.run, depth + 1, out);
    else
        name_command(arguments.run_form, arguments.run[0], arguments.run + 1, depth + 1, out);
}

/* The words of a Python's command line: options first. */
static void name_python(const char *const *argv, unsigned depth, struct cmdline_program *out)
{
    const char *c = "", *next = NULL;

    for (argv++; *argv; argv++) {
        if ((*argv)[0] != '-') {
            name_command(CMDLINE_SCRIPT, *argv, argv + 1, depth, out);
            return;
        }
        if (strcmp(*argv, "-") == 0)
            break;
        if (strcmp(*argv, "--") == 0)
            continue;
        /* Of the letters in one word these four take the rest of it, or the next word. */
        c = (*argv)[1] == '-' ? "" : *argv + strcspn(*argv, "cmWX");
        next = *c && c[1] ? c + 1 : argv[1];
        if (*c == 'm' && next) {
            name_command(CMDLINE_RUN, next, argv + (c[1] ? 1 : 2), depth, out);
            return;
        }
        if (*c == 'c' || *c == 'm')
            break;
        if (argv[1] && ((*c && !c[1]) || strcmp(*argv, "--check-hash-based-pycs") == 0))
            argv++;
    }
    name_code(*c == 'c' && next ? next : "", out);
}

static void name_program(const char *const *argv, unsigned depth, struct cmdline_program *out)
{
    if (cmdline_is_python(argv[0]))
        name_python(argv, depth, out);
    else
        name_command(CMDLINE_PROGRAM, argv[0], argv + 1, depth, out);
}

/* What a title says that a tool gave to its process. False: it says nothing. */
static bool name_by_title(const struct command_text *title, const char *text,
                          struct cmdline_program *out)
{
    char word[CMDLINE_NAME_MAX + 1];
    const char *at = NULL, *next = title->before ? strstr(text, title->before) : NULL;

    for (; next; next = strstr(next + 1, title->before))
        at = next + strlen(title->before);
    if (!at)
        return false;
    (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, title->after), at);
    if (strcmp(word, title->name) == 0)
        return false;
    return name_by(title->form, word, "title", out) || name_by(CMDLINE_WORD, word, "title", out);
}

/* A title that the program gave itself: "gunicorn: worker [shop.wsgi:app]". */
static void name_titled(const char *text, struct cmdline_program *out)
{
    const struct command_text *title = find_text(command_titles, text);

    out->kind = CMDLINE_TOOL; /* which one is not known: any word of it may be a secret */
    set_rule(out, "title", "");
    if (!title)
        return;
    for (; title->start && strncmp(text, title->start, strlen(title->start)) == 0; title++) {
        out->kind = title->kind;
        out->role = title->role;
        (void)snprintf(out->name, sizeof(out->name), "%s", title->name);
        set_rule(out, "title", "");
        if (name_by_title(title, text, out))
            return;
    }
    if (out->kind == CMDLINE_TOOL)
        (void)snprintf(out->folder_of, sizeof(out->folder_of), ".");
}

/* True if the first word of a title is a program rather than what a program says of itself. */
static bool is_joined(const char *const *argv)
{
    struct arguments arguments;

    return strchr(argv[0], '/') || cmdline_is_python(argv[0]) ||
           find_command(argv[0], argv[0], argv + 1, &arguments);
}

/* True if a word is the name and goes on as modules and files do: words of an argument with blanks
 * do not. */
static bool looks_like_application(const char *const *argv, const char *name)
{
    const size_t size = strlen(name);
    const char *word;

    for (; *argv; argv++) {
        word = file_base_name(*argv);
        if (strncmp(word, name, size) == 0 && (word[size] == ':' || word[size] == '.'))
            return true;
    }
    return false;
}

/* One argument with blanks: `text`. */
static void parse_joined(const char *text, struct cmdline_program *out)
{
    const char *argv[CMDLINE_ARGUMENTS_MAX + 1];
    char copy[4096];
    size_t count = 0;
    char *at = copy;

    (void)snprintf(copy, sizeof(copy), "%s", text);
    while (count < CMDLINE_ARGUMENTS_MAX && *(at += strspn(at, " "))) {
        argv[count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    argv[count] = NULL;
    if (count == 0 || find_text(command_titles, text) || !is_joined(argv)) {
        name_titled(text, out);
        return;
    }
    name_program(argv, 0, out);
    if (strncmp(out->rule, operand_rule, strlen(operand_rule)) == 0 &&
        !looks_like_application(argv, out->name)) {
        *out = (struct cmdline_program){.kind = CMDLINE_NONE};
        name_titled(text, out);
    }
}

/* True if the program says of itself what it is: in place of all arguments or, as Apache's mod_wsgi
 * does, of the first one. */
static bool is_titled(const char *const *argv)
{
    const bool known = find_text(command_titles, argv[0]) != NULL;

    return argv[1] ? known && strpbrk(argv[0], ": ") : known || strchr(argv[0], ':');
}

void cmdline_parse(const char *const *argv, struct cmdline_program *out)
{
    *out = (struct cmdline_program){.kind = CMDLINE_NONE};
    if (!argv[0] || !argv[0][0])
        return;
    if (!argv[1] && strchr(argv[0], ' '))
        parse_joined(argv[0], out);
    else if (is_titled(argv))
        name_titled(argv[0], out);
    else
        name_program(argv, 0, out);
}

void cmdline_parse_text(const char *text, size_t size, struct cmdline_program *out)
{
    const char *argv[CMDLINE_ARGUMENTS_MAX + 1];
    size_t count = 0, at = 0;

    for (; at < size && count < CMDLINE_ARGUMENTS_MAX; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    while (count > 1 && !argv[count - 1][0])
        count--; /* a title, and room after it */
    argv[count] = NULL;
    cmdline_parse(argv, out);
    out->single = count == 1;
}
