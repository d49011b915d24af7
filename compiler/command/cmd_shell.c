/* tilec completion and manual: what packages put beside the command. */
#include "command/command.h"

static int
print(TlCommand *c, const TlSb *sb)
{
   return tl_cmd_write(c, NULL, sb->data, sb->len) ? EXIT_OK : EXIT_ENVIRONMENT;
}

int
tl_cmd_completion(TlCommand *c)
{
   TlSb sb;
   tl_sb_init(&sb, c->arena);
   if (c->cl.operands.len != 1 || !tl_options_completion(&sb, c->cl.operands.data[0]))
      return tl_cmd_misuse(
         "'completion' takes one of bash, zsh and fish%s%s%s%s%s",
         c->cl.operands.len ? "; found '" : "", c->cl.operands.len ? c->cl.operands.data[0] : "",
         c->cl.operands.len > 1 ? "' and '" : "",
         c->cl.operands.len > 1 ? c->cl.operands.data[1] : "", c->cl.operands.len ? "'" : "");
   return print(c, &sb);
}

int
tl_cmd_manual(TlCommand *c)
{
   TlSb sb;
   if (c->cl.operands.len)
      return tl_cmd_misuse("'manual' takes no file; found '%s'", c->cl.operands.data[0]);
   tl_sb_init(&sb, c->arena);
   tl_options_manual(&sb, tilec_version());
   return print(c, &sb);
}
