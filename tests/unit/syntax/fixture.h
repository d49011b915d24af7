/* One parse of a text, with everything it needs; shared by the tests of this folder. */
#ifndef TEST_SYNTAX_FIXTURE_H
#define TEST_SYNTAX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "syntax/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Fixture {
   TlMem mem;
   jmp_buf oom;
   TlArena *arena;
   TlSources *sources;
   TlDiags diags;
   TlParseCx cx;
} Fixture;

static inline void
fixture_open(Fixture *f)
{
   tl_mem_init(&f->mem);
   f->mem.oom = &f->oom;
   f->arena = tl_arena_new(&f->mem);
   f->sources = tl_sources_new(f->arena);
   tl_diags_init(&f->diags, f->arena, f->sources);
   f->cx = (TlParseCx){f->arena, tl_strings_new(f->arena), f->sources, &f->diags};
}

static inline void
fixture_close(Fixture *f)
{
   tl_arena_free(f->arena);
   assert_int_equal(f->mem.used_bytes, 0);
}

static inline const char *
tree_text(Fixture *f, const TlNode *node)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   tl_ast_print(f->sources, node, false, &sb);
   return tl_sb_cstr(&sb);
}

static inline size_t
indent_of(const char *line)
{
   return strspn(line, " ");
}

/* The printed tree on one line: children in parentheses, separated by ", ". */
static inline const char *
one_line(Fixture *f, const char *text)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   size_t level = 0;
   for (const char *p = text; *p;) {
      size_t indent = indent_of(p), len = strcspn(p, "\n");
      if (sb.len && indent > level)
         tl_sb_str(&sb, " (");
      for (; level > indent; level -= 2)
         tl_sb_char(&sb, ')');
      if (sb.len && sb.data[sb.len - 1] != '(')
         tl_sb_str(&sb, ", ");
      level = indent;
      tl_sb_mem(&sb, p + indent, len - indent);
      p += len + (p[len] == '\n');
   }
   for (; level > 0; level -= 2)
      tl_sb_char(&sb, ')');
   return tl_sb_cstr(&sb);
}

/* "line:column code" of every error, joined by ", ". */
static inline const char *
error_list(Fixture *f)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   for (const TlDiag *d = f->diags.first; d; d = d->next) {
      TlLineCol at = tl_source_line_col(f->sources, d->range.file, d->range.begin);
      if (d->severity == TL_SEV_ERROR)
         tl_sb_printf(&sb, "%s%u:%u %s", sb.len ? ", " : "", at.line, at.column,
                      tl_diag_name(d->code));
   }
   return tl_sb_cstr(&sb);
}

static inline TlAstModule *
parse_named(Fixture *f, const char *name, const char *text, size_t len)
{
   return tl_parse_file(&f->cx, tl_sources_add(f->sources, name, text, len));
}

static inline const char *
all_rendered(Fixture *f)
{
   TlSb sb;
   tl_sb_init(&sb, f->arena);
   for (const TlDiag *d = f->diags.first; d; d = d->next)
      tl_diag_render(&f->diags, d, false, &sb);
   return tl_sb_cstr(&sb);
}

/* Parses `text` as a file called `name` and compares the list of its errors. */
static inline void
expect_errors(const char *name, const char *text, const char *errors)
{
   Fixture f;
   fixture_open(&f);
   parse_named(&f, name, text, strlen(text));
   if (strcmp(error_list(&f), errors) != 0)
      fail_msg("for:\n%s\nexpected: %s\ngot:      %s\n%s", text, errors, error_list(&f),
               all_rendered(&f));
   fixture_close(&f);
}

#endif
