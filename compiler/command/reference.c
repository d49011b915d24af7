/* Reading the pages and the rows of the reference; reference_text.c writes them. */
#include "command/reference.h"
#include "sema/sema.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#define TL_REFERENCE_PAGE(name) extern const char tl_reference_##name[];
#include "command/reference.def"

static const struct {
   const char *name, *text;
} sources[] = {
#define TL_REFERENCE_PAGE(name) {#name, tl_reference_##name},
#include "command/reference.def"
};

/* ---- pages ---- */
static TlSpan
line_at(const char *p)
{
   return (TlSpan){p, strcspn(p, "\n")};
}

/* The text up to the next heading of an entry, without blank lines around it. */
static TlSpan
text_until_entry(const char *p, const char **next)
{
   const char *end = strstr(p, "\n## ");
   *next = end ? end + 1 : p + strlen(p);
   end = *next;
   while (p < end && *p == '\n')
      p++;
   while (end > p && end[-1] == '\n')
      end--;
   return (TlSpan){p, (size_t)(end - p)};
}

static void
split_names(TlArena *arena, TlSpan line, TlRefEntry *e)
{
   const char *end = line.text + line.len;
   for (const char *p = line.text; p < end;) {
      const char *comma = memchr(p, ',', (size_t)(end - p));
      const char *stop = comma && comma > p ? comma : end;
      tl_vec_push(arena, &e->names, (const char *)tl_arena_strndup(arena, p, (size_t)(stop - p)));
      p = stop + (stop < end);
      p += p < end && *p == ' ';
   }
}

static void
read_page(TlReference *ref, const char *name, const char *text)
{
   TlRefPage page = {.name = name};
   assert(tl_starts_with(text, "# ")); /* a page begins with its title */
   page.title = line_at(text + 2);
   const char *next;
   page.intro = text_until_entry(page.title.text + page.title.len, &next);
   while (*next) {
      TlRefEntry e = {0};
      TlSpan line = line_at(next + 3);
      split_names(ref->arena, line, &e);
      e.body = text_until_entry(line.text + line.len, &next);
      tl_vec_push(ref->arena, &page.entries, e);
   }
   tl_vec_push(ref->arena, &ref->pages, page);
}

void
tl_reference_read(TlArena *arena, TlReference *out)
{
   *out = (TlReference){.arena = arena};
   for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
      read_page(out, sources[i].name, sources[i].text);
}

static bool
has_name(const TlRefEntry *e, const char *name)
{
   for (size_t i = 0; i < e->names.len; i++)
      if (strcmp(e->names.data[i], name) == 0)
         return true;
   return false;
}

const TlRefEntry *
tl_reference_find(const TlReference *ref, const char *name)
{
   for (size_t p = 0; p < ref->pages.len; p++)
      for (size_t i = 0; i < ref->pages.data[p].entries.len; i++)
         if (has_name(&ref->pages.data[p].entries.data[i], name))
            return &ref->pages.data[p].entries.data[i];
   return NULL;
}

bool
tl_reference_wants(const TlBuiltinRow *row)
{
   return row->base.fn != tl_builtin_unsupported && row->base.name[0] != '_';
}

const char *
tl_reference_missing(const TlReference *ref)
{
   TlSb sb;
   tl_sb_init(&sb, ref->arena);
   const TlBuiltin *b;
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if (tl_reference_wants((const TlBuiltinRow *)b) && !tl_reference_find(ref, b->name))
         tl_sb_printf(&sb, "%s%s", sb.len ? " " : "", b->name);
   return tl_sb_cstr(&sb);
}

/* ---- rows ---- */

static void
add_call(TlSb *out, const char *before, const char *name, const char *after)
{
   tl_sb_printf(out, "%s%s%s%s", out->len ? ", " : "", before, name, after);
}

const char *
tl_reference_calls(TlArena *arena, const TlBuiltin *b)
{
   static const struct {
      uint32_t ns;
      const char *prefix;
   } prefixes[] = {{TL_NS_TL, "tl."},
                   {TL_NS_MATH, "tl.math."},
                   {TL_NS_LIBDEVICE, "libdevice."},
                   {TL_NS_TRITON, "triton."},
                   {TL_NS_CUDA, "tl.extra.cuda."}};
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
      if (b->namespaces & prefixes[i].ns)
         add_call(&sb, prefixes[i].prefix, b->name, "");
   if (b->namespaces && (b->flags & TL_BUILTIN_METHOD))
      add_call(&sb, "x.", b->name, strchr(b->signature, ',') ? "(..)" : "()");
   return tl_sb_cstr(&sb);
}

const char *
tl_reference_takes(TlArena *arena, const TlBuiltinRow *row)
{
   static const struct {
      uint32_t bit;
      const char *text;
   } kinds[] = {{TL_TAKES_FP64, "fp64"},
                {TL_TAKES_FP32, "fp32"},
                {TL_TAKES_FP16, "fp16, bf16"},
                {TL_TAKES_FP8, "fp8"},
                {TL_TAKES_INT64, "integers of 64"},
                {TL_TAKES_INT32, "32"},
                {TL_TAKES_SHORT, "16 and 8 bits"}};
   TlSb sb;
   tl_sb_init(&sb, arena);
   uint32_t ints = row->takes & TL_TAKES_INT;
   for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
      bool is_first_int =
         (kinds[i].bit & ints) && !(ints & TL_TAKES_INT64) && kinds[i].bit == TL_TAKES_INT32;
      if (row->takes & kinds[i].bit)
         tl_sb_printf(&sb, "%s%s%s", sb.len ? ", " : "", is_first_int ? "integers of " : "",
                      kinds[i].text);
   }
   if (ints && !(ints & TL_TAKES_SHORT))
      tl_sb_str(&sb, " bits");
   return tl_sb_cstr(&sb);
}

/* What stands under "def FUNCTION(" in the library's source, on one line; "" where it says no more
 * than the row. */
const char *
tl_reference_docstring(TlArena *arena, const TlBuiltinRow *row)
{
   size_t len;
   const char *text = row->function ? tl_stdlib_text(row->module, &len) : NULL;
   if (!text)
      return "";
   const char *head = tl_arena_printf(arena, "\ndef %s(", row->function);
   const char *whole = tl_arena_strndup(arena, text, len), *at = strstr(whole, head);
   at = at ? strstr(at, "\"\"\"") : NULL;
   if (!at)
      return "";
   TlSb sb;
   tl_sb_init(&sb, arena);
   for (const char *p = at + 3; *p && *p != '"';) {
      size_t blanks = strspn(p, " \n");
      if (blanks)
         tl_sb_char(&sb, ' ');
      p += blanks;
      size_t n = strcspn(p, "\"\n ");
      tl_sb_mem(&sb, p, n);
      p += n;
   }
   const char *words = tl_sb_cstr(&sb), *doc = row->base.doc;
   size_t n = strlen(doc);
   return strncasecmp(words, doc, n) == 0 && strcmp(words + n, ".") == 0 ? "" : words;
}
