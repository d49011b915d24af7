/* One compilation's worth of IR state for a test, and text in and out. */
#ifndef TESTS_SUPPORT_IR_FIXTURE_H
#define TESTS_SUPPORT_IR_FIXTURE_H

#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the headers above first. */
#include <cmocka.h>

typedef struct IrFixture {
   TlMem mem;
   TlArena *arena;
   TlSources *sources;
   TlDiags diags;
   TlStrings *strings;
   TlTypes *types;
   TlModule *module;
   jmp_buf oom;
} IrFixture;

static inline void
ir_open(IrFixture *x)
{
   tl_mem_init(&x->mem);
   x->mem.oom = &x->oom;
   if (setjmp(x->oom))
      fail_msg("out of memory");
   x->arena = tl_arena_new(&x->mem);
   x->sources = tl_sources_new(x->arena);
   tl_diags_init(&x->diags, x->arena, x->sources);
   x->strings = tl_strings_new(x->arena);
   x->types = tl_types_new(x->arena);
   x->module = tl_module_new(x->arena, x->types, x->strings, &x->diags);
}

static inline void
ir_close(IrFixture *x)
{
   tl_arena_free(x->arena);
}

/* Reads into a new module; its diagnostics are those of the fixture. */
static inline bool
ir_read(IrFixture *x, const char *text)
{
   x->module = tl_module_new(x->arena, x->types, x->strings, &x->diags);
   uint32_t file = tl_sources_add(x->sources, "test.tir", text, strlen(text));
   return tl_read_module(x->module, x->sources, file);
}

static inline const char *
ir_print(IrFixture *x, const TlModule *m)
{
   TlSb sb;
   tl_sb_init(&sb, x->arena);
   tl_print_module(m, NULL, &sb);
   return tl_sb_cstr(&sb);
}

static inline const char *
ir_messages(IrFixture *x)
{
   TlSb sb;
   tl_sb_init(&sb, x->arena);
   for (const TlDiag *d = x->diags.first; d; d = d->next)
      tl_diag_render(&x->diags, d, false, &sb);
   return tl_sb_cstr(&sb);
}

/* Reads text that must be sound. */
static inline TlFunc *
ir_must_read(IrFixture *x, const char *text)
{
   if (!ir_read(x, text))
      fail_msg("%s", ir_messages(x));
   return x->module->first_func;
}

#endif
