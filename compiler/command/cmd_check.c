/* tilec check: what is wrong with the kernels of files, without making anything. */
#include "command/command.h"

#include <stdio.h>

static TilecStatus
check_file(TlCommand *c, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   TlCompilation comp;
   TilecStatus status = tl_compilation_init(&comp, NULL, extra);
   if (status == TILEC_OK)
      status = tl_check(&comp, o, extra);
   tl_cmd_diagnostics(c, &comp);
   if (status != TILEC_OK && status != TILEC_BAD_SOURCE && !comp.error[0])
      tl_cmd_error("%s: %s", o->file, tilec_status_string(status));
   tl_compilation_free(&comp);
   return status;
}

/* Files are checked one by one; the worst of their exit codes is the command's. */
int
tl_cmd_check(TlCommand *c)
{
   TilecCompileOptions o;
   TlCompileExtra extra;
   if (!c->cl.operands.len)
      return tl_cmd_misuse("'check' takes files; none was given");
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   o.stop_after = TILEC_STAGE_LOWERED;
   int worst = EXIT_OK;
   for (size_t i = 0; i < c->cl.operands.len; i++) {
      o.file = c->cl.operands.data[i];
      int code = tl_cmd_exit_code(check_file(c, &o, &extra));
      worst = code > worst ? code : worst;
   }
   return worst;
}
