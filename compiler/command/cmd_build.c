/* tilec build.  Nothing is written before everything asked for was made. */
#include "command/command.h"
#include "command/emit_c.h"
#include "command/ptxas.h"
#include "tilec/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
tl_cmd_native_arch(TlCommand *c, TilecCompileOptions *o)
{
   if (!o->arch || strcmp(o->arch, "native") != 0)
      return true;
   char error[512] = "";
   TilecRuntimeOptions ro = {.struct_size = sizeof ro, .error = error, .error_bytes = sizeof error};
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

/* One -s behind the last of several -k is most likely meant for all of them. */
static void
tell_of_signatures(const TlCompileExtra *extra)
{
   const char *without = NULL;
   bool has_one = false;
   for (size_t i = 0; i < extra->num_entries; i++) {
      has_one |= extra->entries[i].signature != NULL;
      if (!extra->entries[i].signature && !without)
         without = extra->entries[i].kernel;
   }
   if (has_one && without)
      tl_cmd_error(
         "-s belongs to the -k before it, and -k %s has none: write -s before the first -k "
         "for all, or one behind each",
         without);
}

static int
compile(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o,
        const TlCompileExtra *extra)
{
   TilecStatus status = tl_compilation_init(comp, NULL, extra);
   if (status == TILEC_OK)
      status = tl_compile(comp, o, extra);
   if (status == TILEC_OK)
      return EXIT_OK;
   int code = tl_cmd_failed(c, comp, status);
   tell_of_signatures(extra);
   return code;
}

/* The files, and the depfile beside them when one is asked for. */
static int
write_files(TlCommand *c, const TlCompilation *comp, TlOutput *files, size_t n)
{
   const char *depfile = tl_option(&c->cl, TL_OPT_DEPFILE);
   if (depfile) {
      const char *rule = tl_cmd_depfile(c, comp, files, n);
      files[n++] = (TlOutput){.path = depfile, .text = rule, .len = strlen(rule)};
   }
   return tl_cmd_write_all(c, files, n) ? EXIT_OK : EXIT_ENVIRONMENT;
}

static const char *
stem_of(TlCompilation *comp)
{
   return comp->func ? comp->func->name : "kernel";
}

/* ---- one stage ---- */
static int
build_stage(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o)
{
   const char *out = tl_option(&c->cl, TL_OPT_OUT);
   TlOutput files[3];
   size_t n = 0;
   tl_cmd_diagnostics(c, comp);
   if (!tl_cmd_extras(c, comp, stem_of(comp)) || !comp->text[comp->last])
      return EXIT_ENVIRONMENT;
   files[n++] =
      (TlOutput){.path = out, .text = comp->text[comp->last], .len = comp->text_len[comp->last]};
   if (out && strcmp(out, "-") != 0 && o->stop_after == TILEC_STAGE_PTX && comp->json)
      files[n++] = (TlOutput){
         .path = tl_cmd_beside(c, out, "json"), .text = comp->json, .len = comp->json_len};
   return write_files(c, comp, files, n);
}

/* ---- cubins ---- */
static int
no_ptxas(const TlCommand *c)
{
   if (tl_option(&c->cl, TL_OPT_PTXAS))
      return tl_cmd_misuse("a cubin needs ptxas, which --ptxas=none leaves out");
   tl_cmd_error("a cubin needs ptxas, which is neither in PATH nor in /usr/local/cuda/bin; name "
                "it with --ptxas=PATH, or load the PTX: the driver compiles it");
   return EXIT_ENVIRONMENT;
}

static int
build_cubin(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o, const char *ptxas)
{
   const char *out = tl_option(&c->cl, TL_OPT_OUT);
   TlCubin cubin;
   int code = tl_ptxas_assemble(c, comp, o, ptxas, &cubin);
   tl_cmd_diagnostics(c, comp);
   if (cubin.why)
      tl_cmd_error("%s", cubin.why);
   if (code != EXIT_OK || !tl_cmd_extras(c, comp, stem_of(comp)))
      return code != EXIT_OK ? code : EXIT_ENVIRONMENT;
   TlOutput files[3] = {{.path = out, .text = cubin.data, .len = cubin.len}};
   size_t n = 1;
   if (out && strcmp(out, "-") != 0)
      files[n++] = (TlOutput){
         .path = tl_cmd_beside(c, out, "json"), .text = comp->json, .len = comp->json_len};
   return write_files(c, comp, files, n);
}

/* ---- C ---- */
enum { MAX_ARCHS = 32 };

/* "sm_80,sm_90a" to options for each; sorted so that the first that fits a device is the best. */
static int
split_archs(TlCommand *c, const TilecCompileOptions *o, TilecCompileOptions *each, size_t *num)
{
   const char *text = o->arch ? o->arch : "sm_90a";
   *num = 0;
   while (*text) {
      size_t n = strcspn(text, ","), at;
      TilecCompileOptions one = *o;
      one.arch = tl_arena_strndup(c->arena, text, n);
      if (!tl_cmd_native_arch(c, &one))
         return EXIT_ENVIRONMENT;
      const TlTarget *t = tl_target_for(one.arch);
      for (at = 0; t && at < *num; at++) {
         const TlTarget *other = tl_target_for(each[at].arch);
         if (other == t || other->sm < t->sm ||
             (other->sm == t->sm && strlen(other->arch) < strlen(t->arch)))
            break;
      }
      if (*num == MAX_ARCHS)
         return tl_cmd_misuse("--arch takes at most %d architectures", MAX_ARCHS);
      if (!t || at == *num || tl_target_for(each[at].arch) != t) {
         memmove(&each[at + 1], &each[at], (*num - at) * sizeof *each);
         each[at] = one;
         (*num)++;
      }
      text += n + (text[n] == ',');
      if (!t)
         break; /* compiling for it says what is known */
   }
   return EXIT_OK;
}

static bool
was_said(const TlDiags *said, const TlDiag *d)
{
   for (const TlDiag *o = said->first; o; o = o->next)
      if (o->code == d->code && o->range.file == d->range.file &&
          o->range.begin == d->range.begin && strcmp(o->text, d->text) == 0)
         return true;
   return false;
}

/* Diagnostics of all architectures; what the first one said is not said again. */
static void
show_diagnostics(TlCommand *c, const TlAot *aot)
{
   for (size_t i = aot->num_images; i-- > 1;) {
      TlDiag **link = &aot->images[i].comp->diags.first;
      while (*link)
         if (was_said(&aot->images[0].comp->diags, *link))
            *link = (*link)->next;
         else
            link = &(*link)->next;
   }
   for (size_t i = 0; i < aot->num_images; i++)
      tl_cmd_diagnostics(c, aot->images[i].comp);
}

static int
write_c(TlCommand *c, TlAot *aot)
{
   const char *out = tl_option(&c->cl, TL_OPT_OUT), *header = tl_cmd_beside(c, out, "h");
   const char *slash = strrchr(header, '/'), *dot;
   aot->header = slash ? slash + 1 : header;
   dot = strrchr(aot->header, '.');
   aot->name =
      tl_c_name(c->arena, tl_arena_strndup(c->arena, aot->header, (size_t)(dot - aot->header)));
   TlSb source, text;
   tl_sb_init(&source, c->arena);
   tl_sb_init(&text, c->arena);
   TlCompilation *comp = aot->images[0].comp;
   if (setjmp(comp->oom))
      return tl_cmd_no_memory();
   bool ok = tl_emit_c(aot, &source, &text);
   show_diagnostics(c, aot);
   if (!ok)
      return EXIT_PROGRAM;
   TlOutput files[3] = {{.path = out, .text = source.data, .len = source.len},
                        {.path = header, .text = text.data, .len = text.len}};
   return write_files(c, comp, files, 2);
}

/* One architecture of the list.  Without a ptxas that knows it, its PTX has to do. */
static int
build_image(TlCommand *c, const TilecCompileOptions *o, const TlCompileExtra *extra,
            const char *ptxas, TlAotImage *image)
{
   int code = compile(c, image->comp, o, extra);
   if (code != EXIT_OK)
      return code;
   const char *stem = tl_arena_printf(c->arena, "%s.%s", stem_of(image->comp), o->arch);
   if (!tl_cmd_extras(c, image->comp, stem))
      return EXIT_ENVIRONMENT;
   if (ptxas)
      code = tl_ptxas_assemble(c, image->comp, o, ptxas, &image->cubin);
   if (image->cubin.unknown_arch)
      code = EXIT_OK;
   else if (image->cubin.why)
      tl_cmd_error("%s", image->cubin.why);
   if (code == EXIT_PROGRAM)
      tl_cmd_diagnostics(c, image->comp);
   return code;
}

static int
build_c(TlCommand *c, const TilecCompileOptions *o, const TlCompileExtra *extra, const char *ptxas)
{
   TilecCompileOptions each[MAX_ARCHS + 1];
   size_t num = 0, made = 0;
   const char *out = tl_option(&c->cl, TL_OPT_OUT);
   size_t len = out ? strlen(out) : 0;
   if (len < 3 || strcmp(out + len - 2, ".c") != 0 || out[len - 3] == '/')
      return tl_cmd_misuse("--emit=c makes two files; name the first with -o NAME.c");
   int code = split_archs(c, o, each, &num);
   if (code == EXIT_OK && num == 0)
      return tl_cmd_misuse("--arch names no architecture");
   TlAot aot = {.arena = c->arena, .checked = o->check};
   TlCompilation *comps = tl_new_array(c->arena, TlCompilation, num + 1);
   aot.images = tl_new_array(c->arena, TlAotImage, num + 1);
   for (; code == EXIT_OK && made < num; made++) {
      aot.images[made].comp = &comps[made];
      code = build_image(c, &each[made], extra, ptxas, &aot.images[made]);
   }
   aot.num_images = made;
   if (code == EXIT_OK)
      code = write_c(c, &aot);
   for (size_t i = 0; i < made; i++)
      tl_compilation_free(&comps[i]);
   return code;
}

static int
build_unit(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *o, const char *ptxas)
{
   if (setjmp(comp->oom))
      return tl_cmd_no_memory();
   return c->emit == TL_EMIT_CUBIN ? build_cubin(c, comp, o, ptxas) : build_stage(c, comp, o);
}

int
tl_cmd_build(TlCommand *c)
{
   TilecCompileOptions o;
   TlCompileExtra extra;
   if (tl_cmd_one_file(c) != EXIT_OK)
      return EXIT_USAGE;
   if (!tl_cmd_options(c, &o, &extra))
      return EXIT_USAGE;
   const char *depfile = tl_option(&c->cl, TL_OPT_DEPFILE), *out = tl_option(&c->cl, TL_OPT_OUT);
   if (depfile && (!out || strcmp(out, "-") == 0))
      return tl_cmd_misuse("--depfile names the output file; give one with -o");
   extra.has_block_each = c->emit == TL_EMIT_C;
   const char *ptxas;
   if (!tl_ptxas_find(c, &ptxas)) /* one that is named is to be there, needed or not */
      return EXIT_ENVIRONMENT;
   if (c->emit == TL_EMIT_C)
      return build_c(c, &o, &extra, ptxas);
   if (c->emit == TL_EMIT_CUBIN && !ptxas)
      return no_ptxas(c);
   if (!tl_cmd_native_arch(c, &o))
      return EXIT_ENVIRONMENT;
   if (extra.passes && !tl_option(&c->cl, TL_OPT_EMIT))
      o.stop_after = TILEC_STAGE_LOWERED;
   TlCompilation comp;
   int code = compile(c, &comp, &o, &extra);
   if (code == EXIT_OK)
      code = build_unit(c, &comp, &o, ptxas);
   tl_compilation_free(&comp);
   return code;
}
