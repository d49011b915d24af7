/* Parsing from the option table.  `--name value`, `--name=value`, `-n value`, `-nvalue`,
 * `--` ends options; single-dash long forms `-Rlayout`, `-O3`, `-Werror` come from the short
 * form. */
#include "command/options.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

const TlOptionRow tl_option_rows[TL_OPT_COUNT] = {
#define TL_OPTION(id, letter, name, argument, commands, help)                                      \
   [TL_OPT_##id] = {letter, name, argument, help, commands},
#include "command/options.def"
};

static const struct {
   TlOptionId first;
   const char *title;
} groups[] = {
#define TL_GROUP(first, title) {TL_OPT_##first, title},
#define TL_OPTION(...)
#include "command/options.def"
};

static const TlCommandRow commands[] = {
   {"build", CMD_BUILD, "FILE", "compile a kernel: tilec build FILE (also: tilec FILE)"},
   {"run", CMD_RUN, "FILE", "compile and run a kernel on .npy files or made-up arrays"},
   {"bench", CMD_BENCH, "FILE", "time a kernel: quantiles, bandwidth, variants side by side"},
   {"tune", CMD_TUNE, "FILE",
    "choose the configuration of an autotuned kernel and keep the choice"},
   {"check", CMD_CHECK, "FILE...", "what is wrong with the kernels of files, typed or not"},
   {"view", CMD_VIEW, "FILE", "an HTML page: source, IR, PTX and SASS linked, layouts, memory"},
   {"lsp", CMD_LSP, "", "language server for editors, over standard input and output"},
   {"list", CMD_LIST, "FILE", "kernels of a file with their parameters and types"},
   {"doctor", CMD_DOCTOR, "", "what works on this machine"},
   {"doc", CMD_DOC, "[NAME]", "what a name of the language means; without NAME: all names"},
   {"explain", CMD_EXPLAIN, "[CODE]", "what a code means, with examples; without CODE: all codes"},
   {"cache", CMD_CACHE, "stats|verify|clear",
    "compiled kernels kept on disk: tilec cache stats|verify|clear"},
   {"completion", CMD_COMPLETION, "bash|zsh|fish", "what completes this command in a shell"},
   {"manual", CMD_MANUAL, "", "the manual page: tilec manual | man -l -"},
   {NULL, 0, NULL, NULL},
};

enum { NUM_COMMANDS = sizeof commands / sizeof commands[0] - 1 };

const TlCommandRow *
tl_command_row(unsigned i)
{
   assert(i <= NUM_COMMANDS);
   return &commands[i];
}

const char *
tl_option_group(unsigned option)
{
   assert(option < TL_OPT_COUNT && groups[0].first == 0);
   unsigned g = 0;
   while (g + 1 < sizeof groups / sizeof groups[0] && groups[g + 1].first <= option)
      g++;
   return groups[g].title;
}

static int
find_command(const char *name)
{
   for (unsigned c = 0; c < NUM_COMMANDS; c++)
      if (strcmp(name, commands[c].name) == 0)
         return (int)c;
   return -1;
}

/* What others call a command. */
static const struct {
   const char *word;
   unsigned command;
} other_commands[] = {
#define TL_OTHER_COMMAND(word, command) {word, CMD_##command},
#include "command/other_options.def"
};
enum { NUM_OTHERS = sizeof other_commands / sizeof other_commands[0] };

static const char *
command_called(const char *word)
{
   for (size_t i = 0; i < NUM_OTHERS; i++)
      for (unsigned c = 0; strcmp(word, other_commands[i].word) == 0 && c < NUM_COMMANDS; c++)
         if (commands[c].bit == other_commands[i].command)
            return commands[c].name;
   return NULL;
}

/* What a word that is neither a command nor looks like a file was to be; NULL: nothing close. */
static const char *
nearest_command(const char *word)
{
   TlNearest near = {.name = word};
   const char *own = command_called(word);
   if (own)
      return own;
   TlNearest other = {.name = word};
   for (size_t i = 0; i < NUM_OTHERS; i++)
      tl_nearest_try(&other, other_commands[i].word);
   for (unsigned c = 0; c < NUM_COMMANDS; c++)
      tl_nearest_try(&near, commands[c].name);
   tl_nearest_try(&near, "help");
   if (other.best && !near.best && !strpbrk(word, "./-")) /* compil */
      return command_called(other.best);
   size_t hyphen = strcspn(word, "-"); /* compile-ptx: what its first word means */
   if (hyphen && word[hyphen] && hyphen < 32 && !strpbrk(word, "./")) {
      char first[32];
      memcpy(first, word, hyphen);
      first[hyphen] = '\0';
      const char *meant = nearest_command(first);
      return find_command(first) >= 0 ? commands[find_command(first)].name : meant;
   }
   return strpbrk(word, "./-") ? NULL : near.best;
}

static void
fail(TlArena *arena, TlCommandLine *cl, const char *what, const char *which, const char *hint)
{
   if (!cl->error)
      cl->error =
         tl_arena_printf(arena, "%s '%s'%s%s", what, which, hint ? "; " : "", hint ? hint : "");
}

const TlOtherOption *
tl_other_option_at(unsigned i)
{
   static const TlOtherOption rows[] = {
#define TL_OTHER_OPTION(name, id, use) {name, TL_OPT_##id, use},
#include "command/other_options.def"
   };
   return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}

static const TlOtherOption *
other_option(const char *name)
{
   const TlOtherOption *o;
   for (unsigned i = 0; (o = tl_other_option_at(i)); i++)
      if (strcmp(o->name, name) == 0)
         return o;
   return NULL;
}

/* Is it a name that a kernel's parameter may have, and no option is near: --n 256, -x=3? */
static bool
may_be_argument(const TlCommandLine *cl, const char *name)
{
   return (tl_option_rows[TL_OPT_ARG].commands & cl->command) && *name && !strchr(name, '-');
}

/* "run, bench, tune do" */
static const char *
who_takes(TlArena *arena, unsigned takers)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (unsigned c = 0; c < NUM_COMMANDS; c++)
      if (commands[c].bit & takers)
         tl_sb_printf(&sb, "%s%s", sb.len ? ", " : "", commands[c].name);
   tl_sb_printf(&sb, takers & (takers - 1) ? " do" : " does");
   return tl_sb_cstr(&sb);
}

/* The only option of these commands whose name begins with the word or has it behind a hyphen
 * (--sig, --stages), else one spelt nearly so; -1: none. */
static int
option_like(const char *name, unsigned of_commands)
{
   size_t len = strlen(name);
   unsigned parts = 0;
   int whole = -1, best = -1;
   TlNearest near = {.name = name};
   for (int i = 0; len > 2 && i < TL_OPT_COUNT; i++) {
      const char *option = tl_option_rows[i].name, *part = strstr(option, name);
      const char *before = near.best;
      if (!(tl_option_rows[i].commands & of_commands))
         continue;
      tl_nearest_try(&near, option);
      best = near.best == before ? best : i;
      if (part && (part == option || part[-1] == '-')) {
         parts++;
         whole = i;
      }
   }
   return parts == 1 ? whole : best;
}

/* What an unknown option was to be.  value: "=.." that follows the word, or "". */
static const char *
nearest_option(TlArena *arena, const TlCommandLine *cl, const char *name, const char *value)
{
   const TlOtherOption *other = other_option(name);
   if (other && !(tl_option_rows[other->id].commands & cl->command))
      other = NULL;
   if (other && other->use[0] == '-' && !strchr(other->use, ' '))
      return tl_arena_printf(arena, "did you mean '%s'?", other->use);
   if (other)
      return tl_arena_printf(arena, "write %s", other->use);
   int found = option_like(name, cl->command);
   if (found >= 0)
      return tl_arena_printf(arena, "did you mean '--%s'?", tl_option_rows[found].name);
   if (may_be_argument(cl, name))
      return tl_arena_printf(arena, "an argument of the kernel is given by --arg %s%s", name,
                             *value ? value : "=VALUE");
   found = option_like(name, ~0u);
   if (found >= 0)
      return tl_arena_printf(arena, "this command has no '--%s' either, %s",
                             tl_option_rows[found].name,
                             who_takes(arena, tl_option_rows[found].commands));
   return tl_arena_printf(arena, "see tilec help %s", cl->command_name);
}

static int
find_long(const char *name, size_t len)
{
   for (int i = 0; i < TL_OPT_COUNT; i++)
      if (strlen(tl_option_rows[i].name) == len && memcmp(tl_option_rows[i].name, name, len) == 0)
         return i;
   return -1;
}

static void
add_use(TlArena *arena, TlCommandLine *cl, int id, const char *value)
{
   assert(id >= 0 && id < TL_OPT_COUNT);
   if (!(tl_option_rows[id].commands & cl->command))
      fail(arena, cl, "this command does not take",
           tl_arena_printf(arena, "--%s", tl_option_rows[id].name),
           id == TL_OPT_OUT && cl->command == CMD_RUN
              ? "an array is written by --save NAME=FILE.npy"
              : who_takes(arena, tl_option_rows[id].commands));
   tl_vec_push(arena, &cl->uses, (TlOptionUse){(TlOptionId)id, value ? value : ""});
}

/* Handles argv[*i], which starts with '-'. */
static void
parse_option(TlArena *arena, TlCommandLine *cl, int argc, char **argv, int *i)
{
   assert(*i < argc && argv[*i][0] == '-');
   const char *a = argv[*i], *value = NULL;
   int id = -1;
   if (strcmp(a, "-Werror") == 0) {
      add_use(arena, cl, TL_OPT_WERROR, NULL);
      return;
   }
   if (a[1] == '-') {
      const char *name = a + 2, *eq = strchr(name, '=');
      id = find_long(name, eq ? (size_t)(eq - name) : strlen(name));
      value = eq ? eq + 1 : NULL;
   } else {
      for (int k = 0; k < TL_OPT_COUNT && id < 0; k++)
         if (tl_option_rows[k].letter && tl_option_rows[k].letter == a[1])
            id = k;
      if (id >= 0 && a[2])
         value = a[2] == '=' ? a + 3 : a + 2;
      bool is_word =
         id >= 0 && value && !*tl_option_rows[id].argument && isalpha((unsigned char)a[2]);
      id = is_word ? -1 : id; /* -gencode is none of -g */
   }
   if (id < 0) {
      const char *name = a + (a[1] == '-' ? 2 : 1), *eq = strchr(name, '=');
      const char *bare = eq ? tl_arena_strndup(arena, name, (size_t)(eq - name)) : name;
      fail(arena, cl, "unknown option", a, nearest_option(arena, cl, bare, eq ? eq : ""));
      return;
   }
   const char *argument = tl_option_rows[id].argument;
   if (!*argument && value)
      fail(arena, cl, "no value is taken by option", a,
           tl_arena_printf(arena, "write --%s alone", tl_option_rows[id].name));
   if (*argument && *argument != '[' && !value) {
      if (*i + 1 >= argc) {
         fail(arena, cl, "a value must follow option", a,
              tl_arena_printf(arena, "write --%s=%s", tl_option_rows[id].name, argument));
         return;
      }
      value = argv[++*i];
      if (value[0] == '-' && (value[1] == '-' || isalpha((unsigned char)value[1]))) {
         fail(arena, cl, "a value must follow option", a,
              tl_arena_printf(arena, "write --%s=%s; found the option '%s'",
                              tl_option_rows[id].name, argument, value));
         return;
      }
   }
   if (value && !*value && tl_word_is_listed("DIR FILE PATH OUT FILE.json KERNEL", argument)) {
      fail(arena, cl, "a name must follow option", a,
           tl_arena_printf(arena, "write --%s=%s", tl_option_rows[id].name, argument));
      return;
   }
   add_use(arena, cl, id, value);
}

/* What `tilec help WORD` was to show where WORD is no command: an option, a name of the
 * language. */
static const char *
help_instead(TlArena *arena, const char *word)
{
   const char *name = word + strspn(word, "-"), *near = nearest_command(word);
   int option = find_long(name, strlen(name));
   for (int k = 0; k < TL_OPT_COUNT && option < 0 && name[0] && !name[1]; k++)
      option = tl_option_rows[k].letter == name[0] ? k : -1;
   if (near)
      return tl_arena_printf(arena, "did you mean '%s'?", near);
   for (unsigned c = 0; option >= 0 && c < NUM_COMMANDS; c++)
      if (commands[c].bit & tl_option_rows[option].commands)
         return tl_arena_printf(arena, "--%s is an option: tilec help %s",
                                tl_option_rows[option].name, commands[c].name);
   return tl_arena_printf(arena,
                          "'tilec help' lists the commands, 'tilec doc %s' is about a name of "
                          "the language",
                          name);
}

void
tl_command_line_parse(TlArena *arena, int argc, char **argv, TlCommandLine *out)
{
   *out = (TlCommandLine){.command = CMD_BUILD, .command_name = "build"};
   int i = 1;
   bool is_help = argc > 1 && strcmp(argv[1], "help") == 0;
   const char *word = is_help && argc > 2 ? argv[2] : argc > 1 ? argv[1] : "";
   int c = find_command(word);
   if (c >= 0) {
      out->command = commands[c].bit;
      out->command_name = commands[c].name;
      out->is_named = true;
      i = 2;
   }
   if (is_help) {
      add_use(arena, out, TL_OPT_HELP, NULL);
      if (c < 0 && argc > 2 && strcmp(word, "help") != 0)
         fail(arena, out, "unknown command", word, help_instead(arena, word));
      else if (argc > 3)
         fail(arena, out, "'help' takes one command; found", argv[3],
              tl_arena_printf(arena, "write tilec help %s", argv[3]));
      return;
   }
   out->nearest = c < 0 ? nearest_command(word) : NULL;
   int late = c < 0 && argc > 2 && *word != '-' ? find_command(argv[2]) : -1;
   if (late >= 0)
      fail(arena, out, "the command comes before the file", argv[2],
           tl_arena_printf(arena, "write tilec %s %s", argv[2], word));
   bool options = true;
   for (; i < argc && !out->error; i++) {
      if (options && strcmp(argv[i], "--") == 0)
         options = false;
      else if (options && argv[i][0] == '-' && argv[i][1])
         parse_option(arena, out, argc, argv, &i);
      else
         tl_vec_push(arena, &out->operands, (const char *)argv[i]);
   }
   /* What is no option of `build` may be one of the command meant. */
   if (out->error && out->nearest) {
      out->error = NULL;
      fail(arena, out, "unknown command", word,
           tl_arena_printf(arena, "did you mean '%s'?", out->nearest));
   }
}

const char *
tl_option(const TlCommandLine *cl, TlOptionId id)
{
   assert(id < TL_OPT_COUNT);
   for (size_t i = cl->uses.len; i-- > 0;)
      if (cl->uses.data[i].id == id)
         return cl->uses.data[i].value;
   return NULL;
}

const char *
tl_option_next(const TlCommandLine *cl, TlOptionId id, size_t *at)
{
   while (*at < cl->uses.len && cl->uses.data[*at].id != id)
      ++*at;
   return *at < cl->uses.len ? cl->uses.data[(*at)++].value : NULL;
}
