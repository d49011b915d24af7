/* The name's own bytes in nodes that hold more: their text is looked at again. */
#include "syntax/ast.h"

#include <string.h>

static bool
is_word(char c)
{
   return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
          (unsigned char)c >= 0x80;
}

/* The first word from `at` on that is `name`, comments left out; r when there is none. */
static TlRange
find_word(const TlSource *src, TlRange r, uint32_t at, const char *name)
{
   uint32_t len = (uint32_t)strlen(name);
   while (at + len <= r.end) {
      const char *p = src->text + at;
      if (*p == '#')
         at += (uint32_t)strcspn(p, "\n");
      else if (!is_word(*p))
         at++;
      else {
         uint32_t n = 1;
         while (at + n < r.end && is_word(p[n]))
            n++;
         if (n == len && memcmp(p, name, len) == 0)
            return tl_range(r.file, at, at + n);
         at += n;
      }
   }
   return r;
}

static TlRange
defined_name(const TlSource *src, const TlNode *n, const TlNodeList *decorators, const char *word,
             const char *name)
{
   uint32_t at =
      decorators->len ? decorators->data[decorators->len - 1]->range.end : n->range.begin;
   TlRange keyword = find_word(src, n->range, at, word);
   return find_word(src, n->range, keyword.begin == n->range.begin ? at : keyword.end, name);
}

static TlRange
last_bytes(TlRange r, const char *name)
{
   uint32_t len = (uint32_t)strlen(name);
   return r.end - r.begin < len ? r : tl_range(r.file, r.end - len, r.end);
}

TlRange
tl_ast_name_range(const TlSources *sources, const TlNode *n)
{
   const TlSource *src = tl_source(sources, n->range.file);
   if (!src)
      return n->range;
   switch (n->kind) {
   case TL_AST_FUNCTION:
      return defined_name(src, n, &tl_ast_Function(n)->decorators, "def", tl_ast_Function(n)->name);
   case TL_AST_CLASS:
      return defined_name(src, n, &tl_ast_Class(n)->decorators, "class", tl_ast_Class(n)->name);
   case TL_AST_PARAM:
      return tl_ast_Param(n)->name ? find_word(src, n->range, n->range.begin, tl_ast_Param(n)->name)
                                   : n->range;
   case TL_AST_KEYWORD:
      return tl_ast_Keyword(n)->name
                ? find_word(src, n->range, n->range.begin, tl_ast_Keyword(n)->name)
                : n->range;
   case TL_AST_ATTRIBUTE:
      return last_bytes(n->range, tl_ast_Attribute(n)->name);
   case TL_AST_ALIAS:
      return tl_ast_Alias(n)->as_name ? last_bytes(n->range, tl_ast_Alias(n)->as_name) : n->range;
   default:
      return n->range;
   }
}
