/* From a name to its definition and uses, and another name for all of them. */
#include "lsp/impl.h"

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
      const TlSv *value;
      if (!tl_lsp_defined(d, &v, &node, &at) && !tl_lsp_constant(d, w.dotted, w.end, &value, &at))
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
is_identifier(const TlDocument *d, const char *name)
{
   const TlCompilation *c = &d->comp;
   TlDiags quiet;
   tl_diags_init(&quiet, c->arena, c->sources);
   TlParseCx px = {c->arena, c->strings, c->sources, &quiet};
   const char *text = tl_arena_strdup(c->arena, name);
   const TlNode *n =
      tl_parse_expression(&px, tl_sources_add(c->sources, "<name>", text, strlen(text)));
   return n && n->kind == TL_AST_NAME && strcmp(tl_ast_Name(n)->id, name) == 0;
}

/* What stands in the way of the new name, or NULL.  Where it is mentioned already, for another
 * variable or for a builtin, one of the two would mean the other. */
static const char *
rename_refusal(const TlRequest *r, const TlMention *m, const char *name)
{
   if (!m || !m->symbol)
      return "nothing in this file defines what is here";
   if (!is_identifier(r->doc, name))
      return "that is no name";
   const TlNames *names = r->doc->comp.names;
   const TlNode *owner = m->symbol->owner;
   for (size_t i = 0; i < names->mentions.len; i++) {
      const TlMention *other = &names->mentions.data[i];
      bool is_there = !owner || (owner->range.begin <= other->range.begin &&
                                 other->range.end <= owner->range.end);
      if (is_there && other->symbol != m->symbol && strcmp(other->name, name) == 0)
         return "the name is taken where this one is used";
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
