/* Values that the compile-time evaluator gives: `host_eval FILE` reads snippets of Python, each
 * after a line "### NAME", and prints a line for each: "NAME value REPR" of its global `result`, or
 * "NAME poison WHY".  host_eval.py compares them with CPython's. */
#include "sema/impl.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
no_file(void *user, TlArena *arena, const char *path, size_t *len)
{
   (void)user, (void)arena, (void)path, (void)len;
   return NULL;
}

static TlSv
result_of(TlSema *s, TlSourceModule *source)
{
   TlGlobal *g = tl_global_find(s, source, tl_intern_cstr(s->strings, "result"));
   return g ? tl_global_value(s, source, g) : tl_sv_lost(s, "result is not bound", (TlRange){0});
}

static void
print_value(TlSema *s, const char *name, const TlSv *v)
{
   TlSb text;
   TlQuiet q;
   tl_sb_init(&text, s->arena);
   if (v->kind == TL_SV_OPAQUE) {
      printf("%s poison %s\n", name, v->opaque->why);
      return;
   }
   tl_quiet_begin(s, &q);
   bool ok = tl_sv_repr(s, v, false, (TlRange){0}, &text);
   const TlDiag *error = tl_quiet_end(s, &q);
   if (ok && !error)
      printf("%s value %s\n", name, tl_sb_cstr(&text));
   else
      printf("%s poison %s\n", name, error ? error->text : "no text");
}

static void
run(const char *name, const char *text, size_t len)
{
   TlMem mem;
   jmp_buf oom;
   tl_mem_init(&mem);
   mem.oom = &oom;
   if (setjmp(oom)) {
      printf("%s poison out of memory\n", name);
      return;
   }
   TlArena *arena = tl_arena_new(&mem);
   TlStrings *strings = tl_strings_new(arena);
   TlSources *sources = tl_sources_new(arena);
   TlDiags diags;
   tl_diags_init(&diags, arena, sources);
   TlModule *module = tl_module_new(arena, tl_types_new(arena), strings, &diags);
   TlSemaOptions o = {.read_file = no_file};
   TlSema *s = tl_sema_new(arena, strings, sources, &diags, module, &o);
   TlParseCx px = {arena, strings, sources, &diags};
   TlAstModule *ast = tl_parse_file(&px, tl_sources_add(sources, "snippet.py", text, len));
   if (ast && !diags.num_errors && tl_sema_load(s, ast)) {
      TlSv v = result_of(s, s->impl->main);
      print_value(s, name, &v);
   } else {
      printf("%s poison %s\n", name, diags.first ? diags.first->text : "it is not loaded");
   }
   tl_arena_free(arena);
}

static char *
read_all(const char *path)
{
   FILE *f = fopen(path, "rb");
   if (!f)
      return NULL;
   fseek(f, 0, SEEK_END);
   long size = ftell(f);
   rewind(f);
   char *text = size < 0 ? NULL : malloc((size_t)size + 1);
   if (text)
      text[fread(text, 1, (size_t)size, f)] = '\0';
   fclose(f);
   return text;
}

int
main(int argc, char **argv)
{
   char *text = argc == 2 ? read_all(argv[1]) : NULL;
   if (!text) {
      fprintf(stderr, "usage: host_eval FILE\n");
      return 2;
   }
   for (char *at = strstr(text, "### "); at;) {
      char *name = at + 4, *line = strchr(name, '\n'), *next = line ? strstr(line, "\n### ") : NULL;
      if (!line)
         break;
      *line = '\0';
      run(name, line + 1, next ? (size_t)(next - line) : strlen(line + 1));
      at = next ? next + 1 : NULL;
   }
   free(text);
   return 0;
}
