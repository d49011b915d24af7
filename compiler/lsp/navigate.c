/* From a name to its definition and uses, and another name for all of them. */
#include "lsp/impl.h"

#include <ctype.h>
#include <string.h>

/* ---- definition ---- */
json_t *
tl_lsp_definition(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   const TlDocument *d = r->doc;
   const TlNode *node;
   TlRange at;
   if (!d)
      return NULL;
   TlWord w = tl_word_at(d->text, d->len, r->offset, true);
   if (m && m->symbol) {
      if (!tl_definition_of(d, m->symbol, &node, &at))
         at = m->symbol->range; /* of a module without a file */
   } else {
      TlSv v = tl_lsp_meaning_at(d, w.dotted, w.end);
      if (!tl_lsp_defined(d, &v, &node, &at))
         return NULL;
   }
   return tl_json_location(r->server, d, at);
}

/* ---- uses ---- */
typedef void Use(TlRequest *r, const TlMention *m, json_t *out);

static void
each_use(TlRequest *r, const TlSymbol *y, Use *use, json_t *out)
{
   const TlNames *names = r->doc->comp.names;
   for (size_t i = 0; i < names->mentions.len; i++)
      if (names->mentions.data[i].symbol == y)
         use(r, &names->mentions.data[i], out);
}

static void
add_reference(TlRequest *r, const TlMention *m, json_t *out)
{
   const json_t *context = json_object_get(r->params, "context");
   bool with_own = json_is_true(json_object_get(context, "includeDeclaration"));
   if (with_own || m->range.begin != m->symbol->range.begin)
      json_array_append_new(out, tl_json_location(r->server, r->doc, m->range));
}

json_t *
tl_lsp_references(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   json_t *out = json_array();
   if (m && m->symbol)
      each_use(r, m->symbol, add_reference, out);
   return out;
}

static json_t *
own_range(const TlRequest *r, TlRange at)
{
   return tl_json_range(r->server, r->doc->text, r->doc->len, at.begin, at.end);
}

static void
add_highlight(TlRequest *r, const TlMention *m, json_t *out)
{
   enum { READ = 2, WRITE };
   json_array_append_new(out, json_pack("{s:o, s:i}", "range", own_range(r, m->range), "kind",
                                        m->is_write ? WRITE : READ));
}

json_t *
tl_lsp_highlight(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   json_t *out = json_array();
   if (m && m->symbol)
      each_use(r, m->symbol, add_highlight, out);
   return out;
}

/* ---- renaming ---- */
static bool
is_identifier(const char *name)
{
   static const char *const words[] = {
      "and",  "as",     "assert", "break", "class",    "continue", "def",   "del",    "elif",
      "else", "except", "False",  "for",   "from",     "global",   "if",    "import", "in",
      "is",   "lambda", "None",   "not",   "or",       "pass",     "raise", "return", "True",
      "try",  "while",  "with",   "yield", "nonlocal", "finally",  "async", "await"};
   if (!isalpha((unsigned char)*name) && *name != '_' && (unsigned char)*name < 0x80)
      return false;
   for (const char *p = name; *p; p++)
      if (!isalnum((unsigned char)*p) && *p != '_' && (unsigned char)*p < 0x80)
         return false;
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      if (strcmp(words[i], name) == 0)
         return false;
   return true;
}

/* What stands in the way of the new name, or NULL. */
static const char *
rename_refusal(const TlRequest *r, const TlMention *m, const char *name)
{
   if (!m || !m->symbol)
      return "nothing in this file defines what is here";
   if (!is_identifier(name))
      return "that is no name";
   const TlNames *names = r->doc->comp.names;
   for (size_t i = 0; i < names->symbols.len; i++) {
      const TlSymbol *y = names->symbols.data[i];
      if (y != m->symbol && y->owner == m->symbol->owner && strcmp(y->name, name) == 0)
         return "the name is taken where this one is defined";
   }
   return NULL;
}

json_t *
tl_lsp_prepare_rename(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   return m && m->symbol
             ? json_pack("{s:o, s:s}", "range", own_range(r, m->range), "placeholder", m->name)
             : NULL;
}

/* `from m import name` becomes `from m import name as new`. */
static const char *
new_text(const TlRequest *r, const TlMention *m, const char *name)
{
   bool is_import = m->node->kind == TL_AST_ALIAS && !tl_ast_Alias(m->node)->as_name;
   return is_import ? tl_arena_printf(r->doc->comp.arena, "%s as %s", m->name, name) : name;
}

static void
add_edit(TlRequest *r, const TlMention *m, json_t *out)
{
   const char *name = json_string_value(json_object_get(r->params, "newName"));
   json_array_append_new(out, json_pack("{s:o, s:s}", "range", own_range(r, m->range), "newText",
                                        new_text(r, m, name)));
}

json_t *
tl_lsp_rename(TlRequest *r)
{
   const TlMention *m = tl_mention_of(r);
   const json_t *name = json_object_get(r->params, "newName");
   r->error = !json_is_string(name) ? "a new name is missing"
                                    : rename_refusal(r, m, json_string_value(name));
   if (r->error)
      return NULL;
   json_t *edits = json_array(), *changes = json_object();
   each_use(r, m->symbol, add_edit, edits);
   json_object_set_new(changes, r->doc->uri, edits);
   return json_pack("{s:o}", "changes", changes);
}

/* ---- outline ---- */
json_t *
tl_lsp_symbols(TlRequest *r)
{
   enum { FUNCTION = 12, VARIABLE = 13, CLASS = 5 }; /* SymbolKind */
   json_t *out = json_array();
   const TlNames *names = r->doc ? r->doc->comp.names : NULL;
   for (size_t i = 0; names && i < names->symbols.len; i++) {
      const TlSymbol *y = names->symbols.data[i];
      if (y->owner || y->kind == TL_SYMBOL_IMPORT || y->range.file != r->doc->comp.file)
         continue;
      int kind = y->kind == TL_SYMBOL_FUNCTION ? FUNCTION
                 : y->kind == TL_SYMBOL_CLASS  ? CLASS
                                               : VARIABLE;
      TlRange whole = y->node && kind != VARIABLE ? y->node->range : y->range;
      json_array_append_new(out, json_pack("{s:s, s:i, s:o, s:o}", "name", y->name, "kind", kind,
                                           "range", own_range(r, whole), "selectionRange",
                                           own_range(r, y->range)));
   }
   return out;
}
