/* What tilec bench prints: text, CSV, JSON, SVG. */
#include "base/json.h"
#include "command/measure.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int quantiles[] = {5, 20, 50, 80, 95};
enum { NUM_QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static double
quantile(const TilecTuneCandidate *c, int percent)
{
   assert(c->num_samples > 0 && percent >= 0 && percent <= 100);
   if (percent == 50)
      return c->median_ms;
   return c->samples[(size_t)(c->num_samples - 1) * (size_t)percent / 100];
}

static bool
is_measured(const TilecTuneCandidate *c)
{
   return c->status == TILEC_OK && c->num_samples > 0;
}

static double
gbps(const TlBenchReport *r, const TilecTuneCandidate *c)
{
   return c->median_ms > 0 ? r->bytes / c->median_ms * 1e-6 : 0;
}

static double
tflops(const TlBenchReport *r, const TilecTuneCandidate *c)
{
   return c->median_ms > 0 ? r->flops / c->median_ms * 1e-9 : 0;
}

static double
best_ms(const TlBenchReport *r)
{
   double best = (double)INFINITY;
   for (uint32_t i = 0; i < r->info->num_candidates; i++)
      if (is_measured(&r->info->candidates[i]) && r->info->candidates[i].median_ms < best)
         best = r->info->candidates[i].median_ms;
   return best;
}

static bool
is_picked(const TlBenchReport *r, const TilecTuneCandidate *c)
{
   return r->picked && strcmp(r->picked, c->config) == 0;
}

/* ---- text ---- */
static void
text_row(const TlBenchReport *r, const TilecTuneCandidate *c, TlSb *out)
{
   if (!is_measured(c)) {
      tl_sb_printf(out, "  dropped    %s: %s\n", c->config, c->reason);
      return;
   }
   tl_sb_printf(out, "%s %10.4f %10.4f %10.4f %9.1f", is_picked(r, c) ? "*" : " ", c->median_ms,
                c->low_ms, c->high_ms, gbps(r, c));
   if (r->copy_gbps > 0)
      tl_sb_printf(out, " %5.1f %%", 100 * gbps(r, c) / r->copy_gbps);
   if (r->flops > 0)
      tl_sb_printf(out, " %9.2f", tflops(r, c));
   if (c->registers)
      tl_sb_printf(out, " %5u %7u", c->registers, c->shared_bytes);
   tl_sb_printf(out, "  %s\n", c->config);
}

void
tl_report_text(const TlBenchReport *r, TlSb *out)
{
   const TilecTuneInfo *info = r->info;
   uint32_t samples = 0;
   bool registers = false;
   for (uint32_t i = 0; i < info->num_candidates; i++) {
      samples =
         info->candidates[i].num_samples > samples ? info->candidates[i].num_samples : samples;
      registers |= info->candidates[i].registers != 0;
   }
   tl_sb_printf(out, "%s on %s, %u samples of each", r->kernel, r->device, samples);
   if (r->copy_gbps > 0)
      tl_sb_printf(out, "; a copy moves %.1f GB/s", r->copy_gbps);
   tl_sb_printf(out, "\n  %10s %10s %10s %9s%s%s%s\n", "median ms", "p20", "p80", "GB/s",
                r->copy_gbps > 0 ? " of copy" : "", r->flops > 0 ? "  TFLOP/s" : "",
                registers ? "  regs  shared" : "");
   for (uint32_t i = 0; i < info->num_candidates; i++)
      text_row(r, &info->candidates[i], out);
   for (uint32_t i = 0; i < info->num_candidates; i++) {
      const TilecTuneCandidate *c = &info->candidates[i];
      if (is_picked(r, c) && is_measured(c) && info->num_candidates > 1)
         tl_sb_printf(out, "* the tuner's choice: %.2f %% over the best\n",
                      100 * (c->median_ms / best_ms(r) - 1));
   }
}

/* ---- CSV ---- */
static void
quoted(TlSb *out, const char *text)
{
   tl_sb_char(out, '"');
   for (; *text; text++)
      tl_sb_printf(out, *text == '"' ? "\"\"" : "%c", *text);
   tl_sb_char(out, '"');
}

void
tl_report_csv(const TlBenchReport *r, TlSb *out)
{
   tl_sb_str(out, "kernel,device,config,status,samples,min_ms");
   for (int q = 0; q < NUM_QUANTILES; q++)
      tl_sb_printf(out, ",p%d_ms", quantiles[q]);
   tl_sb_str(out, ",max_ms,gb_per_s,copy_gb_per_s,tflop_per_s,registers,shared_bytes,picked\n");
   for (uint32_t i = 0; i < r->info->num_candidates; i++) {
      const TilecTuneCandidate *c = &r->info->candidates[i];
      quoted(out, r->kernel);
      tl_sb_char(out, ',');
      quoted(out, r->device);
      tl_sb_char(out, ',');
      quoted(out, c->config);
      tl_sb_char(out, ',');
      quoted(out, is_measured(c) ? "ok" : c->reason);
      tl_sb_printf(out, ",%u", c->num_samples);
      bool some = c->num_samples > 0;
      tl_sb_printf(out, some ? ",%.6g" : ",", some ? c->samples[0] : 0);
      for (int q = 0; q < NUM_QUANTILES; q++)
         tl_sb_printf(out, some ? ",%.6g" : ",", some ? quantile(c, quantiles[q]) : 0);
      tl_sb_printf(out, some ? ",%.6g" : ",", some ? c->samples[c->num_samples - 1] : 0);
      tl_sb_printf(out, ",%.6g,%.6g,%.6g,%u,%u,%d\n", gbps(r, c), r->copy_gbps, tflops(r, c),
                   c->registers, c->shared_bytes, is_picked(r, c));
   }
}

/* ---- JSON ---- */
static void
json_times(const TlBenchReport *r, const TilecTuneCandidate *c, TlSb *out)
{
   enum { DIGITS = 6 };
   tl_json_double(out, "min_ms", c->samples[0], DIGITS);
   for (int q = 0; q < NUM_QUANTILES; q++) {
      char key[16];
      snprintf(key, sizeof key, "p%d_ms", quantiles[q]);
      tl_json_double(out, key, quantile(c, quantiles[q]), DIGITS);
   }
   tl_json_double(out, "max_ms", c->samples[c->num_samples - 1], DIGITS);
   tl_json_double(out, "gb_per_s", gbps(r, c), DIGITS);
   tl_json_double(out, "tflop_per_s", tflops(r, c), DIGITS);
}

static void
json_row(const TlBenchReport *r, const TilecTuneCandidate *c, TlSb *out)
{
   tl_json_open(out, '{');
   tl_json_str(out, "config", c->config);
   tl_json_str(out, "status", is_measured(c) ? "ok" : c->reason);
   tl_json_int(out, "samples", c->num_samples);
   if (c->num_samples)
      json_times(r, c, out);
   tl_json_int(out, "registers", c->registers);
   tl_json_int(out, "spill_bytes", c->spill_bytes);
   tl_json_int(out, "shared_bytes", c->shared_bytes);
   tl_json_int(out, "threads", c->threads);
   tl_json_bool(out, "picked", is_picked(r, c));
   tl_json_close(out, '}');
}

void
tl_report_json(const TlBenchReport *r, TlSb *out)
{
   enum { ALL_DIGITS = 17, DIGITS = 6 };
   tl_json_open(out, '{');
   tl_json_str(out, "kernel", r->kernel);
   tl_json_str(out, "device", r->device);
   tl_json_double(out, "bytes", r->bytes, ALL_DIGITS);
   tl_json_double(out, "flops", r->flops, ALL_DIGITS);
   tl_json_double(out, "copy_gb_per_s", r->copy_gbps, DIGITS);
   tl_json_open_field(out, "rows", '[');
   for (uint32_t i = 0; i < r->info->num_candidates; i++)
      json_row(r, &r->info->candidates[i], out);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
   tl_sb_char(out, '\n');
}

/* ---- SVG: a bar to the median, a line from p20 to p80, the copy's time as a ceiling ---- */
static void
svg_text(TlSb *out, double x, double y, const char *text)
{
   tl_sb_printf(out, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
   for (; *text; text++) {
      if (*text == '<')
         tl_sb_str(out, "&lt;");
      else if (*text == '>') /* "]]>" may not stand in text */
         tl_sb_str(out, "&gt;");
      else if (*text == '&')
         tl_sb_str(out, "&amp;");
      else
         tl_sb_char(out, (unsigned char)*text < 0x20 ? ' ' : *text);
   }
   tl_sb_str(out, "</text>\n");
}

void
tl_report_svg(const TlBenchReport *r, TlSb *out)
{
   const double width = 900, left = 360, row = 24, top = 48, right = 110;
   double longest = 0, ceiling = r->copy_gbps > 0 ? r->bytes / r->copy_gbps * 1e-6 : 0;
   uint32_t n = r->info->num_candidates;
   for (uint32_t i = 0; i < n; i++)
      longest = fmax(longest, r->info->candidates[i].high_ms);
   double scale = (width - left - right) / (longest > 0 ? longest : 1);
   double height = top + row * n + row;
   tl_sb_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                width, height);
   svg_text(out, 10, 20, r->kernel);
   svg_text(out, 10, 38, r->device);
   for (uint32_t i = 0; i < n; i++) {
      const TilecTuneCandidate *c = &r->info->candidates[i];
      double y = top + row * i;
      char value[64] = "dropped";
      svg_text(out, 10, y + 15, c->config);
      if (is_measured(c)) {
         tl_sb_printf(out, "<rect x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" fill=\"%s\"/>\n",
                      left, y + 3, c->median_ms * scale, row - 8,
                      is_picked(r, c) ? "#2a7f62" : "#8fb3c9");
         tl_sb_printf(out,
                      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                      "stroke=\"black\"/>\n",
                      left + c->low_ms * scale, left + c->high_ms * scale, y + 11, y + 11);
         snprintf(value, sizeof value, "%.4g ms", c->median_ms);
      }
      svg_text(out, left + (is_measured(c) ? c->high_ms * scale : 0) + 6, y + 15, value);
   }
   if (ceiling > 0 && ceiling <= longest)
      tl_sb_printf(out,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\" stroke=\"#b03030\" "
                   "stroke-dasharray=\"4 3\"/>\n",
                   left + ceiling * scale, left + ceiling * scale, top - 6, top + row * n);
   if (ceiling > 0 && ceiling <= longest)
      svg_text(out, left + ceiling * scale + 4, top - 8, "at copy bandwidth");
   tl_sb_str(out, "</svg>\n");
}
