/* Source text and a signature to TYPED IR text, or to the rendered errors: for tests of sema/. */
#ifndef TL_TESTS_SEMA_RUN_H
#define TL_TESTS_SEMA_RUN_H

#include "sema/sema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct SemaFile { /* another file that may be imported */
   const char *path, *text;
} SemaFile;

typedef struct SemaRun {
   const char *name; /* "k.tile" unless set */
   const char *source;
   const char *kernel;
   const char *signature;
   const char *defines[8]; /* NAME, VALUE, NAME, VALUE .. NULL */
   const SemaFile *files;  /* ends with a NULL path */
   const char *include_dir;
   bool debug;
   /* results, valid until sema_run_free */
   TlMem mem;
   TlArena *arena;
   TlDiags diags;
   TlModule *module;
   TlSources *sources;
   TlFunc *func;       /* NULL after errors */
   const char *ir;     /* text of func, "" after errors */
   const char *errors; /* rendered errors and warnings, "" when there are none */
   jmp_buf oom;
} SemaRun;

static const char *
sema_read_file(void *user, TlArena *arena, const char *path, size_t *len)
{
   (void)arena;
   const SemaRun *r = user;
   for (const SemaFile *f = r->files; f && f->path; f++)
      if (strcmp(f->path, path) == 0) {
         *len = strlen(f->text);
         return f->text;
      }
   return NULL;
}

static inline void
sema_run(SemaRun *r)
{
   tl_mem_init(&r->mem);
   r->mem.oom = &r->oom;
   if (setjmp(r->oom))
      fail_msg("out of memory");
   r->arena = tl_arena_new(&r->mem);
   TlStrings *strings = tl_strings_new(r->arena);
   r->sources = tl_sources_new(r->arena);
   tl_diags_init(&r->diags, r->arena, r->sources);
   TlTypes *types = tl_types_new(r->arena);
   r->module = tl_module_new(r->arena, types, strings, &r->diags);
   TlSemaOptions o = {.read_file = sema_read_file, .user = r};
   if (r->include_dir) {
      o.include_dirs = &r->include_dir;
      o.num_include_dirs = 1;
   }
   TlSema *s = tl_sema_new(r->arena, strings, r->sources, &r->diags, r->module, &o);
   uint32_t file =
      tl_sources_add(r->sources, r->name ? r->name : "k.tile", r->source, strlen(r->source));
   TlSpecialization spec = {.kernel = r->kernel, .signature = r->signature, .debug = r->debug};
   for (unsigned i = 0; i + 1 < 8 && r->defines[i]; i += 2) {
      tl_vec_push(r->arena, &spec.define_names, r->defines[i]);
      tl_vec_push(r->arena, &spec.define_values, r->defines[i + 1]);
   }
   r->func = NULL;
   TlParseCx px = {r->arena, strings, r->sources, &r->diags};
   if (tl_sema_load(s, tl_parse_file(&px, file)))
      r->func = tl_sema_compile(s, &spec);
   TlSb sb, err;
   tl_sb_init(&sb, r->arena);
   tl_sb_init(&err, r->arena);
   for (const TlDiag *d = r->diags.first; d; d = d->next)
      if (d->severity != TL_SEV_REMARK)
         tl_diag_render(&r->diags, d, false, &err);
   if (r->func) {
      tl_print_func(r->func, NULL, &sb);
      TlSb why;
      tl_sb_init(&why, r->arena);
      if (!tl_verify(r->func, &why))
         fail_msg("the IR does not verify:\n%s\n%s", tl_sb_cstr(&why), tl_sb_cstr(&sb));
   }
   r->ir = tl_sb_cstr(&sb);
   r->errors = tl_sb_cstr(&err);
}

static inline void
sema_run_free(SemaRun *r)
{
   tl_arena_free(r->arena);
}

/* Compiles; the IR must contain each of the texts in order (ends with NULL). */
static inline void
sema_expect_ir(SemaRun r, const char *const *texts)
{
   sema_run(&r);
   if (!r.func)
      fail_msg("unexpected errors:\n%s\nfor\n%s", r.errors, r.source);
   const char *p = r.ir;
   for (; *texts; texts++) {
      const char *hit = strstr(p, *texts);
      if (!hit)
         fail_msg("'%s' is missing or out of order in\n%s", *texts, r.ir);
      p = hit + strlen(*texts);
   }
   sema_run_free(&r);
}

/* Compiles; there must be errors, all of the texts among them and num_errors in number. */
static inline void
sema_expect_errors(SemaRun r, unsigned num_errors, const char *const *texts)
{
   sema_run(&r);
   if (r.func)
      fail_msg("an error is missing in\n%s\nwhich gave\n%s", r.source, r.ir);
   for (; *texts; texts++)
      if (!strstr(r.errors, *texts))
         fail_msg("'%s' is missing in\n%s", *texts, r.errors);
   if (r.diags.num_errors != num_errors)
      fail_msg("%u errors instead of %u:\n%s", r.diags.num_errors, num_errors, r.errors);
   sema_run_free(&r);
}

#define IR(...) ((const char *const[]){__VA_ARGS__, NULL})
#define TILE(...) ((SemaRun){.source = __VA_ARGS__})
#define PY(...) ((SemaRun){.name = "k.py", .source = __VA_ARGS__})

#endif
