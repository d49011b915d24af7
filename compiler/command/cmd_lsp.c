/* tilec lsp: the language server over standard input and output. */
#include "command/command.h"
#include "lsp/lsp.h"

int
tl_cmd_lsp(TlCommand *c)
{
   TlLspOptions o = {.in = stdin, .out = stdout};
   if (c->cl.operands.len)
      return tl_cmd_misuse("'lsp' takes no file, as an editor talks to it; found '%s'; "
                           "tilec check %s shows what is wrong with a file",
                           c->cl.operands.data[0], c->cl.operands.data[0]);
   if (!tl_cmd_options(c, &o.compile, &o.extra))
      return EXIT_USAGE;
   return tl_lsp_serve(&o) ? EXIT_OK : EXIT_PROGRAM;
}
