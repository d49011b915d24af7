/* The template with its data. */
#include "view/impl.h"

#include <assert.h>
#include <string.h>

/* Made from view.html, view.css and view.js at build time. */
extern const char tl_html_view[], tl_css_view[], tl_js_view[];

static void
put_diag(TlView *v, const TlDiag *d, TlSb *out)
{
   tl_json_open(out, '{');
   tl_json_str(out, "code", tl_diag_name(d->code));
   tl_json_str(out, "severity", tl_severity_word(d->severity));
   tl_json_str(out, "text", d->text);
   tl_json_str(out, "help", d->help);
   tl_json_int(out, "from", tl_view_place(v, d->range));
   tl_json_open_field(out, "notes", '[');
   for (const TlDiag *n = d->notes; n; n = n->next)
      tl_json_str(out, NULL, n->text);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

static void
put_data(TlView *v, const TlViewFacts *facts, const TlDiags *diags, TlSb *out)
{
   tl_json_open(out, '{');
   tl_view_put_facts(v, facts, out);
   tl_json_open_field(out, "remarks", '[');
   for (const TlDiag *d = diags->first; d; d = d->next)
      put_diag(v, d, out);
   tl_json_close(out, ']');
   tl_view_put_stages(v, out);
   tl_view_put_layouts(v, out);
   tl_view_put_shared(v, facts->target, out);
   tl_view_put_timeline(v, out);
   tl_view_put_sources(v, out); /* last: it has the places of all the others */
   tl_json_close(out, '}');
}

/* The template up to a mark, which it contains; what follows the mark. */
static const char *
put_until(const char *html, const char *mark, TlSb *out)
{
   const char *at = strstr(html, mark);
   assert(at);
   tl_sb_mem(out, html, (size_t)(at - html));
   return at + strlen(mark);
}

/* '<', '>' and '&' are in strings only, so that they can be escaped afterwards: nothing in them
 * ends the <script> element that holds them. */
static void
embed(const TlSb *json, TlSb *out)
{
   for (size_t i = 0; i < json->len; i++) {
      char c = json->data[i];
      if (c == '<' || c == '>' || c == '&')
         tl_sb_printf(out, "\\u%04x", (unsigned)c);
      else
         tl_sb_char(out, c);
   }
}

void
tl_view_page(TlView *v, const TlViewFacts *facts, const TlDiags *diags, TlSb *out)
{
   TlSb data;
   assert(v->func && facts->target);
   tl_sb_init(&data, v->arena);
   put_data(v, facts, diags, &data);
   const char *rest = put_until(tl_html_view, "/*@style@*/", out);
   tl_sb_str(out, tl_css_view);
   rest = put_until(rest, "/*@data@*/", out);
   embed(&data, out);
   rest = put_until(rest, "/*@script@*/", out);
   tl_sb_str(out, tl_js_view);
   tl_sb_str(out, rest);
}
