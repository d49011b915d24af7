/* What the subcommands of `tilec` share.  Only the command prints and exits. */
#ifndef TL_DRIVER_COMMAND_H
#define TL_DRIVER_COMMAND_H

#include "driver/options.h"
#include "driver/unit.h"

enum {
   EXIT_OK = 0,
   EXIT_PROGRAM = 1,
   EXIT_USAGE = 2,
   EXIT_ENVIRONMENT = 3,
   EXIT_LIMIT = 4,
   EXIT_BUG = 70,
};

typedef struct TlCommand {
   TlMem mem;
   TlArena *arena; /* lives for the whole command */
   TlCommandLine cl;
   bool color;
} TlCommand;

int tl_cmd_build(TlCommand *c);
int tl_cmd_run(TlCommand *c);
int tl_cmd_list(TlCommand *c);
int tl_cmd_doctor(TlCommand *c);
int tl_cmd_explain(TlCommand *c);

/* Fills public options from the command line; false after a message to stderr. */
bool tl_cmd_options(TlCommand *c, TilecCompileOptions *o, TlUnitExtra *extra);
/* Prints the unit's diagnostics (text or JSON as asked for) and its error line. */
void tl_cmd_diagnostics(TlCommand *c, TlUnit *u);
int tl_cmd_exit_code(TilecStatus status);
/* "tilec: ..." on stderr. */
void tl_cmd_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a file (or stdout for NULL or "-") whole; false after a message. */
bool tl_cmd_write(const char *path, const char *text, size_t len);
/* --stats and --save-temps after a compilation. */
bool tl_cmd_extras(TlCommand *c, TlUnit *u, const char *stem);
bool tl_cmd_number(TlCommand *c, TlOptionId id, uint32_t max, uint32_t *out);

#endif
