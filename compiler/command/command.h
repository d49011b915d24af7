/* What the subcommands of `tilec` share.  Only the command prints and exits. */
#ifndef TL_COMMAND_COMMAND_H
#define TL_COMMAND_COMMAND_H

#include "command/options.h"
#include "compile/compilation.h"

/* One for each kind of mistake, whatever command meets it. */
enum {
   EXIT_OK = 0,
   EXIT_PROGRAM = 1,     /* the program is wrong, or not what the command line takes it for */
   EXIT_USAGE = 2,       /* a command line that is wrong whatever the program is */
   EXIT_ENVIRONMENT = 3, /* a file that cannot be read or written, a tool or GPU that is missing */
   EXIT_LIMIT = 4,
   EXIT_BUG = 70,
};

/* What --emit asks for: a stage of the compiler, or something made of the PTX. */
typedef enum TlEmit { TL_EMIT_STAGE, TL_EMIT_CUBIN, TL_EMIT_C } TlEmit;

typedef struct TlCommand {
   TlMem mem;
   TlArena *arena; /* lives for the whole command */
   TlCommandLine cl;
   bool color;
   bool has_warned; /* of --assume */
   TlEmit emit;     /* set by tl_cmd_options */
} TlCommand;

/* Of --emit and of files; no entry for TILEC_STAGE_DEFAULT. */
typedef struct TlStageName {
   const char *name, *suffix;
} TlStageName;
extern const TlStageName tl_stage_names[TILEC_STAGE_COUNT];

/* The whole command: what main() returns.  The library inside of the Python wheel exports it. */
TILEC_API int tilec_command(int argc, char **argv);

int tl_cmd_build(TlCommand *c);
int tl_cmd_check(TlCommand *c);
int tl_cmd_lsp(TlCommand *c);
int tl_cmd_view(TlCommand *c);
int tl_cmd_run(TlCommand *c);
int tl_cmd_bench(TlCommand *c);
int tl_cmd_tune(TlCommand *c);
int tl_cmd_list(TlCommand *c);
int tl_cmd_doctor(TlCommand *c);
int tl_cmd_explain(TlCommand *c);
int tl_cmd_doc(TlCommand *c);
int tl_cmd_cache(TlCommand *c);
int tl_cmd_completion(TlCommand *c);
int tl_cmd_manual(TlCommand *c);

/* compile_options.c: public options from the command line; false after a message to stderr. */
bool tl_cmd_options(TlCommand *c, TilecCompileOptions *o, TlCompileExtra *extra);
/* --arch=native: the architecture of this machine's GPU (cmd_build.c). */
bool tl_cmd_native_arch(TlCommand *c, TilecCompileOptions *o);
bool tl_cmd_is_json(const TlCommand *c); /* --error-format=json */
/* Prints its diagnostics (text or JSON as asked for) and its error line. */
void tl_cmd_diagnostics(TlCommand *c, TlCompilation *comp);
/* The same of one that failed, and what its status says where nothing else does; the exit code. */
int tl_cmd_failed(TlCommand *c, TlCompilation *comp, TilecStatus status);
int tl_cmd_exit_code(TilecStatus status);
/* The exit code after its message. */
int tl_cmd_no_memory(void);
int tl_cmd_ascending(const void *a, const void *b); /* for qsort of doubles */
/* Exactly one FILE; EXIT_USAGE after a message. */
int tl_cmd_one_file(const TlCommand *c);
/* "tilec: ..." on stderr. */
void tl_cmd_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, as a value for `return`: false, or the exit code of a wrong command line. */
#define tl_cmd_refuse(...) (tl_cmd_error(__VA_ARGS__), false)
#define tl_cmd_misuse(...) (tl_cmd_error(__VA_ARGS__), EXIT_USAGE)

/* output.c.  A file appears under its name whole or not at all: it is written beside it and
 * renamed.  Several builds may write into one folder at once. */
typedef struct TlOutput {
   const char *path; /* NULL or "-": standard output */
   const char *text;
   size_t len;
   const void *data; /* `data_len` bytes that follow the text */
   size_t data_len;
} TlOutput;
/* All of them, or none when one cannot be written; false after a message. */
bool tl_cmd_write_all(TlCommand *c, const TlOutput *files, size_t n);
bool tl_cmd_write(TlCommand *c, const char *path, const char *text, size_t len);
/* "a/elu.ptx", "json" -> "a/elu.json" */
const char *tl_cmd_beside(TlCommand *c, const char *path, const char *suffix);
/* --depfile: a make rule saying that the outputs depend on the sources read. */
const char *tl_cmd_depfile(TlCommand *c, const TlCompilation *comp, const TlOutput *outputs,
                           size_t n);
/* --stats and --save-temps after a compilation. */
bool tl_cmd_extras(TlCommand *c, TlCompilation *comp, const char *stem);
bool tl_cmd_number(TlCommand *c, TlOptionId id, uint32_t max, uint32_t *out);
/* Digits alone, at most `max`; else 0 is left. */
bool tl_cmd_parse_number(const char *text, uint32_t max, uint32_t *out);
/* Makes the folder that the option names, unless it is there; false after a message. */
bool tl_cmd_folder(const char *option, const char *dir);

#endif
