/* What each name is, for colours, and the types of what is set, between the lines. */
#include "lsp/impl.h"

#include <string.h>

/* ---- semantic tokens ---- */
enum { FUNCTION, PARAMETER, VARIABLE, CLASS, NAMESPACE, TYPE };
enum { DECLARATION = 1, READONLY = 2, LIBRARY = 4 };

json_t *
tl_lsp_token_legend(void)
{
   return json_pack("{s:[s,s,s,s,s,s], s:[s,s,s]}", "tokenTypes", "function", "parameter",
                    "variable", "class", "namespace", "type", "tokenModifiers", "declaration",
                    "readonly", "defaultLibrary");
}

/* What the file does not bind: false when the language does not either. */
static bool
classify_builtin(const TlDocument *d, const char *name, int *type, int *modifiers)
{
   TlSv v = tl_lsp_meaning(d, name, strlen(name));
   bool is_type = v.kind == TL_SV_TYPE || strcmp(name, "constexpr") == 0;
   *type = is_type ? TYPE : v.kind == TL_SV_MODULE ? NAMESPACE : FUNCTION;
   *modifiers |= v.kind == TL_SV_BUILTIN && !is_type ? LIBRARY : 0;
   return is_type || v.kind == TL_SV_MODULE || v.kind == TL_SV_BUILTIN;
}

static bool
classify(const TlDocument *d, const TlMention *m, int *type, int *modifiers)
{
   static const int types[] = {[TL_SYMBOL_VARIABLE] = VARIABLE,
                               [TL_SYMBOL_PARAMETER] = PARAMETER,
                               [TL_SYMBOL_FUNCTION] = FUNCTION,
                               [TL_SYMBOL_CLASS] = CLASS,
                               [TL_SYMBOL_IMPORT] = NAMESPACE};
   *modifiers = m->is_write ? DECLARATION : 0;
   if (m->is_keyword && !m->symbol)
      *type = PARAMETER;
   else if (m->symbol)
      *type = types[m->symbol->kind];
   else
      return classify_builtin(d, m->name, type, modifiers);
   const TlSv *v = d->comp.sema ? tl_sema_seen(d->comp.sema, m->range.begin) : NULL;
   bool is_constant = v && !tl_sv_is_runtime(v) && (*type == VARIABLE || *type == PARAMETER);
   *modifiers |= is_constant ? READONLY : 0;
   return true;
}

json_t *
tl_lsp_semantic_tokens(TlRequest *r)
{
   json_t *data = json_array();
   const TlNames *names = r->doc ? r->doc->comp.names : NULL;
   TlPosition last = {0, 0};
   uint32_t before = 0;
   for (size_t i = 0; names && i < names->mentions.len; i++) {
      const TlMention *m = &names->mentions.data[i];
      int type, modifiers;
      if (m->range.begin < before || m->range.file != r->doc->comp.file ||
          m->node->kind == TL_AST_STR || !classify(r->doc, m, &type, &modifiers))
         continue;
      before = m->range.end;
      const TlDocument *d = r->doc;
      TlPosition begin = tl_position_of(r->server, d->text, d->len, m->range.begin);
      TlPosition end = tl_position_of(r->server, d->text, d->len, m->range.end);
      json_int_t lines = begin.line - last.line; /* places are told from one to the next */
      const json_int_t five[] = {lines, lines ? begin.character : begin.character - last.character,
                                 end.character - begin.character, type, modifiers};
      for (unsigned k = 0; k < sizeof five / sizeof five[0]; k++)
         json_array_append_new(data, json_integer(five[k]));
      last = begin;
   }
   return json_pack("{s:o}", "data", data);
}

/* ---- inlay hints ---- */
/* The type that is not written: of variables where they are set, of parameters without a type. */
static const char *
hint_for(const TlDocument *d, const TlMention *m)
{
   const TlSv *v = d->comp.sema ? tl_sema_seen(d->comp.sema, m->range.begin) : NULL;
   bool is_set = m->is_write && m->symbol && v && tl_sv_is_runtime(v);
   if (!is_set)
      return NULL;
   if (m->node->kind == TL_AST_PARAM)
      return tl_ast_Param(m->node)->annotation ? NULL : tl_sv_describe(d->comp.sema, v);
   return m->symbol->kind == TL_SYMBOL_VARIABLE || m->symbol->kind == TL_SYMBOL_PARAMETER
             ? tl_sv_describe(d->comp.sema, v)
             : NULL;
}

json_t *
tl_lsp_inlay_hints(TlRequest *r)
{
   json_t *out = json_array();
   const TlNames *names = r->doc ? r->doc->comp.names : NULL;
   if (!names)
      return out;
   const TlDocument *d = r->doc;
   const json_t *range = json_object_get(r->params, "range");
   size_t begin = tl_offset_of(r->server, d->text, d->len, json_object_get(range, "start"));
   size_t end = tl_offset_of(r->server, d->text, d->len, json_object_get(range, "end"));
   enum { TYPE_HINT = 1 };
   for (size_t i = 0; i < names->mentions.len; i++) {
      const TlMention *m = &names->mentions.data[i];
      const char *type = m->range.begin >= begin && m->range.end <= end ? hint_for(d, m) : NULL;
      if (type)
         json_array_append_new(
            out, json_pack("{s:o, s:s, s:i}", "position",
                           tl_json_position(r->server, d->text, d->len, m->range.end), "label",
                           tl_arena_printf(d->comp.arena, ": %s", type), "kind", TYPE_HINT));
   }
   return out;
}
