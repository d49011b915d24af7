/* tilec check: what is wrong with the kernels of files, without making anything. */
#include "command/command.h"

#include <string.h>

/* "a/elu.tile" -> "elu" */
static const char *
stem_of(TlCommand *c, const char *file)
{
   const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
   const char *dot = strrchr(name, '.');
   return dot && dot > name ? tl_arena_strndup(c->arena, name, (size_t)(dot - name)) : name;
}

/* Names what --save-temps writes: of several files, which may have one name, with their number. */
static const char *
temps_of(TlCommand *c, size_t file)
{
   const char *stem = stem_of(c, c->cl.operands.data[file]);
   return c->cl.operands.len == 1 ? stem : tl_arena_printf(c->arena, "%zu-%s", file + 1, stem);
}

static int
check_file(TlCommand *c, size_t file, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   TlCompilation comp;
   TilecStatus status = tl_compilation_init(&comp, NULL, extra);
   if (status == TILEC_OK)
      status = tl_check(&comp, o, extra);
   tl_cmd_diagnostics(c, &comp);
   if (status != TILEC_OK && status != TILEC_BAD_SOURCE && !comp.error[0])
      tl_cmd_error("%s: %s", o->file, tilec_status_string(status));
   int code = tl_cmd_exit_code(status);
   if (status == TILEC_OK && !tl_cmd_extras(c, &comp, temps_of(c, file)))
      code = EXIT_ENVIRONMENT;
   tl_compilation_free(&comp);
   return code;
}

/* Files are checked one by one; the worst of their exit codes is the command's. */
int
tl_cmd_check(TlCommand *c)
{
   TilecCompileOptions o;
   TlCompileExtra extra;
   if (!c->cl.operands.len)
      return tl_cmd_misuse("'check' takes files: tilec check FILE..; none was given");
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   if (!tl_cmd_native_arch(c, &o))
      return EXIT_ENVIRONMENT;
   int worst = EXIT_OK;
   for (size_t i = 0; i < c->cl.operands.len; i++) {
      o.file = c->cl.operands.data[i];
      int code = check_file(c, i, &o, &extra);
      worst = code > worst ? code : worst;
   }
   return worst;
}
