/* The command line: one table of flags, parsed by hand so that help and errors come from it too. */
#ifndef TL_COMMAND_OPTIONS_H
#define TL_COMMAND_OPTIONS_H

#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>

enum {
   CMD_BUILD = 1 << 0,
   CMD_RUN = 1 << 1,
   CMD_CHECK = 1 << 2,
   CMD_LIST = 1 << 3,
   CMD_DOCTOR = 1 << 4,
   CMD_EXPLAIN = 1 << 5,
   CMD_BENCH = 1 << 6,
   CMD_TUNE = 1 << 7,
   CMD_LSP = 1 << 8,
   CMD_CACHE = 1 << 10,
   CMD_VIEW = 1 << 11,
   CMD_DOC = 1 << 12,
   CMD_COMPLETION = 1 << 13,
   CMD_MANUAL = 1 << 14,
   MEASURING = CMD_BENCH | CMD_TUNE,
   TRANSLATING = CMD_BUILD | CMD_RUN | CMD_CHECK | CMD_VIEW, /* the compiler is called once */
   COMPILING = TRANSLATING | MEASURING,
   CMD_ALL = COMPILING | CMD_LIST | CMD_DOCTOR | CMD_EXPLAIN | CMD_DOC | CMD_CACHE | CMD_LSP |
             CMD_COMPLETION | CMD_MANUAL,
};

typedef enum TlOptionId {
#define TL_OPTION(id, ...) TL_OPT_##id,
#include "command/options.def"
   TL_OPT_COUNT
} TlOptionId;

typedef struct TlOptionRow {
   char letter;                 /* 'k' of -k; 0: none */
   const char *name, *argument; /* as in options.def */
   const char *help;
   unsigned commands;
} TlOptionRow;
extern const TlOptionRow tl_option_rows[TL_OPT_COUNT];
/* The heading over an option; the same pointer for all options under it. */
const char *tl_option_group(unsigned option);

/* What others call an option (other_options.def), and how it is written here. */
typedef struct TlOtherOption {
   const char *name;
   TlOptionId id;
   const char *use;
} TlOtherOption;
const TlOtherOption *tl_other_option_at(unsigned i); /* NULL past the end */

typedef struct TlCommandRow {
   const char *name;
   unsigned bit;
   const char *operand, *help;
} TlCommandRow;
/* The rows in their order; one with a NULL name behind the last. */
const TlCommandRow *tl_command_row(unsigned i);

typedef struct TlOptionUse {
   TlOptionId id;
   const char *value; /* NULL when the option has none */
} TlOptionUse;

typedef struct TlCommandLine {
   unsigned command; /* one CMD_ bit */
   const char *command_name;
   bool is_named;                 /* the command was given, not taken for granted */
   const char *nearest;           /* a command that the first word, which is none, is like */
   TL_VEC(TlOptionUse) uses;      /* in order */
   TL_VEC(const char *) operands; /* files */
   const char *error;             /* usage error, or NULL */
} TlCommandLine;

/* Never fails hard: error says what is wrong, in one line with a hint. */
void tl_command_line_parse(TlArena *arena, int argc, char **argv, TlCommandLine *out);
/* Value of the last use, or NULL; "" for an option without value that was given. */
const char *tl_option(const TlCommandLine *cl, TlOptionId id);
/* The uses of an option that may be repeated, in order: the next from *at on, NULL at the end. */
const char *tl_option_next(const TlCommandLine *cl, TlOptionId id, size_t *at);

/* help.c: `tilec --help` (CMD_ALL) and `tilec COMMAND --help`, at most 80 columns wide. */
void tl_options_help(TlSb *out, unsigned command, const char *command_name);
/* manual.c: the manual page, for man. */
void tl_options_manual(TlSb *out, const char *version);
/* completion.c: what completes the command in a shell; false if it is none of bash, zsh, fish. */
bool tl_options_completion(TlSb *out, const char *shell);

/* An example of each command, NULL behind the last; its first word after `tilec` is the command. */
const char *tl_example(unsigned i);
/* The same over as many lines as it takes, with a backslash at the end of all but the last. */
void tl_example_lines(TlSb *out, unsigned i, unsigned indent, unsigned margin);

/* What the command's exit codes mean; the last row has no text. */
typedef struct TlExitCode {
   int code;
   const char *brief; /* of the help */
   const char *text;  /* of the manual */
} TlExitCode;
extern const TlExitCode tl_exit_codes[];

/* Text from column `at` on, wrapped between words; the lines that follow begin at `indent`, those
 * before them end with `more`.  (help.c) */
void tl_wrap_text(TlSb *out, unsigned at, unsigned indent, const char *text, const char *more);

#endif
