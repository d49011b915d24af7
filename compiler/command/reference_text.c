/* The reference as text and as Markdown. */
#include "command/options.h"
#include "command/reference.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* ---- what the table says of a name ---- */
typedef void RowFn(TlArena *arena, const TlBuiltinRow *row, TlSb *out);

static void
for_rows(TlArena *arena, const char *name, RowFn *fn, TlSb *out)
{
   const TlBuiltin *b;
   for (unsigned i = 0; (b = tl_builtin_at(i)); i++)
      if (strcmp(b->name, name) == 0 && tl_reference_wants((const TlBuiltinRow *)b))
         fn(arena, (const TlBuiltinRow *)b, out);
}

static void
row_text(TlArena *arena, const TlBuiltinRow *row, TlSb *out)
{
   const char *calls = tl_reference_calls(arena, &row->base);
   const char *takes = tl_reference_takes(arena, row),
              *library = tl_reference_docstring(arena, row);
   tl_wrap_text(out, 0, 8, tl_builtin_signature(arena, &row->base, !row->base.namespaces), "");
   tl_sb_printf(out, "    %s\n", row->base.doc);
   if (*calls)
      tl_sb_printf(out, "    %s\n", calls);
   if (*takes)
      tl_sb_printf(out, "    takes %s\n", takes);
   if (*library)
      tl_sb_printf(out, "    in stdlib/%s.tile: %s\n", row->module, library);
}

static void
row_markdown(TlArena *arena, const TlBuiltinRow *row, TlSb *out)
{
   const char *calls = tl_reference_calls(arena, &row->base);
   const char *takes = tl_reference_takes(arena, row),
              *library = tl_reference_docstring(arena, row);
   tl_sb_printf(out, "- `%s`: %s", tl_builtin_signature(arena, &row->base, !row->base.namespaces),
                row->base.doc);
   if (*takes)
      tl_sb_printf(out, "; takes %s", takes);
   if (*calls)
      tl_sb_printf(out, ". *%s*", calls);
   if (*library)
      tl_sb_printf(out, ". In [%s.tile](../../stdlib/%s.tile): %s", row->module, row->module,
                   library);
   tl_sb_char(out, '\n');
}

/* ---- lines of a body ---- */
static bool
is_fence(TlSpan line)
{
   return line.len >= 3 && tl_starts_with(line.text, "```");
}

static bool
next_line(TlSpan *rest, TlSpan *line)
{
   if (!rest->len)
      return false;
   const char *end = memchr(rest->text, '\n', rest->len);
   line->text = rest->text;
   line->len = end ? (size_t)(end - rest->text) : rest->len;
   size_t taken = line->len + (end != NULL);
   rest->text += taken;
   rest->len -= taken;
   return true;
}

/* Does the line call the name, not a longer one? */
static bool
mentions(TlSpan line, const char *name)
{
   size_t n = strlen(name);
   for (size_t i = 0; i + n <= line.len; i++) {
      if (memcmp(line.text + i, name, n) != 0)
         continue;
      char before = i ? line.text[i - 1] : ' ', after = i + n < line.len ? line.text[i + n] : ' ';
      if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) &&
          after != '_')
         return true;
   }
   return false;
}

/* The lines up to the end of a block of values: those with the name; all where it is in none, or
 * NULL. */
static void
values_text(TlSpan *rest, const char *name, TlSb *out)
{
   TlSpan look = *rest, line;
   bool is_in_one = false;
   while (name && next_line(&look, &line) && !is_fence(line))
      is_in_one |= mentions(line, name);
   while (next_line(rest, &line) && !is_fence(line))
      if (!is_in_one || mentions(line, name))
         tl_sb_printf(out, "    %.*s\n", (int)line.len, line.text);
}

static bool
opens_values(TlSpan line)
{
   static const char fence[] = "```values";
   return line.len == sizeof fence - 1 && memcmp(line.text, fence, line.len) == 0;
}

/* Code is indented instead of fenced. */
static void
body_text(TlSpan body, const char *name, TlSb *out)
{
   bool in_code = false;
   for (TlSpan line; next_line(&body, &line);) {
      if (opens_values(line))
         values_text(&body, name, out);
      else if (is_fence(line))
         in_code = !in_code;
      else
         tl_sb_printf(out, "%s%.*s\n", in_code && line.len ? "    " : "", (int)line.len, line.text);
   }
}

static bool
is_code(const char *p, size_t len)
{
   if (len < 5 || !strchr("EWRN", *p))
      return false;
   for (int i = 1; i < 5; i++)
      if (!isdigit((unsigned char)p[i]))
         return false;
   return len == 5 || !isalnum((unsigned char)p[5]);
}

/* Names of diagnostics become links to their pages. */
static void
linked_line(TlSpan line, TlSb *out)
{
   for (size_t i = 0; i < line.len; i++) {
      bool starts =
         i == 0 || !(isalnum((unsigned char)line.text[i - 1]) || line.text[i - 1] == '`');
      if (starts && is_code(line.text + i, line.len - i)) {
         tl_sb_printf(out, "[%.5s](../../compiler/base/explain/%.5s.md)", line.text + i,
                      line.text + i);
         i += 4;
      } else {
         tl_sb_char(out, line.text[i]);
      }
   }
   tl_sb_char(out, '\n');
}

static void
body_markdown(TlSpan body, TlSb *out)
{
   bool in_code = false;
   for (TlSpan line; next_line(&body, &line);) {
      if (is_fence(line))
         in_code = !in_code;
      if (opens_values(line))
         tl_sb_str(out, "```text\n"); /* no language of its own */
      else if (in_code || is_fence(line))
         tl_sb_printf(out, "%.*s\n", (int)line.len, line.text);
      else
         linked_line(line, out);
   }
}

/* ---- entries ---- */
static void
add_names(const TlRefEntry *e, const char *mark, TlSb *out)
{
   for (size_t i = 0; i < e->names.len; i++)
      tl_sb_printf(out, "%s%s%s%s", i ? ", " : "", mark, e->names.data[i], mark);
}

/* The other names of the entry, which the text and the examples are about too. */
static void
add_others(const TlRefEntry *e, const char *name, TlSb *out)
{
   const char *before = "\nWith it: ";
   for (size_t i = 0; i < e->names.len; i++) {
      if (strcmp(e->names.data[i], name) == 0)
         continue;
      tl_sb_printf(out, "%s%s", before, e->names.data[i]);
      before = ", ";
   }
   if (e->names.len > 1)
      tl_sb_char(out, '\n');
}

void
tl_reference_entry_text(const TlReference *ref, const TlRefEntry *e, const char *name, TlSb *out)
{
   size_t before = out->len;
   for_rows(ref->arena, name, row_text, out);
   bool is_function = out->len > before;
   if (!is_function)
      tl_sb_printf(out, "%s\n", name);
   tl_sb_char(out, '\n');
   /* of types and words of the language every example says something */
   body_text(e->body, is_function || !isalpha((unsigned char)*name) ? name : NULL, out);
   add_others(e, name, out);
}

void
tl_reference_list_text(const TlReference *ref, TlSb *out)
{
   for (size_t p = 0; p < ref->pages.len; p++) {
      const TlRefPage *page = &ref->pages.data[p];
      tl_sb_printf(out, "%.*s\n", (int)page->title.len, page->title.text);
      size_t column = 0;
      for (size_t i = 0; i < page->entries.len; i++)
         for (size_t k = 0; k < page->entries.data[i].names.len; k++) {
            const char *name = page->entries.data[i].names.data[k];
            size_t n = strlen(name);
            bool is_new = !column || column + 1 + n > 78;
            tl_sb_printf(out, "%s%s", !is_new ? "  " : column ? "\n    " : "    ", name);
            column = (is_new ? 4 : column + 2) + n;
         }
      tl_sb_char(out, '\n');
   }
   tl_sb_str(out, "\n`tilec doc NAME` has signature, meaning and an example of each.\n");
}

void
tl_reference_page_markdown(const TlReference *ref, const TlRefPage *page, TlSb *out)
{
   tl_sb_printf(
      out,
      "<!-- Made by `tilec doc --pages=docs/reference` from compiler/command/reference. -->\n"
      "# %.*s\n\n",
      (int)page->title.len, page->title.text);
   body_markdown(page->intro, out);
   for (size_t i = 0; i < page->entries.len; i++) {
      const TlRefEntry *e = &page->entries.data[i];
      tl_sb_str(out, "\n## ");
      add_names(e, "`", out);
      tl_sb_str(out, "\n\n");
      size_t before = out->len;
      for (size_t k = 0; k < e->names.len; k++)
         for_rows(ref->arena, e->names.data[k], row_markdown, out);
      if (out->len > before)
         tl_sb_char(out, '\n');
      body_markdown(e->body, out);
   }
}

void
tl_reference_index_markdown(const TlReference *ref, TlSb *out)
{
   tl_sb_str(
      out, "<!-- Made by `tilec doc --pages=docs/reference` from compiler/command/reference. -->\n"
           "# Reference of the language\n\n"
           "`tilec doc NAME` shows the same on a terminal. The [language](../language.md) is "
           "explained from\nthe start on a page of its own.\n\n");
   for (size_t p = 0; p < ref->pages.len; p++) {
      const TlRefPage *page = &ref->pages.data[p];
      tl_sb_printf(out, "- [%.*s](%s.md): ", (int)page->title.len, page->title.text, page->name);
      for (size_t i = 0; i < page->entries.len; i++) {
         tl_sb_str(out, i ? ", " : "");
         add_names(&page->entries.data[i], "`", out);
      }
      tl_sb_char(out, '\n');
   }
}
