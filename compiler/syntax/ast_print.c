/* Text form of a tree for golden tests, from ast.def: a line is `field: kind scalar=value ...`, its
 * children follow two columns further in, in the order of the table.  Recursion is bounded by
 * TL_AST_MAX_HEIGHT. */
#include "syntax/ast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Printer {
   TlSources *sources;
   TlSb *out;
   bool with_ranges;
} Printer;

static void
print_text(Printer *p, TlText t)
{
   tl_sb_char(p->out, '"');
   for (size_t i = 0; i < t.len; i++) {
      unsigned char c = (unsigned char)t.data[i];
      if (c == '"' || c == '\\')
         tl_sb_printf(p->out, "\\%c", c);
      else if (c == '\n')
         tl_sb_str(p->out, "\\n");
      else if (c < 0x20 || c == 0x7F)
         tl_sb_printf(p->out, "\\x%02x", c);
      else
         tl_sb_char(p->out, (char)c);
   }
   tl_sb_char(p->out, '"');
}

/* The shortest decimal that reads back as the same value. */
static void
print_real(Printer *p, double v)
{
   char buf[40];
   for (int digits = 6; digits <= 17; digits++) {
      snprintf(buf, sizeof buf, "%.*g", digits, v);
      if (strtod(buf, NULL) == v)
         break;
   }
   tl_sb_str(p->out, buf);
}

static void
print_range(Printer *p, TlRange r)
{
   TlLineCol a = tl_source_line_col(p->sources, r.file, r.begin);
   TlLineCol b = tl_source_line_col(p->sources, r.file, r.end);
   tl_sb_printf(p->out, " @%u:%u-%u:%u", a.line, a.column, b.line, b.column);
}

static void
print_scalars(Printer *p, const TlNode *node)
{
   switch (node->kind) {
#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   case TL_AST_##ID: {                                                                             \
      const TlAst##Name *n = tl_ast_##Name(node);                                                  \
      (void)n;
#define TL_NODE_END(ID, Name)                                                                      \
   break;                                                                                          \
   }
#define TL_F_NAME(f)                                                                               \
   if (n->f)                                                                                       \
      tl_sb_printf(p->out, " " #f "=%s", n->f);
#define TL_F_BOOL(f)                                                                               \
   if (n->f)                                                                                       \
      tl_sb_str(p->out, " " #f);
#define TL_F_OP(f) tl_sb_printf(p->out, " " #f "='%s'", tl_ast_op_text[n->f]);
#define TL_F_OPS(f)                                                                                \
   tl_sb_str(p->out, " " #f "=");                                                                  \
   for (size_t i = 0; i < n->f.len; i++)                                                           \
      tl_sb_printf(p->out, "%s'%s'", i ? "," : "", tl_ast_op_text[n->f.data[i]]);
#define TL_F_INT(f) tl_sb_printf(p->out, " " #f "=%llu", (unsigned long long)n->f);
#define TL_F_REAL(f)                                                                               \
   tl_sb_str(p->out, " " #f "=");                                                                  \
   print_real(p, n->f);
#define TL_F_STR(f)                                                                                \
   tl_sb_str(p->out, " " #f "=");                                                                  \
   print_text(p, n->f);
#include "syntax/ast.def"
   case TL_AST_COUNT:
      break;
   }
}

static void print_node(Printer *p, const char *field, const TlNode *node, int depth);

static void
print_list(Printer *p, const char *field, const TlNodeList *list, int depth)
{
   for (size_t i = 0; i < list->len; i++) {
      if (list->data[i])
         print_node(p, field, list->data[i], depth);
      else
         tl_sb_printf(p->out, "%*s%s: null\n", depth * 2, "", field);
   }
}

static void
print_children(Printer *p, const TlNode *node, int depth)
{
   switch (node->kind) {
#define TL_NODE_BEGIN(ID, Name, text)                                                              \
   case TL_AST_##ID: {                                                                             \
      const TlAst##Name *n = tl_ast_##Name(node);                                                  \
      (void)n;
#define TL_NODE_END(ID, Name)                                                                      \
   break;                                                                                          \
   }
#define TL_F_NODE(f)                                                                               \
   if (n->f)                                                                                       \
      print_node(p, #f, n->f, depth);
#define TL_F_LIST(f) print_list(p, #f, &n->f, depth);
#include "syntax/ast.def"
   case TL_AST_COUNT:
      break;
   }
}

static void
print_node(Printer *p, const char *field, const TlNode *node, int depth)
{
   tl_sb_printf(p->out, "%*s", depth * 2, "");
   if (field)
      tl_sb_printf(p->out, "%s: ", field);
   tl_sb_str(p->out, tl_ast_kind_text[node->kind]);
   print_scalars(p, node);
   if (p->with_ranges)
      print_range(p, node->range);
   tl_sb_char(p->out, '\n');
   print_children(p, node, depth + 1);
}

void
tl_ast_print(TlSources *sources, const TlNode *node, bool with_ranges, TlSb *out)
{
   Printer p = {sources, out, with_ranges};
   print_node(&p, NULL, node, 0);
}
