/* What the text around a place means.  Half-written code does not parse, so calls and dotted names
 * are read off the text; all else comes from the compilation. */
#include "lsp/impl.h"

#include <ctype.h>
#include <string.h>

static bool
is_word_char(char c)
{
   return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* ---- words ---- */
TlWord
tl_word_at(const char *text, size_t len, size_t offset, bool to_its_end)
{
   TlWord w = {offset, offset, offset};
   while (w.begin && is_word_char(text[w.begin - 1]))
      w.begin--;
   while (to_its_end && w.end < len && is_word_char(text[w.end]))
      w.end++;
   w.dotted = w.begin;
   while (w.dotted > 1 && text[w.dotted - 1] == '.' && is_word_char(text[w.dotted - 2])) {
      w.dotted--;
      while (w.dotted && is_word_char(text[w.dotted - 1]))
         w.dotted--;
   }
   return w;
}

/* ---- what a dotted name means ---- */
TlSv
tl_lsp_meaning(const TlDocument *d, const char *dotted, size_t len)
{
   TlArena *arena = d->comp.arena;
   TlNode *n = NULL;
   if (!d->comp.sema)
      return tl_sv_poison();
   for (size_t at = 0, end; at < len; at = end + 1) {
      for (end = at; end < len && dotted[end] != '.'; end++)
         ;
      const char *part = tl_intern(d->comp.strings, dotted + at, end - at);
      TlRange range = tl_range(d->comp.file, 0, 0);
      if (n) {
         TlAstAttribute *a = tl_ast_new_Attribute(arena, range);
         a->value = n;
         a->name = part;
         n = &a->node;
      } else {
         TlAstName *name = tl_ast_new_Name(arena, range);
         name->id = part;
         n = &name->node;
      }
   }
   return tl_sema_meaning(d->comp.sema, n);
}

bool
tl_is_in_sight(const TlSymbol *y, size_t offset)
{
   return !y->owner || (y->owner->range.begin <= offset && offset <= y->owner->range.end + 1);
}

/* Also where the statement there does not parse, so that nothing mentions the variable. */
static bool
is_local(const TlDocument *d, size_t begin, size_t end)
{
   const TlNames *names = d->comp.names;
   size_t len = 0;
   while (begin + len < end && d->text[begin + len] != '.')
      len++;
   for (size_t i = 0; names && i < names->symbols.len; i++) {
      const TlSymbol *y = names->symbols.data[i];
      if (y->owner && y->kind != TL_SYMBOL_IMPORT && tl_is_in_sight(y, begin) &&
          strlen(y->name) == len && memcmp(y->name, d->text + begin, len) == 0)
         return true;
   }
   return false;
}

/* A local variable is none of the file's names, whatever it is called. */
TlSv
tl_lsp_meaning_at(const TlDocument *d, size_t begin, size_t end)
{
   return begin >= end || is_local(d, begin, end) ? tl_sv_poison()
                                                  : tl_lsp_meaning(d, d->text + begin, end - begin);
}

const TlBuiltin *
tl_lsp_builtin_at(const TlDocument *d, size_t begin, size_t end)
{
   TlSv v = tl_lsp_meaning_at(d, begin, end);
   size_t from = end;
   if (v.kind == TL_SV_BUILTIN) {
      /* sum, max: of kernels, where Python has one of that name */
      bool is_host = (v.builtin.row->flags & TL_BUILTIN_HOST) != 0;
      const TlBuiltin *own = is_host && !tl_is_python_file(d->path)
                                ? tl_builtin_find(TL_NS_TL, v.builtin.row->name)
                                : NULL;
      return own ? own : v.builtin.row;
   }
   while (from > begin && d->text[from - 1] != '.')
      from--;
   bool is_method = from > begin + 1 && v.kind == TL_SV_POISON &&
                    tl_lsp_meaning_at(d, begin, from - 1).kind != TL_SV_MODULE;
   return is_method ? tl_builtin_method(tl_arena_strndup(d->comp.arena, d->text + from, end - from))
                    : NULL;
}

const char *
tl_lsp_attribute(unsigned i, const char **doc)
{
   static const char *const rows[][2] = {
      {"dtype", "The type of the elements."},
      {"shape", "The sizes of the dimensions, a tuple of constants."},
      {"T", "The tile with its last two dimensions exchanged, as trans(x) gives it."},
      {"type", "The type of the whole tile: shape and element type."},
      {"numel", "The number of elements."},
   };
   if (i >= sizeof rows / sizeof rows[0])
      return NULL;
   *doc = rows[i][1];
   return rows[i][0];
}

bool
tl_lsp_defined(const TlDocument *d, const TlSv *v, const TlNode **node, TlRange *range)
{
   uint32_t file;
   if (!tl_sv_definition(v, node, &file))
      return false;
   *range = *node ? tl_ast_name_range(d->comp.sources, *node) : tl_range(file, 0, 0);
   return true;
}

const char *
tl_lsp_constant(const TlDocument *d, size_t begin, size_t end, const TlSv **value, TlRange *range)
{
   size_t dot = end;
   while (dot > begin && d->text[dot - 1] != '.')
      dot--;
   TlSv module = dot > begin ? tl_lsp_meaning_at(d, begin, dot - 1) : tl_sv_poison();
   const char *name;
   for (size_t i = 0; (name = tl_sv_constant(&module, i, value, range)); i++)
      if (tl_is_word(name, d->text + dot, end - dot))
         return name;
   return NULL;
}

bool
tl_next_parameter(const char **rest, TlParameter *out)
{
   const char *p = *rest + strspn(*rest, " ");
   const char *end = tl_parameter_end(p);
   *out = (TlParameter){.text = p, .len = (size_t)(end - p)};
   out->name = p + strspn(p, "* ");
   out->name_len = strcspn(out->name, ",=: ");
   *rest = end + (*end == ',');
   return out->len > 0;
}

/* ---- calls ---- */
typedef struct Scan { /* of a text up to the place asked for */
   struct {
      size_t at;
      unsigned commas;
      size_t argument; /* where the current one begins */
   } open[64];
   unsigned depth;
} Scan;

/* Skips the string that begins at i; the offset after it, or `end` when it is still open. */
static size_t
skip_string(const char *text, size_t i, size_t end)
{
   char quote = text[i];
   bool is_long = i + 2 < end && text[i + 1] == quote && text[i + 2] == quote;
   size_t n = is_long ? 3 : 1;
   for (i += n; i < end; i++) {
      if (text[i] == '\\')
         i++;
      else if (text[i] == '\n' && !is_long)
         return i;
      else if (text[i] == quote &&
               (!is_long || (i + 2 < end && text[i + 1] == quote && text[i + 2] == quote)))
         return i + n;
   }
   return end;
}

static void
scan_char(Scan *s, char c, size_t i)
{
   enum { MAX = sizeof s->open / sizeof s->open[0] };
   if (strchr("([{", c) && c) {
      if (s->depth < MAX) {
         s->open[s->depth].at = i;
         s->open[s->depth].commas = 0;
         s->open[s->depth].argument = i + 1;
      }
      s->depth++;
   } else if (strchr(")]}", c) && c) {
      s->depth -= s->depth > 0;
   } else if (c == ',' && s->depth && s->depth <= MAX) {
      s->open[s->depth - 1].commas++;
      s->open[s->depth - 1].argument = i + 1;
   }
}

/* A line that begins with a statement's word ends what was left open before it. */
static bool
begins_statement(const char *text, size_t i)
{
   static const char *const words[] = {"def ",   "class ", "@",       "for ",
                                       "while ", "return", "import ", "from "};
   while (text[i] == ' ' || text[i] == '\t')
      i++;
   for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
      if (tl_starts_with(text + i, words[k]))
         return true;
   return false;
}

bool
tl_open_call(const char *text, size_t offset, TlOpenCall *out)
{
   Scan s = {.depth = 0};
   for (size_t i = 0; i < offset; i++) {
      if (text[i] == '"' || text[i] == '\'')
         i = skip_string(text, i, offset) - 1;
      else if (text[i] == '#')
         while (i + 1 < offset && text[i + 1] != '\n')
            i++;
      else if (text[i] == '\n' && i + 1 < offset && begins_statement(text, i + 1))
         s.depth = 0;
      else
         scan_char(&s, text[i], i);
   }
   if (!s.depth || s.depth > sizeof s.open / sizeof s.open[0] ||
       text[s.open[s.depth - 1].at] != '(')
      return false;
   size_t at = s.open[s.depth - 1].at, name = s.open[s.depth - 1].argument;
   *out = (TlOpenCall){.callee = tl_word_at(text, offset, at, false),
                       .argument = s.open[s.depth - 1].commas};
   while (name < offset && isspace((unsigned char)text[name]))
      name++;
   size_t end = name;
   while (end < offset && is_word_char(text[end]))
      end++;
   if (end > name && end < offset && text[end] == '=') {
      out->keyword = text + name;
      out->keyword_len = end - name;
   }
   return out->callee.begin < out->callee.end;
}

/* ---- names ---- */
const TlMention *
tl_mention_of(const TlRequest *r)
{
   return r->doc && r->doc->comp.names ? tl_mention_at(r->doc->comp.names, (uint32_t)r->offset)
                                       : NULL;
}

const char *
tl_describe_seen(const TlDocument *d, uint32_t offset)
{
   const TlSv *v = d->comp.sema ? tl_sema_seen(d->comp.sema, offset) : NULL;
   bool is_shown = v && (tl_sv_is_runtime(v) || tl_sv_is_number(v) || v->kind == TL_SV_STR ||
                         v->kind == TL_SV_TYPE || v->kind == TL_SV_TUPLE || v->kind == TL_SV_NONE);
   return is_shown ? tl_sv_describe(d->comp.sema, v) : NULL;
}

const char *
tl_describe_mention(const TlDocument *d, const TlMention *m)
{
   const char *value = tl_describe_seen(d, m->range.begin);
   if (!value && m->symbol)
      value = tl_describe_seen(d, m->symbol->range.begin);
   return value ? tl_arena_printf(d->comp.arena, "%s: %s", m->name, value) : m->name;
}

static void
print_source(const TlDocument *d, TlRange r, TlSb *out)
{
   const TlSource *src = tl_source(d->comp.sources, r.file);
   for (uint32_t i = r.begin; src && i < r.end; i++) { /* on one line */
      bool is_blank = isspace((unsigned char)src->text[i]) != 0;
      if (!is_blank)
         tl_sb_char(out, src->text[i]);
      else if (out->len && out->data[out->len - 1] != ' ')
         tl_sb_char(out, ' ');
   }
}

const char *
tl_signature_of(const TlDocument *d, const TlNode *function, uint32_t file)
{
   const TlAstFunction *f = tl_ast_Function(function);
   TlSb sb;
   tl_sb_init(&sb, d->comp.arena);
   tl_sb_printf(&sb, "%s(", f->name);
   for (size_t i = 0; i < f->params.len; i++) {
      tl_sb_str(&sb, i ? ", " : "");
      TlRange r = f->params.data[i]->range;
      print_source(d, tl_range(file, r.begin, r.end), &sb);
   }
   tl_sb_char(&sb, ')');
   return tl_sb_cstr(&sb);
}

const char *
tl_docstring_of(const TlNode *function)
{
   const TlNodeList *body = &tl_ast_Function(function)->body;
   const TlNode *first = body->len ? body->data[0] : NULL;
   if (!first || first->kind != TL_AST_EXPR_STMT ||
       tl_ast_ExprStmt(first)->value->kind != TL_AST_STR)
      return NULL;
   return tl_ast_Str(tl_ast_ExprStmt(first)->value)->value.data;
}

bool
tl_definition_of(const TlDocument *d, const TlSymbol *y, const TlNode **node, TlRange *range)
{
   *node = y->node;
   *range = y->range;
   if (y->kind != TL_SYMBOL_IMPORT || !d->comp.sema)
      return true;
   TlSv v = tl_lsp_meaning(d, y->name, strlen(y->name));
   if (tl_lsp_defined(d, &v, node, range))
      return true;
   *node = NULL; /* a constant of the other file */
   return y->import && y->node && y->node->kind == TL_AST_ALIAS &&
          tl_import_place(d->comp.sema, tl_ast_Import(y->import), tl_ast_Alias(y->node), range);
}
