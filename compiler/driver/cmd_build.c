/* tilec build and tilec check. */
#include "driver/command.h"
#include "tilec/runtime.h"

#include <stdio.h>
#include <string.h>

/* "elu.ptx" -> "elu.json" */
static const char *
json_path(TlCommand *c, const char *out)
{
   const char *slash = strrchr(out, '/'), *dot = strrchr(out, '.');
   size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - out) : strlen(out);
   return tl_arena_printf(c->arena, "%.*s.json", (int)stem, out);
}

static int
write_result(TlCommand *c, TlUnit *u, const TilecCompileOptions *o)
{
   const char *out = tl_option(&c->cl, TL_OPT_OUT);
   if (!tl_cmd_extras(c, u, u->func ? u->func->name : "kernel"))
      return EXIT_ENVIRONMENT;
   if (!u->text[u->last] || !tl_cmd_write(out, u->text[u->last], u->text_len[u->last]))
      return EXIT_ENVIRONMENT;
   bool wants_record = out && strcmp(out, "-") != 0 && o->stop_after == TILEC_STAGE_PTX && u->json;
   if (wants_record && !tl_cmd_write(json_path(c, out), u->json, u->json_len))
      return EXIT_ENVIRONMENT;
   return EXIT_OK;
}

/* --arch=native: the architecture of this machine's GPU. */
static bool
native_arch(TlCommand *c, TilecCompileOptions *o)
{
   if (!o->arch || strcmp(o->arch, "native") != 0)
      return true;
   char error[512] = "";
   TilecRuntimeOptions ro = {
      .struct_size = sizeof ro, .error = error, .error_bytes = sizeof error};
   TilecRuntime *rt;
   TilecDeviceInfo d;
   TilecStatus status = tilec_runtime_open(&ro, &rt);
   if (status == TILEC_OK) {
      status = tilec_runtime_device(rt, &d);
      tilec_runtime_close(rt);
   }
   if (status == TILEC_OK)
      o->arch = tl_arena_strdup(c->arena, d.arch);
   else
      tl_cmd_error("--arch=native needs a GPU: %s", error[0] ? error : tilec_status_string(status));
   return status == TILEC_OK;
}

int
tl_cmd_build(TlCommand *c)
{
   TilecCompileOptions o;
   TlUnitExtra extra;
   if (c->cl.operands.len != 1) {
      tl_cmd_error("'%s' takes one file; %zu were given", c->cl.command_name, c->cl.operands.len);
      return EXIT_USAGE;
   }
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   if (!native_arch(c, &o))
      return EXIT_ENVIRONMENT;
   if (extra.passes && !tl_option(&c->cl, TL_OPT_EMIT))
      o.stop_after = TILEC_STAGE_LOWERED;
   if (c->cl.command == CMD_CHECK)
      o.stop_after = TILEC_STAGE_LOWERED;
   TlUnit u;
   TilecStatus status = tl_unit_init(&u, NULL, &extra);
   if (status == TILEC_OK)
      status = tl_unit_compile(&u, &o, &extra);
   tl_cmd_diagnostics(c, &u);
   int code = tl_cmd_exit_code(status);
   if (status == TILEC_OK && c->cl.command == CMD_BUILD)
      code = write_result(c, &u, &o);
   else if (status != TILEC_OK && status != TILEC_BAD_SOURCE && !u.error[0])
      tl_cmd_error("%s", tilec_status_string(status));
   tl_unit_free(&u);
   return code;
}
